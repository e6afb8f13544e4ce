"""One recorded run, one set of figures: summary, table, viewer, exported page, CSV and Parquet agree with a recount."""

from __future__ import annotations

import csv
import json
import re
import tempfile
import zlib
from base64 import b64decode
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from io import StringIO
from pathlib import Path
from typing import Any, Literal

import pytest
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st
from pyarrow import parquet

from gem.env_spec import EnvSpec
from gem_eval.cli.results import results_command
from gem_eval.runs import RunConfig, RunFolder
from gem_eval.viewer.columns import as_columns
from gem_eval.viewer.export import export_page
from gem_eval.viewer.run_facts import run_figures
from gem_rollout.trajectory import Failure, Trajectory, Transition

ENVS = ("test:One-v0", "test:Two-v0")

ENDS: dict[str, tuple[bool | None, bool]] = {
    "wins": (True, True),
    "loses": (False, True),
    "context": (False, True),
    "turns": (False, True),
    "agent": (False, True),
    "silent": (None, True),
    "endpoint": (None, False),
    "user": (None, False),
}
"""End of an episode → whether it succeeded, None where nothing can be said, and whether it counts in means."""

TURNS = st.fixed_dictionaries(
    {
        "malformed": st.booleans(),
        "spoke": st.sampled_from(["a", "b", "cut", "thought"]),
        "reward": st.sampled_from([0.0, 0.25, 1.0, -2.0]),
        "tokens": st.none() | st.integers(0, 900),
    }
)
EPISODES = st.lists(
    st.tuples(st.sampled_from(ENVS), st.sampled_from(sorted(ENDS)), st.lists(TURNS, min_size=1, max_size=3)),
    min_size=1,
    max_size=12,
)
PARTS = {
    "malformed turns": "malformed",
    "cut by token limit": "cut",
    "empty after reasoning": "empty",
    "context full": "context",
    "distinct answers": "distinct",
}
"""Names of the answers' figures in tables and on the page → those of the recount."""


def episode(env: str, seed: int, end: str, turns: list[Mapping[str, Any]]) -> Trajectory:
    """Return a recorded episode; its last turn carries what its end leaves in a record."""
    infos: dict[str, dict[str, Any]] = {
        "wins": {"success": True},
        "loses": {"success": False},
        "user": {"user_fault": "it said nonsense", "success": True},
    }
    transitions = []
    for number, turn in enumerate(turns, start=1):
        last, spoke = number == len(turns), turn["spoke"]
        transitions.append(
            Transition(
                "look",
                "<think>on and on</think>" if spoke == "thought" else spoke,
                turn["reward"],
                last and end in ("wins", "loses", "silent", "user"),
                last and end in ("context", "turns"),
                {
                    **({"action_status": "malformed"} if turn["malformed"] else {}),
                    **(infos.get(end, {}) if last else {}),
                },
                usage=None if turn["tokens"] is None else {"prompt_tokens": 7, "completion_tokens": turn["tokens"]},
                finish_reason="length" if spoke == "cut" else "stop",
            )
        )
    sources: dict[str, Literal["agent", "endpoint"]] = {"agent": "agent", "endpoint": "endpoint"}
    failure = Failure(sources[end], "made_up", "it broke", len(turns)) if end in sources else None
    stop = end if end in ("context", "turns") else None if failure else "terminated"
    return Trajectory(EnvSpec(env, "m:C"), seed, transitions, stop_reason=stop, failure=failure)


@contextmanager
def recorded(config: RunConfig, episodes: Iterable[Trajectory]) -> Iterator[RunFolder]:
    """Write a run folder that is gone at the end."""
    with tempfile.TemporaryDirectory() as root:
        with RunFolder.create(Path(root) / "run", config) as folder:
            for one in episodes:
                folder.append(one)
        yield RunFolder(Path(root) / "run")


def recount(episodes: list[tuple[str, str, list[Mapping[str, Any]]]], env: str) -> dict[str, Any]:
    """Count by hand what the episodes of an environment are."""
    mine = [(end, turns) for name, end, turns in episodes if name == env]
    counted = [(end, turns) for end, turns in mine if ENDS[end][1]]
    turns = [turn for _, each in counted for turn in each]
    told = any(end in ("wins", "loses") for end, _ in mine)  # else the environment may know no success
    silent = any(end == "silent" for end, _ in mine)
    knows = told or not silent
    known = [ENDS[end][0] for end, _ in counted if ENDS[end][0] is not None] if knows else []
    unknown = sum(end in ("endpoint", "user") or (end == "silent" and told) for end, _ in mine)
    return {
        "episodes": len(counted),
        "failed": len(mine) - len(counted),
        "return": sum(turn["reward"] for turn in turns) / len(counted) if counted else None,
        "solved": sum(map(bool, known)),
        "judged": len(known),
        "unknown": unknown,
        "turns": len(turns),
        "malformed": sum(turn["malformed"] for turn in turns),
        "cut": sum(turn["spoke"] == "cut" for turn in turns),
        "empty": sum(turn["spoke"] == "thought" for turn in turns),
        "context": sum(end == "context" for end, _ in counted),
        "tokens": sum(turn["tokens"] or 0 for turn in turns),
        "distinct": len({each[-1]["spoke"] for _, each in counted}),
    }


def of_records(records: list[Mapping[str, Any]], env: str) -> dict[str, Any]:
    """Reckon the same from one record for each episode, as CSV, Parquet and the page's columns have them."""
    mine = [record for record in records if record["env"] == env]
    counted = [record for record in mine if record["failure_source"] in (None, "", "agent")]
    known = [record["success"] for record in counted if record["success"] is not None]
    return {
        "episodes": len(counted),
        "failed": len(mine) - len(counted),
        "return": sum(record["return"] for record in counted) / len(counted) if counted else None,
        "solved": sum(known),
        "judged": len(known),
        "unknown": sum(record["outcome"] == "unknown" for record in mine),
        "context": sum(record["stop_reason"] == "context" for record in counted),
        "tokens": sum(record["completion_tokens"] or 0 for record in counted),
        **{name: sum(record[name] for record in counted) for name in ("turns", "malformed", "cut", "empty")},
    }


def of_columns(columns: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return the records of the page's columns."""

    def named(name: str) -> list[Any]:
        return [None if code < 0 else columns[name]["names"][code] for code in columns[name]["codes"]]

    coded = {"env": "env", "outcome": "outcome", "stop_reason": "stop_reason", "failure_source": "source"}
    plain = ("return", "success", "turns", "malformed", "cut", "empty", "completion_tokens")
    found = {**{name: named(source) for name, source in coded.items()}, **{name: columns[name] for name in plain}}
    return [dict(zip(found, values, strict=True)) for values in zip(*found.values(), strict=True)]


def of_csv(text: str) -> list[dict[str, Any]]:
    """Return the records of a CSV file with their types."""
    whole = ("turns", "malformed", "cut", "empty", "completion_tokens")
    return [
        {
            **record,
            **{name: int(record[name]) if record[name] else None for name in whole},
            "return": float(record["return"]),
            "success": {"True": True, "False": False, "": None}[record["success"]],
        }
        for record in csv.DictReader(StringIO(text))
    ]


def of_figures(figures: Mapping[str, Any]) -> dict[str, Any]:
    """Return what the page says of an environment."""
    health = {PARTS[name]: (count, of) for name, count, of in figures["answers"]}
    value = figures["return"] and figures["return"]["value"]
    return {
        **{name: figures[name] for name in ("episodes", "failed", "solved", "judged", "unknown")},
        **health,
        "return": value,
    }


def of_table(output: str, env: str) -> dict[str, Any]:
    """Return what the tables of the command say of an environment."""
    results, answers = (
        re.search(rf"^{head}.*\n(?:.*\n)*?{re.escape(env)}\s+(.*)$", output, re.MULTILINE)
        for head in ("environment", "answers")
    )
    found: dict[str, Any] = {}
    assert results is not None
    counts = re.search(r"(\d+) of (\d+)(?: \+ (\d+) unknown(?:: [\d.]+ … [\d.]+ %)?)?$", results[1])
    if counts:
        found |= dict(zip(("solved", "judged", "unknown"), (int(count or 0) for count in counts.groups()), strict=True))
    found["episodes"] = int(results[1].split("/")[0])
    if answers is not None:
        heads = re.search(r"^answers +(.*)$", output, re.MULTILINE)
        assert heads is not None
        # A cell stands under the end of its head; a fault that the environment has not is an empty cell.
        line = next(line for line in output[heads.start() :].splitlines() if line.startswith(env))
        head_line = output[heads.start() :].splitlines()[0]
        for match in re.finditer(r"\S+", head_line[len("answers") :]):
            end = len("answers") + match.end()
            cell = line[:end].rsplit(" ", 1)[-1]
            if "/" in cell:
                found[match[0]] = tuple(map(int, cell.split("/")))
    return found


@pytest.mark.slow(reason="each run is written, read, exported and printed by the command")
@given(EPISODES)
def test_all_that_show_a_run_give_the_numbers_of_a_recount(
    make_config: Callable[..., RunConfig], episodes: list[tuple[str, str, list[Mapping[str, Any]]]]
) -> None:
    """Whatever ended the episodes, and whatever their turns were, in two environments side by side."""
    run_cli = CliRunner().invoke
    made = [episode(env, seed, end, turns) for seed, (env, end, turns) in enumerate(episodes)]
    with recorded(make_config(ENVS, episodes=12), made) as run:
        outputs = {
            name: run_cli(results_command, [str(run.path), *more], catch_exceptions=False).output
            for name, more in (("table", []), ("json", ["--json"]), ("csv", ["--csv", "-"]))
        }
        path = run.path / "episodes.parquet"
        run_cli(results_command, [str(run.path), "--parquet", str(path)], catch_exceptions=False)
        rows = run.rows()
        (packed,) = re.findall(r'id="part-rows-0">([^<]*)<', export_page([run]).content.decode())
        exported = json.loads(zlib.decompress(b64decode(packed))[4:])["value"]
        records = {
            "csv": of_csv(outputs["csv"]),
            "parquet": parquet.read_table(path).to_pylist(),
            "page": of_columns(as_columns(rows)),
            "export": of_columns(exported),
        }
    summaries = {item["env"]: item for item in json.loads(outputs["json"])[0]["environments"]}
    for env in {name for name, _, _ in episodes}:
        expected = recount(episodes, env)
        for surface, found in records.items():
            assert of_records(found, env) == pytest.approx({n: expected[n] for n in expected if n != "distinct"}), (
                surface
            )
        check_summary(summaries[env], expected)
        ratios = {name: (expected[name], expected["turns"]) for name in ("malformed", "cut", "empty")}
        ratios |= {name: (expected[name], expected["episodes"]) for name in ("context", "distinct")}
        shown = {name: ratio for name, ratio in ratios.items() if ratio[0]}
        plain = {name: expected[name] for name in ("episodes", "failed", "solved", "judged", "unknown", "return")}
        for figures in (run_figures(rows)["figures"], exported["figures"]):
            assert of_figures(next(item for item in figures if item["env"] == env)) == pytest.approx({**plain, **shown})
        counts = ("episodes", *(("solved", "judged", "unknown") if expected["judged"] else ()))
        assert of_table(outputs["table"], env) == {**{name: expected[name] for name in counts}, **shown}


def check_summary(item: Mapping[str, Any], expected: Mapping[str, Any]) -> None:
    """Compare the figures of an environment in the JSON with the recount."""
    success, health = item["success"], item["answers"]
    assert (success["episodes"] if success else 0) == expected["judged"]
    if success:
        assert success["value"] == pytest.approx(expected["solved"] / expected["judged"])
    total = expected["judged"] + expected["unknown"]
    bounds = (expected["solved"] / total, (expected["solved"] + expected["unknown"]) / total) if success else None
    assert item["success_bounds"] == (pytest.approx(list(bounds)) if bounds and expected["unknown"] else None)
    assert (item["mean_return"] and item["mean_return"]["value"]) == pytest.approx(expected["return"])
    found = {
        **{name: item[name] for name in ("episodes", "failed")},
        **{name: health[name] for name in ("turns", "malformed", "cut", "empty", "distinct")},
        "solved": item["success_count"],
        "unknown": item["success_unknown"],
        "context": health["context_full"],
    }
    assert found == {name: expected[name] for name in found}
    tokens = item["completion_tokens"]
    assert (tokens["total"] if tokens else 0) == expected["tokens"]
