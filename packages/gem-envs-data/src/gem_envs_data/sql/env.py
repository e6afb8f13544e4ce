"""SQL: questions about a generated database, and changes of one, by statements in SQL."""

# ruff: noqa: S608  # the statements are made of names of this package

from __future__ import annotations

from typing import Any, NamedTuple

import gem
from gem.arguments import choice, integer
from gem.core import Info
from gem.counts import counted
from gem.errors import GemError
from gem.numbered_tasks import NumberedTaskEnv
from gem.state_fields import StateFields
from gem.text_env import MoveResult, fault, illegal, legal, malformed
from gem.tools.calls import all_tagged
from gem_envs_data.names import SPLITS
from gem_envs_data.native_calls import function_schema, native_call
from gem_envs_data.sql.answers import is_right
from gem_envs_data.sql.postgres_database import PostgresDatabase
from gem_envs_data.sql.results import StatementError, shown
from gem_envs_data.sql.sqlite_database import SqliteDatabase
from gem_envs_data.sql.tasks import KINDS, LEVELS, MIXED, SqlTask, task_of

__all__ = ["SqlEnv", "SqlMove", "SqlPolicy"]

_SQL, _ANSWER = "sql", "answer"
_MOST_STATEMENTS = 100_000
"""Writing statements of a state."""

SQLITE, POSTGRESQL = "sqlite", "postgresql"
_DIALECTS = {SQLITE: "SQLite", POSTGRESQL: "PostgreSQL"}
"""Engine → its name in the instructions."""
_SCHEMA_HINTS = {
    SQLITE: "SELECT name, sql FROM sqlite_master",
    POSTGRESQL: "SELECT table_name, column_name, data_type FROM information_schema.columns "
    "WHERE table_schema = 'public'",
}
"""Engine → a statement that shows the tables."""

_INSTRUCTIONS = """You work on the database of {subject}, in {dialect}. Execute one statement a turn, between <sql> \
and </sql>: each is committed at once, and you see its result. {schema}

{ending} You have {turns}. An action in another form is a lost turn.

Task: {task}"""

_FOR_QUESTIONS = (
    "When you know the answer, end with it between <answer> and </answer>: the values alone, one a line, "
    "numbers without "
    "thousands separators."
)
_FOR_CHANGES = (
    "When the database is as the task wants it, end with <answer>done</answer>. Nothing else in the database "
    "may differ "
    "from before, and no other table may be left."
)


class SqlMove(NamedTuple):
    """A statement to execute, or an answer."""

    tag: str
    """``sql`` or ``answer``."""
    text: str


class _TagForm:
    """Reads the last complete ``<sql>…</sql>`` or ``<answer>…</answer>``; a statement that is quoted is none."""

    def read(self, text: str, /) -> SqlMove | None:
        end = text.rfind(f"</{_ANSWER}>")
        start = text.rfind(f"<{_ANSWER}>", 0, max(end, 0))
        statements = all_tagged(text, _SQL)
        if statements and statements[-1][1] > (end if start >= 0 else -1):
            return SqlMove(_SQL, statements[-1][0].rpartition(f"<{_SQL}>")[2].strip())
        return None if start < 0 else SqlMove(_ANSWER, text[start + len(_ANSWER) + 2 : end].strip())

    def sample(self, rng: Any, /) -> str:
        return f"<answer>{rng.randrange(40)}</answer>"


class SqlEnv(NumberedTaskEnv[SqlMove]):
    """One task on a generated database per episode: a question to answer, or a change to make.

    A question is graded by comparing the answer with that of the gold SQL, which was executed. A change is graded by
    comparing the whole database with what the gold statements leave. Rewards: 1.0 if they are equal, else 0.0.
    ``info["correct"]`` says so on the last step of an answered episode.

    The reset option ``task``, an int below 2⁴⁸, chooses a task.

    Args:
        level: 1: one table of two matters, and the instructions show the tables; 2: four tables, which the agent must
            find out about, joins and groups; 3: seven tables, among them an outdated copy, codes in place of words,
            joins over three tables, questions on what is missing, changes that need several statements.
        split: ``"train"`` or ``"test"``. No database is in both.
        tasks: ``"questions"``, ``"changes"``, or ``"mixed"``, of which two in five are changes.
        max_turns: turns of an episode; a statement takes one.
        engine: ``"sqlite"``, or ``"postgresql"`` for the same tasks in a real PostgreSQL, which must be installed,
            with ``gem-envs-data[postgres]``. There, a statement is bounded by time, not by a count of steps.
    """

    form = _TagForm()
    saved = StateFields(task=int, statements=list[str])
    request = ""

    def __init__(
        self,
        level: int = 1,
        split: str = "train",
        tasks: str = MIXED,
        max_turns: int = 15,
        engine: str = SQLITE,
    ) -> None:
        super().__init__(max_turns)
        self.level = choice("level", level, LEVELS)
        self.split = choice("split", split, SPLITS)
        self.tasks = choice("tasks", tasks, KINDS)
        self.engine = choice("engine", engine, tuple(_DIALECTS))
        self._database: SqliteDatabase | PostgresDatabase | None = None

    @property
    def current(self) -> SqlTask:
        """The task of this episode, with its answer."""
        return self._task

    @property
    def tool_schemas(self) -> list[dict[str, Any]]:
        """The actions in the format of the ``tools`` argument of chat APIs."""
        return [
            function_schema("execute_sql", "Execute one statement.", statement="The statement."),
            function_schema("final_answer", "End with an answer.", answer="The values, one a line, or done."),
        ]

    def step(self, action: Any) -> tuple[str, float, bool, bool, Info]:
        """Execute a statement or take an answer; an assistant message may call a function natively."""
        if type(action) is not str:
            call = native_call(action)
            if call is not None:
                tag = _ANSWER if call.name == "final_answer" else _SQL
                text = next((value for value in call.arguments.values() if isinstance(value, str)), "")
                action = f"<{tag}>{text}</{tag}>"
        observation, reward, terminated, truncated, info = super().step(action)
        if terminated or truncated:
            self.close()
        return observation, reward, terminated, truncated, info

    def close(self) -> None:
        """Discard the database; a later step makes it again."""
        database, self._database = self._database, None
        if database is not None:
            database.close()

    def _begin(self, task: int | None = None) -> None:
        if self.engine == POSTGRESQL:
            from gem_tools.postgres import require_postgres

            require_postgres()
        super()._begin(task)
        self.statements: list[str] = []
        self.close()
        self._task = task_of(self.task, self.level, self.split, self.tasks)

    def _open(self) -> SqliteDatabase | PostgresDatabase:
        """Return the database, with all that the agent has written."""
        database = self._database
        if database is None:
            database = self._database = self._made(self.statements)
        return database

    def _made(self, statements: list[str]) -> SqliteDatabase | PostgresDatabase:
        is_sqlite = self.engine == SQLITE
        database = SqliteDatabase(self._task.image) if is_sqlite else PostgresDatabase(self._task.content)
        for statement in statements:
            try:
                database.execute(statement)
            except StatementError:
                continue  # it failed for the agent as well, maybe half way
        return database

    def _instructions(self) -> str:
        task = self._task
        schema = f"Find out which tables there are, for example with <sql>{_SCHEMA_HINTS[self.engine]}</sql>."
        if self.level == 1:
            schema = "It has these tables:\n\n" + "\n".join(task.content.create_statements())
        return _INSTRUCTIONS.format(
            subject=task.content.domain.subject,
            dialect=_DIALECTS[self.engine],
            schema=schema,
            ending=_FOR_CHANGES if task.query is None else _FOR_QUESTIONS,
            turns=counted(self.max_turns, "turn"),
            task=task.text,
        )

    def _play(self, move: SqlMove) -> MoveResult:
        try:
            return self._played(self._open(), move)
        except GemError as error:  # PostgreSQL's server is gone
            return fault("The database is gone.", str(error))

    def _played(self, database: SqliteDatabase | PostgresDatabase, move: SqlMove) -> MoveResult:
        if move.tag == _ANSWER:
            task = self._task
            if task.query is None:
                correct = database.dump() == task.end
            else:
                correct = is_right(move.text, task.answer, task.is_ordered)
            return self._answered(correct)
        try:
            result = database.execute(move.text)
        except StatementError as error:
            return illegal(f"The statement failed: {error}.")
        finally:
            if database.has_written:
                self.statements.append(move.text)
        return legal(f"Result:\n{shown(result)}")

    def _malformed(self) -> MoveResult:
        return malformed("Neither <sql>…</sql> nor <answer>…</answer> was found.", 0.0, ends=False)

    def _random_action(self) -> str:
        """Return a statement that reads or writes a table, or an answer: a number, or a value of the database."""
        rng, tables = self.action_rng, self._task.content.tables
        name = rng.choice([name for name in tables if name != "code_list"])
        row, draw = rng.choice(tables[name]), rng.random()
        column = rng.choice(list(row))
        if draw < 0.35:
            return f"<sql>SELECT {column}, COUNT(*) FROM {name} GROUP BY {column} LIMIT 5</sql>"
        if draw < 0.5:
            return f"<sql>SELECT * FROM {name} WHERE id > {row['id']}</sql>"
        if draw < 0.6:
            return f"<sql>DELETE FROM {name} WHERE id = {row['id']}</sql>"
        if draw < 0.75:
            value = row[column] if isinstance(row[column], int) else 1
            return f"<sql>UPDATE {name} SET {column} = {value + 1} WHERE id = {row['id']}</sql>"
        if self._task.query is None:
            return "<answer>done</answer>"
        return f"<answer>{rng.randrange(20) if draw < 0.9 else row[column]}</answer>"

    def _load(self, episode: dict[str, Any]) -> None:
        super()._load(episode)
        integer("number of statements", len(self.statements), maximum=_MOST_STATEMENTS)
        self._task = task_of(self.task, self.level, self.split, self.tasks)
        self._database = None

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_database": None}


class SqlPolicy(gem.Policy[str, str]):
    """Looks up what an agent must know, executes the gold SQL, one statement a turn, and answers.

    It reads the gold SQL from the environment, and the answer from the result.
    """

    def __init__(self, env: gem.Env[Any, Any]) -> None:
        self.env = env
        self._left: list[str] = []

    def reset(self, observation: str, info: Info) -> None:
        env: SqlEnv = self.env.unwrapped  # type: ignore[assignment]  # a policy of this environment
        looks = [_SCHEMA_HINTS[env.engine]] if env.level > 1 else []
        if env.level == 3:
            looks.append("SELECT * FROM code_list")
        self._left = [*looks, *env.current.statements][::-1]
        self._is_question = env.current.query is not None

    def act(self, observation: str, info: Info) -> str:
        if self._left:
            return f"<sql>{self._left.pop()}</sql>"
        if not self._is_question:
            return "<answer>done</answer>"
        values = observation.strip().split("\n")[2:]
        return "<answer>{}</answer>".format("\n".join(values))
