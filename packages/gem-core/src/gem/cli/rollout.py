"""``gem rollout``."""

from __future__ import annotations

import math
import time
from collections.abc import Iterator
from contextlib import nullcontext
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import click

from gem.cli.output import Table, console, json_option, print_json, progress

if TYPE_CHECKING:
    from gem.trajectory import Trajectory

__all__ = ["rollout_command"]


@click.command("rollout")
@click.argument("env_ids", metavar="ID...", nargs=-1, required=True)
@click.option("--agent", type=click.Choice(["random", "reference"]), default="random", show_default=True)
@click.option("--num-envs", type=click.IntRange(min=1), default=8, show_default=True, help="Environments side by side.")
@click.option(
    "--episodes", type=click.IntRange(min=1), default=16, show_default=True, help="Episodes of each environment."
)
@click.option("--seed", type=click.IntRange(min=0), default=0, show_default=True, help="Seed of the first episode.")
@click.option("--wrappers", default="", help="Names joined by commas, from the inside out: concat_with_action,…")
@click.option("--mode", default="thread", show_default=True, help="Vectorization mode.")
@click.option("--out", type=click.Path(dir_okay=False), help="Append the episodes to this JSONL file.")
@json_option
def rollout_command(
    env_ids: tuple[str, ...],
    agent: str,
    num_envs: int,
    episodes: int,
    seed: int,
    wrappers: str,
    mode: str,
    out: str | None,
    as_json: bool,
) -> None:
    """Run an agent in batches of environments.

    Prints its results, and records the episodes with --out.

    \b
    Examples:
      gem rollout game:Sudoku-v0-easy --agent reference --episodes 32
      gem rollout game:Wordle-v0-easy game:Hangman-v0-easy --num-envs 64 --out runs/words.jsonl
    """
    from gem.ids import parse_id
    from gem.policies import make_policy
    from gem.rollout import rollout, summarize
    from gem.trajectory import TrajectoryWriter

    begin, cpu_begin = time.perf_counter(), time.process_time()
    steps = 0
    writer = nullcontext(None) if out is None else TrajectoryWriter(out)
    with writer as sink, progress() as bar:
        task = bar.add_task("episodes", total=episodes * len(env_ids), note="")

        def recorded() -> Iterator[Trajectory]:
            """Yield each episode once it is in the file, so that none has to stay in memory."""
            nonlocal steps
            for trajectory in rollout(
                env_ids,
                lambda env: make_policy(agent, env),
                num_envs=num_envs,
                episodes=episodes,
                seed=seed,
                agent=agent,
                wrappers=wrappers,
                mode=mode,
            ):
                if sink is not None:
                    sink.write(trajectory)
                steps += len(trajectory)
                bar.update(task, advance=1, note=f"return {trajectory.episode_return:.2f}")
                yield trajectory

        results = summarize(recorded())
    seconds, cpu_seconds = time.perf_counter() - begin, time.process_time() - cpu_begin
    order = {parse_id(env_id).unowned: position for position, env_id in enumerate(env_ids)}
    summaries = sorted((asdict(item) for item in results), key=lambda item: order[item["env_id"]])
    if as_json:
        report = {"agent": agent, "seed": seed, "steps": steps, "seconds": seconds, "cpu_seconds": cpu_seconds}
        print_json({**report, "out": out, "environments": [_without_nan(item) for item in summaries]})
        return
    _print_summary(summaries)
    rate = f"{steps} steps in {seconds:.2f} s: {steps / seconds:,.0f} steps per second, agent included"
    console().print(rate, style="dim")
    if out is not None:
        console().print(f"recorded in {out}; read it with: gem show {out}", style="dim", markup=False)


def _print_summary(summaries: list[dict[str, Any]]) -> None:
    columns = ("episodes", "mean return", "std error", "success", "turns", "errors")
    rows = Table(("environment", *columns), right=columns)
    for item in summaries:
        success = item["success_rate"]
        rows.add_row(
            item["env_id"],
            str(item["episodes"]),
            f"{item['mean_return']:.3f}",
            f"{item['standard_error']:.3f}",
            "" if success is None else f"{success:.1%}",
            f"{item['mean_turns']:.1f}",
            str(item["errors"]) if item["errors"] else "",
        )
    rows.show()


def _without_nan(item: dict[str, Any]) -> dict[str, Any]:
    return {k: None if isinstance(v, float) and math.isnan(v) else v for k, v in item.items()}
