"""Where rows can lie: files of all formats, folders, memory."""

from __future__ import annotations

import gc
import json
import os
import pickle
import random
import subprocess
import sys
from collections.abc import Callable
from contextlib import suppress
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gem.errors import ArgumentError, ArgumentTypeError, DatasetError
from gem_questions import Rows, RowStream, open_rows
from gem_questions.tables import JsonLines

ROWS: list[dict[str, Any]] = [
    {"problem": f"What is {number}²?\n\tUnicode: ü\u2028漢", "answer": str(number * number)} for number in range(7)
]


def jsonl(path: Path, rows: list[dict[str, Any]] = ROWS) -> Path:
    """Write JSON lines."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows), encoding="utf-8")
    return path


def write_json(path: Path) -> None:
    path.write_text(json.dumps(ROWS, indent=1), encoding="utf-8")


def write_csv(path: Path) -> None:
    import csv

    with path.open("w", encoding="utf-8-sig", newline="") as file:
        writer = csv.DictWriter(file, ["problem", "answer"], delimiter="\t" if path.suffix == ".tsv" else ",")
        writer.writeheader()
        writer.writerows(ROWS)


def write_parquet(path: Path) -> None:
    pa = pytest.importorskip("pyarrow")
    pytest.importorskip("pyarrow.parquet").write_table(pa.Table.from_pylist(ROWS), path, row_group_size=3)


def write_arrow_stream(path: Path) -> None:
    pa = pytest.importorskip("pyarrow")
    with pa.OSFile(str(path), "wb") as sink, pa.ipc.new_stream(sink, pa.Table.from_pylist(ROWS).schema) as writer:
        writer.write_table(pa.Table.from_pylist(ROWS), max_chunksize=2)


def write_arrow_file(path: Path) -> None:
    pa = pytest.importorskip("pyarrow")
    with pa.OSFile(str(path), "wb") as sink, pa.ipc.new_file(sink, pa.Table.from_pylist(ROWS).schema) as writer:
        writer.write_table(pa.Table.from_pylist(ROWS))


WRITERS: dict[str, Callable[[Path], Any]] = {
    "a.jsonl": jsonl,
    "b.ndjson": jsonl,
    "lines.json": jsonl,
    "array.json": write_json,
    "c.csv": write_csv,
    "d.tsv": write_csv,
    "e.parquet": write_parquet,
    "stream.arrow": write_arrow_stream,
    "file.arrow": write_arrow_file,
    "CAPITALS.JSONL": jsonl,
}


def listed(rows: Rows) -> list[Any]:
    """All rows, by index."""
    return [dict(rows[index]) for index in range(len(rows))]


def streamed(path: Path) -> list[Any]:
    """All rows, from front to back."""
    stream = open_rows(path, streaming=True)
    assert isinstance(stream, RowStream)
    return list(stream)


@pytest.mark.parametrize("name", WRITERS)
def test_every_format_gives_the_same_rows(name: str, tmp_path: Path) -> None:
    """By index from both ends, streamed, pickled, and whatever split is asked for."""
    WRITERS[name](tmp_path / name)
    rows = open_rows(tmp_path / name)
    assert listed(rows) == ROWS
    assert rows[-1] == ROWS[-1]
    for index in (7, -8):
        with pytest.raises(IndexError, match="there are 7 rows"):
            rows[index]
    assert listed(open_rows(str(tmp_path / name), split="whatever")) == ROWS
    assert listed(pickle.loads(pickle.dumps(rows))) == ROWS  # our own bytes
    assert streamed(tmp_path / name) == ROWS


@pytest.mark.parametrize("name", ["a.jsonl", "e.parquet", "stream.arrow", "c.csv"])
def test_a_shard_is_read_from_any_place_on(name: str, tmp_path: Path) -> None:
    """The place that comes with a row is the one at which the next row begins."""
    WRITERS[name](tmp_path / name)
    stream = open_rows(tmp_path / name, streaming=True)
    assert isinstance(stream, RowStream)
    shard = stream.shards[0]
    places = [0, *(place for _, place in shard.rows(0))]
    for number, place in enumerate(places):
        assert [row for row, _ in shard.rows(place)] == ROWS[number:]


def test_a_row_is_a_new_object_each_time(tmp_path: Path) -> None:
    """Whoever changes a row changes nobody else's."""
    for name in ("array.json", "a.jsonl"):
        WRITERS[name](tmp_path / name)
        rows = open_rows(tmp_path / name)
        rows[0]["answer"] = "wrong"  # type: ignore[index]
        assert rows[0] == ROWS[0]


SPLIT_LAYOUTS = {
    "data/train-00000-of-00002.parquet": "train",
    "train.jsonl": "train",
    "test/part-0.csv": "test",
    "test/0000.parquet": "test",
    "dev.jsonl": "validation",
    "gsm8k_test.jsonl": "test",
    "aime24-00000-of-00001.parquet": "aime24",
    "olympiad_bench.jsonl": "olympiad_bench",
    "minerva/data.jsonl": "minerva",
    "data.jsonl": "train",
    "part-3.jsonl": "train",
    "default/validation/0000.parquet": "validation",
    "openai-gsm8k-train-00000-of-00002-0123456789abcdef.parquet": "train",
}


@pytest.mark.parametrize("path", SPLIT_LAYOUTS)
def test_the_split_is_read_off_the_path(path: str) -> None:
    """The name says it, or else the folder around it."""
    from gem_questions.splits import _split_of

    assert (_split_of(Path(path)) or "train") == SPLIT_LAYOUTS[path]


def test_a_folder_has_splits(tmp_path: Path) -> None:
    """Shards come in order; another word for a split finds it; the error for a wrong one names those there are."""
    jsonl(tmp_path / "data" / "train-00001-of-00002.jsonl", ROWS[4:6])
    jsonl(tmp_path / "data" / "train-00000-of-00002.jsonl", ROWS[:4])
    jsonl(tmp_path / "validation.jsonl", ROWS[6:])
    (tmp_path / "dataset_infos.json").write_text("{}")
    (tmp_path / ".cache").mkdir()
    jsonl(tmp_path / ".cache" / "train.jsonl", ROWS)
    assert listed(open_rows(tmp_path)) == ROWS[:6]
    for split in ("validation", "val", "dev"):
        assert listed(open_rows(tmp_path, split=split)) == ROWS[6:]
    assert streamed(tmp_path) == ROWS[:6]
    with pytest.raises(DatasetError, match="has no split 'tset'; it has 'train', 'validation'"):
        open_rows(tmp_path, split="tset")
    assert listed(pickle.loads(pickle.dumps(open_rows(tmp_path)))) == ROWS[:6]  # our own bytes


def test_a_folder_that_lacks_a_shard_is_refused(tmp_path: Path) -> None:
    """A set of which a part is missing is not taken for the whole."""
    jsonl(tmp_path / "train-00000-of-00002.jsonl")
    with pytest.raises(DatasetError, match=r"1 of its 2 files .* 00001-of-00002 is missing"):
        open_rows(tmp_path)


def test_a_folder_with_several_sets_is_refused(tmp_path: Path) -> None:
    """Two configurations are not mixed into one set."""
    for name in ("main", "socratic"):
        jsonl(tmp_path / name / "train-00000-of-00001.jsonl")
    with pytest.raises(DatasetError, match="several sets with a split 'train': open one of the folders main, socratic"):
        open_rows(tmp_path)
    assert len(open_rows(tmp_path / "main")) == 7


def test_a_json_object_of_lists_has_splits(tmp_path: Path) -> None:
    """Its keys are the splits."""
    (tmp_path / "a.json").write_text(json.dumps({"train": ROWS[:5], "test": ROWS[5:]}))
    assert listed(open_rows(tmp_path / "a.json", split="test")) == ROWS[5:]
    assert listed(open_rows(tmp_path / "a.json")) == ROWS[:5]
    with pytest.raises(DatasetError, match="no split 'dev'; it has 'train', 'test'"):
        open_rows(tmp_path / "a.json", split="dev")


def test_what_the_library_wrote_and_holds_is_read(tmp_path: Path) -> None:
    """save_to_disk of a set and of a dictionary of sets, and both in memory."""
    datasets = pytest.importorskip("datasets")
    datasets.disable_progress_bars()
    whole = datasets.Dataset.from_list(ROWS)
    both = datasets.DatasetDict({"train": whole, "test": whole.select(range(2))})
    whole.save_to_disk(str(tmp_path / "one"), num_shards=2)
    both.save_to_disk(str(tmp_path / "two"))
    assert listed(open_rows(tmp_path / "one")) == listed(open_rows(whole)) == ROWS
    assert listed(open_rows(tmp_path / "two", split="test")) == listed(open_rows(both, split="test")) == ROWS[:2]
    for source in (tmp_path / "two", both):
        with pytest.raises(DatasetError, match="no split 'aime'; it has 'train', 'test'"):
            open_rows(source, split="aime")
    stream = open_rows(whole.to_iterable_dataset())
    assert isinstance(stream, RowStream)
    assert list(stream) == ROWS
    assert [row for row, _ in stream.shards[0].rows(5)] == ROWS[5:]
    next((tmp_path / "one").glob("*.arrow")).unlink()
    with pytest.raises(DatasetError, match=r"data-00000-of-00002.arrow is missing, which .*state.json names"):
        open_rows(tmp_path / "one")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (b'{"a": 1}\n{"a": \n', r"a.jsonl, line 2 is not a JSON object"),
        (b'{"a": 1}\n\n  \n[1]\n', r"a.jsonl, line 4 is not a JSON object: '\[1\]'"),
        (b'{"a": 1}\r\n\xff\xfe\n', r"a.jsonl, line 2 is not a JSON object"),
        (b'{"a": 1}\n' + b"[" * 100_000, r"a.jsonl, line 2 is not a JSON object"),
    ],
)
def test_a_bad_line_is_an_error_with_its_number(text: bytes, message: str, tmp_path: Path) -> None:
    """The other rows can still be read; the bad one names file and line, by index and streamed."""
    path = tmp_path / "a.jsonl"
    path.write_bytes(text)
    rows = open_rows(path)
    assert rows[0] == {"a": 1}
    with pytest.raises(DatasetError, match=message):
        rows[1]
    with pytest.raises(DatasetError, match=message):
        streamed(path)


@given(
    st.lists(st.dictionaries(st.text(), st.none() | st.integers() | st.text() | st.floats(allow_nan=False))), st.data()
)
def test_json_lines_are_indexed_whatever_is_in_them(rows: list[dict[str, Any]], data: st.DataObject) -> None:
    """Line ends, blank lines, a byte order mark and a missing last newline make no difference."""
    import tempfile

    text = b"\xef\xbb\xbf" if data.draw(st.booleans()) else b""
    for row in rows:
        text += data.draw(st.sampled_from([b"", b"\n", b" \r\n"]))
        text += json.dumps(row, ensure_ascii=data.draw(st.booleans())).encode("utf-8", "surrogatepass")
        text += data.draw(st.sampled_from([b"\n", b"\r\n"]))
    if data.draw(st.booleans()):
        text = text.rstrip(b"\r\n")
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "a.jsonl"
        path.write_bytes(text)
        assert listed(JsonLines(path)) == rows
        if rows:
            assert streamed(path) == rows


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("a.csv", "a,b\n1,2\n1,2,3\n", "line 3 has not as many fields as the heading, which has 2"),
        ("a.csv", 'a,b\n1,"2\n', "is not CSV"),
        ("a.json", "[1, 2]", "element 0 is not an object but int"),
        ("a.json", "[{", "is not JSON"),
        ("a.parquet", "PAR1", "cannot be read as parquet"),
        ("a.arrow", "ARROW1", "cannot be read as arrow"),
        ("a.txt", "a", "must end in one of .parquet"),
        ("a.jsonl", "", "has no rows"),
        ("a.jsonl", "\n \n", "has no rows"),
    ],
)
def test_a_damaged_file_is_an_error_that_names_it(name: str, text: str, message: str, tmp_path: Path) -> None:
    """One sentence with the file and what is wrong, and never another exception."""
    if name.endswith(("parquet", "arrow")):
        pytest.importorskip("pyarrow")
    (tmp_path / name).write_text(text)
    with pytest.raises(DatasetError, match=message) as caught:
        open_rows(tmp_path / name)
    assert name in str(caught.value)


def test_an_empty_folder_is_no_set(tmp_path: Path) -> None:
    """The message says what was looked for."""
    with pytest.raises(DatasetError, match=r"holds no data set: no \.parquet"):
        open_rows(tmp_path)


@pytest.mark.parametrize("source", ["no/such/file.jsonl", "./nothing", "~nosuchuser/x", "a/b/c", "x.parquet", "a b"])
def test_a_path_that_leads_nowhere_is_not_looked_for_on_the_hub(source: str) -> None:
    """What is no name of the hub is said to be missing, with the folder in which it was looked for."""
    with pytest.raises(DatasetError, match=r"there is no file or folder '.*working directory"):
        open_rows(source)


def test_what_cannot_be_meant_is_refused() -> None:
    """Wrong types of source and split."""
    for source in (None, 3, object(), "", b"path"):
        with pytest.raises((ArgumentTypeError, DatasetError)):
            open_rows(source)  # type: ignore[call-overload]
    with pytest.raises(ArgumentError, match="split"):
        open_rows(ROWS, split="")
    with pytest.raises(ArgumentTypeError, match="streaming"):
        open_rows(ROWS, streaming=1)  # type: ignore[call-overload]


def test_a_file_is_open_once_in_a_process(tmp_path: Path) -> None:
    """All who open it share it; it is closed when nobody needs it, and opened anew when it was replaced."""
    path = jsonl(tmp_path / "train.jsonl")
    first = open_rows(path)
    assert open_rows(path) is first is open_rows(tmp_path)
    jsonl(tmp_path / "new.jsonl", ROWS[:2]).replace(path)
    assert len(open_rows(path)) == 2
    assert len(first) == 7
    if Path("/proc/self/fd").is_dir():
        del first
        gc.collect()
        held = set()
        for link in Path("/proc/self/fd").iterdir():
            with suppress(OSError):  # what the listing itself had open, or a thread, is closed by now
                held.add(str(link.readlink()))
        assert not [name for name in held if name.startswith(str(tmp_path))]


def test_a_thousand_environments_take_the_memory_of_one(tmp_path: Path) -> None:
    """Opening a file again allocates next to nothing."""
    import tracemalloc

    path = jsonl(tmp_path / "big.jsonl", [{"problem": "x" * 1000, "answer": str(number)} for number in range(5000)])
    kept = [open_rows(path)]
    tracemalloc.start()
    kept += [open_rows(path) for _ in range(1000)]
    grown, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert grown < 200_000


def test_threads_read_the_same_rows(tmp_path: Path) -> None:
    """A table has no cursor that threads could disturb."""
    from concurrent.futures import ThreadPoolExecutor

    rows = open_rows(jsonl(tmp_path / "a.jsonl", [{"number": number} for number in range(2000)]))
    indices = random.Random(1).choices(range(2000), k=4000)
    with ThreadPoolExecutor(8) as pool:
        assert [row["number"] for row in pool.map(rows.__getitem__, indices)] == indices


def test_heavy_libraries_load_only_for_the_files_that_need_them(tmp_path: Path) -> None:
    """Importing gem_questions loads none of it; JSON lines need neither pyarrow nor datasets, Parquet no datasets."""
    code = (
        "import sys; import gem_questions; assert not [m for m in sys.modules if m.startswith('gem_questions.')]\n"
        "from gem_questions import QuestionEnv, open_rows; open_rows(sys.argv[1])[0]\n"
        "assert not {'pyarrow', 'datasets', 'numpy'} & set(sys.modules), 'jsonl'\n"
        "if len(sys.argv) > 2: open_rows(sys.argv[2])[0]\n"
        "assert 'datasets' not in sys.modules and 'pandas' not in sys.modules"
    )
    files = [str(jsonl(tmp_path / "a.jsonl"))]
    if find_spec("pyarrow") is not None:
        write_parquet(tmp_path / "b.parquet")
        files.append(str(tmp_path / "b.parquet"))
    subprocess.run([sys.executable, "-c", code, *files], check=True)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_a_forked_process_can_open_files_whatever_its_parent_was_doing(tmp_path: Path) -> None:
    """Even where a thread of the parent was in the middle of opening one."""
    code = (
        "import os, sys\nfrom gem_questions import open_rows\nfrom gem_questions import shared\n"
        "with shared._lock:\n"
        "    child = os.fork()\n"
        "    if not child: os._exit(0 if len(open_rows(sys.argv[1])) == 7 else 1)\n"
        "    assert os.waitpid(child, 0)[1] == 0"
    )
    path = jsonl(tmp_path / "a.jsonl")
    subprocess.run([sys.executable, "-c", code, str(path)], check=True, timeout=60)
