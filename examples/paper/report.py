"""What an experiment came to: raw figures, a picture and a table, written into docs/."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from gem_eval.statistics.estimates import mean_bounds

if TYPE_CHECKING:
    from run_experiment import Experiment, Run

__all__ = ["write_report"]

DOCS = Path(__file__).resolve().parents[2] / "docs"
TARGET = 0.9
LAST = 6
PANELS = {
    "success": "Success",
    "turns_of_won_episodes": "Turns of won episodes",
    "entropy": "Entropy, nats a token",
    "malformed": "Share of malformed actions",
}


def write_report(experiment: Experiment) -> None:
    """Write ``docs/paper/NAME.json`` and ``NAME.svg``, and replace the table of the experiment in ``docs/paper.md``."""
    runs = experiment.counted_runs()
    missing = [run for run in [*experiment.tuning_runs(), *runs] if run.result is None]
    if missing:
        raise SystemExit(f"{len(missing)} runs are missing, such as {missing[0].folder}; make them without --report")
    folder = DOCS / "paper"
    folder.mkdir(exist_ok=True)
    raw = {
        "runs": [run.result for run in runs],
        "tuning": [
            {"arm": run.arm, "seed": run.seed, "final_success": round(run.final_success, 4), **_tried(experiment, run)}
            for run in experiment.tuning_runs()
        ],
    }
    (folder / f"{experiment.name}.json").write_text(json.dumps(raw, separators=(",", ":")) + "\n", encoding="utf-8")
    _draw(runs, folder / f"{experiment.name}.svg")
    page = DOCS / "paper.md"
    begin, end = f"<!-- begin {experiment.name} -->\n", f"<!-- end {experiment.name} -->"
    text = page.read_text(encoding="utf-8")
    if begin not in text:
        raise SystemExit(f"{page} has no line {begin.strip()!r}, so there is no place for the table")
    body = _table(experiment, runs)
    page.write_text(
        re.sub(f"{re.escape(begin)}.*?{re.escape(end)}", lambda _: f"{begin}{body}{end}", text, flags=re.DOTALL),
        encoding="utf-8",
    )


def _tried(experiment: Experiment, run: Run) -> dict[str, Any]:
    name = experiment.entry["tuning"]["setting"]
    return {name: run.settings[name]}


def _table(experiment: Experiment, runs: Sequence[Run]) -> str:
    rows = [
        "| arm | success at first | at last | turns when won | updates to 0.9 | greedy | turns | stopped | CPU s |",
        "|---|---|---|---|---|---|---|---|---|",
    ]
    for arm in experiment.arms:
        results = [run.result or {} for run in runs if run.arm == arm]
        setting = "".join(f", {name.replace('_', ' ')} {value:g}" for name, value in experiment.tuned(arm).items())
        reached = [count for result in results if (count := _updates_to_target(result["success"])) is not None]
        way = f"{np.median(reached):.0f} ({len(reached)} of {len(results)})" if reached else f"none of {len(results)}"
        cells = [
            f"{arm}{setting}",
            _interval([_mean(result["success"][:LAST]) for result in results], share=True),
            _interval([_mean(result["success"][-LAST:]) for result in results], share=True),
            _interval([_mean(result["turns_of_won_episodes"][-LAST:]) for result in results]),
            way,
            _interval([result["greedy_success"] for result in results], share=True),
            _interval([_mean([result["greedy_turns_of_won_episodes"]]) for result in results]),
            str(sum(result["stopped"] is not None for result in results)),
            f"{sum(result['cpu_seconds'] for result in results):.0f}",
        ]
        rows.append(f"| {' | '.join(cells)} |")
    return "\n".join(rows) + "\n"


def _updates_to_target(success: Sequence[float | None]) -> int | None:
    """Return the first update whose mean over the last ones reaches the target."""
    for update in range(LAST, len(success) + 1):
        if _mean(success[update - LAST : update]) >= TARGET:
            return update
    return None


def _mean(values: Sequence[float | None]) -> float:
    known = [value for value in values if value is not None]
    return float(np.mean(known)) if known else float("nan")


def _interval(values: Sequence[float], share: bool = False) -> str:
    """Return the mean over seeds with its 95 % interval (Student's t)."""
    known = np.array([value for value in values if np.isfinite(value)])
    if not known.size:
        return "–"
    if known.size == 1 or np.ptp(known) == 0:
        return f"{known.mean():.2f}"
    low, high = (float(bound) for bound in mean_bounds(known))
    if share:
        low, high = max(0.0, low), min(1.0, high)
    return f"{known.mean():.2f} ({low:.2f} … {high:.2f})"


def _draw(runs: Sequence[Run], path: Path) -> None:
    """Draw the curves of all runs: a seed a thin line, the mean of an arm a thick one."""
    import matplotlib as mpl

    mpl.use("svg")
    mpl.rcParams["svg.hashsalt"] = "gem"  # the same runs give the same file
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(2, 2, figsize=(10, 7), layout="constrained")
    arms = list(dict.fromkeys(run.arm for run in runs))
    for axis, (name, title) in zip(axes.flat, PANELS.items(), strict=True):
        for number, arm in enumerate(arms):
            curves = [_padded((run.result or {})[name], runs) for run in runs if run.arm == arm]
            for curve in curves:
                axis.plot(curve, color=f"C{number}", linewidth=0.5, alpha=0.4)
            axis.plot(_means(curves, np.nanmean), color=f"C{number}", linewidth=2, label=arm)
        axis.set_title(title)
        axis.set_xlabel("update")
    axes.flat[0].legend()
    figure.savefig(path, metadata={"Date": None})
    pyplot.close(figure)


def _padded(values: Sequence[float | None], runs: Sequence[Run]) -> np.ndarray[Any, Any]:
    """Return a curve as long as the longest one; a run that was stopped has no figures afterwards."""
    length = max(len((run.result or {})["success"]) for run in runs)
    return np.array([*(np.nan if value is None else value for value in values), *[np.nan] * (length - len(values))])


def _means(curves: Sequence[Any], mean: Callable[..., Any]) -> Any:
    stacked = np.stack(curves)
    counted = np.isfinite(stacked).any(axis=0)
    result = np.full(stacked.shape[1], np.nan)
    result[counted] = mean(stacked[:, counted], axis=0)
    return result
