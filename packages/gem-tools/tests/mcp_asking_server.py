"""An MCP server that asks its user and a model, works on tasks, reports progress, has prompts and changes its tools.

It does so well or badly.

Plain Python, without the SDK, over standard input and output. The first argument is the version of the protocol,
2025-11-25 or 2026-07-28; the second a file in which it notes what it hears about tasks.
"""

from __future__ import annotations

import itertools
import json
import sys
import threading
import time
from pathlib import Path
from typing import Any

VERSION, DIARY = sys.argv[1], Path(sys.argv[2])
IS_MODERN = VERSION == "2026-07-28"
FORM = {
    "type": "object",
    "properties": {"name": {"type": "string"}, "seats": {"type": "integer", "minimum": 1, "default": 2}},
    "required": ["name", "seats"],
}
QUESTION = {"mode": "form", "message": "Who comes?", "requestedSchema": FORM}
ADDRESS = {"mode": "url", "message": "Please pay.", "url": "https://pay.example/", "elicitationId": "e1"}
PROMPT = {"role": "user", "content": {"type": "text", "text": "What is 6 times 7?"}}
SAMPLING = {"messages": [PROMPT], "systemPrompt": "Be short.", "maxTokens": 5000, "stopSequences": ["."]}
BACKTRACKS = {"type": "object", "properties": {"text": {"type": "string", "pattern": "^(a+)+$"}}}
NUMBER = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}
NAMES = ["think", "think_again", "think_all_at_once"]
NAMES += ["book", "pay", "nag", "many", "work", "spin", "stand", "flood", "beyond", "change", "old"]
TASKS = ["dig", "dig_for_someone", "dig_for_ever", "dig_in_vain", "dig_until_told", "dig_a_wrong_thing"]
OUTPUTS = {
    "backtrack": (BACKTRACKS, {"text": "a" * 40 + "b"}),
    "wrong": (NUMBER, {"n": "word"}),
    "missing": (NUMBER, None),
    "list": (NUMBER, {"n": [1]}),
    "right": (NUMBER, {"n": 5}),
}

lock = threading.Lock()
numbers = itertools.count(1)
answers: dict[str, Any] = {}
answered = threading.Condition()
tasks: dict[str, dict[str, Any]] = {}
cancelled: set[object] = set()
has_changed = False


def note(line: str) -> None:
    with DIARY.open("a", encoding="utf-8") as diary:
        diary.write(line + "\n")


def send(**message: object) -> None:
    line = json.dumps({"jsonrpc": "2.0", **message}) + "\n"
    with lock:
        sys.stdout.write(line)
        sys.stdout.flush()


def tools() -> list[dict[str, Any]]:
    names = [name for name in NAMES if not (has_changed and name == "old")] + (["new"] if has_changed else [])
    listed: list[dict[str, Any]] = [{"name": name, "inputSchema": {"type": "object"}} for name in names]
    listed += [{"name": n, "inputSchema": {"type": "object"}, "outputSchema": s} for n, (s, _) in OUTPUTS.items()]
    for name in TASKS:
        how = {} if IS_MODERN else {"execution": {"taskSupport": "required"}}
        listed.append({"name": name, "inputSchema": {"type": "object"}, **how})
    if has_changed:
        listed[names.index("book")]["description"] = "Book seats."
    return listed


def ask(params: dict[str, Any], method: str = "elicitation/create") -> dict[str, Any]:
    """Ask by a request of the older protocol, and wait for the answer."""
    identifier = f"question {next(numbers)}"
    send(id=identifier, method=method, params=params)
    with answered:
        answered.wait_for(lambda: identifier in answers)
        return answers.pop(identifier)


def said(answer: dict[str, Any]) -> str:
    if "error" in answer:
        return f"error: {answer['error']['message']}"
    result = answer.get("result", answer)
    if "model" in result:
        return f"{result['role']}: {result['content']['text']}"
    return f"{result['action']} {json.dumps(result.get('content'))}"


def text(content: str, **more: object) -> dict[str, Any]:
    return {"content": [{"type": "text", "text": content}], **more}


def state(name: str, number: int, has_heard: bool) -> dict[str, Any]:
    """Return the state of a task at a number of the poll."""
    if name == "dig_for_ever" or number < 2:
        return {"status": "working", "statusMessage": f"metre {number}"}
    if name == "dig_in_vain":
        return {"status": "failed", "error": {"code": -32000, "message": "only rock"}}
    if name == "dig_until_told":
        return {"status": "cancelled", "statusMessage": "told to stop"}
    if name == "dig_for_someone" and not has_heard:
        return {
            "status": "input_required",
            "inputRequests": {"who": {"method": "elicitation/create", "params": QUESTION}},
        }
    if name == "dig_a_wrong_thing":
        return {"status": "completed", "result": "no result"}
    return {"status": "completed"}


def task_of(name: str) -> dict[str, Any]:
    identifier = f"task {next(numbers)}"
    tasks[identifier] = {"name": name, "polls": 0, "answer": None}
    return task_state(identifier)


def task_state(identifier: str) -> dict[str, Any]:
    task = tasks[identifier]
    now = state(task["name"], task["polls"], task["answer"] is not None)
    task["polls"] += 1
    if now["status"] == "completed" and "result" not in now:
        now["result"] = task_result(task)
    if not IS_MODERN:
        for name in ("result", "error", "inputRequests"):
            now.pop(name, None)
    stamp = "2026-01-01T00:00:00Z"
    times = {"createdAt": stamp, "lastUpdatedAt": stamp}
    limits = {"ttlMs": None, "pollIntervalMs": 1} if IS_MODERN else {"ttl": None, "pollInterval": 1}
    return {"taskId": identifier, **times, **limits, **now}


def task_result(task: dict[str, Any]) -> dict[str, Any]:
    return text("found gold" if task["answer"] is None else f"found gold, {said(task['answer'])}", **complete())


def complete() -> dict[str, Any]:
    return {"resultType": "complete"} if IS_MODERN else {}


def thought(name: str, given: dict[str, Any], responses: dict[str, Any]) -> dict[str, Any]:
    """Ask for completions: one, one after the other without end, or 500 at once; the caller may change the request."""
    params = {**SAMPLING, **given.get("arguments", {})}
    if not IS_MODERN and name == "think":
        return text(said(ask(params, "sampling/createMessage")))
    if not IS_MODERN:
        while name == "think_again":
            note(said(ask(params, "sampling/createMessage")))
        for _ in range(499):
            threading.Thread(target=ask, args=(params, "sampling/createMessage"), daemon=True).start()
        return text(said(ask(params, "sampling/createMessage")))
    if responses and name == "think":
        return text(said(responses["q0"]))
    asked = {
        f"q{number}": {"method": "sampling/createMessage", "params": params}
        for number in range(500 if name == "think_all_at_once" else 1)
    }
    return {"resultType": "input_required", "inputRequests": asked, "requestState": "s"}


def called(name: str, given: dict[str, Any], token: object) -> dict[str, Any]:
    global has_changed
    responses = given.get("inputResponses") or {}
    if name in TASKS:
        return {"resultType": "task", **task_of(name)} if IS_MODERN else {"task": task_of(name)}
    if name in ("book", "pay", "nag", "many"):
        params = ADDRESS if name == "pay" else QUESTION
        if IS_MODERN and (name == "nag" or not responses):
            asked = {
                f"q{n}": {"method": "elicitation/create", "params": params} for n in range(500 if name == "many" else 1)
            }
            return {"resultType": "input_required", "inputRequests": asked, "requestState": "s"}
        if IS_MODERN:
            return text(said(responses["q0"]))
        while name == "nag":
            ask(params)
        if name == "many":
            for _ in range(500):
                threading.Thread(target=ask, args=(params,), daemon=True).start()
        return text(said(ask(params)))
    if name.startswith("think"):
        return thought(name, given, responses)
    if name in ("spin", "stand", "flood", "work", "beyond"):
        for number in itertools.count(1):
            amount = {"stand": 1, "beyond": 10**400}.get(name, number)
            about = {"progressToken": token, "progress": amount, "message": f"step {number}"}
            send(method="notifications/progress", params=about)
            if name in ("work", "beyond") and number == 3:
                return text("worked")
            if name != "flood" and token in cancelled:
                return text("given up")
            time.sleep(0 if name == "flood" else 0.05)
    if name == "change":
        has_changed = True
        send(method="notifications/tools/list_changed")
    if name in OUTPUTS and OUTPUTS[name][1] is not None:
        return text(name, structuredContent=OUTPUTS[name][1])
    return text(name)


PROMPTS = [
    {"name": "greet", "description": "Greets.", "arguments": [{"name": "name", "required": True}, {"name": "title"}]},
    {"name": "huge"},
]


def prompt(name: str, given: dict[str, str]) -> dict[str, Any]:
    if name not in ("greet", "huge"):
        raise ValueError("no such prompt")
    said = "x" * 5_000_000 if name == "huge" else f"Say hello to {given['name']}."
    messages = [{"role": "user", "content": {"type": "text", "text": said}}]
    messages.append({"role": "assistant", "content": {"type": "image", "data": "aGk=", "mimeType": "image/png"}})
    return {"messages": messages}


def result_of(method: str, params: dict[str, Any]) -> dict[str, Any]:
    capabilities: dict[str, Any] = {"tools": {"listChanged": not IS_MODERN}, "prompts": {}}
    if method == "initialize":
        capabilities["tasks"] = {"requests": {"tools": {"call": {}}}, "cancel": {}}
        info = {"name": "asking", "version": "1"}
        return {"protocolVersion": VERSION, "capabilities": capabilities, "serverInfo": info}
    if method == "server/discover" and IS_MODERN:
        note(f"capabilities {json.dumps(params['_meta']['io.modelcontextprotocol/clientCapabilities'])}")
        return {"supportedVersions": [VERSION], "capabilities": capabilities}
    if method == "tools/list":
        return {"tools": tools()}
    if method == "tools/call":
        return called(params["name"], params, (params.get("_meta") or {}).get("progressToken"))
    if method == "prompts/list":
        return {"prompts": PROMPTS}
    if method == "prompts/get":
        return prompt(params["name"], params.get("arguments") or {})
    if method == "tasks/get":
        return task_state(params["taskId"])
    if method == "tasks/update":
        tasks[params["taskId"]]["answer"] = params["inputResponses"]["who"]
        return {}
    if method == "tasks/cancel":
        note(f"cancelled {tasks[params['taskId']]['name']}")
        return {} if IS_MODERN else task_state(params["taskId"])
    if method == "tasks/result" and not IS_MODERN:
        task = tasks[params["taskId"]]
        if task["name"] == "dig_in_vain":
            raise ValueError("only rock")
        if task["name"] == "dig_a_wrong_thing":
            return {"content": 5}
        if task["name"] == "dig_for_someone":
            task["answer"] = ask(QUESTION)
        return task_result(task)
    raise LookupError(f"unknown method {method}")


def respond(request: dict[str, Any]) -> None:
    try:
        result = result_of(request["method"], request.get("params") or {})
        if IS_MODERN:
            result = {"resultType": "complete", "ttlMs": 0, "cacheScope": "private", **result}
        send(id=request["id"], result=result)
    except Exception as error:
        code = -32601 if isinstance(error, LookupError) else -32000
        send(id=request["id"], error={"code": code, "message": str(error)})


for line in sys.stdin:
    message = json.loads(line)
    if "method" not in message:
        with answered:
            answers[message["id"]] = message
            answered.notify_all()
    elif message["method"] == "notifications/cancelled":
        cancelled.add(message["params"]["requestId"])
    elif "id" in message:
        threading.Thread(target=respond, args=(message,), daemon=True).start()
