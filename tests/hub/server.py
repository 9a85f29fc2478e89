#!/usr/bin/env python3
"""A hub for tests: serves model directories as huggingface.co does, and misbehaves where it is told to.

    server.py --models DIR --state DIR

DIR of --models holds ORG/NAME/files or NAME/files. Every model has one commit, a hash of its files, under the branch
"main"; *.safetensors, *.bin and *.pt are large files, which a second port serves (another origin, as the real hub does).

In the state directory: `ports` (written once both ports listen: "HUB CDN"), `log` (one JSON line a request: origin, method,
path, range, authorization), `faults.json` (read at each request; see Fault), `cert.pem` and `key.pem` (where present, TLS).

Standard library only. Ends when its standard input does.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import re
import socket
import ssl
import sys
import threading
import time
import urllib.parse
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

LARGE = {".safetensors", ".bin", ".pt"}
LOCK = threading.Lock()


class Fault:
    """One entry of faults.json: {"match": regular expression of "ORIGIN METHOD path", "times": how often (absent: always),
    and what to do}: "status" with "headers" and "body"; "cut" (close after so many bytes of the body); "stall" (so many
    bytes, then nothing); "flip" (change this byte of the body); "extra" (so many bytes more than there are); "short" (so
    many fewer, complete by its own length); "no_range"; "wrong_range"; "set" (fields of the API's answer), "drop" (fields
    of its files); "text" (the API's answer, as it is); "endless" (a body without end); "delay" (seconds before answering);
    "etag"; "commit" (headers of a file)."""

    counts: dict[str, int] = {}

    @staticmethod
    def find(state: Path, line: str) -> dict:
        """The first fault for a request that is not used up, counted."""
        path = state / "faults.json"
        faults = json.loads(path.read_text()) if path.exists() else []
        with LOCK:
            for fault in faults:
                key = json.dumps(fault, sort_keys=True)
                if re.search(fault["match"], line) and Fault.counts.get(key, 0) < fault.get("times", 1 << 60):
                    Fault.counts[key] = Fault.counts.get(key, 0) + 1
                    return fault
        return {}


def git_hash(data: bytes) -> str:
    """What git calls a file."""
    return hashlib.sha1(b"blob %d\0" % len(data) + data).hexdigest()


class Model:
    """The files of one model, read anew for each request: a test may change them."""

    def __init__(self, root: Path, name: str):
        folder = root / name
        self.files = {path.relative_to(folder).as_posix(): path.read_bytes()
                      for path in sorted(folder.rglob("*")) if path.is_file()}
        listing = "".join(f"{key} {git_hash(data)}\n" for key, data in self.files.items())
        self.commit = hashlib.sha1(listing.encode()).hexdigest()

    def describe(self, name: str, blobs: bool) -> dict:
        """The answer of api/models/NAME/revision/REVISION."""
        siblings = []
        for key, data in self.files.items():
            entry: dict = {"rfilename": key}
            if blobs:
                entry |= {"size": len(data), "blobId": git_hash(data)}
                if Path(key).suffix in LARGE:
                    entry["lfs"] = {"sha256": hashlib.sha256(data).hexdigest(), "size": len(data), "pointerSize": 134}
            siblings.append(entry)
        return {"id": name, "modelId": name, "sha": self.commit, "private": False, "gated": False, "siblings": siblings}


class Handler(BaseHTTPRequestHandler):
    """Both origins; `server.origin` says which."""

    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    server: "Server"

    def log_message(self, *_: object) -> None:
        pass

    def do_HEAD(self) -> None:  # pylint: disable=invalid-name
        self.answer()

    def do_GET(self) -> None:  # pylint: disable=invalid-name
        self.answer()

    def answer(self) -> None:
        """One request, with the fault that is due."""
        record = {"origin": self.server.origin, "method": self.command, "path": self.path,
                  "range": self.headers.get("Range"), "authorization": self.headers.get("Authorization")}
        with LOCK, open(self.server.state / "log", "a", encoding="utf-8") as log:
            log.write(json.dumps(record) + "\n")
        fault = Fault.find(self.server.state, f"{self.server.origin} {self.command} {self.path}")
        time.sleep(fault.get("delay", 0))
        try:
            if "status" in fault:
                headers = {key: value.replace("{hub}", self.server.hub).replace("{cdn}", self.server.cdn)
                           for key, value in fault.get("headers", {}).items()}
                self.send(fault["status"], fault.get("body", "").encode(), headers)
            elif self.server.origin == "cdn":
                self.serve_large(fault)
            else:
                self.serve_hub(fault)
        except (BrokenPipeError, ConnectionResetError, ssl.SSLError):
            self.close_connection = True

    def serve_hub(self, fault: dict) -> None:
        url = urllib.parse.urlsplit(self.path)
        api = re.fullmatch(r"/api/models/(.+?)(?:/revision/([^/]+))?", url.path)
        resolve = re.fullmatch(r"/(.+?)/resolve/([^/]+)/(.+)", url.path)
        found = api or resolve
        name = urllib.parse.unquote(found[1]) if found else ""
        if not found or ".." in name or not (self.server.models / name).is_dir():
            self.send(404, b'{"error":"Repository not found"}', {"X-Error-Code": "RepoNotFound"})
            return
        model = Model(self.server.models, name)
        revision = urllib.parse.unquote(found[2] or "main")
        if revision not in ("main", "v1.0", "refs/pr/1", model.commit):
            self.send(404, b'{"error":"Invalid rev id"}', {"X-Error-Code": "RevisionNotFound"})
        elif api:
            self.serve_description(model.describe(name, "blobs=true" in url.query.lower()), fault)
        else:
            self.serve_file(model, urllib.parse.unquote(resolve[3]), fault)

    def serve_description(self, description: dict, fault: dict) -> None:
        description |= fault.get("set", {})
        for entry in description["siblings"]:
            for key in fault.get("drop", []):
                entry.pop(key, None)
        text = fault.get("text", json.dumps(description)).encode()
        self.send(200, text, {"Content-Type": "application/json"}, fault)

    def serve_file(self, model: Model, key: str, fault: dict) -> None:
        headers = {"X-Repo-Commit": fault.get("commit", model.commit)}
        data = model.files.get(key)
        if data is None:
            self.send(404, b"Entry not found", headers | {"X-Error-Code": "EntryNotFound"})
        elif Path(key).suffix in LARGE:
            digest = hashlib.sha256(data).hexdigest()
            self.server.large[digest] = data
            location = f"{self.server.cdn}/large/{digest}?signature=secret"
            self.send(302, b"Found. Redirecting", headers | {
                "X-Linked-Etag": fault.get("etag", f'"{digest}"'), "X-Linked-Size": str(len(data)), "Location": location})
        else:
            self.send_range(data, headers | {"ETag": fault.get("etag", f'"{git_hash(data)}"')}, fault)

    def serve_large(self, fault: dict) -> None:
        data = self.server.large.get(self.path.split("/")[-1].split("?")[0])
        if data is None:
            self.send(403, b"AccessDenied", {})
        else:
            self.send_range(data, {"ETag": f'"{hashlib.md5(data).hexdigest()}"'}, fault)

    def send_range(self, data: bytes, headers: dict, fault: dict) -> None:
        wanted = re.fullmatch(r"bytes=(\d+)-", self.headers.get("Range") or "")
        if not wanted or fault.get("no_range"):
            self.send(200, data, headers, fault)
            return
        begin = int(wanted[1])
        if begin >= len(data):
            self.send(416, b"", {"Content-Range": f"bytes */{len(data)}"})
            return
        stated = begin + 1 if fault.get("wrong_range") else begin
        self.send(206, data[begin:], headers | {"Content-Range": f"bytes {stated}-{len(data) - 1}/{len(data)}"}, fault)

    def send(self, status: int, body: bytes, headers: dict, fault: dict | None = None) -> None:
        fault = fault or {}
        if "flip" in fault:
            place = fault["flip"] % len(body)
            body = body[:place] + bytes([body[place] ^ 1]) + body[place + 1:]
        body += b"x" * fault.get("extra", 0)
        body = body[:len(body) - fault.get("short", 0)]
        endless = fault.get("endless", False)
        self.send_response(status)
        for key, value in headers.items():
            self.send_header(key, value)
        if endless:
            self.send_header("Connection", "close")
            self.close_connection = True
        else:
            self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if self.command == "HEAD":
            return
        while endless:
            self.wfile.write(b" " * 65536)
        if "cut" in fault or "stall" in fault:
            self.wfile.write(body[:fault.get("cut", fault.get("stall"))])
            self.wfile.flush()
            if "stall" in fault:
                time.sleep(fault.get("seconds", 30))
            self.close_connection = True
            self.connection.shutdown(socket.SHUT_RDWR)
            return
        self.wfile.write(body)


class Server(ThreadingHTTPServer):
    """One origin on a free port of 127.0.0.1."""

    daemon_threads = True
    hub = cdn = ""
    large: dict[str, bytes] = {}

    def __init__(self, origin: str, models: Path, state: Path):
        super().__init__(("127.0.0.1", 0), Handler)
        self.origin, self.models, self.state = origin, models, state
        self.scheme = "http"
        if (state / "cert.pem").exists():
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            context.load_cert_chain(state / "cert.pem", state / "key.pem")
            self.socket = context.wrap_socket(self.socket, server_side=True)
            self.scheme = "https"

    def handle_error(self, request: object, client_address: object) -> None:
        pass  # a client that refuses our certificate, or has gone


def main() -> None:
    """Serves until standard input ends."""
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("--models", type=Path, required=True)
    options.add_argument("--state", type=Path, required=True)
    arguments = options.parse_args()
    servers = [Server(origin, arguments.models, arguments.state) for origin in ("hub", "cdn")]
    Server.hub, Server.cdn = (f"{server.scheme}://127.0.0.1:{server.server_port}" for server in servers)
    for server in servers:
        threading.Thread(target=server.serve_forever, daemon=True).start()
    ports = arguments.state / "ports"
    ports.with_suffix(".new").write_text(" ".join(str(server.server_port) for server in servers))
    os.replace(ports.with_suffix(".new"), ports)
    sys.stdin.read()


if __name__ == "__main__":
    main()
