"""``gem replay``."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from gem.errors import ArgumentError, TrajectoryError
from gem_cli.output import Table, json_option, print_json, print_prose
from gem_cli.progress import progress
from gem_rollout.trajectory import Trajectory, read_trajectories

if TYPE_CHECKING:
    from gem_rollout.replay import Replay

__all__ = ["replay_command"]


@click.command("replay")
@click.argument("file", type=click.Path(exists=True, dir_okay=False))
@click.argument("episodes", metavar="[EPISODE]...", type=click.IntRange(min=0), nargs=-1)
@click.option(
    "--ignore", multiple=True, metavar="FIELD", help="Do not compare this: info, info.KEY, observation, reward, …"
)
@json_option
def replay_command(file: str, episodes: tuple[int, ...], ignore: tuple[str, ...], as_json: bool) -> None:
    """Play recorded episodes again and report differences.

    Makes the environments of FILE as they were recorded, resets them with the recorded seeds, plays the recorded
    actions, and reports the first difference of each episode. Without EPISODE (counted from 0) it plays all of
    FILE. The exit code is 0 only if every episode is the same.

    \b
    Examples:
      gem replay runs/demo.jsonl
      gem replay runs/demo.jsonl 3 7
      gem replay runs/demo.jsonl --ignore info.elapsed
    """
    from gem_rollout.replay import replay_all

    chosen, broken = _select(file, episodes)
    if broken and not as_json:
        lines = "a line is" if broken == 1 else f"{broken} lines are"
        click.secho(f"Warning: {file}: {lines} no JSON, as a crash leaves behind, and left out", fg="yellow", err=True)
    outcomes: list[Replay] = []
    with progress() as bar:
        task = bar.add_task("episodes", total=len(chosen), note="")
        for outcome in replay_all(_read(file, set(chosen)), ignore=ignore):
            outcomes.append(outcome)
            bar.update(task, advance=1, note="" if outcome.result == "same" else outcome.result)
    items = [_item(number, outcome) for number, outcome in zip(chosen, outcomes, strict=True)]
    if as_json:
        print_json({"file": file, "broken_lines": broken, "episodes": items})
    else:
        _print(items)
    if any(item["result"] != "same" for item in items):
        click.get_current_context().exit(1)


def _select(file: str, episodes: tuple[int, ...]) -> tuple[list[int], int]:
    """Return the episodes to play, and how many lines of the file are broken."""
    # A first pass, so that a broken file is refused before the first episode.
    count = sum(1 for _ in read_trajectories(file))
    with Path(file).open("rb") as lines:
        broken = sum(1 for line in lines if line.strip()) - count
    if not count:
        raise TrajectoryError(f"{file} holds no trajectory; record some with: gem rollout ID --out FILE")
    for episode in episodes:
        if episode >= count:
            raise ArgumentError(f"{file} has no episode {episode}; 'gem show {file}' lists those it has")
    return sorted(set(episodes)) or list(range(count)), broken


def _read(file: str, chosen: set[int]) -> Iterator[Trajectory]:
    return (trajectory for number, trajectory in enumerate(read_trajectories(file)) if number in chosen)


def _item(number: int, outcome: Replay) -> dict[str, Any]:
    recorded = outcome.recorded
    return {
        "episode": number,
        "id": None if recorded.spec is None else recorded.spec.id,
        "seed": recorded.seed,
        "turns": len(recorded),
        "result": outcome.result,
        "difference": None if outcome.difference is None else outcome.difference.to_dict(),
        "problem": outcome.problem,
        "notes": list(outcome.notes),
    }


def _print(items: list[dict[str, Any]]) -> None:
    rows = Table(("episode", "environment", "seed", "turns", "result"), right=("episode", "turns"))
    for item in items:
        rows.add_row(str(item["episode"]), str(item["id"]), str(item["seed"]), str(item["turns"]), str(item["result"]))
    rows.show()
    for item in items:
        if item["result"] != "same":
            reason = item["problem"] or item["difference"]["message"]
            print_prose(f"episode {item['episode']}: {reason}")
    # Most notes hold for all episodes of an environment.
    for note, count in Counter(note for item in items for note in item["notes"]).items():
        which = "" if count == len(items) else f" ({count} of {len(items)} episodes)"
        print_prose(f"note: {note}{which}", style="dim")
    results = Counter(item["result"] for item in items)
    print_prose(", ".join(f"{count} {result}" for result, count in sorted(results.items(), reverse=True)), style="bold")
