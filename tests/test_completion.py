"""Shell completion: what each parameter offers, what it loads, and a real bash."""

from __future__ import annotations

import json
import os
import pty
import select
import shutil
import subprocess
import sys
import warnings
from pathlib import Path

import pytest
from click.shell_completion import get_completion_class
from click.testing import CliRunner
from gem.cli.completion import prepare_completion
from gem.cli.main import cli

import gem
from gem.plugins import names

BIN = str(Path(sys.executable).parent)
PATH = f"{BIN}{os.pathsep}{os.environ['PATH']}"


def completed(line: str, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Return the answers for a line, as the function of the shell gets them."""
    monkeypatch.setenv("COMP_WORDS", line)
    complete_class = get_completion_class("bash")
    assert complete_class is not None
    answers = complete_class(cli, {}, "gem", "_GEM_COMPLETE").complete()
    return [row.partition(",")[2] for row in answers.splitlines()]


IDS = [spec.id for spec in gem.all_specs()]
LINES = {
    "gem info game:Sudoku-v0-e": ["game:Sudoku-v0-easy"],
    "gem play game:Sudoku-v": sorted(name for name in IDS if name.startswith("game:Sudoku-v")),
    "gem rollout game:Sudoku-v0 game:Wordle-v0-h": ["game:Wordle-v0-hard"],
    "gem bench no:Such": [],
    "gem list gam": ["game"],
    "gem list --package gem-envs-ga": ["gem-envs-games"],
    "gem list --tag gri": ["grid"],
    "gem rollout --wrappers concat_w": ["concat_with_action"],
    "gem rollout --wrappers concat,episode_t": ["concat,episode_tracking"],
    "gem rollout --wrappers=concat,episode_t": ["concat,episode_tracking"],
    "gem rollout --wrappers messages,": [f"messages,{name}" for name in sorted(names("gem_wrappers"))],
    "gem rollout --mode thr": ["thread"],
    "gem rollout --agent re": ["reference"],
    "gem check gem-envs-gam": ["gem-envs-games"],
    "gem validate game:Sudoku-v0-h": ["game:Sudoku-v0-hard"],
    "gem eval game:Sudoku-v0-h": ["game:Sudoku-v0-hard"],
    "gem mcp-serve game:Sudoku-v0-h": ["game:Sudoku-v0-hard"],
    "gem check-template x --env game:Sudoku-v0-h": ["game:Sudoku-v0-hard"],
    "gem compl": ["completion"],
    "gem completion z": ["zsh"],
    "gem 'unclosed": [],
}


@pytest.mark.parametrize("line", LINES)
def test_every_parameter_offers_what_is_installed(line: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Ids with their variants, groups of them, wrappers joined by commas, commands."""
    with warnings.catch_warnings():
        prepare_completion()
        assert completed(line, monkeypatch) == LINES[line]


def test_a_completion_loads_manifests_and_no_environment() -> None:
    """It stays fast because it loads neither the heavy libraries nor a package of environments."""
    script = (
        "import atexit, sys; sys.argv = ['gem']\n"
        "heavy = {'pydantic', 'numpy', 'rich', 'gem_envs_games', 'asyncio', 'pluggy', 'jinja2'}\n"
        "atexit.register(lambda: print('HEAVY', sorted(heavy & set(sys.modules))))\n"
        "from gem_cli.start import run; run()"
    )
    asked = {"COMP_WORDS": "gem info game:Sudoku-v0-e", "_GEM_COMPLETE": "bash_complete"}
    done = subprocess.run(
        [sys.executable, "-c", script], env={**os.environ, **asked}, capture_output=True, text=True, check=True
    )
    assert (done.stdout, done.stderr) == ("plain,game:Sudoku-v0-easy\nHEAVY []\n", "")


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_the_command_prints_the_script_of_a_shell(shell: str) -> None:
    """The script registers a function for the command gem; JSON holds the same."""
    script = CliRunner().invoke(cli, ["completion", shell]).output
    assert f"_GEM_COMPLETE={shell}_complete" in script
    assert json.loads(CliRunner().invoke(cli, ["completion", shell, "--json"]).output)["script"] == script
    if shutil.which(shell):
        assert subprocess.run([shell, "-n"], input=script, text=True, check=False).returncode == 0


@pytest.mark.slow
def test_a_real_bash_completes_ids_although_a_colon_ends_its_words() -> None:
    """Typed into an interactive bash: before and after the colon, after a wrapper's comma, and in an option."""
    if shutil.which("bash") is None:
        pytest.skip("bash is not installed")
    typed = {
        "gem info game:Sudoku-v0-e\t": "gem info game:Sudoku-v0-easy ",
        "gem info game:Sudoku-v0-ea\t--se\t": "gem info game:Sudoku-v0-easy --seed ",
        "gem check-template x --env=game:Sudoku-v0-e\t": "gem check-template x --env=game:Sudoku-v0-easy ",
        "gem rollout --wrappers concat,episode_t\t": "gem rollout --wrappers concat,episode_tracking ",
        "gem inf\tmath:WordProblems-v0-e\t": "gem info math:WordProblems-v0-easy ",
    }
    child, terminal = pty.fork()
    if child == 0:  # becomes bash
        os.execvpe("bash", ["bash", "--norc", "--noprofile", "-i"], {**os.environ, "PATH": PATH, "TERM": "dumb"})
    try:
        # Control-T shows the line that is being typed; Control-U empties it.
        os.write(
            terminal, b"""eval "$(gem completion bash)"; bind -x '"\\C-t": echo "<<$READLINE_LINE>>"'; echo re''ady\n"""
        )
        read_until(terminal, b"ready")
        found = {}
        for keys in typed:
            os.write(terminal, keys.encode() + b"\x14")
            found[keys] = read_until(terminal, b">>").rpartition(b"<<")[2].removesuffix(b">>").decode()
            os.write(terminal, b"\x15")
    finally:
        os.close(terminal)
        os.waitpid(child, 0)
    assert found == typed


def read_until(terminal: int, mark: bytes) -> bytes:
    """Return what a terminal shows up to a mark."""
    shown = b""
    while not shown.endswith(mark):
        assert select.select([terminal], [], [], 60)[0], shown
        shown += os.read(terminal, 1)
    return shown
