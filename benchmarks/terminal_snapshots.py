"""What snapshots of terminal episodes cost: ``python benchmarks/terminal_snapshots.py [--rounds 15]``.

The namespace engine copies the files that a container changed, and starts another container with the copy. CPU is that
of this process, of the engine's spawner, and of the processes that the spawner started and that have ended. The kernel
counts it in ticks of 10 ms, so a row shows the spread of single pairs and the mean of all.
"""

from __future__ import annotations

import argparse
import os
import statistics
import time
from pathlib import Path

from gem_terminal.engines.namespace import NamespaceEngine
from gem_terminal.task import Image, ResourceLimits

CHANGES = {
    "nothing": ":",
    "200 MB in one file": "head -c 200M /dev/urandom > /big",
    "200 MB in 2,000 files": "mkdir /many; cd /many; for i in $(seq 2000); do head -c 100K /dev/urandom > $i; done",
    "10,000 small files": "mkdir /many; cd /many; seq 10000 | xargs touch",
}


def used(engine: NamespaceEngine) -> float:
    """CPU seconds of this process, the spawner and its ended children."""
    fields = Path(f"/proc/{engine.spawner.server.pid}/stat").read_text().rpartition(")")[2].split()
    return sum(map(int, fields[11:15])) / os.sysconf("SC_CLK_TCK") + time.process_time()


def main() -> None:
    """Print one row for each kind of change."""
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--rounds", type=int, default=15)
    arguments.add_argument("--image", default="debian:bookworm-slim")
    rounds, image = arguments.parse_args().rounds, arguments.parse_args().image
    engine = NamespaceEngine()
    reference, limits = engine.prepare(Image(name=image)), ResourceLimits(memory=4 << 30, disk=1 << 30)
    print("| change | CPU ms, mean (least … most) | snapshot, wall ms | restore, wall ms |\n|---|---|---|---|")
    for name, script in CHANGES.items():
        pairs, saves, restores = [], [], []
        with engine.start(reference, limits) as container:
            container.run(("sh", "-c", script), seconds=120.0)
            for number in range(rounds + 1):
                before, begin = used(engine), time.perf_counter()
                with container.snapshot() as snapshot:
                    saved = time.perf_counter()
                    twin = engine.restore(snapshot, limits)
                    restored = time.perf_counter()
                    twin.remove()
                if number:  # the first touches memory that the machine has not used yet
                    pairs.append(1000 * (used(engine) - before))
                    saves.append(1000 * (saved - begin))
                    restores.append(1000 * (restored - saved))
        cpu = f"{statistics.mean(pairs):.0f} ({min(pairs):.0f} … {max(pairs):.0f})"
        walls = (f"{statistics.median(each):.0f} ({min(each):.0f} … {max(each):.0f})" for each in (saves, restores))
        print(f"| {name} | {cpu} | {' | '.join(walls)} |")
    engine.close()


if __name__ == "__main__":
    main()
