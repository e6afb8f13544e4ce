"""db:SQL-v0: gold answers agree with plain Python, ends of changes too, hostile statements are bounded."""

from __future__ import annotations

import threading
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from plain_python import answer_of, end_of

import gem
from gem_envs_data.names import split_of
from gem_envs_data.sql.answers import is_right
from gem_envs_data.sql.domains import DOMAINS
from gem_envs_data.sql.results import StatementError
from gem_envs_data.sql.sqlite_database import SqliteDatabase
from gem_envs_data.sql.tasks import task_of

COUNT = 32
WORDS = st.text("ABCabcxyz", min_size=3, max_size=9)


@pytest.mark.parametrize("level", [1, 2, 3])
def test_gold_answers_agree_with_plain_python(level: int) -> None:
    """The answer of the gold SQL is that of a second computation over the rows, for every kind of question."""
    kinds: Counter[str] = Counter()
    for number in range(COUNT):
        task = task_of(number, level, "train", "questions")
        assert task.query is not None
        kinds[task.query.kind] += 1
        expected = answer_of(task)
        assert (list(task.answer) if task.is_ordered else Counter(task.answer)) == (
            expected if task.is_ordered else Counter(expected)
        ), task.text
    assert len(kinds) >= 5
    assert max(kinds.values()) < COUNT / 2


@pytest.mark.parametrize("level", [1, 2, 3])
def test_ends_of_changes_agree_with_plain_python(level: int) -> None:
    """The database after the gold statements is that of a second computation, and never the one before."""
    kinds = set()
    for number in range(COUNT // 2):
        task = task_of(number, level, "train", "changes")
        assert task.change is not None
        kinds.add(task.change.kind)
        ends = {name: (set(columns), rows) for name, (columns, rows) in (task.end or {}).items()}
        assert ends == end_of(task), task.text
        untouched = SqliteDatabase(task.image)
        assert untouched.dump() != task.end
        untouched.close()
    assert len(kinds) >= 3


@pytest.mark.parametrize("level", [1, 2, 3])
def test_tasks_name_their_conditions_in_one_way_each(level: int) -> None:
    """Conditions of the same rows share "whose", "for which the" or "with", and no year is added up."""
    leads: Counter[str] = Counter()
    for number in range(2 * COUNT):
        task = task_of(number, level, "train", "mixed")
        conditions = task.query.conditions if task.query else task.change.conditions if task.change else ()
        if len(conditions) > 1 and not (task.query and task.query.parent_conditions):
            found = [lead for lead in (" whose ", " for which the ", " with ") if lead in task.text]
            leads[found[0]] += 1
            assert len(found) == 1 or found[-1] == " with ", task.text  # "…, with 0 for those without", "with the most"
        assert "within the year" not in task.text
        assert task.query is None or task.query.kind != "total" or not task.query.column.endswith("year")
    assert not leads or max(leads.values()) < 0.8 * leads.total()


def test_the_schema_that_the_instructions_point_to_is_shown_whole() -> None:
    """No line of it is cut, at level 2 nor at level 3, in any of the domains."""
    domains = set()
    for level in (2, 3):
        env = gem.make("db:SQL-v0", level=level)
        for seed in range(30):
            env.reset(seed=seed)
            domains.add(env.unwrapped.current.content.domain.subject)
            assert "…" not in env.step("<sql>SELECT name, sql FROM sqlite_master</sql>")[0]
    assert len(domains) == len(DOMAINS)


def test_each_gold_statement_of_a_change_is_needed() -> None:
    """Without any one of them the task is not done."""
    env = gem.make("db:SQL-v0", level=3, tasks="changes")
    for seed in range(6):
        env.reset(seed=seed)
        statements = env.unwrapped.current.statements
        for left_out in range(len(statements)):
            env.reset(seed=seed)
            for place, statement in enumerate(statements):
                if place != left_out:
                    env.step(f"<sql>{statement}</sql>")
            assert env.step("<answer>done</answer>")[1] == 0.0


def test_a_database_that_differs_elsewhere_is_wrong() -> None:
    """A further table or a further change fails a task that is otherwise done."""
    env = gem.make("db:SQL-v0", level=1, tasks="changes")
    for extra in ("CREATE TABLE scratch (a)", None):
        env.reset(seed=1)
        for statement in (*env.unwrapped.current.statements, *([extra] if extra else [])):
            env.step(f"<sql>{statement}</sql>")
        assert env.step("<answer>done</answer>")[1] == (0.0 if extra else 1.0)


def reference(level: int, max_turns: int, seeds: int = 8) -> float:
    env = gem.make("db:SQL-v0", level=level, max_turns=max_turns)
    policy, total = gem.make_policy("reference", env), 0.0
    for seed in range(seeds):
        observation, info = env.reset(seed=seed)
        policy.reset(observation, info)
        over = False
        while not over:
            observation, reward, terminated, truncated, info = env.step(policy.act(observation, info))
            total, over = total + reward, terminated or truncated
    return total / seeds


def test_higher_levels_need_more_turns() -> None:
    """The reference policy wins at every level; with three turns it wins at levels 1 and 2, with two at level 1."""
    assert [reference(level, 15) for level in (1, 2, 3)] == [1.0, 1.0, 1.0]
    assert [reference(level, 2) for level in (1, 2)] == [1.0, 0.0]
    assert [reference(level, 3) for level in (2, 3)] == [1.0, 0.0]


def test_no_database_is_in_both_splits() -> None:
    """The first row of the first table decides the split, and it is part of the database."""
    for number in range(COUNT // 2):
        for split in ("train", "test"):
            content = task_of(number, 1, split, "mixed").content
            owner = content.domain.owner
            assert split_of(content.tables[owner.name][0][str(owner.label)]) == split


HOSTILE = [
    "ATTACH DATABASE '{path}' AS other",
    "VACUUM INTO '{path}'",
    "VACUUM main INTO '{path}'",
    "PRAGMA journal_mode = WAL",
    "PRAGMA temp_store_directory = '{folder}'",
    "PRAGMA max_page_count = 1000000000",
    "PRAGMA writable_schema = ON",
    "SELECT load_extension('x')",
    "SELECT writefile('{path}', 'x')",
    "CREATE VIRTUAL TABLE v USING fts5(x)",
    "CREATE TEMP TABLE t (x)",
    "CREATE TRIGGER t AFTER INSERT ON sqlite_master BEGIN SELECT 1; END",
    "BEGIN",
    "COMMIT",
    "SAVEPOINT s",
    "SELECT random()",
    "SELECT CURRENT_TIMESTAMP",
    "SELECT date('now')",
    "SELECT datetime()",
    "INSERT INTO sqlite_master VALUES (1, 2, 3, 4, 5)",
    "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT COUNT(*) FROM n",
    "WITH RECURSIVE n(t) AS (SELECT 'a' UNION ALL SELECT t || t FROM n) SELECT MAX(t) FROM n",
    "WITH RECURSIVE n(i, t) AS (SELECT 1, 'a' UNION ALL SELECT i + 1, printf('%3000c', 'x') FROM n) SELECT * "
    "FROM n ORDER BY t, i",
    "SELECT zeroblob(1000000000)",
    "SELECT printf('%.1000000000c', 'x')",
    "SELECT replace(printf('%3000c', 'x'), ' ', printf('%3000c', 'y'))",
    "WITH a AS (SELECT 1), b AS (SELECT 1 FROM a, a), c AS (SELECT 1 FROM b, b), d AS (SELECT 1 FROM c, c), "
    "e AS (SELECT 1 FROM d, d), f AS (SELECT 1 FROM e, e), g AS (SELECT 1 FROM f, f), h AS (SELECT 1 FROM g, g), "
    "i AS (SELECT 1 FROM h, h), j AS (SELECT 1 FROM i, i), k AS (SELECT 1 FROM j, j), l AS (SELECT 1 FROM k, k), "
    "m AS (SELECT 1 FROM l, l), n AS (SELECT 1 FROM m, m), o AS (SELECT 1 FROM n, n), p AS (SELECT 1 FROM o, o) "
    "SELECT 1 FROM p, p",
    "SELECT " + "(" * 5000 + "1" + ")" * 5000,
    "SELECT 1; SELECT 2",
    "SELECT 1; DROP TABLE {table}",
    "SELECT '" + "x" * 100_000 + "'",
    "\ud800",
    "SELECT '\x00",
]  # fmt: skip


@pytest.mark.parametrize("number", range(len(HOSTILE)))
def test_hostile_statements_fail_and_leave_the_machine_alone(number: int, tmp_path: Path) -> None:
    """Each ends with an error for the agent; no file appears, and the database stays as it was and in use."""
    task = task_of(0, 1, "train", "questions")
    database = SqliteDatabase(task.image)
    before, table = database.dump(), next(iter(task.content.tables))
    statement = HOSTILE[number].replace("{path}", str(tmp_path / "x")).replace("{folder}", str(tmp_path))
    with pytest.raises(StatementError):
        database.execute(statement.replace("{table}", table))
    assert list(tmp_path.iterdir()) == []
    assert database.dump() == before
    assert database.execute(f"SELECT COUNT(*) FROM {table}").rows == [(len(task.content.tables[table]),)]
    database.close()


def test_a_database_cannot_grow_without_end() -> None:
    """Inserts that double a table fail at some point."""
    task = task_of(0, 1, "train", "questions")
    database = SqliteDatabase(task.image)
    database.execute("CREATE TABLE big (x)")
    database.execute("INSERT INTO big VALUES (printf('%3000c', 'x'))")

    def double() -> None:
        for _ in range(40):
            database.execute("INSERT INTO big SELECT x FROM big")

    with pytest.raises(StatementError):
        double()
    database.close()


def test_the_usual_ways_to_look_around_work() -> None:
    """The schema, PRAGMAs that read, common table expressions and window functions, and a comment at the end."""
    task = task_of(3, 2, "train", "questions")
    database = SqliteDatabase(task.image)
    table = task.content.domain.event.name
    assert len(database.execute("SELECT name, sql FROM sqlite_master").rows) == len(task.content.tables)
    assert database.execute(f"PRAGMA table_info({table})").rows
    assert database.execute(f"PRAGMA foreign_key_list({table});").rows
    assert database.execute(f"WITH a AS (SELECT * FROM {table}) SELECT id, RANK() OVER (ORDER BY id) FROM a;\n").rows
    assert database.execute("SELECT strftime('%Y', day) FROM " + table).rows
    with pytest.raises(StatementError, match="FOREIGN KEY"):
        database.execute(f"DELETE FROM {task.content.domain.main.name}")
    database.close()


def test_sixty_four_environments_play_in_threads_as_they_do_alone() -> None:
    """Each has a database of its own."""

    def episode(seed: int) -> list[Any]:
        env = gem.make("db:SQL-v0", level=2)
        shown: list[Any] = [env.reset(seed=seed)]
        for _ in range(4):
            shown.append(env.step(env.sample_random_action()))
            if shown[-1][2] or shown[-1][3]:
                break
        env.close()
        return shown

    alone = [episode(seed) for seed in range(64)]
    together: dict[int, list[Any]] = {}
    threads = [threading.Thread(target=lambda seed=seed: together.update({seed: episode(seed)})) for seed in range(64)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [together[seed] for seed in range(64)] == alone


@given(
    st.lists(
        st.one_of(st.integers(-(10**6), 10**6), WORDS), min_size=1, max_size=6, unique_by=lambda one: str(one).lower()
    )
)
def test_answers_are_sets_of_values(gold: list[Any]) -> None:
    """Order, separators, quotes and decimals do not matter; a missing or a further value does."""
    backwards = [str(value) for value in reversed(gold)]
    assert is_right("\n".join(backwards), gold, ordered=False)
    assert is_right(", ".join(f"'{value}'" for value in backwards), gold, ordered=False)
    assert is_right(
        "\n".join(f"{value}.0" if isinstance(value, int) else value.lower() for value in gold), gold, ordered=True
    )
    assert not is_right("\n".join([*backwards, "Zzyzx"]), gold, ordered=False)
    assert not is_right("\n".join(backwards[1:]), gold, ordered=False)
    assert is_right("\n".join(backwards), gold, ordered=True) == (len(gold) == 1)


@pytest.mark.parametrize(
    "quoted", ["```\n{}\n```", "~~~sql\n{}\n~~~", "`{}`", "> {}", '"{}"', "<think>{}</think>", "{}</think>"]
)
def test_a_statement_that_is_only_quoted_or_thought_is_not_executed(quoted: str) -> None:
    """The task is not done by it, and the same statement done in earnest afterwards does it."""
    env = gem.make("db:SQL-v0", level=1, tasks="changes")
    for rewarded in (0.0, 1.0):
        env.reset(seed=1)
        for statement in env.unwrapped.current.statements:
            text = f"<sql>{' '.join(statement.split())}</sql>"
            env.step(text if rewarded else quoted.replace("{}", text))
        assert env.step("<answer>done</answer>")[1] == rewarded


def test_of_several_statements_and_answers_the_last_counts() -> None:
    """A statement behind an answer is executed, and an answer behind a statement ends the episode, in a fence too."""
    env = gem.make("db:SQL-v0", level=1, tasks="changes")
    env.reset(seed=1)
    assert not env.step("<answer>done</answer> or rather <sql>SELECT 1</sql>")[2]
    assert not env.step("<sql>SELECT 1 <sql>SELECT 2</sql>")[2]
    assert env.step("<sql>SELECT 1</sql>\n```\n<answer>done</answer>\n```")[2]
