"""``gem terminal base``."""

from __future__ import annotations

import tempfile
import time
from pathlib import Path

import click

from gem_cli.output import json_option, print_json
from gem_terminal.cli.options import engine_option
from gem_terminal.engines.base import Progress

__all__ = ["base_command"]


@click.command("base")
@click.argument("name")
@click.option(
    "--from",
    "archive",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    metavar="ARCHIVE",
    help="A tar archive of a root file system, or of an image from docker save or an OCI tool.",
)
@click.option("--suite", help="The suite of Debian to build with debootstrap.  [default: the suite in NAME]")
@click.option("--mirror", metavar="URL", help="The mirror of debootstrap.  [default: Debian's own]")
@engine_option
@json_option
def base_command(
    name: str, archive: Path | None, suite: str | None, mirror: str | None, engine_name: str, as_json: bool
) -> None:
    """Add a base image under NAME on a machine without a registry.

    NAME is the name after FROM in the Dockerfiles of tasks. An existing image stays unchanged. debootstrap needs root
    and a mirror of Debian.

    \b
    Examples:
      docker save debian:bookworm-slim > debian.tar         on a machine with the image
      gem terminal base debian:bookworm-slim --from debian.tar
      gem terminal base debian:bookworm-slim                built from Debian's packages
    """
    from gem_terminal.engines import engine_by_name
    from gem_terminal.engines.debian import debian_suite
    from gem_terminal.episodes.progress import showing

    if archive is not None and (suite is not None or mirror is not None):
        raise click.UsageError("pass either an archive, or a suite and its mirror")
    suite = suite or debian_suite(name)
    if archive is None and suite is None:
        raise click.UsageError(f"say where {name} comes from: --from ARCHIVE, or --suite with one of Debian's suites")
    engine = engine_by_name(engine_name)
    begin = time.monotonic()
    made = not engine.has_base(name)
    if made:
        with showing(f"base image {name}") as tell:
            if archive is not None:
                engine.add_base(name, archive, tell)
            else:
                with tempfile.TemporaryDirectory(prefix="gem-terminal-", dir=_roomy()) as scratch:
                    engine.add_base(name, _debian(str(suite), mirror, Path(scratch), tell), tell)
    seconds = time.monotonic() - begin
    if as_json:
        print_json({"name": name, "engine": engine.name, "made": made, "seconds": round(seconds, 3)})
    elif made:
        click.echo(f"The {engine.name} engine knows {name} now; that took {seconds:.0f} s.")
    else:
        click.echo(f"The {engine.name} engine knows {name} already; nothing was changed.")


def _debian(suite: str, mirror: str | None, scratch: Path, tell: Progress) -> Path:
    from gem_terminal.engines.debian import bootstrap, pack

    bootstrap(suite, scratch / "root", tell, mirror)
    return pack(scratch / "root", scratch / "root.tar", tell)


def _roomy() -> Path:
    """Return a folder on a disk; a temporary folder may be in memory, which a whole Debian would fill."""
    from gem_terminal.engines.contexts import cache_folder

    cache_folder().mkdir(parents=True, exist_ok=True)
    return cache_folder()
