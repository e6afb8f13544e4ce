"""The command gem view."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import urllib.request
from collections.abc import Callable
from pathlib import Path

import pytest

from gem_eval.runs import RunFolder

MakeRun = Callable[..., RunFolder]


def gem_view(*arguments: str | Path) -> subprocess.Popen[str]:
    """Start the command."""
    command = [sys.executable, "-m", "gem", "view", *map(str, arguments)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


@pytest.mark.skipif(sys.platform == "win32", reason="sends the signal that Ctrl-C does")
def test_it_serves_until_it_is_interrupted(make_run: MakeRun) -> None:
    """The first line is the address, which answers; Ctrl-C ends the command at once, with nothing to complain about."""
    with gem_view(make_run().path, "--no-open") as process:
        assert process.stdout is not None
        address = process.stdout.readline().strip()
        assert address.startswith("http://127.0.0.1:")
        with urllib.request.urlopen(address) as answer:
            assert b"<title>GEM</title>" in answer.read()
        process.send_signal(signal.SIGINT)
        _, errors = process.communicate(timeout=60)
    assert process.returncode == 0
    assert errors == ""


def test_a_folder_without_a_run_is_refused(tmp_path: Path) -> None:
    """What is wrong with the folder stands in one line, without a traceback."""
    with gem_view(tmp_path, "--no-open") as process:
        _, errors = process.communicate(timeout=60)
    assert process.returncode == 1
    assert "run.json" in errors
    assert "Traceback" not in errors


def test_a_taken_port_is_named(make_run: MakeRun) -> None:
    """A port that another program has is refused by its number."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        with gem_view(make_run().path, "--no-open", "--port", str(port)) as process:
            _, errors = process.communicate(timeout=60)
    assert process.returncode == 1
    assert str(port) in errors
    assert "Traceback" not in errors


@pytest.mark.skipif(not hasattr(os, "geteuid"), reason="takes a folder's permissions away")
def test_a_folder_that_cannot_be_written_can_be_looked_at(make_run: MakeRun) -> None:
    """Looking needs no right to write, also where the index is missing."""
    run = make_run()
    (run.path / "index.jsonl").unlink()
    run.path.chmod(0o555)
    try:
        with gem_view(run.path, "--no-open") as process:
            assert process.stdout is not None
            address = process.stdout.readline().strip()
            with urllib.request.urlopen(f"{address}runs/0/rows") as answer:
                assert b'"count":8' in answer.read()
            process.terminate()
            process.communicate(timeout=60)
    finally:
        run.path.chmod(0o755)
