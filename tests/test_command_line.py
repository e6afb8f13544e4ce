"""The gem command with real packages, in processes of its own."""

from __future__ import annotations

import json
import os
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

GEM = [sys.executable, "-m", "gem"]


def gem(*arguments: str, check: bool = True, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [*GEM, *arguments], check=check, capture_output=True, text=True, env={**os.environ, **environment}
    )


def test_list_shows_the_games_and_imports_none_of_them() -> None:
    """Listing reads manifests; no plugin, no numpy, no pydantic is loaded."""
    script = (
        "import sys; sys.argv = ['gem', 'list']\n"
        "from gem.cli.main import run\n"
        "try: run()\n"
        "except SystemExit: pass\n"
        "heavy = {'pydantic', 'numpy', 'gem_envs_games', 'asyncio', 'pluggy'} & set(sys.modules)\n"
        "print('HEAVY', sorted(heavy))"
    )
    shown = subprocess.run([sys.executable, "-c", script], check=True, capture_output=True, text=True).stdout
    assert "game:Sudoku-v0" in shown
    assert "HEAVY []" in shown


def test_list_says_when_nothing_passes_all_filters() -> None:
    """A filter that nothing passes is told apart from an empty installation."""
    assert "No installed environment fits" in gem("list", "terminal", "--tag", "geometry").stdout
    assert gem("list", "terminal", "--tag", "geometry", "--ids").stdout == ""


def test_rollout_scores_and_its_record_can_be_read(tmp_path: Path) -> None:
    """The reference policy solves easy Sudokus, and what was recorded is shown again."""
    out = tmp_path / "sudoku.jsonl"
    report = json.loads(
        gem(
            "rollout", "game:Sudoku-v0-easy", "--agent", "reference", "--episodes", "4", "--out", str(out), "--json"
        ).stdout
    )
    assert report["environments"][0]["mean_return"] == pytest.approx(1.0)
    assert "You have won." in gem("show", str(out), "3").stdout


def test_recorded_episodes_do_not_depend_on_the_batch(tmp_path: Path) -> None:
    """The same seeds give the same episodes with one environment and with many, in both modes."""
    episodes = []
    for number, (num_envs, mode) in enumerate([("1", "sync"), ("5", "sync"), ("5", "thread")]):
        out = tmp_path / f"{number}.jsonl"
        gem(
            "rollout", "game:Minesweeper-v0-easy", "game:Wordle-v0-easy", "--num-envs", num_envs, "--mode", mode,
            "--episodes", "6", "--seed", "40", "--out", str(out),
        )  # fmt: skip
        records = [json.loads(line) for line in out.read_text().splitlines()]
        for record in records:
            del record["started_at"], record["seconds"]
            for transition in record["transitions"]:
                del transition["act_seconds"], transition["step_seconds"]
        episodes.append(sorted(json.dumps(record, sort_keys=True) for record in records))
    assert len(episodes[0]) == 12
    assert episodes[0] == episodes[1] == episodes[2]


def test_plugins_can_be_switched_off() -> None:
    """With GEM_DISABLE_PLUGINS the list is empty and says how to get environments; doctor says why."""
    assert "pip install gem-envs-games" in gem("list", GEM_DISABLE_PLUGINS="1").stdout
    done = gem("doctor", "--json", check=False, GEM_DISABLE_PLUGINS="1")
    assert done.returncode == 1
    assert "GEM_DISABLE_PLUGINS" in [finding["subject"] for finding in json.loads(done.stdout)["findings"]]


def test_a_reader_that_leaves_early_is_no_error() -> None:
    """Piped into head, gem list --ids prints one id and no complaint."""
    line = f"{shlex.join(GEM)} list --ids | head -1"
    done = subprocess.run(line, shell=True, check=True, capture_output=True, text=True)
    assert done.stdout.count("\n") == 1
    assert done.stderr == ""


def test_doctor_finds_another_program_in_the_place_of_the_command(tmp_path: Path) -> None:
    """RubyGems' command of the same name is noticed, with what to do."""
    other = tmp_path / "gem"
    other.write_text("#!/bin/sh\necho ruby\n")
    other.chmod(0o755)
    path = f"{tmp_path}{os.pathsep}{os.environ['PATH']}"
    done = gem("doctor", "--json", check=False, PATH=path, GEM_DISABLE_PLUGINS="1")
    findings = {finding["subject"]: finding["advice"] for finding in json.loads(done.stdout)["findings"]}
    assert "python -m gem" in findings[str(other)]
