"""kg:Graph-v0: answers agree with other executions, levels differ, splits share nothing."""

from __future__ import annotations

import sqlite3
from typing import Any

import pytest
from plain_python import entities_of

import gem
from gem_envs_data.graph.expressions import Anchor, Both, Count, Extreme, Hop, nodes
from gem_envs_data.graph.questions import GraphTask, task_of
from gem_envs_data.graph.schema import ATTRIBUTES
from gem_envs_data.names import split_of

COUNT = 12


def sql_of(expression: Any) -> str:
    """The expression as SQL over a table of triples and one of numbers."""
    match expression:
        case Anchor(name=name):
            return f"SELECT '{name}' AS e"
        case Hop(relation=relation, of=inner):
            where = f"relation = '{relation.name}' AND subject IN ({sql_of(inner)})"
            return f"SELECT DISTINCT object AS e FROM triple WHERE {where}"
        case Both(one=one, other=other):
            return f"SELECT e FROM ({sql_of(one)}) INTERSECT SELECT e FROM ({sql_of(other)})"
        case Count(of=inner):
            return f"SELECT COUNT(*) AS e FROM ({sql_of(inner)})"
        case Extreme(attribute=attribute, largest=largest, of=inner):
            order = "DESC" if largest else "ASC"
            where = f"attribute = '{attribute.name}' AND subject IN ({sql_of(inner)})"
            return f"SELECT subject AS e FROM number WHERE {where} ORDER BY value {order} LIMIT 1"
    raise AssertionError(expression)


def in_sqlite(task: GraphTask) -> set[Any]:
    connection = sqlite3.connect(":memory:")
    connection.execute("CREATE TABLE triple (subject, relation, object)")
    connection.execute("CREATE TABLE number (subject, attribute, value)")
    connection.executemany("INSERT INTO triple VALUES (?, ?, ?)", task.store.triples())
    numbers = [(name, key, value) for name, found in task.store.attributes.items() for key, value in found.items()]
    connection.executemany("INSERT INTO number VALUES (?, ?, ?)", numbers)
    with connection:
        found = {row[0] for row in connection.execute(f"SELECT e FROM ({sql_of(task.expression)})")}
    connection.close()
    return found


@pytest.mark.parametrize("level", [1, 2, 3])
def test_answers_agree_with_two_other_executions(level: int) -> None:
    """The program's answer, a scan of the triples in Python, and SQL over the triples give the same entities."""
    for number in range(COUNT):
        task = task_of(number, level, "train")
        other = entities_of(task.expression, task.store.triples(), task.store.attributes)
        assert other == task.answer
        assert in_sqlite(task) == ({task.answer} if isinstance(task.answer, int) else task.answer)


def play(env: gem.Env[Any, Any], seed: int) -> tuple[float, int]:
    policy = gem.make_policy("reference", env)
    observation, info = env.reset(seed=seed)
    policy.reset(observation, info)
    total, turns, over = 0.0, 0, False
    while not over:
        observation, reward, terminated, truncated, info = env.step(policy.act(observation, info))
        total, turns, over = total + reward, turns + 1, terminated or truncated
    return total, turns


def test_higher_levels_need_more_turns() -> None:
    """The reference policy wins at every level, and with seven turns less often the higher the level."""
    lengths = {
        level: [play(gem.make("kg:Graph-v0", level=level), seed) for seed in range(COUNT)] for level in (1, 2, 3)
    }
    assert all(total == 1.0 for plays in lengths.values() for total, _ in plays)
    within = [sum(turns <= 7 for _, turns in lengths[level]) for level in (1, 2, 3)]
    assert within[0] == COUNT
    assert within[0] > within[1] > within[2] == 0


def test_no_graph_is_in_both_splits() -> None:
    """The first country decides the split, and it is part of the graph."""
    for number in range(COUNT):
        for split in ("train", "test"):
            store = task_of(number, 1, split).store
            assert split_of(next(iter(store.kinds))) == split


def test_seeds_give_different_tasks() -> None:
    """The number of a task has 48 bits, and other numbers give other questions."""
    env = gem.make("kg:Graph-v0", level=2)
    assert len({env.reset(seed=seed)[0] for seed in range(30)}) == 30
    with pytest.raises(ValueError, match="task"):
        env.reset(options={"task": 1 << 48})
    env.reset(options={"task": (1 << 48) - 1})


def test_calls_follow_the_rules_of_agentbench() -> None:
    """Relations must have been listed; sets of different types do not intersect; a wrong call costs its turn only."""
    env = gem.make("kg:Graph-v0", level=1)
    env.reset(seed=0)
    step = env.unwrapped.current.program[1]
    entity, relation = step[1], step[2]
    wrong = env.step(f"Action: get_neighbors({entity}, {relation})")
    assert "Call get_relations" in wrong[0]
    assert wrong[4]["action_status"] == "illegal"
    listed = env.step(f"Thought: look.\nAction: get_relations({entity})\nObservation: [invented]")[0]
    assert relation in listed
    made = env.step({"role": "assistant", "content": None, "tool_calls": [
        {"id": "1", "function": {"name": "get_neighbors", "arguments": {"variable": entity, "relation": relation}}}
    ]})  # fmt: skip
    assert "variable #0, which are instances of" in made[0]
    assert "not of the same type" in env.step(f"Action: intersection(#0, {entity})")[0] or entity in made[0]
    assert "no variable #7" in env.step("Final Answer: #7")[0]
    free = gem.make("kg:Graph-v0", level=1, look_first=False)
    free.reset(seed=0)
    assert "variable #0" in free.step(f"Action: get_neighbors({entity}, {relation})")[0]


def test_messages_count_in_the_singular_and_in_the_plural() -> None:
    """1 argument, 1 entity; and a number is an answer by itself."""
    env = gem.make("kg:Graph-v0", level=1, look_first=False)
    env.reset(seed=0)
    entity = env.unwrapped.current.entities[0]
    assert "count takes 1 argument: variable." in env.step("Action: count()")[0] + env.step("Action: count(a, b)")[0]
    assert "intersection takes 2 arguments" in env.step(f"Action: intersection({entity})")[0]
    assert "no variable #0; no call has made one yet" in env.step("Action: count(#0)")[0]
    env.step(f"Action: intersection({entity}, {entity})")
    assert "no variable #4; the last one is #0" in env.step("Action: count(#4)")[0]
    assert "Your answer is 1 entity." in env.step("Final Answer: #0")[0]
    env.reset(seed=0)
    env.step(f"Action: count({entity})")
    assert "Your answer is 1." in env.step("Final Answer: #0")[0]


def test_of_two_sets_the_shorter_one_is_named_first() -> None:
    """So that the words on the other cannot be taken to belong to its last entity; people are "who"."""
    joined = 0
    for number in range(3 * COUNT):
        task = task_of(number, 3, "train")
        for part in nodes(task.expression):
            if isinstance(part, Both):
                lengths = [len(list(nodes(inner))) for inner in part.parts]
                names = [next(one.name for one in nodes(inner) if isinstance(one, Anchor)) for inner in part.parts]
                if lengths[0] != lengths[1] and names[0] not in names[1] and names[1] not in names[0]:
                    shorter = lengths.index(min(lengths))
                    assert task.question.index(names[shorter]) < task.question.index(names[1 - shorter])
                    joined += 1
        assert not task.question.startswith("What are the people")
    assert joined > 5


def test_an_answer_that_is_nearly_right_earns_its_f1_only_on_demand() -> None:
    """A superset of the answer earns nothing by default, and less than 1.0 with metric="f1"."""
    for metric in ("exact_match", "f1"):
        env = gem.make("kg:Graph-v0", level=2, metric=metric)
        for seed in range(COUNT):
            env.reset(seed=seed)
            task = env.unwrapped.current
            if task.program[-1][0] != "intersection":
                continue
            for tool, *arguments in task.program[:-1]:
                env.step(f"Action: {tool}({', '.join(arguments)})")
            _, reward, terminated, _, info = env.step(f"Final Answer: {task.program[-1][1]}")
            assert terminated
            assert not info["correct"]
            assert reward == (0.0 if metric == "exact_match" else pytest.approx(info["f1"]))
            assert 0.0 < info["f1"] < 1.0
            break
        else:
            raise AssertionError("no question with an intersection")


def test_few_tasks_stay_in_memory() -> None:
    """A full garbage collection looks at every container of each; with more tasks it would hold up a reset."""
    assert task_of.cache_parameters()["maxsize"] <= 16


@pytest.fixture(scope="module")
def drawn() -> list[GraphTask]:
    """Tasks of the two upper levels, in which rare faults of the draw show."""
    return [task_of(number, level, "train") for level in (2, 3) for number in range(5 * COUNT)]


def test_a_superlative_has_at_least_three_to_choose_from(drawn: list[GraphTask]) -> None:
    """Of two, guessing would be right half of the time; one alone wins, and at most one other superlative too."""
    found = [
        (task.store, part, part.of.value(task.store)) for task in drawn for part in nodes(task.expression)
        if isinstance(part, Extreme)
    ]  # fmt: skip
    assert len(found) > COUNT
    for store, part, inner in found:
        assert isinstance(inner, frozenset)
        assert len(inner) >= 3
        winners = [
            store.extreme(inner, attribute.name, largest)
            for attribute in ATTRIBUTES[part.kind]
            for largest in (True, False)
        ]
        assert len(part.value(store)) == 1
        assert winners.count(part.value(store)) <= 2


def test_a_question_names_no_entity_twice_and_not_its_answer(drawn: list[GraphTask]) -> None:
    """Else part of it would be given away."""
    for task in drawn:
        names = [part.name for part in nodes(task.expression) if isinstance(part, Anchor)]
        assert len(set(names)) == len(names)
        assert isinstance(task.answer, int) or task.answer.isdisjoint(names)


def test_every_part_of_a_question_is_needed(drawn: list[GraphTask]) -> None:
    """No way of two steps leads back, no single call has the answer, and what is counted is at least two."""
    for number in range(3 * COUNT):
        way = task_of(number, 1, "train").expression
        if isinstance(way, Hop) and isinstance(way.of, Hop):
            assert way.relation.object != way.of.relation.subject
    for task in drawn:
        if isinstance(task.answer, int):
            assert task.answer >= 2
            continue
        for name in task.entities:
            for relation in task.store.links[name]:
                assert task.store.neighbors((name,), relation) != task.answer
