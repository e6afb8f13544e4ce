"""Tools of a hosted API in rollouts and training: agent programs ask for them, and the run carries them out."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from gem.errors import ArgumentError
from gem_eval.fake_model import FakeModel, FakeModelThread
from gem_gateway.harnesses import HarnessError, harnesses
from gem_gateway.harnesses.installation import install
from gem_rollout.cli.rollout import rollout_command
from gem_rollout.lineages.tree import LineageTree, lineages_of
from gem_rollout.trajectory import Trajectory, read_trajectories

GAME = "game:GuessTheNumber-v0-easy"
CALCULATES = """
import json, os, urllib.request
tools = [{"type": "code_interpreter", "container": {"type": "auto"}}]
body = json.dumps({"model": "m", "input": "?", "tools": tools}).encode()
headers = {"Authorization": "Bearer " + os.environ["OPENAI_API_KEY"], "Content-Type": "application/json"}
url = os.environ["OPENAI_BASE_URL"] + "/responses"
with urllib.request.urlopen(urllib.request.Request(url, body, headers)) as answer:
    said = json.load(answer)["output"]
print(*(item["type"] for item in said), said[-1]["content"][0]["text"])
"""


def calling(name: str, arguments: dict[str, Any]) -> dict[str, Any]:
    """Return an answer of the model that calls one function."""
    function = {"name": name, "arguments": json.dumps(arguments)}
    return {"content": None, "tool_calls": [{"id": f"c-{name}", "type": "function", "function": function}]}


def rolled_out(out: Path, command: str, model: FakeModel, *tools: str) -> tuple[Trajectory, LineageTree]:
    """Return the one episode of ``gem rollout`` with a program, and the calls of its model."""
    declared = [word for tool in tools for word in ("--server-tool", tool)]
    with FakeModelThread(model) as served:
        options = ["--harness", f"command:{command}", "-u", served.url, "--harness-box", "never", "--out", str(out)]
        done = CliRunner().invoke(rollout_command, [GAME, "--episodes", "1", *options, *declared])
    assert done.exit_code == 0, done.output
    (record,) = read_trajectories(out)
    tree = lineages_of(record)
    assert tree is not None
    return record, tree


@pytest.mark.nightly
def test_gem_rollout_carries_out_the_tools_that_a_program_asks_its_api_for(tmp_path: Path) -> None:
    """The program gets the run and the answer in one; the record has both calls of the model."""
    program = tmp_path / "calculates.py"
    program.write_text(CALCULATES)

    def answer(request: Any) -> Any:
        last = request.messages[-1]
        return f"It is {last['content']}" if last["role"] == "tool" else calling("code_interpreter", {"code": "6 * 7"})

    command = f"'{sys.executable}' -I -S '{program}'"
    record, tree = rolled_out(tmp_path / "played.jsonl", command, FakeModel(answer), "code_interpreter=python")
    assert record.transitions[0].action == "code_interpreter_call message It is Code execution result: 42"
    assert len(tree.calls) == 2


def test_gem_rollout_says_which_tools_there_are() -> None:
    """A declaration that is none is refused before an episode, and without a program there is nothing to declare."""
    options = [GAME, "--episodes", "1", "-u", "scripted:json:dumps", "-m", "m"]
    done = CliRunner().invoke(rollout_command, [*options, "--harness", "command:true", "--server-tool", "web_search"])
    assert isinstance(done.exception, ArgumentError)
    assert "KIND=TOOL" in str(done.exception)
    done = CliRunner().invoke(rollout_command, [GAME, "--server-tool", "code_interpreter=python"])
    assert "are for --harness" in " ".join(done.output.replace("│", " ").split())


@pytest.mark.nightly
def test_a_real_program_uses_its_hosted_tools(tmp_path: Path) -> None:
    """OpenAI's Agents SDK asks for its hosted search and interpreter, and reads what the run's tools returned."""
    corpus = tmp_path / "wiki.jsonl"
    corpus.write_text(json.dumps({"id": "lima", "title": "Lima", "text": "Lima is the capital of Peru."}) + "\n")

    def answer(request: Any) -> Any:
        found = [message["content"] for message in request.messages if message["role"] == "tool"]
        if not found:
            return calling("web_search", {"query": "capital of Peru"})
        if len(found) == 1:
            assert "Lima is the capital of Peru." in found[0]
            return calling("code_interpreter", {"code": "len('Lima')"})
        return f"Lima: {found[1]}"

    try:
        folder = install(harnesses()["openai-agents"])
    except HarnessError as error:
        pytest.skip(f"NOT TESTED: {error}")
    command = f"'{folder / 'bin' / 'python'}' '{Path(__file__).with_name('searching_agent.py')}'"
    tools = (f"web_search=search:{corpus}", "code_interpreter=python")
    record, tree = rolled_out(tmp_path / "played.jsonl", command, FakeModel(answer), *tools)
    assert (
        record.transitions[0].action == "web_search_call code_interpreter_call message Lima: Code execution result: 4"
    )
    assert len(tree.calls) == 3
