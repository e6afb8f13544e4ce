"""Curves of an experiment as a small picture in SVG: :func:`draw`."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from io import StringIO
from pathlib import Path
from typing import Any

import matplotlib as mpl
import numpy as np

mpl.use("svg")
from matplotlib import pyplot

__all__ = ["draw"]

PANELS = {
    "success": "Success",
    "turns_of_won_episodes": "Turns of won episodes",
    "turns_of_an_episode": "Turns of an episode",
    "malformed": "Share of malformed actions",
    "entropy": "Entropy, nats a token",
    "within_group_spread": "Spread of returns within groups",
}


def draw(entry: Mapping[str, Any], figures: Sequence[Mapping[str, Any]], path: Path, digest: str) -> None:
    """Draw the counted runs: a thin line for each, a thick one for the mean of an arm over the runs that go on.

    Args:
        entry: of experiments.toml; ``panels`` names the curves.
        figures: of all runs.
        path: of the picture.
        digest: of the raw data, which the picture names.
    """
    names = entry.get("panels", ["success", "turns_of_won_episodes"])
    # The same figures give the same file, and text stays text.
    with mpl.rc_context({"svg.hashsalt": "gem", "svg.fonttype": "none", "font.size": 9, "path.simplify": True}):
        figure, axes = pyplot.subplots(1, len(names), figsize=(4.6 * len(names), 3.2), layout="constrained")
        for axis, name in zip(np.atleast_1d(axes), names, strict=True):
            for number, arm in enumerate(entry["arms"]):
                curves = [run[name] for run in figures if run["arm"] == arm and not run["tuning"]]
                rows = np.full((len(curves), max(map(len, curves))), np.nan)
                for row, curve in zip(rows, curves, strict=True):
                    row[: len(curve)] = [np.nan if value is None else value for value in curve]
                updates = np.arange(1, rows.shape[1] + 1)
                axis.plot(updates, rows.T, color=f"C{number}", linewidth=0.4, alpha=0.4)
                known = np.isfinite(rows).any(axis=0)
                axis.plot(
                    updates[known], np.nanmean(rows[:, known], axis=0), color=f"C{number}", linewidth=2, label=arm
                )
            axis.set_title(PANELS[name])
            axis.set_xlabel("update")
        np.atleast_1d(axes)[0].legend(fontsize=7)
        with StringIO() as drawn:
            figure.savefig(drawn, metadata={"Date": None, "Description": f"of raw data with SHA-256 {digest}"})
            text = drawn.getvalue()
        pyplot.close(figure)
    # A tenth of a point is enough for a line, and makes the file a third smaller; a path is a line of the file.
    text = re.sub(r' d="[^"]*"', lambda path: " " + " ".join(re.sub(r"(\.\d)\d+", r"\1", path[0]).split()), text)
    path.write_text(text, encoding="utf-8")
