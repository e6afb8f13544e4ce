"""The settings of a registry, and what its guide says of them."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

from gem_hub.cli.serve import serve_command
from gem_hub.errors import HubRefusal
from gem_hub.registry.settings import RegistrySettings
from gem_hub.storage import PRIVATE
from gem_hub.store import Store

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

GUIDE = Path(__file__).parents[2] / "docs/guides/run-a-registry.md"


@pytest.mark.skipif(not GUIDE.is_file(), reason="the guide is beside the packages of the workspace")
def test_the_guide_shows_all_settings_with_their_defaults() -> None:
    """The block of the guide is what a registry without a file has."""
    block = GUIDE.read_text(encoding="utf-8").split("<!-- registry settings -->\n```toml\n")[1].split("```")[0]
    shown = RegistrySettings.model_validate(tomllib.loads(block))
    assert shown == RegistrySettings()
    left_out = RegistrySettings.model_fields.keys() - shown.model_fields_set
    assert left_out == {"address", "issuers"}
    assert shown.quotas.model_fields_set == type(shown.quotas).model_fields.keys()


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("registration = 'everyone'", "registration"),
        ("quotas = { uploads = 3 }", "quotas.uploads"),
        ("connections = '7'", "connections"),
        ("late_days = -1", "late_days"),
        ("public_index = 'file:///x'", "public_index"),
        ("a = ", "is no TOML"),
        ("\ufeff\x00", "is no TOML"),
    ],
)
def test_a_wrong_file_is_refused_with_the_setting(tmp_path: Path, text: str, told: str) -> None:
    """The message names the file and the setting."""
    path = tmp_path / "registry.toml"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(HubRefusal, match=r"registry\.toml: .*" + told.replace(".", r"\.")):
        RegistrySettings.read(path)


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["--registration", "open"], "add --publish"),
        (["--tls-cert", __file__], "add --publish"),
        (["--publish", "--registration", "everyone"], "everyone"),
        (["--publish", "--database", "mysql://x"], "sqlite:///PATH"),
        (["--publish", "--host", "256.1.1.1"], "cannot listen"),
    ],
)
def test_mistakes_on_the_command_line_are_sentences(tmp_path: Path, words: list[str], told: str) -> None:
    """Nothing is served, and no traceback is shown."""
    Store(tmp_path / "hub").rebuild()
    result = CliRunner().invoke(serve_command, [*words, "--hub", str(tmp_path / "hub"), "--port", "0"])
    assert result.exit_code != 0
    assert told in result.output or told in str(result.exception)
    assert result.exception is None or isinstance(result.exception, SystemExit | HubRefusal)


def test_a_folder_with_other_things_becomes_no_hub(tmp_path: Path) -> None:
    """A registry begins only in an empty folder, or in a hub."""
    (tmp_path / "notes.txt").write_text("x")
    result = CliRunner().invoke(serve_command, ["--publish", "--hub", str(tmp_path)])
    assert "is no hub" in str(result.exception)
    assert not (tmp_path / PRIVATE).exists()
