"""register, spec, make and the listing."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import pytest

import gem
from gem import discovery, registry
from gem.core import Env, Info
from gem.errors import (
    ArgumentError,
    ArgumentTypeError,
    DuplicateRegistrationError,
    EntryPointError,
    EnvironmentConflictError,
    InvalidIdError,
    PluginWarning,
    UnknownArgumentError,
    UnknownEnvironmentError,
)

if TYPE_CHECKING:
    from conftest import PluginSite


class Thing(Env[str, str]):
    """Says how big it is."""

    def __init__(self, size: int = 1, colour: str = "red") -> None:
        if size < 0:
            raise ArgumentError(f"size must be at least 0, got {size}")
        self.size, self.colour = size, colour

    def reset(self, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[str, Info]:
        super().reset(seed=seed)
        return f"{self.colour} {self.size}", {}

    def step(self, action: str) -> tuple[str, float, bool, bool, Info]:
        return "", 0.0, True, False, {}


@pytest.fixture(autouse=True)
def _nothing_registered(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(registry, "_registered", {})


def test_a_registered_class_is_made_with_its_arguments() -> None:
    """Arguments of register are defaults; those of make override them; the spec says both."""
    gem.register("test:Thing-v0", Thing, size=2)
    env = gem.make("test:Thing-v0", colour="blue")
    assert env.reset(seed=1)[0] == "blue 2"
    assert env.spec is not None
    assert env.spec.kwargs == {"size": 2, "colour": "blue"}
    assert gem.spec("test:Thing-v0").kwargs == {"size": 2}
    assert gem.make("test:Thing-v0", size=3).reset()[0] == "red 3"


def test_an_entry_point_may_be_text_or_any_callable() -> None:
    """'module:Class', a class, and a function that returns an environment all work."""
    gem.register("test:Function", lambda **kwargs: Thing(**kwargs), size=4)
    assert gem.make("test:Function").reset()[0] == "red 4"
    gem.register("test:Text", f"{__name__}:Thing")
    assert type(gem.make("test:Text")) is Thing


def test_a_spec_makes_the_environment_again() -> None:
    """A spec is taken by make, also one that came through JSON, without looking anything up."""
    gem.register("test:Thing-v0", Thing, size=2)
    spec = gem.spec("test:Thing-v0")
    gem.unregister("test:Thing-v0")
    assert gem.make(spec, colour="blue").reset()[0] == "blue 2"
    text = gem.EnvSpec("test:Text", f"{__name__}:Thing").to_json()
    assert type(gem.make(gem.EnvSpec.from_json(text))) is Thing


@pytest.mark.parametrize("entry_point", [None, 7, ["a:b"], b"a:b"])
def test_an_entry_point_of_another_type_is_refused_at_once(entry_point: Any) -> None:
    """What is neither text nor callable is refused by register, not by a later make."""
    with pytest.raises(ArgumentTypeError, match="entry_point"):
        gem.register("test:Thing-v0", entry_point)


@pytest.mark.parametrize(
    ("entry_point", "reason"),
    [
        ("nonsense", "must look like"),
        (":Thing", "must look like"),
        ("module:", "must look like"),
        ("nothing_of_this_name:Thing", "nothing_of_this_name"),
        ("gem.core:Nothing", "Nothing"),
        ("gem.core:Env.nothing", "nothing"),
        ("gem:__version__", "not callable"),
        ("builtins:dict", "not a gem.Env"),
    ],
)
def test_an_entry_point_that_leads_nowhere_is_an_error_of_make(entry_point: str, reason: str) -> None:
    """The message holds the entry point and what is wrong with it; the error is also an ImportError."""
    gem.register("test:Broken", entry_point)
    with pytest.raises(EntryPointError, match=reason) as caught:
        gem.make("test:Broken")
    assert isinstance(caught.value, ImportError)


def test_the_constructors_own_errors_come_through() -> None:
    """An impossible value and an unknown name are the constructor's errors, with the nearest name."""
    gem.register("test:Thing-v0", Thing)
    with pytest.raises(ArgumentError, match="size must be at least 0"):
        gem.make("test:Thing-v0", size=-1)
    with pytest.raises(UnknownArgumentError, match="did you mean 'size'"):
        gem.make("test:Thing-v0", sise=1)


def test_an_id_is_registered_once() -> None:
    """A second registration names the owner; replace=True overrides; unregister frees the id."""
    gem.register("test:Thing-v0", Thing)
    with pytest.raises(DuplicateRegistrationError, match="replace=True"):
        gem.register("test:Thing-v0", Thing)
    gem.register("test:Thing-v0", Thing, replace=True, size=7)
    assert gem.make("test:Thing-v0").reset()[0] == "red 7"
    gem.unregister("test:Thing-v0")
    gem.register("test:Thing-v0", Thing)
    gem.unregister("test:Nothing")


def test_an_id_of_a_package_can_be_replaced_in_this_process(site: PluginSite) -> None:
    """Without replace=True the package is named; with it, the owner's prefix still reaches the package."""
    site.add_thing("my-things", "my_things", "things")
    with pytest.raises(DuplicateRegistrationError, match="my-things"):
        gem.register("things:Thing-v0", Thing)
    gem.register("things:Thing-v0", Thing, replace=True)
    assert type(gem.make("things:Thing-v0")) is Thing
    assert type(gem.make("my-things/things:Thing-v0")) is not Thing
    assert [spec.distribution for spec in gem.all_specs("things")] == [None, "my-things"]


@pytest.mark.parametrize("name", ["sokoban", "FrozenLake-v1", "ALE/Pong-v5", "Tic Tac Toe", "été"])
def test_a_process_takes_any_name(name: str) -> None:
    """A plain name, without a namespace, can be registered, made, listed, recorded and removed."""
    gem.register(name, Thing)
    env = gem.make(name)
    assert env.spec is not None
    assert (env.spec.id, env.spec.namespace) == (name, "")
    assert gem.EnvSpec.from_json(env.spec.to_json()).id == name
    assert name in [spec.id for spec in gem.all_specs()]
    with gem.make_vec(name, num_envs=2) as envs:
        assert len(envs.reset(seed=0)[0]) == 2
    with pytest.raises(DuplicateRegistrationError, match="replace=True"):
        gem.register(name, Thing)
    gem.unregister(name)
    with pytest.raises(InvalidIdError):
        gem.make(name)


def test_a_misspelt_plain_name_says_what_comes_near() -> None:
    """The error has the nearest name of this process, or the grammar of ids where none is near."""
    gem.register("sokoban", Thing)
    with pytest.raises(InvalidIdError, match="did you mean 'sokoban'"):
        gem.make("sokobna")
    with pytest.raises(InvalidIdError, match="namespace:Name"):
        gem.make("chess")


@pytest.mark.parametrize("env_id", ["", "  ", "test:", "a:b:c", "a\nb", None, 7])
def test_what_is_no_id_is_refused_everywhere(env_id: Any) -> None:
    """register, unregister, spec and make raise the same error."""
    for call in (lambda: gem.register(env_id, Thing), lambda: gem.unregister(env_id), lambda: gem.spec(env_id)):
        with pytest.raises(InvalidIdError):
            call()
    with pytest.raises(InvalidIdError):
        gem.make(env_id)


def test_an_unknown_id_says_what_comes_near() -> None:
    """A misspelt name gives the nearest; an unknown namespace says where to look."""
    gem.register("test:Thing-v0", Thing)
    with pytest.raises(UnknownEnvironmentError, match="did you mean 'test:Thing-v0'"):
        gem.make("test:Thin-v0")
    with pytest.raises(UnknownEnvironmentError, match="'gem list test'"):
        gem.make("test:Zzzzzzzzzzzzz")
    with pytest.raises(UnknownEnvironmentError, match="namespace 'nowhere'"):
        gem.make("nowhere:Thing-v0")


def test_an_unknown_id_is_what_callers_of_the_original_catch() -> None:
    """The error is a ValueError and a LookupError."""
    with pytest.raises(ValueError, match="no environment"):
        gem.make("nowhere:Thing-v0")
    with pytest.raises(LookupError):
        gem.make("nowhere:Thing-v0")


@pytest.mark.parametrize(
    ("env_id", "packages"),
    [
        ("math:GSM8K", ["gem-envs-math"]),
        ("eval:AIME24", ["gem-envs-math", "gem-envs-qa", "gem-envs-code"]),
        ("rg:arc_1d", ["gem-envs-reasoning"]),
    ],
)
def test_an_official_namespace_says_what_to_install(
    monkeypatch: pytest.MonkeyPatch, env_id: str, packages: list[str]
) -> None:
    """Where no package fills one of the project's namespaces, the message has the pip lines of those that would."""
    monkeypatch.setattr(discovery, "installed", lambda name: discovery.Installed({}, ()))
    with pytest.raises(UnknownEnvironmentError) as caught:
        gem.make(env_id)
    for package in packages:
        assert f"pip install {package}" in str(caught.value)


def test_two_claimants_are_told_apart_by_their_owner(site: PluginSite) -> None:
    """Without an owner the error names both; an owner in any spelling picks one; a wrong owner is told who has it."""
    site.add_thing("a-things", "a_things", "things")
    site.add_thing("b-things", "b_things", "things")
    with pytest.raises(EnvironmentConflictError, match=r"a-things and b-things.*'a-things/things:Thing-v0'"):
        gem.spec("things:Thing-v0")
    assert gem.spec("B_Things/things:Thing-v0-big").distribution == "b-things"
    with pytest.raises(UnknownEnvironmentError, match=r"no distribution 'c-things' provides.*a-things, b-things does"):
        gem.spec("c-things/things:Thing-v0")
    assert registry.conflicts()["things:Thing-v0"] == ("a-things", "b-things")


def test_the_listing_is_sorted_and_complete(site: PluginSite) -> None:
    """Ids of packages and of this process come sorted; with a namespace, those in it."""
    site.add_thing("my-things", "my_things", "things")
    gem.register("things:Another", Thing)
    gem.register("zoo:Animal", Thing)
    assert [spec.id for spec in gem.all_specs("things")] == ["things:Another", "things:Thing-v0", "things:Thing-v0-big"]
    everything = [spec.id for spec in gem.all_specs()]
    assert everything == sorted(everything)
    assert {"zoo:Animal", "things:Thing-v0"} <= set(everything)


def test_print_envs_groups_by_package(site: PluginSite, capsys: pytest.CaptureFixture[str]) -> None:
    """Each distribution's ids stand under its name and their number."""
    site.add_thing("my-things", "my_things", "things")
    gem.register("zoo:Animal", Thing)
    gem.print_envs()
    printed = capsys.readouterr().out
    assert "my-things (2)\n  things:Thing-v0\n  things:Thing-v0-big\n" in printed
    assert "registered in this process (1)\n  zoo:Animal\n" in printed


def test_a_broken_package_is_warned_about_where_it_can_be_the_reason(site: PluginSite) -> None:
    """Listing warns, and so does an id that is not found; what is found is made without a word."""
    site.add("broken", {"things": "absent"}, {})
    site.add_thing("my-things", "my_things", "things")
    with pytest.warns(PluginWarning, match="plugin broken: "):
        assert len(gem.all_specs("things")) == 2
    with pytest.warns(PluginWarning, match="plugin broken: "), pytest.raises(UnknownEnvironmentError):
        gem.make("things:Other")
    assert gem.make("things:Thing-v0").reset()[0] == "size 1"  # a warning would be an error here


class Dice(Thing):
    """Says what it has thrown."""

    def reset(self, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[str, Info]:
        super().reset(seed=seed)
        return str(self.rng.random()), {}

    def get_state(self) -> dict[str, Any]:
        return self.generator_state()

    def set_state(self, state: Mapping[str, Any]) -> None:
        self.set_generator_state(state)


def test_a_seed_of_make_is_that_of_the_first_reset() -> None:
    """Later resets continue from it; a reset with a seed of its own takes that one; spec, twin and state carry it."""
    gem.register("test:Dice-v0", Dice)
    plain = gem.make("test:Dice-v0")
    expected = [plain.reset(seed=5)[0], plain.reset()[0]]
    env = gem.make("test:Dice-v0", seed=5)
    assert [env.reset()[0], env.reset()[0]] == expected
    assert env.spec is not None
    assert gem.make(env.spec).reset()[0] == expected[0]
    assert gem.make(env.spec, seed=6).reset()[0] == plain.reset(seed=6)[0]
    assert env.spawn().reset()[0] == expected[0]
    assert env.spawn(same_state=True).reset()[0] == env.reset()[0]
    assert gem.make("test:Dice-v0", seed=5).reset(seed=6)[0] == plain.reset(seed=6)[0]
    with pytest.raises(ArgumentError, match="non-negative"):
        gem.make("test:Dice-v0", seed=-1)


def test_a_constructor_with_a_seed_gets_that_of_make() -> None:
    """It decides what the environment consists of, so the constructor needs it as well as the first reset."""

    class Seeded(Thing):
        def __init__(self, seed: int = 42) -> None:
            super().__init__()
            self.seed = seed

    gem.register("test:Seeded-v0", Seeded)
    assert gem.make("test:Seeded-v0").seed == 42  # type: ignore[attr-defined]
    assert gem.make("test:Seeded-v0", seed=5).seed == 5  # type: ignore[attr-defined]
