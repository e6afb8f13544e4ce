"""What a caller sees of environments whose actor is lost: the actor's code runs in this process, without a cluster."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import gem
from gem.vector.env_runner import AutoresetMode, EnvRunner, StepResult
from gem_ray.actor_env import ActorEnv, EnvCommand
from gem_ray.environment_actor import EnvironmentActor
from gem_ray.packing import pack_code, unpack


class Counting(gem.Env[str, str]):
    """Ends after three turns, and says which seed and turn it is in."""

    def reset(self, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[str, dict[str, Any]]:
        super().reset(seed=seed)
        self.turn, self.begun = 0, self.rng.randrange(10**6)
        return f"{self.begun} turn 0", {}

    def step(self, action: str) -> tuple[str, float, bool, bool, dict[str, Any]]:
        if action == "raise":
            raise KeyError("as told")
        self.turn += 1
        return f"{self.begun} turn {self.turn}", 1.0, self.turn == 3, False, {}


class Place:
    """An environment in an actor, without a message between both; each loss puts another actor in place."""

    def __init__(self, autoreset: AutoresetMode, seed: int | None) -> None:
        self.autoreset = autoreset
        self.env = ActorEnv(Counting, autoreset, seed)
        self.begin()

    def begin(self) -> None:
        """Put an actor in place, which learns of the environment what the driver knows."""
        self.actor = EnvironmentActor()
        members = pack_code([(self.env.maker, self.env.seed, self.env.lost)])
        assert unpack(self.actor.build(members, "sync", self.autoreset, None)) is None

    def play(self, kind: str, argument: Any, *, before: bool = False, during: int = 0) -> StepResult:
        """Give a command, with a loss of the actor before it is given, or so many while it is carried out."""
        if kind == "make":
            argument = self.env.make(argument).argument
        command = EnvCommand(kind, argument)
        if before:
            assert self.env.lose(None, "Lost: before") is None
            self.begin()
        for _ in range(during):
            self._exchange(command)  # carried out, and nobody learns of it
            instead = self.env.lose(command, "Lost: during")
            self.begin()
            if not isinstance(instead, EnvCommand):
                assert instead is not None
                return instead
            command = instead
        _, (result,), accounts = self._exchange(command)
        assert isinstance(result, tuple), result
        self.env.account = accounts.get(0, self.env.account)
        self.env.received(result)
        return result

    def _exchange(self, command: EnvCommand) -> Any:
        return unpack(self.actor.exchange(pack_code([(command.kind, 0, command.argument)]), 60.0))


modes = st.sampled_from(AutoresetMode)
seeds = st.none() | st.integers(0, 2**31)
actions = st.lists(st.sampled_from(["x", "x", "raise"]), min_size=1, max_size=12)


@given(mode=modes, seed=st.integers(0, 2**31), actions=actions)
def test_without_a_loss_results_are_those_of_a_runner(mode: AutoresetMode, seed: int, actions: list[str]) -> None:
    """Observations, flags and infos are those of a runner with the same seed, autoresets and faults included."""
    place, alone = Place(mode, seed), EnvRunner(Counting, mode, seed)
    last = place.play("reset", {"seed": None})
    assert last == alone.reset({"seed": None})
    for action in actions:
        over = mode is AutoresetMode.DISABLED and (last[2] or last[3])
        last = place.play("reset", {}) if over else place.play("step", action)
        assert last == (alone.reset({}) if over else alone.step(action))
        assert place.env.account == alone.account


@given(mode=modes, turns=st.integers(0, 2), during=st.booleans(), again=st.integers(0, 2))
def test_a_lost_episode_ends_truncated_with_its_last_observation(
    mode: AutoresetMode, turns: int, during: bool, again: int
) -> None:
    """In every autoreset mode the next step says so, as after a fault of the environment itself, and only once."""
    place = Place(mode, 5)
    last = place.play("reset", {"seed": None})
    for _ in range(turns):
        last = place.play("step", "x")
    assert place.env.playing
    for _ in range(again):  # actors that are lost before anybody asks
        assert place.env.lose(None, "Lost: before") is None
        assert not place.env.playing
        place.begin()
    observation, reward, terminated, truncated, info = place.play("step", "x", before=not during, during=during)
    assert (reward, terminated, truncated) == (0.0, False, True)
    assert info["error"] == ("Lost: during" if during else "Lost: before")
    if mode is AutoresetMode.SAME_STEP and not (during and again):
        assert info["final_observation"] == last[0]
        assert info["final_info"] == {"error": info["error"], "seed": 5}
        assert info["seed"] != 5
        assert observation.endswith("turn 0")
        assert observation == EnvRunner(Counting, mode).reset({"seed": info["seed"]})[0]
    elif mode is AutoresetMode.SAME_STEP:  # it was lost as it began the next episode, which is tried once a call
        assert (observation, info["final_observation"]) == ("", last[0])
        assert place.play("step", "x")[0].endswith("turn 0")
    else:
        assert observation == last[0]
    after = place.play("reset", {}) if mode is AutoresetMode.DISABLED else place.play("step", "x")
    assert "error" not in after[4]
    assert not after[3]


@given(mode=modes, seed=st.integers(0, 2**31), before=actions, after=actions)
def test_the_episodes_after_a_loss_are_those_after_a_fault(
    mode: AutoresetMode, seed: int, before: list[str], after: list[str]
) -> None:
    """A lost actor and an environment that raises in the same step leave the same seeds, to the end of the run."""
    place, alone = Place(mode, seed), EnvRunner(Counting, mode, seed)
    last = place.play("reset", {"seed": None})
    alone.reset({"seed": None})
    lost_at = len(before)
    for number, action in enumerate([*before, "raise", *after]):
        if last[2] or last[3]:
            if mode is AutoresetMode.DISABLED:
                last = place.play("reset", {})
                assert last == alone.reset({})
            elif mode is AutoresetMode.NEXT_STEP:
                last = place.play("step", "x")
                assert last == alone.step("x")
        last = place.play("step", action, during=number == lost_at)
        expected = alone.step(action)
        assert last[:4] == expected[:4]
        assert last[4].get("seed") == expected[4].get("seed")
        assert last[4].get("final_observation") == expected[4].get("final_observation")
        assert ("error" in last[4]) == ("error" in expected[4])
    assert place.env.account == alone.account


@pytest.mark.parametrize("during", [False, True])
@pytest.mark.parametrize("mode", [AutoresetMode.NEXT_STEP, AutoresetMode.DISABLED])
def test_a_loss_between_episodes_truncates_nothing(mode: AutoresetMode, during: bool) -> None:
    """A finished episode whose end the caller has seen is not lost; the next one begins with a seed that is known."""
    place = Place(mode, 5)
    place.play("reset", {"seed": None})
    assert [place.play("step", "x")[2] for _ in range(3)] == [False, False, True]
    assert not place.env.playing
    kind, argument = ("step", "x") if mode is AutoresetMode.NEXT_STEP else ("reset", {})
    observation, _, terminated, truncated, info = place.play(kind, argument, before=not during, during=during)
    assert not terminated
    assert not truncated
    assert "error" not in info
    faulty = EnvRunner(Counting, mode, 5)
    faulty.reset({})
    faulty.step("raise")
    assert observation == faulty.reset({})[0]


@given(mode=modes, lost=st.integers(1, 4), played=st.booleans())
def test_an_episode_that_kills_its_actor_is_tried_once_a_call(mode: AutoresetMode, lost: int, played: bool) -> None:
    """A reset during which two actors are lost is a failed reset, however often; the next that succeeds is sound."""
    place = Place(mode, 5)
    if played:
        place.play("reset", {})
    for _ in range(lost):
        found = place.play("reset", {"seed": 9}, during=2)
        assert found == ("", 0.0, False, True, {"error": "Lost: during"})
    sound = EnvRunner(Counting, mode).reset({"seed": 9})
    assert Place(mode, 5).play("reset", {"seed": 9}, during=1) == sound  # the actor may have been dead before
    if mode is AutoresetMode.SAME_STEP:  # the caller may act on the empty observation
        assert place.play("step", "x")[4]["final_observation"] == ""
    if mode is AutoresetMode.NEXT_STEP:  # the reset has ended what was in play: there is nothing more to report
        assert "error" not in place.play("step", "x")[4]
    assert place.play("reset", {"seed": 9})[0] == sound[0]


@given(mode=modes, during=st.integers(0, 2))
def test_the_environment_of_a_lost_command_is_made_when_it_is_needed(mode: AutoresetMode, during: int) -> None:
    """A command to make one fails with the second actor that had it, and is carried out otherwise."""
    place = Place(mode, 5)
    place.play("reset", {})
    made = place.play("make", Counting, before=not during, during=during)
    assert made[3:] == ((True, {"error": "Lost: during"}) if during == 2 else (False, {}))
    assert place.play("reset", {"seed": 7})[0] == EnvRunner(Counting, mode).reset({"seed": 7})[0]


def noted(path: str) -> Counting:
    """Make an environment, and note that it was made."""
    with Path(path).open("a", encoding="utf-8") as file:
        file.write("made\n")
    return Counting()


def test_an_environment_that_is_put_there_during_a_loss_is_made_once(tmp_path: Path) -> None:
    """The next actor carries out the command, and does not make the environment of the command by itself as well."""
    place, made = Place(AutoresetMode.DISABLED, 5), tmp_path / "made ä"
    place.play("reset", {})
    assert place.env.lose(None, "Lost: before") is None
    maker = place.env.make(partial(noted, str(made))).argument
    place.begin()
    assert not made.exists()
    _, (result,), _ = place._exchange(EnvCommand("make", maker))
    assert result == ("", 0.0, False, False, {})
    assert place.play("reset", {"seed": 7})[0] == EnvRunner(Counting, AutoresetMode.DISABLED).reset({"seed": 7})[0]
    assert made.read_text() == "made\n"
    assert place.env.lose(None, "Lost: again") is None
    place.begin()
    assert made.read_text() == "made\n"  # it is made when it is needed
    place.play("reset", {})
    assert made.read_text() == "made\n" * 2


@given(mode=modes, data=st.data())
def test_losses_are_reproducible(mode: AutoresetMode, data: st.DataObject) -> None:
    """The same losses at the same commands give the same episodes."""
    losses = data.draw(st.lists(st.sampled_from(["none", "before", "during"]), min_size=1, max_size=12))

    def played() -> list[StepResult]:
        place = Place(mode, 11)
        seen = [place.play("reset", {"seed": None})]
        for loss in losses:
            over = mode is AutoresetMode.DISABLED and (seen[-1][2] or seen[-1][3])
            kind, argument = ("reset", {"seed": None}) if over else ("step", "x")
            seen.append(place.play(kind, argument, before=loss == "before", during=loss == "during" and not over))
        return seen

    assert played() == played()


@pytest.mark.parametrize("inner", ["thread", pytest.param("process", marks=pytest.mark.nightly)])
def test_every_mode_inside_an_actor_takes_over(inner: str) -> None:
    """Threads and worker processes in the actor give the same results after a loss as sync mode."""

    def played(mode: str) -> list[StepResult]:
        env = ActorEnv(Counting, AutoresetMode.SAME_STEP, 3)
        seen: list[StepResult] = []
        for _ in range(2):
            actor = EnvironmentActor()
            try:
                members = pack_code([(env.maker, env.seed, env.lost)])
                assert unpack(actor.build(members, mode, AutoresetMode.SAME_STEP, None)) is None
                for kind, argument in ([] if seen else [("reset", {})]) + [("step", "x")] * 5:
                    _, (result,), accounts = unpack(actor.exchange(pack_code([(kind, 0, argument)]), 60.0))
                    env.account = accounts.get(0, env.account)
                    env.received(result)
                    seen.append(result)
            finally:
                actor.close()
            env.lose(None, "Lost: as told")
        return seen

    expected = played("sync")
    assert sum("error" in result[4] for result in expected) == 1
    assert played(inner) == expected
