"""``gem bench``."""

from __future__ import annotations

import time
from typing import Any

import click

from gem.cli.output import Table, json_option, print_json
from gem.env_spec import EnvSpec

__all__ = ["bench_command", "measure"]


@click.command("bench")
@click.argument("env_ids", metavar="ID...", nargs=-1, required=True)
@click.option(
    "--seconds", default=1.0, show_default=True, type=click.FloatRange(min=0.01), help="CPU seconds per figure."
)
@click.option("--seed", default=0, show_default=True, type=click.IntRange(min=0))
@json_option
def bench_command(env_ids: tuple[str, ...], seconds: float, seed: int, as_json: bool) -> None:
    """Measure how fast environments step and reset.

    Rates are per CPU second of one core, under random actions.

    \b
    Example:
      gem bench game:Sudoku-v0-hard game:Sokoban-v0-hard --seconds 2
    """
    from gem.registry import spec

    measured = [measure(spec(env_id), seconds, seed) for env_id in env_ids]
    if as_json:
        print_json(measured)
        return
    numbers = ("steps per CPU s", "resets per CPU s", "make, CPU ms", "slowest reset, CPU ms")
    rows = Table(("environment", *numbers), right=numbers)
    for item in measured:
        rows.add_row(
            item["id"],
            f"{item['steps_per_cpu_second']:,.0f}",
            f"{item['resets_per_cpu_second']:,.0f}",
            f"{item['make_cpu_seconds'] * 1e3:.2f}",
            f"{item['slowest_reset_cpu_seconds'] * 1e3:.2f}",
        )
    rows.show()


def measure(spec: EnvSpec, seconds: float, seed: int) -> dict[str, Any]:
    """Return an environment's speed, each rate over at least ``seconds`` CPU seconds.

    Actions are sampled outside the time that is counted.
    """
    from gem.registry import make

    make(spec).close()  # imports and tables are paid for once per process, so they are not counted
    begin = time.process_time()
    env = make(spec)
    make_seconds = time.process_time() - begin
    env.reset(seed=seed)
    resets, reset_seconds, slowest = 0, 0.0, 0.0
    while reset_seconds < seconds:
        begin = time.process_time()
        env.reset()
        spent = time.process_time() - begin
        resets, reset_seconds, slowest = resets + 1, reset_seconds + spent, max(slowest, spent)
    steps, step_seconds = 0, 0.0
    while step_seconds < seconds:
        env.reset()
        actions = [env.sample_random_action() for _ in range(200)]
        begin = time.process_time()
        for action in actions:
            steps += 1
            _, _, terminated, truncated, _ = env.step(action)
            if terminated or truncated:
                break
        step_seconds += time.process_time() - begin
    env.close()
    return {
        "id": spec.id,
        "steps_per_cpu_second": steps / step_seconds,
        "resets_per_cpu_second": resets / reset_seconds,
        "make_cpu_seconds": make_seconds,
        "slowest_reset_cpu_seconds": slowest,
    }
