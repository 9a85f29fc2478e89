#include "cli/attend_page.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>

#include "cli/attend_page_parts.h"
#include "cli/output.h"
#include "io/hash.h"

namespace longformer::cli {
namespace {

constexpr size_t kTokenBytes = 28;         // of the markup around a token
constexpr int64_t kNarrowLimit = 1 << 16;  // token numbers below it take two bytes
// A weight w is written as 1 + round(-20 log2 w): steps of 3.5 %, down to 2^-12.7.
constexpr double kWeightSteps = 20;
constexpr double kReceivedSteps = 10;
constexpr int kReceivedOne = 128;  // what stands for 1

std::string base64(std::string_view bytes) {
  static constexpr char kDigits[] =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string text;
  text.reserve((bytes.size() + 2) / 3 * 4);
  for (size_t i = 0; i < bytes.size(); i += 3) {
    uint32_t group = 0;
    for (size_t j = 0; j < 3; ++j) {
      group = group << 8 | (i + j < bytes.size() ? static_cast<uint8_t>(bytes[i + j]) : 0U);
    }
    for (size_t j = 0; j < 4; ++j) {
      text += i + j > bytes.size() ? '=' : kDigits[group >> (18 - 6 * j) & 63];
    }
  }
  return text;
}

// For a Content-Security-Policy: a script of any other content does not run.
std::string hash_source(std::string_view script) {
  io::Sha256 hash;
  hash.update(script);
  const std::string hex = hash.hex();
  std::string bytes;
  for (size_t i = 0; i < hex.size(); i += 2) {
    bytes += static_cast<char>(std::stoi(hex.substr(i, 2), nullptr, 16));
  }
  return "sha256-" + base64(bytes);
}

// Text between tags or inside quotation marks. Control characters become U+FFFD.
void append_escaped(std::string_view text, std::string& html) {
  for (const char c : text) {
    switch (c) {
      case '&':
        html += "&amp;";
        break;
      case '<':
        html += "&lt;";
        break;
      case '>':
        html += "&gt;";
        break;
      case '"':
        html += "&quot;";
        break;
      case '\'':
        html += "&#39;";
        break;
      case '\n':
      case '\t':
        html += c;
        break;
      case '\r':
        break;
      default:
        const auto byte = static_cast<unsigned char>(c);
        if (byte < 0x20 || byte == 0x7F) {
          html += "\xEF\xBF\xBD";
        } else {
          html += c;
        }
    }
  }
}

std::string escaped(std::string_view text) {
  std::string html;
  append_escaped(text, html);
  return html;
}

// The text with a span around each token. Special tokens stand in it as the vocabulary spells them;
// so do, as a mark, tokens that share all their characters with the one before.
std::string text_html(const AttendPage& page) {
  std::string html;
  int64_t written = page.begin;
  const auto write_to = [&](int64_t end) {
    if (end <= written) return;
    append_escaped(
        page.text.substr(static_cast<size_t>(written), static_cast<size_t>(end - written)), html);
    written = end;
  };
  const text::Encoding& tokens = *page.tokens;
  size_t behind = 0;  // the last token of the text
  for (size_t t = 0; t < tokens.size(); ++t) behind = tokens.sequence[t] < 0 ? behind : t + 1;
  for (size_t t = 0; t < tokens.size(); ++t) {
    const bool special = tokens.sequence[t] < 0;
    const bool shares = !special && tokens.offsets[t].end <= written;
    if (special && t >= behind) write_to(page.end);
    if (!special) write_to(tokens.offsets[t].begin);
    std::string kind = special || shares ? "s" : "";
    if (t < page.global.size() && page.global[t] != 0) kind += kind.empty() ? "g" : " g";
    html += kind.empty() ? "<span>" : "<span class=\"" + kind + "\">";
    if (special) {
      append_escaped(page.spellings[t], html);
    } else if (shares) {
      html += "\xE2\x96\xAA";
    } else {
      write_to(tokens.offsets[t].end);
    }
    html += "</span>";
  }
  write_to(page.end);
  return html;
}

char weight_code(const tasks::AttendEnd& end) {
  if (end.token < 0) return 0;
  const double code = 1 + std::round(-kWeightSteps * std::log2(static_cast<double>(end.weight)));
  return static_cast<char>(static_cast<uint8_t>(std::clamp(code, 1.0, 255.0)));
}

char received_code(float sum) {
  if (!(sum > 0)) return 0;
  const double code =
      kReceivedOne + std::round(kReceivedSteps * std::log2(static_cast<double>(sum)));
  return static_cast<char>(static_cast<uint8_t>(std::clamp(code, 1.0, 255.0)));
}

// What attend_page.js decodes: other ends of both directions, their weights, what each receives.
std::string view_bytes(const AttendPage& page, const tasks::AttendView& view, int64_t kept) {
  const tasks::Attended& links = *page.links;
  const int width = links.tokens <= kNarrowLimit ? 2 : 4;
  std::string bytes;
  const auto each = [&](const std::vector<tasks::AttendEnd>& ends, const auto& write) {
    for (int64_t t = 0; t < links.tokens; ++t) {
      for (int64_t i = 0; i < kept; ++i) write(ends[static_cast<size_t>(t * links.top_k + i)]);
    }
  };
  const auto write_token = [&](const tasks::AttendEnd& end) {
    const auto token = static_cast<uint32_t>(std::max(end.token, 0));
    for (int b = 0; b < width; ++b) bytes += static_cast<char>(token >> (8 * b) & 255);
  };
  const auto write_weight = [&](const tasks::AttendEnd& end) { bytes += weight_code(end); };
  each(view.out, write_token);
  each(view.in, write_token);
  each(view.out, write_weight);
  each(view.in, write_weight);
  for (const float sum : view.received) bytes += received_code(sum);
  return bytes;
}

std::string meta_json(const AttendPage& page, int64_t kept) {
  Json special = Json::array();
  Json global = Json::array();
  for (size_t t = 0; t < page.tokens->size(); ++t) {
    if (page.tokens->sequence[t] < 0) special.push_back(t);
    if (t < page.global.size() && page.global[t] != 0) global.push_back(t);
  }
  Json views = Json::array();
  for (const tasks::AttendView& view : page.links->views) views.push_back(view_name(view));
  const std::string text = json_text({{"top_k", kept},
                                      {"wide", page.links->tokens > kNarrowLimit},
                                      {"self", page.self_links},
                                      {"special_links", page.special_links},
                                      {"special", std::move(special)},
                                      {"global", std::move(global)},
                                      {"lines", page.lines},
                                      {"views", std::move(views)}});
  std::string safe;  // "</script>" must not end the element
  for (const char c : text) safe += c == '<' ? std::string("\\u003c") : std::string(1, c);
  return safe;
}

}  // namespace

std::string view_name(const tasks::AttendView& view) {
  if (view.layer && view.head) {
    return "layer " + std::to_string(*view.layer) + ", head " + std::to_string(*view.head);
  }
  if (view.layer) return "layer " + std::to_string(*view.layer) + ", average of the heads";
  if (view.head) return "head " + std::to_string(*view.head) + ", average of the layers";
  return "average of all layers and heads";
}

int64_t page_links(const AttendPage& page) {
  const tasks::Attended& links = *page.links;
  const auto tokens = static_cast<size_t>(links.tokens);
  const size_t fixed = attend_page_html().size() + attend_page_script().size() +
                       static_cast<size_t>(page.end - page.begin) * 5 / 4 + tokens * kTokenBytes;
  const size_t room = fixed < kPageBytes ? (kPageBytes - fixed) / 4 * 3 : 0;
  const size_t a_token = room / std::max<size_t>(1, links.views.size() * tokens);
  const size_t a_link = links.tokens <= kNarrowLimit ? 6 : 10;
  const auto most = static_cast<int64_t>(a_token > 0 ? (a_token - 1) / a_link : 0);
  return std::clamp<int64_t>(most, 1, links.top_k);
}

std::string attend_page(const AttendPage& page) {
  const int64_t kept = page_links(page);
  const std::map<std::string_view, std::function<std::string()>> parts = {
      {"title", [&] { return escaped(page.title); }},
      {"summary", [&] { return escaped(page.summary); }},
      {"script_hash", [] { return hash_source(attend_page_script()); }},
      {"script", [] { return std::string(attend_page_script()); }},
      {"text", [&] { return text_html(page); }},
      {"meta", [&] { return meta_json(page, kept); }},
      {"data",
       [&] {
         std::string data;
         for (size_t v = 0; v < page.links->views.size(); ++v) {
           data += "<script type=\"text/plain\" id=\"v" + std::to_string(v) + "\">" +
                   base64(view_bytes(page, page.links->views[v], kept)) + "</script>\n";
         }
         return data;
       }},
  };
  // One pass over the template: what is put in is never searched.
  const std::string_view source = attend_page_html();
  std::string html;
  for (size_t at = 0; at < source.size();) {
    const size_t open = std::min(source.find("{{", at), source.size());
    html += source.substr(at, open - at);
    if (open == source.size()) break;
    const size_t close = source.find("}}", open);
    html += parts.at(source.substr(open + 2, close - open - 2))();
    at = close + 2;
  }
  return html;
}

}  // namespace longformer::cli
