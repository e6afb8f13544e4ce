"""Counts how many different tasks the office has, names aside, and how long their plans are.

    python benchmarks/office_variety.py [--seeds N] [ID …]

Draws the tasks with the numbers 0 to N - 1 of each id (1,000 unless said otherwise). A form is the golden plan in which
free texts and addresses are blanks, and each key of a row is the number of its first appearance: two plans have one
form if they do the same with other people, orders and rooms. "Forms" leaves out amounts and dates as well; "tasks" has
the amounts, and the dates as days from today. Prints a table in Markdown.
"""

from __future__ import annotations

import argparse
import re
from collections.abc import Mapping
from datetime import date
from typing import Any

import gem
from gem_envs_office.env import OfficeEnv
from gem_envs_office.families.registry import office_task
from gem_envs_office.task import OfficeTask

IDS = tuple(
    f"office:{family}-v0{level}"
    for family in ("Refund", "Onboarding", "Incident", "MonthEnd", "Replan", "Mixed")
    for level in ("", "-level2")
)
_FREE = {"subject", "body", "text", "title", "name", "contains", "recipient", "email", "requester"}
_KEY = re.compile(r"\$\w+|[A-Z]{1,3}\d{3,}")
_DATE = re.compile(r"\d{4}-\d\d-\d\d")


def form(task: OfficeTask, *, exact: bool) -> str:
    """Return the plan of a task without names; with amounts and dates where ``exact`` says so."""
    today, known = date.fromisoformat(task.today), dict[str, int]()

    def blank(value: Any) -> Any:
        if isinstance(value, Mapping):
            return [(name, "_" if name in _FREE else blank(one)) for name, one in value.items()]
        if isinstance(value, list):
            return [blank(one) for one in value]
        if not isinstance(value, str):
            return value if exact else "_"
        if _KEY.fullmatch(value):
            return known.setdefault(value, len(known))
        return _DATE.sub(lambda found: days(found[0]), value) if exact else _DATE.sub("_", value)

    def days(text: str) -> str:
        return str((date.fromisoformat(text) - today).days)

    return repr([(call.tool, blank(call.arguments)) for call in task.gold])


def row(env_id: str, seeds: int) -> str:
    """Return a line of the table."""
    forms, tasks, lengths = set[int](), set[int](), list[int]()
    with gem.make(env_id) as env:
        inner = env.unwrapped
        assert isinstance(inner, OfficeEnv)
        for number in range(seeds):
            task = office_task(inner.family, number, inner.level, inner.split, inner.attack)
            forms.add(hash(form(task, exact=False)))
            tasks.add(hash(form(task, exact=True)))
            lengths.append(len(task.gold))
    lengths.sort()
    cells = (f"{len(forms):,}", f"{len(tasks):,}", f"{lengths[0]} to {lengths[-1]}", lengths[len(lengths) // 2])
    return f"| `{env_id}` | {' | '.join(map(str, cells))} |"


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("ids", nargs="*")
    parser.add_argument("--seeds", type=int, default=1000)
    options = parser.parse_args()
    print(f"| id | forms of {options.seeds:,} seeds | tasks | calls of a plan | median |\n|---|---|---|---|---|")
    for env_id in options.ids or IDS:
        print(row(env_id, options.seeds), flush=True)


if __name__ == "__main__":
    main()
