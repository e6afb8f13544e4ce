"""What every game promises, checked for every id in the manifest."""

from __future__ import annotations

import json
import random
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import gem
import gem_envs_games
from gem.errors import EpisodeFinishedError, GemError, ResetNeededError, StateError
from gem.manifest import read_specs

MANIFEST = Path(gem_envs_games.__file__).with_name("environments.toml")
SPECS = {spec.id: spec for spec in read_specs(MANIFEST, "gem-envs-games", gem_envs_games.__version__)}
IDS = sorted(SPECS)

HOSTILE_ACTIONS: list[Any] = [
    "",
    " ",
    "\x00",
    "\\boxed{",
    "\\boxed{}",
    "\\boxed{{}}",
    "\\boxed{\\boxed{1 1 1}}",
    "\\boxed{-1 -1 -1}",
    "\\boxed{0 0 0}",
    "\\boxed{0 0 0 0}",
    "\\boxed{99 99 99 99}",
    "\\boxed{1 1 a}",
    "\\boxed{reveal 99 99}",
    "\\boxed{flag 0 0}",
    "\\boxed{rıght}",
    "\\boxed{rİght}",
    "\\boxed{ＵＰ}",
    "\\boxed{up}",
    "\\boxed{A A}",
    "\\boxed{A,  C}",
    "\\boxed{AC}",
    "\\boxed{abc}",
    "\\boxed{ſtone}",
    "\\boxed{٣ ٣ ٣}",
    "\\boxed{" + "9" * 5000 + "}",
    "\\boxed{" + "9" * 5000 + " 1 1}",
    "\\boxed{1 1 " + "9" * 5000 + "}",
    "\\boxed{1 1 1 " + "9" * 5000 + "}",
    "\\boxed{reveal " + "9" * 5000 + " 1}",
    "\\boxed{<PREV_PAGE>}",
    "\ud800\\boxed{1}\udfff",
    "é\u202e\\boxed{1 2 3}\u202c",
    None,
    1,
    1.5,
    True,
    b"\\boxed{1}",
    ["\\boxed{1}"],
    {},
    {"content": None},
    {"role": "assistant", "content": "\\boxed{1 1 1}", "tool_calls": []},
    {"role": "assistant", "content": [{"type": "text", "text": "\\boxed{up}"}]},
    object(),
]

MEGABYTE = 1_000_000
LONG_TEXTS = {
    "letters": "a" * MEGABYTE,
    "one open box": "\\boxed{" + "1" * MEGABYTE,
    "spaces in a box": "\\boxed{a" + " " * MEGABYTE,
    "digits and spaces": "\\boxed{" + "1 " * (MEGABYTE // 2),
    "letters in a box": "\\boxed{" + "a" * MEGABYTE,
    "words in a box": "\\boxed{" + "ab " * (MEGABYTE // 3) + "}",
    "open boxes": "\\boxed{" * (MEGABYTE // 7),
    "empty boxes": "\\boxed{}" * (MEGABYTE // 8),
    "filled boxes": "\\boxed{1}" * (MEGABYTE // 9),
    "backslashes": "\\" * MEGABYTE,
    "braces": "{" * MEGABYTE,
    "closed braces": "\\boxed{" + "{}" * (MEGABYTE // 2),
}


def make(env_id: str, **kwargs: Any) -> gem.Env[Any, Any]:
    return gem.make(SPECS[env_id], **kwargs)


def play(env: gem.Env[Any, Any], actions: list[Any], seed: int | None) -> list[Any]:
    """Everything that one episode shows, up to its end or that of the actions."""
    shown: list[Any] = [env.reset(seed=seed)]
    for action in actions:
        result = env.step(action)
        shown.append(result)
        if result[2] or result[3]:
            break
    return shown


@cache
def sampled_actions(env_id: str, seed: int, count: int = 40) -> tuple[str, ...]:
    env = make(env_id)
    env.reset(seed=seed)
    return tuple(env.sample_random_action() for _ in range(count))


def run_reference(env: gem.Env[Any, Any], seed: int) -> tuple[float, int]:
    """Return and number of turns of one episode of the reference policy."""
    policy = gem.make_policy("reference", env)
    observation, info = env.reset(seed=seed)
    policy.reset(observation, info)
    total, turns, done = 0.0, 0, False
    while not done:
        observation, reward, terminated, truncated, info = env.step(policy.act(observation, info))
        total, turns, done = total + reward, turns + 1, terminated or truncated
    return total, turns


@pytest.mark.parametrize("env_id", IDS)
def test_reset_and_step_keep_the_contract(env_id: str) -> None:
    """Types, flags, rewards and info of a random episode are what the contract says, and it ends in time."""
    env = make(env_id)
    lowest, highest = SPECS[env_id].reward_range or (0.0, 0.0)
    for seed in range(5):
        observation, info = env.reset(seed=seed)
        assert isinstance(observation, str)
        assert observation
        assert json.loads(json.dumps(info)) == info
        total = 0.0
        for turn in range(1, 2000):
            observation, reward, terminated, truncated, info = env.step(env.sample_random_action())
            assert type(observation) is str
            assert type(reward) is float
            assert type(terminated) is bool
            assert type(truncated) is bool
            assert json.loads(json.dumps(info)) == info
            assert info["turn"] == turn
            total += reward
            if terminated or truncated:
                break
        else:
            pytest.fail("no end in 2,000 turns")
        assert lowest - 1e-9 <= total <= highest + 1e-9
        assert type(info["success"]) is bool


@pytest.mark.parametrize("env_id", IDS)
def test_illegal_order_raises_and_names_reset(env_id: str) -> None:
    """A step before the first reset or after the end raises, and the message says to call reset()."""
    env = make(env_id)
    with pytest.raises(ResetNeededError, match=r"reset\(\)"):
        env.step("\\boxed{1}")
    env.reset(seed=0)
    for _ in range(2000):
        if any(env.step(env.sample_random_action())[2:4]):
            break
    with pytest.raises(EpisodeFinishedError, match=r"reset\(\)"):
        env.step("\\boxed{1}")
    env.close()
    env.close()


@pytest.mark.parametrize("env_id", IDS)
def test_random_actions_are_well_formed(env_id: str) -> None:
    """sample_random_action never emits a malformed action."""
    env = make(env_id)
    for seed in range(3):
        env.reset(seed=seed)
        for _ in range(50):
            *_, terminated, truncated, info = env.step(env.sample_random_action())
            assert info["action_status"] != "malformed"
            if terminated or truncated:
                break


@pytest.mark.parametrize("env_id", IDS)
def test_same_seed_and_actions_give_the_same_episode(env_id: str) -> None:
    """A used instance repeats what a fresh one shows, also while others use the global generators."""
    actions = list(sampled_actions(env_id, 3))
    fresh = play(make(env_id), actions, seed=11)
    used = make(env_id)
    for seed in range(3):
        play(used, actions, seed=seed)
    before = random.getstate()
    random.seed(99)
    assert play(used, actions, seed=11) == fresh
    random.setstate(before)


@pytest.mark.parametrize("env_id", IDS)
def test_global_generator_is_untouched(env_id: str) -> None:
    """Playing draws nothing from the process's global generator."""
    before = random.getstate()
    play(make(env_id), list(sampled_actions(env_id, 1)), seed=1)
    assert random.getstate() == before


@pytest.mark.parametrize("env_id", IDS)
def test_a_run_is_a_function_of_its_first_seed(env_id: str) -> None:
    """After 100 resets without a seed, two runs that began with one seed still agree."""
    runs = []
    for _ in range(2):
        env = make(env_id)
        env.reset(seed=5)
        for _ in range(100):
            env.reset()
        runs.append(play(env, list(sampled_actions(env_id, 2)), seed=None))
    assert runs[0] == runs[1]


@pytest.mark.parametrize("env_id", IDS)
def test_different_seeds_give_different_episodes(env_id: str) -> None:
    """Chance is real: among 30 seeds there is more than one episode (all Hanoi towers are alike)."""
    if SPECS[env_id].entry_point.endswith("TowerofHanoiEnv") and not env_id.endswith("random"):
        return
    actions = list(sampled_actions(env_id, 0))
    assert len({str(play(make(env_id), actions, seed=seed)) for seed in range(30)}) > 1


@pytest.mark.parametrize("env_id", IDS)
def test_recorded_actions_replay_whether_sampled_or_not(env_id: str) -> None:
    """Sampling actions from the environment does not change its later episodes."""
    sampling, replaying = make(env_id), make(env_id)
    sampling.reset(seed=8)
    replaying.reset(seed=8)
    for _ in range(10):
        sampling.sample_random_action()
    assert sampling.reset() == replaying.reset()


@pytest.mark.parametrize("env_id", IDS)
def test_state_continues_identically_at_every_turn(env_id: str) -> None:
    """get_state → JSON → set_state on a new instance continues with the same episode and the same next one."""
    env, twin = make(env_id), make(env_id)
    env.reset(seed=21)
    for _ in range(60):
        state = json.loads(json.dumps(env.get_state()))
        twin.set_state(state)
        assert twin.get_state() == state
        action = env.sample_random_action()
        assert twin.sample_random_action() == action
        result = env.step(action)
        assert twin.step(action) == result
        if result[2] or result[3]:
            break
    assert twin.get_state() == env.get_state()
    assert twin.reset() == env.reset()


@pytest.mark.parametrize("env_id", IDS)
def test_state_is_not_shared(env_id: str) -> None:
    """A state that was taken stays as it is while the game goes on."""
    env = make(env_id)
    env.reset(seed=2)
    state = env.get_state()
    kept = json.dumps(state)
    for _ in range(10):
        if any(env.step(env.sample_random_action())[2:4]):
            break
    assert json.dumps(state) == kept
    env.set_state(state)
    env.step(env.sample_random_action())
    assert json.dumps(state) == kept


@pytest.mark.parametrize("env_id", IDS)
def test_spawn_copies_arguments_and_on_request_the_state(env_id: str) -> None:
    """A spawned environment has the same arguments, and with same_state the same future."""
    env = make(env_id)
    env.reset(seed=4)
    twin = env.spawn(same_state=True)
    assert twin.spec == env.spec
    actions = list(sampled_actions(env_id, 6, count=10))
    for action in actions:
        result = env.step(action)
        assert twin.step(action) == result
        if result[2] or result[3]:
            break


@pytest.mark.parametrize("env_id", IDS)
def test_hand_picked_hostile_actions_are_survived(env_id: str) -> None:
    """No hostile action raises, and its reward lies within the declared range."""
    env = make(env_id)
    lowest, highest = SPECS[env_id].reward_range or (0.0, 0.0)
    for seed, action in enumerate(HOSTILE_ACTIONS):
        env.reset(seed=seed)
        for _ in range(2):
            _, reward, terminated, truncated, info = env.step(action)
            assert lowest <= reward <= highest
            assert json.dumps(info)
            if terminated or truncated:
                break


@pytest.mark.parametrize("env_id", IDS)
@pytest.mark.parametrize("name", LONG_TEXTS)
def test_a_megabyte_of_text_is_read_quickly(env_id: str, name: str) -> None:
    """A step with 1 MB of text takes less than 50 ms of CPU time (the best of three, for busy machines)."""
    env = make(env_id)
    best = float("inf")
    for _ in range(3):
        env.reset(seed=1)
        begin = time.thread_time()
        env.step(LONG_TEXTS[name])
        best = min(best, time.thread_time() - begin)
    assert best < 0.05


text_actions = st.one_of(
    st.text(max_size=60),
    st.text(max_size=20).map(lambda inner: f"\\boxed{{{inner}}}"),
    st.lists(st.integers(-2, 12), min_size=1, max_size=5).map(lambda n: f"\\boxed{{{' '.join(map(str, n))}}}"),
    st.text("abcdefghijklmnopqrstuvwxyzABC ", min_size=1, max_size=12).map(lambda word: f"\\boxed{{{word}}}"),
    st.tuples(
        st.sampled_from(["reveal", "flag", "up", "down", "left", "right"]), st.integers(0, 9), st.integers(0, 9)
    ).map(lambda move: f"\\boxed{{{move[0]} {move[1]} {move[2]}}}"),
    st.sampled_from(
        ["\\boxed{up}", "\\boxed{down}", "\\boxed{left}", "\\boxed{right}", "\\boxed{A C}", "\\boxed{a,b}"]
    ),
    st.integers(0, 999).map(lambda n: ("sampled", n)),
)


@pytest.mark.parametrize("env_id", IDS)
@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])
@given(seed=st.integers(0, 2**70), actions=st.lists(text_actions, min_size=1, max_size=30))
def test_generated_actions_are_survived(env_id: str, seed: int, actions: list[Any]) -> None:
    """Mixed well-formed, nearly well-formed and garbage actions never raise nor leave the reward range."""
    env = make(env_id)
    lowest, highest = SPECS[env_id].reward_range or (0.0, 0.0)
    env.reset(seed=seed)
    total = 0.0
    for action in actions:
        chosen = env.sample_random_action() if isinstance(action, tuple) else action
        observation, reward, terminated, truncated, _ = env.step(chosen)
        assert observation
        total += reward
        assert lowest - 1e-9 <= total <= highest + 1e-9
        if terminated or truncated:
            env.reset()
            total = 0.0


hostile_values = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-(10**30), 10**30),
    st.integers(-3, 3),
    st.floats(),
    st.text(max_size=10),
    st.binary(max_size=5),
    st.lists(st.integers(-5, 10**6), max_size=3),
    st.dictionaries(st.text(max_size=3), st.integers(), max_size=2),
)


@pytest.mark.parametrize("env_id", [env_id for env_id in IDS if env_id.endswith("-v0")])
@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(data=st.data())
def test_hostile_constructor_arguments_raise_gem_errors(env_id: str, data: st.DataObject) -> None:
    """Whatever is passed, the constructor either works (and so does a reset) or raises a GEM error."""
    code = gem.entry_points.load(SPECS[env_id].entry_point).__init__.__code__
    names = [*code.co_varnames[1 : code.co_argcount + code.co_kwonlyargcount], "max_turn", "unknown"]
    kwargs = data.draw(st.dictionaries(st.sampled_from(names), hostile_values, max_size=4))
    with suppress(GemError):
        make(env_id, **kwargs).reset(seed=0)


@pytest.mark.parametrize("env_id", IDS)
@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(data=st.data())
def test_hostile_states_raise_and_change_nothing(env_id: str, data: st.DataObject) -> None:
    """set_state with a damaged state raises StateError and leaves the game as it was, or takes a valid one."""
    env = make(env_id)
    env.reset(seed=1)
    env.step(env.sample_random_action())
    state = env.get_state()
    damaged = json.loads(json.dumps(state))
    target: Any = (
        damaged if data.draw(st.booleans()) or not isinstance(damaged["episode"], dict) else damaged["episode"]
    )
    key = data.draw(st.sampled_from(sorted(target)))
    if data.draw(st.booleans()):
        del target[key]
    else:
        target[key] = data.draw(hostile_values)
    with suppress(StateError):
        env.set_state(damaged)
        return
    assert env.get_state() == state


@pytest.mark.parametrize("env_id", IDS)
def test_64_threads_show_what_one_shows(env_id: str) -> None:
    """64 instances in a pool of threads play the episodes that they play one after another."""
    actions = list(sampled_actions(env_id, 0, count=12))
    alone = [play(make(env_id), actions, seed) for seed in range(64)]
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        with ThreadPoolExecutor(64) as pool:
            together = list(pool.map(lambda seed: play(make(env_id), actions, seed), range(64)))
    finally:
        sys.setswitchinterval(interval)
    assert together == alone


def test_other_processes_show_the_same_episodes() -> None:
    """Processes with different hash seeds play the same episodes of every game."""
    script = Path(__file__).with_name("print_episodes.py")
    shown = {
        subprocess.run(
            [sys.executable, str(script)], check=True, capture_output=True, text=True, env={"PYTHONHASHSEED": hash_seed}
        ).stdout
        for hash_seed in ("0", "1", "4242")
    }
    assert len(shown) == 1
    assert len(shown.pop().splitlines()) == len(IDS)


@pytest.mark.parametrize("env_id", IDS)
def test_reference_policy_reaches_its_declared_return(env_id: str) -> None:
    """The reference policy's mean return over 30 seeds is the declared one, within four standard errors."""
    spec = SPECS[env_id]
    env = make(env_id)
    returns = [run_reference(env, seed)[0] for seed in range(30)]
    declared = spec.reference_return
    if declared is None:
        assert spec.reward_range is not None
        assert returns == pytest.approx([spec.reward_range[1]] * len(returns))
        return
    mean = sum(returns) / len(returns)
    spread = (sum((value - mean) ** 2 for value in returns) / (len(returns) - 1)) ** 0.5
    assert abs(mean - declared) <= 4 * spread / len(returns) ** 0.5 + 0.01


@pytest.mark.parametrize("env_id", IDS)
def test_seeds_of_any_size_and_nothing_else(env_id: str) -> None:
    """Any non-negative int is a seed; anything else raises a TypeError or ValueError that names it."""
    env = make(env_id)
    for seed in (0, 2**32, 10**40):
        env.reset(seed=seed)
    for bad in (-1, 1.5, "1", True, [1]):
        with pytest.raises((TypeError, ValueError), match="seed must be a non-negative int"):
            env.reset(seed=bad)  # type: ignore[arg-type]
