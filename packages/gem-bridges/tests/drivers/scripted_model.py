"""A model server that gives the answers of scripted episodes; a conversation's first message names its episode."""

import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


def serve(episodes: list[dict]) -> str:
    """Start the server in a thread; return its address, with ``/v1``."""
    answers = {episode["texts"][0].strip(): episode["actions"] for episode in episodes}

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            first = next(one["content"] for one in body["messages"] if one["role"] == "user")
            said = sum(one["role"] == "assistant" for one in body["messages"])
            message = {"role": "assistant", "content": answers[first.strip()][said]}
            usage = {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2}
            head = {"id": "scripted", "created": 0, "model": "scripted", "usage": usage}
            choice = {"index": 0, "finish_reason": "stop"}
            kind = "application/json"
            if body.get("stream"):
                kind = "text/event-stream"
                part = {**head, "object": "chat.completion.chunk", "choices": [{**choice, "delta": message}]}
                content = f"data: {json.dumps(part)}\n\ndata: [DONE]\n\n".encode()
            else:
                whole = {**head, "object": "chat.completion", "choices": [{**choice, "message": message}]}
                content = json.dumps(whole).encode()
            self.send_response(200)
            self.send_header("Content-Type", kind)
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return f"http://127.0.0.1:{server.server_port}/v1"
