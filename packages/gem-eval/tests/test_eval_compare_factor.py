"""``gem compare --factor harness``: two agent programs with the same model on the same tasks, and nothing else."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from click.testing import CliRunner

from gem.errors import ArgumentError
from gem_cli.main import cli
from gem_eval.cli.factor_levels import FactorLevels
from gem_eval.runs import RunConfig, RunFolder
from gem_eval.statistics import ComparedMeans, factor_in_words

MakeRun = Callable[..., RunFolder]
Pair = Callable[..., tuple[RunFolder, RunFolder]]
GUESS = "game:GuessTheNumber-v0-easy"


@pytest.fixture
def pair(make_run: MakeRun) -> Pair:
    """A function that makes a run with Qwen Code and one with Codex, whose settings and episodes differ as it says."""

    def made(changes: dict[str, Any] | None = None, **episodes: Any) -> tuple[RunFolder, RunFolder]:
        a = make_run("a", **{"episodes": 20, "skill": 0.4, "env": GUESS, **episodes})
        b = make_run("b", **{"episodes": 20, "skill": 0.7, "salt": 1, "env": GUESS, **episodes})
        for run, harness in ((a, "qwen-code"), (b, "codex")):
            run.replace_config(replace(run.config, harness=harness, agent=f"{harness} with m", model="m"))
        b.replace_config(replace(b.config, **(changes or {})))
        return a, b

    return made


def compare(*runs: RunFolder, options: tuple[str, ...] = ()) -> str:
    """Return what the command prints, without line breaks; raise the error that it ends with."""
    arguments = ["compare", *(str(run.path) for run in runs), "--factor", "harness", *options]
    result = CliRunner().invoke(cli, arguments)
    if result.exception is not None:
        raise result.exception
    return " ".join(result.output.split())


def test_the_difference_names_harnesses_tasks_and_model(pair: Pair) -> None:
    """In points of success on the tasks that both played, with its interval."""
    runs = pair(episodes=50)
    a, b = (sum(bool(row.success) for row in run.rows()) / 50 for run in runs)
    assert b > a
    output = compare(*runs)
    assert f"codex succeeds {100 * (b - a):.1f} points more often than qwen-code (95 %: " in output
    assert "on 50 tasks that both played, same model m." in output
    record = json.loads(compare(*runs, options=("--json",)))
    result = record["environments"][0]["result"]
    assert result["paired"]
    words = record["factor"]["words"][0]
    assert f"(95 %: {100 * result['low']:.1f} … {100 * result['high']:.1f}, p".replace("-", "−") in words
    assert words in output
    assert (record["factor"]["a"], record["factor"]["b"], record["factor"]["model"]) == ("qwen-code", "codex", "m")


def test_the_order_of_the_runs_turns_the_sentence(pair: Pair) -> None:
    """The second run is the subject, whichever is better."""
    a, b = pair()
    assert "qwen-code succeeds" in compare(b, a)
    assert "points less often than codex" in compare(b, a)


def test_tasks_of_one_run_alone_are_left_out_and_counted(pair: Pair, make_run: MakeRun) -> None:
    """A task whose episode failed in one run is none that both played."""
    a, b = pair()
    lossy = make_run("lossy", episodes=20, failures=4)
    lossy.replace_config(b.config)
    output = compare(a, lossy)
    assert "on 16 tasks that both played" in output
    assert "16 seeds meet; left out are 4 that only A has and 0 that only B has" in output


def test_several_environments_have_a_sentence_for_all(pair: Pair) -> None:
    """Of their mean difference, on the tasks of all of them."""
    runs = pair(env=(GUESS, "game:Sudoku-v0-easy"))
    output = compare(*runs)
    assert "all 2 environments, equal weights" in output
    assert "on 40 tasks that both played" in output
    assert json.loads(compare(*runs, options=("--json",)))["factor"]["overall"] in output


@pytest.mark.parametrize(
    ("changes", "named"),
    [
        ({"model": "n"}, "model is 'm' in A and 'n' in B"),
        ({"served_model": "m-4bit"}, "served_model is not set in A and 'm-4bit' in B"),
        ({"sampling": {"temperature": 0.5}}, "sampling temperature is not set in A and 0.5 in B"),
        ({"limits": {"max_turns": 3}}, "limits max_turns is not set in A and 3 in B"),
        ({"harness_options": {"calls": 9}}, "harness_options calls is not set in A and 9 in B"),
        ({"packages": {"gem-core": "0.2.0", "gem-eval": "0.1.0"}}, "packages gem-core is '0.1.0' in A and '0.2.0' in"),
        ({"rewards": ("exact",)}, "rewards is not set in A and ('exact',) in B"),
    ],
)
def test_other_settings_that_differ_are_named(
    make_config: Callable[..., RunConfig], changes: dict[str, Any], named: str
) -> None:
    """Runs that differ in more than the harness are refused with each setting and both of its values."""
    a = make_config(harness="qwen-code", model="m")
    with pytest.raises(ArgumentError) as refused:
        FactorLevels.of(a, replace(a, harness="codex", **changes), "harness")
    assert named in str(refused.value)
    assert "Play one of them again with the settings of the other, or leave out --factor" in str(refused.value)


@pytest.mark.parametrize(
    ("changes", "named"),
    [
        ({"digest": "0" * 64}, f"{GUESS}: the code of the environment is None in A and 000000000000 in B"),
        ({"wrappers": ("concat",)}, f"{GUESS}: wrappers is not set in A and ('concat',) in B"),
    ],
)
def test_environments_that_differ_are_named(
    make_config: Callable[..., RunConfig], changes: dict[str, Any], named: str
) -> None:
    """The same holds for their code and their wrappers."""
    a = make_config([GUESS], harness="qwen-code", model="m")
    b = replace(a, harness="codex", environments=(replace(a.environments[0], **changes),))
    with pytest.raises(ArgumentError) as refused:
        FactorLevels.of(a, b, "harness")
    assert named in str(refused.value)


def test_a_difference_ends_the_command(pair: Pair) -> None:
    """Without a comparison that would be ascribed to the harness."""
    with pytest.raises(ArgumentError, match="model is 'm' in A and 'n' in B"):
        compare(*pair({"model": "n"}))


def test_titles_addresses_and_numbers_of_episodes_may_differ(pair: Pair) -> None:
    """They change no task that both played, and no model."""
    elsewhere = {"base_url": "http://elsewhere/v1", "harness_options": {"journals": "calls"}}
    a, b = pair({"name": "x", **elsewhere, "concurrency": 1, "episodes": 60, "seed": 3})
    b.replace_config(replace(b.config, environments=(replace(b.config.environments[0], episodes=60),)))
    assert "on 20 tasks that both played" in compare(a, b)


def test_runs_without_two_harnesses_are_refused(pair: Pair) -> None:
    """A bare model has none, and a harness is not compared with itself."""
    a, b = pair()
    with pytest.raises(ArgumentError, match="both runs were played with 'qwen-code'"):
        compare(a, a)
    b.replace_config(replace(b.config, harness=None, agent="m"))
    with pytest.raises(ArgumentError, match="in B 'm' played without one"):
        compare(a, b)


def test_runs_that_cannot_be_paired_are_refused(pair: Pair, make_run: MakeRun) -> None:
    """Fewer than two common tasks of an environment, or no common environment."""
    a, b = pair()
    other = make_run("other", env="game:Sudoku-v0-easy", episodes=4)
    other.replace_config(replace(b.config, environments=other.config.environments))
    with pytest.raises(ArgumentError, match="an environment that both runs played"):
        compare(a, other)
    few = make_run("few", env=GUESS, episodes=1)
    few.replace_config(b.config)
    with pytest.raises(ArgumentError, match=f"two tasks of '{GUESS}' that both runs played, and there are 1"):
        compare(a, few)


def test_hostile_names_cannot_steer_a_terminal(pair: Pair) -> None:
    """What a configuration calls its harness and model is shown, and obeyed by nothing."""
    hostile = "\x1b[2J\x9b31m\u202ecommand:x\n"
    a, b = pair({"harness": hostile})
    assert not set("\x1b\x9b\u202e") & set(compare(a, b))
    b.replace_config(replace(b.config, model=hostile))
    result = CliRunner().invoke(cli, ["compare", str(a.path), str(b.path), "--factor", "harness"])
    assert not set("\x1b\x9b\u202e") & set(result.output + str(result.exception))


RESULT = ComparedMeans(0.5, 0.56, 0.06, 0.01, 0.11, 0.0194, 0.025, 49.0, 0.07, 50, 50, 50, 50, "paired-t")


@pytest.mark.parametrize(
    ("changes", "metric", "sentence"),
    [
        ({}, "success", "codex succeeds 6.0 points more often than pi (95 %: 1.0 … 11.0, p = 0.019) on 50 tasks"),
        ({"difference": 0.0, "low": -0.1}, "success", "pi and codex succeed equally often (95 %: −10.0 … 11.0, p ="),
        ({"low": None, "high": None}, "success", "more often than pi (the data give no interval) on 50 tasks"),
        ({"difference": -2.0}, "turns", "The mean number of turns of codex is 2 lower than that of pi (95 %: "),
        ({"difference": 0.0}, "return", "The mean return of codex equals that of pi (95 %: 0.01 … 0.11, p"),
    ],
)
def test_sentences(changes: dict[str, Any], metric: str, sentence: str) -> None:
    """The sentence fits the sign, the metric, and what is known."""
    words = factor_in_words(replace(RESULT, **changes), metric, "pi", "codex", "m")
    assert sentence in words
    assert words.endswith("on 50 tasks that both played, same model m.")
