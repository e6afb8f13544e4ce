"""OpenEnv's protocol on our server: its messages, and in the nightly test its own client."""

from __future__ import annotations

import json
import subprocess
import sys
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from websockets.exceptions import ConnectionClosed, InvalidStatus
from websockets.sync.client import ClientConnection, connect

import gem

if TYPE_CHECKING:
    from conftest import RunningServer

GAME = "game:GuessTheNumber-v0-easy"
TOKEN = "a-token-of-the-tests-1234"
PACKAGE = "openenv==0.10.0"

CLIENT = """
import sys
from openenv.core.generic_client import GenericEnvClient
base, token = sys.argv[1:]
with GenericEnvClient(base_url=base, headers={"Authorization": f"Bearer {token}"}).sync() as env:
    result = env.reset(seed=7)
    print(repr(result.observation["text"]))
    guess = 0
    while not result.done:
        guess += 1
        result = env.step({"action": f"\\\\boxed{{{guess}}}"})
        print(repr((result.observation["text"], result.reward, result.done)))
    print(env.state()["step_count"] == guess)
    for wrong in ({"action": "1"}, {"guess": 3}):
        try:
            env.step(wrong)
        except RuntimeError as error:
            print(str(error).rpartition("code: ")[2])
    print(env.reset(seed=7).done)
"""


@pytest.fixture(scope="module")
def small_server(serve: Callable[..., Any]) -> Iterator[RunningServer]:
    """A server of one game, with room for two sessions."""
    with serve(GAME, "--workers", "1", "--max-sessions", "2", "--token", TOKEN) as started:
        yield started


def client(server: RunningServer, path: str = f"/openenv/{GAME}/ws", token: str = TOKEN) -> Any:
    return connect(
        f"ws://127.0.0.1:{server.port}{path}",
        additional_headers={"Authorization": f"Bearer {token}"},
        open_timeout=60,
        compression=None,
    )


def answer(socket: ClientConnection) -> tuple[str, dict[str, Any]]:
    message = json.loads(socket.recv(60))
    assert message.keys() == {"type", "data"}
    return message["type"], message["data"]


def ask(socket: ClientConnection, kind: str, **data: Any) -> tuple[str, dict[str, Any]]:
    socket.send(json.dumps({"type": kind, "data": data} if data or kind != "state" else {"type": kind}))
    return answer(socket)


def played(seed: int) -> list[Any]:
    """Return the episode of ``gem.make`` that guesses 1, 2, 3 …: first observation, then text, reward and done."""
    with gem.make(GAME) as env:
        turns: list[Any] = [env.reset(seed=seed)[0]]
        done = False
        while not done:
            text, reward, terminated, truncated, _ = env.step(f"\\boxed{{{len(turns)}}}")
            done = terminated or truncated
            turns.append((text, reward, done))
    return turns


@pytest.mark.parametrize("path", [f"/openenv/{GAME}/ws", "/ws"])
def test_an_episode_is_that_of_the_environment(small_server: RunningServer, path: str) -> None:
    """The same seed and actions give the same episode; a server of one environment offers it at its root too."""
    expected = played(7)
    with client(small_server, path) as socket:
        kind, data = ask(socket, "reset", seed=7, episode_id="mine")
        assert (kind, data["observation"]["text"], data["reward"], data["done"]) == (
            "observation",
            expected[0],
            None,
            False,
        )
        for guess, turn in enumerate(expected[1:], 1):
            kind, data = ask(socket, "step", action=f"\\boxed{{{guess}}}")
            assert (data["observation"]["text"], data["reward"], data["done"]) == turn
            assert data["done"] == (data["metadata"]["terminated"] or data["metadata"]["truncated"])
        assert ask(socket, "state") == ("state", {"episode_id": "mine", "step_count": len(expected) - 1})
        kind, data = ask(socket, "step", action="1")
        assert (kind, data["code"]) == ("error", "EXECUTION_ERROR")
        assert "reset" in data["message"]
        assert ask(socket, "reset", seed=7)[1]["observation"]["text"] == expected[0]
        socket.send('{"type": "close"}')
        with pytest.raises(ConnectionClosed):
            socket.recv(60)


WRONG = {
    "{": "INVALID_JSON",
    "[" * 50_000: "INVALID_JSON",
    "[]": "UNKNOWN_TYPE",
    '{"type": "mcp", "data": {}}': "UNKNOWN_TYPE",
    '{"type": ["reset"]}': "UNKNOWN_TYPE",
    '{"type": "reset", "data": 3}': "VALIDATION_ERROR",
    '{"type": "reset", "id": 3}': "VALIDATION_ERROR",
    '{"type": "reset", "data": {"seed": -1}}': "VALIDATION_ERROR",
    '{"type": "reset", "data": {"seed": "x"}}': "VALIDATION_ERROR",
    '{"type": "reset", "data": {"episode_id": 3}}': "VALIDATION_ERROR",
    '{"type": "step", "data": {}}': "VALIDATION_ERROR",
    '{"type": "step", "data": {"action": 3}}': "VALIDATION_ERROR",
    '{"type": "step", "data": {"action": "x", "timeout": 3}}': "VALIDATION_ERROR",
}


def test_a_wrong_message_is_answered_and_harms_nothing(small_server: RunningServer) -> None:
    """With the code of OpenEnv's servers; the session goes on."""
    with client(small_server) as socket:
        ask(socket, "reset", seed=7)
        for text, code in WRONG.items():
            socket.send(text)
            kind, data = answer(socket)
            assert (kind, data["code"]) == ("error", code), text[:80]
        assert ask(socket, "step", action="\\boxed{1}")[0] == "observation"


def test_any_text_is_an_action(small_server: RunningServer) -> None:
    """As in the environment itself, no text is an error; a step before the first reset is one."""
    with client(small_server) as socket:
        assert ask(socket, "step", action="1")[1]["code"] == "EXECUTION_ERROR"
        ask(socket, "reset", seed=7)
        assert ask(socket, "step", action="\ud800 \x00 nothing")[0] == "observation"


def test_limits_and_tokens_apply(small_server: RunningServer) -> None:
    """A full server says so and closes, and the place of a client that leaves is free again."""
    with client(small_server) as first, client(small_server) as second:
        assert ask(first, "reset", seed=1)[0] == ask(second, "reset", seed=1)[0] == "observation"
        with client(small_server) as third:
            kind, data = answer(third)
            assert (kind, data["code"]) == ("error", "CAPACITY_REACHED")
            with pytest.raises(ConnectionClosed):
                third.recv(60)
    while True:  # the server hears of the end of a connection a little later
        with client(small_server) as again:
            if ask(again, "reset", seed=1)[0] == "observation":
                break
    for path, token in (("/ws", "wrong"), ("/openenv/game:Sudoku-v0/ws", TOKEN)):
        with pytest.raises(InvalidStatus):
            client(small_server, path, token).__enter__()


def test_an_environment_describes_itself(small_server: RunningServer) -> None:
    """The schema of actions is what clients of other projects go by."""
    for base in ("", f"/openenv/{GAME}"):
        request = urllib.request.Request(
            f"{small_server.url}{base}/schema", headers={"Authorization": f"Bearer {TOKEN}"}
        )
        with urllib.request.urlopen(request, timeout=60) as response:
            assert json.load(response)["action"]["required"] == ["action"]


@pytest.mark.nightly
@pytest.mark.timeout(600)
def test_the_client_of_openenv_plays(small_server: RunningServer, tmp_path: Path) -> None:
    """The published client, unchanged, sees the episode of the environment."""
    python = tmp_path / "venv" / "bin" / "python"
    pytest.importorskip("uv", reason="NOT TESTED: uv is not installed")
    subprocess.run([sys.executable, "-m", "uv", "venv", "-q", "-p", sys.executable, str(tmp_path / "venv")], check=True)
    subprocess.run([sys.executable, "-m", "uv", "pip", "install", "-q", "-p", str(python), PACKAGE], check=True)
    expected = played(7)
    for base in (small_server.url, f"{small_server.url}/openenv/{GAME}"):
        run = subprocess.run([str(python), "-c", CLIENT, base, TOKEN], capture_output=True, text=True, check=True)
        shown = [repr(turn) for turn in expected]
        assert run.stdout.splitlines() == [*shown, "True", "EXECUTION_ERROR)", "VALIDATION_ERROR)", "False"]


def asked(server: RunningServer, path: str, body: Any = None) -> tuple[int, Any]:
    """Return the status and the JSON of an answer."""
    data = None if body is None else json.dumps(body).encode()
    request = urllib.request.Request(f"{server.url}{path}", data, headers={"Authorization": f"Bearer {TOKEN}"})
    try:
        with urllib.request.urlopen(request, timeout=60) as response:
            return response.status, json.load(response)
    except urllib.error.HTTPError as error:
        return error.code, json.load(error)


@pytest.mark.parametrize("base", ["", f"/openenv/{GAME}"])
def test_tasks_are_seeds(small_server: RunningServer, base: str) -> None:
    """The Task API lists them; a reset with split and index plays one, and says what is wrong with another."""
    assert asked(small_server, f"{base}/list_environments") == (200, [GAME])
    own = f"{base}/{GAME}"
    splits = [{"name": "train", "type": "train"}, {"name": "test", "type": "test"}]
    assert asked(small_server, f"{own}/splits") == (200, splits)
    assert asked(small_server, f"{own}/num_tasks", {"split": "test"}) == (200, {"num_tasks": 1000})
    task = {"id": f"{GAME}#1007", "seed": 1007}
    assert asked(small_server, f"{own}/task", {"split": "test", "index": 7}) == (200, {"task": task})
    some = asked(small_server, f"{own}/task_range", {"split": "test", "start": -994, "stop": 8})
    assert some == (200, {"tasks": [{"id": f"{GAME}#1006", "seed": 1006}, task]})
    assert asked(small_server, f"{own}/tasks", {"split": "train"})[1]["tasks"][999]["seed"] == 999
    for wrong in ({}, [], {"split": "dev"}, {"split": "test", "index": 1000}, {"split": "test", "index": -1}):
        assert asked(small_server, f"{own}/task", wrong)[0] == 400
    assert asked(small_server, f"{own}/task_range", {"split": "test", "start": "x"})[0] == 400
    assert asked(small_server, f"{base}/game:Other-v0/splits")[0] == 404
    with client(small_server, f"{base}/ws") as socket:
        for index in (7, 8):
            shown = ask(socket, "reset", split="train", index=index)[1]["observation"]["text"]
            assert shown == played(index)[0]
            assert ask(socket, "step", action="\\boxed{1}")[1]["reward"] == played(index)[1][1]
        for wrong in ({"split": "dev", "index": 0}, {"split": "test", "index": 1000}, {"split": "test", "index": "0"}):
            assert ask(socket, "reset", **wrong)[1]["code"] == "VALIDATION_ERROR"


def test_the_bridge_plays_tasks(small_server: RunningServer, monkeypatch: pytest.MonkeyPatch) -> None:
    """``openenv:URL`` with a split asks for their number, and passes split and index on."""
    pytest.importorskip("gem_bridges", reason="gem-bridges has the client")
    monkeypatch.setenv("OPENENV_TOKEN", TOKEN)
    with gem.make(f"openenv:{small_server.url}", split="test", token_variable="OPENENV_TOKEN") as env:
        first, info = env.reset(options={"index": 7})
        assert (first.startswith(played(1007)[0]), info["index"]) == (True, 7)
        text, reward, *_ = env.step("\\boxed{1}")
        assert (text, reward) == played(1007)[1][:2]
        assert env.reset(seed=3001)[1]["index"] == 1
    wrong = gem.make(f"openenv:{small_server.url}", split="dev", token_variable="OPENENV_TOKEN")
    with wrong, pytest.raises(gem.errors.GemError, match="leave out the split"):
        wrong.reset(seed=0)
