"""What ``gem hub audit``, ``verify`` and ``install`` print, and with which exit codes."""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import partial
from importlib.metadata import distributions
from pathlib import Path

import pytest
from click.testing import CliRunner, Result
from toy_hub import publish_wheel

from gem_hub.events import Quarantine, Yank
from gem_hub.store import Store
from gem_hub_client.cli.group import hub_command

MakeWheel = Callable[..., Path]


@pytest.fixture
def hub(store: Store, wheel: MakeWheel, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A hub with toy-envs 0.1.0, which is the configured one, and installed."""
    publish_wheel(store, wheel())
    info = tmp_path / "site" / "toy_envs-0.1.0.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: toy-envs\nVersion: 0.1.0\n", encoding="utf-8")
    (info / "entry_points.txt").write_text("[gem.envs]\ntoy = toy_envs\n", encoding="utf-8")
    monkeypatch.setattr("importlib.metadata.distributions", partial(distributions, path=[str(info.parent)]))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("GEM_HUB", str(store.folder))
    return store.folder


def run(*arguments: str | Path) -> Result:
    return CliRunner().invoke(hub_command, list(map(str, arguments)))


def test_an_audit_says_what_it_compared(hub: Path) -> None:
    """A sound audit lists the packages and how old the hub's word is, and exits with 0."""
    result = run("audit")
    assert result.exit_code == 0
    assert "toy-envs  0.1.0" in result.stdout
    assert "in order" in result.stdout
    assert "as of 2026-01-31T12:00:00Z" in result.stdout


def test_an_audit_fails_for_a_yank(hub: Path, store: Store) -> None:
    """A yanked release makes the exit code 1, in text and in JSON; control characters in reasons go nowhere."""
    yank = Yank(name="toy-envs", by="someone", version="0.1.0", reason="bad")
    store.add_event(yank.model_copy(update={"reason": "loses \u202erewards"}))  # as a hub without our checks has it
    result = run("audit")
    assert result.exit_code == 1
    assert "loses  rewards" in result.stdout
    report = json.loads(run("audit", "--json").stdout)
    assert report["sound"] is False
    assert report["packages"][0]["findings"][0]["kind"] == "yanked"


def test_an_audit_fails_for_a_quarantine(hub: Path, store: Store) -> None:
    """So does a quarantined package."""
    store.add_event(Quarantine(name="toy-envs", by="someone", reason="steals keys"))
    result = run("audit", "--offline")
    assert result.exit_code == 1
    assert "steals keys" in result.stdout


def test_a_sound_hub_is_verified(hub: Path) -> None:
    """What was read is counted, of the configured hub or of one that is named."""
    result = run("verify")
    assert result.exit_code == 0
    assert "all in order (serial 1, 1 packages, not signed)" in result.stdout
    assert json.loads(run("verify", hub, "--json").stdout)["problems"] == []


@pytest.mark.parametrize(
    ("arguments", "shown"),
    [
        (("search", "toy"), "toy-envs"),
        (("list",), "toy-envs"),
        (("info", "toy-envs"), "needs gem-core"),
        (("info", "toy:Thing-v0"), "toy-envs"),
        (("results", "list", "toy-envs"), "No result is published"),
        (("results", "check", "toy-envs"), "toy-envs has no result"),
    ],
)
def test_a_named_hub_is_asked_in_place_of_those_in_use(
    arguments: tuple[str, ...], shown: str, hub: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Every command that reads finds in ``--hub`` what the hub in use lacks."""
    monkeypatch.setenv("GEM_HUB", str(tmp_path / "elsewhere"))
    assert "toy-envs" not in run(*arguments).stdout
    named = run(*arguments, "--hub", hub)
    assert shown in named.output
    assert "elsewhere" not in named.output


def test_verify_names_the_first_problem(hub: Path) -> None:
    """It names the first, counts the rest, lists all as JSON, and exits with 1."""
    for page in (hub / "simple" / "toy-envs").iterdir():
        page.unlink()
    result = run("verify", hub)
    assert result.exit_code == 1
    assert "index.html: there is no such file" in result.stderr
    assert "… and 1 more" in result.stderr
    result = run("verify", hub, "--json")
    assert result.exit_code == 1
    assert len(json.loads(result.stdout)["problems"]) == 2


def test_gem_core_does_not_replace_itself(hub: Path) -> None:
    """The code that is running is upgraded by the installer alone."""
    result = run("install", "gem-core>=0.1")
    assert result.exit_code == 1
    assert "pip install --upgrade gem-core" in result.output


def test_a_dry_run_prints_one_line_a_package(hub: Path) -> None:
    """Installing says where each package comes from before it does anything."""
    result = run("install", "toy-envs", "--dry-run")
    assert result.exit_code == 0, result.output
    lines = result.stdout.splitlines()
    assert lines[0].split() == ["package", "version", "from"]
    assert lines[1].startswith("toy-envs")
    assert str(hub) in lines[1]
    assert lines[-1] == "Nothing was changed (--dry-run)."
