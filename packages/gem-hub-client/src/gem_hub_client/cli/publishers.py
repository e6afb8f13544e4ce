"""``gem hub publishers``."""

from __future__ import annotations

from typing import Any

import click

from gem_hub_client.cli.output import json_option, print_json, show_table
from gem_hub_client.cli.registry_options import done, logged_in, name_argument, package_path, registry_option
from gem_hub_client.errors import HubError
from gem_hub_client.sanitize import sanitize

__all__ = ["publishers_command"]


@click.group("publishers")
def publishers_command() -> None:
    """Manage the trusted publishers of a package: workflows that publish it without a stored token.

    \b
    Examples:
      gem hub publishers add my-envs --github ada/my-envs --workflow ci.yml --environment hub
      gem hub publishers list my-envs
      gem hub publishers remove my-envs 3
    """


@publishers_command.command("add")
@name_argument
@click.option("--github", metavar="OWNER/NAME", help="A repository on GitHub.")
@click.option("--gitlab", metavar="GROUP/NAME", help="A project on GitLab.")
@click.option("--issuer", help="An issuer that the hub's operator has configured.  [default: github or gitlab]")
@click.option("--subject", help="The claim 'sub', for an issuer that is neither of both.")
@click.option("--claim", "claims", multiple=True, metavar="NAME=VALUE", help="A further claim, with --subject.")
@click.option("--workflow", help="File of the workflow.  [default: ci.yml, .gitlab-ci.yml]")
@click.option("--environment", help="Environment of the job.  [default: any]")
@click.option("--repository-id", help="Number of the repository or project.  [default: that of the first use]")
@click.option("--owner-id", help="Number of its owner or group.  [default: that of the first use]")
@registry_option
@json_option
def add_command(
    name: str,
    github: str | None,
    gitlab: str | None,
    issuer: str | None,
    subject: str | None,
    claims: tuple[str, ...],
    workflow: str | None,
    environment: str | None,
    repository_id: str | None,
    owner_id: str | None,
    hub: str,
    as_json: bool,
) -> None:
    """Allow a workflow to publish a package, which need not exist yet.

    The publisher is bound to the numbers of the repository and its owner, so that nobody who later gets the same name
    can publish: to those that you name, or else to those of the first job that publishes.
    """
    if sum(place is not None for place in (github, gitlab, subject)) != 1:
        raise click.UsageError("name one of --github OWNER/NAME, --gitlab GROUP/NAME or --subject TEXT")
    if subject is not None and (issuer is None or workflow or environment or repository_id or owner_id):
        raise click.UsageError("--subject takes --issuer and --claim, and nothing of GitHub and GitLab")
    if claims and subject is None:
        raise click.UsageError("--claim goes with --subject")
    body: dict[str, Any]
    if github is not None:
        ids = {"repository_id": repository_id, "repository_owner_id": owner_id}
        body = {"issuer": issuer or "github", "repository": github, "workflow": workflow or "ci.yml", **ids}
    elif gitlab is not None:
        ids = {"project_id": repository_id, "namespace_id": owner_id}
        body = {"issuer": issuer or "gitlab", "project": gitlab, "workflow": workflow or ".gitlab-ci.yml", **ids}
    else:
        body = {"issuer": issuer, "subject": subject, "claims": dict(map(_claim, claims))}
    body = {key: value for key, value in {**body, "environment": environment}.items() if value is not None}
    answer = logged_in(hub).send("POST", package_path(name, "publishers"), body)
    if not isinstance(answer, dict):
        raise HubError(f"{hub}: does not answer as a registry does")
    pending = " The package does not exist yet; its first release may come from there." if answer.get("pending") else ""
    done(f"{_described(answer)} may publish {name}.{pending}", answer, as_json)


@publishers_command.command("list")
@name_argument
@registry_option
@json_option
def list_command(name: str, hub: str, as_json: bool) -> None:
    """List the trusted publishers of a package."""
    answer = logged_in(hub).get(package_path(name, "publishers"))
    listed = answer["publishers"] if isinstance(answer, dict) else []
    if as_json:
        print_json(listed)
        return
    rows = [
        [str(one["id"]), _described(one), sanitize(str(one["added_by"])), "yes" if one["used"] else "no"]
        for one in listed
    ]
    if rows:
        show_table(["id", "publisher", "added by", "used"], rows)
    else:
        click.echo(f"{name} has no trusted publisher.")


@publishers_command.command("remove")
@name_argument
@click.argument("number", type=click.IntRange(1))
@registry_option
@json_option
def remove_command(name: str, number: int, hub: str, as_json: bool) -> None:
    """Remove a trusted publisher; the tokens that it got end at once."""
    answer = logged_in(hub).send("DELETE", package_path(name, "publishers", str(number)))
    done(f"Publisher {number} of {name} is removed.", answer, as_json)


def _claim(text: str) -> tuple[str, str]:
    name, equals, value = text.partition("=")
    if not name or not equals:
        raise click.UsageError(f"--claim takes NAME=VALUE, not {text!r}")
    return name, value


def _described(publisher: dict[str, Any]) -> str:
    place = publisher.get("repository") or publisher.get("project") or publisher.get("subject")
    parts = [f"{publisher.get('issuer')}: {place}"]
    parts += [str(publisher[key]) for key in ("workflow", "environment") if publisher.get(key)]
    return sanitize(", ".join(parts))
