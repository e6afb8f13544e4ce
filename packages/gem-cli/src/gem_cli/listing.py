"""``gem list``."""

from __future__ import annotations

import shutil
import sys
import textwrap
from collections.abc import Iterator
from itertools import groupby
from typing import Any

import click

from gem.arguments import nearest
from gem.discovery.manifest import Resolver
from gem.env_spec import EnvSpec
from gem.ids import normalized_distribution, parse_id
from gem_cli.completers import complete_namespaces, complete_packages, complete_tags
from gem_cli.output import Table, json_option, print_json
from gem_cli.terminal_text import wrapped

__all__ = ["list_command"]

_ROOM_FOR_VARIANTS = 120  # columns of a terminal
_ADDRESSES = "environments at addresses"


@click.command("list")
@click.argument("namespace", required=False, shell_complete=complete_namespaces)
@click.option(
    "--tag",
    "tags",
    multiple=True,
    help="Only environments with this tag; may be repeated.",
    shell_complete=complete_tags,
)
@click.option("--package", help="Only environments of this package.", shell_complete=complete_packages)
@click.option("--ids", is_flag=True, help="One full id a line, variants included.")
@json_option
def list_command(namespace: str | None, tags: tuple[str, ...], package: str | None, ids: bool, as_json: bool) -> None:
    """List the environments of all installed packages.

    The last lines are prefixes of ids that are addresses, such as openenv:http://localhost:8000.

    \b
    Examples:
      gem list
      gem list game --tag grid
      gem list --ids | head
    """
    from gem.discovery import resolvers
    from gem.registry import all_specs

    everything, every_resolver = all_specs(), resolvers()
    if namespace is not None:
        namespace = namespace.rstrip(":")
        known = {spec.namespace for spec in everything} | {_namespace(resolver) for resolver in every_resolver}
        _check_known("namespace", namespace, known - {""})
    if package is not None:
        package = normalized_distribution(package)
        owners = [*(spec.distribution for spec in everything), *(one.distribution for one in every_resolver)]
        _check_known("package", package, {normalized_distribution(owner) for owner in owners if owner})
    for tag in tags:
        _check_known("tag", tag, {tag for spec in everything for tag in spec.tags})
    specs = [
        spec
        for spec in everything
        if (namespace is None or spec.namespace == namespace)
        and all(tag in spec.tags for tag in tags)
        and (package is None or normalized_distribution(spec.distribution or "") == package)
    ]
    prefixes = [
        resolver
        for resolver in every_resolver
        if namespace in (None, _namespace(resolver))
        and not tags
        and package in (None, normalized_distribution(resolver.distribution or ""))
    ]
    if as_json:
        print_json([_summary(spec) for spec in specs])
    elif ids:
        click.echo("".join(f"{spec.id}\n" for spec in specs), nl=False)
    elif specs or prefixes:
        _print_tables(specs, prefixes)
    else:
        click.echo(_nothing(bool(everything)))


def _summary(spec: EnvSpec) -> dict[str, Any]:
    return {
        "id": spec.id,
        "description": spec.description,
        "tags": list(spec.tags),
        "turns": spec.turns,
        "modality": list(spec.modality),
        "requires": list(spec.requires),
        "package": spec.distribution,
        "version": spec.version,
    }


def _namespace(resolver: Resolver) -> str:
    return resolver.prefix.rstrip(":")


def _print_tables(specs: list[EnvSpec], prefixes: list[Resolver]) -> None:
    """Print a table for each package: one line an environment in a terminal, through a pager if they are many.

    A prefix that a resolver serves is a line of the last table.
    """
    by_package = sorted(specs, key=lambda spec: (spec.distribution or "", spec.version or ""))
    tables = [
        (f"{package or 'this process'} {version or ''}".rstrip(), list(owned))
        for (package, version), owned in groupby(by_package, key=lambda spec: (spec.distribution, spec.version))
    ]
    advice = "'gem info ID' describes one of them; 'gem list --ids' lists every variant, such as game:Sudoku-v0-easy"
    if sys.stdout.isatty():
        width, height = shutil.get_terminal_size()
        lines = [line for title, owned in tables for line in _lines(title, owned, width)]
        lines += _prefix_lines(prefixes, width)
        lines.append(click.style(wrapped(advice, width - 1), dim=True))
        show = click.echo_via_pager if len(lines) >= height else click.echo
        show("\n".join(lines) + "\n")
        return
    for title, owned in tables:
        rows = Table(("environment", "variants", "description", "tags"), title=title)
        for members in _by_base_id(owned):
            first = members[0]
            named = ", ".join(filter(None, map(_variant, members)))
            rows.add_row(_base_id(first), named, _described(first), ", ".join(first.tags))
        rows.show()
        click.echo(_count(owned) + "\n")
    if prefixes:
        rows = Table(("ids that begin with", "description", "package"), title=_ADDRESSES)
        for resolver in prefixes:
            rows.add_row(resolver.prefix, resolver.description, f"{resolver.distribution} {resolver.version}")
        rows.show()
        click.echo()
    click.echo(advice)


def _lines(title: str, owned: list[EnvSpec], width: int) -> Iterator[str]:
    """Yield the lines of one package. An id is never cut, so that it can be copied; a description may be."""
    environments = _by_base_id(owned)
    longest = max(len(_base_id(members[0])) for members in environments)
    yield click.style(title, bold=True)
    for members in environments:
        base, description = _base_id(members[0]), _described(members[0])
        variants = ", ".join(filter(None, map(_variant, members)))
        text = textwrap.shorten(description, max(width - longest - 4, 16), placeholder=" …")
        shown = click.style(f"  ({variants})", dim=True) if variants and width >= _ROOM_FOR_VARIANTS else ""
        yield f"  {base.ljust(longest)}  {text}{shown}"
    yield click.style(f"  {_count(owned)}", dim=True)
    yield ""


def _prefix_lines(prefixes: list[Resolver], width: int) -> Iterator[str]:
    if prefixes:
        yield click.style(_ADDRESSES, bold=True)
        longest = max(len(resolver.prefix) for resolver in prefixes) + 1
        for resolver in prefixes:
            text = textwrap.shorten(resolver.description, max(width - longest - 4, 16), placeholder=" …")
            yield f"  {(resolver.prefix + '…').ljust(longest)}  {text}"
        yield ""


def _by_base_id(owned: list[EnvSpec]) -> list[list[EnvSpec]]:
    return [list(members) for _, members in groupby(owned, key=_base_id)]


def _described(spec: EnvSpec) -> str:
    return spec.description + (f" [needs {', '.join(spec.requires)}]" if spec.requires else "")


def _count(owned: list[EnvSpec]) -> str:
    environments = len(_by_base_id(owned))
    return (
        f"{environments} environment{'s' if environments > 1 else ''}, {len(owned)} id{'s' if len(owned) > 1 else ''}"
    )


def _check_known(what: str, name: str, known: set[str]) -> None:
    from gem.discovery.official import NAMESPACES, install_line

    if name not in known:
        hint = nearest(name, known)
        if name in NAMESPACES:
            advice = " or ".join(f"'{install_line(distribution)}'" for distribution in NAMESPACES[name]) + " brings it"
        else:
            advice = f"did you mean {hint!r}?" if hint else f"installed: {', '.join(sorted(known)) or 'none'}"
        missing = "environment has" if what == "tag" else "package provides"
        raise click.UsageError(f"no installed {missing} the {what} {name!r}; {advice}")


def _base_id(spec: EnvSpec) -> str:
    # A plain name, which only gem.register takes, has no variants.
    return parse_id(spec.id)._replace(variant=None).unowned if spec.namespace else spec.id


def _variant(spec: EnvSpec) -> str:
    return (parse_id(spec.id).variant or "") if spec.namespace else ""


def _nothing(filtered: bool) -> str:
    from gem.discovery.official import NAMESPACES, install_line

    if filtered:
        return "No installed environment fits; 'gem list' without filters shows all."
    packages = sorted({name for names in NAMESPACES.values() for name in names})
    lines = "\n".join(f"  {install_line(name)}" for name in packages)
    return f"No environments are installed. They come in packages of their own:\n{lines}"
