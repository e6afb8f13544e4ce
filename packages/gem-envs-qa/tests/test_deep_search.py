"""DeepSearch: several searches are needed and enough, evidence counts, and environments share a world."""

from __future__ import annotations

import json
from concurrent.futures import ThreadPoolExecutor
from functools import cache, partial
from random import Random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import gem
from gem.errors import ArgumentError, StateError
from gem_envs_qa.deep_search.env import LEVELS, DeepSearchEnv, _split_of
from gem_envs_qa.deep_search.form import SearchAction, SearchActionForm
from gem_envs_qa.deep_search.mentions import ArticleMentions
from gem_envs_qa.deep_search.question_reader import answer_by_steps
from gem_envs_qa.deep_search.searched_world import searched_world
from gem_envs_qa.deep_search.sentence_reader import SearchReader
from gem_envs_qa.grading import exact_match


def deep_search(**kwargs: Any) -> DeepSearchEnv:
    env = gem.make("qa:DeepSearch-v0", **kwargs).unwrapped
    assert isinstance(env, DeepSearchEnv)
    return env


@cache
def names() -> SearchReader:
    """A reader of the titles and first sentences of all articles, who knows what everything is called."""
    reader = SearchReader()
    for document in searched_world(0, 10_000).corpus:
        reader.read(document["title"], document["contents"].partition("\n")[2].partition(". ")[0] + ".")
    return reader


def worked_out(question: str, documents: list[dict[str, str]]) -> str | None:
    """What a reader of these articles, who knows all second names, answers; None if they do not say enough."""
    reader = SearchReader()
    reader.names, reader.aliases = dict(names().names), dict(names().aliases)
    for document in documents:
        reader.read(document["title"], document["contents"].partition("\n")[2])
    reasoning, told = answer_by_steps(question), None
    while True:
        try:
            told = reader.know(reasoning.send(told))
        except StopIteration as done:
            return reader.canonical(str(done.value)) or str(done.value)
        if told is None:
            return None


@pytest.mark.sampled(1)
@pytest.mark.slow(reason="the first test makes the world of 10,000 articles and its index")
@pytest.mark.parametrize("level", LEVELS)
def test_every_needed_article_is_needed_and_no_other_one_is(level: str) -> None:
    """A reader of the needed articles answers right, and one from whom any of them is kept cannot answer."""
    env = deep_search(level=level, names="world")
    corpus = {document["id"]: dict(document) for document in env._world.corpus}
    for seed in range(25):
        env.reset(seed=seed)
        row = env.row
        needed = [corpus[number] for number in row["documents"]]
        assert len(needed) == row["hops"] == LEVELS[level].hops
        answer = worked_out(row["question"], needed)
        assert answer is not None
        assert exact_match(answer, row["answer"])
        for missing in needed:
            assert worked_out(row["question"], [one for one in needed if one is not missing]) is None


@pytest.mark.nightly
@pytest.mark.parametrize("level", LEVELS)
def test_no_article_has_the_answer_together_with_what_the_question_names(level: str) -> None:
    """Of all 10,000, read as plain text; so one search for the words of the question cannot find the answer."""
    env = deep_search(level=level, names="world")
    texts = [document["contents"].lower() for document in env._world.corpus]
    known = sorted(
        (name for entity in env._world.world.entities for name in (entity.name, entity.alias) if name), key=len
    )
    for seed in range(12):
        env.reset(seed=seed)
        question = env.row["question"].rstrip("?")
        named = max((name for name in known if name in question), key=len).lower()
        with_name = [text for text in texts if named in text]
        assert with_name
        assert not any(answer.lower() in text for text in with_name for answer in env.row["answer"])


def played(env: gem.Env[Any, Any], seeds: range, policy: str = "reference") -> tuple[float, float]:
    """The mean return and the mean number of turns."""
    player = gem.make_policy(policy, env)
    total = turns = 0.0
    for seed in seeds:
        observation, info = env.reset(seed=seed)
        player.reset(observation, info)
        over = False
        while not over:
            observation, reward, terminated, truncated, info = env.step(player.act(observation, info))
            total, turns, over = total + reward, turns + 1, terminated or truncated
    return total / len(seeds), turns / len(seeds)


@pytest.mark.nightly
def test_one_that_searches_wins_and_each_level_takes_longer() -> None:
    """Every episode with its evidence; in three turns fewer from level to level; by chance and by silence none."""
    seeds = range(12)
    free = [played(gem.make("qa:DeepSearch-v0", level=level), seeds) for level in LEVELS]
    assert [share for share, _ in free] == [1.0, 1.0, 1.0]
    turns = [mean for _, mean in free]
    assert turns == sorted(turns)
    few = [played(gem.make("qa:DeepSearch-v0", level=level, max_turns=3), seeds)[0] for level in LEVELS]
    assert few == sorted(few, reverse=True)
    assert few[0] > few[2]
    for policy in ("random", "null"):
        assert played(gem.make("qa:DeepSearch-v0-easy"), range(5), policy)[0] == 0.0


@pytest.mark.nightly
@pytest.mark.parametrize("level", LEVELS)
def test_one_that_searches_wins_nearly_always(level: str) -> None:
    """Of 300 questions at least 290 with the announced turns."""
    assert played(gem.make("qa:DeepSearch-v0", level=level), range(300))[0] > 0.966


@pytest.mark.parametrize(
    ("cited", "complete", "precise"),
    [("all", True, True), ("without one", False, True), ("none", False, True), ("with many", True, False)],
)
def test_evidence_counts_where_it_is_required(cited: str, complete: bool, precise: bool) -> None:
    """A right answer alone is not enough; by argument it is; info says both in either case."""
    for evidence in ("required", "ignored"):
        env = deep_search(evidence=evidence)
        env.reset(seed=3)
        needed = env.row["documents"]
        numbers = {
            "all": needed,
            "without one": needed[1:],
            "none": [],
            "with many": [*needed, *(str(number) for number in range(9000, 9008) if str(number) not in needed)],
        }[cited]
        action = f"<answer>{env.row['answer'][0]}</answer> <evidence>{', '.join(numbers)}</evidence>"
        _, reward, terminated, _, info = env.step(action)
        assert reward == float(evidence == "ignored" or (complete and precise))
        assert terminated
        assert info["success"] is (reward == 1.0)
        assert (info["answer_correct"], info["evidence_complete"], info["evidence_precise"]) == (
            True,
            complete,
            precise,
        )


def test_a_wrong_answer_ends_the_episode_whatever_its_evidence() -> None:
    """There is nothing to be had by guessing again."""
    env = deep_search(evidence="ignored")
    env.reset(seed=3)
    cited = ", ".join(env.row["documents"])
    _, reward, terminated, _, info = env.step(f"<answer>nobody</answer><evidence>{cited}</evidence>")
    assert (reward, terminated, info["answer_correct"], info["evidence_complete"]) == (0.0, True, False, True)


def test_further_results_go_on_where_the_first_ended_and_a_state_knows_the_place() -> None:
    """No article comes twice; without a search before, there is nothing to go on with."""
    env, other = deep_search(), deep_search()
    env.reset(seed=1)
    assert "Search for something first." in env.step("<more/>")[0]
    pages = [env.step("<search>mayor of the town</search>")[0]]
    pages += [env.step("<more/>")[0] for _ in range(3)]
    other.set_state(json.loads(json.dumps(env.get_state())))
    assert other.step("<more/>") == env.step("<more/>")
    numbers = [line.partition("]")[0] for page in pages for line in page.splitlines() if line.startswith("[")]
    assert len(set(numbers)) == len(numbers) == 4 * env.topk


@pytest.mark.parametrize(
    ("query", "answer"),
    [
        ("of the", "Nothing was found: words such as"),
        ("zzzzqqq of the", 'No article has the word "zzzzqqq".\n'),
        ("zzzzqqq, the vvvvx.", 'No article has any of the words "zzzzqqq" and "vvvvx".\n'),
        ("mayor zzzzqqq", 'The search engine shows 5 articles. No article has the word "zzzzqqq".\n['),
        ("mayor of the town", "The search engine shows 5 articles.\n["),
    ],
)
def test_a_search_says_which_words_found_nothing(query: str, answer: str) -> None:
    """Words of the language alone find nothing, and neither do words that no article has."""
    env = deep_search()
    env.reset(seed=1)
    shown = env.step(f"<search>{query}</search>")[0]
    assert shown.startswith(f"Turn 1 of 24. {answer}")
    if "[" not in shown:
        assert env.step("<more/>")[0].splitlines()[0].endswith(("Search for something first.", 'such as "the".'))


@pytest.mark.parametrize("split", ["train", "test"])
@given(level=st.sampled_from(tuple(LEVELS)), seed=st.integers(0, 2**32))
def test_a_question_belongs_to_the_split_that_it_was_drawn_for(split: str, level: str, seed: int) -> None:
    """The chain of facts alone decides the split: its start and its relations, here by the question's words."""
    env = deep_search(level=level, split=split)
    env.reset(seed=seed)
    question = next(
        drawn
        for drawn in iter(partial(searched_world(0, 10_000).chains[LEVELS[level].hops].draw, Random(env._key)), 0)
        if drawn is not None
        and [env._numbered(str(number)) for number in drawn.chains[0].documents] == env.row["documents"]
    )
    assert _split_of(question.chains[0]) == split


def test_environments_share_one_world_and_one_index() -> None:
    """64 at once in threads make it once, and play what one after the other plays."""

    def episode(seed: int) -> list[str]:
        env = deep_search(level="hard")
        shown = [env.reset(seed=seed)[0]]
        for _ in range(4):
            observation, _, terminated, truncated, _ = env.step(env.sample_random_action())
            shown.append(observation)
            if terminated or truncated:
                break
        return shown

    assert deep_search()._world is deep_search(level="easy")._world
    with ThreadPoolExecutor(64) as pool:
        together = list(pool.map(episode, range(64)))
    assert together == [episode(seed) for seed in range(64)]


@pytest.mark.parametrize(
    ("text", "action"),
    [
        ("<search>two  words</search>", SearchAction("two words")),
        ("<answer>Ann</answer>", SearchAction(None, "Ann")),
        ("<answer>Ann</answer><evidence>[12], 007; 12</evidence>", SearchAction(None, "Ann", ("12", "7"))),
        ("<evidence>3</evidence> so <answer>Ann</answer>", SearchAction(None, "Ann", ("3",))),
        ("<answer>Ann</answer> no: <search>Ben</search>", SearchAction("Ben")),
        ("<search>Ben</search> and <answer>Ann</answer>", SearchAction(None, "Ann")),
        ("<search>Ben</search> <more/>", SearchAction("")),
        ("<search> </search>", None),
        ("<answer></answer>", None),
        ("Ann", None),
        ("<search>open", None),
        ("```\n<search>Ben</search>\n```", None),
        ("> <search>Ben</search>", None),
        ('I could say "<search>Ben</search>" or `<more/>`', None),
        ("<think><search>Ben</search></think>", None),
        ("> <search>Ben</search>\n<search>Ann</search>", SearchAction("Ann")),
        ("<search>one <search>two</search>", SearchAction("two")),
        ("```\n<answer>Ann</answer>\n```", SearchAction(None, "Ann")),
    ],
)
def test_the_tag_that_ends_last_counts(text: str, action: SearchAction | None) -> None:
    """An empty one is no action, and neither is a search that is quoted or thought."""
    assert SearchActionForm().read(text) == action


@pytest.mark.nightly
@given(st.text(alphabet=st.sampled_from("<>/searchanwevidmo 12\n\ud800")))
def test_any_text_is_survived(text: str) -> None:
    """And earns nothing."""
    env = deep_search()
    for action in (text, f"<search>{text}</search>", f"<answer>{text}</answer><evidence>{text}</evidence>"):
        env.reset(seed=0)
        assert env.step(action)[1] == 0.0


def test_mentions_are_found_by_all_words_of_a_name() -> None:
    """In any order; one name of several is enough, and a word that is nowhere finds nothing."""
    mentions = ArticleMentions([{"contents": "Ann Bell\nAnn met Carl."}, {"contents": "Bell, of 1,200 people."}])
    assert mentions.of(["Bell"]) == {0, 1}
    assert mentions.of(["Bell Ann"]) == {0}
    assert mentions.of(["Carl", "1,200"]) == {0, 1}
    assert mentions.of(["Dora", "Ann Dora"]) == set()


@pytest.mark.parametrize(
    "kwargs",
    [
        {"level": "5hop"},
        {"evidence": "some"},
        {"size": 9999},
        {"topk": 0},
        {"world_seed": -1},
        {"split": "dev"},
        {"names": ""},
    ],
)
def test_impossible_arguments_are_refused(kwargs: dict[str, Any]) -> None:
    """Each has its range."""
    with pytest.raises((ArgumentError, TypeError)):
        deep_search(**kwargs)


@pytest.mark.parametrize("change", [{"_key": -1}, {"_page": -1}, {"_query": 3}])
def test_impossible_states_are_refused(change: dict[str, Any]) -> None:
    """StateError, and the question stays."""
    env = deep_search()
    env.reset(seed=2)
    before, row = env.get_state(), env.row
    damaged = json.loads(json.dumps(before))
    damaged["episode"].update(change)
    with pytest.raises(StateError):
        env.set_state(damaged)
    assert (env.get_state(), env.row) == (before, row)
