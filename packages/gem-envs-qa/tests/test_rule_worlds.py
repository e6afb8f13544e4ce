"""RuleWorlds: right labels, by a solver that reads the text; and nothing but reasoning tells them."""

from __future__ import annotations

import math
import random
import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gem.errors import GemError
from gem_envs_qa import RuleWorldsEnv
from gem_envs_qa.rule_worlds.generator import make_world
from gem_envs_qa.rule_worlds.theory import ANYONE, Atom, Literal, Model, Rule

pytestmark = pytest.mark.xdist_group("rule worlds")  # two thousand items are made once

Row = Mapping[str, Any]

# A clause: (subject or None for anyone, what is said of it, whether it is said to hold).
Clause = tuple[str | None, str, bool]
ANYBODY = ("someone", "something", "they", "it")
CLAUSE = re.compile(
    r"(?P<subject>someone|something|they|it|the \w+|[A-Z]\w+) "
    r"(?:(?:is|are) (?P<isnt>not )?(?P<attribute>\w+)|do(?:es)? not (?P<nots>\w+) (?P<whom>.+)|"
    r"(?P<does>\w+) (?P<who>.+))"
)


def clause(text: str) -> Clause:
    found = CLAUSE.fullmatch(text)
    assert found is not None, text
    subject = None if found["subject"] in ANYBODY else found["subject"]
    if found["attribute"] is not None:
        return subject, found["attribute"], found["isnt"] is None
    if found["nots"] is not None:
        return subject, f"{found['nots']} {found['whom']}", False
    return subject, f"{found['does'] if found['subject'] == 'they' else found['does'][:-1]} {found['who']}", True


class Theory:
    """What a text says, read without knowing how it was made, and what follows, by backward chaining."""

    def __init__(self, text: str) -> None:
        self.facts: set[tuple[str, str]] = set()
        self.rules: list[tuple[list[Clause], Clause]] = []
        for sentence in text.rstrip(".").split(". "):
            self._read(sentence[0].lower() + sentence[1:] if sentence.startswith(("The ", "If ", "All ")) else sentence)
        self._depths: dict[tuple[str, str], tuple[bool, int]] = {}

    def _read(self, sentence: str) -> None:
        conditional = re.fullmatch(r"if (.+) then (.+)", sentence)
        kinds = re.fullmatch(r"(?:all )?(.+) (?:people|things) are (\w+)", sentence, re.IGNORECASE)
        if conditional is not None:
            conditions = [clause(part) for part in conditional[1].split(" and ")]
            self.rules.append((conditions, clause(conditional[2])))
        elif kinds is not None:
            conditions = [(None, kind, True) for kind in kinds[1].lower().split(", ")]
            self.rules.append((conditions, (None, kinds[2], True)))
        else:
            subject, said, holds = clause(sentence)
            assert subject is not None
            assert holds
            self.facts.add((subject, said))

    def proved(self, subject: str, said: str) -> tuple[bool, int]:
        """Whether something holds, and how many rules deep one must look to know it."""
        goal = (subject, said)
        if goal not in self._depths:
            self._depths[goal] = self._prove(subject, said)
        return self._depths[goal]

    def _prove(self, subject: str, said: str) -> tuple[bool, int]:
        if (subject, said) in self.facts:
            return True, 0
        proofs, failures = [], []
        for conditions, (whom, what, _) in self.rules:
            if what != said or whom not in (None, subject):
                continue
            looked = [(self.proved(who or subject, which), holds) for who, which, holds in conditions]
            failing = [depth for (truth, depth), holds in looked if truth != holds]
            if failing:
                failures.append(min(failing))
            else:
                proofs.append(max(depth for (_, depth), _ in looked))
        if proofs:
            return True, 1 + min(proofs)
        return False, 1 + max(failures) if failures else 0


def solved(row: Row) -> tuple[str, int]:
    """The answer of the reader, and the depth that it needed."""
    statement = row["statement"].rstrip(".")
    subject, said, holds = clause(statement[0].lower() + statement[1:] if statement.startswith("The ") else statement)
    assert subject is not None
    truth, depth = Theory(row["theory"]).proved(subject, said)
    return str(truth is holds), depth


@pytest.fixture(scope="module")
def rows(pytestconfig: pytest.Config) -> list[Row]:
    """The first items of the set: ten thousand at night."""
    env = RuleWorldsEnv(statements=1)
    count = {"quick": 1000, "main": 1000, "all": 10_000}[pytestconfig.getoption("--tier")]
    return [env.rows[index] for index in range(count)]


def test_labels_are_right(rows: list[Row]) -> None:
    """Backward chaining over the text alone comes to every label, at the depth that the row says."""
    for row in rows:
        assert solved(row) == (row["answer"], row["depth"]), row


def test_no_item_comes_twice(rows: list[Row]) -> None:
    """Ids and texts are unique."""
    assert len({row["id"] for row in rows}) == len(rows)
    assert len({row["theory"] + row["statement"] for row in rows}) == len(rows)


def test_no_world_can_be_in_both_splits() -> None:
    """From the same numbers drawn, each split takes another world, and one of them the first that comes."""
    train, test = RuleWorldsEnv(depth=2, statements=1), RuleWorldsEnv(depth=2, statements=1, split="test")
    for seed in range(300):
        for_train = train._make_row(random.Random(seed), 0)["theory"]
        for_test = test._make_row(random.Random(seed), 0)["theory"]
        first = " ".join(make_world(random.Random(seed), 2, lambda digest: True).sentences)
        assert (for_train == first) != (for_test == first)


@pytest.mark.parametrize("depth", range(6))
def test_labels_are_balanced_at_every_depth(depth: int, rows: list[Row]) -> None:
    """True is as frequent as False, within four standard errors; so it is among negated statements, and others."""
    at_depth = [row for row in rows if row["depth"] == depth]
    for some in (at_depth, [row for row in at_depth if " not " in row["statement"]]):
        share = sum(row["answer"] == "True" for row in some) / len(some)
        assert abs(share - 0.5) < 4 * math.sqrt(0.25 / len(some))


def counts_of(row: Row) -> dict[str, float]:
    """What can be counted without reading."""
    text, statement = row["theory"], row["statement"]
    sentences = text.split(". ")
    subject, said = statement.rsplit(" ", 1)
    subject = re.match(r"The \w+|\w+", statement)[0]  # type: ignore[index]
    word = said.rstrip(".")
    facts = [one for one in sentences if not one.startswith(("If ", "All ")) and " are " not in one]
    return {
        "negated": " not " in statement,
        "sentences": len(sentences),
        "facts": len(facts),
        "rules": len(sentences) - len(facts),
        "negations": text.count(" not "),
        "characters": len(text),
        "about the subject": sum(one.startswith(subject) for one in sentences),
        "the last word": text.count(word),
        "the last word in facts": sum(word in one for one in facts),
        "last word concluded": sum(one.rstrip(".").endswith(word) for one in sentences if one not in facts),
        "first sentence is a rule": sentences[0] not in facts,
        "negation balance": (" not " in statement) ^ (text.count(" not ") % 2),
        "relation": " not " not in statement and " is " not in statement,
        "length of the statement": len(statement),
    }


def best_threshold(train: Sequence[tuple[float, bool]], test: Sequence[tuple[float, bool]]) -> float:
    """Accuracy on ``test`` of the threshold, and its direction, that does best on ``train``."""

    def accuracy(pairs: Iterable[tuple[float, bool]], bound: float, above: bool) -> float:
        right = [((value > bound) is above) is label for value, label in pairs]
        return sum(right) / len(right)

    values = sorted({value for value, _ in train})
    bounds = values if len(values) < 40 else values[:: len(values) // 40]
    bound, above = max(((b, a) for b in bounds for a in (True, False)), key=lambda choice: accuracy(train, *choice))
    return accuracy(test, bound, above)


def naive_bayes(train: Sequence[Row], test: Sequence[Row], words_of: Callable[[Row], Iterable[str]]) -> float:
    """Accuracy of the words of an item, each for itself."""
    counts = {label: Counter[str]() for label in ("True", "False")}
    for row in train:
        counts[row["answer"]].update(set(words_of(row)))

    def score(row: Row) -> float:
        return sum(math.log((counts["True"][word] + 1) / (counts["False"][word] + 1)) for word in set(words_of(row)))

    return sum((score(row) > 0) == (row["answer"] == "True") for row in test) / len(test)


def margin(count: int) -> float:
    """How far from a half the share of heads is, of so many coins, once in a million times: five standard errors."""
    return 5 * math.sqrt(0.25 / count)


@pytest.fixture(scope="module")
def counted(rows: list[Row]) -> list[tuple[dict[str, float], bool]]:
    return [(counts_of(row), row["answer"] == "True") for row in rows]


@pytest.mark.parametrize("feature", sorted(counts_of(RuleWorldsEnv(statements=1).rows[0])))
def test_no_count_predicts_the_label(feature: str, counted: list[tuple[dict[str, float], bool]]) -> None:
    """The best threshold on anything that can be counted is right no more often than a coin.

    So it is among negated statements, and among the others: together they could hide what tells of each.
    """
    for negated in (None, False, True):
        pairs = [(counts[feature], label) for counts, label in counted if negated in (None, counts["negated"])]
        half = len(pairs) // 2
        assert abs(best_threshold(pairs[:half], pairs[half:]) - 0.5) < margin(half)


@pytest.mark.parametrize("negated", [False, True])
def test_no_words_predict_the_label(negated: bool, rows: list[Row]) -> None:
    """Naive Bayes over the words, with or without a mark for a negated statement, is no better than a coin."""

    def words_of(row: Row) -> Iterable[str]:
        mark = "not " * (negated and " not " in row["statement"])
        words = re.findall(r"\w+", row["theory"]) + [f"asked:{word}" for word in row["statement"].split()]
        return (mark + word for word in words)

    half = len(rows) // 2
    assert abs(naive_bayes(rows[:half], rows[half:], words_of) - 0.5) < margin(half)


def test_the_check_for_shortcuts_finds_one(rows: list[Row]) -> None:
    """At depth 0 the statement is there or not, which is no shortcut but the task; the same check sees it."""
    at_once = [row for row in rows if row["depth"] == 0]
    pairs = [
        (
            float((row["statement"].replace(" not ", " ") in row["theory"]) ^ (" not " in row["statement"])),
            row["answer"] == "True",
        )
        for row in at_once
        if "does not" not in row["statement"]
    ]
    half = len(pairs) // 2
    assert best_threshold(pairs[:half], pairs[half:]) > 0.9


@pytest.mark.parametrize("depth", range(6))
def test_answers_are_graded(depth: int) -> None:
    """The right word in a box earns 1.0, also set upright; the wrong one, both, none, or a sentence earn nothing."""
    env = RuleWorldsEnv(depth=depth, statements=1)
    for index in range(8):
        env.reset(options={"index": index})
        right = env.row["answer"]
        wrong = "False" if right == "True" else "True"
        for action, reward in [
            (f"\\boxed{{{right}}}", 1.0),
            (f"Perhaps \\boxed{{{wrong}}}, no: \\boxed{{\\text{{{right.lower()}}}}}", 1.0),
            (f"\\boxed{{{wrong}}}", 0.0),
            (f"\\boxed{{{right} or {wrong}}}", 0.0),
            ("\\boxed{}", 0.0),
            (right, 0.0),
            ("", 0.0),
            (None, 0.0),
        ]:
            env.reset(options={"index": index})
            _, earned, terminated, _, info = env.step(action)  # type: ignore[arg-type]
            assert (earned, terminated, info["correct"], info["depth"]) == (reward, True, reward == 1.0, depth)


@pytest.fixture(scope="module")
def pairs(pytestconfig: pytest.Config) -> list[Row]:
    """The first items with two statements."""
    env = RuleWorldsEnv()
    return [
        env.rows[index] for index in range({"quick": 250, "main": 250, "all": 4000}[pytestconfig.getoption("--tier")])
    ]


def test_both_labels_are_right(pairs: list[Row]) -> None:
    """Backward chaining over the whole text comes to both labels at the depth of the row: neither world disturbs."""
    for row in pairs:
        found = [solved({**row, "statement": line.partition(". ")[2]}) for line in row["statement"].split("\n")]
        assert [depth for _, depth in found] == [row["depth"]] * 2, row
        assert ", ".join(label for label, _ in found) == row["answer"], row


def test_no_pair_of_labels_is_frequent(pairs: list[Row]) -> None:
    """Each of the four comes up a quarter of the time, so that no constant is right four times in ten."""
    counts = Counter(row["answer"] for row in pairs)
    assert len(counts) == 4
    assert max(counts.values()) / len(pairs) < 0.25 + 5 * math.sqrt(0.1875 / len(pairs)) < 0.4


def test_answers_to_both_are_graded() -> None:
    """Both words in their order, however they are set apart; one of them, or both the other way round, earn nothing."""
    env = RuleWorldsEnv(size=200)
    for index in range(12):
        env.reset(options={"index": index})
        first, second = env.row["answer"].split(", ")
        other = "False" if second == "True" else "True"
        for answer, reward in [
            (f"{first}, {second}", 1.0),
            (f"{first},{second}", 1.0),
            (f"{first.lower()} {second.lower()}", 1.0),
            (f"1. {first}, 2. {second}", 1.0),
            (f"\\text{{{first}, {second}}}", 1.0),
            (f"{first}, {other}", 0.0),
            (f"{second}, {first}", float(first == second)),
            (first, 0.0),
            (f"{first}, {second}, {second}", 0.0),
            ("True, False, True, True", 0.0),
        ]:
            env.reset(options={"index": index})
            assert env.step(f"So \\boxed{{{answer}}}.")[1] == reward, answer


def test_row_is_the_same_whatever_was_asked_before() -> None:
    """A row is a function of depth, split and index alone."""
    one, other = RuleWorldsEnv(depth=3, size=10), RuleWorldsEnv(depth=3, size=10**9)
    assert [one.rows[index] for index in (7, 2)] == [other.rows[index] for index in (2, 7)][::-1]
    assert other.rows[10**9 - 1]["depth"] == 3


@pytest.mark.parametrize("name", ["depth", "split", "size", "seed", "shuffle", "statements"])
@pytest.mark.parametrize("value", [-1, 6.0, None, "", "dev", b"x", 10**20, True])
def test_hostile_arguments_work_or_raise_gem_errors(name: str, value: Any) -> None:
    """Whatever is passed, nothing but a GEM error is raised."""
    try:
        RuleWorldsEnv(**{name: value}).reset(seed=0)  # type: ignore[arg-type]
    except GemError:
        return
    assert name in ("seed", "shuffle")


atoms = st.builds(Atom, st.sampled_from("abcdef"), st.sampled_from("XY"), st.none())


@settings(max_examples=200)
@given(
    facts=st.lists(atoms, max_size=4),
    rules=st.lists(st.tuples(st.lists(st.tuples(atoms, st.booleans()), min_size=1, max_size=3), atoms), max_size=6),
)
def test_model_agrees_with_backward_chaining(facts: list[Atom], rules: list[Any]) -> None:
    """Forward over the order of predicates or backward from the goal: the same truth, at the same depth."""
    ranks = {predicate: rank for rank, predicate in enumerate("abcdef")}
    program = [
        Rule(tuple(Literal(atom, holds) for atom, holds in body), head._replace(subject=ANYONE))
        for body, head in rules
        if all(ranks[atom.predicate] < ranks[head.predicate] for atom, _ in body)
    ]
    model = Model(facts, program, ranks, ["X", "Y"])
    theory = Theory("Anna is wise.")
    theory.facts = {(atom.subject, atom.predicate) for atom in facts}
    theory.rules = [
        ([(one.subject, one.predicate, holds) for one, holds in rule.body], (None, rule.head.predicate, True))
        for rule in program
    ]
    for predicate in ranks:
        for subject in "XY":
            atom = Atom(predicate, subject)
            assert (atom in model, model.depth(atom)) == theory.proved(subject, predicate)
