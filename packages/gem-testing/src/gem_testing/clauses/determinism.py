"""The same seed and the same actions give the same episode under all circumstances."""

from __future__ import annotations

import itertools
import random
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from gem_testing.clause import IMPORTABLE, clauses_of
from gem_testing.env_under_test import EnvUnderTest
from gem_testing.episodes import Script, StepRecord, begin, difference, has_ended, play, steps, take
from gem_testing.messages import differing_parts, freeze
from gem_testing.outcomes import NotTested, Violation
from gem_testing.processes import HASH_SEEDS, episodes_elsewhere

__all__ = ["CLAUSES"]

EPISODES_OF_A_RUN = 5
THREADS = 4
ROUNDS = 2
EVENTS_BETWEEN_THREADS = 97


def instances(under_test: EnvUnderTest) -> None:
    """Two instances show the same episodes, from the first observation to the last info."""
    for script, first, second in under_test.played_twice:
        _agree(first, second, f"a second instance, played like the first with seed {script.seed}")


def reuse(under_test: EnvUnderTest) -> None:
    """An instance that has played other episodes, to the end or half way, plays like a fresh one."""
    with under_test.make() as env:
        before = under_test.scripts[-1]
        for script, expected in [*under_test.baselines, *reversed(under_test.baselines)]:
            play(env, before.actions[: max(1, len(before.actions) // 2)], before.seed)
            for history in ("abandoned another episode", "played the episode before"):
                found = play(env, script.actions, script.seed)
                who = f"an instance that had {history}, with seed {script.seed}"
                _agree(expected, found, who, "start over in reset")
            before = script


def unseeded(under_test: EnvUnderTest) -> None:
    """A run is a function of its first seed: the episodes of resets without a seed repeat as well."""
    run: list[tuple[list[Any], list[StepRecord]]] = []
    with under_test.make() as env:
        for episode in range(EPISODES_OF_A_RUN):
            actions: list[Any] = []
            seed = 9 if episode == 0 else None
            observation, info = begin(env, seed)
            records = [StepRecord.of(observation, info)]
            for turn in range(1, 41):
                action = under_test.random_chooser(env, observation, info)
                actions.append(action)
                observation, reward, terminated, truncated, info = take(
                    env, action, f"step {turn} (episode {episode + 1})"
                )
                records.append(StepRecord.of(observation, info, reward, terminated, truncated))
                if has_ended(env, terminated, truncated):
                    break
            run.append((actions, records))
    with under_test.make() as env:
        for episode, (recorded, expected) in enumerate(run):
            found = play(env, recorded, 9 if episode == 0 else None)
            _agree(
                expected,
                found,
                f"episode {episode + 1} of a run that began with reset(seed=9) and went on with reset()",
                "go on drawing from self.rng, which a reset without a seed leaves as it is",
            )


def interleaving(under_test: EnvUnderTest) -> None:
    """Episodes played turn by turn beside each other equal those played alone."""
    episodes = [_stepwise(under_test, script.actions, script.seed) for script, _ in under_test.baselines]
    records: list[list[StepRecord]] = [[] for _ in episodes]
    playing = dict(enumerate(episodes))
    while playing:
        for index, episode in list(playing.items()):
            step = next(episode, None)
            if step is None:
                del playing[index]
            else:
                records[index].append(step)
    for (script, expected), found in zip(under_test.baselines, records, strict=True):
        _agree(
            expected,
            found,
            f"an instance beside others, with seed {script.seed}",
            "keep everything in the instance, nothing in the class or the module",
        )


def global_generators(under_test: EnvUnderTest) -> None:
    """An episode neither depends on the process's generators (random, numpy.random) nor changes them."""
    numpy = sys.modules.get("numpy")
    for number, (script, expected) in enumerate(under_test.baselines):
        with _kept_generators():

            def scramble(number: int = number) -> None:
                random.seed(number)
                if numpy is not None:
                    numpy.random.seed(number)  # the global generator is what this is about

            with under_test.make() as env:
                found = play(env, script.actions, script.seed, before=scramble)
        _agree(
            expected,
            found,
            f"with the process's generators seeded again before each step (seed {script.seed})",
            "draw from self.rng only",
        )
        with _kept_generators():
            before = _generators()
            with under_test.make() as env:
                play(env, script.actions, script.seed)
                if under_test.samples_actions:
                    begin(env, script.seed)
                    env.sample_random_action()
            if _generators() != before:
                raise Violation(
                    f"an episode (seed {script.seed}) changed the state of the process's random generators; draw from "
                    "self.rng only, and seed nothing else"
                )


def sampling(under_test: EnvUnderTest) -> None:
    """Sampling actions does not change the episodes: recorded actions replay whether they were sampled or not."""
    if not under_test.samples_actions:
        raise NotTested("it samples no actions", "implement sample_random_action with self.action_rng")
    for script, expected in under_test.baselines:
        with under_test.make() as env:
            sample = env.sample_random_action

            def draw(reset_done: list[bool] = []) -> None:  # noqa: B006  # one list for each script's function
                if reset_done:
                    sample()  # noqa: B023
                reset_done.append(True)

            found = play(env, script.actions, script.seed, before=draw)
            following = freeze(begin(env, None))
        _agree(
            expected,
            found,
            f"with an action sampled before each step (seed {script.seed})",
            "sample from self.action_rng",
        )
        alone = [_reset_after(under_test, script) for _ in range(2)]
        if alone[0] != alone[1]:
            raise NotTested("what follows an episode is not determined", "see determinism.unseeded")
        if alone[0] != following:
            with_sampling, without = differing_parts(following, alone[0])
            raise Violation(
                f"after an episode in which actions were sampled (seed {script.seed}) the next reset showed "
                f"{with_sampling}, and otherwise {without}; sample from self.action_rng"
            )


def hash_seeds(under_test: EnvUnderTest) -> None:
    """Processes with different PYTHONHASHSEED play the same episodes, in any order."""
    expected = under_test.probe.episodes  # of a process with the first hash seed
    # One process plays backwards, which shows what depends on the order of use.
    for hash_seed, backwards in zip(HASH_SEEDS[1:], (False, True), strict=True):
        elsewhere = episodes_elsewhere(
            under_test.spec, under_test.scripts, under_test.process_state, hash_seed, backwards
        )
        for script, before, now in zip(under_test.scripts, expected, elsewhere, strict=True):
            _agree(
                before,
                now,
                f"a process with PYTHONHASHSEED={hash_seed}{', which played backwards,' if backwards else ''} beside "
                f"one with {HASH_SEEDS[0]} (seed {script.seed})",
                "do not depend on the order of a set, on hash(), or on what was played before; sort what comes out of "
                "a set",
            )
    for (script, here), there in zip(under_test.baselines, expected, strict=True):
        _agree(here, there, f"another process (seed {script.seed})", "depend on nothing but the seed")


def threads(under_test: EnvUnderTest) -> None:
    """Instances play the same episodes in threads as one after another."""
    found: dict[tuple[int, int], list[StepRecord] | BaseException] = {}
    start = threading.Barrier(THREADS)

    def work(worker: int) -> None:
        start.wait()
        for number in range(ROUNDS * len(under_test.baselines)):
            # Each thread at another script, so that they meet in all combinations.
            which = (worker + number) % len(under_test.baselines)
            # In every other episode a thread yields now and then, however busy the machine is.
            sys.setprofile(_handing_over() if number % 2 else None)
            try:
                found[worker, number] = under_test.replay(under_test.scripts[which])
            except Exception as error:
                found[worker, number] = error
            finally:
                sys.setprofile(None)

    under_test.baselines  # noqa: B018  # played before the threads begin
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        workers = [threading.Thread(target=work, args=(worker,), daemon=True) for worker in range(THREADS)]
        for thread in workers:
            thread.start()
        for thread in workers:
            thread.join()
    finally:
        sys.setswitchinterval(interval)
    for (worker, number), records in sorted(found.items()):
        script, expected = under_test.baselines[(worker + number) % len(under_test.baselines)]
        who = f"one of {THREADS} threads (seed {script.seed})"
        if isinstance(records, BaseException):
            raise Violation(f"{who}: {records}; share nothing between instances")
        _agree(expected, records, who, "share nothing between instances")


def _agree(
    expected: list[StepRecord], found: list[StepRecord], who: str, advice: str = "draw all chance from self.rng"
) -> None:
    what = difference(expected, found)
    if what is not None:
        raise Violation(f"{who} showed something else at {what}; {advice}")


def _reset_after(under_test: EnvUnderTest, script: Script) -> str:
    """The observation and info of a reset without a seed after an episode."""
    with under_test.make() as env:
        play(env, script.actions, script.seed)
        return freeze(begin(env, None))


def _stepwise(under_test: EnvUnderTest, actions: tuple[Any, ...], seed: int) -> Iterator[StepRecord]:
    with under_test.make() as env:
        observation, info = begin(env, seed)
        yield StepRecord.of(observation, info)
        yield from steps(env, actions, seed)


def _handing_over() -> Callable[[object, str, object], None]:
    """Return a profile function that lets other threads run at some of the calls and returns."""
    events = itertools.count()

    def profile(_frame: object, _event: str, _argument: object) -> None:
        if next(events) % EVENTS_BETWEEN_THREADS == 0:
            time.sleep(0)

    return profile


def _generators() -> list[Any]:
    numpy = sys.modules.get("numpy")
    return [random.getstate(), None if numpy is None else repr(numpy.random.get_state())]


@contextmanager
def _kept_generators() -> Iterator[None]:
    numpy = sys.modules.get("numpy")
    mine = random.getstate()
    theirs = None if numpy is None else numpy.random.get_state()
    try:
        yield
    finally:
        random.setstate(mine)
        if numpy is not None:
            numpy.random.set_state(theirs)


CLAUSES = (
    *clauses_of("determinism", instances, by_arguments=True),
    *clauses_of("determinism", reuse, unseeded, interleaving, global_generators, sampling),
    *clauses_of("determinism", hash_seeds, processes=True, needs=(IMPORTABLE,)),
    *clauses_of("determinism", threads),
)
