"""What every game promises, checked for every id in the manifest."""

from __future__ import annotations

import json
import re
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import gem
import gem_envs_games
from gem.discovery.manifest import read_specs
from gem.errors import ArgumentTypeError, GemError, StateError
from gem.policies import make_policy
from gem_testing import EnvConformance

MANIFEST = Path(gem_envs_games.__file__).with_name("environments.toml")
EVERY = read_specs(MANIFEST, "gem-envs-games", gem_envs_games.__version__)
SPECS = {spec.id: spec for spec in EVERY if spec.id.startswith("game:")}  # test_duels.py has the games for two
IDS = sorted(SPECS)

# The class and its drawn parameters are what random play and damaged states can tell apart; sizes they cannot.
BY_DAY = [
    env_id if re.search(r"-v0(-random)?$|-v1$", env_id) else pytest.param(env_id, marks=pytest.mark.nightly)
    for env_id in IDS
]
QUICK = tuple(spec for spec in SPECS.values() if re.match(r"game:(GuessTheNumber|TowerofHanoi)-v0(-random)?$", spec.id))
"""Two cheap games, whose conformance is tested also by those who cannot wait."""
DAYTIME = r"game:(?!Game2048)\w+-v0(-random|-easy-\w+)?$|game:Game2048-v0-easy$|(Sokoban|Minesweeper|Puzzle)-v1$"
BY_NIGHT = tuple(spec for spec in SPECS.values() if not re.search(DAYTIME, spec.id))
"""Variants that differ from another one in their sizes alone; of 2048 the easy one comes by day, since it is short."""

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


class TestConformanceOfTwoGames(EnvConformance):
    """Two games keep every clause of the contract."""

    environments = QUICK


@pytest.mark.slow
class TestConformance(EnvConformance):
    """So do all others."""

    environments = tuple(spec for spec in SPECS.values() if spec not in QUICK + BY_NIGHT)


@pytest.mark.nightly
class TestConformanceByNight(EnvConformance):
    """And every other variant."""

    environments = BY_NIGHT


def test_the_readme_lists_every_game() -> None:
    """The table names each game once; variants stand in the manifest alone, where ``gem list`` reads them."""
    readme = Path(__file__).parents[1].joinpath("README.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| `(game:[^`]+)` \|", readme, re.MULTILINE)
    assert rows == [env_id for env_id in IDS if re.search(r"-v\d+$", env_id)]


@pytest.mark.parametrize("env_id", IDS)
def test_the_last_step_says_whether_the_game_was_won(env_id: str) -> None:
    """info["success"] is there on the last step of an episode, and only there."""
    env = make(env_id)
    *earlier, last = [info for *_, info in play(env, list(sampled_actions(env_id, 0, 1000)), 0)]
    assert not any("success" in info for info in earlier)
    assert type(last["success"]) is bool


@pytest.mark.parametrize("env_id", IDS)
def test_the_instructions_say_what_an_unreadable_move_costs(env_id: str) -> None:
    """What they say is what happens, and they show an example of the one form; they speak of no history."""
    env = make(env_id)
    observation, _ = env.reset(seed=1)
    assert "\\boxed{" in observation
    assert "Earlier turns" not in observation
    _, reward, terminated, *_ = env.step("five, I think")
    if env_id.startswith("game:WikiGame"):
        assert "none in a box" in " ".join(observation.split())
        assert (reward < 0, terminated) == (True, False)
    else:
        assert "A move in any other form ends the game and costs 0.1." in observation
        assert (reward, terminated) == (-0.1, True)


@pytest.mark.parametrize("env_id", IDS)
def test_the_instructions_show_a_move_that_the_game_can_read(env_id: str) -> None:
    """At least one of the boxes that they show is well-formed, so that copying its form works."""
    env = make(env_id)
    observation, _ = env.reset(seed=1)
    shown = re.findall(r"\\boxed\{[^{}]+\}", observation)
    read = []
    for box in shown:
        env.reset(seed=1)
        read.append(env.step(box)[4]["action_status"] != "malformed")
    assert any(read), shown


@pytest.mark.parametrize("env_id", [env_id for env_id in IDS if re.search(r":(?!Crosswords)\w+-(v0|v1)$", env_id)])
def test_one_turn_is_counted_in_the_singular(env_id: str) -> None:
    """In the instructions of a game of one turn, which the reference policy reads too; Crosswords needs several."""
    env = make(env_id, max_turns=1)
    observation, info = env.reset(seed=0)
    assert re.search(r"\b1 turn\b", observation)
    assert not re.search(r"\b1 turns\b", observation)
    if env.spec is not None and env.spec.reference_policy is not None:
        policy = make_policy("reference", env)
        policy.reset(observation, info)
        assert policy.act(observation, info)


def messy(env_id: str, action: str, style: int) -> str:
    """Write a well-formed action in one of the ways that only a lenient game takes."""
    move = action[len("\\boxed{") : -1]
    if env_id.startswith("game:WikiGame"):
        return f"\\boxed{{\\text{{{move}}}}}"
    separated = move.replace(" ", ", ")
    return (
        f"\\boxed{{\\text{{{move}}}}}",
        f"\\boxed{{ {separated.upper()}  }}",
        f"So I say \\boxed{{\n\\text{{{separated.title()}}} ,}}.",
    )[style]


@pytest.mark.parametrize("env_id", BY_DAY)
def test_a_lenient_game_takes_what_models_often_write(env_id: str) -> None:
    """Messy actions give the same episode as plain ones; without ``lenient`` each of them is refused."""
    plain, lenient = make(env_id), make(env_id, lenient=True)
    for seed, style in enumerate((0, 1, 2)):
        plain.reset(seed=seed)
        lenient.reset(seed=seed)
        for _ in range(15):
            action = plain.sample_random_action()
            expected = plain.step(action)
            assert lenient.step(messy(env_id, action, style)) == expected
            if expected[2] or expected[3]:
                break
        strict = make(env_id)
        strict.reset(seed=seed)
        assert strict.step(messy(env_id, action, style))[1] == (-0.2 if "WikiGame" in env_id else -0.1)


@pytest.mark.parametrize("env_id", IDS)
def test_lenient_instructions_say_what_makes_no_difference(env_id: str) -> None:
    """This sentence is all that they differ in, and the last before the cost of an unreadable move."""
    plain, lenient = make(env_id).reset(seed=3)[0], make(env_id, lenient=True).reset(seed=3)[0]
    note = re.search(r" [^.]*\\text\{\}[^.]* no difference\.", lenient)
    assert note is not None
    assert lenient.replace(note[0], "", 1) == plain
    assert "no difference" not in plain
    cost = "" if "WikiGame" in env_id else " A move in any other form ends the game and costs 0.1."
    assert lenient[note.end() :].startswith(f"{cost}\n\n")


@pytest.mark.parametrize("env_id", BY_DAY)
def test_lenient_is_true_or_false(env_id: str) -> None:
    """Every game refuses anything else by name, and gives the argument to its twins."""
    with pytest.raises(ArgumentTypeError, match="lenient"):
        make(env_id, lenient="yes")
    assert "no difference" in make(env_id, lenient=True).spawn().reset(seed=1)[0]


@pytest.mark.parametrize("env_id", IDS)
def test_different_seeds_give_different_episodes(env_id: str) -> None:
    """Chance is real: among 30 seeds there is more than one episode (all Hanoi towers are alike)."""
    if "TowerofHanoi" in env_id and not env_id.endswith("random"):
        return
    actions = list(sampled_actions(env_id, 0))
    first = play(make(env_id), actions, seed=0)
    assert any(play(make(env_id), actions, seed=seed) != first for seed in range(1, 30))


@pytest.mark.parametrize("env_id", BY_DAY)
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


@pytest.mark.sampled(12)
@pytest.mark.parametrize("env_id", BY_DAY)
@settings(suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])
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
@settings(suppress_health_check=[HealthCheck.too_slow])
@given(data=st.data())
def test_hostile_constructor_arguments_raise_gem_errors(env_id: str, data: st.DataObject) -> None:
    """Whatever is passed, the constructor either works (and so does a reset) or raises a GEM error."""
    code = gem.entry_points.load(SPECS[env_id].entry_point).__init__.__code__
    names = [*code.co_varnames[1 : code.co_argcount + code.co_kwonlyargcount], "max_turn", "unknown"]
    kwargs = data.draw(st.dictionaries(st.sampled_from(names), hostile_values, max_size=4))
    with suppress(GemError):
        make(env_id, **kwargs).reset(seed=0)


@pytest.mark.sampled(12)
@pytest.mark.parametrize("env_id", BY_DAY)
@settings(suppress_health_check=[HealthCheck.too_slow])
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
