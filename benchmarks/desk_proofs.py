"""Proves tasks of the desks by program, and counts those that are not sound.

    python benchmarks/desk_proofs.py [--tasks N] [ID …]

Checks, of each id and level, the tasks of the numbers 0 to N/2 - 1 of either split (N is 1,120 unless said otherwise)
with :func:`gem_envs_desk.checks.check_task`. Prints a table in Markdown: the tasks, how many of them have different
calls, words or facts, how many kinds of tasks they are, and how many have a fault, with its clause; exits with 1 if one
has.
"""

from __future__ import annotations

import argparse
from collections import Counter
from contextlib import ExitStack

import gem
from gem_envs_desk.checks import check_task
from gem_envs_desk.env import SPLITS, DeskEnv

IDS = tuple(
    f"desk:{name}"
    for name in (
        *("Retail-v0", "Airline-v0", "Telecom-v0", "Mailbox-v0", "Calendar-v0", "Tickets-v0"),
        *("Retail-v1", "Airline-v1", "Telecom-v1", "Library-v1"),
    )
)


def row(env: DeskEnv, level: int, tasks: int) -> tuple[tuple[int, int, int], Counter[str]]:
    """Return the numbers of tasks, of different ones and of kinds, and how many have a fault of each clause."""
    faults = Counter[str]()
    different, kinds = set[int](), set[str]()
    for split in SPLITS:
        for number in range(tasks // len(SPLITS)):
            task = env.domain.task(number, level, split)
            kinds.add(task.kind)
            different.add(hash(repr((task.gold, task.facts, task.script, task.text))))
            faults.update({fault.clause for fault in check_task(env.domain, task)})
    return (tasks // len(SPLITS) * len(SPLITS), len(different), len(kinds)), faults


def main() -> int:
    """Print the table; return 1 if a task has a fault."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("ids", nargs="*")
    parser.add_argument("--tasks", type=int, default=1120)
    options = parser.parse_args()
    print("| id | level | tasks | different | kinds | with a fault |\n|---|---|---|---|---|---|")
    is_sound = True
    with ExitStack() as opened:
        desks = {env_id: opened.enter_context(gem.make(env_id)).unwrapped for env_id in options.ids or IDS}
        for env_id, desk in desks.items():
            assert isinstance(desk, DeskEnv)
            for level in desk.levels:
                counts, faults = row(desk, level, options.tasks)
                is_sound = is_sound and not faults
                found = ", ".join(f"{clause} {count}" for clause, count in faults.most_common()) or "0"
                cells = (*(f"{count:,}" for count in counts), found)
                print(f"| `{env_id}` | {level} | {' | '.join(cells)} |", flush=True)
    return 0 if is_sound else 1


if __name__ == "__main__":
    raise SystemExit(main())
