"""Innocent programs beside hostile ones in the sandbox: ``python benchmarks/neighbours.py``.

In either tier, ordinary programs of six kinds run in four threads beside eight attackers and, a quarter as many, in
turns, beside eight threads of programs that want as much of the machine and harm nobody. What the load of the machine
explains is the time that they take beside these. The first table has the seconds on the clock; the second is without
the time in which a program ran, or it, its caller or a server of the sandbox waited for a processor. Such waits count
each where they are at one time, so that most are negative on a busy machine. The programs are those of
``packages/gem-tools/tests/crowd.py``.
"""

from __future__ import annotations

import argparse
import sys
import warnings
from pathlib import Path

from gem_tools.sandbox import Sandbox, SandboxError, SandboxWarning

sys.path.append(str(Path(__file__).parents[1] / "packages" / "gem-tools" / "tests"))

from crowd import INNOCENT, Crowd, beside_attackers_and_ordinary_programs

TIERS = {"jail": "required", "restricted": "restricted"}
GOAL = 0.5
"""Seconds by which the latest beside attackers may be later than the latest beside ordinary programs."""


def main() -> None:
    """Print a table with two rows for each tier."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--programs", type=int, default=10_000, help="innocent programs beside attackers")
    parser.add_argument("--beside", type=int, default=8, help="threads of attackers, and of ordinary programs")
    parser.add_argument("--tiers", nargs="+", choices=TIERS, default=list(TIERS))
    options = parser.parse_args()
    clock, late = [], []
    for tier in options.tiers:
        with Sandbox(TIERS[tier], INNOCENT) as sandbox, warnings.catch_warnings():
            warnings.simplefilter("ignore", SandboxWarning)
            try:
                sandbox.warm_up()
            except SandboxError as error:
                sys.exit(f"the {tier} cannot be had here: {error}")
            for hostile, ordinary in beside_attackers_and_ordinary_programs(
                Crowd(sandbox), options.programs, options.beside
            ):
                told = f"{tier}: {len(hostile.late)}, latest by {max(hostile.late):.3f} and {max(ordinary.late):.3f} s"
                print(told, file=sys.stderr, flush=True)
        for others, meeting in (("attackers", hostile), ("ordinary programs", ordinary)):
            clock.append(f"| {tier} | {others} | {len(meeting.took)} | {meeting.others} | {quantiles(meeting.took)} |")
            cells = f"| {tier} | {others} | {len(meeting.lost)} | {quantiles(meeting.late)}"
            if meeting is hostile:
                beyond = max(hostile.late) - max(ordinary.late)
                cells += f" | {beyond:.3f} | {'yes' if beyond <= GOAL and not hostile.lost else 'no'} |"
            else:
                cells += " | | |"
            late.append(cells)
    print("| tier | beside | innocent programs | others | on the clock, s: median | p99 | p99.9 | latest |")
    print("\n".join(["|---|---|---|---|---|---|---|---|", *clock]))
    print()
    print("| tier | beside | lost | without waits, s: median | p99 | p99.9 | latest | beyond the load, s | goal met |")
    print("\n".join(["|---|---|---|---|---|---|---|---|---|", *late]))


def quantiles(seconds: list[float]) -> str:
    """The median, two high quantiles and the greatest, as cells."""
    ordered = sorted(seconds)
    return " | ".join(f"{ordered[int(share * (len(ordered) - 1))]:.3f}" for share in (0.5, 0.99, 0.999, 1.0))


if __name__ == "__main__":
    main()
