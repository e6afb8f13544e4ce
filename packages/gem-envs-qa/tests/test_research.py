"""Research: the tasks, the grades of reports, and what honest and dishonest policies earn."""

from __future__ import annotations

import random
import re
from collections import Counter
from itertools import islice
from statistics import fmean
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import gem
from gem.errors import ArgumentError
from gem_envs_qa.atlas.questions import written_forms
from gem_envs_qa.atlas.schema import RELATIONS
from gem_envs_qa.deep_search.searched_world import searched_world
from gem_envs_qa.deep_search.sentence_reader import SearchReader
from gem_envs_qa.research.checklist import checklist_of
from gem_envs_qa.research.corpus_env import CorpusResearchEnv
from gem_envs_qa.research.env import ResearchEnv
from gem_envs_qa.research.policy import ResearchPolicy
from gem_envs_qa.research.report import CONCLUSION, MOST_CLAIMS, Checklist, ChecklistFact, claims_of
from gem_envs_qa.research.tasks import KINDS, LEVELS, PAIRED, ReportFact, ResearchTask, draw_task
from gem_testing import EnvConformance


@pytest.mark.nightly
class TestConformance(EnvConformance):
    """Every kind and level keeps the contract."""

    environments = "research"


def played(env: ResearchEnv, policy: Any, seed: int) -> tuple[float, int, dict[str, Any]]:
    """Return the reward of an episode, its turns and the last info."""
    observation, info = env.reset(seed=seed)
    policy.reset(observation, info)
    for turn in range(1, env.max_turns + 1):
        observation, reward, terminated, truncated, info = env.step(policy.act(observation, info))
        if terminated or truncated:
            return reward, turn, info
    raise AssertionError("the episode goes on after its last turn")


def task_of(kind: str, level: str = "medium", seed: int = 0) -> ResearchTask:
    return draw_task(searched_world(0, 10_000).world, kind, LEVELS[level], random.Random(seed))


def said(value: Any, relation: str) -> str:
    entity = RELATIONS[relation].leads_on
    thing = searched_world(0, 10_000).world.entities[value] if entity else value
    return written_forms(thing, RELATIONS[relation].object)[0]


def line(fact: ReportFact, cited: Any = None) -> str:
    """Return a fact as a claim, with its article unless others are given."""
    name = searched_world(0, 10_000).world.entities[fact.subject].name
    cited = fact.document if cited is None else cited
    return f"- {name} | {fact.relation} | {said(fact.value, fact.relation)} [{cited}]"


def whole(task: ResearchTask) -> list[str]:
    """Return the claims of a perfect report."""
    lines = [line(fact) for fact in task.must]
    if task.conclusion is not None:
        name = searched_world(0, 10_000).world.entities[task.conclusion.entity].name
        articles = ", ".join(map(str, sorted(task.conclusion.documents)))
        lines.append(f"- {CONCLUSION} | {task.conclusion.word} | {name} [{articles}]")
    return lines


def score(lines: list[str], task: ResearchTask) -> float:
    return checklist_of(task, searched_world(0, 10_000).world).grade("\n".join(lines)).score


@pytest.mark.parametrize("kind", KINDS)
def test_the_reference_policy_writes_a_perfect_report(kind: str) -> None:
    """From observations alone, in fewer turns than there are."""
    env = ResearchEnv(kind=kind)
    reward, turns, info = played(env, ResearchPolicy(), 0)
    assert reward == pytest.approx(1.0)
    assert info["coverage"] == info["precision"] == 1.0
    assert turns < env.max_turns


@pytest.mark.parametrize("seed", [84, 115])
def test_the_reference_policy_looks_further_for_a_name_that_it_has_searched_before(seed: int) -> None:
    """Its search for these names ended early, for another fact; the one wanted stands in none of its first articles."""
    assert played(ResearchEnv(level="easy"), ResearchPolicy(), seed)[0] == pytest.approx(1.0)


def test_the_last_observation_says_how_many_claims_were_read() -> None:
    """A line in another form is none."""
    env = ResearchEnv(level="easy")
    env.reset(seed=0)
    told = env.step("<report>- A | founder | B [1]\nC was founded by D [2].</report>")[0]
    assert told == "Turn 1 of 100. Your report has 1 claim.\nThe report is in."


@pytest.mark.nightly
@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("kind", KINDS)
def test_the_reference_policy_earns_more_than_095_at_every_level(kind: str, level: str) -> None:
    """Over 40 episodes of each kind, in training and test tasks."""
    rewards = [
        played(ResearchEnv(level=level, kind=kind, split=split), ResearchPolicy(), seed)[0]
        for split in ("train", "test")
        for seed in range(20)
    ]
    assert fmean(rewards) > 0.95


def test_a_bounded_agent_earns_less_at_each_level() -> None:
    """With six searches, then a report of what it has; over eight episodes a level."""
    means = [
        fmean(played(ResearchEnv(level=level), ResearchPolicy(6), seed)[0] for seed in range(8)) for level in LEVELS
    ]
    assert means[0] > means[1] + 0.1 > means[2] + 0.15


def without_names(task: ResearchTask) -> object:
    """Return what a task asks for, its entities numbered in the order in which they are named; no opening, no value."""
    order: dict[int, int] = {}
    named = [one.id for one in task.subjects]
    numbers = [order.setdefault(one, len(order)) for one in named]
    rows = tuple(one.path for one in task.statements)
    word = task.conclusion and task.conclusion.word
    return task.kind, task.subjects[0].kind, tuple(numbers), task.aspects, rows, word


@pytest.mark.parametrize("draws", [1_000, pytest.param(20_000, marks=pytest.mark.nightly)])
@pytest.mark.parametrize("level", ["easy", pytest.param("medium", marks=pytest.mark.nightly)])
def test_there_are_a_hundred_thousand_tasks_but_for_names(level: str, draws: int) -> None:
    """Fewer pairs of draws are equal than half as many as 100,000 equally likely tasks would have."""
    world, rng = searched_world(0, 10_000).world, random.Random(draws)
    seen = Counter(without_names(draw_task(world, KINDS[n % len(KINDS)], LEVELS[level], rng)) for n in range(draws))
    assert sum(count * (count - 1) // 2 for count in seen.values()) < draws**2 / 2 / 100_000 / 2


def way(start: int, row: tuple[str, ...]) -> list[tuple[int, str]]:
    """Return the facts on the way along a row of relations, each by its subject and relation."""
    passed = []
    for relation in row:
        passed.append((start, relation))
        start = searched_world(0, 10_000).world.entities[start].facts[relation]
    return passed


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("kind", KINDS)
def test_every_row_asks_for_something_new(kind: str, level: str) -> None:
    """The end of a row is on no other, so that none is the beginning of another; three draws of ``hard`` meet this."""
    for seed in (*range(8), 16, 90, 459):
        task = task_of(kind, level, seed)
        rows = [way(one.id, row) for one in task.subjects for row in task.aspects]
        rows += [way(one.start.id, one.path) for one in task.statements]
        passed = Counter(fact for row in rows for fact in row)
        assert all(passed[row[-1]] == 1 for row in rows), (seed, task.aspects, task.statements)


@pytest.mark.parametrize(("kind", "level", "seed"), [("compare", "hard", 285), ("explain", "medium", 415)])
def test_no_marriage_is_asked_for_from_both_sides(kind: str, level: str, seed: int) -> None:
    """The first draws of these seeds are such tasks; the second claim would say what the first has said."""
    must = {(fact.subject, fact.relation, fact.value) for fact in task_of(kind, level, seed).must}
    assert not any((value, relation, one) in must for one, relation, value in must if relation in PAIRED)


def test_a_task_speaks_of_one_subject_and_of_several() -> None:
    """The head, the rows and the opening agree with their number."""
    for kind, head, rows in (
        ("compare", "Subjects: ", "each"),
        ("trace", "Subject: ", "the"),
        ("explain", "Subject: ", "the"),
    ):
        env = ResearchEnv(level="easy", kind=kind)
        for seed in range(5):
            opening, named, row, *_ = env.reset(seed=seed)[0].partition("\nTask: ")[2].splitlines()
            assert named.startswith(head)
            assert len(named.split("; ")) == len(env.task.subjects)
            assert row.startswith(f"Rows, from {rows} subject: ")
            assert kind != "explain" or f"this {env.task.subjects[0].kind}" in opening


class Copier:
    """Searches for each subject by name once, and reports everything that the articles say, as text or as claims."""

    def __init__(self, as_claims: bool, own_article_only: bool) -> None:
        self.as_claims, self.own_article_only = as_claims, own_article_only

    def reset(self, observation: str, info: Any) -> None:
        task = observation.partition("\nTask: ")[2]
        names = re.findall(r"^Subjects?: (.+)$", task, re.MULTILINE)
        listed = re.findall(r"^\d+\. .+? of (.+?): ", task, re.MULTILINE)
        self.names = names[0].split("; ") if names else listed
        self.left = list(self.names)
        self.articles: dict[str, tuple[str, str]] = {}

    def act(self, observation: str, info: Any) -> str:
        for number, title, text in re.findall(r"^\[(\d+)\] (.+?): (.+)$", observation, re.MULTILINE):
            if not self.own_article_only or title in self.names:
                self.articles[number] = title, text
        if self.left:
            return f"<search>{self.left.pop(0)}</search>"
        if not self.as_claims:
            return f"<report>{' '.join(f'{text} [{number}]' for number, (_, text) in self.articles.items())}</report>"
        claims = []
        for number, (title, text) in self.articles.items():
            reader = SearchReader()
            reader.read(title, text)
            claims += [f"- {one} | {relation} | {value} [{number}]" for (relation, one), value in reader.facts.items()]
        return "<report>" + "\n".join(claims) + "</report>"


@pytest.mark.parametrize("kind", KINDS)
def test_a_report_of_copied_articles_earns_little(kind: str) -> None:
    """Over five episodes, of the first results or of the subjects' own articles: at most 0.1; as prose nothing."""
    env = ResearchEnv(level="easy", kind=kind)
    for own_article_only in (False, True):
        rewards = [played(env, Copier(True, own_article_only), seed)[0] for seed in range(5)]
        assert fmean(rewards) <= 0.1
    assert played(env, Copier(False, True), 0)[0] == 0.0


@pytest.mark.parametrize("kind", KINDS)
def test_reports_of_nothing_of_everything_and_of_other_truths_earn_little(kind: str) -> None:
    """Each claim of them is true and cites the article that states it."""
    world, task = searched_world(0, 10_000).world, task_of(kind)
    assert score([], task) == 0.0
    assert score(["Nothing is known of this, and I say so at length."], task) == 0.0
    everything = [
        line(ReportFact(entity.id, relation, value, entity.homes.get(relation, entity.id)))
        for entity in islice(world.entities, 4000, 4400)
        for relation, value in entity.facts.items()
    ]
    assert score(everything, task) == 0.0
    assert score([*everything, *whole(task)], task) <= 0.1
    assert score([*whole(task), *everything], task) <= 0.1
    about_them = [
        line(ReportFact(number, relation, value, world.entities[number].homes.get(relation, number)))
        for number in task.met
        for relation, value in world.entities[number].facts.items()
    ]
    asked = set(whole(task))
    assert score([one for one in about_them if one not in asked], task) <= 0.1


@pytest.mark.parametrize("kind", KINDS)
@settings(max_examples=10)
@given(seed=st.integers(0, 10**6), data=st.data())
def test_each_fault_of_a_report_costs(kind: str, seed: int, data: st.DataObject) -> None:
    """A claim left out, a wrong article, no article, three articles, a wrong object, a repetition, something else."""
    task = task_of(kind, "easy", seed)
    lines = whole(task)
    assert score(lines, task) == pytest.approx(1.0)
    assert score(data.draw(st.permutations(lines)), task) == pytest.approx(1.0)
    at = data.draw(st.integers(0, len(task.must) - 1))
    fact = task.must[at]
    other, another = [number for number in range(3) if number != fact.document][:2]
    wrong = data.draw(
        st.sampled_from([one for one in task.must if one.relation != fact.relation] or [task.must[at - 1]])
    )
    changes = {
        "left out": lines[:at] + lines[at + 1 :],
        "wrong article": [*lines[:at], line(fact, other), *lines[at + 1 :]],
        "no article": [*lines[:at], line(fact, ""), *lines[at + 1 :]],
        "three articles": [*lines[:at], line(fact, f"{fact.document}, {other}, {another}"), *lines[at + 1 :]],
        "twice": [*lines, lines[at]],
        "nonsense": [*lines, "- Nobody | founder | Nothing [3]"],
    }
    for name, changed in changes.items():
        assert score(changed, task) < 1.0, name
    false = lines[at].replace(f"| {said(fact.value, fact.relation)} [", f"| not {said(wrong.value, wrong.relation)} [")
    assert score([*lines, false], task) < 0.5
    assert score([*lines[:at], false, *lines[at + 1 :]], task) < 0.5


def task_with(wanted: Any) -> tuple[ResearchTask, ReportFact]:
    """Return a task with a fact of the checklist that fits."""
    tasks = (task_of("dispute", "hard", seed) for seed in range(1000))
    return next((task, fact) for task in tasks for fact in task.must if wanted(fact))


def test_a_marriage_may_be_told_from_either_side_but_once() -> None:
    """So may an entity be called by its second name; either way a repetition is noise."""
    entities = searched_world(0, 10_000).world.entities
    task, fact = task_with(lambda fact: fact.relation == "spouse")
    rest = [line(one) for one in task.must if one is not fact]
    turned = line(fact._replace(subject=fact.value, value=fact.subject))
    assert score([*rest, turned], task) == pytest.approx(1.0)
    assert score([*rest, turned, line(fact)], task) < 1.0
    task, fact = task_with(lambda fact: entities[fact.subject].alias is not None)
    rest = [line(one) for one in task.must if one is not fact]
    entity = entities[fact.subject]
    renamed = line(fact).replace(f"- {entity.name} |", f"- {entity.alias} |")
    assert score([*rest, renamed], task) == pytest.approx(1.0)
    assert score([*rest, renamed, line(fact)], task) < 1.0


def test_a_wrong_conclusion_contradicts() -> None:
    """So does one that cites too little not count."""
    task = task_of("compare")
    *facts, conclusion = whole(task)
    assert task.conclusion is not None
    other = next(one for one in task.subjects if one.id != task.conclusion.entity)
    name = searched_world(0, 10_000).world.entities[task.conclusion.entity].name
    assert score([*facts, conclusion.replace(f"| {name} [", f"| {other.name} [")], task) < 0.5
    assert score([*facts, conclusion.partition("[")[0] + f"[{min(task.conclusion.documents)}]"], task) < 1.0


@pytest.mark.parametrize("seed", range(3))
def test_repeating_the_statements_of_a_dispute_earns_nothing(seed: int) -> None:
    """A report that believes the book contradicts the articles, whatever it cites."""
    task = task_of("dispute", "medium", seed)
    assert sum(one.true for one in task.statements) == len(task.statements) // 2
    believed = []
    for fact in task.must:
        lie = next((one for one in task.statements if not one.true and one.path[-1] == fact.relation), None)
        believed.append(line(fact if lie is None else fact._replace(value=lie.said)))
    assert score(believed, task) <= 0.1


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("- A | founder | B [1]", 1),
        ("* A|founder|B [1, 2].", 1),
        ("A | Founder | B [ 1 ]", 1),
        ("- A | founder | B", 0),
        ("- A | founder [1]", 0),
        ("- A | b | c | d [1]", 0),
        ("- | | [1]", 0),
        ("The founder of A was B [1].", 0),
        ("- A | founder | B [one]", 1),
        ("- A | founder | B [" + "9" * 500 + "]", 1),
        ("x" * 2000 + "| founder | B [1]", 0),
    ],
)
def test_claims_are_lines_of_the_declared_form(text: str, found: int) -> None:
    """Nothing else is read."""
    assert len(claims_of(text)) == found


@settings(max_examples=50)
@given(st.text(alphabet="-|[]ab1, \n\ud800\u2192", max_size=300))
def test_any_text_is_graded(text: str) -> None:
    """Without an exception, between 0 and 1."""
    assert 0.0 <= score([text], task_of("compare")) <= 1.0


@pytest.mark.parametrize("kind", ["trace", "explain", "compare"])
def test_the_instructions_say_what_costs(kind: str) -> None:
    """Missing facts, unsupported claims, repetitions and other things cost points, and a false claim costs most."""
    task = task_of(kind)
    told = ResearchEnv(level="easy", kind=kind).reset(seed=0)[0]
    assert "State every fact that is asked for, once." in told
    assert (
        "repeats a claim, is about other things, or comes after 150 claims costs as much as what has no support" in told
    )
    facts = whole(task)
    first = task.must[0]
    losses = [
        facts[1:],
        [line(first, 3 if first.document != 3 else 4), *facts[1:]],
        [facts[0], *facts],
        ["- Nobody | founder | Nothing [3]", *facts],
    ]
    worth = [score(lines, task) for lines in losses]
    false = score([facts[0].partition(" [")[0] + f" Stranger [{first.document}]", *facts[1:]], task)
    assert all(false < one < 1.0 for one in worth), (false, worth)
    assert worth[2] == worth[3] == score(["- Nobody | founder | Nothing []", *facts], task)


def test_the_instructions_say_what_a_gap_costs() -> None:
    """With figures, which are those of the grade; and a quarter as many further facts are free, with their articles."""
    told = ResearchEnv(level="easy").reset(seed=0)[0]
    ten = [ChecklistFact((f"A{n}",), "founder", (f"B{n}",), frozenset({str(n)}), n) for n in range(10)]
    free = [ChecklistFact((f"A{n}",), "seat", (f"C{n}",), frozenset({str(n)})) for n in range(3)]
    claims = [f"- A{n} | founder | B{n} [{n}]" for n in range(10)]
    more = [f"- A{n} | seat | C{n} [{n}]" for n in range(3)]

    def worth(*lines: str) -> float:
        return Checklist([*ten, *free]).grade("\n".join(lines)).score

    gap, unsupported = worth(*claims[1:]), worth(*claims, "- A0 | seat | C0 [5]")
    false = worth(*claims, "- A0 | founder | B1 [0]")
    assert (
        f"nine earn {gap:.2f}, all ten and an unsupported claim {unsupported:.2f}, all ten and a false one {false:.2f}."
        in told
    )
    assert "more true facts about the same things, with support, cost nothing up to a quarter" in told
    assert worth(*claims, *more[:2]) == 1.0
    assert worth(*claims, *more) == pytest.approx(unsupported)


@pytest.mark.parametrize("kind", KINDS)
def test_a_further_true_fact_needs_its_article(kind: str) -> None:
    """With it the fact is free; with another it costs as much as what is about nothing of the task."""
    world, task = searched_world(0, 10_000).world, task_of(kind)
    asked = {(fact.subject, fact.relation) for fact in task.must}
    asked |= {(fact.value, fact.relation) for fact in task.must if fact.relation in PAIRED}
    number, relation = next(
        (one, name) for one in task.met for name in world.entities[one].facts if (one, name) not in asked
    )
    entity = world.entities[number]
    fact = ReportFact(number, relation, entity.facts[relation], entity.homes.get(relation, number))
    assert score([*whole(task), line(fact)], task) == pytest.approx(1.0)
    wrong = line(fact, 3 if fact.document != 3 else 4)
    assert score([*whole(task), wrong], task) == score([*whole(task), "- Nobody | founder | Nothing [3]"], task) < 1.0


def test_more_claims_than_allowed_are_noise() -> None:
    """A perfect report behind as many other claims as count earns nothing."""
    task = task_of("trace")
    noise = [f"- Nobody {number} | founder | Nothing [3]" for number in range(MOST_CLAIMS)]
    assert score([*noise, *whole(task)], task) == 0.0


def test_names_are_those_of_the_episode() -> None:
    """A report in the world's own names earns next to nothing in an episode that has others."""
    env = ResearchEnv(level="easy", kind="compare")
    env.reset(seed=3)
    assert env.step(f"<report>{chr(10).join(whole(env.task))}</report>")[1] < 0.05
    env = ResearchEnv(level="easy", kind="compare", names="world")
    env.reset(seed=3)
    assert env.step(f"<report>{chr(10).join(whole(env.task))}</report>")[1] == pytest.approx(1.0)


def test_an_episode_goes_on_from_its_state() -> None:
    """The task follows from the state, and the search goes on where it was."""
    env, twin = ResearchEnv(level="easy"), ResearchEnv(level="easy")
    env.reset(seed=5)
    env.step("<search>mentor</search>")
    twin.set_state(env.get_state())
    assert twin.step("<more/>") == env.step("<more/>")
    assert twin.task == env.task


def test_no_task_is_in_both_splits() -> None:
    """Drawn tasks belong to the split that was asked for."""
    for split in ("train", "test"):
        env = ResearchEnv(level="easy", split=split)
        for seed in range(5):
            env.reset(seed=seed)
            assert env.task.split == split


def test_impossible_arguments_are_refused() -> None:
    """Each has its choices or its range."""
    for kwargs in ({"level": "huge"}, {"kind": "guess"}, {"size": 9}, {"topk": 0}, {"max_turns": 0}):
        with pytest.raises(ArgumentError):
            gem.make("research:World-v0", **kwargs)


CORPUS = [
    {"id": "a17", "title": "Elder Yard", "contents": '"Elder Yard"\nThe Elder Yard was founded by Ada Holm.'},
    {"id": "b2", "title": "Ada Holm", "contents": '"Ada Holm"\nAda Holm was born in Sund.'},
    {"id": "7", "title": "New Yard", "contents": '"New Yard"\nThe New Yard belongs to Tom Holm.'},
]
TASK = {
    "question": "How did the Elder Yard come about?",
    "relations": {"founder": "who founded a yard", "birthplace": "where a person was born"},
    "facts": [
        {"subject": ["Elder Yard", "the Elder"], "relation": "Founder", "object": "Ada Holm", "documents": ["a17"]},
        {"subject": "Ada Holm", "relation": "birthplace", "object": ["Sund", "Sund Town"], "documents": ["b2", "c3"]},
    ],
    "free": [{"subject": "New Yard", "relation": "founder", "object": "Tom Holm"}],
}


@pytest.mark.parametrize(
    ("claims", "score"),
    [
        (["- the Elder | founder | Ada Holm [a17]", "- Ada Holm | birthplace | Sund Town [b2]"], 1.0),
        (["- Elder Yard | founder | Ada Holm [a17]"], 0.125),
        (["- Elder Yard | founder | Ada Holm [7]", "- Ada Holm | birthplace | Sund [b2]"], 0.125 * 0.25),
        (["- Elder Yard | founder | Tom Holm [a17]", "- Ada Holm | birthplace | Sund [b2]"], 0.125 * 0.25 * 0.5),
    ],
)
def test_a_corpus_of_the_user_is_searched_and_reported_on(claims: list[str], score: float) -> None:
    """Tasks and their checklists are rows; ids of documents may be any text."""
    env = CorpusResearchEnv(CORPUS, [TASK])
    observation, _ = env.reset(seed=0)
    assert "How did the Elder Yard come about?" in observation
    assert "[a17] Elder Yard: " in env.step("<search>elder founded</search>")[0]
    twin = CorpusResearchEnv(CORPUS, [TASK])
    twin.set_state(env.get_state())
    report = "<report>" + "\n".join(claims) + "</report>"
    result = env.step(report)
    assert result == twin.step(report)
    assert result[1] == pytest.approx(score)
    assert result[2]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"question": ""}, "row 0 of tasks needs question"),
        ({"facts": []}, "row 0 of tasks needs question"),
        ({"relations": {"founder": "x"}}, r"facts\[1\]: relations has no 'birthplace'"),
        ({"facts": [{"subject": "A", "relation": "founder", "object": "B"}]}, r"facts\[0\] needs .*documents"),
        ({"free": ["A"]}, r"free\[0\] needs subject"),
    ],
)
def test_a_row_that_is_no_task_is_refused(change: dict[str, Any], message: str) -> None:
    """With the row, and what it lacks."""
    with pytest.raises(ArgumentError, match=message):
        CorpusResearchEnv(CORPUS, [{**TASK, **change}]).reset(seed=0)
