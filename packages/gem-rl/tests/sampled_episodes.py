"""Episodes of a server that samples random token ids, and its own log of what it was asked and what it answered."""

from __future__ import annotations

import random
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np

import gem
from gem.core import Env
from gem.multiagent import MultiAgentEnv
from gem.tools import ToolEnvWrapper
from gem_rl import rl_rows, token_rows
from gem_rl.adapters import SampledTokens, TokenPolicy, trainer_rows
from gem_rollout import rollout
from gem_rollout.chat_templates.files import ChatTemplateFile
from gem_rollout.trajectory import Trajectory

TURNS = 6

Key = tuple[int, int, str]
"""Seed, repetition and agent."""


class Talk(Env[str, Any]):
    """Answers everything with what it heard, for a fixed number of turns."""

    def reset(self, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[str, dict[str, Any]]:
        super().reset(seed=seed)
        self.turn = 0
        return f"Say something. The word is {self.rng.randrange(10**6)}.", {}

    def step(self, action: Any) -> tuple[str, float, bool, bool, dict[str, Any]]:
        self.turn += 1
        said = action if isinstance(action, str) else str(action.get("content"))
        over = self.turn >= TURNS
        return f"You said {said[:40]!r}. Go on.", self.rng.random(), over, False, {"success": over} if over else {}


class Debate(MultiAgentEnv):
    """Two agents speak at the same time and hear each other."""

    def __init__(self) -> None:
        super().__init__(["pro", "contra"])

    def observe(self, agent: str) -> str:
        return f"You are {agent}. {self.heard}"

    def reset(self, seed: int | None = None, options: dict[str, Any] | None = None) -> Any:
        self.heard, self.turn = "Begin.", 0
        return super().reset(seed=seed)

    def _process_actions(self, actions: dict[str, Any]) -> Any:
        self.turn += 1
        self.heard = " ".join(str(text)[:20] for text in actions.values())
        over = self.turn >= TURNS
        agents = list(actions)
        return (
            {agent: self.observe(agent) for agent in agents},
            dict.fromkeys(agents, 0.5),
            dict.fromkeys(agents, over),
            dict.fromkeys(agents, False),
            {agent: {} for agent in agents},
        )


def add(a: int, b: int) -> int:
    """Add two numbers.

    Args:
        a: the first.
        b: the second.
    """
    return a + b


def with_tool(env: Env[Any, Any]) -> Env[Any, Any]:
    """Offer the tool ``add``."""
    return ToolEnvWrapper(env, [add])


def shortest(messages: list[dict[str, Any]]) -> str:
    """Summarize a conversation by its length."""
    return f"{len(messages)} messages"


HISTORIES: dict[str, Any] = {
    "messages": "messages",
    "none": (),
    "window": gem.wrapper("sliding_window", turns=2, form="messages"),
    "summary": gem.wrapper("summarize", summarizer=shortest, after_turns=3, keep_turns=1, form="messages"),
    "budget": gem.wrapper("token_budget", max_tokens=80, form="messages"),
    "tools": (with_tool, "messages"),
}
"""Context rules, and native calls of a tool under the plainest of them."""


@contextmanager
def environments() -> Iterator[None]:
    """Register the environments of this file."""
    gem.register("test:Talk-v0", Talk)
    gem.register("test:Debate-v0", Debate)
    try:
        yield
    finally:
        for name in ("test:Talk-v0", "test:Debate-v0"):
            gem.registry.unregister(name)


class PieceTokenizer(ChatTemplateFile):
    """Takes the longest known piece at each place, so that ``a`` and ``b`` sampled alone are other ids than ``ab``."""

    PIECES = ("ab", "abc", "say", "You", "said", " the", ". ", "\n\n", "Go on", "<think>", "</think>", "message")
    SPECIAL = ("<user>", "<assistant>", "<tool>", "<end>")

    def __init__(self, chat_template: str) -> None:
        super().__init__(chat_template)
        characters = [chr(code) for code in range(32, 127)] + ["\n", "ä", "…", "\N{REPLACEMENT CHARACTER}"]
        self.pieces = [*self.SPECIAL, *self.PIECES, *characters]
        self._ids = {piece: place for place, piece in enumerate(self.pieces)}
        self.end = self._ids["<end>"]

    def __len__(self) -> int:
        return len(self.pieces)

    def encode(self, text: str, *, add_special_tokens: bool) -> list[int]:
        found, place = [], 0
        while place < len(text):
            size = next(size for size in range(11, 0, -1) if size == 1 or text[place : place + size] in self._ids)
            found.append(self._ids.get(text[place : place + size], self._ids["\N{REPLACEMENT CHARACTER}"]))
            place += size
        return found

    def decode(self, token_ids: Sequence[int], *, skip_special_tokens: bool) -> str:
        least = len(self.SPECIAL) if skip_special_tokens else 0
        return "".join(self.pieces[token] for token in token_ids if token >= least)


class RandomServer:
    """Samples from the whole vocabulary, special tokens included, and writes down each request and answer.

    Args:
        tokenizer: has ``encode``, ``decode``, ``end`` and a length.
        texts: answers that a model could give, whose tokens are now and then those of single characters.
    """

    def __init__(self, tokenizer: Any, texts: Sequence[str]) -> None:
        self.tokenizer = tokenizer
        self.texts = texts
        self.log: dict[Key, list[tuple[list[int], list[int], list[float]]]] = defaultdict(list)
        self.retokenized = 0
        """Answers whose text has other ids than were sampled."""

    def policy(self, agent: str = "", **arguments: Any) -> Callable[[Env[Any, Any]], TokenPolicy]:
        """Return what makes a policy for an environment."""

        async def generate(prompt: list[int], key: tuple[str, int, int]) -> SampledTokens:
            _, seed, repetition = key
            log = self.log[seed, repetition, agent]
            ids = self._sample(random.Random(f"{key} {agent} {len(log)}"))
            logprobs = [-0.001 * place - 0.5 for place in range(len(ids))]
            log.append((list(prompt), list(ids), logprobs))
            self.retokenized += self.tokenizer.encode(
                self.tokenizer.decode(ids, skip_special_tokens=False), add_special_tokens=False
            ) != list(ids)
            return SampledTokens(ids, logprobs)

        return lambda env: TokenPolicy(self.tokenizer, generate, env=env.spec.id if env.spec else "", **arguments)

    def _sample(self, rng: random.Random) -> list[int]:
        kind = rng.randrange(4)
        if kind == 0:
            return [rng.randrange(len(self.tokenizer)) for _ in range(rng.randrange(12))]
        text = rng.choice(self.texts)
        pieces = text if kind == 1 else [text]
        ids = [token for piece in pieces for token in self._encode(piece)]
        return ids if rng.random() < 0.3 else [*ids, self.tokenizer.end]

    def _encode(self, text: str) -> list[int]:
        return list(self.tokenizer.encode(text, add_special_tokens=False))


def play(
    server: RandomServer, env_id: str, wrappers: Any, *, agents: Sequence[str] = (), **arguments: Any
) -> list[Trajectory]:
    """Return two groups of two episodes through the rollout engine."""
    made: Any = server.policy(**arguments)
    if agents:
        made = {agent: server.policy(agent, **arguments) for agent in agents}
    found = list(rollout(env_id, made, num_envs=4, episodes=4, group=2, seed=5, wrappers=wrappers))
    failures = [one.failure for one in found if one.failure is not None]
    assert not failures, failures
    return found


def check(episodes: Iterable[Trajectory], server: RandomServer) -> list[int]:
    """Compare each episode's rows with the server's log; return the number of rows of each episode and agent.

    Every sampled token is trained on once: joined over the rows, the mask of a turn gives exactly the tokens that the
    server sampled, after exactly the prompt that it was sent.
    """
    counts = []
    for episode in episodes:
        stored = Trajectory.from_dict(episode.to_dict())
        for agent in episode.agents or [""]:
            log = server.log[episode.seed or 0, episode.repetition, agent]
            for record in (episode, stored):
                lived = record.for_agent(agent) if agent else record
                assert len(lived.transitions) == len(log) >= TURNS
                counts.append(_check_rows(lived, log))
            counts.pop()
    return counts


def _check_rows(episode: Trajectory, log: list[tuple[list[int], list[int], list[float]]]) -> int:
    rows = token_rows(episode)
    for turn, (prompt, ids, logprobs) in enumerate(log):
        holders = [row for row in rows if (row.turns == turn).any()]
        assert len(holders) == (1 if ids else 0)
        for row in holders:
            places = np.flatnonzero(row.turns == turn)
            assert row.token_ids[row.turns == turn].tolist() == ids
            assert row.token_ids[: places[0]].tolist() == prompt
            assert row.logprobs[places].tolist() == logprobs
    sampled = sum(len(ids) for _, ids, _ in log)
    assert sum(int(row.sampled.sum()) for row in rows) == sampled
    for row in rows:
        assert not (row.sampled & row.observed).any()
        first = len(row) - int(row.sampled.sum()) - int(row.observed.sum())
        assert not (row.sampled | row.observed)[:first].any(), "only the first prompt has neither mask"
        assert (row.sampled | row.observed)[first:].all()
    exported = list(rl_rows([episode]))
    assert sum(sum(row["action_mask"]) for row in exported) == sampled
    for_trainer = [row for row in trainer_rows(episode) if row.response_ids]
    flat = [
        token for row in for_trainer for token, ours in zip(row.response_ids, row.response_mask, strict=True) if ours
    ]
    assert flat == [token for _, ids, _ in log for token in ids]
    paid = sum(sum(row.rewards) for row in for_trainer)
    assert np.isclose(paid, episode.episode_return)
    assert np.isclose(sum(sum(row["rewards"]) for row in exported), episode.episode_return)
    return len(rows)
