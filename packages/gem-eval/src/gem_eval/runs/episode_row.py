"""The figures of one recorded episode: a line of ``index.jsonl``."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, fields
from typing import Any

from gem_questions.rewards.grader import VERDICTS
from gem_rollout.trajectory import EpisodeKey, Trajectory

__all__ = ["STRICT", "EpisodeRow", "Prices"]

STRICT = {"extra": "forbid", "strict": True}
"""How pydantic reads a dataclass from a configuration file: no unknown keys, no conversions."""


@dataclass(frozen=True, slots=True)
class Prices:
    """The price of a model's tokens, in any currency, for each million tokens."""

    __pydantic_config__ = STRICT

    input: float = 0.0
    output: float = 0.0

    def cost(self, prompt_tokens: int, completion_tokens: int) -> float:
        """Return the price of one request or episode."""
        return (prompt_tokens * self.input + completion_tokens * self.output) / 1e6


@dataclass(frozen=True, slots=True)
class EpisodeRow:
    """What a table of episodes shows, and where the episode lies in ``episodes.jsonl``."""

    offset: int
    """Bytes before the episode's line in ``episodes.jsonl``."""
    length: int
    """Bytes of the line, its newline included."""
    env: str
    """The label of the environment within the run: its id, unless one id occurs in several forms."""
    seed: int
    repetition: int
    episode_return: float
    """The undiscounted sum of the environment's rewards; ``return`` in the file."""
    success: bool | None
    """Whether the task was achieved; None where the environment does not say."""
    turns: int
    prompt_tokens: int | None
    """Sum over the turns; None where the server reports no usage. The same holds for ``completion_tokens``."""
    completion_tokens: int | None
    seconds: float | None
    """Wall-clock seconds of the whole episode."""
    act_seconds: float
    """Wall-clock seconds that the agent took."""
    step_seconds: float
    """Wall-clock seconds that the environment took."""
    tool_calls: int
    stop_reason: str | None
    """As in ``Trajectory.stop_reason``."""
    failure: dict[str, str] | None
    """``source`` and ``kind`` of the failure; None if the episode did not fail."""
    agent: str
    started_at: float | None
    """Unix time in seconds."""
    scores: dict[str, float | None] = field(default_factory=dict)
    """The values of the rewards that were applied beside the environment's, by name; None where one could not tell."""
    cost: float | None = None
    """Price of the tokens; None where the run has no prices or the server reports no usage."""
    grade: str | None = None
    """The grader's verdict on the answer: ``same``, ``different`` or ``unreadable``; None where there is none."""

    @property
    def key(self) -> EpisodeKey:
        """The key of the episode within its run."""
        return EpisodeKey(self.env, self.seed, self.repetition)

    @property
    def failed(self) -> bool:
        """Whether the episode failed, and so counts in no mean."""
        return self.failure is not None

    def to_dict(self) -> dict[str, Any]:
        """Return a JSON-serialisable dict, as ``index.jsonl`` holds it."""
        record = {name: getattr(self, name) for name in _NAMES}
        return {("return" if name == "episode_return" else name): value for name, value in record.items()}

    @classmethod
    def from_dict(cls, record: Mapping[str, Any]) -> EpisodeRow:
        """Undo :meth:`to_dict`.

        Raises:
            TypeError: if a field is missing or unknown, as in an index of another version.
        """
        values = dict(record)
        value = values.pop("return", None)
        return cls(episode_return=float("nan") if value is None else value, **values)

    @classmethod
    def of_trajectory(
        cls, trajectory: Trajectory, offset: int = 0, length: int = 0, prices: Prices | None = None
    ) -> EpisodeRow:
        """Return the figures of an episode in memory.

        Args:
            trajectory: the episode, finished or failed.
            offset: where its line begins, in bytes.
            length: the length of its line in bytes.
            prices: of the model's tokens.
        """
        failure = trajectory.failure
        return cls._of_turns(
            (vars(transition) for transition in trajectory.transitions),
            {
                "offset": offset,
                "length": length,
                **trajectory.key._asdict(),
                "seconds": trajectory.seconds,
                "stop_reason": trajectory.stop_reason,
                "failure": _failure(
                    None if failure is None else vars(failure), trajectory.transitions, trajectory.reset_info
                ),
                "agent": trajectory.agent,
                "started_at": trajectory.started_at,
                "scores": _values(trajectory.scores),
            },
            prices,
        )

    @classmethod
    def of_record(cls, record: Mapping[str, Any], offset: int, length: int, prices: Prices | None = None) -> EpisodeRow:
        """Return the figures of an episode as its line holds it, without making a :class:`Trajectory` of it.

        Raises:
            KeyError, TypeError, AttributeError: if the line is JSON, but no episode.
        """
        transitions = record["transitions"]
        spec = record.get("spec") or {}
        return cls._of_turns(
            transitions,
            {
                "offset": offset,
                "length": length,
                "env": (record.get("metadata") or {}).get("label") or spec.get("id", ""),
                "seed": record.get("seed") or 0,
                "repetition": record.get("repetition", 0),
                "seconds": record.get("seconds"),
                "stop_reason": record.get("stop_reason"),
                "failure": _failure(record.get("failure"), transitions, record.get("reset_info") or {}),
                "agent": record.get("agent", ""),
                "started_at": record.get("started_at"),
                "scores": _values(record.get("scores") or {}),
            },
            prices,
        )

    @classmethod
    def _of_turns(cls, turns: Iterable[Mapping[str, Any]], values: dict[str, Any], prices: Prices | None) -> EpisodeRow:
        count = tool_calls = 0
        total = act_seconds = step_seconds = 0.0
        usage: dict[str, int | None] = {"prompt_tokens": None, "completion_tokens": None}
        info: Mapping[str, Any] = {}
        for turn in turns:
            count += 1
            total += turn["reward"]
            act_seconds += turn.get("act_seconds") or 0.0
            step_seconds += turn.get("step_seconds") or 0.0
            info = turn.get("info") or {}
            results = info.get("tool_results")  # of ToolEnvWrapper, which is where most calls are recorded
            tool_calls += len(turn.get("tool_calls") or (results if isinstance(results, list) else ()))
            for name, tokens in (turn.get("usage") or {}).items():
                if name in usage:
                    usage[name] = (usage[name] or 0) + (tokens or 0)
        verdict = info.get("success", info.get("correct"))
        prompt_tokens, completion_tokens = usage["prompt_tokens"], usage["completion_tokens"]
        known = prices is not None and not (prompt_tokens is None and completion_tokens is None)
        return cls(
            episode_return=float(total),
            success=None if verdict is None else bool(verdict),
            turns=count,
            prompt_tokens=prompt_tokens,
            completion_tokens=completion_tokens,
            act_seconds=act_seconds,
            step_seconds=step_seconds,
            tool_calls=tool_calls,
            grade=str(grade) if (grade := info.get("grade")) in VERDICTS else None,
            cost=prices.cost(prompt_tokens or 0, completion_tokens or 0) if known and prices else None,
            **values,
        )


_NAMES = tuple(item.name for item in fields(EpisodeRow))


def _values(scores: Mapping[str, Mapping[str, Any]]) -> dict[str, float | None]:
    return {
        name: None if (score.get("metadata") or {}).get("grade") == "unreadable" else score["value"]
        for name, score in scores.items()
    }


def _failure(
    failure: Mapping[str, Any] | None, transitions: Any, reset_info: Mapping[str, Any]
) -> dict[str, str] | None:
    if failure is not None:
        return {"source": failure["source"], "kind": failure["kind"]}
    # Records of schema 1 have the environment's error in the last info.
    last = transitions[-1] if transitions else None
    info = reset_info if last is None else (last["info"] if isinstance(last, dict) else last.info)
    if info and info.get("error") is not None:
        return {"source": "environment", "kind": "exception"}
    # An episode that the simulated user has spoiled says nothing about the agent.
    return {"source": "user", "kind": "spoiled"} if info and info.get("user_fault") else None
