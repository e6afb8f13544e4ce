"""``gem terminal export``."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from pathlib import Path

import click

from gem.errors import ArgumentError, TrajectoryError
from gem_cli.output import json_option, print_json
from gem_rollout.trajectory import Trajectory, read_trajectories

__all__ = ["export_command"]

_EPISODES = "episodes.jsonl"
"""The trajectories of a run's folder."""
_NOT_IN_A_NAME = re.compile(r"[^\w.-]+", re.ASCII)


@click.command("export")
@click.argument("runs", metavar="RUN...", nargs=-1, required=True, type=click.Path(exists=True, path_type=Path))
@click.option(
    "--to",
    "target",
    metavar="DIR",
    required=True,
    type=click.Path(file_okay=False, path_type=Path),
    help="Folder of the written files.",
)
@click.option("--atif", is_flag=True, help="Write trajectories in Harbor's format only.")
@click.option("--cast", is_flag=True, help="Write recordings for asciinema only.")
@json_option
def export_command(runs: tuple[Path, ...], target: Path, atif: bool, cast: bool, as_json: bool) -> None:
    """Write recorded episodes as ATIF trajectories and as recordings that asciinema plays.

    RUN is the folder of a run of gem eval, or a file of trajectories. Each episode becomes NAME.json (ATIF, which
    Harbor's viewer and validator read) and NAME.cast (asciicast, version 2).

    \b
    Examples:
      gem terminal export runs/ledger --to exported
      gem terminal export runs/ledger --to exported --cast
      asciinema play exported/terminal-Ledger-v0-seed0-0.cast
    """
    writers = _writers(atif or not cast, cast or not atif)
    try:
        target.mkdir(parents=True, exist_ok=True)
        names = [_write(trajectory, target, writers) for run in runs for trajectory in _episodes(run)]
    except (ArgumentError, TrajectoryError) as error:
        raise click.ClickException(str(error)) from error
    except OSError as error:
        raise click.ClickException(f"{target} cannot be written: {error.strerror or error}") from error
    if as_json:
        print_json([str(target / f"{name}.{kind}") for name in names for kind in writers])
        return
    click.echo(f"{target}: {len(names)} episode{'' if len(names) == 1 else 's'}, {' and '.join(writers)}")


def _writers(atif: bool, cast: bool) -> dict[str, Callable[[Trajectory], str]]:
    from gem_terminal.atif import atif_document
    from gem_terminal.recorded_sessions import asciicast_of

    writers: dict[str, Callable[[Trajectory], str]] = {}
    if atif:
        writers["json"] = lambda trajectory: json.dumps(atif_document(trajectory), indent=1) + "\n"
    if cast:
        writers["cast"] = asciicast_of
    return writers


def _episodes(run: Path) -> Iterator[Trajectory]:
    file = run / _EPISODES if run.is_dir() else run
    if not file.exists():
        raise ArgumentError(
            f"{run} has no {_EPISODES}; pass the folder of a run of gem eval, or a file of trajectories"
        )
    for trajectory in read_trajectories(file):
        if len(trajectory.agents) > 1:
            yield from (trajectory.for_agent(name) for name in trajectory.agents)
        else:
            yield trajectory


def _write(trajectory: Trajectory, target: Path, writers: dict[str, Callable[[Trajectory], str]]) -> str:
    key = trajectory.key
    agents = "".join(f"-{name}" for name in trajectory.agents)
    # Names of environments and agents come from other programs.
    name = _NOT_IN_A_NAME.sub("-", f"{key.env or 'episode'}-seed{key.seed}-{key.repetition}{agents}")[:120]
    found, number = name, 2
    while any((target / f"{found}.{kind}").exists() for kind in writers):
        found, number = f"{name}-{number}", number + 1
    for kind, text in writers.items():
        (target / f"{found}.{kind}").write_text(text(trajectory), encoding="utf-8")
    return found
