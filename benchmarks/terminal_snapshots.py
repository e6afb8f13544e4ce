"""What snapshots of terminal episodes cost: ``python benchmarks/terminal_snapshots.py [--rounds 5] [--before FOLDER]``.

A container without a snapshot; a snapshot of a container of the namespace engine with the first container that begins
from it; each further container; and a chain of 50, in which a container changes a file, is saved, and the next begins
from that. Removals are counted.
CPU is that of the process, of the engine's spawner, and of the processes that the spawner started and that have ended.
The kernel shows the latter's sum in ticks of 10 ms, so a round repeats a step until that is little for each.

With ``--before``, the ``src`` folder of another version of gem-terminal, the two versions take turns, round by round,
each in a process of its own. The first round touches memory that the machine has not used yet, and is left out.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from gem_terminal.engines import Container
    from gem_terminal.engines.namespace import NamespaceEngine

_WRITE = 'perl -e \'mkdir "/many"; for (1 .. 2000) {{ open F, ">", "/many/$_"; print F "x" x {size} }}\''
CHANGES = {
    "nothing": ":",
    "2,000 small files": _WRITE.format(size=10),
    "200 MB in one file": "head -c 200M /dev/urandom > /big",
    "200 MB in 2,000 files": _WRITE.format(size=100_000),
}
CHAIN_ON = "2,000 small files"
SNAPSHOTS, BRANCHES, CHAIN, PART = 2, 20, 50, 10
MEMORY, DISK = 4 << 30, 1 << 30


def measure(image: str) -> None:
    """Measure a round for each line of the input, and answer with CPU milliseconds of each step, as JSON."""
    from gem_terminal.engines.namespace import NamespaceEngine
    from gem_terminal.task import Image, ResourceLimits

    engine = NamespaceEngine()
    reference, limits = engine.prepare(Image(name=image)), ResourceLimits(memory=MEMORY, disk=DISK)
    for _ in sys.stdin:
        found = {"no snapshot: a container": starts(engine, reference)}
        for name, script in CHANGES.items():
            with engine.start(reference, limits) as container:
                container.run(("sh", "-c", script), seconds=120.0)
                found |= {f"{name}: {step}": cost for step, cost in branches(engine, container).items()}
        with engine.start(reference, limits) as container:
            container.run(("sh", "-c", CHANGES[CHAIN_ON]), seconds=120.0)
            found |= chain(engine, container)
        print(json.dumps(found), flush=True)
    engine.close()


def starts(engine: NamespaceEngine, reference: str) -> float:
    """Return the cost of a container without a snapshot."""
    from gem_terminal.task import ResourceLimits

    limits = ResourceLimits(memory=MEMORY, disk=DISK)
    engine.start(reference, limits).remove()
    begin = used(engine)
    for _ in range(BRANCHES):
        engine.start(reference, limits).remove()
    return (used(engine) - begin) / BRANCHES


def branches(engine: NamespaceEngine, container: Container) -> dict[str, float]:
    """Return the cost of snapshots with their first branches, and of further branches."""
    from gem_terminal.task import ResourceLimits

    limits = ResourceLimits(memory=MEMORY, disk=DISK)
    begin = used(engine)
    for _ in range(SNAPSHOTS):
        with container.snapshot() as snapshot:
            engine.restore(snapshot, limits).remove()
    first = (used(engine) - begin) / SNAPSHOTS
    with container.snapshot() as snapshot:
        engine.restore(snapshot, limits).remove()
        begin = used(engine)
        for _ in range(BRANCHES):
            engine.restore(snapshot, limits).remove()
        return {"first branch": first, "further branch": (used(engine) - begin) / BRANCHES}


def chain(engine: NamespaceEngine, container: Container) -> dict[str, float]:
    """Return the cost of the first and the last links of a chain, each a snapshot and the container after it."""
    from gem_terminal.task import ResourceLimits

    limits, here = ResourceLimits(memory=MEMORY, disk=DISK), container
    costs: list[float] = []
    snapshot = here.snapshot()
    for _ in range(CHAIN // PART):
        begin = used(engine)
        for number in range(PART):
            following = engine.restore(snapshot, limits)
            snapshot.close()
            following.run(
                ("sh", "-c", f"echo {number} > /many/{number}; echo > /new{len(costs)}-{number}"), seconds=10.0
            )
            if here is not container:
                here.remove()
            here, snapshot = following, following.snapshot()
        costs.append((used(engine) - begin) / PART)
    snapshot.close()
    here.remove()
    return {"chain: links 1 to 10": costs[0], "chain: links 41 to 50": costs[-1]}


def used(engine: NamespaceEngine) -> float:
    """Return the CPU milliseconds of this process, the spawner and its ended children."""
    fields = Path(f"/proc/{engine.spawner.server.pid}/stat").read_text().rpartition(")")[2].split()
    return 1000 * (sum(map(int, fields[11:15])) / os.sysconf("SC_CLK_TCK") + time.process_time())


def started(image: str, source: Path | None) -> Callable[[], dict[str, float]]:
    """Start the process of a version; return a function that measures a round."""
    environment = os.environ if source is None else {**os.environ, "PYTHONPATH": str(source)}
    process = subprocess.Popen(
        [sys.executable, __file__, "--measure", "--image", image],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1, env=environment,
    )  # fmt: skip
    assert process.stdin is not None
    assert process.stdout is not None
    asked, told = process.stdin, process.stdout

    def round_of() -> dict[str, float]:
        asked.write("\n")
        answer: dict[str, float] = json.loads(told.readline())
        return answer

    return round_of


def cell(values: Sequence[float]) -> str:
    """Return the median of the rounds with their range."""
    return f"{statistics.median(values):.1f} ({min(values):.1f} … {max(values):.1f})"


def main() -> None:
    """Print one row for each step."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--image", default="debian:bookworm-slim")
    parser.add_argument("--before", type=Path)
    parser.add_argument("--measure", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.measure:
        measure(options.image)
        return
    versions = [started(options.image, None)]
    if options.before is not None:
        versions.insert(0, started(options.image, options.before))
    rounds = [[version() for version in versions] for _ in range(options.rounds + 1)][1:]
    heads = ["CPU ms before", "CPU ms now", "ratio"] if options.before else ["CPU ms"]
    print(f"| step | {' | '.join(heads)} |\n|---|{'---|' * len(heads)}")
    for step in rounds[0][-1]:
        columns = [[each[number][step] for each in rounds] for number in range(len(versions))]
        cells = [cell(column) for column in columns]
        if options.before is not None:
            cells.append(f"{statistics.median(now / before for before, now in zip(*columns, strict=True)):.2f}")
        print(f"| {step} | {' | '.join(cells)} |")


if __name__ == "__main__":
    main()
