"""The documents are correct: their links have targets, their commands exist. test_guides.py runs their code."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner
from gem.cli.main import cli

from gem import built_in
from gem.discovery.manifest import FILE_NAME
from gem_questions import plugin as questions
from gem_rollout import plugin as rollout

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

ROOT = Path(__file__).parents[1]
DOCUMENTS = sorted(
    path
    for pattern in ("*.md", "docs/**/*.md", "packages/*/README.md", "hub/README.md", "benchmarks/*.md")
    for path in ROOT.glob(pattern)
)
TEXTS = {str(path.relative_to(ROOT)): path.read_text(encoding="utf-8") for path in DOCUMENTS}
COMMANDS = sorted(
    {match for text in TEXTS.values() for match in re.findall(r"(?:^|`)gem ([a-z]+(?:-[a-z]+)*)", text, re.MULTILINE)}
)


@pytest.mark.parametrize("name", TEXTS)
def test_links_lead_somewhere(name: str) -> None:
    """Every relative link of a document names a file or folder of the repository."""
    links = re.findall(r"\]\((?!https?:|#|mailto:)([^)#]+)", TEXTS[name])
    assert not [link for link in links if not (ROOT / name).parent.joinpath(link).exists()]


@pytest.mark.parametrize("command", COMMANDS)
def test_a_command_in_a_document_exists(command: str) -> None:
    """Every 'gem NAME' in the documents is a command with a help page that shows an example."""
    done = CliRunner().invoke(cli, [command, "--help"], prog_name="gem")
    assert done.exit_code == 0, done.output
    assert "gem " + command in done.output.partition("Example")[2]


def test_the_page_of_wrappers_lists_each() -> None:
    """The table has the name and the class of every wrapper of gem-core and of the libraries on it."""
    rows = re.findall(r"^\| `(\w+)` \| `([\w.:]+)` \|", TEXTS["docs/wrappers.md"], re.MULTILINE)
    offered = (built_in.WRAPPERS, rollout.gem_wrappers(), questions.gem_wrappers())
    assert sorted(rows) == sorted(item for wrappers in offered for item in wrappers.items())


def test_the_readme_of_the_games_lists_each() -> None:
    """The table has one row for every game; the variants are shown by gem list."""
    (manifest,) = ROOT.glob(f"packages/gem-envs-games/src/*/{FILE_NAME}")
    games = [item["id"] for item in tomllib.loads(manifest.read_text(encoding="utf-8"))["environment"]]
    before_scores = TEXTS["packages/gem-envs-games/README.md"].partition("<!-- python benchmarks/")[0]
    rows = re.findall(r"^\| `((?:game|duel):\S+)` \|", before_scores, re.MULTILINE)
    assert sorted(rows) == sorted(games)


def test_the_readme_opens_with_the_two_commands() -> None:
    """The first two code blocks of the README are the set-up commands, and dev.py has them."""
    blocks = re.findall(r"^```bash\n(.*?)^```", TEXTS["README.md"], re.MULTILINE | re.DOTALL)
    assert blocks[:2] == ["python3 dev.py demo\n", "python3 dev.py test\n"]
    ci = (ROOT / ".ci" / "run").read_text(encoding="utf-8")
    assert "python3 dev.py test" in ci
