"""Atlas as a set of questions: no duplicates, no give-aways, no lucky guesses; one copy of each world."""

from __future__ import annotations

import json
import pickle
import re
from collections import Counter
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from pathlib import Path
from typing import Any

import pytest

import gem
from gem.errors import GemError
from gem_envs_qa import AtlasEnv
from gem_envs_qa.atlas import atlas_of
from gem_envs_qa.atlas.questions import QUESTION_KINDS
from gem_envs_qa.atlas.world import AtlasWorld
from gem_envs_qa.grading import normalised

Row = Mapping[str, Any]


@cache
def rows(**kwargs: Any) -> list[Row]:
    env = AtlasEnv(**kwargs)
    return [env.rows[index] for index in range(len(env.rows))]  # type: ignore[arg-type]


def test_a_guesser_that_knows_all_answers_but_not_the_articles_scores_near_zero() -> None:
    """Always giving the most frequent answer of the kind of question earns next to nothing."""
    all_rows = rows()
    by_kind: dict[str, Counter[str]] = {}
    for row in all_rows:
        by_kind.setdefault(row["kind"], Counter())[row["answer"][0]] += 1
    right = sum(counter.most_common(1)[0][1] for counter in by_kind.values())
    assert right < 0.04 * len(all_rows)
    for kind, counter in by_kind.items():
        assert counter.most_common(1)[0][1] < (0.25 if kind == "count" else 0.03) * counter.total()


@pytest.mark.parametrize("split", ["train", "test"])
def test_no_question_gives_its_answer_away(split: str) -> None:
    """No accepted answer, normalised, stands in the question; ids and questions are unique in the whole set."""
    asked = rows(split=split)
    for row in asked:
        question = f" {normalised(row['question'])} "
        assert all(f" {normalised(answer)} " not in question for answer in row["answer"]), row
    assert len({row["id"] for row in asked}) == len(asked)
    assert len({row["question"] for row in asked}) == len(asked)
    # Of what is compared or put together, the order makes no difference.
    unordered = {(row["kind"], row["answer"][0], *sorted(re.findall(r"\w+", row["question"]))) for row in asked}
    assert len(unordered) == len(asked)


def test_corpus_is_written_as_json_lines(tmp_path: Path) -> None:
    """What is written is what the environment hands to the search tool, one document a line."""
    env = AtlasEnv(size=100)
    file = tmp_path / "corpus.jsonl"
    assert atlas_of(0, 100).write_corpus(file) == 100
    assert [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()] == list(env.search_corpus())


def test_the_splits_share_no_question() -> None:
    """A fifth is for testing; no question of it is one for training, whichever variant asks."""
    train, test = ({row["question"] for row in rows(split=split)} for split in ("train", "test"))
    assert not train & test
    assert len(test) * 4 == pytest.approx(len(train), rel=0.01)
    for kind in QUESTION_KINDS:
        assert {row["question"] for row in rows(questions=kind)} <= train


@pytest.mark.parametrize("kind", QUESTION_KINDS)
def test_every_kind_asks_what_it_says(kind: str) -> None:
    """A chain has so many facts in as many articles; what puts chains together has two facts at least."""
    asked = rows(questions=kind)
    assert {row["kind"] for row in asked} == {kind}
    hops = {row["hops"] for row in asked}
    assert hops == {int(kind[0])} if kind.endswith("hop") else min(hops) >= 2
    if kind != "count":
        assert all(len(set(row["documents"])) == row["hops"] for row in asked)


def test_mixed_holds_all_kinds_in_turn() -> None:
    """The kinds are equally frequent from the first rows on."""
    assert Counter(row["kind"] for row in rows()[:700]) == dict.fromkeys(QUESTION_KINDS, 100)


def test_every_way_of_writing_the_answer_is_accepted() -> None:
    """Aliases, and dates and numbers in the usual forms, earn 1.0; an empty answer never does."""
    env = AtlasEnv()
    for index in range(0, 3000, 7):
        for answer in env.rows[index]["answer"]:  # type: ignore[index]
            env.reset(options={"index": index})
            assert env.step(f"It is <answer>{answer.upper()}</answer>")[1] == 1.0
        for nothing in ("<answer></answer>", "<answer>the</answer>", "<answer>?</answer>", "", None):
            env.reset(options={"index": index})
            assert env.step(nothing)[1] == 0.0  # type: ignore[arg-type]


def test_dates_are_accepted_in_the_usual_forms() -> None:
    """14 March 1732, March 14, 1732, 14th of March 1732 and 1732-03-14 are one day."""
    row = next(row for row in rows() if row["question"].startswith("On what date"))
    day, month, year = row["answer"][0].split()
    assert f"{month} {day}, {year}" in row["answer"]
    assert sum(answer.startswith(f"{year}-") for answer in row["answer"]) == 1


def test_another_seed_is_another_world() -> None:
    """Hardly a name of one world is one of another; of the same seed, everything is the same."""
    one, other = ({entity.name for entity in AtlasWorld(seed, 600).entities} for seed in (0, 1))
    assert len(one & other) < 0.15 * len(one)
    assert [vars_of(entity) for entity in AtlasWorld(3, 200).entities] == [
        vars_of(entity) for entity in AtlasWorld(3, 200).entities
    ]


def vars_of(entity: Any) -> tuple[Any, ...]:
    return entity.name, entity.alias, entity.kind, entity.facts, entity.homes


def test_no_two_things_share_a_name() -> None:
    """Names and second names are unique in a world, also a large one, and none is a part of another's words."""
    world = AtlasWorld(5, 5000)
    names = [normalised(name) for entity in world.entities for name in (entity.name, entity.alias) if name is not None]
    assert len(set(names)) == len(names)


def test_environments_of_a_process_share_one_copy() -> None:
    """However many threads ask at once, there is one corpus of a world; another size is another world."""
    with ThreadPoolExecutor(8) as pool:
        corpora = list(pool.map(lambda _: AtlasEnv(world_seed=99, size=150).search_corpus(), range(16)))
    assert len({id(corpus) for corpus in corpora}) == 1
    assert len(corpora[0]) == 150
    assert set(corpora[0][0]) == {"id", "title", "contents"}
    assert AtlasEnv(world_seed=99, size=151).search_corpus()[0]["contents"] != corpora[0][0]["contents"]


def test_the_search_tool_works_out_of_the_box() -> None:
    """With the wrapper alone, a search for a name in the question finds its article."""
    pytest.importorskip("gem_tools.search")
    env = gem.make("qa:Atlas-v0-1hop", wrappers="search_tool_no_int_reward")
    observation, _ = env.reset(seed=3)
    assert "<search>" in observation
    article = env.unwrapped.search_corpus()[int(env.unwrapped.row["documents"][0])]
    observation, reward, terminated, truncated, info = env.step(f"<search>{article['title']}</search>")
    assert (reward, terminated, truncated, info["use_tool"]) == (0.0, False, False, True)
    assert article["contents"].partition("\n")[2] in observation
    _, reward, terminated, _, _ = env.step(f"<answer>{env.unwrapped.row['answer'][0]}</answer>")
    assert (reward, terminated) == (1.0, True)


def test_pickle_carries_the_question_and_no_world() -> None:
    """Another process makes its own copy of the world; what is sent is small."""
    env = AtlasEnv(size=300)
    env.reset(seed=4)
    sent = pickle.dumps(env)
    assert len(sent) < 20_000
    assert pickle.loads(sent).row == env.row


@pytest.mark.parametrize("name", ["questions", "split", "world_seed", "size", "per_kind", "metric", "seed", "shuffle"])
@pytest.mark.parametrize("value", [-1, 99, 0.5, None, "", "dev", b"x", 10**20, True])
def test_hostile_arguments_work_or_raise_gem_errors(name: str, value: Any) -> None:
    """Whatever is passed, nothing but a GEM error is raised."""
    arguments: dict[str, Any] = {"size": 100, "per_kind": 20, name: value}
    try:
        AtlasEnv(**arguments).reset(seed=0)
    except GemError:
        return
    assert name in ("world_seed", "per_kind", "seed", "shuffle")


@pytest.mark.parametrize("world_seed", [0, *(pytest.param(seed, marks=pytest.mark.nightly) for seed in range(1, 6))])
def test_the_smallest_worlds_have_questions_of_every_kind(world_seed: int) -> None:
    """A hundred entities are enough for every kind of question, in both splits."""
    for kind in QUESTION_KINDS:
        for split in ("train", "test"):
            assert len(rows(questions=kind, split=split, size=100, world_seed=world_seed)) > 5
