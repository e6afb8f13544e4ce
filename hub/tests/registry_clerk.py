"""Somebody who keeps a registry busy with all but uploads, and knows what it has acknowledged.

Organisations and their members, results, webhooks, downloads and private packages. Each request is repeated until it is
answered, as people do, so that a registry may be killed at any moment.
"""

from __future__ import annotations

import http.client
import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from registry_server import Answer, RegistryClient, upload_form
from signed_results import NAME, OWNER, code_record, made_result, new_key, signed_event, toy_release
from sqlalchemy import select
from toy_hub import synthetic_release

from gem_hub.registry.downloads import downloads
from gem_hub.registry.organisations.private_hubs import private_services
from gem_hub.registry.services import RegistryServices
from gem_hub.registry.webhooks.tables import webhooks
from gem_hub.results.state import results_of
from gem_hub.store import Store

__all__ = ["DONE", "Clerk", "lost", "persistent", "release_for_results", "result_bodies", "results_in"]

MEMBER = "mona"
WEBHOOKS = 3
"""A package may have ten, and a request that was cut off makes one more."""
DONE = (200, 201, 409)
"""The answers after which the clerk goes on: 409 says that a request which was not answered had been carried out."""


def release_for_results(store: Store) -> None:
    """Publish the package of :data:`OWNER` on which results stand."""
    release = toy_release()
    store.publish(release, None, synthetic_release(NAME, release.version, publisher=OWNER)[1])
    store.add_event(code_record(release))


def result_bodies(folder: Path, account: str, count: int) -> list[dict[str, Any]]:
    """Return different results of an account, as they are sent."""
    key = new_key(folder, account)
    events = [
        signed_event(made_result(account, key, [1.0, 0.0], salt=f"{account} {number}"), key) for number in range(count)
    ]
    return [{"version": one.version, "sha256": one.sha256, "envelope": one.envelope} for one in events]


def results_in(store: Store) -> list[str]:
    """Return the payloads of all results, sorted."""
    return sorted(str(one.event.envelope["payload"]) for one in results_of(store.existing(NAME)))


def persistent(send: Callable[[], Answer], done: tuple[int, ...] = (200,)) -> dict[str, Any]:
    """Send a request until there is an answer that is no failure of the connection or the server; return its JSON."""
    deadline = time.monotonic() + 300
    while time.monotonic() < deadline:
        try:
            answer = send()
        except (OSError, http.client.HTTPException):
            continue
        if answer.status in done:
            return dict(answer.json)
        if answer.status < 500:
            return {"refused": answer.text}
    return {"refused": "no answer"}


class Clerk:
    """Acts for the owner of the package with results, and for one member of each organisation.

    Args:
        port: of the registry on this machine.
        tokens: of the accounts :data:`OWNER` and :data:`MEMBER`.
        log: the file to which each acknowledged act is added.
        told: called after each of them.
    """

    def __init__(self, port: int, tokens: dict[str, str], log: Path, told: Callable[[], object] = lambda: None) -> None:
        self._told = told
        self._owner, self._member = (RegistryClient(port, tokens[name]) for name in (OWNER, MEMBER))
        self._log = log

    def work(self, number: int, result: dict[str, Any], private: Path) -> None:
        """Do one of everything: ``private`` is a wheel that goes into the private hub of a new organisation."""
        organisation = f"lab-{number}"
        path, package = f"/api/v1/organisations/{organisation}", f"/api/v1/packages/{NAME}"
        form, content_type = upload_form(private, {})
        owner, member = self._owner.send, self._member.send
        self._act("organisation", organisation, lambda: owner("POST", "/api/v1/organisations", {"name": organisation}))
        self._act("invitation", organisation, lambda: owner("PUT", f"{path}/members/{MEMBER}", {"role": "maintainer"}))
        self._act("membership", organisation, lambda: member("POST", f"{path}/membership"), (*DONE, 404))
        self._act("result", result["envelope"]["payload"], lambda: owner("POST", f"{package}/results", result))
        if number < WEBHOOKS:
            hook = {"url": f"https://ci.example/{number}"}
            self._act("webhook", hook["url"], lambda: owner("POST", f"{package}/webhooks", hook), (201,))
        upload = f"/private/{organisation}/upload/"
        self._act("private", organisation, lambda: member("POST", upload, form, Content_Type=content_type))
        self._act("downloads", "", lambda: owner("GET", f"{package}/downloads"))

    def _act(self, kind: str, what: str, send: Callable[[], Answer], done: tuple[int, ...] = DONE) -> None:
        answer = persistent(send, done)
        with self._log.open("a") as log:
            refused = {"refused": answer["refused"]} if "refused" in answer else {}
            log.write(json.dumps({"kind": kind, "what": what, **refused}) + "\n")
        self._told()


def lost(services: RegistryServices, log: Path) -> list[str]:
    """Return what the clerk was told that is not in the registry, and what is there twice."""
    told = [json.loads(line) for line in log.read_text().splitlines()]
    problems = [f"{one['kind']} {one['what'][:60]}: {one['refused']}" for one in told if "refused" in one]
    done = {kind: {one["what"] for one in told if one["kind"] == kind} for kind in {one["kind"] for one in told}}
    results = results_in(services.store)
    problems += [f"the result {what[:60]} is lost" for what in done.get("result", set()) - set(results)]
    problems += ["a result is there twice"] if len(results) != len(set(results)) else []
    for kind in ("organisation", "membership"):
        account, role = (OWNER, "owner") if kind == "organisation" else (MEMBER, "maintainer")
        for name in done.get(kind, ()):
            if services.organisations.role(name, account) != role:
                problems.append(f"{kind} {name} is lost")
    private = {hub.organisation: hub for hub in private_services(services)}
    for name in done.get("private", ()):
        if name not in private or len(private[name].store.packages()) != 1:
            problems.append(f"the private package of {name} is lost")
    for name, hub in private.items():
        problems += [f"{name}: {path} is not what a rebuild gives" for path in hub.store.rebuild(check=True)]
        if name in done.get("private", ()) and (queued := hub.queue.counts()) != {"queued": 1}:
            problems.append(f"{name}: the queue is {queued}")
    with services.database.read() as connection:
        urls = set(connection.execute(select(webhooks.c.url)).scalars())
        amounts = connection.execute(select(downloads.c.amount)).scalars().all()
    problems += [f"the webhook {url} is lost" for url in done.get("webhook", set()) - urls]
    problems += [f"{amount} downloads were counted" for amount in amounts if amount < 1]
    return problems
