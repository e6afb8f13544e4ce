"""Which agent programs solve which tasks, each played by the real program with a model that knows the answers.

    python benchmarks/results.py run agent_programs -- benchmarks/agent_programs.py [NAME]...

Each program that is named (or all) and that ``gem harness install`` has installed plays a task in a terminal (with the
engine of the variable ``GEM_TERMINAL_ENGINE``), one at a desk, and a game. The others are listed as not run.
"""

from __future__ import annotations

import asyncio
import os
import sys

from gem_gateway.harnesses import harnesses
from gem_gateway.harnesses.harness import Harness
from gem_gateway.harnesses.installation import is_installed
from gem_gateway.harnesses.trial import HarnessTrial, try_out

TASKS = {"terminal": "terminal:Ledger-v0", "desk": "desk:Retail-v0", "game": "game:GuessTheNumber-v0-easy"}
SEED = 3


async def tried(name: str, env_id: str) -> HarnessTrial:
    """Play one task."""
    kwargs = {"engine": os.environ.get("GEM_TERMINAL_ENGINE", "auto")} if env_id.startswith("terminal:") else {}
    trial = await try_out(name, env_id, seed=SEED, kwargs=kwargs)
    if trial.record.failure is not None:
        print(f"{name}, {env_id}: {trial.record.failure.message}", file=sys.stderr)
    return trial


async def row(harness: Harness, is_wanted: bool) -> list[str]:
    """Return the row of one program."""
    facts = [harness.name, harness.version, harness.dialect, "MCP" if harness.tools == "mcp" else "a command"]
    if not (is_wanted and is_installed(harness)):
        return [*facts, *["not run"] * len(TASKS), ""]
    trials = [await tried(harness.name, env_id) for env_id in TASKS.values()]
    calls = ", ".join(str(trial.model_calls) for trial in trials)
    return [*facts, *(trial.verdict for trial in trials), calls]


async def main(names: list[str]) -> None:
    """Print the table."""
    print("| program | version | dialect | plays by | terminal | desk | game | model calls |")
    print("|---|---|---|---|---|---|---|---|")
    for harness in harnesses().values():
        print(f"| {' | '.join(await row(harness, not names or harness.name in names))} |", flush=True)


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1:]))
