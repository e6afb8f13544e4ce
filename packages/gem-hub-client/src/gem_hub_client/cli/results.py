"""``gem hub results``."""

from __future__ import annotations

import base64
import gzip
from pathlib import Path
from typing import Any

import click

from gem_hub_client.cli.output import json_option, note, print_json
from gem_hub_client.cli.read_options import hub_option, offline_option
from gem_hub_client.cli.registry_options import logged_in, package_path
from gem_hub_client.config import Hub, hub_at, hubs
from gem_hub_client.errors import HubError
from gem_hub_client.names import checked_name
from gem_hub_client.optional import load_optional
from gem_hub_client.pages import VerifiedPage, find_page, verified_page
from gem_hub_client.registry.addresses import default_registry, registry_address
from gem_hub_client.results.envelope import PublisherKey
from gem_hub_client.results.listed import HubResult, read_episodes, read_results
from gem_hub_client.results.record import payload_of, result_id
from gem_hub_client.sanitize import sanitize

__all__ = ["package_and_environment", "results_command"]

_MOST_PACKED = 4 * 2**20
"""Bytes of packed episodes that a hub takes."""

_target_option = click.option(
    "--hub", "address", metavar="HUB", help="Address or folder.  [default: the first hub in use, or the only login]"
)
_by_option = click.option("--by", metavar="WHO", help="Who asks for it, in a folder.  [default: your account there]")


@click.group("results")
def results_command() -> None:
    """Publish, compare and check results: what an agent reached in an environment, signed and reproducible.

    \b
    Examples:
      gem eval game:Sudoku-v0-easy --agent reference --out runs/sudoku
      gem hub results push runs/sudoku
      gem hub results list game:Sudoku-v0-easy
      gem hub results check game:Sudoku-v0-easy
    """


@results_command.command("push")
@click.argument("run", metavar="RUN", type=click.Path(exists=True, file_okay=False))
@_target_option
@click.option(
    "--key", type=click.Path(dir_okay=False, path_type=Path), help="Your key.  [default: one is made for you]"
)
@click.option("--harness", default="", help="What ran the agent, if not the loop of gem eval itself.")
@click.option("--episodes-url", default="", metavar="URL", help="Where the recorded episodes lie, if not in the hub.")
@click.option("--no-episodes", is_flag=True, help="Publish the digests of the recorded episodes, and not these.")
@_by_option
@json_option
def _push(
    run: str,
    address: str | None,
    key: Path | None,
    harness: str,
    episodes_url: str,
    no_episodes: bool,
    by: str | None,
    as_json: bool,
) -> None:
    """Sign the results of a run, and publish them: one for each environment.

    RUN is a folder that gem eval wrote. The environment's package must be in the hub, and the run must have been made
    with the code of its wheel. The recorded episodes are published too, so that others can check them: everything that
    the agent saw and said.

    \b
    Examples:
      gem hub results push runs/sudoku
      gem hub results push runs/sudoku --hub https://hub.example/ --key ~/keys/results
      gem hub results push runs/sudoku --hub /srv/hub --episodes-url https://data.example/sudoku.jsonl
    """
    hub = _hub(address)
    publisher = _publisher(hub, by)
    folder = load_optional("gem_eval.runs:RunFolder", "gem-eval", "publishing a result")(run)
    make = load_optional("gem_eval.hub_results:results_of_run", "gem-eval", "publishing a result")
    wheel = load_optional("gem_eval.hub_results:PublishedWheel", "gem-eval", "publishing a result")
    signer = PublisherKey(key)
    told = []
    for result in make(folder, harness=harness, raw_url=episodes_url):
        name, version = result.record.package, result.record.version
        release = _release(hub, name, version)
        record = result.published(wheel(release["filename"], release["sha256"]), publisher, signer.public)
        payload = payload_of(record)
        packed = None if no_episodes or episodes_url else gzip.compress(result.raw, 9, mtime=0)
        if packed is not None and len(packed) > _MOST_PACKED:
            note(f"the recorded episodes have {len(packed):,} bytes, which are too many for a hub; name their place "
                 "with --episodes-url, or others cannot check the result")  # fmt: skip
            packed = None
        answer = _publish(hub, publisher, name, version, release["sha256"], signer.envelope(payload), packed)
        told.append({"environment": record.environment, "episodes": "hub" if packed else episodes_url, **answer})
        if not as_json:
            state = "admitted, as you own the package" if answer["state"] == "admitted" else (
                f"listed as unreviewed until an owner runs: gem hub results admit {name} {answer['id']}"
            )  # fmt: skip
            click.echo(f"{record.environment}: published {answer['id']}, {state}.")
    if as_json:
        print_json(told)
    else:
        click.secho(f"Signed with {signer.path}; keep that key, later results need it.", dim=True)


@results_command.command("list")
@click.argument("target", metavar="ID|PACKAGE")
@click.option("--harness", help="Only results of this harness.")
@click.option("--model", help="Only results whose model or agent has this in its name.")
@click.option("--reviewed", is_flag=True, help="Only results that an owner of the package has admitted.")
@hub_option
@offline_option
@json_option
def _list(
    target: str,
    harness: str | None,
    model: str | None,
    reviewed: bool,
    address: str | None,
    offline: bool,
    as_json: bool,
) -> None:
    """Compare the results on an environment, seed by seed.

    Each table holds results on one wheel and one set of seeds; the differences are to its best reviewed result.

    \b
    Examples:
      gem hub results list game:Sudoku-v0-easy
      gem hub results list gem-envs-games --model SmolLM2 --reviewed
    """
    from gem_hub_client.cli.results_table import show_results

    found, environment = package_and_environment(target, hubs(address), offline=offline)
    results = [
        one
        for one in read_results(found, environment)
        if (harness is None or one.record.harness == harness)
        and (model is None or model.lower() in one.record.label.lower())
        and (not reviewed or one.state == "admitted")
    ]
    show_results(results, as_json)


@results_command.command("check")
@click.argument("target", metavar="ID|PACKAGE")
@click.option("--result", "wanted", metavar="RESULT", help="Only this one; 'gem hub results list' shows their ids.")
@click.option(
    "--episodes", type=click.Path(exists=True, dir_okay=False, path_type=Path), help="The recorded episodes of RESULT."
)
@click.option(
    "--trust-arguments", is_flag=True, help="Play RESULT with its run's arguments, which may name code and commands."
)
@hub_option
@json_option
def _check(
    target: str,
    wanted: str | None,
    episodes: Path | None,
    trust_arguments: bool,
    address: str | None,
    as_json: bool,
) -> None:
    """Check results again: their signatures and figures, and every episode, by playing it again.

    Scripted agents (reference, random, null) are played anew; of others, the recorded actions are played again in the
    environment that is installed here, which must have the code of the result's wheel. A result whose run gave the
    environment or a wrapper arguments other than numbers is left out, unless you trust them: they may name code to load
    and commands to start. Exit code 1 if a result differs, or if nothing could be checked.

    \b
    Examples:
      gem hub results check game:Sudoku-v0-easy
      gem hub results check gem-envs-games --result 0123456789abcdef
      gem hub results check my-envs --hub /srv/hub
    """
    if episodes is not None and wanted is None:
        raise click.UsageError("--episodes are those of one result; name it with --result")
    if trust_arguments and wanted is None:
        raise click.UsageError("--trust-arguments is for one result that you have read; name it with --result")
    check = load_optional("gem_eval.hub_results:check_result", "gem-eval", "checking a result")
    found, environment = package_and_environment(target, hubs(address), offline=False)
    chosen = [
        one
        for one in read_results(found, environment)
        if one.id == wanted or (wanted is None and one.state != "withdrawn")
    ]
    if not chosen:
        raise HubError(f"{target} has no result{f' {wanted}' if wanted else ''}; see: gem hub results list {target}")
    told = []
    for one in chosen:
        if one.state == "withdrawn":
            raise HubError(f"{one.id} was withdrawn by {one.by}: {one.reason}")
        raw = episodes.read_bytes() if episodes is not None else _episodes(one)
        checked = check(one.record, raw, trust_arguments=trust_arguments)
        told.append({"id": one.id, "environment": one.record.environment, "agent": one.record.label, **vars(checked)})
        if not as_json:
            _tell(one, checked)
    if as_json:
        print_json(told)
    verdicts = {item["verdict"] for item in told}
    if "differs" in verdicts or "same" not in verdicts:
        click.get_current_context().exit(1)


@results_command.command("admit")
@click.argument("package")
@click.argument("result")
@click.option("--reason", default="looked at", show_default=True, help="One line.")
@_target_option
@_by_option
@json_option
def _admit(package: str, result: str, reason: str, address: str | None, by: str | None, as_json: bool) -> None:
    """Admit a result on a package that you own, after checking it.

    \b
    Examples:
      gem hub results check my-envs --result 0123456789abcdef
      gem hub results admit my-envs 0123456789abcdef --reason "replayed here"
    """
    _decide(address, by, package, result, "admit", reason)
    _done(f"{result} is admitted.", {"id": result, "state": "admitted"}, as_json)


@results_command.command("withdraw")
@click.argument("package")
@click.argument("result")
@click.option("--reason", required=True, help="One line that pages show.")
@_target_option
@_by_option
@json_option
def _withdraw(package: str, result: str, reason: str, address: str | None, by: str | None, as_json: bool) -> None:
    """Withdraw a result of yours, or any on a package that you own. It stays in the history, and in no table.

    \b
    Examples:
      gem hub results withdraw my-envs 0123456789abcdef --reason "the seeds were used in training"
    """
    _decide(address, by, package, result, "withdraw", reason)
    _done(f"{result} is withdrawn.", {"id": result, "state": "withdrawn"}, as_json)


def package_and_environment(target: str, chosen: tuple[Hub, ...], *, offline: bool) -> tuple[VerifiedPage, str]:
    """Return the verified page of a package or of an environment's package, and the environment's id if it is one."""
    if ":" not in target:
        return find_page(target, chosen, offline=offline), ""
    from gem_hub_client.cli.info import provider

    return find_page(provider(target, chosen, offline), chosen, offline=offline), target


def _tell(one: HubResult, checked: Any) -> None:
    colour = {"same": "green", "differs": "red"}.get(checked.verdict, "yellow")
    left = f", {checked.left_out} left out that failed by no fault of the agent" if checked.left_out else ""
    detail = f"{checked.replayed} episodes the same{left}: {checked.how}" if checked.verdict == "same" else (
        checked.difference
    )  # fmt: skip
    head = sanitize(f"{one.id} {one.record.environment} {one.record.label}")
    click.echo(f"{head}: {click.style(checked.verdict, fg=colour)}. {sanitize(detail)}")


def _episodes(one: HubResult) -> bytes | None:
    try:
        return read_episodes(one)
    except HubError as error:
        note(f"{one.id}: the recorded episodes cannot be read: {error}")
        return None


def _hub(address: str | None) -> Hub:
    if address is not None:
        return hub_at(address)
    hub = hubs()[0]
    if not hub.embedded:
        return hub
    registry = default_registry()
    if registry is None:
        raise HubError("results are published in a hub of your own or of others; name it with --hub, or: gem hub use")
    return hub_at(registry)


def _publisher(hub: Hub, by: str | None) -> str:
    """Return the account that publishes: that of the login at a registry, or of this machine."""
    if not hub.remote:
        return by or str(load_optional("gem_hub.accounts:account", "gem-hub", "changing a hub in a folder")())
    if by is not None:
        raise click.UsageError("--by is for folders; at a registry you are who your token is for")
    from gem_hub_client.registry.credentials import login_of

    place = registry_address(hub.location)
    login = login_of(place)
    if login is None:
        raise HubError(f"you are not logged in at {place}; run: gem hub login --hub {place}")
    return login.account


def _release(hub: Hub, name: str, version: str) -> dict[str, Any]:
    page = verified_page(hub, checked_name(name))
    release = None if page is None else next((one for one in page.page["releases"] if one["version"] == version), None)
    if release is None:
        raise HubError(f"{hub.name} has no {name} {version}, with which the run was made; publish that wheel first")
    return dict(release)


def _publish(
    hub: Hub, by: str, name: str, version: str, sha256: str, envelope: dict[str, Any], packed: bytes | None
) -> dict[str, Any]:
    if hub.remote:
        body = {"version": version, "sha256": sha256, "envelope": envelope}
        episodes = {} if packed is None else {"episodes": base64.b64encode(packed).decode()}
        answer = logged_in(registry_address(hub.location)).send("POST", package_path(name, "results"), body | episodes)
        return {"id": str(answer["id"]), "state": str(answer["state"])}
    publish = load_optional("gem_hub.cli.results:publish_result", "gem-hub", "changing a hub in a folder")
    state = publish(Path(hub.location), name, version, sha256, by, envelope, packed)
    return {"id": result_id(base64.b64decode(envelope["payload"])), "state": state}


def _decide(address: str | None, by: str | None, package: str, result: str, action: str, reason: str) -> None:
    hub, name = _hub(address), checked_name(package)
    publisher = _publisher(hub, by)
    if not hub.remote:
        decide = load_optional("gem_hub.cli.results:decide_on_result", "gem-hub", "changing a hub in a folder")
        decide(Path(hub.location), name, by=publisher, result=result, action=action, reason=reason)
        return
    parts = ("results", result, "admission") if action == "admit" else ("results", result)
    method = "PUT" if action == "admit" else "DELETE"
    logged_in(registry_address(hub.location)).send(method, package_path(name, *parts), {"reason": reason})


def _done(text: str, answer: dict[str, str], as_json: bool) -> None:
    if as_json:
        print_json(answer)
    else:
        click.echo(text)
