"""Which agent programs solve which tasks, each played by the real program with a model that knows the answers.

    python benchmarks/results.py run agent_programs -- benchmarks/agent_programs.py [NAME]...

Each program that is named (or all) and that ``gem harness install`` has installed plays a task in a terminal, in a
container of either engine, one at a desk, and a game. It runs in a box: the container of the task, or one of its own.
The programs that are not installed are listed as not run.
"""

from __future__ import annotations

import asyncio
import sys
from typing import Any

from gem_gateway.harnesses import harnesses
from gem_gateway.harnesses.harness import Harness
from gem_gateway.harnesses.installation import is_installed
from gem_gateway.harnesses.trial import HarnessTrial, try_out

TASKS: dict[str, tuple[str, dict[str, Any]]] = {
    "terminal, namespace": ("terminal:Ledger-v0", {"engine": "namespace"}),
    "terminal, Docker": ("terminal:Ledger-v0", {"engine": "docker"}),
    "desk": ("desk:Retail-v0", {}),
    "game": ("game:GuessTheNumber-v0-easy", {}),
}
SEED = 3
SECONDS = 240.0
"""For one episode, of which a program needs some ten on a quiet machine."""


async def tried(name: str, task: str) -> HarnessTrial:
    """Play one task."""
    env_id, kwargs = TASKS[task]
    trial = await try_out(name, env_id, seed=SEED, kwargs=kwargs, seconds=SECONDS, box="always")
    if trial.record.failure is not None:
        print(f"{name}, {task}: {trial.record.failure.message}", file=sys.stderr)
    return trial


async def row(harness: Harness, is_wanted: bool) -> list[str]:
    """Return the row of one program."""
    facts = [harness.name, harness.version, harness.dialect, "MCP" if harness.tools == "mcp" else "a command"]
    if not (is_wanted and is_installed(harness)):
        return [*facts, *["not run"] * len(TASKS), ""]
    trials = [await tried(harness.name, task) for task in TASKS]
    calls = ", ".join(str(trial.model_calls) for trial in trials)
    return [*facts, *(trial.verdict for trial in trials), calls]


async def main(names: list[str]) -> None:
    """Print the table."""
    print(f"| program | version | dialect | plays by | {' | '.join(TASKS)} | model calls |")
    print(f"|{'---|' * (len(TASKS) + 5)}")
    for harness in harnesses().values():
        print(f"| {' | '.join(await row(harness, not names or harness.name in names))} |", flush=True)


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1:]))
