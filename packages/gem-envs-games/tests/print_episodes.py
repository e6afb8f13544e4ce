"""Prints a digest of one random episode of every game; run by test_every_game in processes of its own."""

from __future__ import annotations

import hashlib
from pathlib import Path

import gem
import gem_envs_games
from gem.manifest import read_specs

for spec in read_specs(Path(gem_envs_games.__file__).with_name("environments.toml")):
    env = gem.make(spec)
    shown = [str(env.reset(seed=17))]
    for _ in range(30):
        result = env.step(env.sample_random_action())
        shown.append(str(result))
        if result[2] or result[3]:
            break
    shown.append(str(env.reset()))
    print(spec.id, hashlib.sha256("\n".join(shown).encode()).hexdigest())
