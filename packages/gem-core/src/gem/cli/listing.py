"""``gem list``."""

from __future__ import annotations

from itertools import groupby
from typing import Any

import click

from gem.cli.output import Table, json_option, print_json
from gem.env_spec import EnvSpec
from gem.ids import normalized_distribution, parse_id

__all__ = ["list_command"]


@click.command("list")
@click.argument("namespace", required=False)
@click.option("--tag", "tags", multiple=True, help="Only environments with this tag; may be repeated.")
@click.option("--package", help="Only environments of this package.")
@click.option("--ids", is_flag=True, help="One full id a line, variants included.")
@json_option
def list_command(namespace: str | None, tags: tuple[str, ...], package: str | None, ids: bool, as_json: bool) -> None:
    """List the environments of all installed packages.

    \b
    Examples:
      gem list
      gem list game --tag grid
      gem list --ids | head
    """
    from gem.registry import all_specs

    everything = all_specs()
    specs = [
        spec
        for spec in everything
        if (namespace is None or spec.namespace == namespace.rstrip(":"))
        and all(tag in spec.tags for tag in tags)
        and (package is None or normalized_distribution(spec.distribution or "") == normalized_distribution(package))
    ]
    if as_json:
        print_json([_summary(spec) for spec in specs])
    elif ids:
        click.echo("".join(f"{spec.id}\n" for spec in specs), nl=False)
    elif specs:
        _print_tables(specs)
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


def _print_tables(specs: list[EnvSpec]) -> None:
    by_package = sorted(specs, key=lambda spec: (spec.distribution or "", spec.version or ""))
    for (package, version), owned in groupby(by_package, key=lambda spec: (spec.distribution, spec.version)):
        title = f"{package or 'this process'} {version or ''}"
        rows = Table(("environment", "variants", "description", "tags"), title=title)
        count = 0
        for base, members in groupby(owned, key=_base_id):
            variants = list(members)
            count += len(variants)
            named = [_variant(spec) for spec in variants]
            needs = f" [needs {', '.join(variants[0].requires)}]" if variants[0].requires else ""
            rows.add_row(
                base, ", ".join(filter(None, named)), variants[0].description + needs, ", ".join(variants[0].tags)
            )
        rows.show()
        click.secho(f"{len(rows.rows)} environments, {count} ids\n", dim=True)
    click.secho("'gem info ID' shows one of them; append a variant like this: game:Sudoku-v0-easy", dim=True)


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
