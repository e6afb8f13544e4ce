"""The figures of a run, from the rows of its index."""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields, is_dataclass, replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from gem.counts import counted
from gem_eval.runs.episode_row import HARNESS_BOXES, settle
from gem_eval.statistics.answer_health import AnswerHealth, Hint, examine_answers, give_hints, joined_hints
from gem_eval.statistics.attempts import (
    attempt_bounds,
    estimate_pass_all_k,
    estimate_pass_at_k,
    pass_all_k,
    pass_at_k,
)
from gem_eval.statistics.estimates import CONFIDENCE, Estimate, estimate_mean, estimate_share
from gem_rollout.trajectory.outcome import counted_text, success_bounds, unknown_outcomes

if TYPE_CHECKING:
    from gem_eval.runs.episode_row import EpisodeRow

__all__ = [
    "CacheHits",
    "Distribution",
    "EnvironmentSummary",
    "FailureCount",
    "GroupMean",
    "RunSummary",
    "by_seed",
    "latest_attempts",
    "mean_over",
    "summarize_environment",
    "summarize_run",
    "usable",
]

_LARGEST = 1e150  # the square of a larger number is no float


@dataclass(frozen=True)
class Distribution:
    """The distribution of a quantity over episodes, or over calls."""

    count: int
    """Episodes, or calls, for which the quantity is known."""
    mean: float
    p50: float
    p95: float
    total: float


@dataclass(frozen=True)
class CacheHits:
    """How much of the prompts a model's server had in its prefix cache, over the calls for which it says so."""

    rate: float
    """``cached_tokens / prompt_tokens``."""
    cached_tokens: int
    prompt_tokens: int
    calls: int
    """Calls that these are the tokens of."""


@dataclass(frozen=True)
class FailureCount:
    """How many episodes failed in one way."""

    source: str
    """``agent``, ``endpoint`` or ``environment``."""
    kind: str
    count: int


@dataclass(frozen=True)
class EnvironmentSummary:
    """The figures of one environment of a run. Failed episodes count in ``failures`` and in the totals alone."""

    env: str
    episodes: int
    """Episodes that count: played to an end, whatever the end."""
    failed: int
    planned: int | None
    """Episodes that the run is to have; None if unknown."""
    groups: int
    """Seeds with an episode that counts."""
    group_size: int
    """Episodes of the largest group."""
    mean_return: Estimate | None
    success: Estimate | None
    """Share of successes among the episodes whose outcome is known; None if the environment knows no success."""
    success_count: int
    """Successes among them."""
    success_unknown: int
    """Episodes whose outcome is unknown: something other than the agent failed."""
    success_bounds: tuple[float, float] | None
    """Share of successes if every unknown episode were none, and if every one were one; None where none is unknown."""
    pass_at_k: dict[int, Estimate]
    """k → one of k episodes of a seed succeeds; k = 1, 2, 4 … up to the group size."""
    pass_all_k: dict[int, Estimate]
    """k → all of k episodes of a seed succeed: pass^k."""
    scores: dict[str, Estimate]
    """Means of the rewards that were applied beside the environment's."""
    turns: Distribution | None
    prompt_tokens: Distribution | None
    completion_tokens: Distribution | None
    tool_calls: Distribution | None
    seconds: Distribution | None
    act_seconds: float
    """Wall-clock seconds that the agent took in all, failed episodes included."""
    step_seconds: float
    """Wall-clock seconds that the environment took in all, failed episodes included."""
    cost: float | None
    """Price of all episodes, failed ones included; None where none has a price."""
    stop_reasons: dict[str, int]
    failures: tuple[FailureCount, ...]
    """The most frequent first."""
    notes: tuple[str, ...] = ()
    answers: AnswerHealth | None = None
    """What became of the turns of the episodes that count."""
    hints: tuple[Hint, ...] = ()
    """Faults of the answers that are frequent."""
    calls: int = 0
    """Model calls of the episodes that count, as far as their server reports usage."""
    cache: CacheHits | None = None
    """None where the server never says what was cached, which is no rate of 0."""
    first_token: Distribution | None = None
    """Seconds from a request to the first token, over the streamed calls; None where no call was streamed."""
    token_calls: int = 0
    """Model calls of the episodes that count whose token ids are recorded."""
    exact_calls: int = 0
    """Those of them whose prompt continues the recorded ids of an earlier call."""
    pass_at_k_bounds: dict[int, tuple[float, float]] = field(default_factory=dict)
    """k → pass@k if every unknown episode failed, and if every one succeeded; empty where none is unknown."""
    pass_all_k_bounds: dict[int, tuple[float, float]] = field(default_factory=dict)
    """The same of pass^k."""

    @property
    def missing(self) -> int:
        """Planned episodes that have not been played, or have failed and would be played anew."""
        return max(0, (self.planned or 0) - self.episodes) if self.planned is not None else 0


class GroupMean(NamedTuple):
    """The success of several environments, each weighing the same, with what it is counted over."""

    estimate: Estimate | None
    """None unless at least two say whether they succeeded."""
    bounds: tuple[float, float] | None
    """The same if every unknown episode failed, and if every one succeeded; None where none is unknown."""
    counts: tuple[int, int, int]
    """Episodes that succeeded, whose outcome is known, and whose outcome is unknown."""

    @property
    def counted(self) -> str:
        """The counts, with the bounds of the mean, in which each environment weighs the same."""
        return counted_text(*self.counts, self.bounds)


@dataclass(frozen=True)
class RunSummary:
    """The figures of a run."""

    name: str
    environments: tuple[EnvironmentSummary, ...]
    agent: str = ""
    running: bool = False
    """Whether the run goes on."""
    overall: Estimate | None = None
    """The mean of the environments' success, each weighing the same; None with fewer than two."""
    overall_bounds: tuple[float, float] | None = None
    """The same mean if every unknown episode failed, and if every one succeeded; None where none is unknown."""
    notes: tuple[str, ...] = ()

    @property
    def episodes(self) -> int:
        """Episodes that count."""
        return sum(item.episodes for item in self.environments)

    @property
    def failed(self) -> int:
        """Failed episodes."""
        return sum(item.failed for item in self.environments)

    @property
    def planned(self) -> int | None:
        """Episodes that the run is to have; None if unknown."""
        counts = [item.planned for item in self.environments]
        known = [count for count in counts if count is not None]
        return sum(known) if known and len(known) == len(counts) else None

    @property
    def together(self) -> GroupMean:
        """The success of all environments with its counts."""
        return GroupMean(self.overall, self.overall_bounds, _success_counts(self.environments))

    @property
    def missing(self) -> int:
        """Planned episodes that have not been played, or have failed."""
        return sum(item.missing for item in self.environments)

    @property
    def hints(self) -> list[str]:
        """What is wrong with the answers in many turns or episodes, and what to do; a sentence for each fault."""
        joined = joined_hints([hint for item in self.environments for hint in item.hints])
        return [hint.sentence(len(self.environments)) for hint in joined]

    @property
    def finished(self) -> bool:
        """Whether every planned episode has been played to an end or failed."""
        return not self.running and self.missing <= self.failed

    def to_dict(self) -> dict[str, Any]:
        """Return a JSON-serialisable dict."""
        return {
            **_plain(self),
            "episodes": self.episodes,
            "failed": self.failed,
            "planned": self.planned,
            "missing": self.missing,
            "hints": self.hints,
            "finished": self.finished,
        }


def summarize_run(
    rows: Iterable[EpisodeRow],
    *,
    name: str = "",
    agent: str = "",
    planned: Mapping[str, int] | None = None,
    running: bool = False,
    confidence: float = CONFIDENCE,
    request_limit: Mapping[str, Any] | None = None,
) -> RunSummary:
    """Return the figures of a run, environment by environment.

    Where an episode has several rows, since it failed and was played anew, the last one counts. Episodes in which
    something other than the agent failed count in no mean; their tokens, seconds and price are spent and count in the
    totals, and the bounds of success say what they could change.

    Args:
        rows: of the run's index, in order.
        name: of the run.
        agent: what acted; that of the first row if not given.
        planned: environment → episodes that the run is to have. Environments without a row appear as well.
        running: whether the run goes on.
        confidence: of all intervals.
        request_limit: how many requests the model's server got at once, where the client found it out.
    """
    by_env: dict[str, list[EpisodeRow]] = {env: [] for env in planned or {}}
    for row in settle(latest_attempts(rows)):
        by_env.setdefault(row.env, []).append(row)
    environments = tuple(
        summarize_environment(env, members, None if planned is None else planned.get(env), confidence)
        for env, members in by_env.items()
    )
    agents = [row.agent for members in by_env.values() for row in members[:1]]
    summary = RunSummary(name, environments, agent or next(iter(agents), ""), running, *mean_over(environments)[:2])
    return replace(summary, notes=_run_notes(summary, request_limit or {}))


def latest_attempts(rows: Iterable[EpisodeRow]) -> list[EpisodeRow]:
    """Return the last row of each episode, in order of first appearance."""
    return list({(row.env, row.seed, row.repetition): row for row in rows}.values())


def usable(value: float | None) -> bool:
    """Whether a value can take part in a mean: known, finite, and small enough for its square."""
    return value is not None and -_LARGEST < value < _LARGEST


def by_seed(rows: Iterable[EpisodeRow], value: Callable[[EpisodeRow], float | None]) -> dict[int, list[float]]:
    """Return seed → values of its episodes, without those that count in no mean or whose value is not usable."""
    groups: dict[int, list[float]] = defaultdict(list)
    for row in rows:
        if row.failure is None or row.counts:
            number = value(row)
            if number is not None and -_LARGEST < number < _LARGEST:
                groups[row.seed].append(float(number))
    return dict(groups)


def summarize_environment(
    env: str, rows: Sequence[EpisodeRow], planned: int | None = None, confidence: float = CONFIDENCE
) -> EnvironmentSummary:
    """Return the figures of the settled rows of one environment, one for each episode; they may be of several runs."""
    scored = [row for row in rows if row.counts]
    successes = by_seed(scored, lambda row: row.success)
    returns = by_seed(scored, lambda row: row.episode_return)
    unknown = sum(row.outcome == "unknown" for row in rows)
    solved, known = int(sum(map(sum, successes.values()))), sum(map(len, successes.values()))
    bounds = success_bounds(solved, known, unknown)
    health = examine_answers(scored)
    sizes = Counter(row.seed for row in scored)
    ks = _powers_of_two(max(map(len, successes.values()), default=0))
    flags = {seed: [bool(value) for value in group] for seed, group in successes.items()}
    attempts = {k: (estimate_pass_at_k(flags, k, confidence), estimate_pass_all_k(flags, k, confidence)) for k in ks}
    unknown_of_seed = Counter(row.seed for row in rows if row.outcome == "unknown")
    at_bounds = {k: attempt_bounds(flags, unknown_of_seed, k, pass_at_k) for k in ks}
    all_bounds = {k: attempt_bounds(flags, unknown_of_seed, k, pass_all_k) for k in ks}
    names = dict.fromkeys(name for row in scored for name in row.scores)
    scores = {name: estimate_mean(by_seed(scored, _score(name)), confidence) for name in names}
    costs = [row.cost for row in rows if usable(row.cost)]
    notes = []
    endless = sum(not usable(row.episode_return) for row in scored)
    if endless:
        notes.append(f"left out of the mean return, which is no finite number: {endless} of {len(scored)} episodes")
    untold = sum(row.outcome == "untold" for row in scored)
    if bounds is not None:
        silent = sum(row.outcome == "unknown" for row in scored)
        notes.append(unknown_outcomes(solved, known, unknown, silent=silent))
    if untold:
        notes.append("the environment does not say whether its task was achieved, so there is no share of successes")
    boxes = Counter(row.harness_box for row in rows if row.harness_box is not None)
    notes += [f"the agent program ran {HARNESS_BOXES[box]}: {boxes[box]} of {len(rows)} episodes" for box in boxes]
    return EnvironmentSummary(
        env=env,
        episodes=len(scored),
        failed=len(rows) - len(scored),
        planned=planned,
        groups=len(sizes),
        group_size=max(sizes.values(), default=0),
        mean_return=estimate_mean(returns, confidence),
        success=estimate_share(successes, confidence),
        success_count=solved,
        success_unknown=unknown,
        success_bounds=bounds,
        pass_at_k={k: at for k, (at, _) in attempts.items() if at is not None},
        pass_all_k={k: every for k, (_, every) in attempts.items() if every is not None},
        scores={name: score for name, score in scores.items() if score is not None},
        turns=_distribution(row.turns for row in scored),
        prompt_tokens=_distribution(row.prompt_tokens for row in scored),
        completion_tokens=_distribution(row.completion_tokens for row in scored),
        tool_calls=_distribution(row.tool_calls for row in scored),
        seconds=_distribution(row.seconds for row in scored),
        act_seconds=math.fsum(row.act_seconds for row in rows if usable(row.act_seconds)),
        step_seconds=math.fsum(row.step_seconds for row in rows if usable(row.step_seconds)),
        cost=math.fsum(cost for cost in costs if cost is not None) if costs else None,
        stop_reasons=dict(Counter(row.stop_reason or "unknown" for row in scored).most_common()),
        failures=_failures(rows),
        notes=tuple(notes),
        answers=health,
        hints=tuple(give_hints(health)),
        calls=sum(row.calls for row in scored),
        cache=_cache_hits(scored),
        token_calls=sum(row.token_calls for row in scored),
        exact_calls=sum(row.exact_calls for row in scored),
        first_token=_distribution(seconds for row in scored for seconds in row.first_token_seconds),
        pass_at_k_bounds={k: limits for k, limits in at_bounds.items() if limits is not None},
        pass_all_k_bounds={k: limits for k, limits in all_bounds.items() if limits is not None},
    )


def _cache_hits(rows: Sequence[EpisodeRow]) -> CacheHits | None:
    known = [row for row in rows if row.cache_hit_rate is not None]
    if not known:
        return None
    cached, prompt = sum(row.cached_tokens or 0 for row in known), sum(row.cache_prompt_tokens or 0 for row in known)
    return CacheHits(cached / prompt, cached, prompt, sum(row.cache_calls for row in known))


def _score(name: str) -> Callable[[EpisodeRow], float | None]:
    return lambda row: row.scores.get(name)


def _powers_of_two(largest: int) -> list[int]:
    return [1 << exponent for exponent in range(largest.bit_length())]


def _distribution(values: Iterable[float | None]) -> Distribution | None:
    known = [float(value) for value in values if value is not None and -_LARGEST < value < _LARGEST]
    if not known:
        return None
    # The smallest value that at least this share of the episodes does not exceed, so that it is one that occurred.
    p50, p95 = np.quantile(known, [0.5, 0.95], method="inverted_cdf")
    total = math.fsum(known)
    return Distribution(len(known), total / len(known), float(p50), float(p95), total)


def _failures(rows: Iterable[EpisodeRow]) -> tuple[FailureCount, ...]:
    counts = Counter((row.failure["source"], row.failure["kind"]) for row in rows if row.failure is not None)
    return tuple(FailureCount(source, kind, count) for (source, kind), count in counts.most_common())


def mean_over(environments: Sequence[EnvironmentSummary]) -> GroupMean:
    """Return the mean success over environments, of which several may be of one id.

    The environments are taken as they are; chance is in the seeds alone, which are independent between environments.
    So the mean's interval comes from those of the environments: each half of it is √(Σ hᵢ²) / E, with hᵢ the
    distance from an environment's share to that end of its own interval (MOVER: Zou and Donner, Statistics in Medicine
    27, 2008).
    """
    counts = _success_counts(environments)
    known = [item.success for item in environments if item.success is not None]
    if len(known) < 2 or len(known) < len(environments):
        return GroupMean(None, None, counts)
    count = len(known)
    value = math.fsum(item.value for item in known) / count
    below = math.sqrt(math.fsum((item.value - item.low) ** 2 for item in known if item.low is not None)) / count
    above = math.sqrt(math.fsum((item.high - item.value) ** 2 for item in known if item.high is not None)) / count
    mean = Estimate(
        value,
        max(0.0, value - below),
        min(1.0, value + above),
        groups=sum(item.groups for item in known),
        episodes=sum(item.episodes for item in known),
        method="mover",
        confidence=known[0].confidence,
        notes=(f"the mean over {count} environments, each weighing the same",),
    )
    reached = [item.success_bounds or (item.success.value,) * 2 for item in environments if item.success is not None]
    if all(item.success_bounds is None for item in environments):
        return GroupMean(mean, None, counts)
    low, high = (math.fsum(ends) / count for ends in zip(*reached, strict=True))
    return GroupMean(mean, (low, high), counts)


def _success_counts(environments: Sequence[EnvironmentSummary]) -> tuple[int, int, int]:
    return (
        sum(item.success_count for item in environments),
        sum(item.success.episodes for item in environments if item.success is not None),
        sum(item.success_unknown for item in environments),
    )


_LOWERED = {"queue": "its queue", "refusal": "its refusals"}


def _run_notes(summary: RunSummary, request_limit: Mapping[str, Any]) -> tuple[str, ...]:
    notes = []
    if request_limit:
        lowered = "; ".join(
            f"{_LOWERED[reason]} lowered it {counted(count, 'time')}"
            for reason, count in request_limit["lowered"].items()
        )
        notes.append(
            f"requests at once followed the server: {request_limit['limit']} in the end, at most "
            f"{request_limit['most']}{lowered and f'; {lowered}'}"
        )
    if summary.running:
        notes.append("the run goes on; these are the figures so far")
    planned = summary.planned
    never = summary.missing - summary.failed
    if planned is not None and never > 0 and not summary.running:
        notes.append(
            f"the run is not finished: {never} of {planned} episodes have not been played. Those that take long may be "
            "missing, which biases the means"
        )
    if summary.failed:
        total = summary.episodes + summary.failed
        notes.append(
            f"{summary.failed} of {total} episodes failed by no fault of the agent and count in no mean; --resume "
            "plays them anew"
        )
    return tuple(notes)


def _plain(value: Any) -> Any:
    if isinstance(value, Estimate):
        return value.to_dict()
    if is_dataclass(value) and not isinstance(value, type):
        return {item.name: _plain(getattr(value, item.name)) for item in fields(value)}
    if isinstance(value, dict):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(item) for item in value]
    return value
