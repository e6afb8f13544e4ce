"""One meaning of success: what is printed, exported and shown equals a count by hand, whatever ended the episodes."""

from __future__ import annotations

import asyncio
import csv
import json
import math
import os
import random
import re
import subprocess
import sys
import zlib
from base64 import b64decode
from collections import Counter
from collections.abc import Callable
from io import StringIO
from pathlib import Path
from statistics import median_low
from typing import Any

import pytest
from click.testing import CliRunner
from pyarrow import parquet

from gem.core import Env, Info
from gem.env_spec import EnvSpec
from gem.errors import EpisodeLimitError
from gem.policies import Act
from gem_eval.cli.results import results_command
from gem_eval.cli.view import view_command
from gem_eval.runs import EpisodeRow, EvaluationProgress, RunConfig, RunFolder
from gem_eval.statistics import RunSummary, compare_runs, summarize_run
from gem_eval.viewer.columns import as_columns
from gem_eval.viewer.episode_filter import matching_rows
from gem_eval.viewer.export import export_page
from gem_eval.viewer.run_facts import facts_of, run_figures
from gem_rollout import EpisodeLimits, EpisodeRequest, RolloutEngine
from gem_rollout.trajectory import EpisodeKey, Failure, Trajectory, Transition

ENV = "test:Fated-v0"

FATES: dict[str, bool | None] = {
    "wins": True,
    "loses": False,
    "loses with a note": False,
    "goes on": False,
    "fills the context": False,
    "agent raises": False,
    "is cut off by the environment": False,
    "raises": None,
    "leaks a cancellation": None,
    "panics": None,
    "truncates with an error": None,
    "is spoiled by the user": None,
    "cannot be graded": None,
    "ends without a word": None,
}
"""Fate → whether the episode succeeds; None where nothing can be said of the agent."""


class Panic(BaseException):
    """What extensions in Rust raise: no ``Exception``."""


class FatedEnv(Env[str, str]):
    """An episode's seed is the position of its fate in a list."""

    def __init__(self, fates: list[str]) -> None:
        self.fates = fates

    def reset(self, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[str, Info]:
        super().reset(seed=seed)
        self.fate, self.turn = self.fates[seed or 0], 0
        return self.fate, {}

    def step(self, action: str) -> tuple[str, float, bool, bool, Info]:
        self.turn += 1
        if self.turn < 2 or self.fate in ("goes on", "fills the context", "agent raises"):
            return self.fate, 0.125, False, False, {}
        if self.fate == "raises":
            raise RuntimeError("broken")
        if self.fate == "leaks a cancellation":
            raise asyncio.CancelledError
        if self.fate == "panics":
            raise Panic("index out of bounds")
        truncated = self.fate in ("truncates with an error", "is cut off by the environment")
        infos: dict[str, Info] = {
            "wins": {"success": True},
            "loses": {"success": False},
            "loses with a note": {"error": "format_error", "success": False},
            "truncates with an error": {"error": "the server is gone"},
            "is spoiled by the user": {"user_fault": "it said nonsense", "success": False},
            "cannot be graded": {"grader_fault": "no gold", "correct": False},
        }
        return "over", float(self.fate == "wins"), not truncated, truncated, infos.get(self.fate, {})


FAULTS = (
    "raises",
    "leaks a cancellation",
    "panics",
    "truncates with an error",
    "is spoiled by the user",
    "cannot be graded",
)
"""Fates whose episodes count in no mean."""


def said_by_the_server(fate: str, turn: int) -> tuple[dict[str, int], dict[str, float]]:
    """Return usage and metadata of a turn: of some fates with cached tokens, of some with the first token's time."""
    cached = {"cached_tokens": 7 * turn} if len(fate) % 2 and turn != 2 else {}
    first = {"first_token_seconds": turn / 4 + len(fate) / 100} if len(fate) % 3 else {}
    return {"prompt_tokens": 10 * turn, "completion_tokens": 3, **cached}, first


class _Agent:
    def __init__(self, env: Env[Any, Any]) -> None:
        self.turns = 0

    def begin(self, *_: Any) -> None:
        self.turns = 0

    def act(self, observation: str, info: Info) -> Act:
        self.turns += 1
        if observation == "agent raises" and self.turns > 1:
            raise ValueError("a defect of the agent")
        if observation == "fills the context" and self.turns > 1:
            raise EpisodeLimitError("context")
        usage, metadata = said_by_the_server(observation, self.turns)
        return Act(f"move {self.turns}", usage=usage, metadata=metadata)


def play(fates: list[str], mode: str = "sync", **limits: Any) -> list[Trajectory]:
    """Return the episodes of these fates, in the order in which they end."""
    spec = EnvSpec(id=ENV, entry_point=f"{__name__}:FatedEnv", kwargs={"fates": fates})
    requests = [EpisodeRequest(spec, EpisodeKey(ENV, seed)) for seed in range(len(fates))]

    async def run() -> list[Trajectory]:
        engine = RolloutEngine(requests, _Agent, concurrency=8, mode=mode, limits=EpisodeLimits(**limits), retries=0)
        async with engine:
            return [trajectory async for trajectory in engine]

    return asyncio.run(run())


def recorded(path: Path, config: RunConfig, episodes: list[Trajectory]) -> RunFolder:
    """Return a run folder with these episodes."""
    with RunFolder.create(path, config) as folder:
        for episode in episodes:
            folder.append(episode)
    return RunFolder(path)


def command(*arguments: Any) -> str:
    """Return what ``gem results`` prints."""
    result = CliRunner().invoke(results_command, [str(argument) for argument in arguments], catch_exceptions=False)
    assert result.exit_code == 0, result.output
    return result.output


@pytest.mark.parametrize("number", range(20))
def test_the_printed_share_equals_a_count_by_hand(
    number: int, tmp_path: Path, make_config: Callable[..., RunConfig]
) -> None:
    """In 20 mixtures of limits, faults and missing verdicts, table, JSON, CSV, viewer and comparison say the same."""
    chance = random.Random(number)
    kinds = chance.sample(sorted(FATES), chance.randint(3, len(FATES)))
    fates = ["wins", "goes on", *chance.choices(kinds, k=chance.randint(8, 30))]
    limit: dict[str, Any] = chance.choice([{"max_turns": 4}, {"max_tokens": 7}, {"max_turns": 2, "max_tokens": 100}])
    episodes = play(fates, **limit)
    run = recorded(tmp_path / "run", make_config([ENV], episodes=len(fates)), episodes)

    # The count by hand reads the lines of episodes.jsonl alone.
    expected: Counter[bool | None] = Counter()
    for line in (tmp_path / "run" / "episodes.jsonl").read_text().splitlines():
        record = json.loads(line)
        fate = fates[record["seed"]]
        expected[FATES[fate]] += 1
    solved, judged, unknown = expected[True], expected[True] + expected[False], expected[None]

    output = command(run.path)
    found = re.search(r"success +([\d.]+) % \(.*\), (\d+) of (\d+)(?: \+ (\d+) unknown)?", output)
    assert found is not None, output
    assert tuple(int(part or 0) for part in found.groups()[1:]) == (solved, judged, unknown)
    assert float(found[1]) == pytest.approx(100 * solved / judged, abs=0.051)
    bounds = f"between {100 * solved / len(fates):.1f} % and {100 * (solved + unknown) / len(fates):.1f} %"
    assert (bounds in " ".join(output.split())) is bool(unknown)

    reach = bounds.removeprefix("between ").replace(" % and", " …")
    counted = f"{solved} of {judged}" + (f" + {unknown} unknown: {reach}" if unknown else "")
    assert len(re.findall(rf"%.*\) +{re.escape(counted)} +\d", command(run.path, run.path))) == 2
    (by_agent,) = (line for line in command(run.path, "--by", "agent").splitlines() if "%" in line)
    assert re.sub(" +", " ", by_agent).strip().endswith(f") {counted}")
    progress = EvaluationProgress(run.path, len(fates))
    for row in map(EpisodeRow.of_trajectory, episodes):
        progress.add(row)
        if row.failed:  # and is played anew, with the same end
            progress.take_back(row)
            progress.add(row)
    assert progress.success_line() == f"success {100 * solved / judged:.1f} %, {counted}"
    rows = run.rows()
    (figures,) = run_figures(rows)["figures"]
    assert (figures["solved"], figures["judged"], figures["unknown"]) == (solved, judged, unknown)
    columns = as_columns(rows)
    assert [columns["success"].count(value) for value in (1, 0, None)] == [solved, judged - solved, unknown]
    lines = list(csv.DictReader(StringIO(command(run.path, "--csv", "-"))))
    assert Counter(line["success"] for line in lines) == Counter(
        {name: count for name, count in (("True", solved), ("False", judged - solved), ("", unknown)) if count}
    )
    command(run.path, "--parquet", tmp_path / "episodes.parquet")
    assert parquet.read_table(tmp_path / "episodes.parquet")["success"].to_pylist() == [row.success for row in rows]
    check_serving(run, fates, output, tmp_path)
    words = ("solved", "unsolved", "unknown")
    assert [len(matching_rows(rows, {"outcome": word})) for word in words] == [solved, judged - solved, unknown]
    (compared,) = compare_runs(rows, rows).environments
    assert compared.result is not None
    assert compared.result.groups == judged
    said = [f"{name}: the outcome of {unknown} of {len(fates)} episodes is unknown" for name in "AB" if unknown]
    assert [note.partition(";")[0] for note in compared.notes] == said
    assert all(bounds in note for note in compared.notes)
    (attempts,) = _summary(run).environments
    assert attempts.pass_at_k[1].value == pytest.approx(solved / judged)


def check_serving(run: RunFolder, fates: list[str], output: str, folder: Path) -> None:
    """Hit rate and first tokens of table, summary, viewer, exported page, CSV and Parquet are a count by hand."""
    calls = cache_calls = cached = prompt = 0
    seconds: list[float] = []
    by_episode: dict[int, tuple[float | None, float | None]] = {}
    for line in (run.path / "episodes.jsonl").read_text().splitlines():
        record = json.loads(line)
        turns = [turn for turn in record["transitions"] if turn.get("usage")]
        told = [turn["usage"] for turn in turns if "cached_tokens" in turn["usage"]]
        first = [turn["metadata"]["first_token_seconds"] for turn in turns if turn.get("metadata")]
        own = sum(one["cached_tokens"] for one in told), sum(one["prompt_tokens"] for one in told)
        by_episode[record["seed"]] = own[0] / own[1] if told else None, median_low(first) if first else None
        if fates[record["seed"]] not in FAULTS:
            calls, cache_calls, seconds = calls + len(turns), cache_calls + len(told), seconds + first
            cached, prompt = cached + own[0], prompt + own[1]

    p50, p95 = (sorted(seconds)[math.ceil(share * len(seconds)) - 1] if seconds else 0.0 for share in (0.5, 0.95))
    shown = " ".join(output.split())
    share = "0" if not cached else f"{100 * cached / prompt:.1f}" if prompt else ""
    hits = f"{share} % of {prompt:,} prompt tokens ({cache_calls} of {calls} calls)"
    assert f"prefix cache hits {hits if prompt else f'unknown (0 of {calls} calls)'}" in shown
    first_text = f"p50 {p50:.3g} s, p95 {p95:.3g} s ({len(seconds)} of {calls} calls)"
    assert f"first token {first_text if seconds else 'unknown (no call was streamed)'}" in shown

    (summary,) = json.loads(command(run.path, "--json"))[0]["environments"]
    page = export_page([run]).content.decode()
    (packed,) = re.findall(r'id="part-rows-0">([^<]*)<', page)
    exported = json.loads(zlib.decompress(b64decode(packed))[4:])["value"]
    for figures in (summary, run_figures(run.rows())["figures"][0], exported["figures"][0]):
        assert figures["calls"] == calls
        told_figures = figures["cache"] and {**figures["cache"], "rate": round(figures["cache"]["rate"], 9)}
        expected = {"cached_tokens": cached, "prompt_tokens": prompt, "calls": cache_calls}
        assert told_figures == ({**expected, "rate": round(cached / prompt, 9)} if prompt else None)
        first_token = figures["first_token"] and [figures["first_token"][name] for name in ("count", "p50", "p95")]
        assert first_token == ([len(seconds), p50, p95] if seconds else None)

    expected_columns = [by_episode[row.seed] for row in run.rows()]
    table = parquet.read_table(folder / "episodes.parquet")
    lines = csv.DictReader(StringIO(command(run.path, "--csv", "-")))
    names = ("cache_hit_rate", "first_token_p50")
    in_csv = [tuple(float(line[name]) if line[name] else None for name in names) for line in lines]
    found = [
        list(zip(*(columns[name] for name in names), strict=True))
        for columns in (as_columns(run.rows()), exported, table.to_pydict())
    ]
    for pairs in (*found, in_csv):
        for pair, wanted in zip(pairs, expected_columns, strict=True):
            for value, other in zip(pair, wanted, strict=True):
                assert value is other is None or value == pytest.approx(other, abs=1e-6)


def answered(chance: random.Random, seed: int) -> Trajectory:
    """Return an episode whose turns are readable, malformed, cut, empty after reasoning, or several of these."""
    turns = []
    count = chance.randint(1, 4)
    for number in range(count):
        is_malformed, is_cut, is_empty = (chance.random() < 0.3 for _ in range(3))
        turns.append(
            Transition(
                "go on",
                "" if is_empty else f"move {chance.randint(1, 3)}",
                0.0,
                number == count - 1,
                False,
                {"action_status": "malformed"} if is_malformed else {},
                reasoning="so many thoughts" if is_empty else None,
                finish_reason="length" if is_cut else "stop",
            )
        )
    turns[-1].info |= {"success": chance.random() < 0.5, "grade": chance.choice(["right", "different", "unreadable"])}
    is_full = chance.random() < 0.3
    if is_full:
        turns[-1].terminated, turns[-1].truncated = False, True
    fault = Failure("endpoint", "server_error", "500 from the server", 1) if chance.random() < 0.2 else None
    return Trajectory(
        EnvSpec(id=ENV, entry_point=f"{__name__}:FatedEnv"),
        seed,
        turns,
        stop_reason="context" if is_full else "terminated",
        failure=fault,
    )


@pytest.mark.parametrize("number", range(5))
def test_what_became_of_the_answers_is_one_count_everywhere(
    number: int, tmp_path: Path, make_config: Callable[..., RunConfig]
) -> None:
    """Malformed, cut and empty turns, full contexts, unreadable and distinct answers are one count on all ways out.

    These are table, JSON, viewer, exported page, CSV and Parquet. Episodes that a fault ended count in no share.
    """
    chance = random.Random(number)
    episodes = [answered(chance, seed) for seed in range(chance.randint(5, 20))]
    run = recorded(tmp_path / "run", make_config([ENV], episodes=len(episodes)), episodes)

    # The count by hand reads the lines of episodes.jsonl alone.
    lines = map(json.loads, (tmp_path / "run" / "episodes.jsonl").read_text().splitlines())
    scored = [line for line in lines if not line.get("failure")]
    turns = [turn for line in scored for turn in line["transitions"]]
    lasts = [line["transitions"][-1] for line in scored]
    expected = [
        ("malformed turns", sum(t["info"].get("action_status") == "malformed" for t in turns), len(turns)),
        ("cut by token limit", sum(t["finish_reason"] == "length" for t in turns), len(turns)),
        ("empty after reasoning", sum(not t["action"] for t in turns), len(turns)),
        ("context full", sum(line["stop_reason"] == "context" for line in scored), len(scored)),
        ("unreadable answers", sum(t["info"]["grade"] == "unreadable" for t in lasts), len(scored)),
        ("distinct answers", len({t["action"] for t in lasts}), len(scored)),
    ]
    expected = [part for part in expected if part[1]]

    output = " ".join(command(run.path).split())
    for name, count, of in expected:
        assert re.search(rf"{name} {count} of {of}\b", output), (name, count, of, output)
    (figures,) = run_figures(run.rows())["figures"]
    page = export_page([run]).content.decode()
    (packed,) = re.findall(r'id="part-rows-0">([^<]*)<', page)
    exported = json.loads(zlib.decompress(b64decode(packed))[4:])["value"]
    for told in (figures, exported["figures"][0]):
        assert [tuple(part) for part in told["answers"]] == expected
    (summary,) = json.loads(command(run.path, "--json"))[0]["environments"]
    names = {"malformed turns": "malformed", "cut by token limit": "cut", "empty after reasoning": "empty"}
    assert [summary["answers"][names[name]] for name, *_ in expected if name in names] == [
        count for name, count, _ in expected if name in names
    ]
    command(run.path, "--parquet", tmp_path / "episodes.parquet")
    table = parquet.read_table(tmp_path / "episodes.parquet").to_pydict()
    in_csv = list(csv.DictReader(StringIO(command(run.path, "--csv", "-"))))
    is_scored = [not row.failed for row in run.rows()]
    for name, count, _ in expected:
        if name in names:
            column = names[name]
            for values in (as_columns(run.rows())[column], table[column], [int(line[column]) for line in in_csv]):
                assert sum(value for value, counts in zip(values, is_scored, strict=True) if counts) == count


@pytest.mark.parametrize("mode", ["sync", "thread", "process"])
def test_an_exception_of_any_kind_ends_its_own_episode_alone(mode: str) -> None:
    """A leaked cancellation among winners loses no episode, and the engine ends."""
    fates = ["wins", "leaks a cancellation", "panics", "raises"] * 6
    episodes = play(fates, mode)
    assert Counter((fates[one.seed or 0], one.outcome) for one in episodes) == {
        ("wins", "succeeded"): 6,
        ("leaks a cancellation", "unknown"): 6,
        ("panics", "unknown"): 6,
        ("raises", "unknown"): 6,
    }


def test_an_environment_without_a_notion_of_success_has_no_share(
    tmp_path: Path, make_config: Callable[..., RunConfig]
) -> None:
    """A limit makes no failures out of episodes whose environment never says whether they succeed."""
    fates = ["ends without a word", "goes on", "goes on"]
    run = recorded(tmp_path / "run", make_config([ENV], episodes=3), play(fates, max_turns=3))
    (item,) = _summary(run).environments
    assert (item.success, item.success_unknown) == (None, 0)
    assert "success  " not in command(run.path)


def test_runs_that_all_end_at_a_limit_have_a_share(tmp_path: Path, make_config: Callable[..., RunConfig]) -> None:
    """Where every episode is cut off, none succeeded, and the row says so."""
    run = recorded(tmp_path / "run", make_config([ENV], episodes=4), play(["goes on"] * 4, max_turns=2))
    assert re.search(r"success +0 % \(.*\), 0 of 4", command(run.path))


def test_an_exported_page_has_the_figures_of_the_whole_run(
    tmp_path: Path, make_config: Callable[..., RunConfig]
) -> None:
    """With the conversations of a part, table and shares are of all episodes, and the command says which part it is."""
    fates = ["wins", "goes on", "loses", "goes on"] * 5
    run = recorded(tmp_path / "run", make_config([ENV], episodes=20), play(fates, max_turns=9))
    target = tmp_path / "page.html"
    result = CliRunner().invoke(view_command, [str(run.path), "--export", str(target), "--episodes", "6"])
    assert "20 episodes, conversations of 6" in result.output
    page = target.read_text()
    assert set(re.findall(r'id="part-episode-0-(\d+)"', page)) == {
        str(number) for number, row in enumerate(run.rows()) if row.seed < 6
    }


@pytest.mark.parametrize("condition", ["outcome=nonsense", "outcome=failed", "stop=never"])
def test_a_filter_that_leaves_nothing_is_an_error(
    condition: str, tmp_path: Path, make_config: Callable[..., RunConfig]
) -> None:
    """An unknown outcome is named with the known ones, and an export without conversations is none."""
    run = recorded(tmp_path / "run", make_config([ENV], episodes=2), play(["wins", "loses"]))
    arguments = [str(run.path), "--export", str(tmp_path / "page.html"), "--filter", condition]
    result = CliRunner().invoke(view_command, arguments)
    assert result.exit_code != 0
    assert condition.partition("=")[2] in str(result.exception)


def _summary(run: RunFolder) -> RunSummary:
    return summarize_run(run.rows())


def test_runs_of_one_name_are_told_apart(tmp_path: Path, make_config: Callable[..., RunConfig]) -> None:
    """By their models, or else by their folders; in tables and on pages."""
    episodes = play(["wins", "loses"])
    runs = [
        recorded(tmp_path / str(number), make_config([ENV], episodes=2, name="smol", agent=agent), episodes)
        for number, agent in enumerate(("135M", "360M", "360M"))
    ]
    names = [fact["name"] for fact in facts_of(runs)]
    assert names == ["smol, 135M", f"smol, {runs[1].path}", f"smol, {runs[2].path}"]
    output = " ".join(command(*(run.path for run in runs)).split())
    assert all(name.split()[1][-20:] in output.replace(" ", "") for name in names)


def test_a_page_names_every_setting_that_is_a_number(tmp_path: Path, make_config: Callable[..., RunConfig]) -> None:
    """A temperature of 0 and a first seed of 0 are choices; what is empty or off was not chosen."""
    sampling = {"temperature": 0.0, "seed": 0, "max_tokens": 8, "stop": [], "logprobs": False, "extra": {}}
    run = recorded(tmp_path / "run", make_config([ENV], sampling=sampling), [])
    assert facts_of([run])[0]["settings"] == {"temperature": "0.0", "seed": "0", "max_tokens": "8"}


@pytest.mark.parametrize("encoding", ["cp1252", "latin-1", "cp437"])
def test_an_encoding_that_lacks_a_character_is_no_traceback(
    encoding: str, tmp_path: Path, make_config: Callable[..., RunConfig]
) -> None:
    """The output of the command stays whole where a terminal or file cannot hold all of Unicode."""
    run = recorded(tmp_path / "run", make_config([ENV], episodes=2), play(["wins", "loses"]))
    environment = {**os.environ, "PYTHONIOENCODING": encoding, "PYTHONUTF8": "0"}
    done = subprocess.run(
        [sys.executable, "-m", "gem", "results", str(run.path)], capture_output=True, env=environment, check=False
    )
    assert (done.returncode, done.stderr) == (0, b"")
    assert "1 of 2" in done.stdout.decode(encoding)
