"""``gem hub org``: the organisations of a registry."""

from __future__ import annotations

from datetime import datetime, timezone
from typing import Any
from urllib.parse import quote

import click

from gem_hub_client.cli.output import json_option, print_json, show_table
from gem_hub_client.cli.registry_options import done, logged_in, registry_option
from gem_hub_client.sanitize import sanitize, sanitize_values

__all__ = ["org_command"]

role_option = click.option(
    "--role",
    type=click.Choice(["owner", "maintainer", "member"]),
    default="member",
    show_default=True,
    help="An owner may do everything, a maintainer publishes and yanks, a member reads.",
)


@click.group("org")
def org_command() -> None:
    """Manage organisations, which own packages for all of their members.

    \b
    Examples:
      gem hub org new acme-lab                    and: gem hub owner add my-envs acme-lab
      gem hub org invite acme-lab ada --role maintainer
      gem hub org join acme-lab                   what ada types
      gem hub org members acme-lab
    """


@org_command.command("new")
@click.argument("name")
@registry_option
@json_option
def new_command(name: str, hub: str, as_json: bool) -> None:
    """Make an organisation, whose first owner you are."""
    done(f"{name} is yours.", logged_in(hub).send("POST", _path(), {"name": name}), as_json)


@org_command.command("list")
@registry_option
@json_option
def list_command(hub: str, as_json: bool) -> None:
    """List your organisations, and the invitations that you can accept."""
    answer = sanitize_values(logged_in(hub).get(_path()))
    if as_json:
        print_json(answer)
        return
    rows = [[one["organisation"], one["role"], ""] for one in answer["organisations"]]
    rows += [[one["organisation"], one["role"], f"invited, until {_day(one)}"] for one in answer["invitations"]]
    show_table(["organisation", "role", ""], rows)


@org_command.command("members")
@click.argument("organisation")
@registry_option
@json_option
def members_command(organisation: str, hub: str, as_json: bool) -> None:
    """List the members of an organisation of yours, and whom it has invited."""
    answer = sanitize_values(logged_in(hub).get(_path(organisation)))
    if as_json:
        print_json(answer)
        return
    rows = [[one["account"], one["role"], ""] for one in answer["members"]]
    rows += [[one["account"], one["role"], f"invited, until {_day(one)}"] for one in answer["invitations"]]
    show_table(["account", "role", ""], rows)


@org_command.command("invite")
@click.argument("organisation")
@click.argument("account")
@role_option
@registry_option
@json_option
def invite_command(organisation: str, account: str, role: str, hub: str, as_json: bool) -> None:
    """Invite an account for 14 days, or change the role of a member."""
    answer = logged_in(hub).send("PUT", _path(organisation, "members", account), {"role": role})
    outcomes = {
        "invited": f"{account} is invited as {role}, and joins with: gem hub org join {organisation}",
        "changed": f"{account} is {role} of {organisation} now.",
    }
    done(outcomes.get(answer["outcome"], f"{account} is {role} of {organisation} already."), answer, as_json)


@org_command.command("join")
@click.argument("organisation")
@registry_option
@json_option
def join_command(organisation: str, hub: str, as_json: bool) -> None:
    """Accept an invitation."""
    answer = logged_in(hub).send("POST", _path(organisation, "membership"))
    done(f"You are {sanitize(str(answer['role']))} of {organisation} now.", answer, as_json)


@org_command.command("remove")
@click.argument("organisation")
@click.argument("account")
@registry_option
@json_option
def remove_command(organisation: str, account: str, hub: str, as_json: bool) -> None:
    """Remove a member, or withdraw an invitation; with your own account, leave or decline."""
    answer = logged_in(hub).send("DELETE", _path(organisation, "members", account))
    done(f"{account} is no member of {organisation} any more.", answer, as_json)


def _path(*parts: str) -> str:
    return "/".join(["api/v1/organisations", *(quote(part, safe="") for part in parts)])


def _day(invitation: dict[str, Any]) -> str:
    return datetime.fromtimestamp(invitation["expires"], timezone.utc).strftime("%Y-%m-%d")
