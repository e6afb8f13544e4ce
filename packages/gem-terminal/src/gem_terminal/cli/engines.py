"""``gem terminal engines``."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field

import click

from gem_cli.output import Table, json_option, print_json
from gem_terminal.engines import engine_names

__all__ = ["engines_command"]


@dataclass
class _Engine:
    name: str
    works: bool = False
    auto: bool = False
    """Whether ``engine="auto"`` chooses it."""
    version: str = ""
    bounds: dict[str, bool] = field(default_factory=dict)
    network: str = ""
    problem: str | None = None


@click.command("engines")
@json_option
def engines_command(as_json: bool) -> None:
    """Show the engines that work on this machine, and the limits that they enforce.

    The command starts no container. For an engine that does not work, it names the software to install or start.

    \b
    Examples:
      gem terminal engines
      gem terminal engines --json
    """
    found = [_looked_at(name) for name in engine_names()]
    chosen = _auto()
    for engine in found:
        engine.auto = engine.name == chosen
    if as_json:
        print_json([asdict(engine) for engine in found])
        return
    rows = Table(("engine", "works", "version", "bounds", "does not bound", "network"))
    for engine in found:
        kept = ", ".join(name for name, is_kept in engine.bounds.items() if is_kept)
        missing = ", ".join(name for name, is_kept in engine.bounds.items() if not is_kept)
        works = "no" if not engine.works else "yes, auto" if engine.auto else "yes"
        rows.add_row(engine.name, works, engine.version, kept, missing, engine.network)
    rows.show()
    for engine in found:
        if engine.problem is not None:
            click.secho(f"{engine.name}: {engine.problem}", dim=True)


def _looked_at(name: str) -> _Engine:
    from gem_terminal.engines import engine_by_name
    from gem_terminal.errors import EngineError

    try:
        about = engine_by_name(name).about()
    except EngineError as error:
        return _Engine(name, problem=str(error))
    return _Engine(name, works=True, version=about.version, bounds=dict(about.bounds), network=about.network)


def _auto() -> str | None:
    from gem_terminal.engines import engine_by_name
    from gem_terminal.errors import EngineError

    try:
        return engine_by_name("auto").name
    except EngineError:
        return None
