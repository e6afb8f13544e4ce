"""``mode="auto"``: what it measures and chooses, and that no episode changes by it."""

from __future__ import annotations

import random
import threading
import time
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import gem
from gem.core import Env, Info
from gem.env_spec import EnvSpec
from gem.errors import NotSupportedError, UnknownArgumentError
from gem.tools import ToolEnvWrapper
from gem.vector import VectorEnv, make_vec
from gem.vector.engine_access import EngineAccess
from gem.vector.make import EnvMaker
from gem.vector.sync import SyncVectorEnv
from gem_processes.auto_mode.auto import AutoVectorEnv, auto_vector_env
from gem_processes.auto_mode.mode_choice import ModeChoice, StepCost, choose
from gem_processes.auto_mode.step_cost import step_cost

SAFETY = 60.0


class Walk(Env[Any, Any]):
    """Draws from its generator, and from the process's; an action may be a callable."""

    made = 0
    closed = 0

    def __init__(self, length: int = 3) -> None:
        type(self).made += 1
        self.length = length

    def reset(self, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[str, Info]:
        super().reset(seed=seed)
        self.turn = 0
        return f"begin {self.rng.random()} {random.random()} {np.random.random()}", {}

    def step(self, action: Any) -> tuple[Any, float, bool, bool, Info]:
        self.turn += 1
        value = action() if callable(action) else action
        return f"{value} {self.rng.random()} {random.random()}", 1.0, self.turn >= self.length, False, {}

    def sample_random_action(self) -> Any:
        return "any"

    def close(self) -> None:
        type(self).closed += 1


class Waits(Walk):
    """Waits in each step."""

    def step(self, action: Any) -> tuple[Any, float, bool, bool, Info]:
        threading.Event().wait(0.004)
        return super().step(action)


class Fails(Walk):
    """Cannot be stepped."""

    def step(self, action: Any) -> tuple[Any, float, bool, bool, Info]:
        raise OSError("out of order")


class Elsewhere(Walk):
    """Says how it runs."""

    vector_mode = "thread"


class Alone(Walk):
    """Says that it runs in the caller's thread."""

    vector_mode = "sync"


@pytest.fixture(autouse=True)
def registered() -> Iterator[None]:
    """The environments above, by id, none of them made yet."""
    classes = {"Walk": Walk, "Waits": Waits, "Fails": Fails, "Elsewhere": Elsewhere, "Alone": Alone}
    for name, cls in classes.items():
        gem.register(f"test:{name}-v0", cls)
        cls.made = cls.closed = 0
    yield
    for name in classes:
        gem.unregister(f"test:{name}-v0")


def record(envs: VectorEnv, batches: list[list[Any]]) -> list[Any]:
    """Return everything that an unseeded reset and some steps return."""
    with envs:
        seen: list[Any] = [envs.reset()]
        for batch in batches:
            over = [index for index in range(3) if index in envs._over]
            if over:
                seen.append(envs.reset_at(over))
            observations, rewards, terminations, truncations, infos = envs.step(batch)
            seen.append((observations, rewards.tolist(), terminations.tolist(), truncations.tolist(), infos))
    return seen


@pytest.mark.parametrize("autoreset", ["same_step", "next_step", "disabled"])
def test_measuring_changes_no_episode(autoreset: str) -> None:
    """Same seeds, same episodes as in sync mode from the first on, even where the global generators are drawn from."""
    seen = []
    for mode in ("sync", "auto"):
        random.seed(4)
        np.random.seed(5)
        with make_vec("test:Walk-v0", num_envs=3, mode=mode, seed=7, autoreset=autoreset) as envs:
            seen.append(record(envs, [["a", "b", "c"]] * 8))
    assert seen[0] == seen[1]


@given(st.lists(st.lists(st.sampled_from(["a", "slow", "fails"]), min_size=3, max_size=3), max_size=12))
def test_episodes_do_not_depend_on_the_thread_that_plays_them(plan: list[list[str]]) -> None:
    """Where threads take over in the middle, results, faults and their order by environment are those of sync mode."""

    def fail() -> None:
        raise OSError("broken")

    actions: dict[str, Any] = {"a": "a", "slow": partial(time.sleep, 0.003), "fails": fail}
    batches = [[actions[name] for name in batch] for batch in plan]
    seen = []
    for backend in (SyncVectorEnv, partial(AutoVectorEnv, choice=ModeChoice("sync", ""))):
        random.seed(0)
        np.random.seed(0)
        makers = [Quiet] * 3
        seen.append(record(backend(makers, seeds=[1, 2, 3]), batches))
    assert seen[0] == seen[1]


class Quiet(Walk):
    """Draws from its own generator alone, as results of threads have no order."""

    def reset(self, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[str, Info]:
        observation, info = super().reset(seed=seed)
        return " ".join(observation.split()[:2]), info

    def step(self, action: Any) -> tuple[Any, float, bool, bool, Info]:
        observation, *rest = super().step(action)
        return " ".join(observation.split()[:2]), *rest  # type: ignore[return-value]


def test_one_environment_of_each_id_is_made_beside_those_that_are_used_and_closed() -> None:
    """Before any other: a resource that only one at a time may have is free again."""
    made: list[str] = []

    class Exclusive(Walk):
        def __init__(self) -> None:
            assert "open" not in made[:1] or made[1] == "closed"
            made.append("open")

        def close(self) -> None:
            made.append("closed")

    with auto_vector_env([Exclusive] * 3) as envs:
        assert made == ["open", "closed", "open", "open", "open"]
        envs.reset()
    with make_vec(["test:Walk-v0", "test:Waits-v0"], num_envs=6, mode="auto") as envs:
        assert (Walk.made, Waits.made) == (4, 4)
        assert set(envs.mode_choice.costs) == {"test:Walk-v0", "test:Waits-v0"}  # type: ignore[union-attr]


@pytest.mark.parametrize(
    ("env_ids", "num_envs", "mode"),
    [
        ("test:Walk-v0", 1, "sync"),
        ("test:Walk-v0", 16, "sync"),
        ("test:Waits-v0", 16, "thread"),
        (["test:Walk-v0", "test:Waits-v0"], 16, "thread"),
        ("test:Waits-v0", 1, "sync"),
    ],
)
def test_steps_that_wait_belong_into_threads_and_others_do_not(env_ids: Any, num_envs: int, mode: str) -> None:
    """The choice says so, with the figures of each environment."""
    with make_vec(env_ids, num_envs=num_envs, mode="auto") as envs:
        made = envs.mode_choice
        assert made is not None
        assert made.mode == mode, made
        assert "a step computes" in made.reason
        assert {"sync", "thread"} <= set(made.predicted)
        for env_id, cost in made.costs.items():
            assert cost.steps > 0
            assert (cost.waiting > 0.002) == ("Waits" in env_id)
        envs.reset(seed=1)
        assert len(envs.step(["a"] * num_envs)[0]) == num_envs


def test_what_cannot_be_measured_runs_all_the_same() -> None:
    """A step that raises is a fault in every mode, and the choice names it; a constructor raises as ever."""
    with make_vec("test:Fails-v0", num_envs=2, mode="auto") as envs:
        assert envs.mode_choice is not None
        assert "OSError: out of order" in envs.mode_choice.reason
        envs.reset(seed=1)
        _, _, _, truncations, infos = envs.step(["a", "b"])
        assert truncations.tolist() == [True, True]
        assert infos[1]["error"] == "OSError: out of order"
    assert Fails.made - Fails.closed == 0
    with pytest.raises(UnknownArgumentError, match="has no argument"):
        make_vec("test:Walk-v0", mode="auto", size=3)


def test_a_step_that_hangs_holds_up_the_choice_for_its_time_limit_alone() -> None:
    """Its thread closes the environment when it returns, and the choice is a mode that keeps time limits."""
    opened, closed = threading.Event(), threading.Event()
    made: list[Any] = []

    class Hangs(Walk):
        def __init__(self) -> None:
            made.append(self)

        def step(self, action: Any) -> tuple[Any, float, bool, bool, Info]:
            if self is made[0]:
                assert opened.wait(SAFETY)
            return "done", 0.0, False, False, {}

        def close(self) -> None:
            if self is made[0]:
                closed.set()

    try:
        with auto_vector_env([Hangs] * 2, step_timeout=0.5) as envs:
            assert envs.mode_choice is not None
            assert envs.mode_choice.mode == "thread"
            assert "did not return within 0.5 s" in envs.mode_choice.reason
            envs.reset(seed=1)
            assert envs.step(["a", "b"])[0] == ["done", "done"]
            assert not closed.is_set()
    finally:
        opened.set()
    assert closed.wait(SAFETY)


def test_a_time_limit_excludes_sync_mode() -> None:
    """However short the steps are: sync mode could not keep it."""
    with make_vec("test:Walk-v0", num_envs=4, mode="auto", step_timeout=SAFETY) as envs:
        assert envs.mode_choice is not None
        assert envs.mode_choice.mode != "sync"
        assert "sync" not in envs.mode_choice.predicted


def test_a_class_or_a_manifest_that_says_how_it_runs_is_not_measured() -> None:
    """No environment is made for it; one of several ids that says so brings threads for all."""
    with make_vec("test:Elsewhere-v0", num_envs=2, mode="auto") as envs:
        assert Elsewhere.made == 2
        assert envs.mode_choice == ModeChoice(
            "thread", "the environments belong into thread mode, as their class says."
        )
    with make_vec(["test:Elsewhere-v0", "test:Walk-v0"], mode="auto") as envs:
        assert (envs.mode_choice.mode, Walk.made) == ("thread", 1)  # type: ignore[union-attr]
    with make_vec(["test:Alone-v0", "test:Walk-v0"], mode="auto") as envs:
        assert envs.mode_choice == ModeChoice("thread", "some of the environments belong into sync mode.")
    with make_vec(["test:Alone-v0", "test:Elsewhere-v0"], mode="auto") as envs:
        assert envs.mode_choice == ModeChoice("thread", "some of the environments belong into sync and thread mode.")
    spec = EnvSpec("test:Docker-v0", Walk, requires=("docker", "dataset"))
    with make_vec(spec, num_envs=2, mode="auto") as envs:
        assert envs.mode_choice == ModeChoice("thread", "test:Docker-v0 needs docker, so its steps wait.")
    spec = EnvSpec("test:Search-v0", Walk, requires=("network",))
    with make_vec(spec, num_envs=2, mode="auto") as envs:
        assert envs.mode_choice == ModeChoice("thread", "test:Search-v0 needs network, so its steps wait.")


def test_two_classes_of_one_id_are_measured_one_by_one() -> None:
    """As where two distributions provide it: one may wait, and the other not."""
    with auto_vector_env([EnvMaker(EnvSpec("test:Same-v0", cls)) for cls in (Walk, Waits)]):
        assert (Walk.made, Waits.made) == (2, 2)


def test_tools_bring_threads() -> None:
    """Random actions call no tool, so the time of a step says nothing about those of an agent."""

    def look_up(word: str) -> str:
        """Look up a word.

        Args:
            word: the word.
        """
        return word

    with make_vec("test:Walk-v0", partial(ToolEnvWrapper, tools=[look_up]), num_envs=2, mode="auto") as envs:
        assert envs.mode_choice is not None
        assert envs.mode_choice.mode == "thread"
        assert "tools" in envs.mode_choice.reason


def test_threads_take_over_when_steps_begin_to_wait() -> None:
    """After that, all wait at the same time, and the choice says that it has changed."""
    with make_vec("test:Walk-v0", num_envs=16, mode="auto", length=10_000) as envs:
        envs.reset(seed=1)
        envs.step(["a"] * 16)
        assert envs.mode_choice.mode == "sync"  # type: ignore[union-attr]
        wait = partial(threading.Event().wait, 0.01)
        batches = 0
        while envs.mode_choice.mode == "sync":  # type: ignore[union-attr]
            envs.step([wait] * 16)
            batches += 1
        assert batches <= 3
        assert envs.mode_choice.reason.endswith("Later, steps waited.")  # type: ignore[union-attr]
        barrier = threading.Barrier(16, timeout=SAFETY)
        assert len(envs.step([barrier.wait] * 16)[0]) == 16


def test_the_rest_of_a_batch_need_not_wait_for_a_step_that_waits() -> None:
    """Threads run it; the mode changes when a second batch waits."""

    def wait() -> int:
        threading.Event().wait(0.01)
        return threading.get_ident()

    with AutoVectorEnv([partial(Walk, 100)] * 16, choice=ModeChoice("sync", "")) as envs:
        envs.reset(seed=1)
        threads = [int(text.split()[0]) for text in envs.step([wait] * 16)[0]]
        here = threads.count(threading.get_ident())
        assert 1 <= here <= 9  # eight until the look at the clock, and one that is watched
        assert threads[:here] == [threading.get_ident()] * here
        assert envs.mode_choice.mode == "sync"


def test_an_event_loop_never_waits_for_steps() -> None:
    """A callback is told of results, and threads play, however quick the steps are."""
    called = threading.Event()
    with AutoVectorEnv([Walk] * 3, choice=ModeChoice("sync", "")) as envs:
        envs.reset(seed=1)
        EngineAccess.of(envs).notify(called.set)
        envs.send([threading.get_ident] * 3)
        results: list[Any] = []
        while len(results) < 3:
            assert called.wait(SAFETY)
            called.clear()
            results += EngineAccess.of(envs).take_ready()
    assert threading.get_ident() not in {int(result[0].split()[0]) for _, result in results}


def test_steps_that_compute_are_not_watched_for_ever() -> None:
    """After some, only steps that take four times as long are a reason to watch again."""

    def compute() -> None:
        begin = time.thread_time()
        while time.thread_time() - begin < 0.0006:
            pass

    with AutoVectorEnv([partial(Walk, 100)] * 16, choice=ModeChoice("sync", "")) as envs:
        envs.reset(seed=1)
        before = envs._long
        for _ in range(6):
            envs.step([compute] * 16)
        assert envs._long >= 4 * before


def test_steps_that_compute_for_long_stay_in_the_callers_thread() -> None:
    """Threads would gain nothing."""

    def compute() -> int:
        begin = time.thread_time()
        while time.thread_time() - begin < 0.003:
            pass
        return threading.get_ident()

    with auto_vector_env([Walk] * 4) as envs:
        envs.reset(seed=1)
        for _ in range(6):
            observations = envs.step([compute] * 4)[0]
        assert envs.mode_choice.mode == "sync"  # type: ignore[union-attr]
    assert {str(text).split()[0] for text in observations} <= {"begin", str(threading.get_ident())}


def test_an_interrupt_loses_the_interrupted_episode_alone() -> None:
    """As in sync mode: what was not played yet is played by recv."""

    def interrupt() -> None:
        raise KeyboardInterrupt

    with auto_vector_env([Walk] * 3, autoreset="next_step") as envs:
        envs.reset()
        with pytest.raises(KeyboardInterrupt):
            envs.step(["a", interrupt, "c"])
        ready = envs.recv(min_ready=3)
        assert ready.indices == [0, 1, 2]
        assert ready.truncations.tolist() == [False, True, False]
        assert ready.infos[1] == {"error": "KeyboardInterrupt: "}


def test_recv_leaves_the_rest_when_its_time_is_over() -> None:
    """What was not played in time comes with the next call."""
    with AutoVectorEnv([Walk] * 40, choice=ModeChoice("sync", "")) as envs:
        envs.reset(seed=1)
        now = time.thread_time

        def compute() -> None:
            begin = now()
            while now() - begin < 0.002:
                pass

        envs.send([compute] * 40)
        first = envs.recv(timeout=0.001)
        assert 0 < len(first.indices) < 40
        rest = envs.recv(min_ready=envs.num_pending)
        assert sorted([*first.indices, *rest.indices]) == list(range(40))


def test_close_with_calls_left_closes_every_environment_once() -> None:
    """Calls that nobody has waited for are dropped."""
    envs = auto_vector_env([Walk] * 3)
    envs.reset(seed=1)
    envs.send(["a"] * 3)
    envs.close()
    assert Walk.made == Walk.closed == 4


def test_an_engine_without_environments_gets_threads() -> None:
    """They come later, so there is nothing to measure."""
    with auto_vector_env([None, None]) as envs:
        assert envs.mode_choice == ModeChoice("thread", "the environments could not be measured: there is none yet.")


COSTS = st.builds(
    StepCost, st.just(8), st.floats(1e-6, 0.1), st.one_of(st.just(0.0), st.floats(1e-4, 0.1)), st.just(False)
)


@given(
    kinds=st.lists(st.tuples(st.just("id"), st.integers(1, 512), COSTS), min_size=1, max_size=4),
    processors=st.integers(1, 64),
    limit=st.sampled_from([None, 1.0]),
)
def test_the_choice_is_within_a_tenth_of_the_best_prediction(
    kinds: list[tuple[str, int, StepCost]], processors: int, limit: float | None
) -> None:
    """And never sync mode with a time limit, nor processes where there is one processor."""
    made = choose(kinds, ["sync", "thread", "process"], processors, limit)
    assert 0.9 * made.predicted[made.mode] <= min(made.predicted.values())
    assert ("process" in made.predicted) == (processors > 1 and sum(count for _, count, _ in kinds) > 1)
    assert ("sync" in made.predicted) == (limit is None)


@pytest.mark.parametrize(
    ("cost", "count", "processors", "mode"),
    [
        (StepCost(9, 3e-6), 64, 8, "sync"),
        (StepCost(9, 3e-6), 64, 2, "sync"),
        (StepCost(9, 50e-6), 64, 2, "process"),
        (StepCost(9, 50e-6), 1, 8, "sync"),
        (StepCost(9, 10e-6, 0.05), 64, 8, "thread"),
        (StepCost(9, 10e-6, 200e-6), 4, 1, "thread"),
    ],
)
def test_what_is_chosen_for_known_costs(cost: StepCost, count: int, processors: int, mode: str) -> None:
    """Short steps belong to sync mode, long computation to processes, waiting to threads."""
    assert choose([("id", count, cost)], ["sync", "thread", "process"], processors, None).mode == mode


def test_an_environment_without_sampled_actions_is_measured_with_a_text() -> None:
    """Question sets sample none."""

    class Asks(Walk):
        seen: list[Any] = []  # noqa: RUF012  # shared by all of them

        def step(self, action: Any) -> tuple[Any, float, bool, bool, Info]:
            self.seen.append(action)
            return super().step(action)

        def sample_random_action(self) -> Any:
            raise NotSupportedError("none")

    assert step_cost(Asks, None).steps > 0
    assert set(Asks.seen) == {"\\boxed{0}"}


def test_each_action_is_chosen_for_the_state_in_which_it_is_played() -> None:
    """A random action that was chosen some steps ago may be illegal by now, and cost less than a legal one."""

    class Stale(Walk):
        def reset(self, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[str, Info]:
            self.number = 0
            return super().reset(seed=seed)

        def sample_random_action(self) -> Any:
            return self.number

        def step(self, action: Any) -> tuple[Any, float, bool, bool, Info]:
            assert action == self.number
            self.number += 1
            return super().step(str(action))

    cost = step_cost(partial(Stale, 1000), None)
    assert (cost.steps > 0, cost.problem) == (True, "")


class Clocks:
    """The clocks of a machine on which nothing takes time but what an environment says."""

    def __init__(self) -> None:
        self.wall = self.cpu = 0.0
        self.switches = 0

    def perf_counter(self) -> float:
        return self.wall

    def thread_time(self) -> float:
        return self.cpu

    def compute(self, seconds: float) -> None:
        self.wall += seconds
        self.cpu += seconds

    def wait(self, seconds: float) -> None:
        self.wall += seconds
        self.switches += 1


@pytest.fixture
def clocks(monkeypatch: pytest.MonkeyPatch) -> Clocks:
    """The clocks that measuring reads."""
    made = Clocks()
    monkeypatch.setattr("gem_processes.auto_mode.step_cost.time", made)
    monkeypatch.setattr("gem_processes.auto_mode.step_cost.voluntary_switches", lambda: made.switches)
    return made


class Timed(Walk):
    """Takes the time that two functions say: of the number of a step, and of the number of a reset."""

    def __init__(self, step: Callable[[int], object], reset: Callable[[int], object], length: int) -> None:
        super().__init__(length)
        self.steps = self.resets = 0
        self.step_takes, self.reset_takes = step, reset

    def reset(self, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[str, Info]:
        self.resets += 1
        self.reset_takes(self.resets)
        return super().reset(seed=seed)

    def step(self, action: Any) -> tuple[Any, float, bool, bool, Info]:
        self.steps += 1
        self.step_takes(self.steps)
        return super().step(action)


@pytest.mark.parametrize("length", [1, 7, 64, 100])
def test_the_cost_of_a_step_has_its_share_of_the_reset(clocks: Clocks, length: int) -> None:
    """A reset costs a thousand steps here; how many of them fall into the measured time hardly matters."""
    cost = step_cost(lambda: Timed(lambda _: clocks.compute(1e-6), lambda _: clocks.compute(1e-3), length), None)
    assert cost.computing == pytest.approx(1e-6 + 1e-3 / length, rel=0.2)
    assert cost.waiting == 0.0


def test_choosing_actions_and_reading_clocks_do_not_count(clocks: Clocks, monkeypatch: pytest.MonkeyPatch) -> None:
    """They are no part of a step, though every step is between two of each."""

    def read() -> float:
        clocks.compute(1e-6)
        return clocks.cpu

    monkeypatch.setattr(clocks, "thread_time", read)

    class Chosen(Timed):
        def sample_random_action(self) -> str:
            clocks.compute(1e-4)
            return "left"

    cost = step_cost(lambda: Chosen(lambda _: clocks.compute(5e-6), lambda _: None, 10**6), None)
    assert cost.computing == pytest.approx(5e-6)


def test_the_first_steps_are_left_out(clocks: Clocks) -> None:
    """They build tables and fill caches: a second in one step, or ten milliseconds in a thousand."""
    for slow in (
        lambda step: clocks.compute(0.9 if step == 1 else 1e-5),
        lambda step: clocks.compute(5e-5 if step < 200 else 1e-5),
    ):
        cost = step_cost(partial(Timed, slow, lambda _: None, 10**6), None)
        assert cost.computing == pytest.approx(1e-5)


def test_a_first_step_that_takes_long_is_the_measure_if_it_takes_a_second(clocks: Clocks) -> None:
    """Another one would hold up the caller."""
    made: list[Timed] = []

    def make() -> Timed:
        made.append(Timed(lambda _: clocks.wait(2.0), lambda _: None, 10**6))
        return made[0]

    cost = step_cost(make, None)
    assert (cost.waiting, cost.computing, cost.steps, made[0].steps) == (2.0, 0.0, 1, 1)


def test_steps_that_seldom_wait_compute(clocks: Clocks) -> None:
    """A busy machine takes the processor away now and then, which is no reason for threads; every other step is."""
    for period, waits in ((50, False), (2, True)):

        def take(step: int, period: int = period) -> None:
            clocks.wait(1e-4) if step % period == 0 else clocks.compute(1e-4)

        assert (step_cost(partial(Timed, take, lambda _: None, 10**6), None).waiting > 0.0) == waits


def test_a_burst_of_other_work_hardly_counts(clocks: Clocks) -> None:
    """Some milliseconds in which every step takes ten times as long leave the figure as it is."""

    def take(step: int) -> None:
        clocks.compute(1e-4 if 2500 <= step < 2560 else 1e-5)

    assert step_cost(lambda: Timed(take, lambda _: None, 10**6), None).computing == pytest.approx(1e-5)


def test_steps_that_vary_are_measured_longer(clocks: Clocks) -> None:
    """Up to a time that nobody notices."""
    spent = []
    for spread in (1, 20):
        chance, begin = random.Random(1), clocks.wall
        slow = partial(lambda chance, spread, _: clocks.compute(1e-4 * chance.choice([1, spread])), chance, spread)
        assert step_cost(partial(Timed, slow, lambda _: None, 10**6), None).computing > 0.0
        spent.append(clocks.wall - begin)
    assert 0.03 < spent[0] < 0.06
    assert 2 * spent[0] < spent[1] < 0.25


def test_large_results_belong_to_no_other_process() -> None:
    """Packing and unpacking them costs more than the other processor saves."""
    small, large = (step_cost(partial(Large, size), None) for size in (10, 400_000))
    assert 0.0 < small.packing < large.packing
    assert 0.0 < small.unpacking < large.unpacking
    for packing, unpacking, mode in ((1e-6, 1e-6, "process"), (60e-6, 1e-6, "sync"), (1e-6, 40e-6, "sync")):
        cost = StepCost(9, 30e-6, packing=packing, unpacking=unpacking)
        assert choose([("id", 64, cost)], ["sync", "thread", "process"], 2, None).mode == mode


class Large(Walk):
    """Returns observations of a given size."""

    def step(self, action: Any) -> tuple[Any, float, bool, bool, Info]:
        return str(self.rng.random()) * (self.length // 10), 1.0, False, False, {}


def test_results_that_cannot_be_sent_are_measured_all_the_same() -> None:
    """Whether another process can have them shows later; the steps cost what they cost."""

    class Unsendable(Walk):
        def step(self, action: Any) -> tuple[Any, float, bool, bool, Info]:
            return threading.Lock(), 1.0, False, False, {}

    cost = step_cost(Unsendable, None)
    assert (cost.packing, cost.unpacking, cost.problem) == (0.0, 0.0, "")
    assert cost.computing > 0.0


def test_many_processes_are_worth_it_only_for_long_batches() -> None:
    """Each costs a message, so that eight environments of 20 µs stay where they are however many processors wait."""
    modes = ["sync", "process"]
    assert choose([("id", 8, StepCost(9, 20e-6))], modes, 64, None).mode == "sync"
    assert choose([("id", 512, StepCost(9, 20e-6))], modes, 8, None).mode == "process"
