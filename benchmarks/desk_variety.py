"""Counts in how many forms the customers of the desks begin, their names and data aside.

    python benchmarks/desk_variety.py [--seeds N] [ID …]

Resets each id with the seeds 0 to N - 1 (1,000 unless said otherwise). A form is the customer's first message in which
every value of the task's records, every word of a product, a route or a title and every number is a blank. Prints a
table in Markdown: the forms, the different words, and the wishes that a task has.
"""

from __future__ import annotations

import argparse
import re

import gem
from gem_envs_desk.env import DeskEnv

IDS = tuple(
    f"desk:{name}{version}"
    for version in ("-v0", "-v1")
    for name in ("Retail", "Airline", "Telecom", "Library")
    if (name, version) != ("Library", "-v0")
)
_WORD = re.compile(r"[a-z']+")
_NUMBER = re.compile(r"\d[\d:.-]*")


def first_message(env: DeskEnv, seed: int) -> tuple[str, str]:
    """Return the customer's first message of a seed, and its form."""
    observation, _ = env.reset(seed=seed)
    message = observation.rpartition("# The customer\n\n")[2]
    rows = [row for table in env.current.state.values() for row in table]
    values = {value for row in rows for value in row.values() if isinstance(value, str) and len(value) > 2}
    known = sorted((value for value in values if value in message), key=len, reverse=True)
    form = message
    for value in known:
        form = form.replace(value, "_")
    return message, _NUMBER.sub("_", form).replace("an _", "a _")


def row(env_id: str, seeds: int) -> str:
    """Return a line of the table."""
    forms, words, wishes = set[str](), set[str](), set[int]()
    with gem.make(env_id) as env:
        inner = env.unwrapped
        assert isinstance(inner, DeskEnv)
        for seed in range(seeds):
            message, form = first_message(inner, seed)
            forms.add(form)
            words |= set(_WORD.findall(message.lower()))
            assert inner.current.script is not None
            wishes.add(len(inner.current.script.wishes))
    cells = (len(forms), len(words), " or ".join(map(str, sorted(wishes))))
    return f"| `{env_id}` | {' | '.join(map(str, cells))} |"


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("ids", nargs="*")
    parser.add_argument("--seeds", type=int, default=1000)
    options = parser.parse_args()
    print(f"| id | forms of {options.seeds:,} seeds | words | wishes |\n|---|---|---|---|")
    for env_id in options.ids or IDS:
        print(row(env_id, options.seeds), flush=True)


if __name__ == "__main__":
    main()
