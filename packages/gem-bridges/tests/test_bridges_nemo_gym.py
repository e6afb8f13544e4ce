"""``nemo_gym:URL``: by night against servers that NeMo Gym 0.7.0 ships, compared with its own agents."""

from __future__ import annotations

import json
import math
import socket
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from email.parser import Parser
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from importlib.metadata import version
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any
from zipfile import ZipFile

import pytest

import gem
from gem.errors import ArgumentError, NotSupportedError
from gem_bridges.errors import BridgeError
from gem_bridges.nemo_gym.response_items import chat_messages, output_items

RELEASE = "nemo-gym==0.7.0"
DRIVERS = Path(__file__).parent / "drivers"
COUNTER = "resources_servers.example_session_state_mgmt.app:StatefulCounterResourcesServer"
FOLLOW_UPS = "resources_servers.example_multi_turn_gymnasium.app:ExampleMultiTurnEnv"
ADD = {"type": "function", "name": "add", "parameters": {"type": "object", "properties": {"n": {"type": "integer"}}}}
ROW = {"responses_create_params": {"input": "Add two.", "tools": [ADD]}, "wanted": 2}


def written(folder: Path, rows: list[Any]) -> str:
    """Return the path of a file of rows."""
    path = folder / "rows.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return str(path)


def test_rows_are_checked_when_the_environment_is_made(tmp_path: Path) -> None:
    """With the line that is wrong."""
    with pytest.raises(ArgumentError, match=r"rows='example\.jsonl'"):
        gem.make("nemo_gym:http://localhost:1")
    with pytest.raises(ArgumentError, match="there is no file"):
        gem.make("nemo_gym:http://localhost:1", rows=str(tmp_path / "none"))
    listed = [{"responses_create_params": {"input": ["a"]}}]
    for wrong in ([], [1], [{}], [{"responses_create_params": {"input": 3}}], listed, [ROW, None]):
        line = "has no rows" if not wrong else f"line {len(wrong)} of"
        with pytest.raises(ArgumentError, match=line):
            gem.make("nemo_gym:http://localhost:1", rows=written(tmp_path, wrong))
    with pytest.raises(ArgumentError, match="must be an address"):
        gem.make("nemo_gym:localhost", rows=written(tmp_path, [ROW]))


def test_items_are_read_and_written() -> None:
    """Instructions, roles, pictures, earlier calls; an answer's text and calls with ids of their own."""
    parts = [{"type": "input_text", "text": "Look."}, {"type": "input_image", "image_url": "data:,x"}]
    given = [
        {"role": "developer", "content": "Be brief."},
        {"role": "user", "content": parts},
        {"type": "function_call", "call_id": "1", "name": "add", "arguments": "{}"},
        {"type": "function_call_output", "call_id": "1", "output": "2"},
        {"type": "reasoning", "summary": []},
    ]
    messages = chat_messages({"instructions": "Act.", "input": given})
    assert [message["role"] for message in messages] == ["system", "system", "user", "assistant", "tool"]
    assert messages[2]["content"][1] == {"type": "image_url", "image_url": {"url": "data:,x"}}
    assert messages[3]["tool_calls"][0]["function"] == {"name": "add", "arguments": "{}"}
    calls = [{"function": {"name": "add", "arguments": '{"n": 1}'}}] * 2
    text, *called = output_items({"content": "So:", "tool_calls": calls}, 3)
    assert text["content"][0]["text"] == "So:"
    assert [one["call_id"] for one in called] == ["call_3_0", "call_3_1"]


class Adder(ThreadingHTTPServer):
    """A resources server with the interface that NeMo Gym publishes: a sum for each session.

    Attributes:
        verified: what ``/verify`` answers beside the request; None for the reward of the sum.
        bodies: the bodies of all requests to ``/verify``.
    """

    daemon_threads = True

    def __init__(self) -> None:
        self.sums: dict[str, int] = {}
        self.verified: dict[str, Any] | None = None
        self.bodies: list[dict[str, Any]] = []
        outer = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                self._send(200, {"paths": {"/seed_session": {}, "/verify": {}}})

            def do_POST(self) -> None:
                body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                session = (self.headers.get("Cookie") or "").removeprefix("sid=")
                if self.path == "/seed_session":
                    session = str(len(outer.sums))
                    outer.sums[session] = 0
                    self._send(200, {}, session)
                elif self.path == "/add" and not isinstance(body.get("n"), int):
                    self._send(422, {"detail": "n"})
                elif self.path == "/add":
                    outer.sums[session] += body["n"]
                    self._send(200, {"sum": outer.sums[session]})
                else:
                    outer.bodies.append(body)
                    right = {"reward": float(outer.sums[session] == body["wanted"]), "mask_sample": False}
                    self._send(200, {**body, **(right if outer.verified is None else outer.verified)})

            def _send(self, status: int, value: Any, session: str = "") -> None:
                content = json.dumps(value).encode()
                self.send_response(status)
                self.send_header("Content-Length", str(len(content)))
                if session:
                    self.send_header("Set-Cookie", f"sid={session}; Path=/; HttpOnly")
                self.end_headers()
                self.wfile.write(content)

            def log_message(self, *_: Any) -> None:
                pass

        super().__init__(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server_port}"


@pytest.fixture
def adder() -> Iterator[Adder]:
    """A resources server."""
    server = Adder()
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    yield server
    server.shutdown()
    server.server_close()
    thread.join()


def test_an_episode_is_a_session_that_ends_with_its_verification(adder: Adder, tmp_path: Path) -> None:
    """Tools are requests to the server, with what it answers; a call of none of the row's tools is no request."""
    with gem.make(f"nemo_gym:{adder.url}", rows=written(tmp_path, [ROW])) as env:
        for number, paid in ((2, 1.0), (3, 0.0)):
            first, info = env.reset(seed=5)
            assert (first.startswith("Add two.\n\nYou can call tools"), info["index"]) == (True, 0)
            assert env.step(action_of(calls(("add", {"n": number}))))[0] == f'{{"sum": {number}}}'
            observation, *_, info = env.step('<tool_call>{"name": "verify", "arguments": {}}</tool_call>')
            assert ("there is no tool 'verify'" in observation, info["tool_results"][0]["ok"]) == (True, False)
            deep: list[Any] = []
            for _ in range(100_000):
                deep = [deep]
            for hostile in ("\ud800", math.nan, deep):
                made = action_of(
                    [{"type": "function_call", "call_id": "1", "name": "add", "arguments": {"n": hostile}}]
                )
                for action in (made, hostile):
                    assert env.step(action)[4]["action_status"] == "malformed"
            assert env.step("Done.")[1:4] == (paid, True, False)
        (_, last) = adder.bodies
        kinds = [item["type"] for item in last["response"]["output"]]
        used = ["function_call", "function_call_output"]
        assert kinds == [*used, "message", *used, "message"]
        with pytest.raises(NotSupportedError):
            env.get_state()


def test_the_last_turn_is_verified_as_it_stands(adder: Adder, tmp_path: Path) -> None:
    """As by NeMo Gym's simple agent; the episode is truncated."""
    with gem.make(f"nemo_gym:{adder.url}", rows=written(tmp_path, [ROW]), max_turns=1) as env:
        env.reset(seed=0)
        assert env.step('<tool_call>{"name": "add", "arguments": {"n": 2}}</tool_call>')[1:4] == (1.0, False, True)


@pytest.mark.parametrize(
    ("verified", "why"),
    [
        ({"reward": 1.0, "mask_sample": True, "failure_kind": "judge", "failure_reason": "gone"}, "judge: gone"),
        ({}, "without a reward"),
        ({"reward": "high"}, "no finite number"),
    ],
)
def test_a_reward_that_is_no_measurement_is_a_fault(
    adder: Adder, tmp_path: Path, verified: dict[str, Any], why: str
) -> None:
    """A masked sample and a missing reward end the episode without one."""
    adder.verified = verified
    with gem.make(f"nemo_gym:{adder.url}", rows=written(tmp_path, [ROW])) as env:
        env.reset(seed=0)
        _, reward, terminated, truncated, info = env.step("Done.")
        assert (reward, terminated, truncated, why in info["error"]) == (0.0, False, True, True)


def test_hostile_servers_end_with_a_sentence(hostile: Callable[[str], str], tmp_path: Path) -> None:
    """Whatever answers at the address, within the time for an answer."""
    rows = written(tmp_path, [ROW])
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        closed = f"http://127.0.0.1:{taken.getsockname()[1]}"
    expected = {
        hostile("html"): "no JSON",
        hostile("fields"): "no resources server of NeMo Gym",
        hostile("hang"): r"took more than 0\.5 s",
        hostile("endless"): "more than 65536 bytes",
        hostile("error"): "status 500",
        closed: "is the server running",
    }
    for url, sentence in expected.items():
        timeout = 0.5 if "took" in sentence else 60.0
        env = gem.make(f"nemo_gym:{url}", rows=rows, timeout=timeout, max_answer_bytes=65536)
        with env, pytest.raises(BridgeError, match=sentence):
            env.reset(seed=0)


@pytest.fixture(scope="module")
def python(published: Callable[..., Path]) -> Iterator[Path]:
    """A Python with NeMo Gym, on a Python that is older than the release asks for where there is no newer one."""
    requirements: list[str] = []
    with TemporaryDirectory() as folder:
        fetch = [sys.executable, "-m", "pip", "download", "-q", "--no-deps", "--ignore-requires-python", "-d", folder]
        subprocess.run([*fetch, RELEASE], check=True)
        (wheel,) = Path(folder).glob("*.whl")
        with ZipFile(wheel) as content:
            (name,) = [one for one in content.namelist() if one.endswith(".dist-info/METADATA")]
            stated = Parser().parsestr(content.read(name).decode())
        requirements = [one for one in stated.get_all("Requires-Dist", []) if "extra ==" not in one]
        path = published("pip", *requirements)
        install = [str(path), "-m", "pip", "install", "-q", "--no-deps", "--ignore-requires-python", str(wheel)]
        subprocess.run(install, check=True)
        yield path


def item(kind: str, **fields: Any) -> dict[str, Any]:
    """Return an output item of a model."""
    return {"type": kind, "id": "1", "status": "completed", **fields}


def said(text: str) -> dict[str, Any]:
    """Return the item of a message."""
    return item("message", role="assistant", content=[{"type": "output_text", "text": text, "annotations": []}])


def calls(*made: tuple[str, dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the items of calls."""
    return [
        item("function_call", call_id=f"c{n}", name=name, arguments=json.dumps(arguments))
        for n, (name, arguments) in enumerate(made)
    ]


def action_of(items: list[dict[str, Any]]) -> Any:
    """Return an answer as an action of GEM."""
    if items[0]["type"] == "message":
        return items[0]["content"][0]["text"]
    made = [{"id": one["call_id"], "function": {"name": one["name"], "arguments": one["arguments"]}} for one in items]
    return {"role": "assistant", "content": None, "tool_calls": made}


def counting(number: int) -> list[Any]:
    """Return answers that add a number, try a wrong one, look, and end."""
    add = ("increment_counter", {"count": number})
    return [calls(add), calls(("increment_counter", {"count": "x"}), ("get_counter_value", {})), [said("That is it.")]]


@pytest.mark.nightly
@pytest.mark.timeout(3600)
@pytest.mark.parametrize(
    ("resources", "agent", "answers"),
    [
        (COUNTER, "responses_api_agents.simple_agent.app:SimpleAgent", [counting(number) for number in (3, 9, 15, -1)]),
        (
            FOLLOW_UPS,
            "responses_api_agents.gymnasium_agent.app:GymnasiumAgent",
            [[[said(text)]] * 4 for text in ("The Eiffel Tower.", "20", "Nothing.")],
        ),
    ],
)
def test_episodes_are_those_of_its_own_agents(
    resources: str,
    agent: str,
    answers: list[Any],
    python: Path,
    running: Callable[..., AbstractContextManager[str]],
    reserve_port: Callable[[], int],
    tmp_path: Path,
) -> None:
    """Rewards, tools' answers and follow-ups of the shipped rows, with the same answers of the model."""
    assert version("gem-bridges")
    module = resources.partition(":")[0].rpartition(".")[0].replace(".", "/")
    (site,) = python.parent.parent.glob("lib/python*/site-packages")
    rows = site / module / "data" / "example.jsonl"
    listed = [json.loads(line) for line in rows.read_text(encoding="utf-8").splitlines()]
    episodes = [
        {"row": row, "answers": answer, "index": index} for index, row in enumerate(listed) for answer in answers
    ]
    script = tmp_path / "episodes.json"
    script.write_text(json.dumps(episodes), encoding="utf-8")
    port, others = reserve_port(), [reserve_port(), reserve_port()]
    serve = [str(python), str(DRIVERS / "nemo_gym_server.py"), str(port), resources]
    with running(serve, f"http://127.0.0.1:{port}", tmp_path) as url:
        drive = [str(python), str(DRIVERS / "nemo_gym_agent.py"), str(port), *map(str, others), agent, str(script)]
        done = subprocess.run(drive, capture_output=True, text=True, check=False, cwd=tmp_path)
        assert done.returncode == 0, done.stderr[-3000:]
        theirs = json.loads(done.stdout.splitlines()[-1])
        with gem.make(f"nemo_gym:{url}", rows=str(rows)) as env:
            for episode, their in zip(episodes, theirs, strict=True):
                env.reset(options={"index": episode["index"]})
                total, texts = 0.0, []
                for items in episode["answers"]:
                    observation, reward, terminated, truncated, info = env.step(action_of(items))
                    total += reward
                    texts += [one["text"] for one in info.get("tool_results", ())] or [observation] * bool(observation)
                    if terminated or truncated:
                        break
                assert (total, texts) == (their["reward"], their["outputs"] + their["told"])
    assert {episode["reward"] for episode in theirs} == {0.0, 1.0}
