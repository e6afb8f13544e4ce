"""``ors:URL``: by night against servers of openreward, an old one too, and against hostile ones."""

from __future__ import annotations

import json
import socket
import subprocess
from collections.abc import Callable
from contextlib import AbstractContextManager
from importlib.util import find_spec
from pathlib import Path
from time import monotonic
from typing import Any

import pytest

import gem
from gem.errors import ArgumentError
from gem_bridges.errors import BridgeError

RELEASE, OLD_RELEASE = "openreward==0.1.167", "openreward==0.1.150"
OWN = Path(__file__).parent / "drivers" / "ors_own.py"


def called(*calls: tuple[str, dict[str, Any]]) -> dict[str, Any]:
    """Return an assistant message that calls tools."""
    return {
        "role": "assistant",
        "content": None,
        "tool_calls": [
            {"id": f"call-{number}", "type": "function", "function": {"name": name, "arguments": json.dumps(arguments)}}
            for number, (name, arguments) in enumerate(calls)
        ],
    }


def test_an_address_and_an_environment_are_read_from_the_id() -> None:
    """No server is contacted for it."""
    assert gem.spec("ors:http://localhost:8080#Digits").kwargs == {
        "url": "http://localhost:8080",
        "environment": "Digits",
    }
    assert gem.spec("ors:https://host/path/").kwargs == {"url": "https://host/path"}
    for wrong in ("ors:localhost:8080", "ors:http://user:secret@host", "ors:ftp://host"):
        with pytest.raises(ArgumentError):
            gem.spec(wrong)


def test_keys_are_named_and_never_given() -> None:
    """A variable that is not set is refused when the environment is made."""
    with pytest.raises(ArgumentError, match="no environment variable NO_SUCH_KEY"):
        gem.make("ors:http://localhost:1", key_variable="NO_SUCH_KEY")
    with pytest.raises(ArgumentError, match="no environment variable NO_SUCH_JUDGE"):
        gem.make("ors:http://localhost:1", secrets=["NO_SUCH_JUDGE"])


@pytest.mark.skipif(find_spec("openreward") is not None, reason="openreward is installed here")
def test_without_openreward_the_remedy_is_named() -> None:
    """In both directions."""
    with gem.make("ors:http://localhost:1") as env, pytest.raises(BridgeError, match="install openreward there"):
        env.reset(seed=0)
    with pytest.raises(ModuleNotFoundError, match=r"pip install 'gem-bridges\[ors\]'"):
        __import__("gem_bridges.ors.outward")


@pytest.fixture
def served(
    published: Callable[..., Path],
    running: Callable[..., AbstractContextManager[str]],
    reserve_port: Callable[[], int],
    tmp_path: Path,
) -> Callable[[str], AbstractContextManager[str]]:
    """Serve the environment of ``drivers/ors_own.py`` with a release."""

    def serve(release: str) -> AbstractContextManager[str]:
        port = reserve_port()
        command = [str(published(release)), str(OWN), "serve", str(port)]
        return running(command, f"http://127.0.0.1:{port}", tmp_path)

    return serve


@pytest.mark.nightly
@pytest.mark.timeout(1800)
@pytest.mark.parametrize("release", [RELEASE, OLD_RELEASE])
def test_episodes_are_those_of_the_environments_own_code(
    release: str, served: Callable[[str], AbstractContextManager[str]], published: Callable[..., Path]
) -> None:
    """Texts, rewards and ends of 15 episodes, refused calls among them; on a server of an older release too."""
    python = str(published(RELEASE))
    played = subprocess.run([python, str(OWN), "play"], capture_output=True, text=True, check=True)
    facts = json.loads(played.stdout.splitlines()[-1])
    with served(release) as url, gem.make(f"ors:{url}", python=python) as env:
        for index, plays in enumerate(facts["turns"]):
            for calls, turns in zip(facts["plays"], plays, strict=True):
                first, info = env.reset(options={"index": index})
                assert (first, info["index"]) == ("A digit is hidden.\nFind it.", index)
                for (name, arguments), (text, reward, finished) in zip(calls, turns, strict=True):
                    action = arguments["answer"] if name == "submit" else called((name, arguments))
                    observation, paid, terminated, truncated, info = env.step(action)
                    assert info["tool_results"][0]["text"].endswith(text)
                    assert (paid, terminated, truncated) == (reward, finished, False)
                    if name == "look":
                        assert observation[1]["image_url"]["url"] == "data:image/png;base64,QUJD"


@pytest.mark.nightly
@pytest.mark.timeout(1800)
def test_calls_faults_states_and_splits(
    served: Callable[[str], AbstractContextManager[str]], published: Callable[..., Path]
) -> None:
    """Several calls of one message, a tool that fails, a state that is played again, the split that was asked for."""
    python = str(published(RELEASE))
    with served(RELEASE) as url, gem.make(f"ors:{url}", python=python) as env:
        env.reset(options={"index": 2})
        both = called(("guess", {"number": 1}), ("guess", {"number": 2}))
        observation, reward, terminated, _, info = env.step(both)
        assert (observation, reward, terminated) == ("Wrong.\n\nRight.", 0.125, False)
        assert [one["tool_call_id"] for one in info["tool_results"]] == ["call-0", "call-1"]
        state = env.get_state()
        with gem.make(f"ors:{url}", python=python) as other:
            other.set_state(state)
            text = '<tool_call>{"name": "guess", "arguments": {"number": 2}}</tool_call>'
            assert other.step(text)[:3] == ("Right.", 0.25, True)
        _, reward, terminated, truncated, info = env.step(called(("crash", {})))
        assert (reward, terminated, truncated, "the digits are gone" in info["error"]) == (0.0, False, True, True)
        assert env.reset(seed=3)[1]["index"] in range(5)
        assert env.step("\ud800")[4]["action_status"] == "malformed"
        with gem.make(f"ors:{url}", python=python, split="test") as test:
            assert test.reset(options={"index": 2})[1]["index"] == 2
            assert test.step("7")[1] == 1.0
        with (
            gem.make(f"ors:{url}", python=python, split="none") as none,
            pytest.raises(BridgeError, match="train, test"),
        ):
            none.reset(seed=0)
        with gem.make(f"ors:{url}#Nothing", python=python) as none, pytest.raises(BridgeError, match="status 404"):
            none.reset(seed=0)


@pytest.mark.nightly
@pytest.mark.timeout(1800)
def test_hostile_servers_end_with_a_sentence_and_in_time(
    hostile: Callable[[str], str], published: Callable[..., Path]
) -> None:
    """Whatever answers at the address; each within the time for an answer and the start of the worker."""
    python = str(published(RELEASE))
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        closed = f"http://127.0.0.1:{taken.getsockname()[1]}"
    late = "gave no answer of ORS within 20 s"
    expected = {
        hostile("html"): f"outside the protocol of ORS|{late}",
        hostile("fields"): f"outside the protocol of ORS|{late}",
        hostile("hang"): late,
        hostile("endless"): f"does not fit|outside the protocol of ORS|{late}",
        hostile("error"): "status 500",
        closed: "Cannot connect to host",
    }
    for url, sentence in expected.items():
        env = gem.make(f"ors:{url}", python=python, timeout=20.0)
        began = monotonic()
        with env, pytest.raises(BridgeError, match=sentence) as caught:
            env.reset(seed=0)
        assert monotonic() - began < 20.0 + env.unwrapped.start_seconds + 60.0
        assert "Traceback" not in str(caught.value)
