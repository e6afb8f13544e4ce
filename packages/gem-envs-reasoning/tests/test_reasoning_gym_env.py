"""The order of questions, levels, composites and states."""

from __future__ import annotations

import json
import random
from typing import Any

import pytest

import gem
from gem.errors import ArgumentError, StateError
from gem_envs_reasoning import ReasoningGymEnv, scoring
from gem_envs_reasoning.items import Composite, Part, catalogue, highest_level
from gem_envs_reasoning.library import load
from gem_processes import SharedResource


def _library(name: str, **config: Any) -> Any:
    load(catalogue()[name]["module"])
    cls, config_class = load("factory").DATASETS[name]
    return cls(config_class(**config))


def test_the_last_environment_ends_the_workers(monkeypatch: pytest.MonkeyPatch) -> None:
    """An environment uses the worker processes from its first answer that needs them to its close."""
    log: list[str] = []

    def opened() -> Any:
        log.append("opened")
        return scoring.POOL

    monkeypatch.setattr(scoring, "WORKERS", SharedResource(opened, lambda _: log.append("closed")))
    monkeypatch.setattr(scoring, "POOL", lambda *_: (1.0, None))
    monkeypatch.setattr(scoring, "needs_worker", lambda *_: True)
    envs: list[Any] = [gem.make("rg:gcd", size=3) for _ in range(2)]
    for env in envs:
        env.reset(seed=1)
        assert env.step("\\boxed{1}")[1] == 1.0
    envs[0].close()
    assert log == ["opened"]
    envs[1].close()
    assert log == ["opened", "closed"]


def test_without_a_seed_the_order_is_the_librarys() -> None:
    """An environment that nobody seeds asks item 0, 1, 2, … and then those of the next data set, seed + size."""
    env = ReasoningGymEnv("gcd", size=3, seed=7)
    asked = []
    for _ in range(7):
        env.reset()
        asked.append(env.row["question"])
    wanted = [_library("gcd", size=3, seed=seed)[place]["question"] for seed in (7, 10, 13) for place in range(3)]
    assert asked == wanted[:7]
    assert env.epoch == 2


def test_a_seed_draws_an_order_in_which_each_item_comes_once() -> None:
    """After reset(seed=…), every item of the data set comes once before one of the next does."""
    env, again = gem.make("rg:gcd", size=8), gem.make("rg:gcd", size=8)
    indices = [env.reset(seed=5)[1]["index"], *(env.reset()[1]["index"] for _ in range(15))]
    assert sorted(indices[:8]) == list(range(8))
    assert sorted(indices[8:]) == list(range(8, 16))
    assert indices[:8] != list(range(8))
    assert [again.reset(seed=5)[1]["index"], *(again.reset()[1]["index"] for _ in range(15))] == indices


def test_published_arguments_work() -> None:
    """name, size and seed are taken by position, and the original's import path finds the class."""
    from gem.envs.reasoning_gym import ReasoningGymEnv as Published  # type: ignore[import-not-found,unused-ignore]

    assert issubclass(Published, ReasoningGymEnv)
    assert "boxed" in ReasoningGymEnv("gcd", 10, 1).reset()[0]
    assert "boxed" not in ReasoningGymEnv("gcd", answer_format=False).reset()[0]


def test_a_level_makes_the_next_episodes_harder() -> None:
    """set_level holds from the next reset on, and info says which level a question has."""
    env: Any = gem.make("rg:chain_sum", level=0)
    assert env.reset(seed=1)[1]["level"] == 0
    env.set_level(env.highest_level)
    assert env.step("\\boxed{1}")[4]["level"] == 0
    assert env.reset()[1]["level"] == env.highest_level > 0
    with pytest.raises(ArgumentError):
        env.set_level(env.highest_level + 1)
    with pytest.raises(ArgumentError, match="no curriculum"):
        gem.make("rg:acre", level=0)


@pytest.mark.parametrize("name", ["chain_sum", "gcd", "letter_counting"])
def test_the_highest_level_is_the_last_that_the_curriculum_has(name: str) -> None:
    """Levels count from 0, and the attribute with the most decides."""
    load(catalogue()[name]["module"])
    curriculum = load("factory").CURRICULA[name]()
    most = max(len(attribute.levels) for attribute in curriculum.attributes.values())
    assert highest_level(name) == most - 1


def test_levels_of_single_attributes() -> None:
    """Levels gives single attributes of a curriculum a level, and info holds them."""
    env = gem.make("rg:chain_sum", levels={"num_digits": 1})
    assert env.reset(seed=0)[1]["level"] == {"num_digits": 1}


def test_a_state_holds_the_level_of_the_question_and_of_those_to_come() -> None:
    """A state taken between set_level and reset continues with the old question and the new level."""
    env: Any = gem.make("rg:chain_sum", level=0)
    twin: Any = gem.make("rg:chain_sum", level=0)
    env.reset(seed=3)
    env.set_level(2)
    twin.set_state(json.loads(json.dumps(env.get_state())))
    action = env.reference_answer(env.row)
    assert twin.step(action) == env.step(action)
    assert twin.reset() == env.reset()
    before = twin.get_state()
    with pytest.raises(StateError):
        twin.set_state({**before, "level": 99})
    assert twin.get_state() == before


def test_a_composite_draws_as_the_library_does() -> None:
    """Items of a composite and their order are those of the library's CompositeDataset."""
    datasets: Any = [
        {"name": "gcd", "weight": 2.0},
        {"name": "letter_counting", "weight": 1.0, "config": {"max_words": 8}},
    ]
    env: Any = gem.make("rg:composite", datasets=datasets, size=20, seed=5)
    composite: Any = load("composite")
    env.reset(seed=0)  # loads the parts
    specs = [composite.DatasetSpec(part["name"], part["weight"], part.get("config", {})) for part in datasets]
    library = composite.CompositeDataset(composite.CompositeConfig(size=20, seed=5, datasets=specs))
    for place in range(20):
        _, info = env.reset(options={"index": place})
        assert env.row["question"] == library[place]["question"]
        assert info["dataset"] == library[place]["metadata"]["source_dataset"]
        assert env.step(env.reference_answer(env.row))[1] == 1.0


def test_the_next_pass_of_a_composite_is_drawn_anew() -> None:
    """Items of pass n are those of the composite whose seed is that of the first plus n times the size."""
    parts = [Part("gcd", 2.0, {}), Part("letter_counting", 1.0, {}), Part("chain_sum", 1.0, {})]
    first, second = Composite(parts, seed=5, size=20), Composite(parts, seed=25, size=20)
    passes = [[first.part(place) for place in range(begin, begin + 20)] for begin in (0, 20)]
    assert passes[1] == [second.part(place) for place in range(20)]
    assert passes[0] != passes[1]


def test_a_part_with_an_own_seed_or_size_keeps_it() -> None:
    """The others have the composite's seed plus their place from 1 on, and no part is smaller than the composite."""
    parts = [Part("gcd", 1.0, {}), Part("chain_sum", 1.0, {"seed": 77, "size": 3}), Part("acre", 1.0, {"size": 30})]
    made = Composite(parts, seed=5, size=10, level=None).parts
    found = {name: (part.settings()["seed"], part.settings()["size"]) for name, part in made.items()}
    assert found == {"gcd": (6, 10), "chain_sum": (77, 10), "acre": (8, 30)}


@pytest.mark.parametrize(
    ("datasets", "message"),
    [
        ([{"name": "gcd"}, {"name": "gcd", "weight": 2.0}], "twice"),
        (["composite"], "cannot be a part of itself"),
        ([{"name": "gcd", "weight": 0.0}], "weight must be at least"),
        ([{"name": "gcd", "weight": -1.0}], "weight must be at least"),
        ([], "length of datasets must be at least 1"),
        ([{"name": "gcd", "config": {"max_value": 1e300}}], "max_value must stay between"),
    ],
    ids=["twice", "itself", "no weight", "negative weight", "none", "too large"],
)
def test_a_composite_that_cannot_be_drawn_from_is_refused(datasets: Any, message: str) -> None:
    """The message names the argument and its bound."""
    with pytest.raises(ArgumentError, match=message):
        gem.make("rg:composite", datasets=datasets).reset(seed=0)


def test_the_global_generators_are_left_alone() -> None:
    """pool_matrix and codeio, which draw from global generators in the library, do not here."""
    import numpy

    random.seed(1)
    numpy.random.seed(1)
    wanted = random.random(), numpy.random.random()
    random.seed(1)
    numpy.random.seed(1)
    for name in ("pool_matrix", "codeio"):
        gem.make(f"rg:{name}").reset(seed=1)
    assert (random.random(), numpy.random.random()) == wanted
