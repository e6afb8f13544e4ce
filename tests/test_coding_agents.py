"""A coding agent at work: it writes the skill's environment, checks it, breaks it, and reads what is wrong."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from markdown_it import MarkdownIt

from gem_cli.main import cli
from gem_testing.skill.installing import skill_text
from gem_tools.author_server.command_tools import TOOLS

DOCS = Path(__file__).parents[1] / "docs"


def test_the_guide_lists_the_tools_with_their_arguments() -> None:
    """The table in coding-agents.md has a row for each tool, in order, and the command that it runs exists."""
    text = (DOCS / "guides" / "coding-agents.md").read_text(encoding="utf-8")
    rows = [f"| `{t.name}` | `gem {t.name}` | {', '.join(f'`{name}`' for name in t.properties)} |\n" for t in TOOLS]
    assert f"|---|---|---|\n{''.join(rows)}\n" in text
    for tool in TOOLS:
        assert CliRunner().invoke(cli, [tool.name, "--help"]).exit_code == 0


def files_of(text: str) -> dict[str, str]:
    """Return the blocks of a Markdown text that follow a comment with a path: path → text."""
    found, path = {}, ""
    for token in MarkdownIt().parse(text):
        if token.type == "html_block":
            path = token.content.strip().removeprefix("<!-- ").removesuffix(" -->").partition(": ")[2]
        elif token.type == "fence" and path:
            found[path], path = token.content, ""
    return found


async def author(folder: Path, variables: Mapping[str, str]) -> list[tuple[bool, str]]:
    """Play the agent in a package's folder; return whether each call failed, and its text."""
    from mcp import ClientSession, StdioServerParameters
    from mcp.client.stdio import stdio_client

    answers: list[tuple[bool, str]] = []
    server = StdioServerParameters(
        command=sys.executable, args=["-m", "gem", "skill", "serve", "--dir", str(folder)], env=dict(variables)
    )
    async with stdio_client(server) as (incoming, outgoing), ClientSession(incoming, outgoing) as client:
        await client.initialize()

        async def call(name: str, **arguments: Any) -> None:
            answer = await client.call_tool(name, arguments)
            answers.append((bool(answer.is_error), answer.content[0].text))  # type: ignore[union-attr]

        module = folder / "src" / "word_envs" / "reversal.py"
        sound = module.read_text(encoding="utf-8")
        await call("check")
        module.write_text(sound.replace("self.rng.choice", "random.choice").replace("import re", "import random, re"))
        await call("check", target=".", clauses=["determinism.instances"])
        module.write_text(sound.replace("StateFields(word=str)", "StateFields()"))
        await call("check", target="src/word_envs", clauses=["state"])
        module.write_text(sound.replace("{found[1][::-1]}", "{found[1]}"))
        await call("check", target=".", clauses=["reward"])
        module.write_text(sound)
        await call("eval", id="word:Reversal-v0", episodes=8, out="runs/reference")
        await call("show", run="runs/reference", episode=0)
    return answers


@pytest.mark.nightly
def test_an_agent_writes_checks_breaks_and_mends_an_environment(tmp_path: Path) -> None:
    """By the files of the skill and the server's tools: each planted fault is named with its clause and remedy."""
    folder = tmp_path / "word-envs"
    variables = {**os.environ, "PYTHONPATH": str(folder / "src"), "PYTHONDONTWRITEBYTECODE": "1"}
    new = ["new", "word-envs", "--namespace", "word", "--examples", "single", "--yes"]
    subprocess.run([sys.executable, "-m", "gem", *new], cwd=tmp_path, env=variables, check=True, capture_output=True)
    # What an editable installation adds to the environment: a record of the entry point.
    record = folder / "src" / "word_envs-0.1.0.dist-info"
    record.mkdir()
    (record / "METADATA").write_text("Metadata-Version: 2.1\nName: word-envs\nVersion: 0.1.0\n", encoding="utf-8")
    (record / "entry_points.txt").write_text("[gem.envs]\nword = word_envs\n", encoding="utf-8")
    for path, text in files_of(skill_text()).items():
        with (folder / path).open("a", encoding="utf-8") as file:
            file.write(text)
    sound, chance, state, reward, played, shown = asyncio.run(author(folder, variables))
    assert not sound[0], sound[1]
    assert "5 environments: all clauses hold" in sound[1]
    assert chance[0]
    assert "word:Reversal-v0" in chance[1]
    assert "draw all chance from self.rng" in chance[1]
    assert state[0]
    assert "violated\n" in state[1]
    assert "state." in state[1]
    assert reward[0]
    assert "reward.reference" in reward[1]
    assert not played[0], played[1]
    assert "8 of 8" in played[1]
    assert not shown[0]
    assert "return 1 in 1 turns, success" in shown[1]
