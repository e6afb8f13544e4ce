"""Self-play of ``gem train``: who plays whom, from which weights, and what is learnt from it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="gem-rl[train] is not installed")
pytest.importorskip("tokenizers", reason="gem-rl[train] is not installed")

from stopped_run import resumed_run  # noqa: E402

import gem  # noqa: E402
from gem.errors import ArgumentError  # noqa: E402
from gem.multiagent import MultiAgentEnv  # noqa: E402
from gem_rl import TurnBatch  # noqa: E402
from gem_rl.training import trainer as trainer_module  # noqa: E402
from gem_rl.training.episode_rows import training_rows  # noqa: E402
from gem_rl.training.recipe import Recipe, recipes  # noqa: E402
from gem_rl.training.self_play import OpponentPool  # noqa: E402
from gem_rl.training.trainer import Trainer  # noqa: E402
from gem_rl.training.weights import using_weights  # noqa: E402
from gem_rollout.trajectory import Trajectory, read_trajectories  # noqa: E402

AGENTS = ("white", "black")


class Contest(MultiAgentEnv):
    """Two agents speak twice each, in turn; whoever said more letters wins. White begins with a gift of a point."""

    def __init__(self) -> None:
        super().__init__(AGENTS, mode="sequential")

    def _begin(self) -> None:
        self.turn = 0
        self.letters = dict.fromkeys(AGENTS, 0)

    def observe(self, agent: str) -> str:
        return f"{agent}, speak for the {self.turn + 1}. time"

    def _process_actions(self, actions: dict[str, Any]) -> Any:
        ((agent, action),) = actions.items()
        self.letters[agent] += sum(letter.isalpha() for letter in action)
        self.turn += 1
        gift = {agent: 1.0} if self.turn == 1 else {}
        if self.turn < 4:
            return {}, gift, {}, {}, {}
        won = {one: float(self.letters[one] > self.letters[other]) for one, other in (AGENTS, AGENTS[::-1])}
        return {}, won, dict.fromkeys(AGENTS, True), {}, {one: {"success": bool(won[one])} for one in AGENTS}

    def _random_action(self, agent: str) -> str:
        return self.action_rng.choice("ab12")


class Chorus(Contest):
    """All speak at once."""

    def __init__(self) -> None:
        MultiAgentEnv.__init__(self, AGENTS, mode="parallel")


CONTEST, CHORUS = "test:Contest-v0", "test:Chorus-v0"
RECIPE = Recipe(
    {CONTEST: 1.0},
    algorithm="reinforce",
    updates=3,
    episodes=8,
    minibatches=1,
    learning_rate=5e-2,
    rise=1,
    warm_episodes=8,
    warm_steps=0,
    width=8,
    layers=1,
    heads=2,
    context=64,
    max_new_tokens=3,
    opponents=2,
    opponent_every=1,
)


@pytest.fixture(autouse=True)
def prepared() -> Iterator[None]:
    """Offers the environments, and lets torch use one thread."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    gem.register(CONTEST, Contest)
    gem.register(CHORUS, Chorus)
    try:
        yield
    finally:
        for name in (CONTEST, CHORUS):
            gem.registry.unregister(name)
        torch.set_num_threads(threads)


@pytest.fixture
def learnt(monkeypatch: pytest.MonkeyPatch) -> list[tuple[list[Trajectory], Any]]:
    """The episodes of each update as they are learnt from, with the advantages of their turns."""
    found: list[tuple[list[Trajectory], Any]] = []

    def noted(episodes: Any, advantages: Any, *rest: Any) -> Any:
        found.append((episodes, advantages))
        return training_rows(episodes, advantages, *rest)

    monkeypatch.setattr(trainer_module, "training_rows", noted)
    return found


def test_past_versions_play_the_other_agent(tmp_path: Path) -> None:
    """Current and past weights sit in turn on both sides, groups are equal in both, and records name the versions."""
    trainer = Trainer(replace(RECIPE, group=2, episodes=16), 0, tmp_path)
    trainer.train()
    (tmp_path / "episodes.jsonl").unlink()
    episodes = trainer.play(trainer._requests(32, 1000))
    assert [one.update for one in trainer.player.pool.versions] == [2, 3]
    trainer.update = 7  # the engine's version from here on
    episodes = trainer.play(trainer._requests(32, 2000))
    seen: Counter[tuple[str, Any]] = Counter()
    for episode in episodes:
        sides = {agent: {turn.version for turn in episode.for_agent(agent).transitions} for agent in AGENTS}
        learner, other = AGENTS if episode.key.seed % 2 == 0 else AGENTS[::-1]
        assert sides[learner] == {7}
        ((version,)) = sides[other]
        seen[learner, version] += 1
    assert set(seen) == {(agent, version) for agent in AGENTS for version in (2, 3)}
    versions = [{turn.version for turn in episode.transitions} for episode in episodes]
    assert versions[::2] == versions[1::2]  # of the two rollouts of each seed


def test_the_turns_of_each_side_were_sampled_by_its_weights(tmp_path: Path) -> None:
    """Their recorded log-probabilities are those of the version that the record names, and of no other."""
    trainer = Trainer(RECIPE, 0, tmp_path)
    trainer.train()
    past = {one.update: one.weights for one in trainer.player.pool.versions}
    trainer.update = 7
    torch.nn.init.normal_(trainer.model.embedding.weight)  # the current weights are like no past ones
    for turn in (turn for episode in trainer.play(trainer._requests(16, 0)) for turn in episode.transitions):
        assert turn.prompt_token_ids is not None
        assert turn.token_ids is not None
        assert turn.logprobs is not None
        ids = torch.tensor([[*turn.prompt_token_ids, *turn.token_ids]])
        close = set()
        for version, values in (*past.items(), (7, None)):
            with using_weights(trainer.model, values), torch.no_grad():
                logprobs = trainer.model.logits(trainer.model.hidden(ids)).log_softmax(-1)[0, :-1]
            computed = logprobs.gather(1, ids[0, 1:, None]).squeeze(1)[-len(turn.token_ids) :]
            if np.allclose(computed, turn.logprobs, rtol=1e-3, atol=1e-4):
                close.add(version)
        assert close == {turn.version}


def test_only_the_current_policy_learns_and_each_role_by_itself(tmp_path: Path, learnt: list[Any]) -> None:
    """Advantages have mean 0 and deviation 1 over the tokens of each role, although one of them has a gift."""
    trainer = Trainer(RECIPE, 0, tmp_path)
    trainer.train()
    assert len(learnt) == 3
    for episodes, advantages in learnt:
        roles = [AGENTS[episode.seed % 2] for episode in episodes]
        assert [set(episode.agents) for episode in episodes] == [{role} for role in roles]
        turns = [turn for episode in episodes for turn in episode.transitions]
        assert {turn.version for turn in turns} == {turns[0].version}
        for role in AGENTS:
            of_role = [
                value
                for turn, value in zip(turns, advantages, strict=True)
                if turn.agent == role
                for _ in turn.token_ids
            ]
            assert np.mean(of_role) == pytest.approx(0, abs=1e-9)
            assert np.std(of_role) == pytest.approx(1, abs=1e-6)


def test_without_opponents_the_policy_plays_and_learns_both_sides(tmp_path: Path, learnt: list[Any]) -> None:
    """Each side of each episode is learnt from once; what is recorded is the whole episode."""
    trainer = Trainer(replace(RECIPE, opponents=0, updates=1), 0, tmp_path)
    trainer.train()
    ((episodes, _),) = learnt
    assert Counter((one.seed, *one.agents) for one in episodes) == {(s, agent): 1 for s in range(8) for agent in AGENTS}
    assert all(one.agents == list(AGENTS) for one in read_trajectories(tmp_path / "episodes.jsonl"))


def test_a_batch_keeps_the_roles_of_a_seed_apart(tmp_path: Path) -> None:
    """As tasks and as groups: the other role's return is no rollout of the same state."""
    trainer = Trainer(replace(RECIPE, opponents=0, group=2), 0, tmp_path)
    episodes = trainer.play(trainer._requests(2, 0))
    batch = TurnBatch.from_trajectories([episode.for_agent(agent) for agent in AGENTS for episode in episodes])
    assert batch.groups.tolist() == batch.tasks.tolist() == [0, 0, 1, 1]


def test_an_evaluation_is_played_against_random_moves(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """By the current policy on either side, and returns what it lived; no model sampled the other's turns."""
    trainer, played = Trainer(RECIPE, 0, tmp_path), list[Trajectory]()

    def noted(episodes: list[Trajectory]) -> list[Trajectory]:
        played.extend(episodes)
        return of_learner(episodes)

    of_learner = trainer.player.of_learner
    monkeypatch.setattr(trainer.player, "of_learner", noted)
    found = trainer.evaluate(8)
    for episode, lived in zip(played, found, strict=True):
        assert episode.agents == list(AGENTS)
        assert all((turn.token_ids is None) is (turn.agent not in lived.agents) for turn in episode.transitions)
    assert [episode.agents for episode in found] == [["white"], ["black"]] * 4
    assert all(turn.token_ids for episode in found for turn in episode.transitions)
    assert {episode.success for episode in found} <= {True, False}


def test_a_resumed_run_has_the_same_opponents(tmp_path: Path) -> None:
    """And ends with the same weights."""
    recipe = replace(RECIPE, updates=3)
    whole = Trainer(recipe, 0, tmp_path / "whole")
    whole.train()
    again = resumed_run(recipe, tmp_path / "again")
    assert [one.update for one in again.player.pool.versions] == [0, 1]
    again.train()
    for one, other in zip(again.model.parameters(), whole.model.parameters(), strict=True):
        assert torch.equal(one, other)


@pytest.mark.parametrize(("draw", "shares"), [("uniform", [1, 1, 1]), ("recent", [1, 2, 3])])
def test_opponents_are_drawn_by_their_weights(draw: Any, shares: list[int]) -> None:
    """A new version takes the place of the oldest; the draw is a function of environment and seed."""
    pool = OpponentPool(3, 5, draw)
    assert pool.drawn(CONTEST, 0) is None
    for update in range(21):
        pool.offer(update, dict)
    assert [one.update for one in pool.versions] == [10, 15, 20]
    drawn = [pool.drawn(CONTEST, seed) for seed in range(6000)]
    assert drawn == [pool.drawn(CONTEST, seed) for seed in range(6000)]
    found = [drawn.count(place) / 6000 for place in range(3)]
    assert found == pytest.approx([share / sum(shares) for share in shares], abs=0.03)


def test_agents_that_act_at_once_are_refused(tmp_path: Path) -> None:
    """With their names, before anything runs; so is a start on answers of a policy for all agents."""
    with pytest.raises(ArgumentError, match="agents white, black, of which white, black begin"):
        Trainer(replace(RECIPE, environments={CHORUS: 1.0}), 0, tmp_path / "chorus")
    with pytest.raises(ArgumentError, match="plays all agents at once; set sft_steps to 0"):
        Trainer(replace(RECIPE, sft_steps=1), 0, tmp_path / "taught")
    assert not list(tmp_path.glob("*/checkpoint.pt"))


@pytest.mark.nightly
@pytest.mark.parametrize(("learning_rate", "learns"), [(1e-3, True), (0.0, False)])
def test_a_small_policy_learns_nim_from_its_past_versions(tmp_path: Path, learning_rate: float, learns: bool) -> None:
    """It beats random moves more often than after its warm start, which a learning rate of 0 does not change."""
    pytest.importorskip("gem_envs_games", reason="gem-envs-games is not installed")
    trainer = Trainer(replace(recipes()["nim"], learning_rate=learning_rate, updates=40), 0, tmp_path)
    before = [bool(one.success) for one in trainer.evaluate(500, temperature=1.0)]
    trainer.train()
    after = [bool(one.success) for one in trainer.evaluate(500, temperature=1.0)]
    assert (sum(after) - sum(before) > 50) is learns
