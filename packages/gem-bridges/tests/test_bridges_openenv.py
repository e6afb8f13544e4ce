"""``openenv:URL`` against a server of the published protocol, whole and broken."""

from __future__ import annotations

import base64
import contextlib
import json
import pickle
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from websockets.exceptions import ConnectionClosed

import gem
from gem.env_spec import EnvSpec
from gem.errors import ArgumentError, EpisodeFinishedError, ResetNeededError
from gem_bridges.errors import BridgeError
from gem_bridges.foreign_env import MalformedActionError
from gem_bridges.openenv.actions import OpenEnvActions
from gem_bridges.openenv.observations import turn_of

if TYPE_CHECKING:
    from conftest import OpenEnvServer

OBSERVED = {"type": "observation", "data": {"observation": {"text": "x"}, "reward": 0.0, "done": False}}


def make(server: OpenEnvServer, **kwargs: Any) -> gem.Env[Any, Any]:
    return gem.make(f"openenv:{server.url}", **{"timeout": 20.0, **kwargs})


def test_an_episode_is_played_over_one_session(openenv: OpenEnvServer) -> None:
    """The text is the value of the only field; done is terminated; the first observation ends with the form."""
    with make(openenv) as env:
        first, info = env.reset(seed=17)
        assert first == "Guess my digit.\n\nYour whole answer is the action: guess (integer)."
        assert info == {"turn": 0}
        assert env.step("3") == ("Wrong.", 0.0, False, False, {"turn": 1, "action_status": "legal"})
        assert env.step('{"guess": 7}')[:4] == ("Right.", 1.0, True, False)
        with pytest.raises(EpisodeFinishedError):
            env.step("7")
        assert env.reset(seed=4)[1] == {"turn": 0}
        assert env.step({"role": "assistant", "content": "4"})[1] == 1.0
    openenv.wait_for_ends()
    assert openenv.sessions == 1
    assert [message["type"] for message in openenv.received] == [
        *["reset", "step", "step"],
        *["reset", "step"],
        "close",
    ]


def test_the_seed_reaches_the_server_and_later_ones_follow_from_it(openenv: OpenEnvServer) -> None:
    """A run is a function of its first seed, also where later resets bring none."""
    runs = []
    for _ in range(2):
        openenv.received.clear()
        with make(openenv) as env:
            for seed in (5, None, None):
                env.reset(seed=seed)
        runs.append([message["data"]["seed"] for message in openenv.received if message["type"] == "reset"])
    assert runs[0] == runs[1]
    assert runs[0][0] == 5
    assert len(set(runs[0])) == 3


def test_options_reach_the_servers_reset(openenv: OpenEnvServer) -> None:
    """They are keyword arguments of the environment there."""
    with make(openenv) as env:
        env.reset(seed=1, options={"level": "hard"})
    assert openenv.received[0]["data"] == {"seed": 1, "level": "hard"}


@pytest.mark.parametrize(
    "action", [None, b"3", 3, "three", "[3]", '{"guess": "x"}', "\ud800", "9" * 5000, "x" * 2**21, {}]
)
def test_no_action_crashes_a_step(openenv: OpenEnvServer, action: Any) -> None:
    """A malformed action costs a turn, pays nothing, and is answered with the form of actions."""
    with make(openenv) as env:
        env.reset(seed=1)
        observation, reward, terminated, truncated, info = env.step(action)
        assert (reward, terminated, truncated, info["action_status"]) == (0.0, False, False, "malformed")
        assert observation.startswith("The action was not understood")
        assert env.step("1")[1] == 1.0


def hang_up(connection: Any) -> None:
    connection.socket.close()


def leave(connection: Any) -> None:
    connection.close(1011)


FAULTS: dict[str, tuple[str | bytes | Callable[[Any], None], str]] = {
    "a connection that breaks": (hang_up, "is an OpenEnv server running there"),
    "a server that closes": (leave, "is an OpenEnv server running there"),
    "no JSON": ("{", "answered with no JSON"),
    "JSON that is no number": ('{"type": NaN}', "answered with no JSON"),
    "endless JSON": ("[" * 50_000, "answered with no JSON"),
    "no object": ("[]", "outside the protocol"),
    "another type": (json.dumps({**OBSERVED, "type": "state"}), "outside the protocol"),
    "no data": ('{"type": "observation"}', "outside the protocol"),
    "no observation": ('{"type": "observation", "data": {}}', "outside the protocol"),
    "a huge answer": (json.dumps({**OBSERVED, "x": "y" * 70_000}), "is an OpenEnv server running there"),
    "a reward that is none": (json.dumps(OBSERVED).replace("0.0", '"much"'), "no finite number"),
    "an infinite reward": (json.dumps(OBSERVED).replace("0.0", "1e999"), "no finite number"),
    "done that is no flag": (json.dumps(OBSERVED).replace("false", '"no"'), "outside the protocol"),
    "an error of the environment": (
        json.dumps({"type": "error", "data": {"message": "division by zero", "code": "EXECUTION_ERROR"}}),
        "division by zero",
    ),
    "no answer": (lambda _: None, "did not answer 'step' within"),
}


@pytest.mark.sampled(5)
@pytest.mark.parametrize("fault", FAULTS)
def test_a_fault_in_a_step_truncates_the_episode(openenv: OpenEnvServer, fault: str) -> None:
    """The last observation comes back with the reason, and the next reset begins in a new session."""
    answer, reason = FAULTS[fault]
    with make(openenv, max_answer_bytes=65_536, timeout=3.0 if fault == "no answer" else 60.0) as env:
        first, _ = env.reset(seed=3)
        openenv.answers["step"] = [answer]
        observation, reward, terminated, truncated, info = env.step("3")
        assert (observation, reward, terminated, truncated) == (first, 0.0, False, True)
        assert info["error"].startswith(("BridgeError: ", "ServerRefusal: "))
        assert reason in info["error"]
        with pytest.raises(EpisodeFinishedError):
            env.step("3")
        env.reset(seed=3)
        assert env.step("3")[1] == 1.0
    assert openenv.sessions == 2


@pytest.mark.sampled(4)
@pytest.mark.parametrize(
    "fault", sorted(set(FAULTS) - {"no answer", "a connection that breaks", "a server that closes"})
)
def test_a_fault_in_a_reset_is_an_error(openenv: OpenEnvServer, fault: str) -> None:
    """There is no observation to return, so the error is raised; an episode has not begun."""
    answer, reason = FAULTS[fault]
    openenv.answers["reset"] = [answer]
    with make(openenv, max_answer_bytes=65_536) as env:
        with pytest.raises(BridgeError, match=reason.replace("(", r"\(")):
            env.reset(seed=3)
        with pytest.raises(ResetNeededError):
            env.step("3")
        env.reset(seed=3)
        assert env.step("3")[1] == 1.0


@pytest.mark.slow
def test_a_late_answer_is_never_taken_for_the_next_one(openenv: OpenEnvServer) -> None:
    """Messages have no numbers, so a session with an answer on its way is given up."""
    with make(openenv, timeout=3.0) as env:  # enough for the other answers, on a busy machine too
        env.reset(seed=3)
        held: list[Any] = []
        openenv.answers["step"] = [held.append]
        assert env.step("3")[3]
        env.reset(seed=4)
        with contextlib.suppress(ConnectionClosed):  # the server may have seen the end of the old session, or not
            held[0].send(json.dumps(OBSERVED).replace('"x"', '"late"'))
        assert env.step("4")[0] == "Right."


def test_a_server_that_was_started_again_gets_a_new_session(openenv: OpenEnvServer) -> None:
    """Between episodes nothing is lost with a session, so the reset opens another without an error."""
    with make(openenv) as env:
        env.reset(seed=3)
        assert env.step("3")[2]
        openenv.stop()
        with pytest.raises(BridgeError, match="is an OpenEnv server running there"):
            env.reset(seed=3)
        openenv.start()
        env.reset(seed=3)
        assert env.step("3")[2]
        openenv.stop()
        openenv.start()
        env.reset(seed=3)
        assert env.step("3")[2]


def test_a_full_server_is_asked_again(openenv: OpenEnvServer) -> None:
    """A session that has just been closed may still take a place; a server that stays full is an error."""
    openenv.full = 2
    with make(openenv) as env:
        env.reset(seed=3)
        assert env.step("3")[2]
    openenv.full = 10**9
    with make(openenv, timeout=0.3) as env, pytest.raises(BridgeError, match="Server at capacity"):
        env.reset(seed=3)


def test_turns_are_limited_without_the_agents_knowledge(openenv: OpenEnvServer) -> None:
    """The limit truncates; the task's own end in the last turn does not."""
    with make(openenv, max_turns=2) as env:
        env.reset(seed=3)
        assert env.step("1")[2:4] == (False, False)
        assert env.step("nothing")[2:4] == (False, True)
        env.reset(seed=3)
        env.step("1")
        assert env.step("3")[2:4] == (True, False)


def test_random_actions_follow_the_schema_and_the_seed(openenv: OpenEnvServer) -> None:
    """They are legal, and the same seed draws the same."""
    drawn = []
    for _ in range(2):
        with make(openenv) as env:
            env.reset(seed=30)
            drawn.append([env.sample_random_action() for _ in range(5)])
            assert {env.step(action)[4]["action_status"] for action in drawn[-1][:1]} == {"legal"}
    assert drawn[0] == drawn[1]
    assert all(0 <= json.loads(action)["guess"] <= 9 for action in drawn[0])


def test_a_server_without_a_schema_takes_objects_or_the_named_field(openenv: OpenEnvServer) -> None:
    """The argument names the field where the server does not describe itself."""
    openenv.schema = None
    with make(openenv, show_actions=False) as env:
        assert env.reset(seed=3)[0] == "Guess my digit."
        assert env.step("hello")[4]["action_status"] == "malformed"
        assert env.step('{"guess": 3}')[1] == 1.0
    with make(openenv, action_field="guess") as env:
        env.reset(seed=3)
        assert env.step("3")[4]["action_status"] == "malformed"  # without a schema the field is taken for text
        assert openenv.received[-1]["data"] == {"guess": "3"}


def test_a_token_comes_from_the_environment(openenv: OpenEnvServer, monkeypatch: pytest.MonkeyPatch) -> None:
    """Arguments are recorded with the spec, so the token is none; it is sent with every request."""
    monkeypatch.setenv("MY_TOKEN", "s3cret")
    with make(openenv, token_variable="MY_TOKEN") as env:
        env.reset(seed=1)
        assert env.spec is not None
        assert "s3cret" not in env.spec.to_json()
    assert {headers["Authorization"] for headers in openenv.headers} == {"Bearer s3cret"}
    monkeypatch.delenv("MY_TOKEN")
    with pytest.raises(ArgumentError, match="MY_TOKEN"):
        make(openenv, token_variable="MY_TOKEN")


def test_the_spec_survives_json_and_pickle_and_makes_vectors(openenv: OpenEnvServer) -> None:
    """Records and workers carry the spec; a batch in threads has a session for each environment."""
    spec = gem.spec(f"openenv:{openenv.url}/")
    assert spec.kwargs == {"url": openenv.url}
    assert EnvSpec.from_json(spec.to_json()) == pickle.loads(pickle.dumps(spec)) == spec
    with gem.make_vec(spec, num_envs=3, mode="thread", autoreset="disabled") as envs:
        envs.reset(seed=20)
        observations, rewards, terminated, *_ = envs.step(["0", "1", "3"])
        assert list(observations) == ["Right.", "Right.", "Wrong."]
        assert list(rewards) == [1.0, 1.0, 0.0]
        assert list(terminated) == [True, True, False]
    assert openenv.sessions == 3


@pytest.mark.parametrize(
    "address",
    [
        "localhost:8000",
        "ftp://host",
        "http://",
        "http://host:port",
        "http://me:secret@host",
        "http://host/?a=b",
        "http://h h",
    ],
)
def test_what_is_no_address_is_refused(address: str) -> None:
    """The error shows an address that would do."""
    with pytest.raises(ArgumentError, match="http://localhost:8000"):
        gem.make(f"openenv:{address}")


TOOLS = [
    {"name": "add", "description": "Add.", "inputSchema": {"type": "object", "properties": {"a": {"type": "integer"}}}}
]


def test_tools_are_called_natively_or_by_json() -> None:
    """An assistant message with tool calls is the call of its first tool; plain text is no call."""
    form = OpenEnvActions.of({"properties": {"tool_name": {"type": "string"}, "arguments": {}}}, None, TOOLS)
    call = {"type": "call_tool", "tool_name": "add", "arguments": {"a": 1}}
    message = {"tool_calls": [{"function": {"name": "add", "arguments": '{"a": 1}'}}]}
    assert form.calls_tools
    assert form.parse(message) == form.parse(json.dumps(call)) == call
    for malformed in ("add", {"tool_calls": [{}]}, {"tool_calls": [{"function": {"name": "add", "arguments": "["}}]}):
        with pytest.raises(MalformedActionError, match="The tools are:\n- add: Add"):
            form.parse(malformed)


JSON_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text() | st.floats(allow_nan=False),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=12), inner, max_size=4),
    max_leaves=12,
)


@given(st.dictionaries(st.sampled_from(["observation", "reward", "done", "metadata", "other"]), JSON_VALUES))
def test_any_data_are_a_turn_or_an_error(data: dict[str, Any]) -> None:
    """Whatever a server sends, the bridge answers with the contract's types or its own error."""
    try:
        turn = turn_of(data)
    except BridgeError:
        return
    assert isinstance(turn.observation, (str, list))
    assert type(turn.reward) is float
    assert type(turn.terminated) is bool


@given(JSON_VALUES, st.text())
def test_any_schema_is_a_form_or_an_error(schema: Any, text: str) -> None:
    """A schema from elsewhere breaks neither the description nor the reading of actions."""
    try:
        form = OpenEnvActions.of(schema, None)
    except BridgeError:
        return
    assert form.describe()
    with contextlib.suppress(MalformedActionError):
        assert isinstance(form.parse(text), dict)


def test_pictures_become_parts() -> None:
    """A data URL of a picture is shown as a picture, and its place in the text keeps a number."""
    url = "data:image/png;base64," + base64.b64encode(b"picture").decode()
    turn = turn_of({"observation": {"screen": [url], "text": "Look."}, "reward": None, "done": False})
    assert turn.observation == [
        {"type": "text", "text": '{"screen": ["[picture 1]"], "text": "Look."}'},
        {"type": "image_url", "image_url": {"url": url}},
    ]


def test_an_episode_that_is_over_at_its_beginning_ends_the_session(openenv: OpenEnvServer) -> None:
    """``reset`` says so, and the next one begins in a new session."""
    over = {**OBSERVED, "data": {"observation": {"text": "x"}, "reward": 0.0, "done": True}}
    with make(openenv) as env:
        openenv.answers["reset"] = [json.dumps(over)]
        with pytest.raises(BridgeError, match="is over"):
            env.reset(seed=1)
        env.reset(seed=2)
    assert openenv.sessions == 2
