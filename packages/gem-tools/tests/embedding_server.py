"""A server of embeddings with OpenAI's interface, for tests: hashed words and trigrams of letters. Prints its address.

A real embedding without a model: texts with common words or parts of words have similar vectors, in every process.
It appends each request's number of texts to the file of the first argument.
"""

from __future__ import annotations

import json
import sys
import zlib
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

DIMENSIONS = 512


def embed(text: str) -> list[float]:
    vector = [0.0] * DIMENSIONS
    for word in text.lower().split():
        parts = [word, *(word[place : place + 3] for place in range(len(word) - 2))]
        for part in parts:
            number = zlib.crc32(part.encode())
            vector[number % DIMENSIONS] += 1.0 if number >> 16 & 1 else -1.0
    return vector


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True

    def do_POST(self) -> None:
        asked = json.loads(self.rfile.read(int(self.headers["content-length"])))
        status, told = 200, {}
        if self.path != "/v1/embeddings" or asked["model"] == "unknown":
            status, told = 404, {"error": {"message": f"no model {asked['model']}"}}
        else:
            with Path(sys.argv[1]).open("a") as file:
                file.write(f"{len(asked['input'])}\n")
            data = [{"index": place, "embedding": embed(text)} for place, text in enumerate(asked["input"])]
            told = {"object": "list", "data": data[::-1], "model": asked["model"]}
        body = json.dumps(told).encode()
        self.send_response(status)
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *arguments: object) -> None:
        pass


if __name__ == "__main__":
    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    print(f"http://127.0.0.1:{server.server_port}/v1", flush=True)
    server.serve_forever()
