"""Wrong inputs to every command: one sentence that helps, an exit code, and never a traceback."""

from __future__ import annotations

import io
import shlex
import sys
from pathlib import Path
from typing import cast

import pytest
from gem.cli.main import run

WRONG = {
    "lst": "did you mean 'list'?",
    "--nosuch": "No such option",
    "list nosuch": "installed: agentgym, bandit, code",
    "list gam": "did you mean 'game'?",
    "list --package gem-envs-gams": "did you mean 'gem-envs-games'?",
    "list --tag gird": "did you mean 'grid'?",
    "info Sudoku": "did you mean 'game:Sudoku-v0'?",
    "info sudoku": "did you mean 'game:Sudoku-v0'?",
    "info Foo": "for example 'game:Sudoku-v0-easy'",
    "info ''": "for example 'game:Sudoku-v0-easy'",
    "info game:Sudoko-v0": "did you mean 'game:Sudoku-v0'?",
    "info game:sudoku-v0-esay": "did you mean 'game:Sudoku-v0-easy'?",
    "info nosuch:Thing-v0": "'gem list' shows what there is",
    "info game:Sudoku-v0 --seed -1": "non-negative",
    "info 'game:Sudoku-v0\x1b[2J'": "is not an environment id",
    "play rg:nosuch": "'gem list rg' shows what there is",
    "rollout": "Missing argument",
    "rollout game:Sudoku-v0 --agent nosuch": "'random', 'reference', 'null' or 'module:Class'",
    "rollout game:Sudoku-v0 --agent nosuch:Thing": "No module named 'nosuch'",
    "rollout game:Sudoku-v0 --wrappers cocnat": "did you mean 'concat'?",
    "rollout game:Sudoku-v0-easy --wrappers time_limit": "needs the argument 'max_episode_steps'",
    "rollout game:Sudoku-v0-easy --wrappers concat_chat": "needs a tokenizer",
    "rollout game:Sudoku-v0 --mode treads": "did you mean 'thread'?",
    "rollout game:Sudoku-v0 --episodes 0": "x>=1",
    "rollout game:Sudoku-v0-easy --episodes 1 --out /proc/x.jsonl": "/proc/x.jsonl: No such file",
    "show README.md": "holds no recorded episodes",
    "show nosuch.jsonl": "does not exist",
    "show numbers.jsonl": "numbers.jsonl",
    "replay README.md": "record some with: gem rollout",
    "replay numbers.jsonl": "numbers.jsonl",
    "bench game:Sudoko-v0": "did you mean 'game:Sudoku-v0'?",
    "data pull game:Sudoku-v0": "nothing needs to be fetched",
    "data nosuch": "No such command",
    "completion tcsh": "'bash', 'zsh', 'fish'",
    "check-template nosuch.jinja": "there is no file or folder",
    "check-template .": "holds no chat template",
    "check-template README.md --wrappers concat": "concat_chat or messages",
    "check nosuch": "no namespace, installed distribution or path",
    "check README.md": "neither a pyproject.toml nor an environments.toml",
    "new": "gem new my-envs",
    "new 'my envs' --yes": "letters, digits and single '-'",
    "new gem-core --yes": "choose another name",
    "new my-envs --namespace game --yes": "choose one of your own",
    "eval game:Sudoku-v0-easy": "--agent reference",
    "eval game:Sudoku-v0-easy --agent nosuch": "agents are reference, random, null, and module:Class",
    "eval game:Sudoku-v0-easy --arg x --agent random": "NAME=VALUE",
    "eval --resume nosuch": "does not exist",
    "eval --config nosuch.toml": "cannot be read",
    "eval game:Sudoku-v0 --adaptive --agent random": "--adaptive is for a model, and 'random' plays without one",
    "eval game:Sudoku-v0 --max-tokens 5 --agent reference": "--max-tokens is for a model",
    "eval game:Sudoku-v0 --sampling x=1 --agent reference": "--sampling is for a model",
    "eval game:Sudoku-v0 --agent random --shard 0/2": "numbered from 1 to 2",
    "eval game:Sudoku-v0 --agent random --shard x": "must look like 2/8",
    "eval game:Sudoku-v0 --agent random --shard 1/99999999999999999999": "must look like 2/8",
    "eval game:Sudoku-v0 --agent random -n 1 --shard 1/2": "too few for 2 shards",
    "eval game:Sudoku-v0 --harness nosuch -u http://127.0.0.1:9/v1": "no harness is called 'nosuch'",
    "eval game:Sudoku-v0 --harness codex": "plays with a model; name its server",
    "eval game:Sudoku-v0 --harness codex --agent random": "exclude each other",
    "eval game:Sudoku-v0 --harness codex --max-cost 1 -u http://127.0.0.1:9/v1": "--price-input",
    "eval game:Sudoku-v0 --server-tool code_interpreter=python -u http://127.0.0.1:9/v1": "options of a harness",
    "eval game:Sudoku-v0 --server-tool x -u http://127.0.0.1:9/v1": "NAME=VALUE",
    "results .": "holds no run",
    "compare . .": "holds no run",
    "rollout game:Sudoku-v0 --harness nosuch -u http://127.0.0.1:9/v1": "no harness is called 'nosuch'",
    "run join": "Missing argument",
    "run join out": "Missing argument",
    "run join out nosuch": "does not exist",
    "run join out .": "holds no run",
    "run stop .": "holds no run",
    "runs nosuch": "there is no folder 'nosuch'",
    "ratings .": "holds no run",
    "report . --out r": "holds no run",
    "trajectories verify README.md": "holds no recorded episodes",
    "swe make": "Missing argument",
    "swe make README.md --out x": "is no source archive",
    "swe make 'not a package' --out x": "neither a source archive",
    "swe make 'npm:not a package' --out x": "is no package of npm",
    "swe make more-itertools --kinds nosuch --out x": "there is no kind 'nosuch'",
    "swe make more-itertools --seconds 0 --out x": "x>0",
    "gateway": "Missing option '--base-url'",
    "gateway -u ftp://127.0.0.1/v1": "no model client is called 'ftp'",
    "gateway -u http://127.0.0.1:9/v1 --server-tool x=y": "'web_search', 'code_interpreter'",
    "gateway -u http://127.0.0.1:9/v1 --port 99999999": "0<=x<=65535",
    "serve": "Missing argument",
    "serve game:Sudoko-v0": "did you mean 'game:Sudoku-v0'?",
    "serve game:Sudoku-v0 --token short": "at least 16 printable ASCII characters",
    "serve game:Sudoku-v0 --workers 0": "x>=1",
    "serve game:Sudoku-v0 --tls-cert README.md": "go together",
    "train": "gem train --list shows them",
    "train nosuch": "gem train --list shows them",
    "train guess-the-number --set updates=-1": "updates must be an integer",
    "train guess-the-number --set nosuch=1": "has no setting 'nosuch'",
    "train needle --harness codex": "set model",
    "train guess-the-number --server-tool code_interpreter=python": "set harness",
    "harness install nosuch": "no harness is called 'nosuch'",
    "harness install codex:..": "a version is letters, digits",
    "mcp-serve nosuch": "for example 'game:Sudoku-v0-easy'",
    "fake-model --policy nosuch": "for example 'game:Sudoku-v0-easy'",
    "fake-model --policy math:WordProblems-v0": "plays from the state",
    "hub info nosuch --hub ftp://x": "is no hub's address",
    "hub results check nosuch --hub elsewhere": "there is no such file",
    "rescore .": "name a reward with --reward",
    "view README.md": "is a file",
    "validate nosuch": "'gem list' shows what there is",
    "fake-model --port 99999999": "0<=x<=65535",
    "search-server --corpus README.md": "not JSON",
    "terminal nosuch": "there is no command 'terminal nosuch'",
    "terminal verify nosuch": "'gem terminal list' shows",
    "hub nosuch": "there is no command 'hub nosuch'",
    "hub search ''": "'gem hub list' shows all there is",
    "hub info nosuch": "gem hub search",
    "hub info game:Nosuch-v0": "gem hub search",
    "hub install 'not a name'": "write NAME or NAME==VERSION",
    "hub install gem-envs-games==9.9": "there is 0.1.0",
    "hub use nosuch": "there is no such file",
    "hub lock nosuch": "gem hub search nosuch",
    "hub yank nosuch 1.0 --reason x --hub .": "is no hub",
    "hub site --hub nosuch": "is no hub",
    "hub publish README.md --hub .": "is no hub",
}


@pytest.fixture(autouse=True)
def elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A folder with a text and a file of numbers, and a home that no command has seen."""
    (tmp_path / "README.md").write_text("# A text\n\nwith words\n")
    (tmp_path / "numbers.jsonl").write_text("1\n2\n")
    monkeypatch.chdir(tmp_path)
    for name in ("HOME", "XDG_CONFIG_HOME", "XDG_CACHE_HOME"):
        monkeypatch.setenv(name, str(tmp_path / "home"))
    monkeypatch.delenv("GEM_HUB", raising=False)


@pytest.mark.parametrize("line", WRONG)
def test_a_wrong_input_gets_a_sentence_that_helps(
    line: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The last line of stderr is whole and names the remedy; stdout is empty, and the exit code is 1 or 2."""
    monkeypatch.setattr(sys, "argv", ["gem", *shlex.split(line)])
    monkeypatch.setenv("COLUMNS", "60")
    with pytest.raises(SystemExit) as stopped:
        run()
    shown = capsys.readouterr()
    assert stopped.value.code in (1, 2)
    sentence = shown.err.strip().splitlines()[-1]
    assert sentence.startswith("Error: ")
    assert WRONG[line] in sentence
    assert shown.out == ""
    assert "\x1b" not in shown.err


@pytest.mark.nightly
@pytest.mark.parametrize("encoding", ["cp1252", "latin-1"])
@pytest.mark.parametrize("line", WRONG)
def test_consoles_that_are_not_utf_8_show_the_same_sentence(
    line: str, encoding: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With what their code page lacks as escapes; the exit code is that of a wrong input, and there is no traceback."""
    streams = [io.TextIOWrapper(io.BytesIO(), encoding=encoding, write_through=True) for _ in range(2)]
    for name, stream in zip(("stdout", "stderr"), streams, strict=True):
        monkeypatch.setattr(sys, name, stream)
    monkeypatch.setattr(sys, "argv", ["gem", *shlex.split(line)])
    with pytest.raises(SystemExit) as stopped:
        run()
    out, err = (cast("io.BytesIO", stream.buffer).getvalue().decode(encoding) for stream in streams)
    assert stopped.value.code in (1, 2)
    assert err.strip().splitlines()[-1].startswith("Error: ")
    assert WRONG[line].encode(encoding, "backslashreplace").decode(encoding) in err
    assert (out, "Traceback" in err) == ("", False)
