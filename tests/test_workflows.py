"""The workflows have the form that their service asks for, and nothing that published linters call unsafe."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).parents[1]
FOLDER = ROOT / ".github"
WORKFLOWS = sorted((FOLDER / "workflows").glob("*.yml"))
ACTIONS = sorted((FOLDER / "actions").glob("*/action.yml"))


def run(*command: str | Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run([*map(str, command)], cwd=ROOT, capture_output=True, text=True, check=False)


@pytest.mark.nightly
def test_workflows_and_actions_have_the_form_of_the_service() -> None:
    """By the schemas that check-jsonschema brings; a misspelt key is noticed."""
    for schema, files in (("github-workflows", WORKFLOWS), ("github-actions", ACTIONS)):
        done = run(sys.executable, "-m", "check_jsonschema", "--builtin-schema", f"vendor.{schema}", *files)
        assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.nightly
def test_nothing_in_the_workflows_is_known_to_be_unsafe(tmp_path: Path) -> None:
    """By zizmor, without the network: no code from texts of others, no token left where it is not needed."""
    command = [Path(sys.executable).with_name("zizmor"), "--offline", "--no-progress"]
    done = run(*command, FOLDER)
    assert done.returncode == 0, done.stdout + done.stderr
    text = WORKFLOWS[0].read_text(encoding="utf-8")
    unsafe = text + "      - run: echo ${{ github.event.head_commit.message }}\n"
    (tmp_path / "unsafe.yml").write_text(unsafe, encoding="utf-8")
    assert "template-injection" in run(*command, "--config", FOLDER / "zizmor.yml", tmp_path / "unsafe.yml").stdout


def test_an_action_of_this_repository_gets_all_that_it_reads() -> None:
    """A variable of the workflow that an action reads has a value everywhere: without one, its step would fail."""
    for action in ACTIONS:
        for name, default in re.findall(r"\$\{\{ env\.(\w+)( \|\| '[^']+')? \}\}", action.read_text(encoding="utf-8")):
            users = [path for path in WORKFLOWS if f"./.github/actions/{action.parent.name}" in path.read_text("utf-8")]
            assert users
            unset = [
                path.name
                for path in users
                if name not in (yaml.safe_load(path.read_text(encoding="utf-8")).get("env") or {})
            ]
            assert default or not unset, f"{action}: env.{name} has no value in {unset}"
