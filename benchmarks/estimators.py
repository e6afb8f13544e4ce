"""The cost of the estimators of gem-rl for a million turns, how it grows, and the cost of importing the package.

    python benchmarks/estimators.py --rounds 5

Prints a line for each estimator: the median of its CPU seconds for 125,000 and for 1,000,000 turns with their range,
and the time of the second over eight times the first, which is 1 where the cost grows linearly. Episodes have 0 to 20
turns, in groups of eight, of four tasks. Then the CPU seconds of ``import gem_rl`` over those of Python alone.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import time
from collections.abc import Callable
from statistics import median
from typing import Any

import numpy as np

import gem_rl
from gem_rl import TurnBatch

SMALL, LARGE = 125_000, 1_000_000


def batch_of(turns: int) -> tuple[TurnBatch, dict[str, Any]]:
    """Return episodes with this number of turns, and what some estimators take beside them."""
    rng = np.random.default_rng(0)
    lengths = rng.integers(0, 21, size=turns // 10)
    total = int(lengths.sum())
    numbers = np.arange(lengths.size)
    batch = TurnBatch.of(
        rng.normal(size=total),
        lengths,
        terminated=rng.random(lengths.size) < 0.5,
        groups=(numbers // 8).tolist(),
        tasks=(numbers % 4).tolist(),
    )
    counts = rng.integers(1, 40, size=total)
    return batch, {
        "states": rng.integers(0, 50, size=total).tolist(),
        "values": rng.normal(size=total),
        "final_values": rng.normal(size=lengths.size),
        "counts": counts,
    }


ESTIMATORS: dict[str, Callable[[TurnBatch, dict[str, Any]], Any]] = {
    "discounted_returns": lambda batch, also: gem_rl.discounted_returns(batch, gamma=0.9),
    "reinforce": lambda batch, also: gem_rl.reinforce(batch, gamma=0.9),
    "rebn": lambda batch, also: gem_rl.rebn(batch, gamma=0.9),
    "grpo": lambda batch, also: gem_rl.grpo(batch),
    "rloo": lambda batch, also: gem_rl.rloo(batch),
    "erpo": lambda batch, also: gem_rl.erpo(batch),
    "gigpo": lambda batch, also: gem_rl.gigpo(batch, also["states"], gamma=0.9),
    "gae": lambda batch, also: gem_rl.gae(batch, also["values"], also["final_values"], gamma=0.9, lam=0.95),
    "normalize_by_task": lambda batch, also: gem_rl.normalize_by_task(batch, also["values"], also["counts"]),
    "loss_weights": lambda batch, also: gem_rl.loss_weights(batch, also["counts"], "episode-mean"),
}


def cpu_seconds(call: Callable[[], Any]) -> float:
    """Return the CPU seconds of a call."""
    begin = time.process_time()
    call()
    return time.process_time() - begin


def import_seconds(statement: str) -> float:
    """Return the CPU seconds of a Python process with one statement."""
    program = f"import time; {statement}; print(time.process_time())"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    return float(done.stdout)


def main() -> None:
    """Measure and print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=5)
    rounds = parser.parse_args().rounds
    small, large = batch_of(SMALL), batch_of(LARGE)
    print(f"| estimator | {SMALL:,} turns, CPU s | {LARGE:,} turns, CPU s | growth |")
    print("|---|---|---|---|")
    for name, estimate in ESTIMATORS.items():
        times: list[tuple[float, float]] = []
        for _ in range(rounds):
            # Several calls of the small batch, so that both sides run for about as long.
            few = cpu_seconds(lambda run=estimate: [run(*small) for _ in range(8)]) / 8
            times.append((few, cpu_seconds(lambda run=estimate: run(*large))))
        few, many = (sorted(column) for column in zip(*times, strict=True))
        growth = median(many_one / few_one / (LARGE / SMALL) for few_one, many_one in times)
        cells = [f"{median(found):.4f} ({found[0]:.4f} … {found[-1]:.4f})" for found in (few, many)]
        print(f"| `{name}` | {' | '.join(cells)} | {growth:.2f} |", flush=True)
    over = sorted(import_seconds("import gem_rl") - import_seconds("pass") for _ in range(rounds))
    print(f"\nimport gem_rl: {median(over):.4f} ({over[0]:.4f} … {over[-1]:.4f}) CPU s over Python alone")
    names = sorted(import_seconds("import gem_rl; gem_rl.grpo") - import_seconds("pass") for _ in range(rounds))
    print(f"with the first estimator, NumPy included: {median(names):.3f} ({names[0]:.3f} … {names[-1]:.3f}) CPU s")


if __name__ == "__main__":
    main()
