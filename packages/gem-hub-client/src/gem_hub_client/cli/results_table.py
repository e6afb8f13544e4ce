"""Leaderboards on a terminal."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import click

from gem_hub_client.cli.output import print_json
from gem_hub_client.optional import load_optional
from gem_hub_client.results.listed import HubResult
from gem_hub_client.sanitize import sanitize, sanitize_values
from gem_hub_client.terminal_table import Table

__all__ = ["leaderboards_of", "show_results"]


def leaderboards_of(results: Iterable[HubResult]) -> list[Any]:
    """Return the tables of results, reckoned from their episodes by gem-eval (``gem_eval.hub_results.Leaderboard``).

    Raises:
        HubError: if gem-eval is not installed.
    """
    purpose = "comparing results"
    leaderboards = load_optional("gem_eval.hub_results:leaderboards", "gem-eval", purpose)
    listed = load_optional("gem_eval.hub_results:ListedResult", "gem-eval", purpose)
    boards: list[Any] = leaderboards(
        listed(one.id, one.record, one.state, one.by, one.reason, one.episodes_path) for one in results
    )
    return boards


def show_results(results: list[HubResult], as_json: bool) -> None:
    """Print leaderboards, and what was withdrawn."""
    boards = leaderboards_of(results)
    withdrawn = [one for one in results if one.state == "withdrawn"]
    if as_json:
        gone = [{"id": one.id, "environment": one.record.environment, "by": one.by, "reason": one.reason}
                for one in withdrawn]  # fmt: skip
        print_json(sanitize_values({"leaderboards": [board.to_dict() for board in boards], "withdrawn": gone}))
        return
    for number, board in enumerate(boards):
        if number:
            click.echo()
        _show(board)
    for one in withdrawn:
        reason = sanitize(f"{one.id} ({one.record.label}) was withdrawn by {one.by}: {one.reason}")
        click.secho(reason, dim=True)
    if not results:
        click.echo("No result is published for it; publish one with: gem hub results push RUN")


def _show(board: Any) -> None:
    seeds = f"seeds {board.seed} to {board.seed + board.seeds - 1}" if board.seeds > 1 else f"seed {board.seed}"
    of_each = f", {board.group} episodes of each" if board.group > 1 else ""
    place = f"wheel {board.wheel[:12]}…" if board.wheel else f"unreleased, code {board.code[:12]}…"
    right = (board.metric, "95 %", "− best", "95 % of that", "tokens", "cost", "unknown")
    table = Table(("agent", "harness", *right, "by", "state", "id"), right=right)
    table.title = sanitize(f"{board.environment} · {board.version} · {place} · {seeds}{of_each}")
    for entry in board.entries:
        table.add_row(*map(sanitize, _cells(board, entry)))
    table.show()
    if board.setting:
        click.secho(sanitize(f"with {board.setting}"), dim=True)
    bounds = [entry for entry in board.entries if entry.figures.success_bounds]
    for entry in bounds:
        low, high = entry.figures.success_bounds
        text = (
            f"{entry.record.label}: success lies between {low:.3f} and {high:.3f}, whatever the unknown episodes were"
        )
        click.secho(sanitize(text), dim=True)
    if any(entry.listed.status == "unreviewed" for entry in board.entries):
        click.secho("Unreviewed: signed by its publisher, and no owner of the package has looked at it.", fg="yellow")


def _cells(board: Any, entry: Any) -> list[str]:
    record, estimate, difference = entry.record, entry.estimate, entry.difference
    unknown = entry.figures.success_unknown + (entry.figures.failed if board.metric == "return" else 0)
    return [
        record.label,
        record.harness,
        "–" if estimate is None else f"{estimate.value:.3f}",
        _interval(estimate),
        "best" if difference is None and entry is board.entries[0] else _signed(difference),
        "" if difference is None else _interval(difference) + ("" if entry.is_apart else " (not told apart)"),
        "–" if entry.tokens is None else f"{entry.tokens:,.0f}",
        "–" if entry.cost is None else f"{entry.cost:.4g}",
        f"{unknown} of {record.planned}",
        record.publisher,
        entry.listed.status,
        entry.listed.id,
    ]


def _interval(estimate: Any) -> str:
    if estimate is None or estimate.low is None or estimate.high is None:
        return "no interval"
    return f"{estimate.low:.3f} … {estimate.high:.3f}"


def _signed(difference: Any) -> str:
    return "–" if difference is None else f"{difference.difference:+.3f}"
