#!/usr/bin/env python3
"""Play environments with an agent program whose model knows the answers, for the official results.

    python hub/reference_programs.py PROGRAM FOLDER EPISODES ID ...

PROGRAM is one that ``gem harness install`` has installed. It runs as it is, with its prompts and tools; its model calls
are answered by the reference policy of the environment. So the results show which environments a real program can solve
by the tools that GEM gives it, and not how good a model is. Each environment has a run in FOLDER, and a record in
``hub/results``, as of ``hub/official_results.py``, where the model is called ``knows-the-answers`` and the harness has
the program's name and version.
"""

from __future__ import annotations

import os
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import official_results

from gem.core import Env
from gem_eval.clients import Completion
from gem_eval.runs import RunFolder, evaluate_sync
from gem_gateway.harnesses import harness_policy
from gem_gateway.harnesses.reference_model import ReferenceModel, with_reference_model
from gem_gateway.harnesses.table import harness_of

PROGRAM = "GEM_REFERENCE_PROGRAM"
"""The variable by which :func:`player`, which a run names, finds the program."""
MODEL = "knows-the-answers"
SECONDS = 600.0
"""For one episode, of which a program needs some ten on a quiet machine."""


def main(program: str, folder: str, episodes: str, *ids: str) -> int:
    """Play, and keep the results; return the exit code."""
    os.environ[PROGRAM] = program
    harness = f"{program} {harness_of(program).version}"
    for name in ids:
        out = Path(folder, f"{name.replace(':', '-')}-{program}")
        config = {
            "environment": [name],
            "episodes": int(episodes),
            "agent": "reference_programs:player",
            "model": MODEL,
            "concurrency": 3,
        }
        if not (out / "run.json").exists():
            evaluate_sync(config, out=out, client=UncountedModel())
        if not official_results.keep(RunFolder.open(out), harness):
            return 1
    return 0


class UncountedModel(ReferenceModel):
    """A model that knows the answers, and states no tokens: nothing has counted any."""

    async def chat(self, *arguments: Any, **options: Any) -> Completion:
        return replace(await super().chat(*arguments, **options), usage=None)


def player(env: Env[Any, Any]) -> Any:
    """Return the policy of an environment: the program, and a model that plays as the reference policy does."""
    program = os.environ[PROGRAM]
    model = UncountedModel(plays_by_command=harness_of(program).tools == "command")
    return with_reference_model(harness_policy(program, model, seconds=SECONDS), model)(env)


if __name__ == "__main__":
    if len(sys.argv) < 5:
        sys.exit(__doc__)
    sys.exit(main(*sys.argv[1:]))
