"""Plays scripted episodes as environments of Gymnasium. Argument: the file of episodes."""

import json
import sys
from pathlib import Path

from gem_bridges.gymnasium.outward import GemAsGymnasium

found = []
for episode in json.loads(Path(sys.argv[1]).read_text(encoding="utf-8")):
    env = GemAsGymnasium(episode["id"])
    played = {"texts": [env.reset(seed=episode["seed"])[0]], "rewards": [], "flags": []}
    for action in episode["actions"]:
        text, reward, terminated, truncated, _ = env.step(action)
        played["texts"].append(text)
        played["rewards"].append(reward)
        played["flags"].append([terminated, truncated])
    env.close()
    found.append(played)
print(json.dumps(found))
