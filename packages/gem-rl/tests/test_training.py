"""The trainer: its model, its samples, its determinism, and that it learns."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

torch = pytest.importorskip("torch", reason="gem-rl[train] is not installed")
pytest.importorskip("tokenizers", reason="gem-rl[train] is not installed")
pytest.importorskip("gem_envs_games", reason="gem-envs-games is not installed")

import gem  # noqa: E402
from gem.errors import ArgumentError  # noqa: E402
from gem_rl import CollapseMonitor, token_rows  # noqa: E402
from gem_rl.training.recipe import Recipe, recipes  # noqa: E402
from gem_rl.training.tiny_tokenizer import TinyTokenizer  # noqa: E402
from gem_rl.training.trainer import Trainer  # noqa: E402
from gem_rl.training.transformer import KeyValueCache, ModelSize, TinyTransformer  # noqa: E402
from gem_rollout.trajectory import read_trajectories  # noqa: E402

SMALL = Recipe(
    {"game:GuessTheNumber-v0-easy": 1.0},
    kwargs={"max_turns": 4},
    algorithm="ppo",
    updates=4,
    episodes=8,
    minibatches=2,
    warm_episodes=64,
    warm_steps=80,
    warm_learning_rate=1e-2,
    width=16,
    heads=2,
    max_new_tokens=6,
)
"""A recipe whose warm start takes a second and teaches the form of an action, so that rewards differ."""


@pytest.fixture(autouse=True)
def one_thread() -> Any:
    """Let torch use one thread, as gem train does."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


@pytest.fixture(scope="module")
def warm(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a warm start."""
    path = tmp_path_factory.mktemp("warm")
    torch.set_num_threads(1)
    Trainer(SMALL, 0, path)
    return path


def begun(warm: Path, path: Path, **changes: Any) -> Trainer:
    """Return a trainer that goes on from the warm start with these settings."""
    recipe = replace(SMALL, **changes)
    path.mkdir(exist_ok=True)
    content = torch.load(warm / "checkpoint.pt", weights_only=False)
    torch.save({**content, "recipe": recipe.to_dict()}, path / "checkpoint.pt")
    return Trainer(recipe, 0, path)


def weights(trainer: Trainer) -> list[Any]:
    return [parameter.detach().clone() for parameter in trainer.model.parameters()]


def same(first: list[Any], second: list[Any]) -> bool:
    """Return whether all weights are equal, bit for bit."""
    return all(torch.equal(one, other) for one, other in zip(first, second, strict=True))


def test_the_cache_changes_nothing() -> None:
    """Rows that are read in pieces of different lengths have the states of whole rows."""
    torch.manual_seed(0)
    size = ModelSize(vocabulary=11, width=16, layers=2, heads=2, context=64)
    model = TinyTransformer(size).eval()
    ids = torch.randint(0, 11, (3, 40))
    whole = model.hidden(ids)
    cache = KeyValueCache(size, rows=5, length=4)
    cache.select(torch.tensor([4, 0, 2]), torch.tensor([False] * 3))
    done = torch.tensor([0, 0, 0])
    for steps in ((7, 3, 5), (1, 1, 1), (20, 2, 9), (1, 1, 1)):
        counts = torch.tensor(steps)
        places = torch.minimum(done[:, None] + torch.arange(max(steps)), (done + counts - 1)[:, None])
        found = model.extend(ids.gather(1, places), places, cache)
        done = done + counts
        for row in range(3):
            torch.testing.assert_close(found[row, counts[row] - 1], whole[row, done[row] - 1], rtol=1e-4, atol=1e-5)


def test_any_text_survives_the_tokenizer() -> None:
    """A number is one token, and the names of special tokens in a text are text."""
    tokenizer = TinyTokenizer.trained_on(["The number is higher than 7.\n", "\\boxed{12}"] * 8)
    assert len(tokenizer.encode("12")) == 1
    assert len(tokenizer.encode("\\boxed{7}")) == len(tokenizer.encode("\\boxed{12}"))
    again = TinyTokenizer.from_json(tokenizer.to_json())
    for text in ("", "<end><act>", "日本 🙂\0", "\\boxed{99999}"):
        assert again.decode(tokenizer.encode(text)) == text
        assert not {tokenizer.pad, tokenizer.act, tokenizer.end}.intersection(tokenizer.encode(text))
    assert tokenizer.decode(tokenizer.encode("a\ud800")) == "a?"


def test_a_letter_that_stands_alone_is_one_token_everywhere() -> None:
    """If the recipe says so; letters in words are parts of words."""
    texts = ["Word: _ A _\nNot in the word: E T\nA is in it.", "\\boxed{A}", "\\boxed{ACT}"] * 8
    apart = TinyTokenizer.trained_on(texts, letters=True)
    (letter,) = apart.encode("A")
    assert [apart.encode(text).count(letter) for text in (texts[0], texts[1], texts[2])] == [2, 1, 0]
    merged = TinyTokenizer.trained_on(texts)
    assert merged.encode(texts[0]).count(merged.encode("A")[0]) < 2
    for text in texts:
        assert apart.decode(apart.encode(text)) == text


@pytest.mark.nightly
def test_evaluation_changes_nothing(warm: Path, tmp_path: Path) -> None:
    """A run whose model was evaluated with samples in between ends with the same weights, and evaluations repeat."""
    found = []
    for name, looks in (("a", 0), ("b", 2)):
        trainer = begun(warm, tmp_path / name, updates=1)
        played = [trainer.evaluate(8, temperature=1.0) for _ in range(looks)]
        assert all(
            [turn.action for episode in one for turn in episode.transitions]
            == [turn.action for episode in played[0] for turn in episode.transitions]
            for one in played
        )
        trainer.train()
        found.append(weights(trainer))
    assert same(*found)


def test_an_evaluation_has_the_temperature_of_the_recipe(warm: Path, tmp_path: Path) -> None:
    """It plays the tasks that it names, with the samples of that temperature, and not greedily."""
    trainer = begun(warm, tmp_path, evaluation_temperature=1.0, evaluated=8)

    def actions(episodes: list[Any]) -> list[list[Any]]:
        return [[turn.action for turn in one.transitions] for one in episodes]

    assessed = trainer.assess()
    assert [one.key for one in assessed] == [request.key for request in trainer.evaluation_requests()]
    assert actions(assessed) == actions(trainer.evaluate(temperature=1.0))
    assert actions(assessed) != actions(trainer.evaluate(temperature=0.0))
    assert trainer.folder.achieved(0) == [int(bool(one.success)) for one in assessed]


def test_recorded_log_probabilities_are_those_of_the_rows(warm: Path, tmp_path: Path) -> None:
    """What was sampled with a cache, one turn at a time, has the probabilities that the loss computes at once."""
    trainer = begun(warm, tmp_path)
    episodes = trainer.evaluate(16, temperature=1.0)
    assert any(len(episode) > 1 for episode in episodes)
    for episode in episodes:
        (row,) = token_rows(episode)
        ids = torch.as_tensor(row.token_ids)[None]
        logprobs = trainer.model.logits(trainer.model.hidden(ids)).log_softmax(-1)[0, :-1]
        computed = logprobs.gather(1, ids[0, 1:, None]).squeeze(1)[torch.as_tensor(row.sampled[1:])]
        torch.testing.assert_close(
            computed.detach(), torch.as_tensor(row.logprobs[row.sampled]).float(), rtol=1e-3, atol=1e-4
        )


@pytest.mark.sampled(4)
@pytest.mark.parametrize("algorithm", ["reinforce", "rebn", "grpo", "rloo", "ppo"])
@pytest.mark.parametrize("history", [True, False], ids=["episode", "observation"])
def test_every_algorithm_changes_the_weights(warm: Path, tmp_path: Path, algorithm: Any, history: bool) -> None:
    """And reports figures of every update."""
    trainer = begun(warm, tmp_path, algorithm=algorithm, group=4, history=history, updates=2)
    before = weights(trainer)
    reported: list[dict[str, Any]] = []
    trainer.train(reported.append)
    assert not same(before, weights(trainer))
    assert [figures["update"] for figures in reported] == [1, 2]
    assert trainer.folder.metrics == reported


def test_a_seed_decides_everything(tmp_path: Path) -> None:
    """Two runs of one seed are equal, those of two seeds are not."""
    found = []
    for name, seed in (("a", 0), ("b", 0), ("c", 1)):
        trainer = Trainer(replace(SMALL, warm_steps=20, updates=1), seed, tmp_path / name)
        trainer.train()
        found.append(weights(trainer))
    assert same(found[0], found[1])
    assert not same(found[0], found[2])


@pytest.fixture(scope="module")
def uninterrupted(warm: Path, tmp_path_factory: pytest.TempPathFactory) -> list[Any]:
    """The weights of a run that nothing stops."""
    trainer = begun(warm, tmp_path_factory.mktemp("whole"))
    trainer.train()
    return weights(trainer)


class StoppedError(Exception):
    """Stands for the end of a process."""


def stop_after_two(figures: dict[str, Any]) -> None:
    if figures["update"] == 2:
        raise StoppedError


def resumed(warm: Path, path: Path, lose: Callable[[Trainer], Any] = lambda trainer: None) -> list[Any]:
    """Return the weights of a run that stops after two updates and goes on in a new trainer."""
    with pytest.raises(StoppedError):
        begun(warm, path).train(stop_after_two)
    trainer = Trainer(SMALL, 0, path)
    assert trainer.update == 2
    lose(trainer)
    trainer.train()
    assert [line["update"] for line in trainer.folder.metrics] == [1, 2, 3, 4]
    return weights(trainer)


LOSSES: dict[str, Callable[[Trainer], Any]] = {
    "weights": lambda trainer: torch.nn.init.normal_(trainer.model.embedding.weight),
    "optimizer": lambda trainer: trainer.optimizer.state.clear(),
    "samples": lambda trainer: trainer.sampling.manual_seed(5),
    "shuffles": lambda trainer: trainer.shuffling.seed(5),
}


def test_a_resumed_run_has_the_same_weights(warm: Path, uninterrupted: list[Any], tmp_path: Path) -> None:
    """Bit for bit."""
    assert same(uninterrupted, resumed(warm, tmp_path))


@pytest.mark.sampled(2)
@pytest.mark.parametrize("lost", LOSSES)
def test_each_saved_item_is_needed(warm: Path, uninterrupted: list[Any], tmp_path: Path, lost: str) -> None:
    """Without it, a resumed run ends elsewhere; so the test above does not pass for lack of learning."""
    assert not same(uninterrupted, resumed(warm, tmp_path, LOSSES[lost]))


def test_lines_after_the_last_checkpoint_are_dropped(warm: Path, tmp_path: Path) -> None:
    """A trainer that was killed between metrics and checkpoint repeats the update, and it is in the folder once."""
    trainer = begun(warm, tmp_path)
    trainer.step(CollapseMonitor())
    again = Trainer(SMALL, 0, tmp_path)
    assert (again.update, again.folder.metrics) == (0, [])
    again.train()
    assert [line["update"] for line in again.folder.metrics] == [1, 2, 3, 4]
    recorded = [one.metadata["update"] for one in read_trajectories(tmp_path / "episodes.jsonl")]
    assert recorded == [update for update in (1, 2, 3, 4) for _ in range(4)]


def test_other_settings_do_not_resume(warm: Path, tmp_path: Path) -> None:
    """Another recipe, seed or number of threads is refused by name."""
    begun(warm, tmp_path)
    with pytest.raises(ArgumentError, match="with recipe = "):
        Trainer(replace(SMALL, gamma=0.5), 0, tmp_path)
    with pytest.raises(ArgumentError, match="with seed = 0, and now it is 1"):
        Trainer(SMALL, 1, tmp_path)
    torch.set_num_threads(2)
    with pytest.raises(ArgumentError, match="with threads = 1, and now it is 2"):
        Trainer(SMALL, 0, tmp_path)


def test_a_budget_of_turns_grows(warm: Path, tmp_path: Path) -> None:
    """One turn in the first update, four in the second."""
    trainer = begun(warm, tmp_path, budgets=(1, 4), updates=2)
    turns: list[int] = []
    trainer.train(lambda figures: turns.append(figures["turns"]))
    assert turns[0] <= SMALL.episodes < turns[1]


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"algorithm": "a2c"}, "algorithm must be one of reinforce, rebn"),
        ({"algorithm": "grpo"}, "set group to 2 or more"),
        ({"episodes": 3, "group": 2}, "a multiple of group"),
        ({"updates": 0}, "updates must be an integer ≥ 1, got 0"),
        ({"environments": {}}, "positive shares"),
        ({"gama": 0.5}, "no setting 'gama'; did you mean 'gamma'"),
    ],
)
def test_wrong_settings_are_named(settings: dict[str, Any], message: str) -> None:
    """The error says the rule and the value."""
    with pytest.raises(ArgumentError, match=message):
        Recipe.from_dict({**SMALL.to_dict(), **settings})


def test_the_recipes_can_be_read() -> None:
    """And survive a round trip."""
    assert set(recipes()) == {
        *("guess-the-number", "guess-the-number-20", "hanoi", "hangman", "needle", "nim", "number-hunt")
    }
    for recipe in recipes().values():
        assert Recipe.from_dict(recipe.to_dict()) == recipe
        for name in recipe.environments:
            gem.make(name, **recipe.kwargs).close()
