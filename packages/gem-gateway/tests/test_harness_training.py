"""Agent programs where trainers look for a policy, and in ``gem rollout``."""

from __future__ import annotations

import asyncio
import json
import sys
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result
from difficult_programs import PairCodec
from test_lineages import TEMPLATES

from gem_eval.clients import Sampling
from gem_eval.clients.local_generation import GeneratedTokens
from gem_eval.fake_model import FakeModel, FakeModelThread
from gem_gateway.generate_client import GenerateClient
from gem_gateway.harnesses import harness_policy
from gem_rollout import RolloutEngine, plan_episodes
from gem_rollout.cli.rollout import rollout_command
from gem_rollout.lineages.tree import lineages_of
from gem_rollout.trajectory import Trajectory, read_trajectories

GAME = "game:GuessTheNumber-v0-easy"
PROGRAM = f"command:'{sys.executable}' -I -S '{Path(__file__).with_name('tiny_agent.py')}' plays -"


@pytest.mark.nightly
def test_a_program_plays_with_a_trainers_function() -> None:
    """Each episode is one row, with the ids and probabilities that the function returned, and nothing else trained."""
    training = pytest.importorskip("gem_rl")
    codec = PairCodec(TEMPLATES["growing"])
    asked: list[tuple[list[int], list[int], list[float]]] = []

    def generate(prompt: list[int], sampling: Sampling) -> GeneratedTokens:
        guesses = codec.decode(prompt, skip_special_tokens=False).count("<tool_call>")
        call = {"name": "act", "arguments": {"action": f"\\boxed{{{guesses + 1}}}"}}
        letters = f"<tool_call>{json.dumps(call)}</tool_call>"  # one by one, as no tokenizer would have them
        sampled = [codec.id_of(letter) for letter in letters]
        sampled.append(codec.end or 0)
        asked.append((prompt, sampled, [-0.01 * (place + 1) for place in range(len(sampled))]))
        return GeneratedTokens(*asked[-1][1:], finish_reason="stop")

    async def play() -> list[Trajectory]:
        client = GenerateClient(generate, codec)
        make_policy = harness_policy(PROGRAM, client, exact_tokens=True, tokenizer=codec, box="never")
        async with RolloutEngine(plan_episodes(GAME, 2, seed=3), make_policy, concurrency=1) as engine:
            return [record async for record in engine]

    for record in asyncio.run(play()):
        assert record.failure is None
        tree = lineages_of(record)
        assert tree is not None
        of_episode, asked = asked[: len(tree.calls)], asked[len(tree.calls) :]
        assert len(of_episode) > len(record.transitions)  # the last one is told that the episode is over
        (row,) = training.token_rows(record)
        prompt, sampled, _ = of_episode[-1]
        assert row.token_ids.tolist() == prompt + sampled
        trained = [place for place, turn in enumerate(row.turns.tolist()) if turn >= 0]
        expected = [range(len(before), len(before) + len(after)) for before, after, _ in of_episode]
        assert trained == [place for places in expected for place in places]
        assert [row.logprobs.tolist()[place] for place in trained] == pytest.approx(
            [value for *_, values in of_episode for value in values]
        )
    assert asked == []


def test_gem_rollout_plays_with_a_program_that_a_module_names(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """``--agent module:name`` takes what ``harness_policy`` returns."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    Path("programs_of_mine.py").write_text(
        "from gem_eval.clients import ScriptedClient\n"
        "from gem_gateway.harnesses import harness_policy\n"
        "echo = harness_policy(\"command:echo 'no number'\", ScriptedClient(['x']))\n"
    )
    arguments = [GAME, "--agent", "programs_of_mine:echo", "--episodes", "2", "--out", "played.jsonl"]
    done = CliRunner().invoke(rollout_command, arguments, catch_exceptions=False)
    assert done.exit_code == 0, done.output
    played = list(read_trajectories("played.jsonl"))
    assert [[turn.action for turn in record.transitions] for record in played] == [["no number"]] * 2
    assert {record.transitions[0].metadata["harness"] for record in played} == {"command"}


def rolled_out(*arguments: str) -> Result:
    """Return what ``gem rollout`` does on a game."""
    return CliRunner().invoke(rollout_command, [GAME, "--episodes", "2", *arguments])


def test_gem_rollout_plays_with_a_program_and_a_models_server(tmp_path: Path) -> None:
    """Each episode is the program's, with its model's calls; the model is the server's only one."""
    out = tmp_path / "played.jsonl"

    def guess(request: Any) -> dict[str, Any]:
        guesses = sum(message["role"] == "assistant" for message in request.messages)
        function = {"name": "act", "arguments": json.dumps({"action": f"\\boxed{{{guesses + 1}}}"})}
        return {"content": None, "tool_calls": [{"id": f"c{guesses}", "type": "function", "function": function}]}

    with FakeModelThread(FakeModel(guess)) as model:
        play = ("--harness", PROGRAM, "--base-url", model.url, "--max-calls", "3", "--harness-box", "never")
        done = rolled_out(*play, "--out", str(out), "--json")
    assert done.exit_code == 0, done.output
    assert json.loads(done.stdout)["agent"].endswith(" with fake-model")
    for record in read_trajectories(out):
        tree = lineages_of(record)
        assert tree is not None
        assert record.failure is None
        assert 1 <= len(tree.calls) <= 3
        assert record.transitions[0].metadata["harness"] == "command"


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--harness", "codez", "-u", "scripted:json:dumps"], "did you mean 'codex'?"),
        (["--harness", PROGRAM, "-u", "http://127.0.0.1:1/v1", "-m", "m"], "no connection to 127.0.0.1:1"),
        (["--harness", PROGRAM], "needs its model's server"),
        (["--harness", PROGRAM, "--agent", "random", "-u", "x"], "exclude each other"),
        (["--base-url", "http://127.0.0.1:1/v1"], "are for --harness"),
        (["--max-calls", "3"], "are for --harness"),
        (["--harness", PROGRAM, "-u", "x", "--api-key-env", "NO_SUCH_VARIABLE"], "NO_SUCH_VARIABLE"),
    ],
)
def test_what_gem_rollout_cannot_play_with_is_refused_before_an_episode(
    arguments: list[str], said: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Options that contradict each other, an unknown program, a server that is not there."""
    monkeypatch.delenv("OPENAI_BASE_URL", raising=False)
    done = rolled_out(*arguments)
    assert done.exit_code != 0
    assert said in f"{done.output}{done.exception}"


def test_gem_rollout_says_why_episodes_failed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The first message of each kind is on standard error."""
    monkeypatch.syspath_prepend(str(tmp_path))
    (tmp_path / "silent_model.py").write_text("def answer(messages):\n    return 'x'\n")
    program = f"command:'{sys.executable}' -I -S '{Path(__file__).with_name('tiny_agent.py')}' fails -"
    done = rolled_out("--harness", program, "-u", "scripted:silent_model:answer", "--harness-box", "never")
    assert done.exit_code == 0, done.output
    assert "every episode failed" in done.stderr
    assert "2 x environment/harness_not_started" in done.stderr
    assert "no configuration found" in done.stderr
