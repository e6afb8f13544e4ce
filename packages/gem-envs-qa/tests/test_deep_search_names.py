"""DeepSearch: the names of an episode, the ranking under them, and the number of tasks."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache
from itertools import islice, product
from math import prod
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

import gem
from gem_envs_qa.atlas.atlas import Atlas, atlas_of
from gem_envs_qa.atlas.questions import FactChain, _Starts, follow
from gem_envs_qa.atlas.schema import paths
from gem_envs_qa.atlas.world import AtlasWorld
from gem_envs_qa.deep_search.env import LEVELS, DeepSearchEnv, _split_of
from gem_envs_qa.deep_search.naming import EpisodeNames, NameVocabulary, pieces_of
from gem_envs_qa.deep_search.searched_world import searched_world
from gem_tools.search import LocalIndex, local_index

KEYS = st.integers(0, 2**64 - 1)


@cache
def small() -> tuple[Atlas, LocalIndex, NameVocabulary]:
    """A world of 600 articles."""
    atlas = atlas_of(5, 600)
    index = local_index(atlas.corpus)
    texts = [document["contents"] for document in atlas.corpus]
    return atlas, index, NameVocabulary(atlas.world.languages, texts, index.terms)


def queries(corpus: Sequence[Mapping[str, str]], rng: Random, count: int) -> list[str]:
    """Titles, words of articles, endings, and words that are nowhere."""
    made = []
    for _ in range(count):
        words = re.findall("[A-Za-z]+", rng.choice(corpus)["contents"])
        other = rng.choice(corpus)["title"]
        made += [
            other,
            f"{other} {rng.choice(words)}",
            " ".join(rng.sample(words, min(len(words), 5))),
            f"{rng.choice(words)}'s {other}'s",
            f"the {rng.choice(words)} zzzqq",
        ]
    return made


def test_the_ranking_is_that_of_an_index_over_the_renamed_articles() -> None:
    """For 200 queries in the episode's names, with equal scores: the same articles in the same order."""
    atlas, index, vocabulary = small()
    names = EpisodeNames(vocabulary, 2**63 + 11)
    renamed = local_index([{**document, "contents": names.told(document["contents"])} for document in atlas.corpus])
    for number, query in enumerate(queries(atlas.corpus, Random(0), 40)):
        asked = names.told(query)
        asked = (asked, asked.upper(), asked.replace(" ", "s "))[number % 3]
        expected = [(hit.id, hit.score, hit.contents) for hit in renamed.search(asked, 10)]
        found = index.search_terms(names.terms_of_the_world(index.terms(asked)), 10)
        assert [(hit.id, hit.score, names.told(hit.contents)) for hit in found] == expected


@pytest.mark.nightly
@pytest.mark.parametrize("names", ["world", "episode"])
def test_an_environment_shows_what_the_engine_finds(names: str) -> None:
    """The articles in the engine's order, those of the world as they were written, in every page."""
    env = gem.make("qa:DeepSearch-v0", names=names).unwrapped
    assert isinstance(env, DeepSearchEnv)
    env.reset(seed=8)
    engine = searched_world(0, 10_000).engine
    for query in queries(env._world.corpus, Random(1), 8):
        asked = env._told(query)
        found = engine.search(query, 2 * env.topk)
        lines = [f"[{env._numbered(hit.id)}] {env._told(f'{hit.title}: {hit.text}')}" for hit in found]
        for page, action in enumerate((f"<search>{asked}</search>", "<more/>")):
            shown = env.step(action)[0].splitlines()[1:]
            expected = lines[page * env.topk : (page + 1) * env.topk]
            assert [line for line in shown if line.startswith("[")] == expected
        env.reset(seed=8)


@pytest.mark.nightly
def test_an_episode_is_that_of_the_world_under_other_names() -> None:
    """The same question, answers and articles, with hardly any name in common with the next episode."""
    env = gem.make("qa:DeepSearch-v0").unwrapped
    plain = gem.make("qa:DeepSearch-v0", names="world").unwrapped
    assert isinstance(env, DeepSearchEnv)
    assert isinstance(plain, DeepSearchEnv)
    for seed in range(20):
        observation, told = env.reset(seed=seed)[0], plain.reset(seed=seed)[0]
        assert observation == env._told(told)
        assert env.row["answer"] == [env._told(answer) for answer in plain.row["answer"]]
        assert env.row["documents"] == [env._numbered(document) for document in plain.row["documents"]]
    words = searched_world(0, 10_000).vocabulary.places
    assert sum(env._told(word) == word for word in words) < 0.1 * len(words)


@given(KEYS)
def test_names_change_places_within_their_group(key: int) -> None:
    """Each word of a group is taken once, groups move independently, and no other word changes."""
    _, index, vocabulary = small()
    names = EpisodeNames(vocabulary, key)
    moves: dict[int, set[tuple[int, int]]] = {}
    for number, group in enumerate(vocabulary.groups):
        moves.setdefault(len(group), set()).add(names._move(number))
    assert any(len(of_one_size) > 1 for of_one_size in moves.values())
    for group in vocabulary.groups:
        assert sorted(map(names.name, group)) == sorted(group)
        for word in group:
            assert names.terms_of_the_world(index.terms(names.name(word))) == index.terms(word)
    assert names.told("The Lantern of Nobody was here.") == "The Lantern of Nobody was here."


@given(KEYS)
def test_numbers_of_articles_change_places(key: int) -> None:
    """Each is taken once, and other episodes have others: a number would tell which entity an agent meets again."""
    _, _, vocabulary = small()
    names, known = EpisodeNames(vocabulary, key), EpisodeNames(vocabulary, 2**64)
    numbers = [names.number(str(article), 600) for article in range(600)]
    assert sorted(map(int, numbers)) == [*range(600)]
    # Two such orders of 600 articles agree in one article in 600, but for few strides.
    assert sum(known.number(str(article), 600) == number for article, number in enumerate(numbers)) <= 300


def test_words_that_the_index_confuses_keep_their_places() -> None:
    """Two names with one stem, and a name that is also a word of the articles."""
    atlas, index, _ = small()
    language = atlas.world.languages[0]._replace(
        given_names=["Trusta", "Trustas", "Belmo", "Karne"], family_names=["Lettersa"], towns=[], words=["Lettering"]
    )
    vocabulary = NameVocabulary([language], ["Few letters survive."], index.terms)
    assert vocabulary.groups == [("Belmo", "Karne"), ("Lettersa",), (), ()]


def chains(world: AtlasWorld, hops: int, split: str) -> Iterator[FactChain]:
    """All chains of a split."""
    starts = _Starts(world, ((path[0].subject, path) for path in paths(hops)))
    for number in range(starts.size):
        chain = follow(world, *starts[number])
        if chain is not None and _split_of(chain) == split:
            yield chain


def name_groups(vocabulary: NameVocabulary, name: str) -> list[int]:
    """The groups of the words that change in a name; they are different ones."""
    groups = [vocabulary.places[word][0] for word in pieces_of(name)[1::2] if word in vocabulary.places]
    assert len(set(groups)) == len(groups)
    return groups


def tasks(vocabulary: NameVocabulary, found: Iterable[FactChain]) -> int:
    """The number of pairs of a chain of facts and a name of its first entity."""
    sizes = list(map(len, vocabulary.groups))
    return sum(prod(sizes[group] for group in name_groups(vocabulary, chain.start.name)) for chain in found)


def test_tasks_are_counted_as_a_list_of_all_has_them() -> None:
    """In a world of 100 articles: each name that a first entity gets by some shift of the places is on the list."""
    world = Atlas(2, 100).world
    index = local_index([{"contents": entity.name} for entity in world.entities])
    vocabulary = NameVocabulary(world.languages, [], index.terms)
    for split in ("train", "test"):
        found = list(chains(world, 2, split))[::23]
        assert len({chain.start.kind for chain in found}) > 2
        listed = set()
        for chain in found:
            groups = name_groups(vocabulary, chain.start.name)
            for shifts in product(*(range(len(vocabulary.groups[group])) for group in groups)):
                names = EpisodeNames(vocabulary, 0)
                names._moves = {group: (1, shift) for group, shift in zip(groups, shifts, strict=True)}
                listed.add((chain.start.id, chain.path, names.told(chain.start.name)))
        assert len(listed) == tasks(vocabulary, found)


@pytest.mark.slow(reason="the first test makes the world of 10,000 articles and its index")
@pytest.mark.parametrize("level", LEVELS)
def test_there_are_more_than_a_million_tasks(level: str) -> None:
    """Of each level, in the smaller split, and with its first 2,000 chains of facts alone."""
    found = islice(chains(searched_world(0, 10_000).world, LEVELS[level].hops, "test"), 2_000)
    assert tasks(searched_world(0, 10_000).vocabulary, found) > 10**6
