"""Plays scripted episodes with the evaluation of verifiers 0.4. Argument: the file of episodes."""

import asyncio
import json
import os
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

from scripted_model import serve
from verifiers.v1.cli.eval.runner import run_eval
from verifiers.v1.configs.cli.eval import EvalConfig

episodes = json.loads(Path(sys.argv[1]).read_text(encoding="utf-8"))
os.environ["NO_KEY"] = "none"
found = []
for episode in episodes:
    task = {"id": "gem-bridges", "env_id": episode["id"], "tasks": 1, "first_seed": episode["seed"]}
    with TemporaryDirectory() as folder:
        config = {
            "env": {"taskset": task},
            "model": "scripted",
            "client": {"base_url": serve([episode]), "api_key_var": "NO_KEY"},
            "output_dir": folder,
            "rich": None,
            "push": False,
        }
        (one,) = asyncio.run(run_eval(EvalConfig.model_validate(config)))
        (trace,) = one.traces
        shown = [message.content for message in trace.branches[-1].messages if message.role == "user"]
        found.append({"shown": shown, "total": trace.reward})
print(json.dumps(found))
