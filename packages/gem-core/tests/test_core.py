"""The environment contract's base classes."""

from __future__ import annotations

import json
import random
from abc import ABC
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import gem
from gem.core import Env, Info
from gem.errors import (
    ArgumentError,
    ArgumentTypeError,
    EpisodeFinishedError,
    IncompleteEnvError,
    NotSupportedError,
    StateError,
    UnknownArgumentError,
)


class Dice(Env[str, str]):
    """Shows a number drawn from its own generator."""

    def __init__(self, sides: int = 6, *, name: str = "die") -> None:
        self.sides, self.name = sides, name

    def reset(self, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[str, Info]:
        super().reset(seed=seed)
        return self._roll(), {}

    def step(self, action: str) -> tuple[str, float, bool, bool, Info]:
        return self._roll(), 0.0, False, False, {}

    def sample_random_action(self) -> str:
        return str(self.action_rng.random())

    def get_state(self) -> dict[str, Any]:
        return self.generator_state()

    def set_state(self, state: Any) -> None:
        self.set_generator_state(state)

    def _roll(self) -> str:
        return str(self.rng.randrange(self.sides))


class Bare(Env[str, str]):
    """An environment as the shortest of published snippets have it."""

    def reset(self, seed=None):  # type: ignore[no-untyped-def, override]
        super().reset(seed)
        return "begin", {}

    def step(self, action: str) -> tuple[str, float, bool, bool, Info]:
        return "", 0.0, True, False, {}


def rolls(env: Env[Any, Any], seed: int | None, count: int = 20) -> list[str]:
    return [env.reset(seed=seed)[0], *(env.step("")[0] for _ in range(count))]


def test_reset_seeds_this_environment_and_nothing_else() -> None:
    """The same seed gives the same episode, and the process's generator is untouched."""
    before = random.getstate()
    assert rolls(Dice(), 3) == rolls(Dice(), 3) != rolls(Dice(), 4)
    assert random.getstate() == before


def test_reset_without_a_seed_goes_on() -> None:
    """Without a seed the generator continues, so a whole run follows from its first seed."""
    one, two = Dice(10**9), Dice(10**9)
    assert rolls(one, 3) + rolls(one, None) == rolls(two, 3) + rolls(two, None)
    assert rolls(one, None) != rolls(one, 3)


def test_sampling_actions_leaves_episodes_alone() -> None:
    """Random actions come from a generator of their own, which the seed fixes too."""
    sampling, quiet = Dice(10**9), Dice(10**9)
    sampling.reset(seed=5)
    quiet.reset(seed=5)
    actions = [sampling.sample_random_action() for _ in range(5)]
    assert sampling.step("")[0] == quiet.step("")[0]
    assert [quiet.sample_random_action() for _ in range(5)] == actions


@given(st.integers(min_value=0))
def test_any_non_negative_int_is_a_seed(seed: int) -> None:
    """Seeds have no upper bound."""
    assert rolls(Dice(), seed, 2) == rolls(Dice(), seed, 2)


@pytest.mark.parametrize(("seed", "error"), [(-1, ArgumentError), (1.0, ArgumentTypeError), ("1", ArgumentTypeError)])
def test_anything_else_is_refused_as_a_seed(seed: Any, error: type[Exception]) -> None:
    """The message names the rule and the value."""
    with pytest.raises(error, match="seed must be a non-negative int or None, got "):
        Dice().reset(seed=seed)


@pytest.mark.parametrize("seed", [True, None.__class__, object()])
def test_a_seed_is_no_bool_nor_object(seed: Any) -> None:
    """True is an int to Python, and no seed."""
    with pytest.raises(TypeError, match="seed must be"):
        Dice().reset(seed=seed)


def test_unknown_arguments_are_refused_with_the_nearest_name() -> None:
    """A misspelt keyword says what was meant, also where the constructor was called directly."""
    with pytest.raises(UnknownArgumentError, match="Dice has no argument 'side'; did you mean 'sides'"):
        Dice(side=3)  # type: ignore[call-arg]
    with pytest.raises(UnknownArgumentError, match="it takes sides, name"):
        Dice(zzz=3)  # type: ignore[call-arg]
    with pytest.raises(ArgumentTypeError, match="got 3 positional arguments; it takes sides"):
        Dice(1, 2, 3)  # type: ignore[call-arg, misc]


def test_state_survives_json_and_continues() -> None:
    """A generator's state fits JSON and continues identically in another instance."""
    env, twin = Dice(10**9), Dice(10**9)
    rolls(env, 9)
    twin.set_state(json.loads(json.dumps(env.get_state())))
    assert rolls(twin, None) == rolls(env, None)
    assert twin.sample_random_action() == env.sample_random_action()


generator_state = Dice(10**9).get_state()["rng"]


@given(
    st.one_of(
        st.none(),
        st.integers(),
        st.fixed_dictionaries({"version": st.integers(), "words": st.text(max_size=9), "gauss": st.none()}),
        st.fixed_dictionaries({"version": st.just(3), "words": st.just(""), "gauss": st.text()}),
        st.fixed_dictionaries({**{k: st.just(v) for k, v in generator_state.items()}, "gauss": st.text()}),
    )
)
def test_a_damaged_generator_state_raises_and_changes_nothing(damaged: Any) -> None:
    """StateError, and the generator goes on as before."""
    env, twin = Dice(10**9), Dice(10**9)
    assert rolls(env, 1) == rolls(twin, 1)
    with pytest.raises(StateError, match="not the state of a random generator"):
        env.set_state({"rng": damaged, "action_rng": damaged})
    assert rolls(env, None) == rolls(twin, None)


def test_spawn_keeps_arguments_and_overrides_them() -> None:
    """A spawned environment has the same arguments but for those that are given anew."""
    env = Dice(20, name="d20")
    env.reset(seed=1)
    assert (env.spawn().sides, env.spawn(name="other").name, env.spawn(name="other").sides) == (20, "other", 20)
    assert (Dice(20, name="d20").spawn(sides=4).sides, env.spawn(sides=4).name) == (4, "d20")
    twin = env.spawn(same_state=True)
    assert rolls(twin, None) == rolls(env, None)


def test_published_environments_need_no_more_than_they_have() -> None:
    """reset(self, seed=None) and step are enough; a missing method raises and names itself."""
    env = Bare()
    assert env.reset(seed=1) == ("begin", {})
    for call in (env.sample_random_action, env.get_state, lambda: env.set_state({})):
        with pytest.raises(NotSupportedError, match="Bare does not implement"):
            call()
    assert env.unwrapped is env
    with env as entered:
        assert entered is env
    env.close()


@pytest.mark.parametrize(("defined", "missing"), [((), "reset or step"), (("reset",), "step"), (("step",), "reset")])
def test_a_class_without_reset_or_step_cannot_be_defined(defined: tuple[str, ...], missing: str) -> None:
    """The error names the missing methods, and comes with the definition of the class."""
    methods = {name: getattr(Dice, name) for name in defined}
    with pytest.raises(IncompleteEnvError, match=f"Unfinished does not define {missing};"):
        type("Unfinished", (Env,), methods)
    with pytest.raises(TypeError, match="Unfinished"):  # neither does inheriting from an abstract class help
        type("Unfinished", (type("Base", (Env, ABC), methods),), {})


def test_an_abstract_class_leaves_methods_to_its_subclasses() -> None:
    """A class with abc.ABC among its bases may be defined and subclassed, and cannot be called."""

    class Base(Env[str, str], ABC):
        def reset(self, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[str, Info]:
            return "begin", {}

    class Turn:
        def step(self, action: str) -> tuple[str, float, bool, bool, Info]:
            return "", 1.0, True, False, {}

    class Whole(Turn, Base):
        """Takes reset from one base and step from the other."""

    for unfinished in (Env, Base):
        with pytest.raises(IncompleteEnvError, match="is abstract: it does not define"):
            unfinished()
    assert Whole().step("")[1] == 1.0


def test_errors_refine_built_ins() -> None:
    """A caller who knows only Python's own exceptions catches the right ones."""
    from gem import errors

    assert issubclass(errors.UnknownEnvironmentError, ValueError)
    assert issubclass(EpisodeFinishedError, RuntimeError)
    for name in errors.__all__:
        kind = getattr(errors, name)
        if name != "PluginWarning":
            assert issubclass(kind, gem.GemError)
            assert kind is gem.GemError or len(kind.__mro__) > 4, f"{name} refines no built-in"


def test_the_public_surface_is_what_it_says() -> None:
    """__all__ is sorted, complete and resolvable, and dir() shows it."""
    assert gem.__all__ == sorted(gem.__all__)
    for name in gem.__all__:
        assert getattr(gem, name) is not None
        assert name in dir(gem)
    with pytest.raises(AttributeError, match="has no attribute 'nothing'"):
        _ = gem.nothing  # type: ignore[attr-defined]
