"""``gem bench``."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING

import click

from gem_cli.completers import complete_ids
from gem_cli.output import Table, json_option, print_json

if TYPE_CHECKING:
    from gem_rollout.needs import ExpectedNeeds
    from gem_rollout.speed import VectorSpeed

__all__ = ["bench_command"]


@click.command("bench")
@click.argument("env_ids", metavar="ID...", nargs=-1, required=True, shell_complete=complete_ids)
@click.option(
    "--seconds", default=1.0, show_default=True, type=click.FloatRange(min=0.01), help="CPU seconds per figure."
)
@click.option("--seed", default=0, show_default=True, type=click.IntRange(min=0), help="Seed of the actions.")
@click.option(
    "--num-envs", type=click.IntRange(min=1), help="Also measure vector environments of that size, in every mode."
)
@click.option(
    "--needs",
    type=click.IntRange(min=1),
    multiple=True,
    help="Also measure what so many of each need: memory, CPU to begin, CPU of a step; may be repeated.",
)
@json_option
def bench_command(
    env_ids: tuple[str, ...], seconds: float, seed: int, num_envs: int | None, needs: tuple[int, ...], as_json: bool
) -> None:
    """Measure how fast environments step and reset.

    Rates are per CPU second of one core, under random actions. "relative" is steps for each round of a calibration
    loop in the same time, which can be compared between machines.

    With --num-envs, a second table has the steps for each second of wall-clock time in the vectorization modes, and
    the mode that mode="auto" chooses, with the reason.

    With --needs, another table says what so many of an environment need in one process. Up to 1024 are made, reset and
    stepped in a process of its own, fewer where they are large; beyond them needs grow in proportion.

    \b
    Example:
      gem bench game:Sudoku-v0-hard game:Sokoban-v0-hard --seconds 2
      gem bench game:Game2048-v0 --num-envs 64
      gem bench rg:chain_sum web:Shop-v0 --needs 1000 --needs 65536
    """
    from gem.registry import spec
    from gem_rollout.needs import measure_needs, needs_of
    from gem_rollout.speed import measure, measure_modes

    measured = [measure(spec(env_id), seconds, seed) for env_id in env_ids]
    modes = [] if num_envs is None else [measure_modes(spec(env_id), num_envs, seconds, seed) for env_id in env_ids]
    needed = []
    if needs:
        measurements = [measure_needs(spec(env_id), seed) for env_id in env_ids]
        needed = [(item.id, [needs_of(item, number) for number in needs]) for item in measurements]
    if as_json:
        figures = [asdict(item) for item in measured]
        for figure, (_, found) in zip(figures, needed, strict=False):
            figure["needs"] = [asdict(item) for item in found]
        for figure, vector in zip(figures, modes, strict=False):
            figure["vector"] = asdict(vector)
        print_json(figures)
        return
    numbers = ("steps per CPU s", "resets per CPU s", "make, CPU ms", "slowest reset, CPU ms", "relative")
    rows = Table(("environment", *numbers), right=numbers)
    for item in measured:
        rows.add_row(
            item.id,
            f"{item.steps_per_cpu_second:,.0f}",
            f"{item.resets_per_cpu_second:,.0f}",
            f"{item.make_cpu_seconds * 1e3:.2f}",
            f"{item.slowest_reset_cpu_seconds * 1e3:.2f}",
            f"{item.relative_steps:.3g}",
        )
    rows.show()
    if modes:
        _show_modes(modes)
    if needed:
        _show_needs(needed)


def _show_modes(measured: list[VectorSpeed]) -> None:
    names = list(measured[0].steps_per_second)
    right = tuple(f"{name}, steps per s" for name in names)
    rows = Table((f"{measured[0].num_envs} of", *right, "auto chooses", "because"), right=right)
    for item in measured:
        rates = (f"{item.steps_per_second[name]:,.0f}" for name in names)
        rows.add_row(item.id, *rates, item.chosen, item.reason)
    rows.show()


def _show_needs(needed: list[tuple[str, list[ExpectedNeeds]]]) -> None:
    numbers = ("of it", "memory, MB", "to begin, CPU s", "a step of each, CPU s", "measured over")
    rows = Table(("environment", *numbers), right=numbers)
    for env_id, found in needed:
        for item in found:
            rows.add_row(
                env_id,
                f"{item.num_envs:,}",
                f"{item.memory_bytes / 1e6:,.0f}",
                f"{item.start_cpu_seconds:,.2f}",
                f"{item.round_cpu_seconds:,.3f}",
                f"{item.measured_over:,}",
            )
    rows.show()
