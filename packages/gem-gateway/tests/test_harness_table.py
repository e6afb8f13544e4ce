"""The table of harnesses is complete, names are found, and settings are filled without a way out of their quotes."""

from __future__ import annotations

import json
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st

from gem.errors import ArgumentError
from gem_eval.clients import ScriptedClient
from gem_gateway.cli.harness import harness_command
from gem_gateway.harnesses import HarnessError, harness_policy, harnesses
from gem_gateway.harnesses.harness import filled, filled_json, filled_toml
from gem_gateway.harnesses.installation import folder_of, install, installed, is_installed
from gem_gateway.harnesses.table import DRIVERS, harness_of
from gem_gateway.plugin import gem_harnesses
from gem_rollout.model_agents import _HARNESSES

if sys.version_info >= (3, 11):
    from tomllib import loads
else:
    from tomli import loads


def test_every_program_is_pinned_and_every_driver_is_there() -> None:
    """Each program has an exact version, and each script of ours that a command names exists."""
    for harness in harnesses().values():
        assert harness.installer in ("npm", "pip")
        assert re.fullmatch(r"\d+(\.\d+)+", harness.version), harness.name
        for word in harness.command:
            if word.startswith("{drivers}/"):
                assert (DRIVERS / word.removeprefix("{drivers}/")).is_file()


def test_the_hook_offers_every_harness() -> None:
    """The hook has the programs of the table, and those that a user names; gem-eval knows who brings them."""
    assert set(gem_harnesses()) == {*harnesses(), "command", "python"} == set(_HARNESSES)


def test_a_misspelt_harness_has_a_neighbour() -> None:
    """An unknown name is refused with the nearest one; a version that is none is refused as well."""
    with pytest.raises(ArgumentError, match="did you mean 'codex'"):
        harness_of("codexx")
    with pytest.raises(ArgumentError, match="a version is letters"):
        harness_of("codex:1.0 --registry=x")
    assert harness_of("codex:0.1.0").requirements == ("@openai/codex@0.1.0",)
    for nothing in ("command:", "command:'open", "python:module", "python::function"):
        with pytest.raises(ArgumentError):
            harness_of(nothing)


def test_a_slip_in_a_placeholder_is_refused() -> None:
    """A program would get the braces in place of its task; braces around other words are the shell's."""
    with pytest.raises(ArgumentError, match=r"\{task_fil\} is no placeholder; did you mean \{task_file\}"):
        harness_of("command:./agent {task_fil}")
    assert harness_of("command:awk '{print}' {task_file}").command == ("awk", "{print}", "{task_file}")
    assert harness_of("command:sh -c 'key=1; echo ${key}' {task}").command[2] == "key=1; echo ${key}"


def test_a_program_that_is_not_installed_names_its_command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without its program, a harness makes no policy; the error has the command that installs it."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    with pytest.raises(HarnessError, match=r"run: gem harness install codex:0\.171\.0"):
        harness_policy("codex", ScriptedClient(["hello"]))
    listed = json.loads(CliRunner().invoke(harness_command, ["list", "--json"]).output)["harnesses"]
    assert {one["name"]: one["installed"] for one in listed} == dict.fromkeys(harnesses(), False)


def test_an_installation_that_failed_is_none(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An installer that fails leaves no program behind that counts as installed, and its words in the error."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    npm = tmp_path / "npm"
    npm.write_text('#!/bin/sh\nmkdir -p "$3/node_modules"\necho "no such version" >&2\nexit 1\n')
    npm.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    harness = harness_of("codex")
    with pytest.raises(HarnessError, match="no such version"):
        install(harness)
    assert (folder_of(harness) / "node_modules").is_dir()
    assert not is_installed(harness)
    npm.write_text(npm.read_text().replace("exit 1", "exit 0"))
    assert install(harness) == installed(harness) == folder_of(harness)


@pytest.mark.skipif(sys.platform == "win32", reason="the stand-in for uv is a shell script")
def test_uv_installs_in_place_of_pip_where_it_is_asked_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It gets the pinned requirements, and its words are in the error where it fails."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    uv = tmp_path / "uv"
    uv.write_text(f'#!/bin/sh\necho "$@" >> {shlex.quote(str(tmp_path / "asked"))}\n[ "$1" = pip ] || mkdir -p "$5"\n')
    uv.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    harness = harness_of("openai-agents")
    folder = install(harness, with_uv=True)
    assert is_installed(harness)
    made, filled_in = (tmp_path / "asked").read_text().splitlines()
    assert made.split()[0] == "venv"
    assert made.endswith(str(folder))
    assert filled_in.startswith("pip install ")
    assert filled_in.endswith("openai-agents==0.24.0")
    uv.write_text("#!/bin/sh\necho 'no such version' >&2\nexit 1\n")
    with pytest.raises(HarnessError, match="no such version"):
        install(harness_of("openai-agents:0.1"), with_uv=True)


@given(st.text() | st.text('\x7f\\"\n\U0001f642{}a'))
def test_settings_keep_any_model_name_inside_its_quotes(model: str) -> None:
    """Whatever a model is called, the settings files that name it hold it as it is, and nothing else."""
    codex, opencode = harnesses()["codex"].files[0], harnesses()["opencode"].files[0]
    assert codex.toml is not None
    values = {"model": model, "base_url": "http://127.0.0.1:1/v1", "mcp_url": "http://127.0.0.1:2/mcp"}
    settings = loads(filled_toml(codex.toml, values))
    assert (settings["model"], set(settings["mcp_servers"])) == (model, {"gem"})
    assert filled_json(opencode.json, values)["provider"]["gem"]["models"] == {model: {"name": model}}


def test_a_placeholder_in_a_value_is_not_filled_again() -> None:
    """A task that looks like a placeholder shows no key."""
    assert filled("{task} {other} {", {"task": "{api_key}", "api_key": "secret"}) == "{api_key} {other} {"


def test_the_client_of_an_episode_needs_nothing_but_python() -> None:
    """The command that plays an episode without MCP runs without any package, and explains itself."""
    script = DRIVERS.parent.parent / "mcp_env" / "episode_client.py"
    done = subprocess.run([sys.executable, "-I", "-S", str(script)], capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert "episode call NAME JSON" in done.stderr
