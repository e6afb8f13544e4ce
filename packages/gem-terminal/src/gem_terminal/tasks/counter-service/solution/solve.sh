#!/bin/bash
set -e
cat > ~/serve <<'END'
#!/usr/bin/env python3
import json, os, re, signal, sys, threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

STORE = os.path.expanduser("~/counters.json")
lock = threading.Lock()
counters = json.load(open(STORE)) if os.path.exists(STORE) else {}

def save():
    with open(STORE + ".new", "w") as out:
        json.dump(counters, out)
    os.replace(STORE + ".new", STORE)

class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *args):
        pass

    def answer(self, status, text=""):
        data = text.encode()
        self.send_response(status)
        if status != 204:
            self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        if status != 204:
            self.wfile.write(data)

    def handle_any(self):
        length = int(self.headers.get("Content-Length") or 0)
        if length > 1000:
            self.rfile.read(length)
            return self.answer(413)
        body = self.rfile.read(length).decode(errors="replace").strip()
        if self.path == "/counters":
            if self.command != "GET":
                return self.answer(405)
            with lock:
                return self.answer(200, json.dumps(counters))
        found = re.fullmatch(r"/counters/([a-z0-9-]{1,40})", self.path)
        if not found:
            return self.answer(404)
        name = found[1]
        with lock:
            if self.command == "POST":
                if body and not re.fullmatch(r"-?[0-9]+", body):
                    return self.answer(400)
                counters[name] = counters.get(name, 0) + int(body or 1)
                save()
                return self.answer(200, str(counters[name]))
            if self.command == "GET":
                return self.answer(200, str(counters[name])) if name in counters else self.answer(404)
            if self.command == "DELETE":
                if counters.pop(name, None) is None:
                    return self.answer(404)
                save()
                return self.answer(204)
        return self.answer(405)

    do_GET = do_POST = do_DELETE = do_PUT = do_PATCH = do_HEAD = handle_any

class Server(ThreadingHTTPServer):
    request_queue_size = 128

signal.signal(signal.SIGTERM, lambda *_: os._exit(0))
Server(("127.0.0.1", int(sys.argv[1])), Handler).serve_forever()
END
chmod +x ~/serve
