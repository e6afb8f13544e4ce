"""Lines of trajectories: the short way gives the same bytes as the long one, and never hides what JSON cannot hold."""

from __future__ import annotations

import json
import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import gem
from gem.errors import TrajectoryError
from gem.policies import Act
from gem_rollout.trajectory import Trajectory, TrajectoryBuilder
from gem_rollout.trajectory.encoder import TrajectoryEncoder
from gem_rollout.trajectory.encoding import encoded

SPEC = gem.EnvSpec(id="chat", entry_point="gem.core:Env", kwargs={"size": 3})

values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)
probabilities = st.lists(st.floats(), min_size=2, max_size=2)


def recorded(
    infos: list[dict[str, Any]], texts: list[str], logprobs: list[float] | None = None, **act: Any
) -> Trajectory:
    """Return an episode of chat with these infos and answers."""
    builder = TrajectoryBuilder(SPEC, 3)
    messages: list[dict[str, Any]] = [{"role": "user", "content": "begin"}]
    builder.begin(list(messages), infos[0])
    for info, text in zip(infos[1:], texts, strict=False):
        messages += [{"role": "assistant", "content": text}, {"role": "user", "content": text * 3}]
        builder.add(Act(text, token_ids=[1, 2], logprobs=logprobs, **act), list(messages), 0.5, False, False, info)
    return builder.finish("turns")


@given(
    st.lists(st.dictionaries(st.text(), values, max_size=3), min_size=3, max_size=4),
    st.lists(st.text(), min_size=3, max_size=3),
    st.none() | probabilities,
)
def test_a_line_holds_what_to_dict_does(
    infos: list[dict[str, Any]], texts: list[str], logprobs: list[float] | None
) -> None:
    """For any JSON values, numbers without a JSON form among the log-probabilities, texts that are no Unicode too."""
    episode = recorded(infos, texts, logprobs)
    line = TrajectoryEncoder().line(episode)
    assert line == encoded(episode.to_dict()) + b"\n"
    assert json.loads(line) == json.loads(episode.to_json())


@pytest.mark.parametrize(
    "value", [math.nan, math.inf, {"deep": [math.nan]}, object(), {1, 2}], ids=["nan", "inf", "deep", "object", "set"]
)
def test_what_json_cannot_hold_is_an_error_also_after_the_episode(value: Any) -> None:
    """A value that the owner of a record puts into it is looked at when it is written."""
    episode = recorded([{}, {}], ["go"])
    episode.transitions[0].info["odd"] = value
    with pytest.raises(TrajectoryError, match="info"):
        TrajectoryEncoder().line(episode)


def test_changes_after_the_episode_are_written() -> None:
    """Numbers of NumPy's kind, a changed action and a changed observation among them."""

    class Scalar:
        def tolist(self) -> float:
            return 2.5

    encoder = TrajectoryEncoder()
    episode = recorded([{}, {}, {}], ["go", "on"])
    encoder.line(episode)
    episode.transitions[0].info["number"] = Scalar()
    episode.transitions[1].action = "stop"
    episode.transitions[1].observation = "another"
    episode.scores["style"] = {"value": 0.25}
    record = json.loads(encoder.line(episode))
    assert record["transitions"][0]["info"] == {"number": 2.5}
    read = Trajectory.from_dict(record)
    assert [turn.action for turn in read.transitions] == ["go", "stop"]
    assert read.transitions[1].observation == "another"
    assert read.scores == {"style": {"value": 0.25}}


def test_each_spec_stands_in_its_own_line() -> None:
    """Specs that were encoded before do not stand in for others, though Python reuses the identity of what is gone."""
    encoder = TrajectoryEncoder()
    for size in range(300):
        spec = gem.EnvSpec(id=f"plain{size}", entry_point="gem.core:Env", kwargs={"size": size})
        builder = TrajectoryBuilder(spec, size)
        builder.begin("begin", {})
        builder.add("go", "end", 1.0, True, False, {})
        assert json.loads(encoder.line(builder.finish()))["spec"]["kwargs"] == {"size": size}
