"""The configuration of MCP servers: its many forms, environment variables, and what is refused."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gem.errors import ToolError
from gem_tools.mcp.config import read_config


def test_one_server_in_every_form(tmp_path: Path) -> None:
    """A dict, an entry of mcpServers, a file and a command line say the same."""
    server = {"command": "program", "args": ["-x", "a b"]}
    (tmp_path / "servers.json").write_text(json.dumps({"mcpServers": {"default": server}}))
    forms: list[Any] = [
        server,
        {"mcpServers": {"default": server}},
        {"servers": {"default": {**server, "type": "stdio"}}},
        {"mcpServers": {"default": "program -x 'a b'"}},
        tmp_path / "servers.json",
        str(tmp_path / "servers.json"),
        "program -x 'a b'",
    ]
    found = {read_config(form) for form in forms}
    assert len(found) == 1
    ((only,),) = found
    assert only.command == ("program", "-x", "a b")


def test_a_url_is_a_server() -> None:
    """A URL alone, and one by name, are servers that are reached by it."""
    assert read_config("https://example.org/mcp")[0].url == "https://example.org/mcp"
    assert read_config({"mcpServers": {"far": "http://example.org/mcp"}})[0].name == "far"


def test_environment_variables_are_put_in(monkeypatch: pytest.MonkeyPatch) -> None:
    """Names in braces stand for variables everywhere, with a default after ``:-``."""
    monkeypatch.setenv("TOKEN", "secret")
    monkeypatch.delenv("ABSENT", raising=False)
    (remote,) = read_config(
        {"url": "http://${ABSENT:-host}/mcp", "headers": {"X-Key": "${env:TOKEN}"}}, auth="${TOKEN}"
    )
    assert remote.url == "http://host/mcp"
    assert dict(remote.headers) == {"X-Key": "secret", "Authorization": "Bearer secret"}
    (local,) = read_config({"command": "p", "args": ["${TOKEN}", 8080], "env": {"A": "${ABSENT:-}"}, "cwd": "/tmp"})
    assert local.command == ("p", "secret", "8080")
    assert local.environment == (("A", ""),)
    assert local.folder == "/tmp"


def test_headers_that_are_given_win_over_those_of_the_configuration() -> None:
    """Names of headers are compared without regard to case."""
    config = {"url": "http://h/mcp", "headers": {"authorization": "old", "X-A": "1"}}
    (server,) = read_config(config, auth="new", headers={"x-a": "2"})
    assert dict(server.headers) == {"Authorization": "Bearer new", "x-a": "2"}


def test_a_disabled_server_is_left_out_and_keys_of_other_clients_are_ignored() -> None:
    """Configuration files are shared with other clients."""
    config = {"mcpServers": {"a": {"command": "a", "autoApprove": ["x"]}, "b": {"command": "b", "disabled": True}}}
    assert [server.name for server in read_config(config)] == ["a"]


def test_secrets_are_in_no_message(monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither the repr of a server nor an error holds a header's or a variable's value."""
    monkeypatch.setenv("TOKEN", "secret")
    config = {"command": "p", "args": ["--key=${TOKEN}"], "env": {"KEY": "${TOKEN}"}}
    assert "secret" not in repr(read_config(config))
    assert "secret" not in repr(read_config("http://user:secret@h/mcp", auth="secret"))


@pytest.mark.parametrize(
    ("config", "message"),
    [
        (5, "got int"),
        ({}, "this one has nothing"),
        ({"mcpServers": []}, "must be a dict of servers"),
        ({"mcpServers": {}}, "has no enabled server"),
        ({"mcpServers": {"a": {"command": "x", "disabled": True}}}, "has no enabled server"),
        ({"mcpServers": {"a": 5}}, "must be a dict, a URL or a command line"),
        ({"mcpServers": {5: {"command": "x"}}}, "non-empty str"),
        ({"command": "x", "url": "http://h"}, "either a command or a url"),
        ({"command": "x", "arg": []}, "did you mean 'args'"),
        ({"command": "x", "args": "y"}, "args must be a list"),
        ({"command": "x", "args": [None]}, "args must be a str"),
        ({"command": "x\0"}, "NUL"),
        ({"command": "x", "env": [1]}, "env must be a dict"),
        ({"command": "${NO_SUCH_VARIABLE_HERE}"}, "NO_SUCH_VARIABLE_HERE, which is not set"),
        ({"url": "ftp://h"}, "must begin with http"),
        ({"url": "http://h/sse", "type": "sse"}, "no longer has the transport sse"),
        ("", "must not be empty"),
        ("a 'b", "cannot be parsed"),
        ("/nowhere/at/all.json", "cannot be read"),
        (Path("/nowhere/at/all"), "cannot be read"),
    ],
)
def test_what_is_wrong_is_refused_with_the_reason(config: Any, message: str) -> None:
    """Every refusal is a ToolError that says what is wrong."""
    with pytest.raises(ToolError, match=message):
        read_config(config)


@pytest.mark.parametrize(("text", "message"), [("{", "is not JSON"), ("[]", "must hold a JSON object")])
def test_a_file_that_is_no_configuration_is_refused(tmp_path: Path, text: str, message: str) -> None:
    """The message names the file."""
    (tmp_path / "a.json").write_text(text)
    with pytest.raises(ToolError, match=message):
        read_config(str(tmp_path / "a.json"))


_json = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(["mcpServers", "command", "args", "env", "url", "headers", "x"]), inner, max_size=4
        )
    ),
    max_leaves=10,
)


@given(_json)
def test_any_json_is_a_configuration_or_refused(config: Any) -> None:
    """Nothing but a ToolError comes of any value."""
    try:
        servers = read_config(config)
    except ToolError:
        return
    assert all(server.command or server.url for server in servers)
