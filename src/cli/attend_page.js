"use strict";
(() => {
  const byId = (id) => document.getElementById(id);
  const meta = JSON.parse(byId("meta").textContent);
  const text = byId("text");
  const tokens = Array.from(text.querySelectorAll("span"));
  tokens.forEach((token, index) => { token.index = index; });
  const special = new Set(meta.special);
  const k = meta.top_k;
  const kShown = 12;  // strongest links of the whole, while no token is chosen

  // A view is decoded when it is first asked for: for each direction the other ends and their
  // weights, then how much each token receives.
  const decoded = new Map();
  function view() {
    const name = byId("view").value;
    if (!decoded.has(name)) {
      const raw = Uint8Array.from(atob(byId("v" + name).textContent), (c) => c.charCodeAt(0));
      const links = tokens.length * k;
      const wide = meta.wide ? 4 : 2;
      const ends = (at) => meta.wide ? new Uint32Array(raw.buffer, at, links)
                                     : new Uint16Array(raw.buffer, at, links);
      decoded.set(name, {
        out: { end: ends(0), weight: raw.subarray(2 * wide * links, (2 * wide + 1) * links) },
        in: { end: ends(wide * links),
              weight: raw.subarray((2 * wide + 1) * links, (2 * wide + 2) * links) },
        received: raw.subarray((2 * wide + 2) * links),
      });
    }
    return decoded.get(name);
  }

  // Weights are stored as 1 + round(-20 log2 w), 0 for no link.
  const weightOf = (code) => 2 ** ((1 - code) / 20);
  const percent = (w) => w >= 0.0995 ? Math.round(w * 100) + " %"
    : w >= 0.00995 ? (w * 100).toFixed(1) + " %" : (w * 100).toFixed(2) + " %";

  function counts(from, to) {
    if (from === to && !byId("self").checked) return false;
    return byId("special").checked || !(special.has(from) || special.has(to));
  }

  function linksOf(index, direction) {
    const { end, weight } = view()[direction];
    const list = [];
    for (let at = index * k; at < (index + 1) * k && weight[at] !== 0; ++at) {
      if (counts(index, end[at])) list.push({ token: end[at], weight: weightOf(weight[at]) });
    }
    return list;
  }

  // Of the whole: those that say something about the text, between different, real tokens.
  function strongest() {
    const { end, weight } = view().out;
    const list = [];
    for (let index = 0; index < tokens.length; ++index) {
      if (special.has(index)) continue;
      for (let at = index * k; at < (index + 1) * k && weight[at] !== 0; ++at) {
        if (end[at] === index || special.has(end[at])) continue;
        list.push({ from: index, token: end[at], code: weight[at] });
      }
    }
    list.sort((a, b) => a.code - b.code || a.from - b.from);
    return list.slice(0, kShown).map((link) => ({ ...link, weight: weightOf(link.code) }));
  }

  const word = (index) => tokens[index].textContent.trim() || "␣";
  function context(index) {
    const around = (begin, end) => {
      const range = document.createRange();
      if (begin >= end) return "";
      range.setStartBefore(tokens[begin]);
      range.setEndBefore(tokens[end]);
      return range.toString().replace(/\s+/g, " ");
    };
    const last = Math.min(tokens.length - 1, index + 7);
    return [around(Math.max(0, index - 4), index).slice(-18), word(index),
            around(Math.min(index + 1, last), last)];
  }

  let current = -1;
  let pinned = false;
  let marked = [];

  function mark(links, name, variable) {
    const most = links.reduce((m, link) => Math.max(m, link.weight), 0);
    for (const link of links) {
      const token = tokens[link.token];
      token.classList.add(name);
      token.style.setProperty(variable, Math.sqrt(link.weight / most).toFixed(3));
      marked.push(token);
    }
  }

  function line(link, most, from) {
    const item = document.createElement("li");
    const button = document.createElement("button");
    const part = (name, ...content) => {
      const span = document.createElement("span");
      span.className = name;
      span.append(...content);
      button.append(span);
      return span;
    };
    const bold = document.createElement("b");
    part("w", percent(link.weight)).style.setProperty("--bar", (link.weight / most).toFixed(3));
    if (from === undefined) {
      const [before, self, behind] = context(link.token);
      bold.textContent = self;
      part("c", before, bold, behind);
    } else {
      bold.textContent = word(from) + " → " + word(link.token);
      part("c", bold);
    }
    const distance = link.token - (from === undefined ? current : from);
    part("d", distance === 0 ? "self" : (distance > 0 ? "+" : "−") + Math.abs(distance));
    button.title = "line " + meta.lines[link.token] + ": jump there";
    button.jump = from === undefined ? link.token : from;
    button.choose = from !== undefined;
    item.append(button);
    return item;
  }

  function fill(list, links, from) {
    const most = links.reduce((m, link) => Math.max(m, link.weight), 0);
    list.replaceChildren(...links.map((link) => line(link, most, from && link.from)));
    if (links.length === 0) {
      const none = document.createElement("li");
      none.className = "none";
      none.textContent = "no link is kept";
      list.append(none);
    }
  }

  function show() {
    for (const token of marked) {
      token.classList.remove("o", "i", "h");
      token.removeAttribute("style");
    }
    marked = [];
    const here = byId("here");
    byId("in-card").hidden = current < 0;
    byId("out-title").textContent = current < 0 ? "Strongest links of the text" : "Looks at";
    if (current < 0) {
      here.textContent = "Point at a token of the text to see where it looks, and who looks at it.";
      fill(byId("out"), strongest(), true);
    } else {
      const out = linksOf(current, "out");
      const into = linksOf(current, "in");
      mark(into, "i", "--iw");
      mark(out, "o", "--ow");
      tokens[current].classList.add("h");
      marked.push(tokens[current]);
      const name = document.createElement("b");
      name.textContent = word(current);
      const where = document.createElement("small");
      where.textContent = "token " + current + ", line " + meta.lines[current] +
        (meta.global.includes(current) ? ", global" : "") + (pinned ? " · kept (Esc)" : "");
      here.replaceChildren(name, document.createElement("br"), where);
      fill(byId("out"), out);
      fill(byId("in"), into);
    }
    drawMap();
  }

  // The whole text as a strip: how much attention each part receives, the window on the screen, and
  // the ends of the token's links.
  const map = byId("map");
  function drawMap() {
    const scale = window.devicePixelRatio || 1;
    const width = map.clientWidth;
    const height = map.clientHeight;
    map.width = width * scale;
    map.height = height * scale;
    const ink = map.getContext("2d");
    ink.scale(scale, scale);
    const style = getComputedStyle(document.documentElement);
    const colour = (name, alpha) => `rgb(${style.getPropertyValue(name)} / ${alpha})`;
    const box = text.getBoundingClientRect();
    const place = (y) => (y - box.top) / box.height * height;
    ink.fillStyle = style.getPropertyValue("--line");
    const { received } = view();
    const bins = new Float32Array(Math.max(1, Math.floor(height / 3)));
    for (let index = 0; index < tokens.length; ++index) {
      if (received[index] === 0 || special.has(index)) continue;
      bins[Math.floor(index * bins.length / tokens.length)] += 2 ** ((received[index] - 128) / 10);
    }
    const most = bins.reduce((a, b) => Math.max(a, b), 1e-9);
    bins.forEach((sum, bin) => ink.fillRect(0, bin * 3, width * sum / most, 2.2));
    ink.strokeStyle = style.getPropertyValue("--soft");
    ink.strokeRect(.5, place(0) + .5, width - 1, Math.max(4, place(innerHeight) - place(0)) - 1);
    if (current < 0) return;
    const dash = (index, x, size, thick) => {
      const at = tokens[index].getBoundingClientRect();
      ink.fillRect(x, place((at.top + at.bottom) / 2) - thick / 2, size, thick);
    };
    ink.fillStyle = colour("--in", 1);
    for (const link of linksOf(current, "in")) dash(link.token, 0, width / 2, 3);
    ink.fillStyle = colour("--out", 1);
    for (const link of linksOf(current, "out")) dash(link.token, width / 2, width / 2, 3);
    ink.fillStyle = style.getPropertyValue("--here");
    dash(current, 0, width, 2);
  }

  let waiting = false;
  function later(update) {
    if (waiting) return;
    waiting = true;
    requestAnimationFrame(() => { waiting = false; update(); });
  }
  function choose(index) {
    if (index === current) return;
    current = index;
    later(show);
  }
  function jump(index) {
    const token = tokens[index];
    token.scrollIntoView({ block: "center" });
    token.classList.remove("f");
    void token.offsetWidth;  // or a second jump would not flash
    token.classList.add("f");
  }
  const tokenAt = (target) => target instanceof Element ? target.closest("#text span") : null;

  text.addEventListener("pointerover", (event) => {
    const token = tokenAt(event.target);
    if (token && !pinned && event.pointerType !== "touch") choose(token.index);
  });
  text.addEventListener("click", (event) => {
    const token = tokenAt(event.target);
    if (!token) return;
    pinned = !(pinned && token.index === current);
    current = token.index;
    later(show);
  });
  text.addEventListener("keydown", (event) => {
    const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    if (step) {
      current = Math.min(tokens.length - 1, Math.max(0, current + step));
      tokens[current].scrollIntoView({ block: "nearest" });
    } else if (event.key === "Enter" && current >= 0) {
      pinned = !pinned;
    } else {
      return;
    }
    event.preventDefault();
    later(show);
  });
  document.addEventListener("keydown", (event) => {
    if (event.key !== "Escape") return;
    pinned = false;
    current = -1;
    later(show);
  });
  document.querySelector("aside").addEventListener("click", (event) => {
    const button = event.target.closest("button");
    if (!button) return;
    pinned = true;
    if (button.choose) current = button.jump;
    jump(button.jump);
    later(show);
  });
  map.addEventListener("click", (event) => {
    const box = text.getBoundingClientRect();
    window.scrollTo(0, scrollY + box.top + box.height * event.offsetY / map.clientHeight -
      innerHeight / 2);
  });
  for (const id of ["view", "self", "special"]) byId(id).addEventListener("change", () => later(show));
  addEventListener("scroll", () => later(drawMap), { passive: true });
  addEventListener("resize", () => later(drawMap));

  byId("view").append(...meta.views.map((name, index) => new Option(name, index)));
  for (const [id, kept] of [["self", meta.self], ["special", meta.special_links]]) {
    byId(id).checked = kept;
    byId(id).disabled = !kept;
  }
  show();
})();
