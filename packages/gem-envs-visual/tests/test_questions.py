"""Tasks of one answer: what is right, what the picture says, and what the text does not say."""

from __future__ import annotations

import json
import random
import re
from collections import Counter, defaultdict
from collections.abc import Callable
from fractions import Fraction
from itertools import count, permutations
from typing import Any, cast

import pytest

import gem
from gem_envs_visual.circuits import Circuit, Parallel, Part, Resistor, Series, Switch
from gem_envs_visual.env import SPLITS, AnswerEnv, split_of
from gem_envs_visual.jigsaw import Jigsaw
from gem_envs_visual.odd_one_out import FigureField, any_turn, mirrored
from gem_envs_visual.routes import RouteMap

QUESTIONS = ("Charts", "Tables", "Gauges", "Jigsaw", "OddOneOut", "Routes", "Circuits")
LEVELS = ("-easy", "", "-hard")


def env_of(task: str, level: str = "", **arguments: Any) -> AnswerEnv[Any]:
    """Return the environment itself."""
    return cast("AnswerEnv[Any]", gem.make(f"visual:{task}-v0{level}", **arguments).unwrapped)


def questions_of(env: AnswerEnv[Any], count: int) -> list[Any]:
    """Return the tasks with the numbers 0 … without drawing them."""
    found = []
    for number in range(count):
        env._begin(task=number)
        found.append(env._task)
    return found


def share_that_the_reference_gets_right(task: str, level: str, seeds: int) -> float:
    """Return the mean return of the reference policy, which sees nothing but the observations."""
    with gem.make(f"visual:{task}-v0{level}") as env:
        policy = gem.make_policy("reference", env)
        total = 0.0
        for seed in range(seeds):
            observation, info = env.reset(seed=seed)
            policy.reset(observation, info)
            total += env.step(policy.act(observation, info))[1]
    return total / seeds


@pytest.mark.parametrize("task", QUESTIONS)
def test_the_picture_says_enough(task: str) -> None:
    """A policy that reads pixels and text answers every question of the hard level."""
    assert share_that_the_reference_gets_right(task, "-hard", 4) == 1.0


@pytest.mark.nightly
@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("task", QUESTIONS)
def test_every_picture_of_many_says_enough(task: str, level: str) -> None:
    """The same holds for 100 questions of each level."""
    assert share_that_the_reference_gets_right(task, level, 100) == 1.0


def blind_shares(task: str, level: str, count: int) -> dict[str, float]:
    """Return what agents earn that never look at a picture, on the second half of the questions.

    They have learnt the most frequent answer, in general and for each wording, from the first half; or they guess, or
    repeat a name or number of the question.
    """
    env = env_of(task, level)
    tasks = questions_of(env, count)
    wordings = [
        re.sub(r"\b[A-Z]{3}\b|\d+|\b(?:left|right|straight on|north|east|south|west)\b", "#", one.question)
        for one in tasks
    ]
    often: Counter[str] = Counter()
    by_wording: dict[str, Counter[str]] = defaultdict(Counter)
    for one, wording in zip(tasks[: count // 2], wordings, strict=False):
        often[one.answer] += 1
        by_wording[wording][one.answer] += 1
    rng = random.Random("blind")
    right: Counter[str] = Counter()
    for one, wording in zip(tasks[count // 2 :], wordings[count // 2 :], strict=True):
        seen = by_wording[wording] or often
        right["most frequent"] += one.answer == often.most_common(1)[0][0]
        right["most frequent for the wording"] += one.answer == seen.most_common(1)[0][0]
        right["guess"] += one.answer == one.guess(rng)
        words = re.findall(r"\b[A-Z]{3}\b|\d+", one.question)
        right["a word of the question"] += one.answer == rng.choice(words)
    return {agent: hits / (count - count // 2) for agent, hits in right.items()}


def check_that_the_blind_earn_little(task: str, level: str, count: int) -> None:
    """Assert that no blind agent earns more than the manifest states, but for four standard errors."""
    spec = gem.spec(f"visual:{task}-v0{level}")
    stated = spec.thoughtless_share
    assert stated is not None
    allowed = stated + 4 * (stated * (1 - stated) / (count // 2)) ** 0.5
    shares = blind_shares(task, level, count)
    assert max(shares.values()) <= allowed, shares


@pytest.mark.parametrize("task", QUESTIONS)
def test_without_the_picture_there_is_chance_alone(task: str) -> None:
    """Answers that need no picture earn at most the share that the manifest states."""
    check_that_the_blind_earn_little(task, "-easy", 800)


@pytest.mark.nightly
@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("task", QUESTIONS)
def test_without_the_picture_there_is_chance_alone_in_every_level(task: str, level: str) -> None:
    """The same holds for 4,000 questions of each level."""
    check_that_the_blind_earn_little(task, level, 4_000)


@pytest.mark.parametrize("task", QUESTIONS)
def test_no_task_is_in_both_splits(task: str) -> None:
    """Each split has tasks of its own alone."""
    for split in SPLITS:
        assert {split_of(one) for one in questions_of(env_of(task, split=split), 10)} == {split}


@pytest.mark.nightly
@pytest.mark.parametrize("task", QUESTIONS)
def test_there_are_a_hundred_thousand_tasks_but_for_names(task: str) -> None:
    """Among 20,000 tasks, fewer than 1,000 pairs are equal; a set of 100,000 would have 2,000 or more.

    For a task that is drawn with the probability p, the expected number of pairs is 20,000² / 2 times the sum of p²,
    which is at least 1 / 100,000 if there are no more than 100,000.
    """
    env = env_of(task)
    seen: Counter[str] = Counter()
    for number in range(20_000):
        env._begin(task=number)
        seen[json.dumps(env._task.structure())] += 1
    assert sum(count * (count - 1) // 2 for count in seen.values()) < 1_000


@pytest.mark.parametrize(
    "wrong", ["", "40", "\\boxed{}", "\\boxed{¤}", "\\boxed{-7}", "\\boxed{" + "9" * 5000 + "}", None]
)
def test_a_wrong_answer_earns_nothing(wrong: Any) -> None:
    """Silence, no box, an empty box, signs and endless numbers end the question without a reward."""
    env = env_of("Tables", "-easy")
    env.reset(seed=3)
    _, reward, terminated, _, info = env.step(wrong)
    assert (reward, terminated, info["success"]) == (0.0, True, False)


@pytest.mark.parametrize(
    ("task", "form"),
    [
        ("Routes", str.lower),
        ("Jigsaw", lambda answer: answer.replace(" ", ", ")),
        ("Circuits", lambda answer: f"+0{answer}"),
        ("OddOneOut", lambda answer: f"\\text{{{answer}}}"),
    ],
)
def test_the_form_of_an_answer_is_forgiven(task: str, form: Callable[[str], str]) -> None:
    """Small letters, commas, leading zeros and a command for text do not matter."""
    env = env_of(task)
    env.reset(seed=5)
    assert env.step(f"I see it: \\boxed{{{form(env._task.answer)}}}")[1] == 1.0


def begun_with(task: str, level: str, answers: Callable[[Any], bool]) -> AnswerEnv[Any]:
    """Return an environment whose task is the first that fits."""
    env = env_of(task, level)
    for number in count():
        env.reset(options={"task": number})
        if answers(env._task):
            break
    return env


@pytest.mark.parametrize(
    ("task", "level", "answers", "form"),
    [
        ("Circuits", "", lambda one: True, "{} ohms"),
        ("Circuits", "", lambda one: True, "{} \N{GREEK CAPITAL LETTER OMEGA}"),
        ("Circuits", "", lambda one: True, "${}\\,\\Omega$"),
        ("Circuits", "", lambda one: True, "{}\\text{{ ohms}}"),
        ("Circuits", "", lambda one: True, "{}.0"),
        ("Circuits", "", lambda one: True, "{}."),
        ("Gauges", "-hard", lambda one: one.asked[0] == "later", "{} minutes"),
        ("Gauges", "-hard", lambda one: int(one.answer) > 1000, "{:,}"),
        ("Gauges", "", lambda one: one.asked[0] == "time", "{0[0]}:{0[1]:02}"),
    ],
)
def test_a_right_number_is_right_as_people_write_it(
    task: str, level: str, answers: Callable[[Any], bool], form: str
) -> None:
    """With its unit, with commas between thousands, as a decimal number, and a time with its colon."""
    env = begun_with(task, level, answers)
    number: Any = int(env._task.answer)
    written = form.format(divmod(number, 100) if "[" in form else number)
    assert env.step(f"\\boxed{{{written}}}")[1] == 1.0


@pytest.mark.parametrize(
    "form",
    ["{0} or 99", "{0} 1", "{0}.5", "{0} kiloohms", "{1},{2}", "-{0}", "{0}{0}", "{0} minutes", "ohms", "{0}:00"],
)
def test_another_number_is_wrong(form: str) -> None:
    """Two numbers, a fraction, another unit, a comma that parts no thousands, and a unit without a number."""
    env = begun_with("Circuits", "", lambda one: len(one.answer) == 2)
    answer = env._task.answer
    _, reward, _, _, info = env.step(f"\\boxed{{{form.format(answer, *answer)}}}")
    assert (reward, info["correct"]) == (0.0, False)


def test_minutes_that_are_asked_for_are_not_a_time() -> None:
    """9:54 would be 594 of them, and is no way to write 954."""
    env = begun_with("Gauges", "-hard", lambda one: one.asked[0] == "later" and int(one.answer) > 100)
    hours, minutes = divmod(int(env._task.answer), 100)
    assert env.step(f"\\boxed{{{hours}:{minutes:02}}}")[1] == 0.0


def test_a_pie_says_what_its_mark_is() -> None:
    """Where a number is asked of a pie, the question explains the words in the picture; no other chart has them."""
    said = {
        one.kind: "MARK IS tells" in one.question
        for one in questions_of(env_of("Charts", "-easy"), 60)
        if one.asked[0] == "value"
    }
    assert said == {"pie": True, "bars": False, "lines": False}


def fits(jigsaw: Jigsaw, order: tuple[int, ...]) -> bool:
    """Return whether pieces in this order agree along all edges, borders included."""
    rows, columns = jigsaw.level.rows, jigsaw.level.columns
    pieces = [jigsaw.pieces[number] for number in order]
    for place, piece in enumerate(pieces):
        row, column = divmod(place, columns)
        if (row == 0) != (piece.top is None) or (column == 0) != (piece.left is None):
            return False
        if (row == rows - 1) != (piece.bottom is None) or (column == columns - 1) != (piece.right is None):
            return False
        if row and piece.top != pieces[place - columns].bottom:
            return False
        if column and piece.left != pieces[place - 1].right:
            return False
    return True


@pytest.mark.parametrize("level", ["-easy", ""])
def test_a_jigsaw_has_one_solution(level: str) -> None:
    """Of all orders of the pieces one fits."""
    for jigsaw in questions_of(env_of("Jigsaw", level), 5):
        found = [order for order in permutations(range(len(jigsaw.pieces))) if fits(jigsaw, order)]
        assert [" ".join(str(number + 1) for number in order) for order in found] == [jigsaw.answer]


@pytest.mark.parametrize("level", LEVELS)
def test_one_figure_is_odd(level: str) -> None:
    """All others have one shape under turning, and at the hard level the odd one is its mirror image."""
    for field in cast("list[FigureField]", questions_of(env_of("OddOneOut", level), 20)):
        shapes = [any_turn(figure.shape) for figure in field.figures]
        features = shapes if len(set(shapes)) == 2 else [figure.colour for figure in field.figures]
        odd = features.pop(field.odd)
        assert len(set(features)) == 1
        assert odd != features[0]
        if level == "-hard":
            assert any_turn(mirrored(field.figures[field.odd].shape)) == shapes[field.odd - 1]


def current_through(circuit: Part, volts: int = 1) -> Fraction | None:
    """Return the current through a circuit by Kirchhoff's law for each node, or None if nothing flows.

    Closed switches have the resistance of a part in 10¹², open ones that of 10¹².
    """
    resistors: list[tuple[int, int, Fraction]] = []
    nodes = 2

    def lay(part: Part, start: int, end: int) -> None:
        nonlocal nodes
        if isinstance(part, Resistor):
            resistors.append((start, end, Fraction(part.ohms)))
        elif isinstance(part, Switch):
            resistors.append((start, end, Fraction(1, 10**12) if part.closed else Fraction(10**12)))
        elif isinstance(part, Parallel):
            for branch in part.branches:
                lay(branch, start, end)
        else:
            for number, one in enumerate(part.parts):
                last = number == len(part.parts) - 1
                following = end if last else nodes
                nodes += not last
                lay(one, start, following)
                start = following

    lay(circuit, 0, 1)
    matrix = [[Fraction(0)] * (nodes + 1) for _ in range(nodes)]
    for a, b, ohms in resistors:
        for here, there in ((a, b), (b, a)):
            matrix[here][here] += 1 / ohms
            matrix[here][there] -= 1 / ohms
    for fixed, value in ((0, volts), (1, 0)):
        matrix[fixed] = [Fraction(0)] * (nodes + 1)
        matrix[fixed][fixed], matrix[fixed][nodes] = Fraction(1), Fraction(value)
    for pivot in range(nodes):
        row = next(row for row in range(pivot, nodes) if matrix[row][pivot])
        matrix[pivot], matrix[row] = matrix[row], matrix[pivot]
        matrix[pivot] = [value / matrix[pivot][pivot] for value in matrix[pivot]]
        for other in range(nodes):
            if other != pivot and (factor := matrix[other][pivot]):
                matrix[other] = [x - factor * y for x, y in zip(matrix[other], matrix[pivot], strict=True)]
    voltage = [line[nodes] for line in matrix]
    return sum(
        (
            (voltage[a] - voltage[b]) / ohms * (a == 0) - (voltage[a] - voltage[b]) / ohms * (b == 0)
            for a, b, ohms in resistors
        ),
        Fraction(0),
    )


@pytest.mark.parametrize("level", LEVELS)
def test_a_circuit_has_the_resistance_that_currents_give(level: str) -> None:
    """Kirchhoff's laws, solved node by node, give the same ohms."""
    for circuit in cast("list[Circuit]", questions_of(env_of("Circuits", level), 8)):
        current = current_through(circuit.whole)
        assert current is not None
        assert abs(1 / current - int(circuit.answer)) < Fraction(1, 1000)


def test_switches_are_reckoned_with() -> None:
    """An open switch carries nothing, and a closed one alone shortens the rest."""
    loop = (Resistor(6), Series((Resistor(3), Switch(closed=False))))
    assert Circuit(Parallel(loop)).answer == "6"
    assert Circuit(Parallel((Resistor(6), Switch(closed=True)))).answer == "0"
    assert Circuit(Parallel((Resistor(6), Resistor(3)))).answer == "2"


def ways(found: RouteMap, most: int) -> dict[tuple[int, int], int]:
    """Return the shortest lengths from the beginning, by trying the roads in turn (Bellman and Ford)."""
    far = {found.begin: 0}
    for _ in range(most):
        for a, b, length in found.roads:
            for start, end in ((a, b), (b, a)):
                if start in far:
                    far[end] = min(far.get(end, 10**9), far[start] + length)
    return far


def walked(found: RouteMap) -> tuple[int, int]:
    """Return where the described way ends, with complex numbers as headings."""
    joined = {frozenset((a, b)) for a, b, _ in found.roads}
    heading = {"north": -1j, "east": 1, "south": 1j, "west": -1}[found.heading]
    node = found.begin
    for turn in ("straight on", *found.turns):
        heading *= {"straight on": 1, "left": -1j, "right": 1j}[turn]
        following = (node[0] + int(heading.real), node[1] + int(heading.imag))
        assert frozenset((node, following)) in joined
        node = following
    return node


@pytest.mark.parametrize("level", LEVELS)
def test_a_route_is_the_shortest(level: str) -> None:
    """Another algorithm finds the same length and the same nearest place, and both are clear."""
    for found in cast("list[RouteMap]", questions_of(env_of("Routes", level), 12)):
        far = ways(found, len(found.places))
        assert len(far) == len(found.places)
        if found.kind == "shortest":
            assert found.answer == str(far[found.end])
        elif found.kind == "nearest":
            assert [node for node in found.marked if far[node] <= far[found.end]] == [found.end]
        else:
            assert found.answer == found.name(walked(found))
