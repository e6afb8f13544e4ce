"""The figures of one recorded episode: a line of ``index.jsonl``."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from hashlib import blake2s
from operator import attrgetter
from typing import Any

from gem.text import action_text, spoken_text
from gem_eval.runs.call_figures import call_figures
from gem_questions.rewards.grader import VERDICTS
from gem_rollout.trajectory import EpisodeKey, Outcome, Trajectory
from gem_rollout.trajectory.outcome import cut_by_environment, episode_outcome, settled_outcomes, success_of

__all__ = ["HARNESS_BOXES", "STRICT", "EpisodeRow", "Prices", "settle"]

HARNESS_BOXES = {
    "task": "in the container of its task",
    "own": "in a box of its own",
    "none": "on this machine, with the rights of its user",
}
"""Where an agent program may run → the same in words."""

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
    outcome: Outcome
    """What became of the episode; see :data:`gem_rollout.trajectory.OUTCOMES`."""
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
    malformed: int
    """Turns whose action the environment could not read."""
    cut: int
    """Turns whose answer was cut by the limit of tokens: ``finish_reason`` is ``length``."""
    empty: int
    """Turns whose tokens all went into reasoning, so that nothing was left for an answer."""
    answer: str | None
    """A digest of the last action, by which equal ones are counted; None without a turn."""
    agent: str
    started_at: float | None
    """Unix time in seconds."""
    scores: dict[str, float | None] = field(default_factory=dict)
    """The values of the rewards that were applied beside the environment's, by name; None where one could not tell."""
    cost: float | None = None
    """Price of the tokens; None where the run has no prices or the server reports no usage."""
    grade: str | None = None
    """The grader's verdict on the answer: ``same``, ``different`` or ``unreadable``; None where there is none."""
    calls: int = 0
    """Model calls whose server reports usage: those of the turns, or all calls of a program that owns its loop."""
    cache_calls: int = 0
    """Those of them whose server also says how much of the prompt it had in its prefix cache."""
    cached_tokens: int | None = None
    """The cached part of the prompts of ``cache_calls``; None if there are none. Not all of ``prompt_tokens`` need be
    theirs, so their own sum is ``cache_prompt_tokens``."""
    cache_prompt_tokens: int | None = None
    first_token_seconds: list[float] = field(default_factory=list)
    """Of each streamed call, the seconds from the request to the first token."""
    token_calls: int = 0
    """Model calls whose token ids are recorded, those of the prompt and the sampled ones."""
    exact_calls: int = 0
    """Those of them whose prompt is an earlier call's prompt, the ids sampled for it, and new ids: nothing was
    tokenized anew. The first call of an episode, or of a lineage of a program, is none of them."""
    malformed_at: list[int] = field(default_factory=list)
    """The turns that ``malformed`` counts, the first being 1."""
    cut_at: list[int] = field(default_factory=list)
    """The turns that ``cut`` counts."""
    mean_logprob: float | None = None
    """Mean log-probability of the sampled tokens of all turns; None unless each of them has a finite one."""
    update: int | None = None
    """The training step that the episode belongs to: ``update`` of its metadata, else the version of the weights where
    that is a whole number."""
    harness_box: str | None = None
    """Where an agent program ran, a key of :data:`HARNESS_BOXES`; None for other agents, and for a program that ended
    before its first action."""

    @property
    def key(self) -> EpisodeKey:
        """The key of the episode within its run."""
        return EpisodeKey(self.env, self.seed, self.repetition)

    @property
    def success(self) -> bool | None:
        """Whether the task was achieved; None where that is not known."""
        return success_of(self.outcome)

    @property
    def cache_hit_rate(self) -> float | None:
        """The cached share of ``cache_prompt_tokens``; None where no server says it."""
        if self.cached_tokens is None or not self.cache_prompt_tokens:
            return None
        return self.cached_tokens / self.cache_prompt_tokens

    @property
    def first_token_p50(self) -> float | None:
        """The lower median of ``first_token_seconds``, in seconds; None where no call was streamed."""
        known = sorted(self.first_token_seconds)
        return known[(len(known) - 1) // 2] if known else None

    @property
    def failed(self) -> bool:
        """Whether something failed, so that a resumed run plays the episode anew."""
        return self.failure is not None

    @property
    def counts(self) -> bool:
        """Whether the episode counts in means: nothing failed, or the agent itself."""
        return self.failure is None or self.failure["source"] == "agent"

    def to_dict(self) -> dict[str, Any]:
        """Return a JSON-serialisable dict."""
        record = {name: getattr(self, name) for name in _NAMES}
        return {("return" if name == "episode_return" else name): value for name, value in record.items()}

    def to_values(self) -> list[Any]:
        """Return the version of the fields and their values in order, as ``index.jsonl`` holds them."""
        return [_VERSION, *_values_of(self)]

    @classmethod
    def from_values(cls, values: list[Any]) -> EpisodeRow:
        """Undo :meth:`to_values`.

        Raises:
            TypeError: if they are those of other fields, as in an index of another version.
        """
        if type(values) is not list or len(values) != len(_NAMES) + 1 or values[0] != _VERSION:
            raise TypeError("a row of the index of another version")
        if values[_RETURN] is None:
            values[_RETURN] = math.nan
        return cls(*values[1:])

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
            [vars(transition) for transition in trajectory.transitions],
            trajectory.reset_info,
            None if failure is None else vars(failure),
            {
                "offset": offset,
                "length": length,
                **trajectory.key._asdict(),
                "seconds": trajectory.seconds,
                "stop_reason": trajectory.stop_reason,
                "agent": trajectory.agent,
                "started_at": trajectory.started_at,
                "scores": _values(trajectory.scores),
            },
            prices,
            trajectory.metadata,
        )

    @classmethod
    def of_record(cls, record: Mapping[str, Any], offset: int, length: int, prices: Prices | None = None) -> EpisodeRow:
        """Return the figures of an episode as its line holds it, without making a :class:`Trajectory` of it.

        Raises:
            KeyError, TypeError, AttributeError: if the line is JSON, but no episode.
        """
        spec = record.get("spec") or {}
        return cls._of_turns(
            record["transitions"],
            record.get("reset_info") or {},
            record.get("failure"),
            {
                "offset": offset,
                "length": length,
                "env": (record.get("metadata") or {}).get("label") or spec.get("id", ""),
                "seed": record.get("seed") or 0,
                "repetition": record.get("repetition", 0),
                "seconds": record.get("seconds"),
                "stop_reason": record.get("stop_reason"),
                "agent": record.get("agent", ""),
                "started_at": record.get("started_at"),
                "scores": _values(record.get("scores") or {}),
            },
            prices,
            record.get("metadata"),
        )

    @classmethod
    def _of_turns(
        cls,
        turns: Sequence[Mapping[str, Any]],
        reset_info: Mapping[str, Any],
        failure: Mapping[str, Any] | None,
        values: dict[str, Any],
        prices: Prices | None,
        metadata: Any,
    ) -> EpisodeRow:
        turns, reset_info, own_return = _evaluated(turns, reset_info, metadata)
        tool_calls = empty = 0
        malformed_at: list[int] = []
        cut_at: list[int] = []
        total = act_seconds = step_seconds = 0.0
        usage: dict[str, int | None] = {"prompt_tokens": None, "completion_tokens": None}
        info = reset_info
        for number, turn in enumerate(turns, start=1):
            total += turn["reward"]
            act_seconds += turn.get("act_seconds") or 0.0
            step_seconds += turn.get("step_seconds") or 0.0
            info = turn.get("info") or {}
            if info.get("action_status") == "malformed":
                malformed_at.append(number)
            if turn.get("finish_reason") == "length":
                cut_at.append(number)
            empty += _is_all_reasoning(turn)
            results = info.get("tool_results")  # of ToolEnvWrapper, which is where most calls are recorded
            tool_calls += len(turn.get("tool_calls") or (results if isinstance(results, list) else ()))
            for name, tokens in (turn.get("usage") or {}).items():
                if name in usage:
                    usage[name] = (usage[name] or 0) + (tokens or 0)
        last = turns[-1] if turns else {"terminated": False, "truncated": True}
        ended = last["terminated"], cut_by_environment(last["truncated"], values["stop_reason"]), info
        outcome = episode_outcome(None if failure is None else failure["source"], *ended)
        prompt_tokens, completion_tokens = usage["prompt_tokens"], usage["completion_tokens"]
        known = prices is not None and not (prompt_tokens is None and completion_tokens is None)
        return cls(
            episode_return=float(total) if own_return is None else own_return,
            outcome=outcome,
            turns=len(turns),
            prompt_tokens=prompt_tokens,
            completion_tokens=completion_tokens,
            act_seconds=act_seconds,
            step_seconds=step_seconds,
            tool_calls=tool_calls,
            failure=_failure(outcome, failure, info),
            malformed=len(malformed_at),
            cut=len(cut_at),
            empty=empty,
            malformed_at=malformed_at,
            cut_at=cut_at,
            mean_logprob=_mean_logprob(turns),
            update=_update(turns, metadata),
            answer=_digest(turns[-1].get("action")) if turns else None,
            grade=str(grade) if (grade := info.get("grade")) in VERDICTS else None,
            cost=prices.cost(prompt_tokens or 0, completion_tokens or 0) if known and prices else None,
            harness_box=_harness_box(turns),
            **call_figures(turns, metadata),
            **values,
        )


def _evaluated(
    turns: Sequence[Mapping[str, Any]], reset_info: Mapping[str, Any], metadata: Any
) -> tuple[Sequence[Mapping[str, Any]], Mapping[str, Any], float | None]:
    """Return the turns, the reset info and the return of the evaluated agent where it plays among opponents.

    The return is None where all agents are evaluated together.
    """
    agent = metadata.get("evaluated") if isinstance(metadata, Mapping) else None
    if not isinstance(agent, str):
        return turns, reset_info, None
    own = metadata.get("returns", {}).get(agent)
    before = metadata.get("before_acting", {}).get(agent, {}).get("info", {})  # of one that another left no turn
    return (
        [turn for turn in turns if turn.get("agent") == agent],
        {**reset_info.get(agent, {}), **before},
        None if own is None else float(own),
    )


_NAMES = tuple(item.name for item in fields(EpisodeRow))
_values_of = attrgetter(*_NAMES)
_VERSION = blake2s(",".join(_NAMES).encode(), digest_size=4).hexdigest()
_RETURN = 1 + _NAMES.index("episode_return")


def settle(rows: Sequence[EpisodeRow]) -> list[EpisodeRow]:
    """Return rows with their outcomes settled among those of the same environment (``settled_outcomes``)."""
    if all(row.outcome != "untold" for row in rows):  # nearly every run, and a page asks each second
        return list(rows)
    by_env: dict[str, list[int]] = {}
    for position, row in enumerate(rows):
        by_env.setdefault(row.env, []).append(position)
    settled = list(rows)
    for positions in by_env.values():
        outcomes = settled_outcomes((rows[position].outcome, rows[position].stop_reason) for position in positions)
        for position, outcome in zip(positions, outcomes, strict=True):
            if outcome != rows[position].outcome:
                settled[position] = replace(rows[position], outcome=outcome)
    return settled


def _harness_box(turns: Sequence[Mapping[str, Any]]) -> str | None:
    said = (turns[0].get("metadata") or {}).get("harness_box") if turns else None
    return said if said in HARNESS_BOXES else None


def _mean_logprob(turns: Sequence[Mapping[str, Any]]) -> float | None:
    known = [turn["logprobs"] for turn in turns if turn.get("logprobs")]
    total, count = 0.0, 0
    for logprobs in known:
        # Records have text for infinities, and may come from anywhere.
        if not isinstance(logprobs, (list, tuple)) or not all(type(one) is float for one in logprobs):
            return None
        total += sum(logprobs)
        count += len(logprobs)
    return total / count if count and math.isfinite(total) else None


def _update(turns: Sequence[Mapping[str, Any]], metadata: Any) -> int | None:
    said = metadata.get("update") if isinstance(metadata, Mapping) else None
    version = turns[-1].get("version") if turns else None
    return next((one for one in (said, version) if type(one) is int and 0 <= one < 2**53), None)


def _values(scores: Mapping[str, Mapping[str, Any]]) -> dict[str, float | None]:
    return {
        name: None if (score.get("metadata") or {}).get("grade") == "unreadable" else score["value"]
        for name, score in scores.items()
    }


def _failure(outcome: Outcome, failure: Mapping[str, Any] | None, info: Mapping[str, Any]) -> dict[str, str] | None:
    """Return what failed, by the record of the failure or by the last info."""
    if failure is not None:
        return {"source": failure["source"], "kind": failure["kind"]}
    if outcome != "unknown":
        return None
    if info.get("user_fault"):
        return {"source": "user", "kind": "spoiled"}
    if info.get("grader_fault"):
        return {"source": "grader", "kind": "exception"}
    return {"source": "environment", "kind": "exception"}  # of schema 1, which had no other record of it


def _is_all_reasoning(turn: Mapping[str, Any]) -> bool:
    """Return whether the model reasoned and then said nothing and called nothing."""
    action = turn.get("action")
    text = action if isinstance(action, str) else action_text(action) or ""
    if isinstance(action, Mapping) and action.get("tool_calls"):
        return False
    said = spoken_text(text)
    return not said.strip() and bool(turn.get("reasoning") or said != text)


def _digest(action: Any) -> str:
    text = action if isinstance(action, str) else repr(action)
    return blake2s(text.encode("utf-8", "surrogatepass"), digest_size=6).hexdigest()
