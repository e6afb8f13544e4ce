"""What the page shows of all its runs together: models by environments, agreement of rewards, figures."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from gem_eval.figures.drawing import drawn, to_svg
from gem_eval.figures.figure import to_csv
from gem_eval.figures.of_runs import RunRows, figures_of_runs
from gem_eval.rewards.agreement import pairwise_agreement
from gem_eval.runs import EpisodeRow, RunFolder
from gem_eval.runs.episode_row import settle
from gem_eval.runs.names import distinct_names
from gem_eval.statistics.run_summary import latest_attempts, mean_over
from gem_eval.statistics.setups import Setup, summarize_setups
from gem_eval.viewer.columns import short_text
from gem_eval.viewer.run_facts import environment_figures, mean_figures

__all__ = ["counted_rows", "figure_parts", "group_parts"]

_MOST_PAIRS = 200
"""Pairs of rewards that are sent at most."""


def counted_rows(rows: Sequence[EpisodeRow]) -> list[EpisodeRow]:
    """Return the rows that count: of each episode the last attempt, with its outcome settled."""
    return settle(latest_attempts(rows))


def group_parts(folders: Sequence[RunFolder], rows: Sequence[Sequence[EpisodeRow]]) -> dict[str, Any]:
    """Return the cells of models and agent programs by environments, the means of rows, and the agreement of rewards.

    Args:
        folders: the runs.
        rows: of each, those that count.
    """
    setups = summarize_setups([(Setup.of(folder.config), each) for folder, each in zip(folders, rows, strict=True)])
    harnesses: dict[str | None, list[Any]] = {}
    for item in setups:
        harnesses.setdefault(item.setup.harness, []).extend(item.environments)
    pairs = list(pairwise_agreement([row for each in rows for row in each]))
    return {
        "setups": [
            {
                "model": short_text(item.setup.model),
                "harness": None if item.setup.harness is None else short_text(item.setup.harness),
                "runs": list(item.runs),
                "cells": [environment_figures(cell) for cell in item.environments],
                "overall": mean_figures(mean_over(item.environments)),
            }
            for item in setups
        ],
        "harnesses": [
            {"harness": None if name is None else short_text(name), "overall": mean_figures(mean_over(cells))}
            for name, cells in harnesses.items()
        ],
        "agreement": [
            {
                "env": short_text(pair.env),
                "one": short_text(pair.one),
                "other": short_text(pair.other),
                "episodes": pair.result.labelled,
                "agreement": pair.result.agreement,
                "kappa": pair.result.kappa,
                "kappa_interval": pair.result.kappa_interval,
                "correlation": pair.result.correlation,
            }
            for pair in pairs[:_MOST_PAIRS]
        ],
    }


def figure_parts(
    folders: Sequence[RunFolder], rows: Sequence[Sequence[EpisodeRow]], envs: Sequence[str]
) -> list[dict[str, Any]]:
    """Return the figures of environments, each drawn, as SVG file and as CSV.

    Args:
        folders: the runs.
        rows: of each, those that count.
        envs: the environments.
    """
    names = distinct_names(folders)
    runs = [
        RunRows(short_text(name), each, _time(folder.config.started_at))
        for name, folder, each in zip(names, folders, rows, strict=True)
    ]
    return [
        {
            "kind": figure.kind,
            "env": short_text(figure.env),
            "title": figure.title,
            "caption": figure.caption,
            "file": figure.file_name,
            "drawn": drawn(figure),
            "svg": to_svg(figure),
            "csv": to_csv([figure]),
        }
        for figure in figures_of_runs(runs, envs)
    ]


def _time(value: Any) -> float | None:
    return float(value) if isinstance(value, int | float) and not isinstance(value, bool) else None
