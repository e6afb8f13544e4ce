"""``gem trajectories verify``: what recorded episodes prove about their tokens."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from gem_rollout.cli.trajectories import trajectories_command
from gem_rollout.lineages import EngineEvidence, LineageTree, RecordedCall, token_digest
from gem_rollout.lineages.tree import recorded_lineages
from gem_rollout.trajectory import Trajectory, TrajectoryWriter
from gem_rollout.trajectory.transition import Transition


def written(folder: Path, *, played: bool = False) -> Path:
    """Return a file with an episode of a program with two calls, and one of a policy with a turn."""
    tree = LineageTree()
    for parent, added, prompt, sampled in ((None, [1], [1], [2, 3]), (0, [4], [1, 2, 3, 4], [5])):
        evidence = EngineEvidence(token_digest(prompt), token_digest(sampled))
        tree.add(
            RecordedCall(
                [{"role": "user", "content": "x"}],
                {"role": "assistant", "content": "y"},
                parent=parent,
                exact=parent is not None,
                added_ids=added,
                token_ids=sampled,
                logprobs=[-0.5] * len(sampled),
                evidence=evidence,
            )
        )
    first = Trajectory(None, 0, [Transition("o", "a", 0.0, True, False)])
    first.metadata.update(recorded_lineages(tree))
    turn = Transition("o", "a", 0.0, True, False, token_ids=[1], logprobs=[-0.1])
    turn.prompt_token_ids = [7]
    path = folder / "episodes.jsonl"
    with TrajectoryWriter(path) as writer:
        writer.write(first)
        writer.write(Trajectory(None, 1, [turn]))
    return path


def verify(*arguments: str) -> Result:
    return CliRunner().invoke(trajectories_command, ["verify", *arguments])


def test_what_is_proved_and_what_is_not_is_counted(tmp_path: Path) -> None:
    """Of a folder of a run, or of a file."""
    path = written(tmp_path)
    for name in (str(tmp_path), str(path)):
        result = verify(name)
        assert result.exit_code == 0, result.output
        assert "2 episodes, 3 calls to the model" in result.output
        assert "prompts that are what the engine took: 2 of 3" in result.output
        assert "prompts that continue an earlier one id by id: 1" in result.output
        assert "not proved: 1 × turns with ids of which nothing was noted when they arrived" in result.output
        assert "Nothing contradicts the record." in result.output
    found = json.loads(verify(str(path), "--json").output)
    assert (found["answers_proved"], found["rows"], found["sampled_tokens"], found["holds"]) == (2, 1, 4, True)


@pytest.mark.parametrize("change", [("[2,3]", "[2,9]"), ('"token_ids":[1]', '"token_ids":[1,1]')])
def test_damage_is_named_and_ends_with_1(change: tuple[str, str], tmp_path: Path) -> None:
    """With the episode and the call or turn."""
    path = written(tmp_path)
    text = path.read_text().replace(", ", ",").replace(": ", ":")
    assert change[0] in text
    path.write_text(text.replace(*change, 1))
    result = verify(str(path))
    assert result.exit_code == 1
    assert "WRONG: episode " in result.output


def test_a_folder_without_episodes_says_what_is_needed(tmp_path: Path) -> None:
    """No traceback."""
    error: Any = verify(str(tmp_path)).exception
    assert "holds no episodes.jsonl" in str(error)
