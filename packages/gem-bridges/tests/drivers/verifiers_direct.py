"""Plays scripted answers to a task set with the evaluation of verifiers 0.4. Arguments: the id, the file of episodes.

An episode is an object with ``texts``, of which the first is the first message to the model, and ``actions``.
"""

import asyncio
import json
import os
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

from scripted_model import serve
from verifiers.v1.cli.eval.runner import run_eval
from verifiers.v1.configs.cli.eval import EvalConfig

episodes = json.loads(Path(sys.argv[2]).read_text(encoding="utf-8"))
os.environ["NO_KEY"] = "none"
with TemporaryDirectory() as folder:
    config = {
        "env": {
            "taskset": {"id": sys.argv[1]},
            "agent": {"harness": {"id": "null"}, "runtime": {"type": "subprocess"}},
        },
        "model": "scripted",
        "client": {"base_url": serve(episodes), "api_key_var": "NO_KEY"},
        "output_dir": folder,
        "rich": None,
        "push": False,
    }
    found = asyncio.run(run_eval(EvalConfig.model_validate(config)))
scores = {one.task.data.idx: [one.traces[0].reward, one.traces[0].metrics] for one in found if one.ok}
print(json.dumps([scores[place] for place in sorted(scores)]))
