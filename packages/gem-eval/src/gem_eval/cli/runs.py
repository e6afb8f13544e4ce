"""``gem runs``."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click

from gem_cli.output import Table, json_option, print_json
from gem_eval.cli.figure_text import one_line

__all__ = ["runs_command", "state_of"]


@click.command("runs")
@click.argument("folder", default="runs", type=click.Path(file_okay=False))
@click.option("--live", is_flag=True, help="Only those that are being played.")
@json_option
def runs_command(folder: str, live: bool, as_json: bool) -> None:
    """List the runs of a folder: which are being played, and how far they are.

    \b
    Examples:
      gem runs
      gem runs --live
      gem runs experiments --json
    """
    if folder != "runs" and not Path(folder).is_dir():
        raise click.BadParameter(f"there is no folder {folder!r}", param_hint="FOLDER")
    found = [row for row in _rows(Path(folder)) if row["state"] in ("playing", "paused") or not live]
    if as_json:
        print_json(found)
        return
    if not found:
        click.echo(f"No {'live ' if live else ''}run in {folder}.")
        return
    table = Table(("run", "state", "done", "failed", "playing", "agent"), right=("done", "failed", "playing"))
    for row in found:
        cells = (row["run"], row["state"], f"{row['done']}/{row['total']}", row["failed"], row["playing"], row["agent"])
        table.add_row(*(one_line(str(cell)) for cell in cells))
    table.show()


def _rows(folder: Path) -> Iterator[dict[str, Any]]:
    from gem_eval.runs.errors import RunFolderError
    from gem_eval.runs.folder import RunFolder

    candidates = [folder] if (folder / "run.json").exists() else sorted(folder.glob("*/")) if folder.is_dir() else []
    for path in candidates:
        try:
            run = RunFolder(path)
            rows = run.rows()
        except (RunFolderError, OSError):
            continue  # not a run, or one of another version
        live = run.live
        total = sum(item.episodes for item in run.config.environments)
        done = sum(not row.failed for row in rows)
        yield {
            "run": str(path),
            "state": state_of(live, done, total),
            "done": done,
            "failed": sum(row.failed for row in rows),
            "total": total,
            "playing": len(live.get("running", ())) if live else 0,
            "concurrency": live.get("concurrency") if live else None,
            "agent": run.config.agent,
        }


def state_of(live: dict[str, Any] | None, done: int, total: int) -> str:
    """Return ``playing``, ``paused``, ``finished`` or ``interrupted``."""
    if live is not None:
        return "paused" if live.get("paused") else "playing"
    return "finished" if done >= total else "interrupted"
