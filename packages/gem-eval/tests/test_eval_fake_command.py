"""``gem fake-model`` on the command line, and the policies that it names."""

from __future__ import annotations

import json
import socket
from pathlib import Path

import pytest
from click.testing import CliRunner

from gem.errors import ArgumentError, NotSupportedError
from gem_eval.cli.fake_model import fake_model_command
from gem_eval.fake_model import FakeModelProcess
from gem_eval.fake_model.faults.catalogue import FAULTS
from gem_eval.fake_model.model_request import ModelRequest
from gem_eval.fake_model.policies import answer_maker


def shout(request: ModelRequest) -> str:
    return "HELLO"


def asked(*contents: str) -> ModelRequest:
    roles = ("user", "assistant")
    messages = [{"role": roles[index % 2], "content": text} for index, text in enumerate(contents)]
    return ModelRequest({}, messages, [])


def test_the_list_of_faults_holds_every_kind() -> None:
    """As a table, and as JSON with the group and what a request must have."""
    shown = CliRunner().invoke(fake_model_command, ["--list-faults"])
    assert all(name in shown.output for name in FAULTS)
    listed = json.loads(CliRunner().invoke(fake_model_command, ["--list-faults", "--json"]).output)
    assert {item["name"] for item in listed} == set(FAULTS)


def test_an_occupied_port_is_a_message() -> None:
    """The message names the port and the way out."""
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        result = CliRunner().invoke(fake_model_command, ["--port", port])
    assert result.exit_code == 1
    assert f"port {port}" in result.output
    assert "--port" in result.output


@pytest.mark.parametrize("arguments", [["--policy", "no-such"], ["--fault", "no-such"], ["--policy", "judge:x"]])
def test_a_wrong_setting_is_no_traceback(arguments: list[str]) -> None:
    """The process that runs the command says what is wrong."""
    with pytest.raises(Exception, match="did not start: Error: "):
        FakeModelProcess(arguments)


def test_a_script_answers_turn_by_turn(tmp_path: Path) -> None:
    """Its lines are texts or messages, and its last line answers all later turns."""
    script = tmp_path / "script"
    script.write_text('first\n\n{"content": "second"}\n', encoding="utf-8")
    policy = answer_maker(f"script:{script}")
    assert policy(asked("a")) == "first"
    assert policy(asked("a", "b", "c")) == {"content": "second"}
    assert policy(asked("a", "b", "c", "d", "e")) == {"content": "second"}


@pytest.mark.parametrize("content", [None, "", '{"content": ', '{"tool_calls": [1]}'])
def test_a_script_that_cannot_be_read_is_refused(tmp_path: Path, content: str | None) -> None:
    """Before the server starts."""
    script = tmp_path / "script"
    if content is not None:
        script.write_text(content, encoding="utf-8")
    with pytest.raises(ArgumentError, match="script"):
        answer_maker(f"script:{script}")


def test_policies_by_other_names() -> None:
    """A reference policy that reads the state cannot answer as a model; names that mean nothing are refused."""
    assert answer_maker("echo")(asked("a", "b", "c")) == "c"
    assert answer_maker("null")(asked("a")) == ""
    with pytest.raises(NotSupportedError, match="plays from the state"):
        answer_maker("math:WordProblems-v0")
    with pytest.raises(ArgumentError, match="policy must be echo"):
        answer_maker("no_such_module:function")
    assert answer_maker(shout) is shout
