"""A set whose making is cut off keeps what is proved, and the same command goes on."""

from __future__ import annotations

import contextlib
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from small_package import write_archive

from gem_envs_swe.errors import SweError
from gem_envs_swe.making.proof_journal import ProofJournal, is_free, is_unfinished
from gem_envs_swe.row import SweRow
from gem_envs_swe.task_set import SweSet, read_rows, read_set

MAKING = {"seed": 0}
TASK = SweRow(instance_id="é.bug\n\u2028", repo="é", problem_statement="?", patch="", FAIL_TO_PASS=("a",), level=3)


def end_early(folder: Path, verdicts: dict[str, SweRow | str]) -> None:
    """Write verdicts to a journal, and end its making by an exception."""
    with contextlib.suppress(KeyboardInterrupt), ProofJournal(folder, MAKING) as journal:
        for digest, verdict in verdicts.items():
            journal.add(digest, verdict)
        raise KeyboardInterrupt


def cut_off(folder: Path) -> Path:
    """Return the journal of a making that was cut off with a task and a rejected candidate."""
    end_early(folder, {"one": TASK, "two": "it is dull"})
    return folder / "proved.jsonl"


@pytest.mark.parametrize("torn", [b"", b'["three', b'["three", "it'])
def test_verdicts_are_kept_without_a_torn_line(torn: bytes, tmp_path: Path) -> None:
    """They are read as they were written, and the next line is whole."""
    journal_file = cut_off(tmp_path / "set")
    with journal_file.open("ab") as file:
        file.write(torn)
    for count in (2, 3):
        with ProofJournal(tmp_path / "set", MAKING) as journal:
            assert len(journal.verdicts) == count
            assert (journal.verdicts["one"], journal.verdicts["two"]) == (TASK, "it is dull")
            journal.add("four", "it is slow")


def test_the_first_line_may_be_torn(tmp_path: Path) -> None:
    """The making then begins anew."""
    (tmp_path / "proved.jsonl").write_bytes(b'{"se')
    with ProofJournal(tmp_path, MAKING) as journal:
        assert journal.verdicts == {}
    assert (tmp_path / "proved.jsonl").read_bytes() == b'{"seed": 0}\n'


def test_nothing_is_kept_where_nothing_is_proved(tmp_path: Path) -> None:
    """The folder is as free as before."""
    end_early(tmp_path / "set", {"two": "it is dull"})
    assert not (tmp_path / "set").exists()


@pytest.mark.parametrize("goes_on", [True, False])
def test_a_set_for_which_time_ran_out_can_go_on(goes_on: bool, tmp_path: Path) -> None:
    """Its tasks can be played, and its journal is kept; that of a whole set goes."""
    cut_off(tmp_path / "set")
    described = SweSet(
        package="é", version="1", archive_sha256="0" * 64, python="3.11.2", seed=0, maker="1", test_command=("true",),
        test_files=(), tests=1, tasks=1,
    )  # fmt: skip
    with ProofJournal(tmp_path / "set", MAKING) as journal:
        journal.finish(described, [TASK], goes_on=goes_on)
    assert (read_set(tmp_path / "set"), read_rows(tmp_path / "set")) == (described, [TASK])
    assert is_unfinished(tmp_path / "set") == is_free(tmp_path / "set") == goes_on
    if goes_on:
        end_early(tmp_path / "set", {"three": "it is dull"})
        with pytest.raises(SweError, match="no finished set"):
            read_set(tmp_path / "set")


@pytest.mark.parametrize("line", [b"{", b"3", b'["a"]', b'["a", {}]', b'[[], "x"]', b"\xff", b"[" * 9999], ids=range(7))
def test_another_journal_is_refused(line: bytes, tmp_path: Path) -> None:
    """Of another seed, with a line that is none, or in use; the file stays."""
    journal_file = cut_off(tmp_path / "set")
    kept = journal_file.read_bytes()
    with pytest.raises(SweError, match=r'another making, \{"seed": 0\}, and not of \{"seed": 1\}'):
        ProofJournal(tmp_path / "set", {"seed": 1})
    with ProofJournal(tmp_path / "set", MAKING), pytest.raises(SweError, match="another process"):
        ProofJournal(tmp_path / "set", MAKING)
    assert journal_file.read_bytes() == kept
    journal_file.write_bytes(kept + line + b"\n")
    with pytest.raises(SweError, match="is damaged"):
        ProofJournal(tmp_path / "set", MAKING)
    assert journal_file.exists()
    assert is_free(tmp_path / "set")


@pytest.mark.nightly
@pytest.mark.only_engine("namespace")
@pytest.mark.usefixtures("engine", "engine_variables")
def test_a_killed_command_goes_on(tmp_path: Path) -> None:
    """After SIGTERM, ctrl-C, SIGKILL and the end of its seconds, the set is that of an undisturbed command."""
    archive = write_archive(tmp_path)
    command = [sys.executable, "-m", "gem", "swe", "make", str(archive), "--engine", "namespace"]
    command += ["--tasks", "5", "--out"]
    folder = tmp_path / "set"
    proved: list[str] = []
    for number, code in ((signal.SIGTERM, 143), (signal.SIGINT, 130), (signal.SIGKILL, -9)):
        with subprocess.Popen([*command, str(folder)], stderr=subprocess.PIPE, text=True) as process:
            deadline = time.monotonic() + 240  # with the build of an image
            while tasks_in(lines := lines_of(folder)) <= tasks_in(proved):
                assert process.poll() is None, process.communicate()[1]
                assert time.monotonic() < deadline
                time.sleep(0.01)
            process.send_signal(number)
            said = process.communicate(timeout=60)[1]
        assert process.returncode == code, said
        assert ("the same command goes on" in said) == (number != signal.SIGKILL)
        assert lines[: len(proved)] == proved
        assert is_unfinished(folder)
        proved = lines
    done = subprocess.run([*command, str(folder), "--seconds", "0.001"], check=True, timeout=600, capture_output=True)
    assert b"The same command goes on: 5 were asked for." in done.stdout
    assert len(read_rows(folder)) == read_set(folder).tasks == tasks_in(proved)
    assert is_unfinished(folder)
    for each in (folder, tmp_path / "undisturbed"):
        subprocess.run([*command, str(each)], check=True, timeout=600)
    assert read_rows(folder) == read_rows(tmp_path / "undisturbed")
    assert read_set(folder) == read_set(tmp_path / "undisturbed")
    assert not is_unfinished(folder)


def lines_of(folder: Path) -> list[str]:
    """Return the whole lines of a journal; none before there is one."""
    path = folder / "proved.jsonl"
    return path.read_text(encoding="utf-8").split("\n")[:-1] if path.exists() else []


def tasks_in(lines: list[str]) -> int:
    """Return how many lines of a journal are tasks."""
    return sum('"instance_id"' in line for line in lines)
