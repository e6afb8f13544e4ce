"""Wrappers as the original GEM offered them: by path, by factory and by one class with flags."""

from __future__ import annotations

import pickle
from collections.abc import Mapping
from typing import Any

import pytest

from gem.built_in import WRAPPERS as BUILT_IN
from gem.core import Env, Info
from gem.discovery.official import WRAPPERS
from gem.errors import ArgumentError, ArgumentTypeError, MissingPluginError
from gem.migration_adapters import WRAPPER_FACTORY, ObservationWrapper, get_wrapper_fns


class Tokenizer:
    def apply_chat_template(self, conversation: Any, *, tokenize: bool, add_generation_prompt: bool) -> str:
        return "".join(f"<{message['role']}>{message['content']}" for message in conversation) + "<assistant>"


class Counting(Env[str, str]):
    def __init__(self) -> None:
        self.turn = 0

    def reset(self, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[str, Info]:
        self.turn = 0
        return "begin", {}

    def step(self, action: str) -> tuple[str, float, bool, bool, Info]:
        self.turn += 1
        return f"turn {self.turn}", 0.0, False, False, {}


def last(env: Env[Any, Any]) -> Any:
    """What the agent sees after three turns."""
    env.reset()
    return [env.step(action)[0] for action in "abc"][-1]


# What the original showed after the actions a, b and c, by its arguments.
SHOWN: list[tuple[dict[str, Any], str]] = [
    ({}, "<user>begin<assistant>a<user>turn 1<assistant>b<user>turn 2<assistant>c<user>turn 3<assistant>"),
    ({"max_history_length": 1}, "<user>turn 2<assistant>c<user>turn 3<assistant>"),
    ({"include_chat_template": False}, "begin\na\nturn 1\nb\nturn 2\nc\nturn 3\n"),
    ({"include_chat_template": False, "max_history_length": 2}, "turn 1\nb\nturn 2\nc\nturn 3\n"),
    ({"include_chat_template": False, "include_action": False}, "begin\nturn 1\nturn 2\nturn 3\n"),
    (
        {"include_chat_template": False, "apply_chat_template_on_reset": True},
        "<user>begin<assistant>\na\nturn 1\nb\nturn 2\nc\nturn 3\n",
    ),
    (
        {"include_chat_template": False, "apply_chat_template_on_reset": True, "include_action": False},
        "<user>begin<assistant>\nturn 1\nturn 2\nturn 3\n",
    ),
]


@pytest.mark.parametrize(("arguments", "expected"), SHOWN)
def test_the_one_class_of_the_original_shows_what_it_showed(arguments: dict[str, Any], expected: str) -> None:
    """For every combination of its flags that it took."""
    assert last(ObservationWrapper(Counting(), tokenizer=Tokenizer(), **arguments)) == expected


def test_combinations_that_the_original_refused_are_refused() -> None:
    """And its defaults need a tokenizer."""
    with pytest.raises(ArgumentError, match="exclude each other"):
        ObservationWrapper(Counting(), apply_chat_template_on_reset=True, tokenizer=Tokenizer())
    with pytest.raises(ArgumentError, match="include_action"):
        ObservationWrapper(Counting(), include_action=False, tokenizer=Tokenizer())
    with pytest.raises(ArgumentTypeError, match="tokenizer"):
        ObservationWrapper(Counting())


def test_the_paths_of_the_original_lead_here() -> None:
    """As trainers import them."""
    from gem.wrappers.episode_tracking_wrapper import (  # type: ignore[import-not-found]
        EpisodeTrackingWrapper,
    )
    from gem.wrappers.observation_wrapper import (  # type: ignore[import-not-found]
        ObservationWrapper as Published,
    )
    from gem.wrappers.wrapper_factory import (  # type: ignore[import-not-found]
        WRAPPER_FACTORY as PUBLISHED_FACTORY,
    )
    from gem.wrappers.wrapper_factory import get_wrapper_fns as published_function

    assert (Published, PUBLISHED_FACTORY, published_function) == (ObservationWrapper, WRAPPER_FACTORY, get_wrapper_fns)
    assert EpisodeTrackingWrapper(Counting()).reset()[1]["step_counter"] == 0


def test_the_factory_is_a_mapping_of_every_wrapper() -> None:
    """Also of those that the original did not have."""
    assert isinstance(WRAPPER_FACTORY, Mapping)
    assert set(BUILT_IN) <= set(WRAPPER_FACTORY)
    assert len(WRAPPER_FACTORY) == len(list(WRAPPER_FACTORY))
    assert "concat" in repr(WRAPPER_FACTORY)
    assert "concat" in WRAPPER_FACTORY
    assert "conkat" not in WRAPPER_FACTORY
    assert WRAPPER_FACTORY.get("conkat") is None


@pytest.mark.parametrize("name", ["concat", "concat_with_action", "concat_chat", "concat_chat_on_reset", "messages"])
def test_every_factory_takes_a_tokenizer(name: str) -> None:
    """Those that need none ignore it, as published."""
    env = WRAPPER_FACTORY[name](Counting(), tokenizer=Tokenizer())
    assert "turn 3" in str(last(env))


def test_factories_take_the_wrappers_own_arguments() -> None:
    """By keyword, and can be pickled on their way to a worker."""
    factory = pickle.loads(pickle.dumps(WRAPPER_FACTORY["concat"]))
    assert last(factory(Counting(), max_history_length=1)) == "turn 2\nturn 3\n"


def test_a_missing_package_is_named_with_what_installs_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """As GEM's own error, and as the KeyError that users of a mapping expect."""
    monkeypatch.setitem(WRAPPERS, "moon_tool", "gem-moon")
    with pytest.raises(MissingPluginError) as caught:
        WRAPPER_FACTORY["moon_tool"]
    assert str(caught.value) == "wrapper 'moon_tool' comes with gem-moon; run: pip install gem-moon"
    with pytest.raises(MissingPluginError, match="pip install gem-moon"):
        get_wrapper_fns("concat,moon_tool", tokenizer=None)
    with pytest.raises(KeyError, match="did you mean 'concat'"):
        WRAPPER_FACTORY["conkat"]


def test_names_give_functions_to_be_applied_in_order(capsys: pytest.CaptureFixture[str]) -> None:
    """With the tokenizer filled in where one is taken, and nothing printed."""
    env: Env[Any, Any] = Counting()
    for function in get_wrapper_fns("concat_chat, episode_tracking", tokenizer=Tokenizer()):
        env = function(env)
    assert repr(env) == "EpisodeTracking(ConcatChat(Counting()))"
    assert last(env) == SHOWN[0][1]
    assert get_wrapper_fns("") == get_wrapper_fns(None) == []
    assert capsys.readouterr() == ("", "")
