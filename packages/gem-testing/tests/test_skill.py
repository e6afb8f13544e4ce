"""``gem skill``: its texts name what exists, and its files never replace what a user wrote."""

from __future__ import annotations

import json
import re
import shlex
from pathlib import Path

import click
import pytest
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st

from gem import discovery
from gem.errors import ArgumentError
from gem_cli.main import cli
from gem_testing.cli.skill import skill_command
from gem_testing.skill.installing import AGENTS_FILE, SKILL_FILE, install, section_text, skill_text
from gem_testing.skill.managed_text import is_unedited, managed, with_section

TEXTS = {SKILL_FILE: skill_text(), AGENTS_FILE: section_text()}
LINES = sorted(
    {line for text in TEXTS.values() for line in re.findall(r"(?:`|^\$ )(gem [^`\n]*?)(?:`|$)", text, re.MULTILINE)}
)


@pytest.mark.parametrize("line", LINES)
def test_a_command_in_the_texts_exists_with_its_options(line: str) -> None:
    """Each 'gem NAME --option' is a command of an installation, and the option is one of its own."""
    words = shlex.split(line)[1:]
    command: click.Command = cli
    context = click.Context(cli, info_name="gem")
    while words and isinstance(command, click.Group):
        found = command.get_command(context, words[0])
        assert found is not None, line
        command, words = found, words[1:]
        context = click.Context(command, parent=context)
    known = {name for parameter in command.params for name in (*parameter.opts, *parameter.secondary_opts)}
    assert {word for word in words if word.startswith("-")} <= {*known, "--help"}


def test_the_header_is_one_that_agents_read() -> None:
    """The name is the folder's; the description has at most the 1,024 characters of the format (agentskills.io)."""
    header = re.match(r"---\nname: (.*)\ndescription: (.*)\n---\n", skill_text())
    assert header is not None
    assert header[1] == Path(SKILL_FILE).parent.name
    assert 0 < len(header[2]) <= 1024


def test_the_skill_is_printed_and_the_section_too() -> None:
    """As text, and as JSON with the name of the file."""
    assert CliRunner().invoke(cli, ["skill"]).output == skill_text()
    shown = json.loads(CliRunner().invoke(cli, ["skill", "--agents", "--json"]).output)
    assert shown == {"file": AGENTS_FILE, "text": section_text()}


def test_a_project_gets_both_files_once(tmp_path: Path) -> None:
    """A second call changes nothing, and no other file is there."""
    done = CliRunner().invoke(cli, ["skill", "install", "--dir", str(tmp_path), "--json"])
    assert json.loads(done.output)["files"] == {SKILL_FILE: "written", AGENTS_FILE: "written"}
    assert install(tmp_path) == {SKILL_FILE: "unchanged", AGENTS_FILE: "unchanged"}
    files = sorted(str(path.relative_to(tmp_path)) for path in tmp_path.rglob("*") if path.is_file())
    assert files == [SKILL_FILE, AGENTS_FILE]
    assert (tmp_path / SKILL_FILE).read_text(encoding="utf-8").startswith(skill_text())


def test_unedited_texts_of_an_earlier_version_are_replaced(tmp_path: Path) -> None:
    """What the user wrote around the section stays, byte for byte, with the line ends and the mode of the file."""
    (tmp_path / SKILL_FILE).parent.mkdir(parents=True)
    (tmp_path / SKILL_FILE).write_text(managed("---\nname: gem\n---\noutdated\n"), encoding="utf-8")
    earlier = with_section("# Ours\r\nBe kind.\r\n", "outdated\n", AGENTS_FILE) + "\r\nAnd quick.\r\n"
    (tmp_path / AGENTS_FILE).write_bytes(earlier.encode())
    (tmp_path / AGENTS_FILE).chmod(0o640)
    assert install(tmp_path) == {SKILL_FILE: "updated", AGENTS_FILE: "updated"}
    text = (tmp_path / AGENTS_FILE).read_bytes().decode()
    assert text.startswith("# Ours\r\nBe kind.\r\n")
    assert text.endswith("\r\nAnd quick.\r\n")
    assert "outdated" not in text
    assert "\n" not in text.replace("\r\n", "")
    assert (tmp_path / AGENTS_FILE).stat().st_mode & 0o777 == 0o640


@pytest.mark.parametrize("edited", [SKILL_FILE, AGENTS_FILE])
@pytest.mark.parametrize("old", ["gem", "`gem doctor`", "\n\n"])
def test_an_edited_text_is_kept_and_nothing_is_written(edited: str, old: str, tmp_path: Path) -> None:
    """The command fails with the name of the file, and both files are as before."""
    install(tmp_path)
    path = tmp_path / edited
    text = path.read_text(encoding="utf-8")
    place = text.index(old, text.index("# Environments") if edited == SKILL_FILE else text.index("##"))
    path.write_text(text[:place] + "MINE" + text[place + len(old) :], encoding="utf-8")
    before = {name: (tmp_path / name).read_bytes() for name in TEXTS}
    with pytest.raises(ArgumentError, match=re.escape(edited)):
        install(tmp_path)
    assert {name: (tmp_path / name).read_bytes() for name in TEXTS} == before


def test_a_skill_of_the_users_own_is_kept(tmp_path: Path) -> None:
    """A file that GEM never wrote is refused, and AGENTS.md is not begun."""
    (tmp_path / SKILL_FILE).parent.mkdir(parents=True)
    (tmp_path / SKILL_FILE).write_text("mine", encoding="utf-8")
    with pytest.raises(ArgumentError, match="is not as 'gem skill install' wrote it"):
        install(tmp_path)
    assert not (tmp_path / AGENTS_FILE).exists()
    assert (tmp_path / SKILL_FILE).read_text(encoding="utf-8") == "mine"


def test_a_file_that_leads_out_of_the_project_is_refused(tmp_path: Path) -> None:
    """A link to another file of the project is followed and stays a link; one out of it is an error."""
    project = tmp_path / "project"
    project.mkdir()
    outside = tmp_path / "profile"
    outside.write_text("export A=1\n", encoding="utf-8")
    (project / AGENTS_FILE).symlink_to(outside)
    with pytest.raises(ArgumentError, match="a link out of the folder"):
        install(project)
    assert outside.read_text(encoding="utf-8") == "export A=1\n"
    (project / AGENTS_FILE).unlink()
    (project / "CLAUDE.md").write_text("Be kind.\n", encoding="utf-8")
    (project / AGENTS_FILE).symlink_to("CLAUDE.md")
    install(project)
    assert (project / AGENTS_FILE).is_symlink()
    assert (project / "CLAUDE.md").read_text(encoding="utf-8").startswith("Be kind.\n\n<!-- gem skill: begin -->\n")


def test_a_folder_or_file_that_cannot_be_used_is_named(tmp_path: Path) -> None:
    """A missing folder, and an AGENTS.md in another encoding."""
    with pytest.raises(ArgumentError, match="there is no folder"):
        install(tmp_path / "gone")
    (tmp_path / AGENTS_FILE).write_bytes(b"caf\xe9")
    with pytest.raises(ArgumentError, match="is not UTF-8"):
        install(tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == [AGENTS_FILE]


CHARACTERS = st.characters(exclude_characters="\r", codec="utf-8")
TEXT = st.lists(st.text(CHARACTERS, max_size=5) | st.sampled_from(["\n", "\r\n", "<!-- "])).map("".join)


@given(TEXT, TEXT, TEXT)
def test_a_section_changes_nothing_else(text: str, first: str, second: str) -> None:
    """It follows the user's text, it is replaced whole, and replacing it is the same as writing it anew."""
    sections = [section.replace("\r", "") + "\n" for section in (first, second)]
    once = with_section(text, sections[0], AGENTS_FILE)
    assert once.startswith(text)
    assert with_section(once, sections[0], AGENTS_FILE) == once
    assert with_section(once, sections[1], AGENTS_FILE) == with_section(text, sections[1], AGENTS_FILE)
    assert is_unedited(managed(sections[0]))
    assert not is_unedited("x" + managed(sections[0]))


def test_the_server_is_missing_without_its_package(monkeypatch: pytest.MonkeyPatch) -> None:
    """'gem skill serve' without gem-tools gives the line that installs it."""
    monkeypatch.setenv(discovery.SWITCH, "1")
    discovery.clear_caches()
    shown = CliRunner().invoke(skill_command, ["serve"])
    discovery.clear_caches()
    assert shown.exit_code == 2
    assert "pip install gem-tools" in shown.output
