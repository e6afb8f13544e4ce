"""``gem swe make`` says what is wrong before it builds anything."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner

from gem_envs_swe.cli.main import swe_command
from gem_envs_swe.errors import SweError
from gem_envs_swe.making.set_maker import MakingOptions, make_set
from gem_terminal.engines.namespace import NamespaceEngine


@pytest.mark.parametrize(
    ("arguments", "why"),
    [
        (["p", "--out", "x", "--kinds", "bug,nothing"], "there is no kind 'nothing'; there are bug, feature"),
        (["p", "--out", "x", "--tasks", "0"], "--tasks"),
        (["p", "--out", "x", "--seed", "-1"], "--seed"),
        (["p"], "--out"),
    ],
)
def test_wrong_options_are_named(arguments: list[str], why: str) -> None:
    """The exit code is 2, and the message has the option."""
    done = CliRunner().invoke(swe_command, ["make", *arguments])
    assert done.exit_code == 2
    assert why in done.output


@pytest.mark.parametrize("wanted", ["x.tar.gz", "not a package", "npm:not a package"])
def test_a_wrong_name_is_told_before_an_engine_is_missed(wanted: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """On a machine without an engine, what is wrong in the command is said first."""
    monkeypatch.setenv("GEM_TERMINAL_ENGINE", "nosuch")
    done = CliRunner().invoke(swe_command, ["make", wanted, "--out", "x"])
    assert isinstance(done.exception, SweError), done.output
    assert wanted.removeprefix("npm:") in str(done.exception)


@pytest.mark.parametrize(
    ("wanted", "folder", "why"),
    [
        ("x.tar.gz", "new", "there is no source archive x.tar.gz"),
        ("not a package", "new", "neither a source archive"),
        ("x.tar.gz", "full", "is not empty; name a new folder"),
        ("x.tar.gz", "full/file", "is not empty; name a new folder"),
    ],
)
def test_what_cannot_be_made_is_refused_at_once(wanted: str, folder: str, why: str, tmp_path: Path) -> None:
    """No engine is asked, and nothing is written."""
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "file").touch()
    with pytest.raises(SweError, match=why):
        make_set(wanted, tmp_path / folder, MakingOptions(1), NamespaceEngine(tmp_path / "images"))
    assert sorted(path.name for path in tmp_path.iterdir()) == ["full"]
