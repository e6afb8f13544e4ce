"""What a caller sees of an environment whose actor is lost, without a cluster: a lost runner is a new runner."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

import gem
from gem.errors import EpisodeFinishedError
from gem.vector.env_runner import AutoresetMode, EnvRunner, StepResult
from gem_ray.episode_account import EnvCommand, EpisodeAccount


class Counting(gem.Env[str, str]):
    """Ends after three turns, and says which seed and turn it is in."""

    def reset(self, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[str, dict[str, Any]]:
        super().reset(seed=seed)
        self.turn, self.begun = 0, self.rng.randrange(10**6)
        return f"{self.begun} turn 0", {}

    def step(self, action: str) -> tuple[str, float, bool, bool, dict[str, Any]]:
        self.turn += 1
        return f"{self.begun} turn {self.turn}", 1.0, self.turn == 3, False, {}


class Place:
    """An environment in an actor: an account and a runner, of which a loss puts another in place."""

    def __init__(self, autoreset: AutoresetMode, seed: int | None) -> None:
        self.autoreset = autoreset
        self.account = EpisodeAccount(Counting, autoreset, seed)
        self.runner = self._new()

    def _new(self) -> EnvRunner:
        runner = EnvRunner(None, self.autoreset)
        runner.make(Counting)
        return runner

    def play(self, kind: str, argument: Any, lost_before: bool = False, lost_during: bool = False) -> StepResult:
        """Give a command, with a loss of the actor before it is given or while it is pending."""
        if lost_before:
            assert self.account.lost(None, "Lost: before") is None
            self.runner = self._new()
        given = getattr(self.account, kind)(argument)
        if lost_during and isinstance(given, EnvCommand):
            self.runner = self._new()
            given = self.account.lost(given, "Lost: during")
        if isinstance(given, EnvCommand):
            given = self.account.received(given, getattr(self.runner, given.kind)(given.argument))
        return given


modes = st.sampled_from(AutoresetMode)
seeds = st.none() | st.integers(0, 2**31)


@given(mode=modes, seed=seeds, actions=st.integers(1, 12))
def test_without_a_loss_the_account_changes_nothing(mode: AutoresetMode, seed: int | None, actions: int) -> None:
    """Every result is that of a runner which was made with the same seed, autoreset included."""
    place, alone = Place(mode, seed), EnvRunner(Counting, mode, seed)
    first, other = place.play("reset", {"seed": None}), alone.reset({"seed": None})
    if seed is not None:
        assert first == other
    for _ in range(actions):
        try:
            expected = alone.step("x")
        except EpisodeFinishedError:
            expected = alone.reset({"seed": seed})
            assert place.play("reset", {"seed": seed}) == expected or seed is None
            continue
        found = place.play("step", "x")
        assert found[1:4] == expected[1:4]
        if seed is not None:
            assert found == expected


@given(mode=modes, turns=st.integers(0, 2), during=st.booleans())
def test_a_lost_episode_ends_truncated_with_its_last_observation(mode: AutoresetMode, turns: int, during: bool) -> None:
    """In every autoreset mode the next step says so, as after a fault of the environment itself, and only once."""
    place = Place(mode, 5)
    last = place.play("reset", {"seed": None})
    for _ in range(turns):
        last = place.play("step", "x")
    observation, reward, terminated, truncated, info = place.play(
        "step", "x", lost_before=not during, lost_during=during
    )
    assert (reward, terminated, truncated) == (0.0, False, True)
    assert info["error"] == ("Lost: during" if during else "Lost: before")
    if mode is AutoresetMode.SAME_STEP:
        assert info["final_observation"] == last[0]
        assert info["final_info"] == {"error": info["error"], "seed": 5}
        assert info["seed"] != 5
        assert observation.endswith("turn 0")
        expected = EnvRunner(Counting, mode).reset({"seed": info["seed"]})
        assert observation == expected[0]
    else:
        assert observation == last[0]
    after = place.play("step" if mode is not AutoresetMode.DISABLED else "reset", "x" if mode != "disabled" else {})
    assert "error" not in after[4]
    assert not after[3]


@given(mode=st.sampled_from([AutoresetMode.NEXT_STEP, AutoresetMode.DISABLED]))
def test_a_loss_between_episodes_truncates_nothing(mode: AutoresetMode) -> None:
    """A finished episode whose end the caller has seen is not lost; the next one begins with a seed that is known."""
    place = Place(mode, 5)
    place.play("reset", {"seed": None})
    assert [place.play("step", "x")[2] for _ in range(3)] == [False, False, True]
    kind, argument = ("step", "x") if mode is AutoresetMode.NEXT_STEP else ("reset", {})
    observation, _, terminated, truncated, info = place.play(kind, argument, lost_before=True)
    assert not terminated
    assert not truncated
    assert "error" not in info
    assert observation == place.play("reset", {"seed": place.account._next_seed()})[0]


@given(mode=modes, lost=st.integers(1, 4))
def test_an_episode_that_kills_its_actor_is_tried_once_a_call(mode: AutoresetMode, lost: int) -> None:
    """A reset during which the actor is lost is a failed reset, however often; the next that succeeds is sound."""
    place = Place(mode, 5)
    for _ in range(lost):
        assert place.play("reset", {"seed": 9}, lost_during=True) == (
            "",
            0.0,
            False,
            True,
            {"error": "Lost: during"},
        )
    assert place.play("reset", {"seed": 9})[0] == EnvRunner(Counting, mode).reset({"seed": 9})[0]


@given(mode=modes, data=st.data())
def test_losses_are_reproducible(mode: AutoresetMode, data: st.DataObject) -> None:
    """The same losses at the same commands give the same episodes, and no seed comes twice."""
    commands = data.draw(st.lists(st.sampled_from(["none", "before", "during"]), min_size=1, max_size=12))

    def played() -> list[StepResult]:
        place, seen = Place(mode, 11), []
        seen.append(place.play("reset", {"seed": None}))
        for loss in commands:
            over = mode is AutoresetMode.DISABLED and (seen[-1][2] or seen[-1][3])
            kind, argument = ("reset", {"seed": None}) if over else ("step", "x")
            if over:
                loss = "before"  # without one, an episode without a seed goes on from the generator's state
            seen.append(
                place.play(kind, argument, lost_before=loss == "before", lost_during=loss == "during" and not over)
            )
        return seen

    assert played() == played()
