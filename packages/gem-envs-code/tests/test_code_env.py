"""Environments over published data sets, on local files in the published schema."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import gem
from gem.errors import ArgumentError, ArgumentTypeError, DatasetError, UnknownArgumentError
from gem_envs_code import CodeEnv

PUBLISHED = {
    "code:CodeContest": ("axon-rl/CodeContest", "train"),
    "code:Taco8k": ("axon-rl/TACO-8k", "train"),
    "code:PrimeIntellect15k": ("axon-rl/PrimeIntellect-15k", "train"),
    "eval:CodeContest": ("axon-rl/CodeContest", "test"),
}
"""Id → data set and split, as the original has them."""

SUM = {"inputs": ["1 2\n", "5 7\n"], "outputs": ["3\n", "12\n"]}
HALF = {"inputs": ["1\n", "4\n"], "outputs": ["0.5\n", "2.0\n"]}
ADD = {"fn_name": "add", "inputs": [[1, 2], [5, 7]], "outputs": [[3], [12]]}
ECHO = [{"input": "a\n", "output": "a\n"}, {"input": "b\n", "output": "b\n"}]

ROWS = [
    {"problem": "Print the sum of two numbers.", "tests": json.dumps(SUM)},
    {"problem": "Print half of a number.", "tests": json.dumps(HALF)},
    {"problem": "Return the sum of two numbers.", "tests": json.dumps(ADD)},
    {"problem": "Echo.", "tests": json.dumps(ECHO)},
]

ANSWERS = [
    "print(sum(map(int, input().split())))",
    "print(int(input()) / 2)",
    "def add(a, b):\n    return a + b",
    "print(input())",
]


@pytest.fixture(params=[".jsonl", ".parquet", "folder"])
def dataset(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    """The rows as a file, or as a folder of files for each split."""
    if request.param == ".parquet":
        pa, parquet = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
        path = tmp_path / "set.parquet"
        rows = [
            {**row, "tests": row["tests"] if isinstance(row["tests"], str) else json.dumps(row["tests"])}
            for row in ROWS
        ]
        parquet.write_table(pa.Table.from_pylist(rows), path)
        return path
    names = ["train-00000-of-00001.jsonl", "test-00000-of-00001.jsonl"] if request.param == "folder" else ["set.jsonl"]
    for name in names:
        (tmp_path / name).write_text("".join(json.dumps(row) + "\n" for row in ROWS))
    return tmp_path if request.param == "folder" else tmp_path / names[0]


@pytest.mark.sampled(4)
@pytest.mark.parametrize("env_id", PUBLISHED)
def test_every_published_id_runs_on_a_local_copy(env_id: str, dataset: Path) -> None:
    """Right answers get 1.0, those to other problems 0.0."""
    env = gem.make(env_id, dataset=dataset)
    assert isinstance(env, CodeEnv)
    assert len(env.rows) == 4
    for index, code in enumerate(ANSWERS):
        observation, _ = env.reset(options={"index": index})
        assert ROWS[index]["problem"] in observation
        assert ("`add`" in observation) == (index == 2)
        _, reward, terminated, truncated, info = env.step(f"```python\n{code}\n```")
        assert (reward, terminated, truncated, info["correct"]) == (1.0, True, False, True)
        assert (info["tests_passed"], info["tests_total"], info["failure"]) == (2, 2, None)
        env.reset(options={"index": index})
        assert env.step(f"```python\n{ANSWERS[index - 1]}\n```")[1] == 0.0


@pytest.mark.parametrize("env_id", PUBLISHED)
def test_an_id_whose_data_is_not_here_says_what_to_do(
    env_id: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The data set's name, and the ways to have it without a network."""
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    monkeypatch.setenv("HF_HOME", str(tmp_path))
    monkeypatch.delenv("GEM_DATA_DIR", raising=False)
    name, split = PUBLISHED[env_id]
    choices = "gem data pull.*dataset=PATH.*GEM_DATA_DIR"
    with pytest.raises(DatasetError, match=f"'{name}' is not on this machine.*{choices}"):
        gem.make(env_id)
    mirror = tmp_path / "mirror" / name
    mirror.mkdir(parents=True)
    (mirror / f"{split}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in ROWS))
    monkeypatch.setenv("GEM_DATA_DIR", str(tmp_path / "mirror"))
    env = gem.make(env_id)
    assert isinstance(env, CodeEnv)
    assert len(env.rows) == 4


def test_the_arguments_of_the_original_are_taken() -> None:
    """All of them, by name, as trainers pass them."""
    env = CodeEnv(
        dataset_name="axon-rl/TACO-8k",
        split="train",
        dataset=ROWS,
        question_key="problem",
        test_key="tests",
        seed=3,
        max_workers=5,
        max_tests=1,
        verbose=False,
        sandbox_type="none",
    )
    env.reset()
    code = ANSWERS[env.index or 0]
    _, reward, _, _, info = env.step(f"```python\n{code}\n```")
    assert (reward, info["tests_total"]) == (1.0, 1)


@pytest.mark.parametrize("streaming", [False, True])
def test_an_evaluation_keeps_the_order_of_the_data_set(streaming: bool, tmp_path: Path) -> None:
    """With eval=True the rows come in their order, also where the set is streamed."""
    path = tmp_path / "set.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in ROWS))
    env = CodeEnv(dataset=path, eval=True, streaming=streaming)
    asked = [env.reset(seed=0 if number == 0 else None)[0] for number in range(len(ROWS))]
    assert [row["problem"] in str(question) for row, question in zip(ROWS, asked, strict=True)] == [True] * len(ROWS)


def test_wrong_arguments_are_refused() -> None:
    """Unknown names, missing data, columns that there are not."""
    with pytest.raises(UnknownArgumentError, match="did you mean 'test_key'"):
        CodeEnv(dataset=ROWS, tests_key="tests")  # type: ignore[call-arg]
    with pytest.raises(ArgumentError, match="name a data set with dataset_name"):
        CodeEnv()
    with pytest.raises(DatasetError, match="no column 'test'; it has the columns 'problem', 'tests'"):
        CodeEnv(dataset=ROWS, test_key="test")
    with pytest.raises(ArgumentError, match="sandbox_type must be one of 'none', 'bwrap'"):
        CodeEnv(dataset=ROWS, sandbox_type="docker")
    with pytest.raises(ArgumentTypeError, match="a data set is a path"):
        CodeEnv(dataset=7)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ({"problem": "?", "tests": "{"}, "the column with tests of row 1 is not JSON"),
        ({"problem": "?", "tests": "[]"}, "of row 1 holds no test"),
        ({"problem": "?", "tests": None}, "row 1 has no tests: its 'tests' is None; remove the row"),
        ({"problem": "", "tests": ROWS[0]["tests"]}, "row 1 has no question: its 'problem' is ''"),
        ({"problem": None, "tests": ROWS[0]["tests"]}, "row 1 has no question: its 'problem' is None"),
    ],
)
def test_a_malformed_row_is_an_error_when_it_is_asked(row: dict[str, Any], message: str) -> None:
    """The message names the row and what is wrong with it."""
    env = CodeEnv(dataset=[ROWS[0], row])
    with pytest.raises(DatasetError, match=message):
        env.reset(options={"index": 1})
    with pytest.raises(DatasetError, match="row 0"):
        CodeEnv(dataset=[row])


@pytest.mark.parametrize(
    "action", [None, 7, b"x", [], {}, {"content": None}, "\ud800", "```", "```python\n\ud800\n```", "x" * 10**6]
)
def test_no_action_crashes(action: Any) -> None:
    """Whatever it is, it earns nothing."""
    env = CodeEnv(dataset=ROWS)
    env.reset(seed=0)
    _, reward, terminated, _, _ = env.step(action)
    assert reward in (-0.1, 0.0)
    assert terminated


def test_a_message_is_an_action_too() -> None:
    """The program in the content of an assistant message counts."""
    env = CodeEnv(dataset=ROWS)
    env.reset(options={"index": 3})
    assert env.step({"role": "assistant", "content": f"```py\n{ANSWERS[3]}\n```"})[1] == 1.0


def test_every_test_is_run() -> None:
    """The original stopped at twelve."""
    tests = {"inputs": [f"{n}\n" for n in range(30)], "outputs": [f"{n}\n" for n in range(29)] + ["other\n"]}
    env = CodeEnv(dataset=[{"problem": "Echo.", "tests": tests}])
    env.reset()
    _, reward, _, _, info = env.step("```python\nprint(input())\n```")
    assert (reward, info["tests_passed"], info["tests_total"]) == (0.0, 29, 30)


def test_a_random_action_is_well_formed_for_every_kind_of_problem() -> None:
    """A program or a function, in a fenced block."""
    env = CodeEnv(dataset=ROWS)
    for index in range(4):
        env.reset(options={"index": index})
        action = env.sample_random_action()
        assert env.step(action)[4]["action_status"] == "legal"
    env.reset(options={"index": 2})
    assert "def add(" in str(env.sample_random_action())


PUBLISHED_ROWS: dict[str, dict[str, Any]] = {
    "code:CodeContest": {
        "name": "1_A",
        "description": "Print the sum.",
        "public_tests": {"input": ["1 2\n"], "output": ["3\n"]},
        "private_tests": {"input": [], "output": []},
        "generated_tests": {"input": ["5 7\n"], "output": ["12\n"]},
    },
    "code:Taco8k": {"question": "Print the sum.", "solutions": "[]", "input_output": json.dumps(SUM), "url": "u"},
    "code:PrimeIntellect15k": {
        "source": "s",
        "prompt": "Print the sum.",
        "verification_info": json.dumps(
            {"language": "python", "test_cases": [{"type": "stdin_stdout", "input": "1 2\n", "output": "3\n"}]}
        ),
    },
}
"""A row of each set as its authors publish it."""
PUBLISHED_ROWS["eval:CodeContest"] = PUBLISHED_ROWS["code:CodeContest"]


@pytest.mark.parametrize("env_id", PUBLISHED)
def test_an_id_takes_the_published_rows(env_id: str) -> None:
    """Under the columns of the authors, beside those of the copies that the id names."""
    with gem.make(env_id, dataset=[PUBLISHED_ROWS[env_id]]) as env:
        for code, paid in ((ANSWERS[0], 1.0), (ANSWERS[1], 0.0)):
            assert "Print the sum." in str(env.reset(seed=0)[0])
            assert env.step(f"```python\n{code}\n```")[1] == paid
