"""The tables and plots of results on a package's page, from what :mod:`gem_eval.hub_results` reckons."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from gem_hub.package import WheelPackage
from gem_hub.results.state import results_of
from gem_hub_client.results.record import read_payload

if TYPE_CHECKING:
    from gem_eval.hub_results import Leaderboard

__all__ = [
    "BoardView",
    "Plot",
    "PlotLine",
    "PlotPoint",
    "ResultRow",
    "Withdrawn",
    "board_documents",
    "board_views",
    "environments_with",
]

MOST_BOARDS = 60
_MOST_ROWS = 100
_WIDTH, _HEIGHT = 560, 240
_LEFT, _RIGHT, _TOP, _BOTTOM = 46, 16, 14, 38
"""Pixels around the drawing, for the axes and their words."""
_LETTER = 7
"""Pixels of a letter of a name, at most on average: in a browser 6.1 for names of models and harnesses."""
_GAP = 8
"""Pixels between a point and its name."""


@dataclass(frozen=True)
class ResultRow:
    """A row of a table: texts, ready to be shown."""

    id: str
    agent: str
    harness: str
    is_first: bool
    """Whether it is the first row of its harness and agent."""
    score: str
    interval: str
    difference: str
    difference_interval: str
    is_apart: bool
    bounds: str
    """Success in the worst and in the best case of the unknown episodes; empty if none is unknown."""
    counts: str
    failures: str
    tokens: str
    cost: str
    publisher: str
    state: str
    by: str
    sampling: str
    episodes_path: str
    data_path: str


@dataclass(frozen=True)
class PlotPoint:
    """A result in a plot. Places are pixels."""

    label: str
    x: float
    y: float
    low: float
    """Where its interval ends below; the same as ``y`` without one. The same holds for ``high``."""
    high: float
    is_reviewed: bool

    @property
    def anchor(self) -> str:
        """The side of its name that is at the point: its start where the name has room to the right, or most there."""
        return "start" if self._letters_right >= min(len(self.label), self._letters_left) else "end"

    @property
    def name_x(self) -> float:
        """Where its name begins or ends."""
        return self.x + (_GAP if self.anchor == "start" else -_GAP)

    @property
    def name(self) -> str:
        """Its label, cut to what has room beside the point."""
        room = self._letters_right if self.anchor == "start" else self._letters_left
        return self.label if len(self.label) <= room else f"{self.label[: room - 1]}…"

    @property
    def _letters_right(self) -> int:
        return int(_WIDTH - self.x - _GAP) // _LETTER

    @property
    def _letters_left(self) -> int:
        return int(self.x - _GAP) // _LETTER


@dataclass(frozen=True)
class PlotLine:
    """The score of an agent without tokens or price, as a line across the plot."""

    label: str
    y: float


@dataclass(frozen=True)
class Plot:
    """Scores against tokens or price."""

    quantity: str
    points: list[PlotPoint]
    lines: list[PlotLine]
    x_ticks: list[tuple[float, str]]
    y_ticks: list[tuple[float, str]]
    width: int = _WIDTH
    height: int = _HEIGHT
    left: int = _LEFT
    right: int = _WIDTH - _RIGHT
    bottom: int = _HEIGHT - _BOTTOM


@dataclass(frozen=True)
class Withdrawn:
    """A result that was withdrawn."""

    id: str
    agent: str
    by: str
    reason: str


@dataclass(frozen=True)
class BoardView:
    """A table of results on one wheel, environment and set of seeds."""

    environment: str
    anchor: str
    version: str
    proof: str
    """Which code they are of, in a few words."""
    seeds: str
    setting: str
    metric: str
    rows: list[ResultRow]
    more_rows: int
    harnesses: list[str]
    agents: list[str]
    plots: list[Plot]
    has_unreviewed: bool


def board_documents(package: WheelPackage) -> dict[str, Any]:
    """Return the leaderboards of a package as JSON values, and its withdrawn results; empty without results."""
    stated = results_of(package)
    if not stated:
        return {}
    from gem_eval.hub_results import ListedResult, leaderboards  # heavy, and only results need it
    from gem_hub_client.results.envelope import payload_in

    listed = [
        ListedResult(
            one.id, read_payload(payload_in(one.event.envelope)), one.state, one.by, one.reason,
            one.entry()["episodes_path"],
        )
        for one in stated
    ]  # fmt: skip
    paths = {one.id: one.path for one in stated}
    gone = [
        {"id": one.id, "agent": one.record.label, "by": one.by, "reason": one.reason}
        for one in listed
        if one.status == "withdrawn"
    ]
    boards = [_document(board, paths) for board in leaderboards(listed)]
    return {"leaderboards": boards, "withdrawn_results": gone}


def board_views(document: Mapping[str, Any], version: str) -> tuple[list[BoardView], list[Withdrawn]]:
    """Return the tables of a page, those of its release first, and the withdrawn results.

    Args:
        document: the content of ``envs/NAME.json`` with what :func:`board_documents` adds, made readable.
        version: of the page's release.
    """
    boards = sorted(document.get("leaderboards", ()), key=lambda board: board["version"] != version)[:MOST_BOARDS]
    gone = [Withdrawn(**one) for one in document.get("withdrawn_results", ())]
    return [_view(board, number) for number, board in enumerate(boards, 1)], gone


def _document(board: Leaderboard, paths: Mapping[str, str]) -> dict[str, Any]:
    document = board.to_dict()
    order = [entry.listed.id for _, _, members in board.groups for entry in members]
    for entry in document["entries"]:
        entry["path"] = paths[entry["id"]]
        entry["place"] = order.index(entry["id"])
    return document


def _view(board: Mapping[str, Any], number: int) -> BoardView:
    entries = sorted(board["entries"], key=lambda entry: (entry["status"] != "admitted", entry["place"]))
    rows: list[ResultRow] = []
    for entry in entries[:_MOST_ROWS]:
        earlier = {(row.harness, row.agent, row.state) for row in rows}
        names = entry["harness"], entry["model"] or entry["agent"], entry["status"]
        is_best = entry is board["entries"][0]
        rows.append(_row(entry, board["metric"], is_first=names not in earlier, is_best=is_best))
    first, last = board["seed"], board["seed"] + board["seeds"] - 1
    seeds = f"seeds {first} to {last}" if board["seeds"] > 1 else f"seed {first}"
    wheel = board["wheel"]
    return BoardView(
        environment=board["environment"],
        anchor=f"results-{number}",
        version=board["version"],
        proof=f"wheel {wheel[:12]}…" if wheel else f"sources {board['code'][:12]}… before a release",
        seeds=seeds + (f", {board['group']} episodes of each" if board["group"] > 1 else ""),
        setting=board["setting"],
        metric={"success": "share of successes", "return": "mean return"}[board["metric"]],
        rows=rows,
        more_rows=max(0, len(entries) - _MOST_ROWS),
        harnesses=sorted({row.harness for row in rows}),
        agents=sorted({row.agent for row in rows}),
        plots=[plot for name in ("tokens", "cost") if (plot := _plot(entries[:_MOST_ROWS], name)) is not None],
        has_unreviewed=any(row.state == "unreviewed" for row in rows),
    )


def _row(entry: Mapping[str, Any], metric: str, *, is_first: bool, is_best: bool) -> ResultRow:
    estimate, difference, bounds = entry["estimate"], entry["difference"], entry["success_bounds"]
    unknown = entry["unknown"] if metric == "success" else entry["failed"]
    return ResultRow(
        id=entry["id"],
        agent=entry["model"] or entry["agent"],
        harness=entry["harness"],
        is_first=is_first,
        score="–" if estimate is None else _number(estimate["value"]),
        interval=_interval(estimate),
        difference="best" if is_best else "–" if difference is None else _signed(difference["difference"]),
        difference_interval="" if difference is None else _interval(difference, signed=True),
        is_apart=bool(difference and difference["significant"]),
        bounds="" if bounds is None else f"{_number(bounds[0])} to {_number(bounds[1])} whatever the unknown ones were",
        counts=f"{entry['episodes'] + entry['failed']} episodes, {unknown} unknown",
        failures=", ".join(f"{one['count']} × {one['source']} {one['kind']}" for one in entry["failures"]),
        tokens="–" if entry["tokens"] is None else f"{entry['tokens']:,.0f}",
        cost="" if entry["cost"] is None else f"{entry['cost']:.3g}",
        publisher=entry["publisher"],
        state=entry["status"],
        by=entry["by"],
        sampling=", ".join(f"{name} {value}" for name, value in entry["sampling"].items())[:200],
        episodes_path=entry["episodes_path"],
        data_path=entry["path"],
    )


def _plot(entries: Sequence[Mapping[str, Any]], quantity: str) -> Plot | None:
    """Return scores against a quantity, which has a logarithmic axis; None where no result has it.

    Reviewed results make the axes, where one of them has the quantity. What no owner has looked at is drawn at the
    edge if it lies beyond them, because a stranger's figures could push all others into one corner.
    """
    scored = [entry for entry in entries if entry["estimate"] is not None]
    measured = [entry for entry in scored if entry[quantity]]
    if not measured:
        return None
    reviewed = [entry for entry in scored if entry["status"] == "admitted"]
    values = [entry[quantity] for entry in reviewed if entry[quantity]] or [entry[quantity] for entry in measured]
    ends = [end for entry in reviewed or scored for end in _ends(entry["estimate"])]
    low, high = min([0.0, *ends]), max([1.0, *ends])
    first, last = math.floor(math.log10(min(values))), math.ceil(math.log10(max(values)))
    last = max(last, first + 1)

    def x(value: float) -> float:
        share = (math.log10(value) - first) / (last - first)
        return round(_LEFT + min(1.0, max(0.0, share)) * (_WIDTH - _LEFT - _RIGHT), 1)

    def y(value: float) -> float:
        share = (value - low) / (high - low)
        return round(_HEIGHT - _BOTTOM - min(1.0, max(0.0, share)) * (_HEIGHT - _BOTTOM - _TOP), 1)

    labels = _labels(scored)
    points, lines = [], []
    for entry in scored:
        label, (below, above) = labels[entry["id"]], _ends(entry["estimate"])
        place = y(entry["estimate"]["value"])
        if entry[quantity]:
            points.append(
                PlotPoint(label, x(entry[quantity]), place, y(below), y(above), entry["status"] == "admitted")
            )
        else:
            lines.append(PlotLine(label, place))
    step = max(1, -(-(last - first) // 6))
    return Plot(
        quantity={"tokens": "tokens of an episode", "cost": "price of an episode"}[quantity],
        points=points,
        lines=lines,
        x_ticks=[(x(10.0**power), _power(power)) for power in range(first, last + 1, step)],
        y_ticks=[(y(low + share * (high - low)), _number(low + share * (high - low))) for share in (0.0, 0.5, 1.0)],
    )


def _labels(entries: Sequence[Mapping[str, Any]]) -> dict[str, str]:
    """Return the names of results in a plot, with the harness where several results have one name."""
    names = {entry["id"]: entry["model"] or entry["agent"] for entry in entries}
    counts = Counter(names.values())
    return {
        entry["id"]: f"{name}, {entry['harness']}" if counts[name := names[entry["id"]]] > 1 else name
        for entry in entries
    }


def _ends(estimate: Mapping[str, Any]) -> tuple[float, float]:
    value = estimate["value"]
    return (
        value if estimate["low"] is None else estimate["low"],
        value if estimate["high"] is None else estimate["high"],
    )


def _power(power: int) -> str:
    return f"{10**power:,}" if power >= 0 else f"{10.0**power:.{-power}f}" if power > -5 else f"1e{power}"


def _number(value: float) -> str:
    text = f"{value:.3f}" if abs(value) < 1000 else f"{value:.4g}"
    return text.replace("-", "−")


def _signed(value: float) -> str:
    return _number(value) if value < 0 else f"+{_number(value)}"


def _interval(estimate: Mapping[str, Any] | None, *, signed: bool = False) -> str:
    if estimate is None or estimate["low"] is None or estimate["high"] is None:
        return "no interval"
    write = _signed if signed else _number
    return f"{write(estimate['low'])} … {write(estimate['high'])}"


def environments_with(boards: Iterable[BoardView]) -> dict[str, str]:
    """Return environment → anchor of its first table."""
    found: dict[str, str] = {}
    for board in boards:
        found.setdefault(board.environment, board.anchor)
    return found
