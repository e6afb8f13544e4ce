"""Whether Atlas can be answered from its articles: by one that reads all of them, and by one that searches."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping
from typing import Any

import pytest

import gem
from gem.policies import Policy
from gem_envs_qa import AtlasEnv
from gem_envs_qa.deep_search.reader import LINK_WORDS, AtlasReader, Wish, answer_to
from gem_envs_qa.grading import exact_match
from gem_questions import QuestionEnv


def worked_out(question: str, reader: AtlasReader) -> str:
    reasoning = answer_to(question)
    told = None
    while True:
        try:
            wish = reasoning.send(told)
        except StopIteration as done:
            return str(done.value)
        told = reader.know(wish)
        assert told is not None, (question, wish)


def reader_of(env: AtlasEnv) -> AtlasReader:
    reader = AtlasReader()
    for document in env.search_corpus():
        heading, _, text = document["contents"].partition("\n")
        reader.read(heading.strip('"'), text)
    return reader


class SearchingPolicy(Policy[str, str]):
    """Searches for what it does not know, reads what comes, and answers when it has worked it out."""

    DOCUMENT = re.compile(r'Doc \d+\(Title: "(.+?)"\) (.+)')

    def reset(self, observation: str, info: Any) -> None:
        question = re.search(r"Question: (.+)", observation)
        assert question is not None
        self.reader = AtlasReader()
        self.reasoning = answer_to(question[1])
        self.queries: list[str] = []
        self.wish = self._next(None)

    def act(self, observation: str, info: Any) -> str:
        for title, text in self.DOCUMENT.findall(observation):
            self.reader.read(title, text)
        while self.wish is not None:
            told = self.reader.know(self.wish)
            if told is not None:
                self.wish = self._next(told)
                continue
            query = next((query for query in self._ideas(self.wish) if query not in self.queries), None)
            if query is None:
                return "<answer>unknown</answer>"
            self.queries.append(query)
            return f"<search>{query}</search>"
        return f"<answer>{self.answer}</answer>"

    def _next(self, told: Any) -> Wish | None:
        try:
            return self.reasoning.send(told)
        except StopIteration as done:
            self.answer = self.reader.canonical(done.value) or done.value
            return None

    def _ideas(self, wish: Wish) -> list[str]:
        names = self.reader.called(wish[-1])
        words = LINK_WORDS.get(wish[1], wish[1]) if wish[0] == "fact" else "complete list"
        return [
            *names,
            *(f"{name} {words}" for name in names),
            *(f"{name} {word}" for name in names for word in words.split()),
        ]


def rows(env: QuestionEnv, limit: int | None = None) -> list[Mapping[str, Any]]:
    return [env.rows[index] for index in range(min(len(env.rows), limit or len(env.rows)))]


@pytest.mark.parametrize(
    ("world_seed", "size"),
    [(1, 200), *(pytest.param(*world, marks=pytest.mark.nightly) for world in ((0, 600), (2, 2500)))],
)
def test_every_answer_follows_from_the_text_of_the_articles(world_seed: int, size: int) -> None:
    """A solver that reads nothing but articles and questions comes to the same answer, for all questions of a world."""
    env = AtlasEnv(world_seed=world_seed, size=size)
    reader = reader_of(env)
    asked = [
        row for split in ("train", "test") for row in rows(AtlasEnv(world_seed=world_seed, size=size, split=split))
    ]
    assert len(asked) > (15_000 if size > 500 else 1500)
    for row in asked:
        answer = worked_out(row["question"], reader)
        assert exact_match(reader.canonical(answer) or answer, row["answer"][:1]), (row, answer)


def test_no_article_says_two_things_that_contradict_each_other() -> None:
    """Every fact is stated once, so that no question has two answers; nothing that is stated goes unread."""
    env = AtlasEnv()
    reader = reader_of(env)
    stated = Counter()
    for document in env.search_corpus():
        single = AtlasReader()
        single.read(document["title"], document["contents"].partition("\n")[2])
        stated.update((relation, reader.canonical(entity) or entity) for relation, entity in single.facts)
    assert max(stated.values()) == 1
    facts = sum(len(entity.facts) for entity in env._atlas.world.entities)  # each membership in a list is one as well
    doubled = sum(name in ("spouse", "twin") for entity in env._atlas.world.entities for name in entity.facts)
    listed = sum(len(members) for members in reader.lists.values())
    assert len(stated) + listed + doubled // 2 == facts
    assert len({*reader.unread}) < 600
    assert not [sentence for sentence in reader.unread if re.search(r"\d", sentence)]


@pytest.mark.parametrize("kind", ["2hop", "3hop", "4hop", "comparison"])
def test_no_article_alone_answers_a_question_of_several_facts(kind: str) -> None:
    """The facts stand in as many articles as there are; without any one of them, the answer cannot be worked out."""
    env = AtlasEnv(questions=kind)
    texts = {document["id"]: document for document in env.search_corpus()}
    for row in rows(env, 200):
        assert len(row["documents"]) == row["hops"]
        needed = [texts[number] for number in row["documents"]]
        for missing in needed:
            reader = AtlasReader()
            for document in needed:
                if document is not missing:
                    reader.read(document["title"], document["contents"].partition("\n")[2])
            with pytest.raises(AssertionError):
                worked_out(row["question"], reader)


def test_an_agent_that_searches_finds_the_answers_and_one_that_guesses_does_not() -> None:
    """Through the search tool, from observations alone, nearly all questions are answered; by guessing, hardly any."""
    tools = pytest.importorskip("gem_tools.wrappers")
    env = tools.search_tool_no_int_reward(gem.make("qa:Atlas-v0"), max_tool_uses=40, topk=5)
    policy = SearchingPolicy()
    solved: Counter[str] = Counter()
    played: Counter[str] = Counter()
    observation, info = env.reset(seed=5)
    for _ in range(300):
        policy.reset(observation, info)
        ended = False
        while not ended:
            observation, reward, terminated, truncated, info = env.step(policy.act(observation, info))
            ended = terminated or truncated
        played[info["kind"]] += 1
        solved[info["kind"]] += int(reward)
        observation, info = env.reset()
    assert {kind: solved[kind] / count for kind, count in played.items() if solved[kind] < 0.85 * count} == {}
