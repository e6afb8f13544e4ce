"""Plays environments for their pages, in a process of their own: scores of simple agents, and an episode.

An environment may hang, crash or print, and its package may be slow to import. So the environments of a package share
one process, which is replaced when it dies or when one of them takes too long. What an environment could not do is kept
as a sentence for its page.
"""

from __future__ import annotations

import contextlib
import json
import multiprocessing
import os
import signal
from dataclasses import asdict
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import gem
from devtools.shell import ROOT
from gem.policies import make_policy
from gem_hub.first_observations import as_text
from gem_rollout.speed import measure
from gem_testing.episodes import has_ended
from gem_testing.scores import scores_of

__all__ = ["LONGEST", "LONGEST_EXAMPLE", "EnvironmentPlayer", "episode_of", "played"]

LONGEST = 180.0
"""Wall-clock seconds that an environment may take."""
LONGEST_EXAMPLE = 30.0
"""The same where it is played for an episode alone."""
EPISODES = 4
SECONDS = 0.15
"""Wall-clock seconds for each agent and for the speed of each variant."""
MOST_TURNS = 30
"""Turns of an episode that a page shows."""
MOST_CHARACTERS = 600_000
"""Characters of all observations of an episode, most of them pictures, after which a page shows no further turn."""
_LONGEST_REASON = 300


class EnvironmentPlayer:
    """The process that plays the environments of a package; a context manager."""

    def __init__(self, longest: float = LONGEST) -> None:
        self.longest = longest
        self._process: Any = None
        self._connection: Connection | None = None

    def play(self, env_id: str, *, with_episode: bool, with_scores: bool = True) -> dict[str, Any]:
        """Return what :func:`played` returns, or an error where it did not return in time or ended its process."""
        if self._connection is None:
            self._start()
        assert self._connection is not None
        try:
            self._connection.send((env_id, with_episode, with_scores))
            if self._connection.poll(self.longest):
                line: dict[str, Any] = json.loads(self._connection.recv_bytes())
                return line
            reason = f"it took longer than {self.longest:g} seconds"
        except (EOFError, OSError):
            reason = "it ended the process that played it"
        self.close()
        return {"id": env_id, "error": reason}

    def close(self) -> None:
        """End the process with all its children."""
        if self._connection is None:
            return
        self._connection.close()
        self._connection = None
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self._process.pid, signal.SIGKILL)
        self._process.join()

    def __enter__(self) -> EnvironmentPlayer:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _start(self) -> None:
        context = multiprocessing.get_context("spawn")
        self._connection, other = context.Pipe()
        self._process = context.Process(target=_serve, args=(other,))
        self._process.start()
        other.close()
        # Its own group, before anything can be asked of it, so that what it starts can be ended.
        assert self._connection.recv_bytes() == b"ready"


def _serve(connection: Connection) -> None:
    os.setsid()
    nowhere = os.open(os.devnull, os.O_RDWR)
    for descriptor in (0, 1, 2):  # what an environment prints is no part of the build's output
        os.dup2(nowhere, descriptor)
    connection.send_bytes(b"ready")
    with contextlib.suppress(EOFError):
        while True:
            env_id, with_episode, with_scores = connection.recv()
            line = played(env_id, with_episode=with_episode, with_scores=with_scores)
            connection.send_bytes(json.dumps(line).encode())


def played(env_id: str, *, with_episode: bool, with_scores: bool = True) -> dict[str, Any]:
    """Return the scores, the speed and the episode of an environment; an error where it cannot be played here."""
    line: dict[str, Any] = {"id": env_id}
    try:
        spec = gem.spec(env_id)
        agents = ["random"] if spec.reference_policy is None else ["reference", "random"]
        if with_scores:
            line["scores"] = {agent: asdict(score) for agent, score in scores_of(spec, EPISODES, SECONDS).items()}
            if all(score["mean"] is None for score in line["scores"].values()):
                return {"id": env_id, "error": _reason(next(score["error"] for score in line["scores"].values()))}
            agents = [agent for agent in agents if agent == "random" or line["scores"][agent]["mean"] is not None]
        if with_episode:
            if with_scores:
                line["steps_per_cpu_second"] = measure(spec, SECONDS, 0).steps_per_cpu_second
            line |= _example(env_id, agents)
    except (Exception, SystemExit) as error:  # a data set that is not here, an engine that does not run
        line["error"] = _reason(f"{type(error).__name__}: {error}")
    return line


def _example(env_id: str, agents: list[str]) -> dict[str, Any]:
    """Return an episode of the first of the agents that can play, and its name."""
    for agent in agents[:-1]:
        with contextlib.suppress(Exception):
            return {"policy": agent, "episode": episode_of(env_id, agent)}
    return {"policy": agents[-1], "episode": episode_of(env_id, agents[-1])}


def _reason(text: str) -> str:
    """Return an error in one line, without the folders of this machine."""
    line = " ".join(text.split()).replace(str(ROOT), "…").replace(str(Path.home()), "~")
    return line if len(line) <= _LONGEST_REASON else f"{line[: _LONGEST_REASON - 1]}…"


def episode_of(env_id: str, agent: str = "reference") -> list[dict[str, Any]]:
    """Return the turns of a policy with seed 0: observation, action, reward; then the last observation.

    Where several agents play, a turn has their rewards by name.
    """
    turns: list[dict[str, Any]] = []
    size = 0
    with gem.make(env_id) as env:
        policy = make_policy(agent, env)
        observation, info = env.reset(seed=0)
        policy.reset(observation, info)
        while len(turns) < MOST_TURNS and size < MOST_CHARACTERS:
            action = policy.act(observation, info)
            turn = {"observation": _seen(observation), "action": _said(action)}
            size += len(turn["observation"])
            observation, reward, terminated, truncated, info = env.step(action)
            several = isinstance(reward, dict)
            turns.append({**turn, "reward": None, "rewards": reward} if several else {**turn, "reward": float(reward)})
            if has_ended(env, terminated, truncated):
                break
        turns.append({"observation": _seen(observation), "action": "", "reward": None, "last": True})
    return turns


def _seen(observation: Any) -> str:
    """Return what is to see, of each agent where there are several."""
    if not isinstance(observation, dict):
        return as_text(observation)
    return "\n\n".join(f"{agent} sees:\n{as_text(seen)}" for agent, seen in observation.items())


def _said(action: Any) -> str:
    if isinstance(action, dict) and all(isinstance(said, str) for said in action.values()):
        return "\n".join(f"{agent}: {said}" for agent, said in action.items())
    return action if isinstance(action, str) else json.dumps(action, ensure_ascii=False, indent=1)
