"""Slices of splits, compressed files, data frames, and rows within JSON objects."""

from __future__ import annotations

import gzip
import json
import pickle
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gem.errors import ArgumentError, DatasetError, GemError
from gem_questions import RowStream, open_rows
from gem_questions.slices import parse_split

ROWS = [{"problem": f"{number}?", "answer": number} for number in range(10)]
TEXT = "".join(json.dumps(row) + "\n" for row in ROWS).encode()
CSV = b"problem,answer\n" + b"".join(b"%d?,%d\n" % (number, number) for number in range(10))


def answers(rows: Any) -> list[Any]:
    return [rows[index]["answer"] for index in range(len(rows))]


ROW_NUMBERS = st.one_of(st.just(""), st.integers(-30, 30).map(str))
PERCENTAGES = st.one_of(st.just(""), st.integers(-100, 100).map(lambda n: f"{n}%"))


@pytest.mark.slow(reason="the judge is the library datasets, whose import takes seconds")
@settings(deadline=None)
@given(st.one_of(st.tuples(ROW_NUMBERS, ROW_NUMBERS), st.tuples(PERCENTAGES, PERCENTAGES)), st.integers(1, 30))
def test_slices_mean_what_they_mean_to_the_library(bounds: tuple[str, str], size: int) -> None:
    """Bounds, percentages and their rounding agree with ``datasets``; where that refuses or takes nothing, so do we."""
    datasets = pytest.importorskip("datasets")
    spec = f"train[{bounds[0]}:{bounds[1]}]"
    rows = [{"answer": number} for number in range(size)]
    try:
        (theirs,) = datasets.ReadInstruction.from_spec(spec).to_absolute({"train": size})
        expected = list(range(size))[theirs.from_ : theirs.to]
    except (ValueError, AssertionError):
        expected = []
    if expected:
        assert answers(open_rows(rows, split=spec)) == expected
    else:
        with pytest.raises(DatasetError):
            open_rows(rows, split=spec)


@pytest.mark.parametrize(
    ("split", "expected"),
    [
        ("train[:3]", [0, 1, 2]),
        ("train[-2:]", [8, 9]),
        ("train[8:99]", [8, 9]),
        ("train[10%:30%]", [1, 2]),
        ("train[:25%]", [0, 1]),
        ("train[-35%:]", [6, 7, 8, 9]),
        ("train[:]", list(range(10))),
    ],
)
def test_a_slice_of_ten_rows(split: str, expected: list[int]) -> None:
    """Counted by hand, for the machine that lacks the library."""
    assert answers(open_rows(ROWS, split=split)) == expected


def test_several_parts_are_joined(tmp_path: Path) -> None:
    """Parts with a plus sign stand one after the other, of one split or of several."""
    (tmp_path / "train.jsonl").write_bytes(TEXT)
    (tmp_path / "test.jsonl").write_bytes(TEXT[: len(TEXT) // 2])
    table = open_rows(tmp_path, split="train[:2] + test[-1:]+train[8:]")
    assert answers(table) == [0, 1, 4, 8, 9]
    assert answers(pickle.loads(pickle.dumps(table))) == [0, 1, 4, 8, 9]
    assert len(open_rows(tmp_path, split="train+test")) == 15
    assert answers(open_rows({"train": ROWS}, split="train[:30%]")) == [0, 1, 2]


@pytest.mark.parametrize(
    "split", ["train[", "train[1]", "train[a:b]", "[:3]", "train[:%]", "train[1:2:3]", "+", "a++b"]
)
def test_a_malformed_split_is_refused(split: str) -> None:
    """The message shows how a split is written."""
    with pytest.raises(ArgumentError, match=r"'train\[:100\]'"):
        open_rows(ROWS, split=split)


@given(st.text(max_size=20))
def test_no_split_crashes(split: str) -> None:
    """Any text is a split, or an error of GEM."""
    try:
        parts = parse_split(split)
        assert parts
        _ = [part.span(7) for part in parts]
    except GemError:
        pass


def test_a_slice_without_rows_is_an_error() -> None:
    """It says how many rows the split has; a slice of a stream says how to go on."""
    for split in ("train[5:5]", "train[10:]", "train[-3:-4]"):
        with pytest.raises(DatasetError, match=r"train\[.*\] takes no row of the split, which has 10"):
            open_rows(ROWS, split=split)
    with pytest.raises(ArgumentError, match="write both alike"):
        open_rows(ROWS, split="train[1:30%]")
    with pytest.raises(ArgumentError, match="open the set without streaming"):
        open_rows("x.jsonl", split="train[:5]", streaming=True)


@pytest.mark.parametrize(
    "name", ["train.jsonl.gz", "TRAIN.JSONL.GZ", "train.ndjson.gz", "train.json.gz", "list.json.gz"]
)
def test_compressed_files_are_read(name: str, tmp_path: Path) -> None:
    """As the plain ones, by path, in a folder, in another process, and as a stream."""
    text = json.dumps(ROWS).encode() if name.startswith("list") else TEXT
    (tmp_path / name).write_bytes(gzip.compress(text))
    table = open_rows(tmp_path / name)
    assert answers(table) == list(range(10))
    assert answers(pickle.loads(pickle.dumps(table))) == list(range(10))
    assert [row["answer"] for row in open_rows(tmp_path / name, streaming=True)] == list(range(10))
    split = "list" if name.startswith("list") else "train"
    assert len(open_rows(tmp_path, split=split)) == 10


def test_a_compressed_stream_goes_on_from_any_place(tmp_path: Path) -> None:
    """Places are those of the decompressed text."""
    (tmp_path / "train.jsonl.gz").write_bytes(gzip.compress(TEXT))
    stream = open_rows(tmp_path / "train.jsonl.gz", streaming=True)
    assert isinstance(stream, RowStream)
    (shard,) = stream.shards
    places = [after for _, after in shard.rows(0)]
    for number, place in enumerate(places):
        assert [row["answer"] for row, _ in shard.rows(place)] == list(range(number + 1, 10))


def test_compressed_csv(tmp_path: Path) -> None:
    """A table of texts, as without compression."""
    (tmp_path / "train.csv.gz").write_bytes(gzip.compress(CSV))
    assert answers(open_rows(tmp_path / "train.csv.gz")) == [str(number) for number in range(10)]


@pytest.mark.parametrize("name", ["a.jsonl.gz", "a.csv.gz", "a.json.gz"])
@pytest.mark.parametrize(
    "content",
    [b"no gzip", gzip.compress(TEXT)[:-9], gzip.compress(TEXT)[:30] + b"x" * 40],
    ids=["no gzip", "cut off", "damaged"],
)
def test_a_damaged_compressed_file_is_an_error_that_names_it(name: str, content: bytes, tmp_path: Path) -> None:
    """Whatever the damage is."""
    (tmp_path / name).write_bytes(content)
    with pytest.raises(DatasetError, match=name):
        open_rows(tmp_path / name)
    with pytest.raises(DatasetError, match=name):
        list(open_rows(tmp_path / name, streaming=True))


def test_a_data_frame_is_a_set_of_rows() -> None:
    """Whole numbers stay whole, missing values are None, arrays are lists, and the index does not matter."""
    pandas, numpy = pytest.importorskip("pandas"), pytest.importorskip("numpy")
    frame = pandas.DataFrame(
        {
            "question": ["a", None, "c"],
            "answer": [1, 2, 3],
            "share": [0.5, float("nan"), 1.0],
            "maybe": pandas.array([1, None, 3], dtype="Int64"),
            "list": [numpy.array(["x", "y"]), [], None],
        },
        index=[7, 7, 9],
    )
    rows = open_rows(frame)
    assert [rows[index] for index in range(3)] == [
        {"question": "a", "answer": 1, "share": 0.5, "maybe": 1, "list": ["x", "y"]},
        {"question": None, "answer": 2, "share": None, "maybe": None, "list": []},
        {"question": "c", "answer": 3, "share": 1.0, "maybe": 3, "list": None},
    ]
    assert type(rows[0]["answer"]) is int
    assert answers(open_rows(frame, split="train[1:]")) == [2, 3]
    assert answers(open_rows({"train": frame})) == [1, 2, 3]
    with pytest.raises(DatasetError, match="two columns of the data frame have one name"):
        open_rows(pandas.concat([frame, frame], axis=1))
    with pytest.raises(DatasetError, match="no rows"):
        open_rows(frame[:0])


def test_an_arrow_table_is_a_set_of_rows() -> None:
    """As it is in memory."""
    pa = pytest.importorskip("pyarrow")
    assert answers(open_rows(pa.Table.from_pylist(ROWS))) == list(range(10))


def test_a_release_of_squad_becomes_rows(tmp_path: Path) -> None:
    """One row for each question, with the columns of Hugging Face; TriviaQA's envelope is opened, too."""
    answer = {"text": "Ann", "answer_start": 4}
    paragraph = {"context": "So, Ann.", "qas": [{"id": "1", "question": "Who?", "answers": [answer, answer]}]}
    article = {"title": "T", "paragraphs": [paragraph, {"context": "None.", "qas": []}]}
    (tmp_path / "squad.json").write_text(json.dumps({"version": "1.1", "data": [article]}), encoding="utf-8")
    rows = open_rows(tmp_path / "squad.json")
    assert [rows[index] for index in range(len(rows))] == [
        {
            "id": "1",
            "title": "T",
            "context": "So, Ann.",
            "question": "Who?",
            "answers": {"text": ["Ann", "Ann"], "answer_start": [4, 4]},
        }
    ]
    (tmp_path / "squad.json").write_text(json.dumps({"data": [article]}), encoding="utf-8")
    assert open_rows(tmp_path / "squad.json")[0]["question"] == "Who?"
    assert len(open_rows(tmp_path / "squad.json", split="data")) == 1
    envelope = {"Data": [{"Question": "Who?", "Answer": {"Value": "Ann"}}], "Domain": "Web", "Version": 1.0}
    (tmp_path / "trivia.json").write_text(json.dumps(envelope), encoding="utf-8")
    assert open_rows(tmp_path / "trivia.json")[0]["Question"] == "Who?"
    one_row = {"question": "Which?", "answer": "a", "options": ["a", "b"]}
    (tmp_path / "one.json").write_text(json.dumps(one_row), encoding="utf-8")
    assert open_rows(tmp_path / "one.json")[0] == one_row
