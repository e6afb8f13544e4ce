"""``agentgym:URL`` against the published interface of AgentGym's servers, whole and broken."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import pytest

import gem
from gem.errors import ArgumentError, EpisodeFinishedError
from gem_bridges.agentgym.dialects import DIALECTS, recognised
from gem_bridges.errors import BridgeError

if TYPE_CHECKING:
    from conftest import AgentGymServer

Start = Callable[..., "AgentGymServer"]

SERVERS = {
    "textcraft": ("textcraft", ""),
    "babyai": ("babyai", ""),
    "sciworld": ("sciworld", ""),
    "alfworld": ("alfworld", ""),
    "maze": ("lmrlgym", "/maze"),
    "wordle": ("lmrlgym", "/wordle"),
    "webshop": ("webshop", ""),
    "sqlgym": ("sqlgym", ""),
    "searchqa": ("searchqa", ""),
    "tool": ("todo", ""),
}
"""Dialect → server and path."""


@pytest.mark.parametrize("dialect", SERVERS)
def test_a_server_is_recognised_and_played(agentgym: Start, dialect: str) -> None:
    """Every server that describes itself is played by its address alone, with the bodies that its document demands."""
    server = agentgym(*SERVERS[dialect])
    with gem.make(f"agentgym:{server.url}", timeout=20.0) as env:
        for task in (7, 8):
            observation, info = env.reset(options={"task": task})
            assert env.dialect == dialect
            assert observation.endswith(f"Say {task}.")
            assert info["server"]["task"] == task
            assert env.step("Thought: perhaps\nAction: 3")[:4] == ("No.", 0.0, False, False)
            assert env.step(f"Action: 3\nNo.\nAction: {task}")[:4] == ("Yes.", 1.0, True, False)
    created = [path for path, _ in server.requests if path.endswith("/create")]
    closed = [path for path, _ in server.requests if path.endswith("/close")]
    assert len(created) == 1
    assert len(closed) == DIALECTS[dialect].closes


def test_webarena_is_named_in_the_id(agentgym: Start) -> None:
    """Its server does not describe itself, and the error for such a server lists the names."""
    server = agentgym("webarena")
    with (
        gem.make(f"agentgym:{server.url}", timeout=20.0) as env,
        pytest.raises(BridgeError, match=r"#textcraft\|.*webarena"),
    ):
        env.reset()
    with gem.make(f"agentgym:{server.url}#webarena", timeout=20.0) as env:
        assert env.reset(options={"task": 5})[0].endswith("Say 5.")
        assert env.step("In summary, I do ```5```")[:4] == ("Yes.", 1.0, True, False)


def test_the_seed_chooses_the_task(agentgym: Start) -> None:
    """Below ``tasks``, the same for the same seed, and onwards from the generator without one."""
    server = agentgym()
    chosen = []
    for _ in range(2):
        with gem.make(f"agentgym:{server.url}", tasks=1000, timeout=20.0) as env:
            chosen.append([env.reset(seed=seed)[1]["server"]["task"] for seed in (3, None, None, 4)])
    assert chosen[0] == chosen[1]
    assert len(set(chosen[0])) > 1
    assert max(chosen[0]) < 1000


FAULTS: dict[str, tuple[int, bytes, str]] = {
    "200 with an error": (200, b'{"error": "The task has been deleted."}', "The task has been deleted."),
    "no JSON": (200, b"<html>", "answered with no JSON"),
    "no object": (200, b"3", "outside the protocol"),
    "no observation": (200, b'{"reward": 1, "done": true}', "outside the protocol"),
    "a reward that is none": (200, b'{"observation": "x", "reward": "1", "done": true}', "no finite number"),
    "done that is none": (200, b'{"observation": "x", "reward": 1, "done": 1}', "outside the protocol"),
    "a huge answer": (200, b'"' + b"x" * 70_000 + b'"', "more than 65536 bytes"),
    "a broken server": (500, b"Internal Server Error", "status 500"),
    "a proxy without a server": (404, b"nothing here", "status 404"),
    "a redirection": (307, b"", "status 307"),
}


@pytest.mark.sampled(4)
@pytest.mark.parametrize("fault", FAULTS)
def test_a_fault_in_a_step_truncates_the_episode(agentgym: Start, fault: str) -> None:
    """The last observation comes back with the reason, and the next reset begins in a new session."""
    status, body, reason = FAULTS[fault]
    server = agentgym()
    with gem.make(f"agentgym:{server.url}", max_answer_bytes=65_536, timeout=20.0) as env:
        first, _ = env.reset(options={"task": 3})
        server.answers["/step"] = [(status, body)]
        observation, reward, terminated, truncated, info = env.step("3")
        assert (observation, reward, terminated, truncated) == (first, 0.0, False, True)
        assert reason in info["error"]
        with pytest.raises(EpisodeFinishedError):
            env.step("3")
        env.reset(options={"task": 3})
        assert env.step("3")[1] == 1.0
    assert [path for path, _ in server.requests].count("/create") == 2


@pytest.mark.sampled(7)
@pytest.mark.parametrize("path", ["/create", "/reset"])
@pytest.mark.parametrize("fault", FAULTS)
def test_a_fault_in_a_reset_is_an_error(agentgym: Start, path: str, fault: str) -> None:
    """There is no observation to return; the next reset can work again."""
    status, body, _ = FAULTS[fault]
    server = agentgym()
    if path == "/create" and fault == "no object":
        body = b'{"id": true}'  # a number would be a session
    if path == "/reset" and fault in ("a reward that is none", "done that is none"):
        pytest.skip("a reset may answer with less")
    server.answers[path] = [(status, body)]
    with gem.make(f"agentgym:{server.url}", max_answer_bytes=65_536, timeout=20.0) as env:
        with pytest.raises(BridgeError, match=r"127\.0\.0\.1"):
            env.reset(options={"task": 3})
        env.reset(options={"task": 3})
        assert env.step("3")[1] == 1.0


def test_a_server_that_forgot_its_sessions_gets_a_new_one(agentgym: Start) -> None:
    """Between episodes nothing is lost with a session."""
    server = agentgym()
    with gem.make(f"agentgym:{server.url}", timeout=20.0) as env:
        env.reset(options={"task": 3})
        assert env.step("3")[2]
        server.tasks.clear()
        env.reset(options={"task": 4})
        assert env.step("4")[2]


def test_a_server_that_is_gone(agentgym: Start) -> None:
    """In a step the episode ends; in a reset and in close nothing hangs."""
    server = agentgym()
    env = gem.make(f"agentgym:{server.url}", timeout=20.0)
    env.reset(options={"task": 3})
    server.stop()
    env.close()
    with pytest.raises(BridgeError, match="is the server running"):
        env.reset()
    env.close()
    env.close()


@pytest.mark.parametrize("action", [None, b"3", 3, {}, {"content": None}, "\udfff", "x" * 2**21])
def test_no_action_crashes_a_step(agentgym: Start, action: Any) -> None:
    """What cannot be sent costs a turn and is answered with the reason."""
    server = agentgym()
    with gem.make(f"agentgym:{server.url}", timeout=20.0) as env:
        env.reset(options={"task": 3})
        observation, reward, *_, info = env.step(action)
        assert observation.startswith("The action was not understood")
        assert (reward, info["action_status"]) == (0.0, "malformed")
        assert env.step("3")[1] == 1.0


@pytest.mark.parametrize("text", ["", " ", "Action:", "Action: \n", "a\nAction:\n3", "\x00", "Action: " * 20_000])
def test_odd_texts_are_sent_as_they_are(agentgym: Start, text: str) -> None:
    """Whether they mean anything is for the server to say."""
    server = agentgym()
    with gem.make(f"agentgym:{server.url}", timeout=20.0) as env:
        env.reset(options={"task": 3})
        assert env.step(text)[4]["action_status"] == "legal"


def test_offered_actions_are_shown_and_drawn(agentgym: Start) -> None:
    """ALFWorld lists them beside the observation, where no agent would see them; BabyAI within it."""
    server = agentgym("alfworld")
    with gem.make(f"agentgym:{server.url}", timeout=20.0) as env:
        answer = b'{"observation": "A room.", "available_actions": ["look", "go to 1"], "reward": 0, "done": false}'
        server.answers["/reset"] = [(200, answer)]
        assert env.reset(seed=1)[0].endswith("A room.\nAvailable actions: look, go to 1")
        assert {env.sample_random_action() for _ in range(30)} == {"look", "go to 1"}
        server.answers["/step"] = [
            (200, b'{"observation": "Hall.\\nAvailable actions: [\\"turn left\\"]", "reward": 0, "done": false}')
        ]
        assert env.step("look")[0].count("Available") == 1
        assert env.sample_random_action() == "turn left"


def test_what_is_no_document_is_no_dialect() -> None:
    """Whatever a server answers instead of an OpenAPI document."""
    assert recognised({"paths": {}}, "") is None
    assert recognised(None, "") is None
    assert recognised([], "/maze") is None


def test_scienceworlds_task_is_part_of_the_first_observation(agentgym: Start) -> None:
    """An agent that ignores info must be able to solve it."""
    server = agentgym("sciworld")
    with gem.make(f"agentgym:{server.url}", timeout=20.0) as env:
        server.answers["/reset"] = [(200, b'{"observation": "A hallway.", "task_description": "Boil soap."}')]
        assert env.reset(seed=1)[0].endswith("Boil soap.\n\nA hallway.")


@pytest.mark.parametrize(
    ("kwargs", "message"),
    [({"dialect": "webchop"}, "webshop"), ({"tasks": 0}, "at least 1"), ({"tutorials": 1}, "tutorials")],
)
def test_wrong_arguments_are_refused(kwargs: dict[str, Any], message: str) -> None:
    """Before any request."""
    with pytest.raises((ArgumentError, TypeError), match=message):
        gem.make("agentgym:http://127.0.0.1:9", **kwargs)
