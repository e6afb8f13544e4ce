"""The page docs/paper.md from the raw figures in docs/paper: ``python examples/paper/report.py``.

The text between ``<!-- begin NAME -->`` and ``<!-- end NAME -->`` is written anew for each experiment whose figures are
there, and its picture beside the figures. The rest of the page is written by hand.
"""

from __future__ import annotations

import hashlib
import json
import math
import re
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from gem_eval.statistics.estimates import mean_bounds

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

__all__ = ["DATA", "mean_of_last", "read_figures", "tables", "write_page"]

PAGE = Path(__file__).resolve().parents[2] / "docs" / "paper.md"
DATA = PAGE.with_suffix("")
TARGET = 0.9
LAST = 6
"""Updates at the beginning and at the end whose mean is reported."""

Figures = Mapping[str, Any]
"""The figures of a run: a line of the raw data."""


def mean_of_first(values: Sequence[float | None]) -> float:
    """Return the mean of the first updates."""
    return _mean(values[:LAST])


def mean_of_last(values: Sequence[float | None]) -> float:
    """Return the mean of the last updates."""
    return _mean(values[-LAST:])


def mean_over_training(run: Figures) -> float:
    """Return the mean success over all updates that were planned; a run that was stopped stays where it was."""
    success = list(run["success"])
    planned = run["recipe"].get("updates", len(success))
    return _mean([*success, *[mean_of_last(success)] * (planned - len(success))])


def updates_to_target(run: Figures) -> float:
    """Return the first update at which the mean of the last ones reaches the target; infinity if none does."""
    success = run["success"]
    for update in range(LAST, len(success) + 1):
        if _mean(success[update - LAST : update]) >= TARGET:
            return update
    return math.inf


def _mean(values: Sequence[float | None]) -> float:
    known = [value for value in values if value is not None]
    return float(np.mean(known)) if known else math.nan


def _greedy(name: str) -> Callable[[Figures], float]:
    return lambda run: _mean([figures[name] for figures in run["greedy"].values()])


def _at_first(name: str, less: float = 0.0) -> Callable[[Figures], float]:
    return lambda run: mean_of_first(run[name]) - less


def _at_last(name: str, less: float = 0.0) -> Callable[[Figures], float]:
    return lambda run: mean_of_last(run[name]) - less


COLUMNS: dict[str, tuple[str, Callable[[Figures], float]]] = {
    "first": ("success at first", _at_first("success")),
    "last": ("success at last", _at_last("success")),
    "whole": ("mean over training", mean_over_training),
    "turns": ("turns when won", _at_last("turns_of_won_episodes")),
    "greedy": ("greedy success", _greedy("success")),
    "greedy_turns": ("greedy turns when won", _greedy("turns_of_won_episodes")),
    "calls_first": ("calls an episode at first", _at_first("turns_of_an_episode", less=1)),
    "calls": ("calls at last", _at_last("turns_of_an_episode", less=1)),
    "entropy_first": ("entropy at first", _at_first("entropy")),
    "entropy": ("entropy at last", _at_last("entropy")),
    "spread_first": ("spread at first", _at_first("within_group_spread")),
    "spread": ("spread at last", _at_last("within_group_spread")),
    "malformed": ("malformed at last", _at_last("malformed")),
    "cpu": ("CPU s a run", lambda run: float(run["cpu_seconds"])),
}
"""Columns with an interval over seeds, by the name that experiments.toml uses."""
SHARES = ("first", "last", "whole", "greedy", "malformed")


def read_figures(name: str) -> list[Figures]:
    """Return the figures of the runs of an experiment."""
    lines = (DATA / f"{name}.jsonl").read_text(encoding="utf-8").splitlines()
    return [json.loads(line) for line in lines]


def tables(entry: Mapping[str, Any], figures: Sequence[Figures]) -> str:
    """Return the tables of an experiment in Markdown: arms, differences between arms, and the tuning if there was one.

    Args:
        entry: of experiments.toml.
        figures: of all runs, those of the tuning included.
    """
    counted = [run for run in figures if not run["tuning"]]
    arms = {arm: [run for run in counted if run["arm"] == arm] for arm in entry["arms"]}
    parts = [_arms(entry, arms)]
    if len(arms) > 1 and "paired" in entry:
        parts.append(_differences(entry["paired"], arms, entry.get("versus", {})))
    if "tuning" in entry:
        parts.append(_tuning(entry["tuning"], [run for run in figures if run["tuning"]]))
    return "\n".join(parts)


def _arms(entry: Mapping[str, Any], arms: Mapping[str, list[Figures]]) -> str:
    titles: list[str] = []
    cells: dict[str, list[str]] = {arm: [] for arm in arms}
    for column in entry["columns"]:
        if column == "by_environment":
            _add_environments(arms, titles, cells)
            continue
        titles.append({"target": f"updates to {TARGET}", "stopped": "stopped runs"}.get(column) or COLUMNS[column][0])
        for arm, runs in arms.items():
            cells[arm].append(_cell(column, runs))
    setting = entry.get("tuning", {}).get("setting")
    rows = []
    for arm, runs in arms.items():
        tuned = f", {setting.replace('_', ' ')} {_setting(runs[0], setting):g}" if setting else ""
        rows.append([f"{arm}{tuned}", *cells[arm]])
    return _markdown(["arm", *titles], rows)


def _cell(column: str, runs: Sequence[Figures]) -> str:
    if column == "target":
        return _median([updates_to_target(run) for run in runs])
    if column == "stopped":
        return f"{sum(run['stopped'] is not None for run in runs)} of {len(runs)}"
    return interval([COLUMNS[column][1](run) for run in runs], share=column in SHARES)


def _add_environments(arms: Mapping[str, list[Figures]], titles: list[str], cells: dict[str, list[str]]) -> None:
    """Add the greedy success in each environment, before and after training."""
    names = dict.fromkeys(name for runs in arms.values() for run in runs for name in run["greedy"])
    for name in names:
        titles.append(f"greedy, {name.split(':')[-1]}")
        for arm, runs in arms.items():
            if name not in runs[0]["greedy"]:
                cells[arm].append("")
                continue
            before = _mean([run["greedy_before"][name]["success"] for run in runs])
            after = interval([run["greedy"][name]["success"] for run in runs], share=True)
            cells[arm].append(f"{before:.2f} → {after}")


def _differences(columns: Sequence[str], arms: Mapping[str, list[Figures]], versus: Mapping[str, str]) -> str:
    first, *others = arms
    rows = []
    for arm in others:
        base = versus.get(arm, first)
        runs = {run["seed"]: run for run in arms[base]}
        row = [f"{arm} − {base}"]
        for column in columns:
            figure = COLUMNS[column][1]
            row.append(interval([figure(run) - figure(runs[run["seed"]]) for run in arms[arm]], sign="+"))
        rows.append(row)
    return _markdown(["difference by seed", *(COLUMNS[column][0] for column in columns)], rows)


def _tuning(tuning: Mapping[str, Any], runs: Sequence[Figures]) -> str:
    rows = []
    for arm in dict.fromkeys(run["arm"] for run in runs):
        row = [arm]
        for value in tuning["values"]:
            chosen = [run for run in runs if run["arm"] == arm and _setting(run, tuning["setting"]) == value]
            row.append(", ".join(f"{mean_of_last(run['success']):.2f}" for run in chosen))
        rows.append(row)
    name = tuning["setting"].replace("_", " ")
    return _markdown([f"success at last by {name}", *(f"{value:g}" for value in tuning["values"])], rows)


def _setting(run: Figures, name: str) -> Any:
    from gem_rl.training.recipe import Recipe

    return run["recipe"].get(name, getattr(Recipe, name))  # the raw data leave out defaults


def _markdown(titles: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    lines = [titles, ["---"] * len(titles), *rows]
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


def _median(updates: Sequence[float]) -> str:
    """Return the median over all runs; one that never reached the target counts as later than any that did."""
    reached = sum(map(math.isfinite, updates))
    median = sorted(updates)[(len(updates) - 1) // 2]
    return f"{f'{median:.0f}' if math.isfinite(median) else 'not reached'} ({reached} of {len(updates)})"


def interval(values: Sequence[float], *, share: bool = False, sign: str = "") -> str:
    """Return the mean over seeds with its 95 % interval, and how many runs have the figure if some have not."""
    known = np.array([value for value in values if math.isfinite(value)])
    if not known.size:
        return "–"
    few = f", {known.size} of {len(values)} runs" if known.size < len(values) else ""
    if known.size == 1 or np.ptp(known) == 0:
        return _typographic(f"{known.mean():{sign}.2f}{few}")
    low, high = (float(bound) for bound in mean_bounds(known))
    if share:
        low, high = max(0.0, low), min(1.0, high)
    return _typographic(f"{known.mean():{sign}.2f} ({low:{sign}.2f} … {high:{sign}.2f}){few}")


def _typographic(figures: str) -> str:
    """Return figures with a minus sign, and zero without a sign."""
    return re.sub(r"[+-](0\.00)\b", r"\1", figures).replace("-", "−")


def with_tables(page: str, written: Mapping[str, str]) -> str:
    """Return the page with these texts between its marks.

    Raises:
        SystemExit: if the page has no marks of that name.
    """
    for name, text in written.items():
        begin, end = f"<!-- begin {name} -->\n", f"<!-- end {name} -->"
        if begin not in page or end not in page:
            raise SystemExit(f"{PAGE} has no lines {begin.strip()} and {end}, so there is no place for the tables")
        before, rest = page.split(begin, 1)
        page = f"{before}{begin}{text}{end}{rest.split(end, 1)[1]}"
    return page


def write_page() -> None:
    """Write tables and pictures of all experiments whose figures are in docs/paper."""
    from pictures import draw

    entries = tomllib.loads(Path(__file__).with_name("experiments.toml").read_text(encoding="utf-8"))
    written = {}
    for path in sorted(DATA.glob("*.jsonl")):
        figures = read_figures(path.stem)
        draw(entries[path.stem], figures, path.with_suffix(".svg"), digest_of(path))
        written[path.stem] = section(path.stem, entries[path.stem], figures)
    PAGE.write_text(with_tables(PAGE.read_text(encoding="utf-8"), written), encoding="utf-8")


def section(name: str, entry: Mapping[str, Any], figures: Sequence[Figures]) -> str:
    """Return what stands between the marks of an experiment."""
    return f"{tables(entry, figures)}\n![{entry['question']}]({DATA.name}/{name}.svg)\n"


def digest_of(path: Path) -> str:
    """Return the SHA-256 of raw data, which the picture made of it names."""
    return hashlib.sha256(path.read_bytes()).hexdigest()


if __name__ == "__main__":
    write_page()
