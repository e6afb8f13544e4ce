"""Plays environments of skyrl-gym in a process and a Python of their own, for ``line_server.py``.

It makes them as SkyRL's generator does: ``skyrl_gym.make(NAME, env_config=…, extras=ROW)``, ``init(prompt)``, then
``step`` with each text until ``done``. The script needs no package of GEM.
"""

from __future__ import annotations

import json
import math
import random
import sys
from importlib import import_module
from pathlib import Path
from typing import Any

_GAMES: dict[int, Any] = {}  # number of an episode -> its environment
_LOADED: dict[str, Any] = {}  # "name", "config", "rows" and "max_turns" of the environment


def _plain(value: Any) -> Any:
    """Return what JSON can hold."""
    if isinstance(value, dict):
        return {str(key): _plain(held) for key, held in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(held) for held in value]
    if value is not None and hasattr(value, "item") and not hasattr(value, "__len__"):
        value = value.item()  # a number of NumPy
    return value if value is None or isinstance(value, (str, int, float, bool)) else str(value)


def _rows(path: Path, name: str) -> list[dict[str, Any]]:
    """Return the rows that are meant for an environment: those that name it, or none."""
    if path.suffix == ".parquet":
        rows = json.loads(import_module("pandas").read_parquet(path).to_json(orient="records"))
    else:
        rows = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines() if line.strip()]
    for number, row in enumerate(rows):
        if not isinstance(row, dict) or not isinstance(row.get("prompt"), list):
            raise ValueError(f"row {number} of {path} has no prompt that is a list of chat messages")
    return [row for row in rows if row.get("env_class") in (None, name)]


def _load(request: dict[str, Any]) -> dict[str, Any]:
    if request["folder"]:
        sys.path.insert(0, request["folder"])
    gym = import_module("skyrl_gym")
    name = request["name"]
    if request["entry_point"]:
        gym.register(id=name, entry_point=request["entry_point"])
    gym.envs.registration.spec(name)
    config = import_module("omegaconf").OmegaConf.create(request["config"])
    rows = _rows(Path(request["rows"]), name)
    if not rows:
        raise ValueError(f"{request['rows']} has no row for the environment {name!r}")
    _LOADED.update(name=name, config=config, rows=rows, max_turns=request["max_turns"])
    return {"rows": len(rows)}


def _open(request: dict[str, Any]) -> dict[str, Any]:
    random.seed(request["seed"])
    import_module("numpy").random.seed(request["seed"])
    row = dict(_LOADED["rows"][request["row"]])
    prompt = row.pop("prompt")
    extras = {**row, "max_turns": _LOADED["max_turns"]}
    env = import_module("skyrl_gym").make(_LOADED["name"], env_config=_LOADED["config"], extras=extras)
    messages, about = env.init(prompt)
    _GAMES[request["game"]] = env
    return {"messages": _plain(messages), "metadata": _plain(about)}


def answered(request: dict[str, Any]) -> dict[str, Any]:
    """Return the answer to a request."""
    op = request["op"]
    if op == "load":
        return _load(request)
    if op == "open":
        return _open(request)
    if op == "close":
        env = _GAMES.pop(request["game"], None)
        if env is not None:
            env.close()
        return {}
    env = _GAMES[request["game"]]
    turn = env.step(request["text"])
    reward = _plain(turn["reward"])
    if isinstance(reward, float) and not math.isfinite(reward):
        raise ValueError(f"the environment returned the reward {reward}, which is no finite number")
    metadata = {**(turn.get("metadata") or {})}
    if turn.get("postprocessed_action") is not None:
        metadata["postprocessed_action"] = turn["postprocessed_action"]
    return {
        "messages": _plain(turn["observations"]),
        "reward": reward,
        "done": bool(turn["done"]),
        "metadata": _plain(metadata),
        "metrics": _plain(env.get_metrics()) if turn["done"] else {},
    }
