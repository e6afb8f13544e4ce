"""The commands that change a package of a hub over HTTP: yank, unyank, deprecate, quarantine, owner and report."""

from __future__ import annotations

import click

from gem_hub_client.cli.by_address import CommandByAddress
from gem_hub_client.cli.output import json_option, print_json
from gem_hub_client.cli.registry_options import done, logged_in, name_argument, package_path, registry_option
from gem_hub_client.registry.client import RegistryClient
from gem_hub_client.sanitize import sanitize

__all__ = [
    "deprecate_command",
    "owner_command",
    "quarantine_command",
    "report_command",
    "unyank_command",
    "yank_command",
]


@click.command("yank")
@name_argument
@click.argument("version")
@click.option("--reason", required=True, help="One line that installers and audits show.")
@registry_option
@json_option
def _yank(name: str, version: str, reason: str, hub: str, as_json: bool) -> None:
    """Keep installers from choosing a release; a user who asks for exactly that version still gets it.

    \b
    Examples:
      gem hub yank my-envs 0.2.0 --reason "rewards were doubled" --hub https://hub.example/
      gem hub yank my-envs 0.2.0 --reason "rewards were doubled" --hub /srv/hub
    """
    answer = logged_in(hub).send("PUT", package_path(name, version, "yank"), {"reason": reason})
    done(f"Yanked {name} {version}.", answer, as_json)


@click.command("unyank")
@name_argument
@click.argument("version")
@registry_option
@json_option
def _unyank(name: str, version: str, hub: str, as_json: bool) -> None:
    """Offer a yanked release again.

    \b
    Examples:
      gem hub unyank my-envs 0.2.0 --hub https://hub.example/
    """
    answer = logged_in(hub).send("DELETE", package_path(name, version, "yank"))
    done(f"{name} {version} is offered again.", answer, as_json)


@click.command("deprecate")
@name_argument
@click.option("--reason", help="What to use instead; one line that search and pages show.")
@click.option("--lift", is_flag=True, help="End the deprecation.")
@registry_option
@json_option
def _deprecate(name: str, reason: str | None, lift: bool, hub: str, as_json: bool) -> None:
    """Mark a package as deprecated: it still works, but users should switch to another one.

    \b
    Examples:
      gem hub deprecate my-envs --reason "my-newer-envs has all of it" --hub https://hub.example/
      gem hub deprecate my-envs --lift --hub /srv/hub
    """
    if lift == (reason is not None):
        raise click.UsageError("give either --reason TEXT or --lift")
    path = package_path(name, "deprecation")
    if lift:
        done(f"{name} is no longer deprecated.", logged_in(hub).send("DELETE", path), as_json)
    else:
        done(f"Deprecated {name}.", logged_in(hub).send("PUT", path, {"reason": reason}), as_json)


@click.command("quarantine")
@name_argument
@click.option("--reason", required=True, help="One line that audits and pages show, or why the quarantine ends.")
@click.option("--lift", is_flag=True, help="End the quarantine.")
@registry_option
@json_option
def _quarantine(name: str, reason: str, lift: bool, hub: str, as_json: bool) -> None:
    """Stop offering all files of a package that may be unsafe; for operators of the hub.

    'gem hub audit' then reports it wherever it is installed.

    \b
    Examples:
      gem hub quarantine my-envs --reason "reads credentials at import" --hub https://hub.example/
      gem hub quarantine my-envs --lift --reason "a false alarm" --hub /srv/hub
    """
    method, text = ("DELETE", f"{name} is offered again.") if lift else ("PUT", f"Quarantined {name}.")
    done(text, logged_in(hub).send(method, package_path(name, "quarantine"), {"reason": reason}), as_json)


@click.group("owner")
def _owner() -> None:
    """Manage the owners, who may publish a package.

    \b
    Examples:
      gem hub owner list my-envs --hub https://hub.example/
      gem hub owner add my-envs bob --hub https://hub.example/
      gem hub owner remove my-envs alice --hub /srv/hub
    """


@_owner.command("list")
@name_argument
@registry_option
@json_option
def _list(name: str, hub: str, as_json: bool) -> None:
    """List the accounts that may publish a package, one per line."""
    owners = [str(owner) for owner in RegistryClient(hub).get(package_path(name))["owners"]]
    if as_json:
        print_json(owners)
    else:
        click.echo("\n".join(map(sanitize, owners)))


@_owner.command("add")
@name_argument
@click.argument("owner")
@registry_option
@json_option
def _add(name: str, owner: str, hub: str, as_json: bool) -> None:
    """Allow an account to publish a package."""
    answer = logged_in(hub).send("PUT", package_path(name, "owners", owner))
    done(f"{owner} may publish {name}.", answer, as_json)


@_owner.command("remove")
@name_argument
@click.argument("owner")
@registry_option
@json_option
def _remove(name: str, owner: str, hub: str, as_json: bool) -> None:
    """Remove an account's right to publish a package; one owner must remain."""
    answer = logged_in(hub).send("DELETE", package_path(name, "owners", owner))
    done(f"{owner} may no longer publish {name}.", answer, as_json)


@click.command("report")
@name_argument
@click.option(
    "--kind",
    type=click.Choice(["malware", "spam", "dependency-confusion", "other"]),
    default="other",
    show_default=True,
    help="What is wrong.",
)
@click.option("--summary", required=True, help="What the package does, and how you know.")
@click.option("--link", metavar="URL", help="The place in its code; needed for malware.")
@registry_option
@json_option
def report_command(name: str, kind: str, summary: str, link: str | None, hub: str, as_json: bool) -> None:
    """Report a package to the operators of a hub.

    \b
    Examples:
      gem hub report bad-envs --kind malware --summary "sends ~/.ssh away" --link https://…/bad_envs/__init__.py#L7
    """
    body = {"kind": kind, "summary": summary, **({"link": link} if link else {})}
    answer = logged_in(hub).send("POST", package_path(name, "reports"), body)
    done(f"Reported {name} to the operators of {hub}.", answer, as_json)


yank_command = CommandByAddress("yank", _yank, "gem_hub.cli.yank:yank_command")
unyank_command = CommandByAddress("unyank", _unyank, "gem_hub.cli.unyank:unyank_command")
deprecate_command = CommandByAddress("deprecate", _deprecate, "gem_hub.cli.deprecate:deprecate_command")
quarantine_command = CommandByAddress("quarantine", _quarantine, "gem_hub.cli.quarantine:quarantine_command")
owner_command = CommandByAddress("owner", _owner, "gem_hub.cli.owner:owner_command")
