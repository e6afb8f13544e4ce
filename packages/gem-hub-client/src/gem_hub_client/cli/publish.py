"""``gem hub publish`` for a hub over HTTP."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import click

from gem_hub_client.cli.by_address import CommandByAddress
from gem_hub_client.cli.output import ProgressLine, json_option, print_json
from gem_hub_client.cli.registry_options import package_path, registry_option
from gem_hub_client.config import hubs
from gem_hub_client.errors import HubError
from gem_hub_client.project_wheel import wheels_of
from gem_hub_client.registry.client import RegistryClient
from gem_hub_client.registry.credentials import login_of
from gem_hub_client.registry.uploading import LocalWheel, read_wheel, upload
from gem_hub_client.sanitize import sanitize
from gem_hub_client.sync import update

__all__ = ["publish_command"]

_PAUSE = 2.0
"""Seconds between two looks at the conformance queue."""
_PENDING = ("announced", "queued", "running")


@click.command("publish")
@click.argument("wheels", metavar="[WHEEL|PROJECT]...", nargs=-1, type=click.Path(path_type=Path))
@registry_option
@click.option("--wait", is_flag=True, help="Wait for the result of the conformance kit; exit code 1 if it is bad.")
@click.option(
    "--timeout", type=click.FloatRange(min=1), default=1800.0, show_default=True, help="Seconds that --wait may take."
)
@click.option(
    "--trusted-publishing",
    type=click.Choice(["auto", "always", "never"]),
    default="auto",
    show_default=True,
    help="Publish as a workflow on GitHub or GitLab, without a stored token.",
)
@json_option
def publish_remotely(
    wheels: tuple[Path, ...], hub: str, wait: bool, timeout: float, trusted_publishing: str, as_json: bool
) -> None:
    """Publish wheels of environment packages in a hub.

    Of a PROJECT, a folder with a pyproject.toml, the wheel is built first, into its dist. Without an argument, publish
    dist/*.whl. The hub runs its gate at once, which reads a wheel and runs nothing of it; the
    conformance kit follows, and its result appears on the page of the package. Publishing the same file again does
    nothing. With --hub DIR, the command publishes into a folder: see 'gem hub publish --hub DIR --help', with gem-hub.

    \b
    Examples:
      gem hub publish --hub https://hub.example/
      gem hub publish my-envs
      gem hub publish dist/my_envs-0.2.0-py3-none-any.whl --wait
    """
    found = [read_wheel(path) for path in _paths(wheels)]
    published: list[dict[str, Any]] = []
    with _token(hub, found, trusted_publishing) as token:
        registry = RegistryClient(hub, token)
        try:
            for wheel in found:
                answer = _uploaded(registry, wheel)
                published.append({"filename": wheel.path.name, **answer})
                if not as_json:
                    _show(published[-1])
        except HubError as error:
            if published:
                names = ", ".join(one["filename"] for one in published)
                raise HubError(f"{error} (already published: {names})") from error
            raise
    _refresh_catalogue(hub)
    if wait:
        login = login_of(hub)
        reader = RegistryClient(hub, login.token if login is not None else "")
        deadline = time.monotonic() + timeout
        for wheel, one in zip(found, published, strict=True):
            one["conformance"] = _awaited(reader, wheel, str(one.get("conformance", "")), deadline)
            if not as_json:
                click.echo(f"{wheel.name} {wheel.version}: conformance {one['conformance']}")
    if as_json:
        print_json({"hub": hub, "wheels": published})
    else:
        names = " ".join(dict.fromkeys(wheel.name for wheel in found))
        click.echo(f"Install with: GEM_HUB={hub} gem hub install {names}")
    if wait and not all(one["conformance"].startswith(("passed", "not run")) for one in published):
        raise click.exceptions.Exit(1)


publish_command = CommandByAddress("publish", publish_remotely, "gem_hub.cli.publish:publish_command")


def _paths(named: tuple[Path, ...]) -> list[Path]:
    paths = wheels_of(named) or sorted(Path("dist").glob("*.whl"))
    if not paths:
        raise click.UsageError(
            "there is no wheel in dist; build one: pip wheel --no-deps --wheel-dir dist .  (or: hatch build -t wheel)"
        )
    return paths


@contextmanager
def _token(hub: str, wheels: list[LocalWheel], trusted_publishing: str) -> Iterator[str]:
    """Yield a stored token, or one that is minted for this job and ends with it."""
    from gem_hub_client.registry.ci_identity import burn, in_ci, mint

    login = None if trusted_publishing == "always" else login_of(hub)
    if login is not None:
        RegistryClient(hub, login.token).get("api/v1/me")  # a bad token is noticed before anything is sent
        yield login.token
        return
    if trusted_publishing == "never" or (trusted_publishing == "auto" and not in_ci()):
        raise HubError(f"you are not logged in at {hub}; run: gem hub login --hub {hub} --name NAME")
    token = mint(hub, sorted({wheel.name for wheel in wheels}))
    try:
        yield token
    finally:
        burn(hub, token)


def _uploaded(registry: RegistryClient, wheel: LocalWheel) -> dict[str, Any]:
    with ProgressLine(f"uploading {wheel.path.name}") as line:
        return upload(registry, wheel, lambda length: line.advance(length, wheel.size))


def _refresh_catalogue(hub: str) -> None:
    """Load the catalogue of a hub in use anew, so that the next search on this machine finds what was published."""
    for known in hubs():
        if known.name == hub:
            with suppress(HubError):  # the wheels are published, whatever a search will find
                update(known)


def _show(answer: dict[str, Any]) -> None:
    said = {key: sanitize(str(answer.get(key, "?"))) for key in ("name", "version", "state", "conformance", "sha256")}
    click.echo(f"{said['name']} {said['version']}: {said['state']}; conformance {said['conformance']}")
    click.echo(f"  sha256 {said['sha256']}")


def _awaited(registry: RegistryClient, wheel: LocalWheel, said: str, deadline: float) -> str:
    """Wait until the kit has run on a release; return its result in words, which begin with "passed" if it is good."""
    while True:
        result = _conformance(registry.get(package_path(wheel.name)), wheel)
        queue = sanitize(str(result.get("queue", "")))
        if "holds" in result and queue not in _PENDING:
            counts = f"{result['holds']} clauses hold, {result.get('violated', 0)} violated"
            return f"{'failed' if result.get('violated') else 'passed'}: {counts}"
        if queue not in _PENDING or said.startswith("not run"):
            return sanitize(str(result.get("message") or said))
        if time.monotonic() > deadline:
            raise HubError(
                f"{wheel.name} {wheel.version}: is published, and its conformance is still {queue}; look later: "
                f"gem hub info {wheel.name}"
            )
        time.sleep(_PAUSE)


def _conformance(package: Any, wheel: LocalWheel) -> dict[str, Any]:
    releases = package.get("releases") if isinstance(package, dict) else None
    for release in releases if isinstance(releases, list) else ():
        if isinstance(release, dict) and release.get("version") == wheel.version:
            result = release.get("conformance")
            return result if isinstance(result, dict) else {}
    raise HubError(f"{wheel.name} {wheel.version}: the hub does not list it")
