"""MathEnv and MathVisualEnv on local files in the published schema, and without them."""

from __future__ import annotations

import base64
import io
import json
from pathlib import Path
from typing import Any

import pytest
from PIL import Image

import gem
import gem_envs_math
from gem.discovery.manifest import read_specs
from gem.errors import ArgumentError, ArgumentTypeError, DatasetError
from gem_envs_math import MathEnv, MathVisualEnv
from gem_envs_math.math_reward import MathReward

ROWS = [
    {"problem": "What is half of three?", "answer": "\\frac{3}{2}"},
    {"problem": "Solve $x^2 = 4$.", "answer": "x = \\pm 2"},
    {"problem": "How many days has a week?", "answer": "7"},
    {"problem": "Give 0.5 as a fraction in \\boxed{}.", "answer": "\\frac12"},
    {"problem": "Which letter comes first?", "answer": "\\text{A}"},
]
MANIFEST = Path(gem_envs_math.__file__).with_name("environments.toml")
PUBLISHED = [
    spec for spec in read_specs(MANIFEST, "gem-envs-math", gem_envs_math.__version__) if "dataset" in spec.requires
]


def png(colour: int = 7) -> bytes:
    buffer = io.BytesIO()
    Image.new("L", (3, 2), colour).save(buffer, "PNG")
    return buffer.getvalue()


def picture() -> Image.Image:
    return Image.open(io.BytesIO(png()))


@pytest.fixture
def jsonl(tmp_path: Path) -> Path:
    path = tmp_path / "train.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in ROWS), encoding="utf-8")
    return path


def test_the_published_ids_are_all_there() -> None:
    """The ids of the original's data sets, and no other one needs a data set."""
    names = {spec.id for spec in PUBLISHED}
    math_ids = ("ASDiv2K", "GSM8K", "Math12K", "Math8K-3to5", "Orz57K", "DeepScaleR40K", "Geometry3K")
    eval_ids = ("MATH500", "AMC", "OlympiadBench", "Minerva", "AIME24")
    assert names == {*(f"math:{name}" for name in math_ids), *(f"eval:{name}" for name in eval_ids)}


@pytest.mark.parametrize("spec", PUBLISHED, ids=[spec.id for spec in PUBLISHED])
def test_published_ids_on_local_files(spec: Any, jsonl: Path) -> None:
    """Every published id runs on a local file in the published schema, and its reference answers score 1."""
    if spec.id == "math:Geometry3K":
        source: Any = [{**row, "images": [picture()]} for row in ROWS]
    else:
        source = str(jsonl)
    with gem.make(spec, dataset=source) as env:
        policy = gem.make_policy("reference", env)
        for seed in range(len(ROWS)):
            observation, info = env.reset(seed=seed)
            policy.reset(observation, info)
            _, reward, terminated, _, info = env.step(policy.act(observation, info))
            assert (reward, terminated, info["correct"]) == (1.0, True, True), env.unwrapped.row


@pytest.mark.parametrize("spec", PUBLISHED, ids=[spec.id for spec in PUBLISHED])
def test_without_a_network_the_error_names_the_set_and_what_to_do(spec: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """The message names the data set, the command that fetches it and the argument that replaces it."""
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    with pytest.raises(DatasetError) as caught:
        gem.make(spec).reset()
    message = str(caught.value)
    assert spec.kwargs["dataset_name"] in message
    assert "gem data pull" in message
    assert "dataset=" in message


@pytest.mark.parametrize("kind", ["parquet", "arrow", "csv", "rows"])
def test_other_sources(kind: str, tmp_path: Path) -> None:
    """Parquet, Arrow and CSV files and rows in memory ask the same questions."""
    import pyarrow as pa
    import pyarrow.csv
    import pyarrow.parquet

    table = pa.Table.from_pylist(ROWS)
    path = tmp_path / f"train.{kind}"
    if kind == "parquet":
        pa.parquet.write_table(table, path)
    elif kind == "csv":
        pa.csv.write_csv(table, path)
    elif kind == "arrow":
        with pa.OSFile(str(path), "wb") as sink, pa.ipc.new_stream(sink, table.schema) as writer:
            writer.write_table(table)
    env = MathEnv(dataset=ROWS if kind == "rows" else str(path), eval=True)
    asked = [env.reset(seed=0 if index == 0 else None)[0] for index in range(len(ROWS))]
    assert [row["problem"] in question for row, question in zip(ROWS, asked, strict=True)] == [True] * len(ROWS)


def test_a_stream_is_asked_from_front_to_back(jsonl: Path) -> None:
    """With streaming=True and eval=True the rows come in their order, without an index."""
    env = MathEnv(dataset=str(jsonl), eval=True, streaming=True)
    asked = [env.reset(seed=0 if number == 0 else None) for number in range(len(ROWS))]
    assert [row["problem"] in str(question) for row, (question, _) in zip(ROWS, asked, strict=True)] == [True] * len(
        ROWS
    )
    assert all("index" not in info for _, info in asked)


def test_rewards() -> None:
    """Right 1, wrong 0, no box 0 or -0.1, an empty box never right; the last box counts."""
    cases = [
        ("so it is \\boxed{1.5}", 1.0, True, "legal"),
        ("\\boxed{\\frac{6}{4}} or \\boxed{\\frac32}", 1.0, True, "legal"),
        ("\\boxed{1.5} or rather \\boxed{2}", 0.0, False, "legal"),
        ("1.5", 0.0, False, "malformed"),
        ("\\boxed{}", 0.0, False, "legal"),
        ("", 0.0, False, "malformed"),
        (None, 0.0, False, "malformed"),
    ]
    for penalty in (False, True):
        env = MathEnv(dataset=ROWS, use_format_error_reward=penalty)
        for action, reward, correct, status in cases:
            env.reset(options={"index": 0})
            _, paid, terminated, truncated, info = env.step(action)
            assert paid == (-0.1 if penalty and status == "malformed" else reward), action
            assert (info["correct"], info["action_status"]) == (correct, status)
            assert (terminated, truncated) == (True, False)


def test_the_question_says_how_to_answer_once() -> None:
    """The format stands below the question, but not where the question has it; ``answer_format=""`` leaves it out."""
    env = MathEnv(dataset=ROWS)
    for index, row in enumerate(ROWS):
        question, _ = env.reset(options={"index": index})
        assert str(question).count("\\boxed") == 1
        assert str(question).startswith(row["problem"])
    assert MathEnv(dataset=ROWS, answer_format="").reset(options={"index": 2})[0] == ROWS[2]["problem"]


def test_gold_answers_of_any_type() -> None:
    """Numbers and lists of alternatives are gold answers as well as text."""
    rows = [{"problem": "a", "answer": 4}, {"problem": "b", "answer": 2.5}, {"problem": "c", "answer": ["7", "8"]}]
    env = MathEnv(dataset=rows)
    for index, answer in ((0, "4"), (1, "2.5"), (2, "7"), (2, "8")):
        env.reset(options={"index": index})
        assert env.step(f"\\boxed{{{answer}}}")[1] == 1.0
    env.reset(options={"index": 2})
    assert env.step(env.reference_answer(env.row))[1] == 1.0


def test_bad_arguments_are_named() -> None:
    """No data set, a wrong column and a wrong type are GEM errors that say what to do."""
    with pytest.raises(ArgumentError, match="dataset_name"):
        MathEnv()
    with pytest.raises(DatasetError, match=r"no column 'question'.*'problem'"):
        MathEnv(dataset=ROWS, question_key="question").reset()
    with pytest.raises(DatasetError, match=r"no column 'gold'.*'answer'"):
        MathEnv(dataset=ROWS, answer_key="gold")
    with pytest.raises(ArgumentTypeError):
        MathEnv(dataset=ROWS, use_mp="yes")  # type: ignore[arg-type]
    with pytest.raises(ArgumentTypeError):
        MathEnv(dataset=ROWS, answer_format=None)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "stored",
    [picture, png, lambda: {"bytes": png(), "path": None}, lambda: bytearray(png()), lambda: picture().convert("CMYK")],
    ids=["PIL", "bytes", "dict", "bytearray", "CMYK"],
)
@pytest.mark.parametrize("several", [True, False])
def test_pictures_of_every_kind_become_pngs(stored: Any, several: bool) -> None:
    """PIL images, bytes and dicts, alone or in a list, become PNGs in data URLs."""
    rows = [
        {"problem": "<image>How wide is it?", "answer": "3", "images": [stored(), stored()] if several else stored()}
    ]
    observation, _ = MathVisualEnv(dataset=rows).reset()
    pictures = [part for part in observation if part["type"] == "image_url"]
    assert len(pictures) == (2 if several else 1)
    for part in pictures:
        head, _, data = part["image_url"]["url"].partition(",")
        assert head == "data:image/png;base64"
        assert Image.open(io.BytesIO(base64.b64decode(data))).size == (3, 2)
    assert "".join(part["text"] for part in observation if part["type"] == "text").startswith("How wide")


def test_pictures_stand_where_the_text_marks_them() -> None:
    """``<image>`` is replaced by its picture; pictures without a mark come first."""
    row = {"problem": "Compare <image> with <image> please.", "answer": "1", "images": [png(1), png(2), png(3)]}
    observation, _ = MathVisualEnv(dataset=[row]).reset()
    kinds = [part["type"] for part in observation]
    assert kinds == ["image_url", "text", "image_url", "text", "image_url", "text"]
    shown = [part["image_url"]["url"] for part in observation if part["type"] == "image_url"]
    assert [base64.b64decode(url.partition(",")[2]) for url in shown] == [png(1), png(2), png(3)]


def test_pictures_of_a_parquet_file(tmp_path: Path) -> None:
    """The published schema in Parquet: a list of structs with bytes and path."""
    import pyarrow as pa
    import pyarrow.parquet

    rows = [{"images": [{"bytes": png(), "path": "a.png"}], "problem": "<image>x", "answer": "3"}]
    pa.parquet.write_table(pa.Table.from_pylist(rows), tmp_path / "train.parquet")
    observation, _ = MathVisualEnv(dataset=str(tmp_path / "train.parquet")).reset()
    assert [part["type"] for part in observation] == ["image_url", "text"]


@pytest.mark.parametrize("bad", [5, {}, b"no picture", "/nowhere/at/all.png", {"bytes": None, "path": None}, object()])
def test_what_is_no_picture_is_a_dataset_error(bad: Any) -> None:
    """Broken pictures raise DatasetError, nothing else."""
    with pytest.raises(DatasetError, match="picture"):
        MathVisualEnv(dataset=[{"problem": "x", "answer": "1", "images": [bad]}]).reset()


@pytest.mark.parametrize("letter", "ABC")
def test_an_option_is_compared_as_an_option(letter: str) -> None:
    """By its letter in any form or by its own text, in the environment and by the reward that grades it anew."""
    rows = [{"question": "5 - 10?", "options": ["5", "-5", "15"], "answer": letter}]
    env, reward = MathEnv(dataset=rows), MathReward()
    text = rows[0]["options"]["ABC".index(letter)]
    for said, right in (
        (f"({letter})", True), (f"{letter}.", True), (letter.lower(), True), (f"\\textbf{{({letter}) }}{text}", True),
        (text, True), ("A, B", False), ("25", False), (f"{letter} or D", False),
    ):  # fmt: skip
        env.reset(options={"index": 0})
        assert env.step(f"\\boxed{{{said}}}")[1] == float(right), said
        assert reward.grade(said, reward.gold_of(env, env.row)).value == float(right)
    reward.close()
    env.close()


PUBLISHED_ROWS: dict[str, tuple[dict[str, Any], str]] = {
    "math:GSM8K": ({"question": "6 * 8 - 5?", "answer": "6 * 8 = <<6*8=48>>48\n#### 43"}, "43"),
    "math:Math12K": (
        {"problem": "6 * 8 - 5?", "level": "Level 1", "type": "Algebra", "solution": "$\\boxed{43}$"},
        "43",
    ),
    "math:Math8K-3to5": ({"problem": "6 * 8 - 5?", "level": "Level 3", "solution": "$\\boxed{43}$"}, "43"),
    "math:ASDiv2K": (
        {"body": "6 rows of 8 pears, 5 rotten.", "question": "How many left?", "answer": "43 (pears)"},
        "43",
    ),
    "math:Orz57K": ({"0": {"from": "human", "value": "6 * 8 - 5?"}, "1": {"ground_truth": {"value": "43"}}}, "43"),
    "math:DeepScaleR40K": ({"problem": "6 * 8 - 5?", "answer": "43", "solution": "It is 43."}, "43"),
    "eval:MATH500": (
        {"problem": "6 * 8 - 5?", "solution": "$\\boxed{43}$", "answer": "43", "subject": "Algebra"},
        "43",
    ),
    "eval:AMC": ({"id": 0, "problem": "6 * 8 - 5?", "answer": 43.0, "url": "u"}, "43"),
    "eval:AIME24": ({"ID": "2024-I-1", "Problem": "6 * 8 - 5?", "Solution": "long", "Answer": 43}, "043"),
    "eval:Minerva": ({"problem": "6 * 8 - 5?", "type": "Physics (8.01 Fall 1999)", "solution": "\\boxed{43}"}, "43.2"),
    "eval:OlympiadBench": (
        {"question": "6 * 8 - 5?", "final_answer": ["43"], "is_multiple_answer": False, "unit": None, "error": None},
        "43",
    ),
}
"""A row of each set as its authors publish it, and a right answer to it."""


@pytest.mark.parametrize("identity", PUBLISHED_ROWS)
def test_an_id_takes_the_published_rows(identity: str) -> None:
    """Under the columns of the authors, beside those of the copies that the id names."""
    row, right = PUBLISHED_ROWS[identity]
    for rows in ([row], [{"problem": "6 * 8 - 5?", "answer": "43"}]):
        with gem.make(identity, dataset=rows) as env:
            for answer, paid in ((right, 1.0), ("44", 0.0)):
                env.reset(seed=0)
                assert env.step(f"\\boxed{{{answer}}}")[1] == paid


def test_every_id_with_a_data_set_takes_the_published_rows() -> None:
    """No id is left out of the test above but the one with pictures."""
    assert {spec.id for spec in PUBLISHED} - {"math:Geometry3K"} == set(PUBLISHED_ROWS)
