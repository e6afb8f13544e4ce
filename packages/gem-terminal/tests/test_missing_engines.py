"""Engines of this project whose package is not installed: one sentence with the line that installs it."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from click.testing import CliRunner

from gem.errors import ArgumentError
from gem_terminal import TerminalEnv
from gem_terminal.cli.main import terminal_command
from gem_terminal.engines import engine_by_name, engine_names
from gem_terminal.engines.third_party import announced_engines
from gem_terminal.errors import EngineError

NAMES = ("kubernetes", "remote", "ws://one:7070", "wss://one:7070", "fleet:wss://one:7070,namespace")


@pytest.fixture(autouse=True)
def _no_plugins(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """No package announces an engine."""
    monkeypatch.setenv("GEM_DISABLE_PLUGINS", "1")
    announced_engines.cache_clear()
    yield
    announced_engines.cache_clear()


@pytest.mark.parametrize("name", NAMES)
def test_a_missing_engine_names_its_package(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """As an argument of an environment, in the variable, and as an option of a command, before anything is started."""
    told = f"the engine '{name}' comes with gem-terminal-remote; run: pip install gem-terminal-remote"
    with pytest.raises(EngineError) as raised:
        TerminalEnv("ledger", engine=name)
    assert str(raised.value) == told
    monkeypatch.setenv("GEM_TERMINAL_ENGINE", name)
    with pytest.raises(EngineError) as raised:
        engine_by_name("auto")
    assert str(raised.value) == told
    done = CliRunner().invoke(terminal_command, ["build", "ledger", "--engine", name])
    assert str(done.exception) == told


def test_engines_that_nobody_has_are_unknown() -> None:
    """Those that are there are listed, and none that is not installed."""
    assert engine_names() == ["docker", "namespace"]
    with pytest.raises(ArgumentError, match="'auto', 'docker', 'namespace', got 'podman'"):
        TerminalEnv("ledger", engine="podman")
    with pytest.raises(EngineError, match="there is no engine 'tcp://one:2375'"):
        engine_by_name("tcp://one:2375")


def test_the_command_of_a_missing_package_names_it() -> None:
    """A worker is offered by the same package."""
    done = CliRunner().invoke(terminal_command, ["worker", "--help"])
    assert done.exit_code == 2
    told = "'gem terminal worker' comes with gem-terminal-remote; run: pip install gem-terminal-remote"
    assert told in " ".join(done.output.split())
