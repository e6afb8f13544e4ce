"""What a publication costs in hubs of several sizes: the gate, and the store.

    python benchmarks/hub_publication.py [PACKAGES ...]

Each hub is made of the records of that many packages with one release, from which the store derives it. Then new
packages and new versions are published into it, as a registry does in one process, beginning with one whose process has
read nothing yet. Times are CPU milliseconds of this process. The goal is 100 ms for gate and store together in a hub of
100,000 packages. Without PACKAGES, two sizes show what does not grow.
"""

from __future__ import annotations

import os
import random
import statistics
import sys
import tempfile
import time
from pathlib import Path

from gem_hub.canonical import compact_json
from gem_hub.policy import HubPolicy
from gem_hub.publishing import Destination, examine_all, publish
from gem_hub.store import Store

TESTS = Path(__file__).parents[1] / "hub" / "tests"
SIZES = (1_000, 10_000)
ROUNDS = 15
CONSONANTS, VOWELS = "bcdfghjklmnprstvz", "aeiou"


def main(sizes: tuple[int, ...]) -> None:
    """Print the table."""
    sys.path.append(str(TESTS))
    print("| packages | publication | gate | store | together | of the first |\n|---|---|---|---|---|---|")
    for size in sizes:
        with tempfile.TemporaryDirectory() as folder:
            measure(Path(folder), size)


def measure(folder: Path, size: int) -> None:
    """Make a hub, publish into it, and print its two rows."""
    from registry_server import toy_wheel
    from toy_hub import synthetic_release

    hub = folder / "hub"
    for number in range(size):
        name = f"{word(number)}-envs"
        release, _ = synthetic_release(name, "0.1.0", [f"{word(number)}:Thing-v0"])
        path = hub / release.path
        path.parent.mkdir(parents=True)
        path.write_bytes(compact_json(release.model_copy(update={"serial": number + 1}).model_dump(mode="json")))
    Store(hub).rebuild()
    store = Store(hub)
    for kind, wheels in {
        "a new package": [
            toy_wheel(folder / "dist", f"{word(size + number)}-envs", ids=[f"{word(size + number)}:Thing-v0"])
            for number in range(ROUNDS + 1)
        ],
        "a new version": [
            toy_wheel(folder / "dist", f"{word(size)}-envs", f"0.2.{number}", ids=[f"{word(size)}:Thing-v0"])
            for number in range(ROUNDS + 1)
        ],
    }.items():
        first, *others = [published(store, wheel) for wheel in wheels]
        gate, stored = (statistics.median(times) for times in zip(*others, strict=True))
        both = [sum(times) for times in others]
        together = f"{statistics.median(both):.1f} ({min(both):.1f} … {max(both):.1f})"
        print(f"| {size:,} | {kind} | {gate:.1f} | {stored:.1f} | {together} | {sum(first):.0f} |", flush=True)


def published(store: Store, wheel: Path) -> tuple[float, float]:
    """Publish a wheel; return the CPU milliseconds of the gate and of the store."""
    destination = Destination(store, "someone", HubPolicy())
    began = time.process_time()
    attempts = examine_all([(wheel.name, wheel.read_bytes(), wheel)], destination)
    examined = time.process_time()
    assert attempts[0].stage == "passed", attempts[0].verdict.refusals
    (done,) = publish(attempts, destination, lambda line: None)
    ended = time.process_time()
    assert done.stage == "published"
    return (examined - began) * 1000, (ended - examined) * 1000


def word(number: int) -> str:
    """Return a word for a number, which differs from all others in several letters."""
    drawn = random.Random(number)
    return "".join(drawn.choice(CONSONANTS) + drawn.choice(VOWELS) for _ in range(6))


if __name__ == "__main__":
    os.fsync = lambda number: None  # the disk's time is not the processor's
    main(tuple(map(int, sys.argv[1:])) or SIZES)
