"""``gem gateway``: sessions by key, their budgets, and their records."""

from __future__ import annotations

import asyncio
import json
import signal
import subprocess
import sys
import urllib.request
from pathlib import Path
from typing import Any
from urllib.error import HTTPError

import pytest
from click.testing import CliRunner

from gem_eval.clients import ScriptedClient
from gem_eval.fake_model import FakeModel, FakeModelThread
from gem_gateway import ClientAnswerer, Gateway
from gem_gateway.call_errors import ModelCallError
from gem_gateway.cli.gateway import gateway_command
from gem_gateway.keyed_sessions import KeyedSessions
from gem_gateway.lineages.journal import read_journal

KEY = "a-key-of-the-gateway"


def asked(url: str, key: str) -> tuple[int, Any]:
    """Return status and body of one call."""
    body = json.dumps({"messages": [{"role": "user", "content": "?"}]}).encode()
    request = urllib.request.Request(f"{url}/chat/completions", body, {"Authorization": f"Bearer {key}"})
    try:
        with urllib.request.urlopen(request) as answer:
            return answer.status, json.load(answer)
    except HTTPError as error:
        with error:
            return error.code, json.load(error)


@pytest.mark.nightly
def test_programs_open_sessions_by_their_keys(tmp_path: Path) -> None:
    """Each name behind the key has a budget and a record of its own; the end prints what was called.

    A model that the server does not list is asked for, with a warning.
    """
    folder = tmp_path / "calls"
    with FakeModelThread(FakeModel("constant:hi")) as model:
        command = [sys.executable, "-m", "gem", "gateway", "--base-url", model.url, "--port", "0", "--json"]
        process = subprocess.Popen(
            [*command, "--journal", str(folder), "--calls", "2", "--model", "other"],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        assert process.stdout is not None
        started = json.loads(process.stdout.readline())
        url, key = started["openai_base_url"], started["api_key"]
        found = [asked(url, name)[0] for name in (key, f"{key}.one", f"{key}.one", f"{key}.one", f"{key}./../x", "no")]
        process.send_signal(signal.SIGINT)
        output, warned = process.communicate(timeout=60)
    assert found == [200, 200, 200, 403, 401, 401]
    assert "the server lists no model 'other', but 'fake-model'" in warned
    sessions = {row["session"]: row for row in json.loads(output)["sessions"]}
    assert sessions["one"]["exceeded"] == "calls"
    assert sessions["one"]["answered"] == 2
    assert sorted(path.name for path in folder.iterdir()) == ["default.jsonl", "one.jsonl"]
    assert [call.answer for call in read_journal(folder / "one.jsonl").calls] == [
        {"role": "assistant", "content": "hi"}
    ] * 2


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--base-url", "http://127.0.0.1:9", "--api-key-env", "NO_SUCH_VARIABLE"], "NO_SUCH_VARIABLE"),
        (["--base-url", "http://127.0.0.1:9", "--journal", "FULL"], "not empty"),
        (["--base-url", "http://127.0.0.1:9", "--calls", "0"], "--calls"),
        (["--base-url", "http://127.0.0.1:9", "--server-tool", "web_search=search:no-such-file"], "no-such-file"),
    ],
)
def test_wrong_options_are_named(tmp_path: Path, arguments: list[str], words: str) -> None:
    """Each is refused in one line, before anything listens."""
    (tmp_path / "file").touch()
    given = [str(tmp_path) if argument == "FULL" else argument for argument in arguments]
    result = CliRunner().invoke(gateway_command, given)
    assert result.exit_code == 2
    assert words in result.output


def test_a_server_that_is_not_there_is_found_before_a_program_calls() -> None:
    """Also where the model is named."""
    result = CliRunner().invoke(gateway_command, ["--base-url", "http://127.0.0.1:1", "--model", "m", "--port", "0"])
    assert result.exit_code != 0
    assert "no connection to 127.0.0.1:1" in str(result.exception)


@pytest.mark.parametrize("rest", ["", ".one", ".A-b_9"])
def test_a_name_behind_the_key_is_a_session(rest: str) -> None:
    """The key alone is the session default; a second call finds the same one."""

    async def run() -> None:
        async with Gateway() as gateway:
            KeyedSessions(
                gateway, KEY, lambda name, key: gateway.open(ClientAnswerer(ScriptedClient([])), name=name, api_key=key)
            )
            session = gateway.opener(KEY + rest)  # type: ignore[misc]
            assert session is not None
            assert session.name == (rest[1:] or "default")

    asyncio.run(run())


@pytest.mark.parametrize("rest", [".", "..", "./x", ".x/y", ".é", ".a\n", ".-a", f".{'a' * 65}", "x", "one"])
def test_no_other_text_behind_the_key_opens_a_session(rest: str) -> None:
    """Names become file names, so that whatever else stands there is refused; so is another key."""

    async def run() -> None:
        async with Gateway() as gateway:
            sessions = KeyedSessions(gateway, KEY, lambda name, key: pytest.fail(name))
            with pytest.raises(ModelCallError, match="full stop and a name"):
                sessions.opened(KEY + rest)
            assert sessions.opened(f"x{KEY}"[: len(KEY)]) is None
            assert sessions.opened(KEY[:-1]) is None

    asyncio.run(run())


def test_sessions_by_key_have_a_limit() -> None:
    """A program cannot fill the gateway with sessions."""

    async def run() -> None:
        async with Gateway() as gateway:
            sessions = KeyedSessions(
                gateway,
                KEY,
                lambda name, key: gateway.open(ClientAnswerer(ScriptedClient([])), name=name, api_key=key),
                most=2,
            )
            for name in ("a", "b"):
                sessions.opened(f"{KEY}.{name}")
            with pytest.raises(ModelCallError, match="2 sessions are open"):
                sessions.opened(f"{KEY}.c")

    asyncio.run(run())
