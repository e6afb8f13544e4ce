"""``gem show``."""

from __future__ import annotations

import shutil
from collections import Counter
from itertools import islice, takewhile
from pathlib import Path
from statistics import fmean
from typing import Any

import click

from gem.errors import ArgumentError, TrajectoryError
from gem_cli.output import Table, as_text, json_option, print_json, print_prose
from gem_cli.terminal_text import printable
from gem_rollout.trajectory import Trajectory, Transition, read_trajectories
from gem_rollout.trajectory.outcome import count_outcomes, success_text

__all__ = ["show_command"]

_LONG = 200
"""Characters from which on a text that was shown before is left out."""


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
        _show_all(file, turn, as_json)
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


def _show_all(file: str, turn: int | None, as_json: bool) -> None:
    first: Trajectory | None = None
    summaries = []
    for number, trajectory in enumerate(read_trajectories(file)):
        first = first or trajectory
        summaries.append(_summary(number, trajectory))
    if first is None and Path(file).stat().st_size:
        raise TrajectoryError(f"{file} holds no recorded episodes: none of its lines is a whole JSON object")
    if as_json:
        print_json(summaries)
    elif first is not None and len(summaries) == 1:
        _print_episode(first, turn)
    else:
        _print_overview(file, summaries)


def _summary(number: int, trajectory: Trajectory) -> dict[str, Any]:
    last = trajectory.transitions[-1] if trajectory.transitions else None
    failure = trajectory.failure
    return {
        "episode": number,
        "id": None if trajectory.spec is None else trajectory.spec.id,
        "seed": trajectory.seed,
        "repetition": trajectory.repetition,
        "agent": trajectory.agent,
        "turns": len(trajectory),
        "return": trajectory.episode_return,
        "terminated": bool(last and last.terminated),
        "truncated": bool(last and last.truncated),
        "success": trajectory.success,
        "outcome": trajectory.outcome,
        "stop_reason": trajectory.stop_reason,
        "failure": None if failure is None else dict(vars(failure)),
        "error": trajectory.error,
        "end": _ending(trajectory),
    }


def _print_overview(file: str, summaries: list[dict[str, Any]]) -> None:
    columns = ("episode", "environment", "seed", "agent", "turns", "return", "end")
    rows = Table(columns, right=("episode", "turns", "return"))
    for item in summaries:
        rows.add_row(
            str(item["episode"]),
            printable(str(item["id"])),
            str(item["seed"]) + (f" #{item['repetition']}" if item["repetition"] else ""),
            printable(item["agent"]),
            str(item["turns"]),
            f"{item['return']:.3f}",
            printable(item["end"]),
        )
    rows.show()
    if len({item["agent"] for item in summaries}) > 1:
        _print_agents(summaries)
    click.secho(f"gem show {file} N reads one of them", dim=True)


def _print_agents(summaries: list[dict[str, Any]]) -> None:
    """Print the figures of each agent in each environment: means without failed episodes, success where it is known."""
    columns = ("episodes", "mean return", "success", "turns", "failed")
    rows = Table(("environment", "agent", *columns), right=columns)
    groups: dict[tuple[str, str], list[dict[str, Any]]] = {}
    for item in summaries:
        groups.setdefault((str(item["id"]), item["agent"]), []).append(item)
    for (env_id, agent), items in sorted(groups.items()):
        sound = [item for item in items if item["failure"] is None and item["error"] is None]
        outcomes = Counter((item["outcome"], item["stop_reason"]) for item in items)
        rows.add_row(
            printable(env_id),
            printable(agent),
            str(len(items)),
            f"{fmean(item['return'] for item in sound):.3f}" if sound else "",
            success_text(*count_outcomes(outcomes)),
            f"{fmean(item['turns'] for item in sound):.1f}" if sound else "",
            str(len(items) - len(sound)) if len(sound) < len(items) else "",
        )
    rows.show()


def _print_episode(trajectory: Trajectory, only: int | None) -> None:
    name = "unknown environment" if trajectory.spec is None else trajectory.spec.id
    repetition = f", repetition {trajectory.repetition}" if trajectory.repetition else ""
    about = f"{name}  seed {trajectory.seed}{repetition}, agent {trajectory.agent or 'unknown'}"
    print_prose(printable(about), style="bold")
    before: Any = None
    for number, transition in enumerate(trajectory.transitions, start=1):
        observation = transition.observation
        if only is None or number == only:
            agent = "" if transition.agent is None else f" of {printable(transition.agent)}"
            _rule(f"turn {number}{agent}")
            _print_observation(observation, before if only is None else None)
            _print_turn(transition)
        before = observation
    if only is None:
        _rule("end")
        _print_observation(trajectory.final_observation, before)
        print_prose()
        ending = f"return {trajectory.episode_return:.4g} in {len(trajectory)} turns, {_ending(trajectory)}"
        print_prose(printable(ending), style="bold")
        if trajectory.error is not None:
            print_prose(f"error   {printable(trajectory.error)}", style="red")


def _rule(title: str) -> None:
    """Print a line across the terminal that begins with a title."""
    print_prose(f"─ {title} ".ljust(shutil.get_terminal_size().columns, "─"), style="dim")


def _print_turn(turn: Transition) -> None:
    print_prose()
    if turn.reasoning:
        print_prose(f"thought {printable(turn.reasoning)}", style="dim")
    print_prose("action  ", style="bold cyan", end="")
    print_prose(as_text(turn.action), style="cyan")
    for call in turn.tool_calls:
        print_prose(f"tool    {printable(str(call))}")
    colour = "green" if turn.reward > 0 else "red" if turn.reward < 0 else "dim"
    print_prose(f"reward  {turn.reward:+.4g}", style=colour)
    about = _about_the_call(turn)
    if about:
        print_prose(f"model   {printable(about)}", style="dim")
    if turn.info.get("error"):
        print_prose(f"error   {printable(str(turn.info['error']))}", style="red")


def _about_the_call(turn: Transition) -> str:
    """Return what is known of the model's call, in a few words."""
    usage = turn.usage or {}
    prompt = usage.get("prompt_tokens") if turn.prompt_token_ids is None else len(turn.prompt_token_ids)
    sampled = usage.get("completion_tokens") if turn.token_ids is None else len(turn.token_ids)
    words = [
        turn.model,
        None if turn.version is None else f"version {turn.version}",
        None if prompt is None else f"{prompt} tokens in",
        None if sampled is None else f"{sampled} out",
        turn.finish_reason,
        None if turn.act_seconds is None else f"{turn.act_seconds:.2f} s",
    ]
    return ", ".join(word for word in words if word)


def _print_observation(observation: Any, before: Any = None) -> None:
    """Print an observation, without a beginning that it has in common with the one before."""
    if isinstance(observation, str):
        if isinstance(before, str) and len(before) >= _LONG and observation.startswith(before):
            print_prose(f"… {len(before):,} characters as before", style="dim")
            observation = observation[len(before) :]
        print_prose(as_text(observation))
    elif isinstance(observation, list):
        known = before if isinstance(before, list) else []
        same = sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(known, observation, strict=False)))
        if same > 1:
            print_prose(f"… {same} messages as before", style="dim")
        for part in observation[same if same > 1 else 0 :]:
            _print_part(part)
    else:
        print_prose(as_text(observation))


def _print_part(part: Any) -> None:
    if not isinstance(part, dict):
        print_prose(as_text(part))
    elif "role" in part:  # a chat message
        print_prose(printable(f"{part['role']}:"), style="dim")
        _print_observation(part.get("content") or part.get("tool_calls"))
    else:
        print_prose(as_text([part]) if "type" in part else printable(str(part)))


def _ending(trajectory: Trajectory) -> str:
    if trajectory.failure is not None:
        return f"failed: {trajectory.failure.source} {trajectory.failure.kind}"
    if trajectory.error is not None:
        return "error"
    if not trajectory.transitions:
        return "not played"
    last = trajectory.transitions[-1]
    if trajectory.success is not None and last.terminated:
        return "success" if trajectory.success else "out of turns" if last.truncated else "failure"
    limit = trajectory.stop_reason
    if limit not in (None, "terminated", "truncated"):
        return f"limit of {limit}"
    return "terminated" if last.terminated else "truncated" if last.truncated else "unfinished"
