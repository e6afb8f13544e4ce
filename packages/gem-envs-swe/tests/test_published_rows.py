"""Rows of published sets: recognised by their columns, read in all their spellings, refused with a reason."""

from __future__ import annotations

import json
import shutil
import subprocess
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st
from published_rows import FIX, ROWS, without

from gem_envs_swe.cli.main import swe_command
from gem_envs_swe.published.checking import check_set
from gem_envs_swe.published.diffs import reversed_diff
from gem_envs_swe.published.logs import LOG_FORMS
from gem_envs_swe.published.published_row import MalformedRowError, PublishedRow
from gem_envs_swe.published.shapes import SHAPES, _log_forms, read_published, recognise

IMAGES = {
    "swe-bench": "swebench/sweb.eval.x86_64.pallets_1776_flask-5063:latest",
    "swe-bench-multimodal": "swebench/sweb.eval.x86_64.pallets_1776_flask-5063:latest",
    "swe-bench-pro": "jefzda/sweap-images:pallets.flask-abc",
    "swe-gym": "xingyaoww/sweb.eval.x86_64.pallets_s_flask-5063:latest",
    "swe-smith": "swebench/swesmith.x86_64.pallets_1776_flask.bc098406",
    "swe-rebench": "swerebench/sweb.eval.x86_64.pallets_1776_flask-5063",
    "r2e-gym": "namanjain12/orange3_final:abc",
    "multi-swe-bench": "mswebench/cli_m_cli:pr-10009",
    "nemo-gym": "swebench/sweb.eval.x86_64.pallets_1776_flask-5063:latest",
}
LOGS = {
    "swe-bench-multimodal": "marked",
    "swe-bench-pro": "",
    "swe-smith": "pytest",
    "r2e-gym": "r2e",
    "multi-swe-bench": "",
}


def test_every_shape_has_a_row() -> None:
    """No shape is without an example here."""
    assert set(ROWS) == {shape.name for shape in SHAPES} == set(IMAGES)


@pytest.mark.parametrize("name", ROWS)
def test_a_row_is_recognised_and_read(name: str) -> None:
    """A row has the shape of its set, the image that the set's tools would take, and tests that fail before."""
    found = read_published(ROWS[name])
    assert found.shape == ("nemo-gym" if name == "nemo-gym" else name)
    assert found.image == IMAGES[name]
    assert found.log_form == LOGS.get(name, "pytest")
    assert found.row.FAIL_TO_PASS
    assert found.row.PASS_TO_PASS
    assert found.row.patch.startswith("diff --git a/lib/core.py")
    assert "f " in found.row.problem_statement
    assert found.cannot_be_earned == ""


def test_the_patch_of_swe_smith_breaks() -> None:
    """Its column patch is the change that breaks the repository, so the solution is its reverse."""
    row = read_published(ROWS["swe-smith"]).row
    assert row.break_patch == FIX
    assert "\n-    return a + 1\n+    return a\n" in row.patch


def test_other_runners_and_parsers_are_not_guessed() -> None:
    """Names of Go in SWE-smith, and the second version of SWE-rebench, are for parsers that are not here."""
    go = read_published(without(ROWS["swe-smith"], FAIL_TO_PASS=["TestA/b"]))
    assert (go.command, go.log_form) == ("", "")
    second = read_published(without(ROWS["swe-rebench"], "docker_image", image_name="x/y:z"))
    assert (second.image, second.workdir, second.log_form) == ("x/y:z", "/flask", "")
    assert second.parser == "parse_log_pytest of SWE-rebench V2"


def test_r2e_gym_has_the_tests_of_its_image() -> None:
    """The solution leaves tests out; tests that pass afterwards are told apart by the log of the old commit."""
    row = read_published(ROWS["r2e-gym"]).row
    assert (row.FAIL_TO_PASS, row.PASS_TO_PASS) == (("T.test_f",), ("T.test_g",))
    assert "tests/" not in row.patch
    assert row.problem_statement == "f returns its argument."


def test_multi_swe_bench_counts_tests_that_did_not_run() -> None:
    """A test that was absent or skipped before the solution must pass with it."""
    assert read_published(ROWS["multi-swe-bench"]).row.FAIL_TO_PASS == ("TestF", "TestN")


@pytest.mark.parametrize(("kind", "fail_only"), [(None, True), ("pass_and_fail", False), ("fail_only", True)])
def test_marked_names_failures_alone(kind: str | None, fail_only: bool) -> None:
    """Where a row does not say how it is graded, the form of its logs does."""
    assert read_published(without(ROWS["swe-bench-multimodal"], eval_type=kind)).fail_only is fail_only
    assert not read_published(ROWS["swe-bench"]).fail_only


def test_pictures_are_not_part_of_the_text() -> None:
    """The pictures of a multimodal statement are listed beside it."""
    found = read_published(ROWS["swe-bench-multimodal"])
    assert found.pictures == ("https://host.invalid/a.png",)
    assert read_published(without(ROWS["swe-bench-multimodal"], image_assets=None)).pictures == ()


@pytest.mark.parametrize("form", [json.dumps, repr, list, tuple])
@pytest.mark.parametrize("name", ["FAIL_TO_PASS", "fail_to_pass", "Fail_To_Pass"])
def test_a_list_has_four_spellings(form: Any, name: str) -> None:
    """A list is a list, JSON, or Python's literal, and its column is written in any case."""
    tests = ["a::b[x, y]", "a::c['q']", "a::b[x, y]"]
    row = without(ROWS["swe-bench"], "FAIL_TO_PASS", **{name: form(tests)})
    assert read_published(row).row.FAIL_TO_PASS == ("a::b[x, y]", "a::c['q']")


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"patch": ""}, "no patch"),
        ({"patch": None}, "no patch"),
        ({"patch": "return 1 instead of 2"}, "patch is no diff"),
        ({"test_patch": "@@ -1 +1 @@\n-a\n+b\n"}, "test_patch is no diff"),
        ({"problem_statement": ["a"]}, "problem_statement is no text"),
        ({"FAIL_TO_PASS": "['a', 1]"}, "FAIL_TO_PASS is no list of texts"),
        ({"FAIL_TO_PASS": "test_a, test_b"}, "FAIL_TO_PASS is no list of texts"),
        ({"FAIL_TO_PASS": "[" * 100_000}, "FAIL_TO_PASS is no list of texts"),
        ({"FAIL_TO_PASS": {"a": 1}}, "FAIL_TO_PASS is no list of texts"),
        ({"FAIL_TO_PASS": None}, "no FAIL_TO_PASS"),
    ],
)
def test_a_malformed_value_is_refused_with_its_reason(change: dict[str, Any], reason: str) -> None:
    """The error names the column, and holds no more of a value than a line."""
    with pytest.raises(MalformedRowError) as caught:
        read_published(without(ROWS["swe-bench"], **change))
    assert caught.value.reason == reason
    assert len(str(caught.value)) < 300


@pytest.mark.parametrize(
    ("name", "change", "reason"),
    [
        ("swe-smith", {"patch": "GIT binary patch\nliteral 3\n"}, "patch cannot be reversed"),
        ("swe-smith", {"patch": "--- a\n+++ b\n@@ nothing @@\n"}, "patch cannot be reversed"),
        ("r2e-gym", {"parsed_commit_content": "{"}, "parsed_commit_content is no object"),
        ("r2e-gym", {"parsed_commit_content": {"file_diffs": [{"header": 1}]}}, "parsed_commit_content has no files"),
        ("r2e-gym", {"parsed_commit_content": {}}, "no solution"),
        ("multi-swe-bench", {"f2p_tests": ["a"]}, "f2p_tests is no object"),
        ("nemo-gym", {"responses_create_params": {"metadata": {}}}, "no instance_dict"),
        (
            "nemo-gym",
            {"responses_create_params": {"metadata": {"instance_dict": json.dumps(ROWS["nemo-gym"])}}},
            "nested rows",
        ),
    ],
)
def test_a_malformed_row_of_a_set_is_refused(name: str, change: dict[str, Any], reason: str) -> None:
    """What is nested in a row is checked like its columns."""
    with pytest.raises(MalformedRowError) as caught:
        read_published(without(ROWS[name], **change))
    assert caught.value.reason == reason


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3),
    max_leaves=6,
)


@given(st.sampled_from(sorted(ROWS)), st.data())
def test_any_value_in_any_column_is_read_or_refused(name: str, data: st.DataObject) -> None:
    """Whatever a column holds, a row is read or a MalformedRowError says why not."""
    column = data.draw(st.sampled_from(sorted(ROWS[name])))
    row = {**ROWS[name], column: data.draw(JSON)}
    with suppress(MalformedRowError):
        assert isinstance(read_published(row), PublishedRow)


def test_rows_of_other_sets_are_not_recognised() -> None:
    """A row of questions is no task, and its columns are named."""
    assert recognise({"question": "1 + 1", "answer": "2"}) is None
    with pytest.raises(MalformedRowError, match="answer, question"):
        read_published({"question": "1 + 1", "answer": "2"})


def test_every_named_form_of_logs_exists() -> None:
    """The table of repositories names forms that there are."""
    assert set(_log_forms().values()) <= set(LOG_FORMS)


TREES = [
    ("a\nb\nc\n", "a\nx\nc\nd\n"),
    ("a\nb\n", "a\nb"),
    ("a\r\nb\u2028c\n", "a\r\nc\u2028c\n"),
    (None, "new\n"),
    ("old\n", None),
]


@pytest.mark.parametrize(("old", "new"), TREES)
def test_a_reversed_diff_undoes_what_git_applied(old: str | None, new: str | None, tmp_path: Path) -> None:
    """Git applies a diff and then its reverse, and the file is as before."""
    git = shutil.which("git")
    if git is None:
        pytest.skip("git is not installed")
    run = [git, "-C", str(tmp_path), "-c", "core.autocrlf=false"]
    subprocess.run([*run, "init", "-q"], check=True)
    file = tmp_path / "f.py"
    for text in (old, new):
        file.unlink(missing_ok=True)
        if text is not None:
            file.write_bytes(text.encode())
        subprocess.run([*run, "add", "-A"], check=True)
        if text is old:
            commit = [*run, "-c", "user.name=a", "-c", "user.email=a@b", "commit", "-q", "--allow-empty", "-m", "old"]
            subprocess.run(commit, check=True)
    diff = subprocess.run([*run, "diff", "--cached"], check=True, capture_output=True).stdout.decode()
    reverse = reversed_diff(diff)
    subprocess.run([*run, "apply", "--whitespace=nowarn"], input=reverse.encode(), check=True)
    assert (file.read_bytes().decode() if file.exists() else None) == old
    assert reversed_diff(reverse) == diff


def write(path: Path, rows: list[dict[str, Any]]) -> Path:
    """Write rows as JSON lines."""
    path.write_text("".join(f"{json.dumps(row)}\n" for row in rows), encoding="utf-8")
    return path


def test_a_set_is_counted(tmp_path: Path) -> None:
    """Shapes, faults by reason, duplicates, rows that cannot be earned, images here, by recipe and missing."""
    bench = ROWS["swe-bench"]
    rows = [
        bench,
        bench,
        without(bench, instance_id="other"),
        without(bench, instance_id="nothing", FAIL_TO_PASS="[]", patch="--- x"),
        without(bench, instance_id="both", FAIL_TO_PASS=bench["PASS_TO_PASS"], patch="--- y"),
        without(bench, patch=""),
        {"question": 1},
        ROWS["swe-bench-pro"],
        ROWS["swe-smith"],
    ]
    report = check_set(rows, has_image=lambda image: "swesmith" in image, engine="docker")
    assert dict(report.shapes) == {"swe-bench": 5, "swe-bench-pro": 1, "swe-smith": 1}
    assert dict(report.malformed) == {"no patch": 1, "unknown columns": 1}
    assert [fault.row for fault in report.faults] == [5, 6]
    assert (report.repeated_ids, report.repeated_tasks) == (2, 1)
    assert sorted(report.unearnable.values()) == [1, 1]
    assert dict(report.images) == {"recipe": 5, "missing": 1, "here": 1}
    assert (report.rows, report.usable) == (9, 7)


def test_the_command_checks_files_of_three_formats(tmp_path: Path) -> None:
    """JSON lines with a broken line, JSON and Parquet say the same; the exit code is 1 where a row is malformed."""
    import pyarrow as pa
    from pyarrow import parquet

    rows = [without(ROWS["swe-bench"], instance_id=f"a__b-{number}", patch=f"--- {number}") for number in range(3)]
    runner = CliRunner()
    lines = write(tmp_path / "test.jsonl", rows)
    lines.write_text(lines.read_text() + "{broken\n")
    (tmp_path / "rows.json").write_text(json.dumps(rows))
    parquet.write_table(pa.Table.from_pylist(rows), tmp_path / "rows.parquet")
    for name, code in (("test.jsonl", 1), ("rows.json", 0), ("rows.parquet", 0)):
        done = runner.invoke(swe_command, ["check", str(tmp_path / name), "--json"], catch_exceptions=False)
        assert done.exit_code == code, done.output
        said = json.loads(done.stdout)
        assert (said["usable"], said["shapes"]) == (3, {"swe-bench": 3})
        assert said["malformed"] == ({"unreadable line": 1} if code else {})
    shown = runner.invoke(swe_command, ["check", str(tmp_path / "test.jsonl")], catch_exceptions=False).output
    assert "swe-bench (3)" in shown
    assert "from a source archive" in shown


def test_hostile_text_reaches_no_terminal(tmp_path: Path) -> None:
    """Control characters of a row are not printed."""
    row = {"\x1b[31mred\x07": 1, "b": "x"}
    shown = CliRunner().invoke(swe_command, ["check", str(write(tmp_path / "a.jsonl", [row]))]).output
    assert "\x1b" not in shown
    assert "\x07" not in shown
    assert "red" in shown
