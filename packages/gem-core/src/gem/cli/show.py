"""``gem show``."""

from __future__ import annotations

from itertools import islice
from typing import Any

import click

from gem.cli.output import Table, as_text, console, json_option, print_json
from gem.errors import ArgumentError
from gem.trajectory import Trajectory, read_trajectories

__all__ = ["show_command"]


@click.command("show")
@click.argument("file", type=click.Path(exists=True, dir_okay=False))
@click.argument("episode", type=click.IntRange(min=0), required=False)
@click.option("--turn", type=click.IntRange(min=1), help="Only this turn, counted from 1.")
@json_option
def show_command(file: str, episode: int | None, turn: int | None, as_json: bool) -> None:
    """Read recorded episodes.

    All of FILE as a table, or EPISODE (counted from 0) turn by turn.

    \b
    Examples:
      gem show runs/demo.jsonl
      gem show runs/demo.jsonl 3
      gem show runs/demo.jsonl 3 --turn 2
    """
    if episode is None:
        trajectories = list(read_trajectories(file))
        if as_json:
            print_json([_summary(number, t) for number, t in enumerate(trajectories)])
        elif len(trajectories) == 1:
            _print_episode(trajectories[0], turn)
        else:
            _print_overview(file, trajectories)
        return
    trajectory = next(islice(read_trajectories(file), episode, None), None)
    if trajectory is None:
        raise ArgumentError(f"{file} has no episode {episode}; 'gem show {file}' lists those it has")
    if turn is not None and turn > len(trajectory):
        raise ArgumentError(f"episode {episode} has {len(trajectory)} turns, so there is no turn {turn}")
    if as_json:
        print_json(trajectory.to_dict(whole=True))
    else:
        _print_episode(trajectory, turn)


def _summary(number: int, trajectory: Trajectory) -> dict[str, Any]:
    last = trajectory.transitions[-1] if trajectory.transitions else None
    return {
        "episode": number,
        "id": None if trajectory.spec is None else trajectory.spec.id,
        "seed": trajectory.seed,
        "agent": trajectory.agent,
        "turns": len(trajectory),
        "return": trajectory.episode_return,
        "terminated": bool(last and last.terminated),
        "truncated": bool(last and last.truncated),
        "error": trajectory.error,
    }


def _print_overview(file: str, trajectories: list[Trajectory]) -> None:
    columns = ("episode", "environment", "seed", "agent", "turns", "return", "end")
    rows = Table(columns, right=("episode", "turns", "return"))
    for number, trajectory in enumerate(trajectories):
        item = _summary(number, trajectory)
        rows.add_row(
            str(number),
            str(item["id"]),
            str(item["seed"]),
            item["agent"],
            str(item["turns"]),
            f"{item['return']:.3f}",
            _ending(trajectory),
        )
    rows.show()
    click.secho(f"gem show {file} N reads one of them", dim=True)


def _print_episode(trajectory: Trajectory, only: int | None) -> None:
    out = console()
    name = "unknown environment" if trajectory.spec is None else trajectory.spec.id
    out.print(f"[bold]{name}[/bold]  seed {trajectory.seed}, agent {trajectory.agent or 'unknown'}")
    for number, transition in enumerate(trajectory.transitions, start=1):
        if only is not None and number != only:
            continue
        out.rule(f"turn {number}", style="dim", align="left")
        _print_observation(out, transition.observation)
        out.print()
        out.print("action  ", style="bold cyan", end="")
        out.print(as_text(transition.action), style="cyan", markup=False, soft_wrap=True)
        colour = "green" if transition.reward > 0 else "red" if transition.reward < 0 else "dim"
        out.print(f"reward  {transition.reward:+.4g}", style=colour)
        if transition.info.get("error"):
            out.print(f"error   {transition.info['error']}", style="red", markup=False)
    if only is None:
        out.rule("end", style="dim", align="left")
        _print_observation(out, trajectory.final_observation)
        out.print()
        out.print(
            f"return {trajectory.episode_return:.4g} in {len(trajectory)} turns, {_ending(trajectory)}", style="bold"
        )


def _print_observation(out: Any, observation: Any) -> None:
    if isinstance(observation, list):
        for part in observation:
            _print_part(out, part)
    else:
        out.print(as_text(observation), markup=False, soft_wrap=True)


def _print_part(out: Any, part: Any) -> None:
    if not isinstance(part, dict):
        out.print(as_text(part), markup=False)
    elif "role" in part:  # a chat message
        out.print(f"{part['role']}:", style="dim")
        _print_observation(out, part.get("content") or part.get("tool_calls"))
    elif part.get("type") == "text":
        out.print(part.get("text", ""), markup=False)
    else:
        out.print(f"[{part.get('type', 'part')}]", style="dim", markup=False)


def _ending(trajectory: Trajectory) -> str:
    if trajectory.error is not None:
        return "error"
    if not trajectory.transitions:
        return "not played"
    last = trajectory.transitions[-1]
    if trajectory.success is not None and last.terminated:
        return "success" if trajectory.success else "out of turns" if last.truncated else "failure"
    return "terminated" if last.terminated else "truncated" if last.truncated else "unfinished"
