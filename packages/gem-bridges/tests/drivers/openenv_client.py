"""Plays scripted episodes with openenv's client, each as a task of the Task API. Arguments: the file, the server."""

import json
import sys
import urllib.request
from pathlib import Path

from openenv.core.generic_client import GenericEnvClient

found = []
for episode in json.loads(Path(sys.argv[1]).read_text(encoding="utf-8")):
    base = f"{sys.argv[2]}/openenv/{episode['id']}"
    (name,) = json.load(urllib.request.urlopen(f"{base}/list_environments", timeout=60))
    body = json.dumps({"split": "train", "index": episode["seed"]}).encode()
    task = json.load(urllib.request.urlopen(f"{base}/{name}/task", body, timeout=60))["task"]
    with GenericEnvClient(base_url=base).sync() as env:
        result = env.reset(split="train", index=episode["seed"])
        played = {"texts": [result.observation["text"]], "rewards": [], "flags": [], "ends": [], "task": task}
        for action in episode["actions"]:
            result = env.step({"action": action})
            about = result.observation["metadata"]
            played["texts"].append(result.observation["text"])
            played["rewards"].append(result.reward)
            played["flags"].append([about["terminated"], about["truncated"]])
            played["ends"].append(result.done)
    found.append(played)
print(json.dumps(found))
