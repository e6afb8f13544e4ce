"""What became of an episode: the one place that decides whether it succeeded, did not, or says nothing.

Engine, index, statistics, viewer, export, comparison and trainers' adapters take their answer from here.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Literal

from gem.faults import is_fault

__all__ = [
    "OUTCOMES",
    "Outcome",
    "bounds_text",
    "count_outcomes",
    "counted_text",
    "cut_by_environment",
    "episode_outcome",
    "settled_outcomes",
    "success_bounds",
    "success_of",
    "success_text",
    "unknown_outcomes",
]

Outcome = Literal["succeeded", "unsuccessful", "incomplete", "unknown", "untold"]

OUTCOMES: Mapping[Outcome, str] = {
    "succeeded": "the task was achieved",
    "unsuccessful": "the task was not achieved",
    "incomplete": "the agent did not bring the episode to an end: a limit of turns, tokens, context or seconds, or a "
    "failure of its own",
    "unknown": "environment, endpoint, grader or simulated user failed, which says nothing of the agent",
    "untold": "the environment ended the episode and does not say whether the task was achieved",
}
"""Outcome → what it means. The second and the third count as no success; the fourth counts nowhere."""


def cut_by_environment(truncated: bool, stop_reason: str | None) -> bool:
    """Return whether the environment truncated the episode, and not a limit of the run, which sets the flag too."""
    return bool(truncated) and stop_reason in (None, "terminated", "truncated")


def episode_outcome(failure: str | None, terminated: bool, truncated: bool, info: Mapping[str, Any]) -> Outcome:
    """Return what became of an episode.

    Args:
        failure: the source of the failure that ended it; None if none did.
        terminated: of the last turn; False without one.
        truncated: whether the environment truncated the last turn (:func:`cut_by_environment`), or failed to begin.
        info: of the last turn; of the reset without one.
    """
    if failure not in (None, "agent") or info.get("user_fault") or info.get("grader_fault"):
        return "unknown"
    if failure is None and is_fault(terminated, truncated, info):
        return "unknown"
    verdict = info.get("success", info.get("correct"))
    if failure is None and verdict is not None:
        return "succeeded" if verdict else "unsuccessful"
    return "untold" if failure is None and (terminated or truncated) else "incomplete"


def settled_outcomes(outcomes: Iterable[tuple[Outcome, str | None]]) -> list[Outcome]:
    """Return the outcomes of episodes of one environment, settled by what their siblings say.

    Where another episode tells its success, one that the environment cut off without a word did not succeed, and one
    that it ended without a word is unknown. Where none does, the environment knows no success, and a limit of the run
    says nothing about it either.

    Args:
        outcomes: of each episode, with its stop reason.
    """
    found = list(outcomes)
    words = {outcome for outcome, _ in found}
    if "untold" not in words:
        return [outcome for outcome, _ in found]
    if words & {"succeeded", "unsuccessful"}:
        return [
            outcome if outcome != "untold" else "incomplete" if reason == "truncated" else "unknown"
            for outcome, reason in found
        ]
    return ["untold" if outcome == "incomplete" else outcome for outcome, _ in found]


def count_outcomes(outcomes: Mapping[tuple[Outcome, str | None], int]) -> tuple[int, int, int]:
    """Return how many episodes of one environment succeeded, how many outcomes are known, and how many unknown.

    Args:
        outcomes: outcome and stop reason → episodes.
    """
    solved = judged = unknown = 0
    for outcome, count in zip(settled_outcomes(outcomes), outcomes.values(), strict=True):
        success = success_of(outcome)
        solved += count * bool(success)
        judged += count * (success is not None)
        unknown += count * (outcome == "unknown")
    return solved, judged, unknown


def success_bounds(solved: int, judged: int, unknown: int) -> tuple[float, float] | None:
    """Return the share of successes if no unknown episode were one, and if each were; None where none is unknown.

    Args:
        solved: episodes that succeeded.
        judged: episodes whose outcome is known.
        unknown: episodes whose outcome is unknown.
    """
    total = judged + unknown
    return (solved / total, (solved + unknown) / total) if judged and unknown else None


def counted_text(solved: int, judged: int, unknown: int, bounds: tuple[float, float] | None = None) -> str:
    """Return the counts behind a share of successes, and its bounds where the outcome of episodes is unknown.

    ``13 of 39``, ``13 of 39 + 1 unknown: 32.5 … 35.0 %``. Whatever prints a share takes its counts from here.

    Args:
        solved: as in :func:`success_bounds`, like the next two.
        judged: episodes whose outcome is known.
        unknown: episodes whose outcome is unknown.
        bounds: of a share that weighs its parts otherwise; those of the counts, if not given.
    """
    counts = f"{solved} of {judged}" + (f" + {unknown} unknown" if unknown else "")
    bounds = bounds or success_bounds(solved, judged, unknown)
    return counts if bounds is None else f"{counts}: {bounds_text(bounds)}"


def bounds_text(bounds: tuple[float, float]) -> str:
    """Return what a share can be, whatever the unknown outcomes were: ``32.5 … 35.0 %``."""
    return f"{100 * bounds[0]:.1f} … {100 * bounds[1]:.1f} %"


def success_text(solved: int, judged: int, unknown: int) -> str:
    """Return a share of successes with :func:`counted_text`: ``33.3 %, 13 of 39``; empty where no outcome is known."""
    return f"{100 * solved / judged:.1f} %, {counted_text(solved, judged, unknown)}" if judged else ""


def unknown_outcomes(solved: int, judged: int, unknown: int, *, silent: int = 0) -> str:
    """Return a sentence without a stop on the episodes whose outcome is unknown, of which at least one is.

    Args:
        solved: as in :func:`success_bounds`, like the next two.
        judged: at least one.
        unknown: at least one.
        silent: of ``unknown``, those that the environment ended without a word.
    """
    low, high = success_bounds(solved, judged, unknown) or (0.0, 1.0)
    return (
        f"the outcome of {unknown} of {judged + unknown} episodes is unknown"
        + (f", {silent} of them since the environment ended them without a word" if silent else "")
        + f"; success lies between {100 * low:.1f} % and {100 * high:.1f} % whatever they were"
    )


def success_of(outcome: Outcome | None) -> bool | None:
    """Return whether an episode with this outcome succeeded; None if that is not known."""
    return None if outcome in (None, "unknown", "untold") else outcome == "succeeded"
