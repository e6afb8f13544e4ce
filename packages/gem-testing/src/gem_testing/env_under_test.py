"""The environment under test: :class:`EnvUnderTest`, and the episodes that its clauses share."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from dataclasses import replace
from functools import cached_property, partial
from pathlib import Path
from typing import Any

from gem.core import Env
from gem.entry_points import load, name_of
from gem.env_spec import EnvSpec
from gem.errors import GemError, NotSupportedError
from gem.policies import Policy, make_policy
from gem.registry import make
from gem.registry import spec as find_spec
from gem_testing.episodes import (
    Script,
    StepRecord,
    acted_by_each,
    begin,
    has_ended,
    one_agents_action,
    play,
    rewards_of,
    take,
)
from gem_testing.messages import shorten
from gem_testing.outcomes import NotTested, Violation
from gem_testing.processes import ProbeReport, ProcessState, watch

__all__ = ["HORIZON", "EnvUnderTest", "Episode"]

HORIZON = 10_000
"""Steps after which an episode counts as one that never ends."""

RANDOM_SEEDS = (0, 1, 2, 3, 11, 2**40)
REFERENCE_SEEDS = (5, 6, 7)
REFERENCE_EPISODES = 32
REFERENCE_SECONDS = 4.0
NULL_SEEDS = range(100, 106)
NULL_SECONDS = 4.0
PATIENCE = 3.0
"""Wall-clock seconds that the shared episodes of an environment may take; a slow one plays fewer."""

GUESSES = ("1", "\\boxed{1}", "yes", "", "a b", "\\boxed{a}", "0")
"""Actions for an environment that cannot sample any."""

Chooser = Callable[[Env[Any, Any], Any, Any], Any]
"""``(env, observation, info) -> action``."""


class Episode:
    """One episode that an agent played: its script, what it showed, its return, and whether it ended."""

    def __init__(
        self, script: Script, records: list[StepRecord], total: float, ended: bool, flags: tuple[Any, Any]
    ) -> None:
        self.script = script
        self.records = records
        self.total = total
        self.ended = ended
        self.flags = flags
        """``terminated`` and ``truncated`` of the last step."""

    def __len__(self) -> int:
        """Return the number of steps."""
        return len(self.records) - 1


class EnvUnderTest:
    """One environment under test.

    Args:
        what: an id, a spec, an environment class or another callable that makes an environment.
        manifest: the ``environments.toml`` that declares it; found automatically for an installed package.
        namespaces: the namespaces that its package claims; found automatically for an installed package.
        requirements: the package's declared dependencies (``Requires-Dist``); found automatically as well.
        **metadata: fields of the spec, for a class that no manifest declares: ``turns="single"``,
            ``reward_range=(0.0, 1.0)``.
    """

    def __init__(
        self,
        what: str | EnvSpec | Callable[..., Env[Any, Any]],
        *,
        manifest: Path | None = None,
        namespaces: frozenset[str] | None = None,
        requirements: tuple[str, ...] | None = None,
        **metadata: Any,
    ) -> None:
        self.process_state = ProcessState.now()
        self.spec = replace(_spec_of(what), **metadata)
        self.manifest = manifest
        self.namespaces = namespaces
        self.requirements = requirements
        if manifest is None and self.spec.distribution is not None:
            self._find_package(self.spec.distribution)

    def _find_package(self, distribution: str) -> None:
        from gem import discovery
        from gem.discovery.manifest import FILE_NAME
        from gem.entry_points import package_folder

        claims = [
            claim for claim in discovery.entry_points(discovery.ENVIRONMENT_GROUP) if claim.distribution == distribution
        ]
        own_module = name_of(self.spec.entry_point).partition(":")[0]
        # A distribution may hold several packages with a manifest each; this is the one that holds the module.
        claims.sort(key=lambda claim: not f"{own_module}.".startswith(f"{claim.value}."))
        folder = package_folder(claims[0].value) if claims else None
        if folder is None:
            return
        self.manifest = folder / FILE_NAME
        if self.namespaces is None:
            self.namespaces = frozenset(claim.name for claim in claims if claim.value == claims[0].value)
        if self.requirements is None:
            self.requirements = discovery.requirements_of(distribution)

    @property
    def exemptions(self) -> dict[str, str]:
        """The clauses that the environment declares it does not keep, with its reasons."""
        return dict(self.spec.exempt)

    @cached_property
    def importable(self) -> bool:
        """Whether another process can import the environment by its entry point."""
        name = name_of(self.spec.entry_point)
        if name.startswith("__main__:"):
            return False
        if self.spec.entry_point == name:
            return True
        try:
            return "<" not in name and load(name) is self.spec.entry_point and self._is_on_the_path(name)
        except GemError:
            return False

    def _is_on_the_path(self, name: str) -> bool:
        """Return whether the path holds the module, which pytest may only have put into ``sys.modules``."""
        from importlib.machinery import PathFinder

        top = name.partition(":")[0].partition(".")[0]
        return PathFinder.find_spec(top, self.process_state.path) is not None

    def make(self, **kwargs: Any) -> Env[Any, Any]:
        """Return a new instance."""
        return make(self.spec, **kwargs)

    @cached_property
    def obstacle(self) -> str | None:
        """The reason that no clause that plays can be tested; None if an episode can begin."""
        try:
            with self.make() as env:
                begin(env, 0)
        except (Exception, SystemExit) as error:
            return f"{type(error).__name__}: {error}"
        return None

    @property
    def recorded(self) -> list[Episode]:
        """Episodes of random actions and of the reference policy, whose scripts the clauses play again.

        Raises:
            NotTested: if none could be recorded.
        """
        episodes, problem = self._recording
        if problem is not None:
            raise NotTested(f"no episode can be recorded: {problem}", "see contract.step")
        return episodes

    @property
    def recording_problem(self) -> Violation | None:
        """The faults found while episodes were recorded."""
        return self._recording[1]

    @cached_property
    def _recording(self) -> tuple[list[Episode], Violation | None]:
        deadline = time.perf_counter() + PATIENCE
        episodes: list[Episode] = []
        for seed in self._random_seeds:
            try:
                episodes.append(self.record(self.random_chooser, seed, "random actions", deadline))
            except Violation as violation:
                return [], violation
            if time.perf_counter() > deadline:
                break
        if self.spec.reference_policy is not None:
            for seed in REFERENCE_SEEDS:
                try:
                    episodes.append(self.play_policy("reference", seed, deadline))
                except Exception:  # clauses on rewards report the fault of the policy
                    break
                if time.perf_counter() > deadline:
                    break
        return episodes, None

    @cached_property
    def _random_seeds(self) -> list[int]:
        """Seeds that reset accepts; contract.seeds reports any that it refuses."""
        taken = []
        for seed in RANDOM_SEEDS:
            with self.make() as env, suppress(Violation):
                begin(env, seed)
                taken.append(seed)
        return taken

    @property
    def scripts(self) -> list[Script]:
        """The scripts of :attr:`recorded`."""
        return [episode.script for episode in self.recorded]

    @cached_property
    def played_twice(self) -> list[tuple[Script, list[StepRecord], list[StepRecord]]]:
        """Each script with its records on two fresh instances."""
        return [(script, self.replay(script), self.replay(script)) for script in self.scripts]

    @property
    def baselines(self) -> list[tuple[Script, list[StepRecord]]]:
        """Each script with its records on a fresh instance.

        Raises:
            NotTested: if the records differ between instances, so that no comparison is possible.
        """
        for _, first, second in self.played_twice:
            if first != second:
                raise NotTested("two instances already differ", "see determinism.instances")
        return [(script, records) for script, records, _ in self.played_twice]

    def replay(self, script: Script) -> list[StepRecord]:
        """Return the records of a script on a fresh instance."""
        with self.make() as env:
            return play(env, script.actions, script.seed)

    def record(
        self,
        choose: Chooser,
        seed: int,
        source: str,
        deadline: float = float("inf"),
        most_steps: int = HORIZON,
    ) -> Episode:
        """Play one episode on a fresh instance with actions that ``choose`` returns.

        Args:
            choose: called with the environment, the last observation and its info.
            seed: seed of the reset.
            source: name of the agent, for messages.
            deadline: ``perf_counter`` time after which the episode is stopped.
            most_steps: number of steps after which the episode is stopped.
        """
        with self.make() as env:
            observation, info = begin(env, seed)
            records = [StepRecord.of(observation, info)]
            actions: list[Any] = []
            total, ended = 0.0, False
            terminated: Any = False
            truncated: Any = False
            while not ended and len(actions) < most_steps and (not actions or time.perf_counter() < deadline):
                action = choose(env, observation, info)
                actions.append(action)
                where = f"step {len(actions)} of {source} (seed {seed})"
                observation, reward, terminated, truncated, info = take(env, action, where)
                ended = has_ended(env, terminated, truncated)
                records.append(StepRecord.of(observation, info, reward, terminated, truncated))
                try:
                    total += rewards_of(reward)
                except (TypeError, ValueError):  # contract.reward reports it
                    total = float("nan")
        return Episode(Script(seed, tuple(actions), source), records, total, ended, (terminated, truncated))

    def play_policy(self, name: str, seed: int, deadline: float = float("inf")) -> Episode:
        """Play one episode of the ``"random"`` or ``"reference"`` policy."""
        policy: Policy[Any, Any] | None = None

        def choose(env: Env[Any, Any], observation: Any, info: Any) -> Any:
            nonlocal policy
            if policy is None:
                policy = make_policy(name, env)
                policy.reset(observation, info)
            return policy.act(observation, info)

        return self.record(choose, seed, f"the {name} policy", deadline)

    @cached_property
    def reference_episodes(self) -> list[Episode]:
        """Episodes of the reference policy, as many as the time allows.

        Raises:
            Violation: if the policy or the environment raises.
            NotTested: if there is no such policy.
        """
        policy: Any = None
        with suppress(GemError):
            policy = load(self.spec.reference_policy or "")
        if not callable(getattr(policy, "act", None)):
            raise NotTested("the reference policy cannot be loaded", "see manifest.entry_points")
        make_one = partial(self.play_policy, "reference")
        try:
            return list(self.episodes_within(make_one, range(100, 100 + REFERENCE_EPISODES), REFERENCE_SECONDS))
        except Violation:
            raise
        except Exception as error:
            raise Violation(
                f"the reference policy raised {type(error).__name__}: {error}; it must play every episode"
            ) from error

    @cached_property
    def null_episodes(self) -> list[Episode]:
        """Episodes of an agent with empty actions, as many as the time allows."""
        return list(self.episodes_within(partial(self.play_always, ""), NULL_SEEDS, NULL_SECONDS))

    def play_always(self, action: Any, seed: int, deadline: float = float("inf"), most_steps: int = HORIZON) -> Episode:
        """Play one episode in which every agent gives the same action in every turn."""
        source = f"the action {shorten(action)} again and again"
        return self.record(lambda env, _o, _i: acted_by_each(env, action), seed, source, deadline, most_steps)

    @cached_property
    def random_chooser(self) -> Chooser:
        """Chooses actions that the environment samples; fixed guesses where it samples none."""
        try:
            with self.make() as env:
                begin(env, 0)
                env.sample_random_action()
        except NotSupportedError:
            return _Guesses()
        except Exception as error:
            raise Violation(f"sample_random_action() raised {error!r} after reset(seed=0); return an action") from error
        return lambda env, _observation, _info: env.sample_random_action()

    @cached_property
    def wrapped(self) -> bool:
        """Whether its entry point returns an environment with wrappers around it."""
        with self.make() as env:
            return env is not env.unwrapped

    @property
    def samples_actions(self) -> bool:
        """Whether the environment can sample random actions."""
        return not isinstance(self.random_chooser, _Guesses)

    @cached_property
    def sampled_action(self) -> Any:
        """A well-formed action of one agent: the first one sampled after ``reset(seed=0)``."""
        with self.make() as env:
            return one_agents_action(env, self.random_chooser(env, *begin(env, 0)))

    @cached_property
    def max_turns(self) -> int | None:
        """The announced number of turns: 1 for a single-turn environment, else the attribute ``max_turns``."""
        with self.make() as env:
            begin(env, 0)
            declared = getattr(env.unwrapped, "max_turns", None)
        if type(declared) is int:
            return declared
        return 1 if self.spec.turns == "single" else None

    def episodes_within(
        self, make_one: Callable[[int], Episode], seeds: Iterable[int], seconds: float
    ) -> Iterator[Episode]:
        """Yield an episode for each seed, at least one, until ``seconds`` of wall-clock time are over."""
        deadline = time.perf_counter() + seconds
        for seed in seeds:
            yield make_one(seed)
            if time.perf_counter() > deadline:
                return

    @cached_property
    def probe(self) -> ProbeReport:
        """The report of a separate process that played the environment; see :mod:`gem_testing.probe`."""
        return watch(self.spec, self.scripts, self.process_state)

    def __repr__(self) -> str:
        return f"EnvUnderTest({self.spec.id!r})"


class _Guesses:
    """Fixed guesses, one after another."""

    def __init__(self) -> None:
        self._next = 0

    def __call__(self, env: Env[Any, Any], _observation: Any, _info: Any) -> Any:
        self._next += 1
        return acted_by_each(env, GUESSES[self._next % len(GUESSES)])


def _spec_of(what: str | EnvSpec | Callable[..., Env[Any, Any]]) -> EnvSpec:
    if isinstance(what, EnvSpec):
        return what
    if isinstance(what, str):
        return find_spec(what)
    return EnvSpec(id=f"local:{getattr(what, '__name__', 'Environment')}", entry_point=what)
