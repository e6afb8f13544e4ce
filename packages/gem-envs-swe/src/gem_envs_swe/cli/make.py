"""``gem swe make``."""

from __future__ import annotations

import signal
import sys
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import click

from gem_cli.output import json_option, print_json
from gem_envs_swe.row import KINDS
from gem_terminal.cli.options import engine_option

__all__ = ["make_command"]


@click.command("make")
@click.argument("package")
@click.option("--tasks", type=click.IntRange(1), default=20, show_default=True, help="How many tasks to make.")
@click.option("--seed", type=click.IntRange(0), default=0, show_default=True, help="Chooses changes and wording.")
@click.option(
    "--out",
    type=click.Path(path_type=Path),
    required=True,
    metavar="DIR",
    help="A new folder for the set, or an unfinished one.",
)
@click.option(
    "--kinds", help=f"Which kinds, separated by commas, of: {', '.join(KINDS)}.  [default: all that it can make]"
)
@click.option(
    "--whole", is_flag=True, help="Prove each task on every test, not on those that run the change and a sample."
)
@click.option(
    "--suite-seconds", type=click.FloatRange(1), default=600.0, show_default=True,
    help="The time limit of a run of all of the package's tests.",
)  # fmt: skip
@click.option(
    "--seconds", type=click.FloatRange(0, min_open=True),
    help="Begin no proof this long after the first one; the set has what is proved, and the same command goes on.",
)  # fmt: skip
@engine_option
@json_option
def make_command(
    package: str, tasks: int, seed: int, out: Path, kinds: str | None, whole: bool, suite_seconds: float,
    seconds: float | None, engine_name: str, as_json: bool,
) -> None:  # fmt: skip
    """Make proved tasks from PACKAGE: a requirement such as more-itertools==10.8.0, or a source archive (.tar.gz).

    The archive comes from the index of your pip. Its code runs in containers alone, without a network.
    npm:minimist@1.2.8 is a package of npm whose tests are run by tape; its tasks are bugs.

    What is proved is written at once. After ctrl-C, SIGTERM, a kill or the end of --seconds, the same
    command goes on; --tasks may be another. A set of npm begins anew.

    \b
    Examples:
      gem swe make more-itertools==10.8.0 --tasks 200 --out tasks-of-more-itertools
      gem swe make ./my-package-1.0.tar.gz --kinds bug,feature --out my-tasks
      gem swe make npm:minimist@1.2.8 --tasks 10 --out tasks-of-minimist
    """
    from gem_envs_swe.languages.node import make_node_set
    from gem_envs_swe.languages.npm import check_npm_name
    from gem_envs_swe.making.archives import wanted_source
    from gem_envs_swe.making.kinds import MAKERS
    from gem_envs_swe.making.proof_journal import is_unfinished
    from gem_envs_swe.making.set_maker import MakingOptions, make_set
    from gem_terminal.engines import engine_by_name
    from gem_terminal.episodes.progress import showing

    chosen = tuple(dict.fromkeys(each.strip() for each in kinds.split(","))) if kinds is not None else tuple(MAKERS)
    if unknown := [each for each in chosen if each not in MAKERS]:
        raise click.BadParameter(
            f"there is no kind {unknown[0]!r}; there are {', '.join(MAKERS)}", param_hint="--kinds"
        )
    of_npm = package.startswith("npm:")
    if of_npm and seconds is not None:
        raise click.BadParameter("a set of npm cannot go on later", param_hint="--seconds")
    if of_npm and kinds is not None and chosen != ("bug",):
        raise click.BadParameter("tasks of packages of npm are bugs", param_hint="--kinds")
    options = MakingOptions(
        tasks=tasks, seed=seed, kinds=chosen, whole=whole, suite_seconds=suite_seconds, seconds=seconds
    )
    # A name that means nothing is wrong on every machine, also on one without an engine.
    check_npm_name(package[len("npm:") :]) if of_npm else wanted_source(package)
    engine = engine_by_name(engine_name)
    began = time.monotonic()
    with closing(engine), _kept(out), showing(f"tasks of {package}") as tell:
        if of_npm:
            made = make_node_set(package[len("npm:") :], out, tasks, engine, seed=seed, progress=tell)
        else:
            made = make_set(package, out, options, engine, tell)
    if as_json:
        print_json({**made.model_dump(), "seconds": round(time.monotonic() - began, 3)})
        return
    kinds_made = ", ".join(f"{count} {kind}" for kind, count in made.kinds.items())
    click.echo(f"{out}: {made.tasks} proved tasks of {made.package} {made.version} ({kinds_made}).")
    if made.tasks < tasks:
        why = "The same command goes on" if is_unfinished(out) else "There are no more"
        click.echo(f"{why}: {tasks} were asked for.")
    click.echo(f"{made.tests} of its tests are stable; {len(made.left_out)} were left out.")
    if made.rejected:
        click.echo("Rejected: " + ", ".join(f"{count} because {why}" for why, count in made.rejected.items()) + ".")


@contextmanager
def _kept(folder: Path) -> Iterator[None]:
    """End in order at SIGTERM, so that containers are removed, and say whether proved tasks are kept."""
    from gem_envs_swe.making.proof_journal import is_unfinished

    before = signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))
    try:
        yield
    except (KeyboardInterrupt, SystemExit):
        if is_unfinished(folder):
            click.echo(f"What is proved is kept in {folder}; the same command goes on.", err=True)
        raise
    finally:
        signal.signal(signal.SIGTERM, before)
