"""Publishers that are killed in the middle; see ``test_kills.py``. POSIX only: it forks.

Arguments: ``random``, ``steps`` or ``bucket``, a scratch folder, the share of all kills, and a seed of their moments.
After every kill it looks at the hub as a reader does, and prints one JSON object with what happened. ``random`` kills
at any moment of a publication, and compares the hub with a rebuild each time; ``steps`` once before each single call
that changes the file system; ``bucket`` at any moment of a publication into the bucket that the environment leads to.
"""

from __future__ import annotations

import itertools
import json
import os
import random
import select
import shutil
import signal
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from buckets import expire
from hub_faults import faults, healed
from toy_hub import make_wheel, publish_wheel

from gem_hub.events import Yank
from gem_hub.storage.bucket import HubBucket
from gem_hub.store import Store

KILLS = 100
KILLED_HUB = "s3://hubs/killed"
CALLS = ("link", "replace", "rename", "unlink", "mkdir", "rmdir")


def main(mode: str, scratch: str, share: str, seed: str = "0") -> None:
    random.seed(int(seed))
    os.fsync = lambda number: None  # a kill, unlike a power cut, loses nothing that was written
    folder = Path(scratch)
    kills = {"random": random_kills, "steps": kills_at_every_step, "bucket": random_bucket_kills}
    print(json.dumps(kills[mode](folder, int(share))))


def random_kills(scratch: Path, share: int) -> dict[str, Any]:
    """Kill 100 / ``share`` publications of different versions at random moments; some come to their end in between."""
    store, kills = Store(scratch / "hub"), KILLS // share
    count = 5 + 3 * kills
    wheels = [make_wheel(scratch / "dist", f"toy-{n % 7}", f"0.{n}.0", [f"toy{n % 7}:T-v0"]) for n in range(count)]
    times = []
    for wheel in wheels[:5]:
        began = time.monotonic()
        publish_wheel(store, wheel)
        times.append(time.monotonic() - began)
    usual = min(times)  # the first one also imports, and after a longer time most would be over before their kill
    killed, problems = 0, []
    for wheel in wheels[5:]:
        if killed == kills:
            break
        child = fork(lambda wheel=wheel: publish_wheel(store, wheel))  # type: ignore[misc]
        select.select([], [], [], random.uniform(0, 1.2 * usual))
        os.kill(child, signal.SIGKILL)
        killed += os.WIFSIGNALED(os.waitpid(child, 0)[1])
        problems += faults(store.files)
        store.complete()
        problems += [f"after {wheel.name}: {path} is not what a rebuild gives" for path in store.rebuild(check=True)]
    return {"killed": killed, "problems": problems, **healed(store, scratch / "dist")}


def random_bucket_kills(scratch: Path, share: int) -> dict[str, Any]:
    """Do the same in a bucket. This process itself makes no request, because threads do not survive a fork."""
    kills, dist = KILLS // share, scratch / "dist"
    count = 5 + 3 * kills
    wheels = [make_wheel(dist, f"toy-{n % 7}", f"0.{n}.0", [f"toy{n % 7}:T-v0"]) for n in range(count)]

    def publish_timed(wheel: Path) -> float:
        store = Store(HubBucket.open(KILLED_HUB))
        began = time.monotonic()
        publish_wheel(store, wheel)
        return time.monotonic() - began

    def look() -> list[str]:
        bucket = HubBucket.open(KILLED_HUB)
        expire(bucket)
        found = faults(bucket)
        store = Store(bucket)
        store.complete()
        return found + [f"{path} is not what a rebuild gives" for path in store.rebuild(check=True)]

    usual = min(in_child(lambda wheel=wheel: publish_timed(wheel)) for wheel in wheels[:5])  # type: ignore[misc]
    killed, problems = 0, []
    for wheel in wheels[5:]:
        if killed == kills:
            break
        child = fork(lambda wheel=wheel: publish_timed(wheel))  # type: ignore[misc]
        select.select([], [], [], random.uniform(0, 1.5 * usual))
        os.kill(child, signal.SIGKILL)
        killed += os.WIFSIGNALED(os.waitpid(child, 0)[1])
        problems += in_child(look)
    recovered: dict[str, Any] = in_child(lambda: healed(Store(HubBucket.open(KILLED_HUB)), dist))
    return {"killed": killed, "problems": problems, **recovered}


def in_child(work: Callable[[], Any]) -> Any:
    """Return the result of something that is done in a child of this process."""
    reader, writer = os.pipe()

    def tell() -> None:
        os.write(writer, json.dumps(work()).encode())

    child = fork(tell)
    os.close(writer)
    with open(reader, "rb") as pipe:  # noqa: PTH123  # a descriptor
        told = pipe.read()
    assert os.waitpid(child, 0)[1] == 0
    return json.loads(told)


def kills_at_every_step(scratch: Path, share: int) -> dict[str, Any]:
    """Kill a first release, a second one, a yank and a rebuild before every ``share``-th step, each from one state."""
    hub, before = scratch / "hub", scratch / "before"
    store = Store(hub)
    first, second, other = (
        make_wheel(scratch / "dist", name, version, [f"{name}:T-v0"])
        for name, version in (("steps", "0.1.0"), ("steps", "0.2.0"), ("other", "0.1.0"))
    )

    def damage_and_rebuild() -> None:
        (hub / "simple/steps/index.html").unlink(missing_ok=True)
        store.rebuild()

    def publish_another() -> None:
        publish_wheel(store, other)

    changes: list[tuple[Callable[[], object], Callable[[], object]]] = [
        (lambda: publish_wheel(store, first), publish_another),
        (lambda: publish_wheel(store, second), publish_another),
        (lambda: store.add_event(Yank(name="steps", version="0.1.0", reason="bad", by="someone")), publish_another),
        (damage_and_rebuild, store.rebuild),
    ]
    killed, problems, differing = 0, [], []
    for change, next_change in changes:
        if hub.exists():
            shutil.copytree(hub, before)
        for step in itertools.count(1, share):
            child = fork(change, step)
            was_killed = os.WIFSIGNALED(os.waitpid(child, 0)[1])
            problems += faults(store.files)
            if not was_killed:
                break
            killed += 1
            next_change()
            differing += [f"{step}: {path}" for path in store.rebuild(check=True)]
            shutil.rmtree(hub)
            if before.exists():
                shutil.copytree(before, hub)
        shutil.rmtree(before, ignore_errors=True)
    return {"killed": killed, "problems": problems, **healed(store, scratch / "dist"), "differing": differing}


def fork(work: Callable[[], object], fatal_step: int = 0) -> int:
    """Run something in a child; before its nth call that changes the file system, that child kills itself."""
    child = os.fork()
    if child:
        return child
    try:
        if fatal_step:
            kill_before(fatal_step)
        work()
    except BaseException as error:
        print(repr(error), file=sys.stderr, flush=True)
        os._exit(1)
    os._exit(0)


def kill_before(fatal_step: int) -> None:
    """Make the nth of the calls in ``CALLS`` the end of this process."""
    steps = 0

    def counting(original: Callable[..., Any]) -> Callable[..., Any]:
        def call(*args: Any, **kwargs: Any) -> Any:
            nonlocal steps
            steps += 1
            if steps == fatal_step:
                os.kill(os.getpid(), signal.SIGKILL)
            return original(*args, **kwargs)

        return call

    for name in CALLS:
        setattr(os, name, counting(getattr(os, name)))


if __name__ == "__main__":
    main(*sys.argv[1:])
