"""Uploads: the legacy protocol in front of the gate and the store.

In this order: the token and the quotas, the form as a stream, the gate, an announcement in the conformance queue, the
release, its attestations, the audit log, the confirmation in the queue, the answer. A kill at any moment leaves no
release without a line in the log and its place in the queue (:mod:`gem_hub.registry.recovery`), and what was answered
is on disk. The retry of an upload whose answer was lost is answered as one that succeeded.
"""

from __future__ import annotations

import contextlib
import json
import os
import secrets
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timezone
from functools import partial
from http import HTTPStatus
from pathlib import Path
from typing import Any

import anyio
import anyio.to_thread
from packaging.utils import canonicalize_name
from packaging.version import InvalidVersion, Version
from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse, RedirectResponse, Response
from starlette.routing import Route

from gem.ids import normalized_distribution
from gem_hub.attestations import keep
from gem_hub.errors import HubRefusal
from gem_hub.networks import network_of
from gem_hub.publishing import Attempt, Destination, examine_all, publish
from gem_hub.records import NAME, Release
from gem_hub.refusal import Refusal
from gem_hub.registry.forms import UploadForm, read_body, read_form
from gem_hub.registry.problems import Problem
from gem_hub.registry.quotas import DAY, MINUTE
from gem_hub.registry.services import RegistryServices
from gem_hub.registry.tokens import Credential
from gem_hub.registry.trusted_publishing.acting import acting_credential

__all__ = ["upload_routes"]

_STATUSES = {
    "name.owner": HTTPStatus.FORBIDDEN,
    "name.quarantined": HTTPStatus.FORBIDDEN,
    "id.namespace": HTTPStatus.CONFLICT,
    "id.taken": HTTPStatus.CONFLICT,
    "version.taken": HTTPStatus.CONFLICT,
    "file.size": HTTPStatus.REQUEST_ENTITY_TOO_LARGE,
}
"""Code of a refusal → status, the most telling first; all others are 400."""

_MOST_REASONS = 20
_DRAINED = 2**20
"""The bytes that are read after an early refusal, since most clients look for an answer only when all is sent."""
_WAITING = 256
"""The largest number of uploads that wait for the gate."""
_MOST_ATTESTATIONS = 2**20


@dataclass(frozen=True)
class _Upload:
    """An upload that was received whole."""

    services: RegistryServices
    credential: Credential
    address: str
    form: UploadForm
    file: Path


def upload_routes(services: RegistryServices) -> list[Route]:
    """Return the routes of the legacy upload protocol."""
    gate = anyio.CapacityLimiter(services.settings.simultaneous_uploads)

    async def upload(request: Request) -> Response:
        return await _receive(request, services, gate)

    async def no_listing(request: Request) -> Response:
        raise Problem(HTTPStatus.NOT_FOUND, "this address takes uploads; the index is in /simple/")

    return [
        Route("/upload", upload, methods=["POST"]),
        Route("/upload/", upload, methods=["POST"]),
        Route("/upload/{name}/{version}/", _published_page, methods=["GET"]),
        Route("/upload/{rest:path}", no_listing, methods=["GET"]),
    ]


async def _published_page(request: Request) -> Response:
    """Lead from the address that hatch prints after a publication to the page of the package."""
    name = normalized_distribution(request.path_params["name"])
    if NAME.fullmatch(name) is None:
        raise Problem(HTTPStatus.NOT_FOUND, "there is no such package")
    return RedirectResponse(f"/p/{name}/", HTTPStatus.FOUND)


async def _receive(request: Request, services: RegistryServices, gate: anyio.CapacityLimiter) -> Response:
    address = network_of(request.client.host if request.client is not None else "unknown")
    scratch = services.uploads / f"{os.getpid()}-{secrets.token_hex(8)}.upload"
    try:
        credential = await anyio.to_thread.run_sync(partial(_admit, services, request, address))
        if gate.statistics().tasks_waiting >= _WAITING:
            raise Problem(
                HTTPStatus.SERVICE_UNAVAILABLE, "too many uploads wait; try again soon", {"Retry-After": "10"}
            )
    except Problem as problem:
        await _drain(request, services)
        problem.headers["Connection"] = "close"
        raise
    try:
        form = await read_form(request, scratch, services.limits)
        upload = _Upload(services, credential, address, form, scratch)
        answer = await anyio.to_thread.run_sync(partial(_accept, upload), limiter=gate)
    finally:
        with contextlib.suppress(OSError):
            scratch.unlink()
    return JSONResponse(answer)


async def _drain(request: Request, services: RegistryServices) -> None:
    with contextlib.suppress(Problem, ClientDisconnect):
        read = 0
        async for chunk in read_body(request, services.limits.file_bytes, services.limits):
            read += len(chunk)
            if read > _DRAINED:
                return


def _admit(services: RegistryServices, request: Request, address: str) -> Credential:
    quotas = services.settings.quotas
    services.counters.spend("request", address, quotas.requests_per_minute, MINUTE, "requests a minute")
    credential = services.authenticate(request.headers.get("Authorization", ""), address)
    if "publish" not in credential.scopes:
        raise Problem(HTTPStatus.FORBIDDEN, "this token may not publish; make one with the scope 'publish'")
    who = credential.account if credential.origin == "account" else credential.origin
    services.counters.spend("upload", who, quotas.uploads_per_day, DAY, "uploads a day")
    return credential


def _accept(upload: _Upload) -> dict[str, str]:
    """Check a received upload, publish it, and return the answer."""
    label = f"{upload.form.one('name')[:100]} {upload.form.one('version')[:100]}"
    try:
        acting = acting_credential(upload.services, upload.credential, upload.form.one("name"))
        acting = _for_organisation(upload.services, acting, upload.form.one("name"))
        upload = replace(upload, credential=acting)
        answer = _publish(upload)
    except Problem as problem:
        _log(upload, "upload.refused", label, status=problem.status.value, reason=problem.detail[:1000])
        raise
    except HubRefusal as refusal:
        _log(upload, "upload.refused", label, status=409, reason=str(refusal)[:1000])
        raise
    return answer


def _for_organisation(services: RegistryServices, credential: Credential, package: str) -> Credential:
    """Return the credential of the organisation for which a member publishes a package; else the member's own.

    Args:
        services: the registry.
        credential: the uploader's.
        package: the name that the upload announces, in any spelling; the wheel is compared with it later.
    """
    known = services.store.package(canonicalize_name(package))
    if known is None:
        return credential
    owner = services.organisations.acting_for(credential.account, known.owners, "publish")
    if owner in (None, credential.account):
        return credential
    member = f"member:{credential.account}" if credential.origin == "account" else credential.origin
    return replace(credential, account=str(owner), origin=member)


def _publish(upload: _Upload) -> dict[str, str]:
    services, form, account = upload.services, upload.form, upload.credential.account
    quotas = services.settings.quotas
    _check_form(form)
    services.counters.spend("bytes", account, quotas.bytes_per_day, DAY, "uploaded bytes a day", form.size)
    if form.one("filetype") == "sdist":
        return _passed_over(upload)
    attempt, destination = _examined(upload)
    wheel = attempt.verdict.wheel
    if attempt.stage == "refused" or wheel is None:
        raise _refused(attempt.refusals)
    _check_claims(form, wheel.name, wheel.version)
    if not upload.credential.covers(wheel.name):
        raise Problem(HTTPStatus.FORBIDDEN, f"this token is for other packages than {wheel.name}; use another one")
    sha256 = attempt.verdict.sha256
    if attempt.stage != "already published":
        if services.store.package(wheel.name) is None:
            services.counters.spend("package", account, quotas.new_packages_per_day, DAY, "new packages a day")
            attempt = _published_first(upload)
        else:
            attempt = _published(upload, attempt, destination)
    if attempt.stage == "already published":
        services.store.complete()
    package = services.store.existing(wheel.name)
    may_change = account in package.owners or services.is_operator(account)
    (release,) = (release for release in package.records if release.sha256 == sha256)
    kept = may_change and _keep_attestations(upload, release)
    _log(upload, "upload", f"{wheel.name} {wheel.version}", sha256=sha256, state=attempt.stage, attestations=int(kept))
    if may_change:
        services.queue.confirm(wheel.name, wheel.version, sha256, account)
    queued = services.queue.state_of(sha256) or {"state": "not queued"}
    conformance = services.conformance_note if queued["state"] == "queued" else ""
    return {
        "name": wheel.name,
        "version": wheel.version,
        "sha256": sha256,
        "state": attempt.stage,
        "conformance": conformance or queued["state"],
    }


def _examined(upload: _Upload) -> tuple[Attempt, Destination]:
    services = upload.services
    destination = Destination(
        services.store,
        upload.credential.account,
        services.policy(),
        public_index=services.settings.public_index or services.fallback,
    )
    content = upload.file.read_bytes()
    (attempt,) = examine_all([(upload.form.filename, content, upload.file)], destination)
    return attempt, destination


def _published_first(upload: _Upload) -> Attempt:
    """Publish a wheel under a new name; new names come one at a time, so that no two of them look alike."""
    with upload.services.database.exclusive():
        attempt, destination = _examined(upload)
        if attempt.stage == "refused":
            raise _refused(attempt.refusals)
        return attempt if attempt.stage == "already published" else _published(upload, attempt, destination)


def _published(upload: _Upload, attempt: Attempt, destination: Destination) -> Attempt:
    """Publish a wheel that has passed; another upload may have changed the hub since."""
    wheel = attempt.verdict.wheel
    assert wheel is not None
    upload.services.queue.announce(wheel.name, wheel.version, attempt.verdict.sha256, upload.credential.account)
    try:
        (done,) = publish([attempt], destination, lambda _: None)
    except HubRefusal as refusal:
        upload.services.queue.withdraw(attempt.verdict.sha256)
        again, _ = _examined(upload)
        if again.stage == "already published":
            return again
        if again.stage == "refused":
            raise _refused(again.refusals) from refusal
        raise Problem(HTTPStatus.SERVICE_UNAVAILABLE, f"{refusal}; try again", {"Retry-After": "5"}) from refusal
    return done


def _check_form(form: UploadForm) -> None:
    if form.one(":action") != "file_upload":
        raise Problem(HTTPStatus.BAD_REQUEST, "the field ':action' must be 'file_upload'")
    if not form.filename:
        raise Problem(HTTPStatus.BAD_REQUEST, "the form has no file 'content'")
    if form.one("filetype") not in ("", "bdist_wheel", "sdist"):
        raise Problem(
            HTTPStatus.BAD_REQUEST,
            f"{form.filename[:100]!a} is no wheel, and to build a source would run its code; upload only *.whl",
        )
    for name, digest in form.digests.items():
        claimed = form.one(name).strip().lower()
        if claimed and claimed != digest:
            raise Problem(
                HTTPStatus.BAD_REQUEST,
                f"{name} is {claimed[:80]!a}, and the received file has {digest}; upload it again",
            )


def _passed_over(upload: _Upload) -> dict[str, str]:
    """Answer for a source archive, which clients send along with the wheel: it is not kept, and nothing is wrong."""
    name, version = upload.form.one("name")[:100], upload.form.one("version")[:100]
    _log(upload, "upload.passed-over", f"{name} {version}", file=upload.form.filename[:200])
    return {
        "name": name,
        "version": version,
        "state": "not kept",
        "detail": "a hub keeps wheels alone, since to build a source would run its code",
    }


def _check_claims(form: UploadForm, name: str, version: str) -> None:
    """Check that the form is about the wheel; the wheel's own metadata is all that counts."""
    claimed = form.one("name")
    if claimed and canonicalize_name(claimed) != name:
        raise Problem(HTTPStatus.BAD_REQUEST, f"the form is about {claimed[:80]!a}, and the wheel is of {name}")
    claimed = form.one("version")
    try:
        agrees = not claimed or Version(claimed) == Version(version)
    except InvalidVersion:
        agrees = False
    if not agrees:
        raise Problem(HTTPStatus.BAD_REQUEST, f"the form is about version {claimed[:80]!a}, and the wheel is {version}")


def _refused(refusals: Sequence[Refusal]) -> Problem:
    codes = {refusal.code for refusal in refusals}
    status = next((status for code, status in _STATUSES.items() if code in codes), HTTPStatus.BAD_REQUEST)
    telling = sorted(refusals, key=lambda refusal: _STATUSES.get(refusal.code) is not status)
    lines = [str(refusal) for refusal in telling[:_MOST_REASONS]]
    if len(refusals) > _MOST_REASONS:
        lines.append(f"and {len(refusals) - _MOST_REASONS} more reasons")
    return Problem(status, "\n".join(lines))


def _keep_attestations(upload: _Upload, release: Release) -> int:
    """Keep the attestations that came with a release; return their number."""
    text = upload.form.one("attestations")
    if not text:
        return 0
    published = datetime.strptime(release.published, "%Y-%m-%dT%H:%M:%SZ").replace(tzinfo=timezone.utc).timestamp()
    if upload.services.clock() > published + upload.services.settings.late_days * DAY:
        raise Problem(
            HTTPStatus.BAD_REQUEST,
            f"{release.name} {release.version} is older than {upload.services.settings.late_days} days, and nothing is "
            "added to it any more; publish a new version",
        )
    try:
        attestations = json.loads(text) if len(text) <= _MOST_ATTESTATIONS else None
    except (ValueError, RecursionError):
        attestations = None
    if not isinstance(attestations, list):
        raise Problem(HTTPStatus.BAD_REQUEST, "the field 'attestations' must be a JSON list (PEP 740)")
    return keep(upload.services.store, release, attestations)


def _log(upload: _Upload, action: str, subject: str, **detail: Any) -> None:
    credential = upload.credential
    upload.services.audit.add(
        action, subject, credential.account, credential.token_id, upload.address, origin=credential.origin, **detail
    )
