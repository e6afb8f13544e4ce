"""The tasks of published ids keep their meaning: states, solutions, words and first observations, byte for byte."""

from __future__ import annotations

import json
from dataclasses import fields
from hashlib import sha256
from typing import Any

import pytest

import gem
from gem_envs_desk.env import DeskEnv
from gem_envs_desk.task import DeskTask

DIGESTS = {
    "Retail": "c2a2ce226d0b00b0ad886025f5bc09af633728b6c64a05efd83de1bd5cd5fe67",
    "Airline": "db62d06f4e53dd5f220fdf9d5c169cb68298eaa39d6f98b09cfcb33af313be10",
    "Telecom": "903174208267ca0edd42fa20e4c5063b7c324defb322ba78c1ec1c3bc66321bf",
}
"""Desk → SHA-256 over 36 tasks and the first observations of six of them."""


def written(task: DeskTask) -> str:
    """Return all of a task that an episode without typed speech acts depends on."""
    parts: list[Any] = [task.kind, task.state, task.gold, task.facts, task.script, task.shares, task.naive]
    return json.dumps(parts, default=_chosen, sort_keys=True)


def _chosen(value: Any) -> dict[str, Any]:
    """Return the fields of a part of a task that do not have their defaults."""
    values = {field.name: getattr(value, field.name) for field in fields(value)}
    defaults = {field.name: field.default for field in fields(value)}
    return {name: one for name, one in values.items() if one != defaults[name]}


@pytest.mark.parametrize("name", DIGESTS)
def test_the_tasks_of_a_published_id_are_the_same(name: str) -> None:
    """Whatever the desks share, and whatever their later versions say, version 0 says what it said."""
    digest = sha256()
    for level in (1, 2, 3):
        for split in ("train", "test"):
            env = gem.make(f"desk:{name}-v0", level=level, split=split)
            assert isinstance(env, DeskEnv)
            for number in range(6):
                digest.update(written(env.domain.task(number, level, split)).encode())
            digest.update(env.reset(options={"task": 0})[0].encode())
    assert digest.hexdigest() == DIGESTS[name]
