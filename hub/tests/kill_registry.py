"""A registry that is killed again and again while it works; see ``test_registry_kills.py``. It forks.

Arguments: a scratch folder, the number of kills, and the address of the database. Two users upload, and a clerk does
all else (``registry_clerk.py``). They repeat each request until it is answered, as people do, and write down what was
acknowledged. After each kill a reader looks at the hub, and what the
beginning of a registry makes of it is compared with a rebuild. The script prints one JSON object with what happened.
"""

from __future__ import annotations

import hashlib
import json
import os
import random
import select
import signal
import socket
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

from hub_faults import faults
from registry_clerk import MEMBER, Clerk, lost, persistent, release_for_results, result_bodies
from registry_server import GENEROUS, RegistryClient, toy_wheel
from signed_results import NAME, OWNER

from gem_hub.registry.app import registry_app
from gem_hub.registry.organisations.private_hubs import private_services
from gem_hub.registry.recovery import published, recover
from gem_hub.registry.server import listen, registry_server
from gem_hub.registry.services import RegistryServices
from gem_hub.registry.settings import RegistrySettings
from gem_hub.registry.tokens import SCOPES
from gem_hub.storage import HubFolder
from gem_hub.store import Store

USERS = {"ann": ("amber-mazes", "birch-rivers"), "ben": ("cypress-quests", "dogwood-towers")}


def main(folder: str, kills: str, database: str) -> None:
    os.fsync = lambda number: None  # a kill, unlike a power cut, loses nothing that was written
    scratch = Path(folder)
    hub, stop = scratch / "hub", scratch / "stop"
    settings = RegistrySettings(database=database, conformance=False, quotas=GENEROUS)
    store = Store(hub)
    store.rebuild()
    listener = listen("127.0.0.1", 0)
    port = listener.getsockname()[1]
    wheels = {
        user: [toy_wheel(scratch / "dist", names[n % 2], f"0.{n}.0") for n in range(2 * int(kills))]
        for user, names in USERS.items()
    }
    release_for_results(store)
    services = RegistryServices(store, settings)
    people = (*USERS, OWNER, MEMBER)
    tokens = {user: services.tokens.mint(services.accounts.create(user), "x", SCOPES)[0] for user in people}
    services.close()
    results = result_bodies(scratch, OWNER, 2 * int(kills))
    private = toy_wheel(scratch / "private", "secret-envs")
    reader, writer = os.pipe()
    told = partial(os.write, writer, b".")
    clients = [
        fork(lambda user=user: keep_uploading(port, tokens[user], wheels[user], scratch / f"{user}.jsonl", stop, told))  # type: ignore[misc]
        for user in USERS
    ]
    clerk = Clerk(port, tokens, scratch / "clerk.jsonl", told)
    clients.append(fork(lambda: keep_administering(clerk, results, private, stop)))
    generator, problems = random.Random(0), []
    for number in range(int(kills)):
        server = fork(lambda: serve(hub, settings, listener))
        # Every fourth may still be beginning. Each other has answered a few times, however slow the machine is.
        if number % 4:
            wait_for_answers(reader, generator.randint(1, 4))
        select.select([], [], [], generator.uniform(0.0, 0.1) if number % 4 else generator.uniform(0.05, 1.0))
        os.kill(server, signal.SIGKILL)
        os.waitpid(server, 0)
        problems += faults(HubFolder(hub))
        problems += unlike_a_rebuild(hub, settings)
    server = fork(lambda: serve(hub, settings, listener))
    stop.touch()
    ends = [os.waitpid(client, 0)[1] for client in clients]
    os.kill(server, signal.SIGTERM)
    os.waitpid(server, 0)
    listener.close()
    print(
        json.dumps(
            {
                "problems": problems,
                "ends": ends,
                "acts": len((scratch / "clerk.jsonl").read_text().splitlines()),
                **outcome(hub, settings, scratch),
            }
        )
    )


def unlike_a_rebuild(hub: Path, settings: RegistrySettings) -> list[str]:
    """Do what a registry does when it begins; return what a rebuild of the whole hub would then write otherwise."""
    services = RegistryServices(Store(hub), settings)
    recover(services)
    differing = services.store.rebuild(check=True)
    for hub_of_members in private_services(services):
        differing += [f"{hub_of_members.organisation}: {path}" for path in hub_of_members.store.rebuild(check=True)]
    services.close()
    return [f"{path} is not what a rebuild gives" for path in differing]


def wait_for_answers(reader: int, count: int) -> None:
    """Wait for so many acknowledgements from now on."""
    while select.select([reader], [], [], 0)[0]:
        os.read(reader, 1 << 16)
    for _ in range(count):
        assert select.select([reader], [], [], 60)[0], "nothing was answered for a minute"
        os.read(reader, 1)


def fork(work: Callable[[], object]) -> int:
    """Run something in a child."""
    child = os.fork()
    if child:
        return child
    try:
        work()
    except BaseException as error:
        print(repr(error), file=sys.stderr, flush=True)
        os._exit(1)
    os._exit(0)


def serve(hub: Path, settings: RegistrySettings, listener: socket.socket) -> None:
    """Run the registry as ``gem hub serve --publish`` does."""
    services = RegistryServices(Store(hub), settings)
    recover(services)
    registry_server(registry_app(services), 512, []).run(sockets=[listener])


def keep_uploading(
    port: int, token: str, wheels: list[Path], log: Path, stop: Path, told: Callable[[], object]
) -> None:
    """Upload each wheel until it is acknowledged; then the same ones again until the stop."""
    client = RegistryClient(port, token)
    rounds = 0
    with log.open("a") as acknowledged:
        while rounds == 0 or not stop.exists():
            for wheel in wheels:
                if rounds and stop.exists():
                    break
                answer = persistent(lambda wheel=wheel: client.upload(wheel))  # type: ignore[misc]
                acknowledged.write(json.dumps(answer) + "\n")
                acknowledged.flush()
                told()
            rounds += 1


def keep_administering(clerk: Clerk, results: list[dict[str, Any]], private: Path, stop: Path) -> None:
    """Let the clerk work until the stop, or until it has no more results."""
    for number, result in enumerate(results):
        clerk.work(number, result, private)
        if stop.exists():
            break


def outcome(hub: Path, settings: RegistrySettings, scratch: Path) -> dict[str, Any]:
    """Compare what was acknowledged with hub, queue and log."""
    services = RegistryServices(Store(hub), settings)
    recover(services)
    services.queue.recover(lambda *key: published(services, *key) is not None, everything=True)
    told = [json.loads(line) for user in USERS for line in (scratch / f"{user}.jsonl").read_text().splitlines()]
    store = services.store
    uploaded = [name for name in store.packages() if name != NAME]
    records = {r.sha256: f"{r.name} {r.version}" for name in uploaded for r in store.existing(name).records}
    files = {hashlib.sha256(path.read_bytes()).hexdigest() for path in hub.glob("files/*/*/*.whl")}
    lines = services.audit.lines(most=10**6)
    logged = {line["detail"]["sha256"] for line in lines if line["action"] == "upload"}
    acknowledged = {answer["sha256"] for answer in told if "sha256" in answer}
    result = {
        "refused": [answer for answer in told if "refused" in answer],
        "acknowledged": len(acknowledged),
        "expected": sum(1 for _ in (scratch / "dist").iterdir()),
        "lost": sorted(acknowledged - records.keys()) + sorted(acknowledged - files) + sorted(acknowledged - logged),
        "lost by the clerk": lost(services, scratch / "clerk.jsonl"),
        "unqueued": [label for sha256, label in records.items() if services.queue.state_of(sha256) is None],
        "queue": services.queue.counts(),
        "records": len(records),
        "left": [path.name for path in services.uploads.iterdir()],
        "differing": store.rebuild(check=True),
        "still": faults(store.files),
    }
    services.close()
    return result


if __name__ == "__main__":
    main(*sys.argv[1:])
