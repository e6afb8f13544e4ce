"""Tasks from packages of npm: tokens and changes of JavaScript, outcomes of tape, a set end to end."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st

from gem_envs_swe.cli.main import swe_command
from gem_envs_swe.errors import SweError
from gem_envs_swe.languages.javascript import changes_of, tokens_of
from gem_envs_swe.languages.node import code_shown
from gem_envs_swe.languages.npm import fetch_package
from gem_envs_swe.languages.tape_suite import TapeFailure, TapeRun, TapeSuite, read_tape
from gem_envs_swe.task_set import IMAGE, read_rows, read_set
from gem_terminal.engines import Engine, engine_by_name
from gem_terminal.errors import EngineError
from gem_terminal.task import Image

SOURCE = """\
#!/usr/bin/env node
// a < b is no code
var x = a / 2 / b, re = /[/<]+ === /g.test(s) ? "1 < 2" : `3 ${y < 4}`; /* true */
if (!ok && n <= 10) { return { true: n + 1, f: o.false, g: true }; }
"""


def test_tokens_are_those_of_the_language() -> None:
    """Strings, templates, comments and regular expressions are one token, or none."""
    found = [(token.kind, token.text) for token in tokens_of(SOURCE)]
    assert ("regexp", "/[/<]+ === /g") in found
    assert ("string", '"1 < 2"') in found
    assert ("template", "`3 ${y < 4}`") in found
    assert [text for _, text in found].count("/") == 2
    assert not any("comment" in text or "no code" in text for _, text in found)


def test_changes_are_of_code_alone() -> None:
    """Each change replaces one token of code; names of properties, strings and comments stay."""
    made = [(change.what, SOURCE[change.start : change.end], change.text) for change in changes_of(SOURCE)]
    assert made == [
        ("off by one", "2", "3"),
        ("negation", "!", ""),
        ("connective", "&&", "||"),
        ("boundary", "<=", "<"),
        ("off by one", "10", "11"),
        ("order", "+", "-"),
        ("off by one", "1", "2"),
        ("default", "true", "false"),
    ]
    for change in changes_of(SOURCE):
        assert change.applied(SOURCE) != SOURCE


@given(st.text(alphabet=st.sampled_from("ab1 /*'\"`\\[]{}()<>=!&|+-.#\n$é"), max_size=80))
def test_any_text_has_tokens_in_order(text: str) -> None:
    """Tokens do not overlap, and what lies between them is blank or comment."""
    place = 0
    for token in tokens_of(text):
        assert token.start >= place
        assert text.startswith(token.text, token.start)
        place = token.start + len(token.text)
    assert [*changes_of(text)] == [*changes_of(text)]


TAP = """\
TAP version 13
# adds numbers
ok 1 should be equal
not ok 2 should be deeply equivalent
  ---
    operator: deepEqual
    expected: |-
      { a: 1,
        b: 2 }
    actual: { a: 1 }
    at: Test.<anonymous> (/code/repo/test/a.js:12:4)
    stack: |-
      Error: x
  ...
# subtracts
ok 3 should be equal
# another adds
not ok 4 plain
# adds numbers
ok 5 again

1..5
# tests 5
# pass  3
# fail  2
"""


def test_a_test_of_tape_fails_by_any_assertion() -> None:
    """A comment names a test; its first failing assertion is kept with what was expected; the counts are no tests."""
    run = TapeRun()
    read_tape("test/a.js", TAP, run)
    assert run.outcomes == {
        "test/a.js > adds numbers": "failed",
        "test/a.js > subtracts": "passed",
        "test/a.js > another adds": "failed",
    }
    failure = run.failures["test/a.js > adds numbers"]
    assert failure.assertion == "should be deeply equivalent"
    assert failure.fields["expected"] == "{ a: 1,\n  b: 2 }\n"
    assert failure.fields["actual"] == "{ a: 1 }"
    assert failure.fields["at"].endswith("test/a.js:12:4)")


def test_a_statement_shows_the_whole_assertion() -> None:
    """The code of a case ends where the brackets of the assertion that failed are closed, and begins with the case."""
    text = "var t;\ntest('a b', function (t) {\n\tt.equal(\n\t\tf([')', 1]),\n\t\t2\n\t);\n\tt.end();\n});\n"
    failure = TapeFailure("should be equal", {"at": "Test.<anonymous> (/code/repo/test/a.js:3:4)"})
    assert code_shown(text, "test/a.js", "a b", failure) == "\n".join(text.split("\n")[1:6])


@pytest.mark.parametrize(
    "name", ["", "--global", "../x", "a b", "x;id", "git+ssh://host.invalid/x", "http://host.invalid/x"]
)
def test_a_name_that_is_no_package_is_refused(name: str, tmp_path: Path) -> None:
    """Options, paths and addresses do not reach npm."""
    with pytest.raises(SweError, match="no package of npm"):
        fetch_package(name, tmp_path / "new")


def test_the_command_makes_only_bugs_of_npm(tmp_path: Path) -> None:
    """Another kind is refused before anything is fetched."""
    asked = ["make", "npm:minimist", "--kinds", "feature", "--out", str(tmp_path / "set")]
    done = CliRunner().invoke(swe_command, asked)
    assert done.exit_code == 2
    assert "tasks of packages of npm are bugs" in done.output


def _engine() -> Engine:
    if shutil.which("npm") is None:
        pytest.skip("NOT TESTED: npm is not installed")
    try:
        return engine_by_name("auto")
    except EngineError as error:
        pytest.skip(f"NOT TESTED: no engine works here: {error}")


@pytest.mark.containers
@pytest.mark.nightly
@pytest.mark.timeout(3000)
def test_a_package_of_npm_becomes_proved_tasks(tmp_path: Path) -> None:
    """Ten tasks of minimist: doing nothing fails FAIL_TO_PASS alone, and the solution passes all tests."""
    from gem_envs_swe.languages.node import make_node_set

    engine = _engine()
    made = make_node_set("minimist@1.2.8", tmp_path / "set", 10, engine, seed=1)
    rows = read_rows(tmp_path / "set")
    assert made == read_set(tmp_path / "set")
    assert (made.tasks, len(rows), len({row.break_patch for row in rows})) == (10, 10, 10)
    reference = engine.prepare(Image(folder=tmp_path / "set" / IMAGE))
    with TapeSuite(engine, reference, made.test_files) as suite:
        for row in rows:
            assert suite.restores([row.break_patch, row.test_patch, row.patch])
            nothing = suite.run_patched([row.break_patch, row.test_patch])
            assert nothing.named("failed") == set(row.FAIL_TO_PASS)
            assert set(row.PASS_TO_PASS) <= nothing.named("passed")
            gold = suite.run_patched([row.break_patch, row.test_patch, row.patch])
            assert gold.named("passed") == {*row.FAIL_TO_PASS, *row.PASS_TO_PASS}
            assert not any(
                line[1:].strip() in row.problem_statement for line in row.patch.splitlines() if line.startswith("+\t")
            )


@pytest.mark.containers
@pytest.mark.nightly
def test_a_package_without_tests_is_refused(tmp_path: Path) -> None:
    """An archive without tests, as most of npm's are, is refused in a sentence."""
    from gem_envs_swe.languages.node import make_node_set

    with pytest.raises(SweError, match=r"ms 2\.1\.3 holds no tests"):
        make_node_set("ms@2.1.3", tmp_path / "set", 1, _engine())
