"""Changelogs: what the gate takes from a wheel, and what a package's page shows of it."""

from __future__ import annotations

from pathlib import Path
from typing import Any
from zipfile import ZipFile

import pytest
from click.testing import CliRunner
from hatchling.builders.wheel import WheelBuilder
from hypothesis import given
from hypothesis import strategies as st
from site_pages import documents, parsed
from toy_hub import synthetic_release
from wheel_builder import INFO, Wheel

from gem_hub.changelog import MOST_OF_CHANGELOG
from gem_hub.gate import examine
from gem_hub.records import Release
from gem_hub.site.build import package_page
from gem_hub.site.changelog import Changelog, changelog_of
from gem_hub.site.text import readable
from gem_hub.site.views import view_of
from gem_testing.cli.new import new_command

LOG = """# Changelog

## [0.2.0] - 2026-02-01

New things.

```
## 0.1.0
```

### Fixed

A fault.

## v0.1

The first release.
"""


def recorded(wheel: Wheel) -> Release:
    verdict = examine(*wheel.build(), "someone")
    assert verdict.passed, verdict.refusals
    return verdict.release("someone", published="2026-01-31T12:00:00Z")


def entry(version: str = "0.2.0", changelog: str = "", file: str = "CHANGELOG.md", **metadata: Any) -> dict[str, Any]:
    release, _ = synthetic_release("toy-envs", version)
    fields = release.metadata.model_copy(update={"description": "", **metadata})
    changes = {"metadata": fields, "changelog": changelog, "changelog_file": file if changelog else ""}
    (page,) = documents([release.model_copy(update=changes)])
    shown: dict[str, Any] = readable(page)["releases"][0]
    return shown


@pytest.mark.parametrize(
    "path",
    [
        "toy_envs/CHANGELOG.md",
        "toy_envs/changes.rst",
        "toy_envs/NEWS",
        f"{INFO}/licenses/History.txt",
        f"{INFO}/extra_metadata/CHANGELOG.md",
        f"{INFO}/CHANGELOG",
    ],
)
def test_the_gate_records_the_wheels_changelog(path: str) -> None:
    """It lies in the package's own folder or beside its metadata; its name tells its form."""
    release = recorded(Wheel().with_files({path: LOG}))
    assert (release.changelog, release.changelog_file) == (LOG, path.rpartition("/")[2])


def test_the_page_shows_the_changelog_of_a_new_package(tmp_path: Path) -> None:
    """A wheel that is built as ``gem new`` writes the package has it, and its code does not depend on it."""
    made = CliRunner().invoke(new_command, ["new-envs", "--yes", "--into", str(tmp_path / "new-envs")])
    assert made.exit_code == 0, made.output
    (wheel,) = WheelBuilder(str(tmp_path / "new-envs")).build(directory=str(tmp_path), versions=["standard"])
    verdict = examine(Path(wheel).name, Path(wheel).read_bytes(), "someone")
    assert verdict.passed, verdict.refusals
    release = verdict.release("someone", published="2026-01-31T12:00:00Z")
    assert (release.changelog_file, release.changelog) == (
        "CHANGELOG.md", (tmp_path / "new-envs" / "CHANGELOG.md").read_text(),
    )  # fmt: skip
    assert "new:Treasure-v0" in release.changelog
    assert not any("CHANGELOG" in name and ".dist-info/" not in name for name in ZipFile(wheel).namelist())


@pytest.mark.parametrize("path", ["toy_envs/changelog.py", "toy_envs/docs/CHANGELOG.md", "toy_envs/OLD_CHANGELOG.md"])
def test_other_files_are_no_changelog(path: str) -> None:
    """A record without a changelog has the bytes that it had before there were any."""
    release = recorded(Wheel().with_files({path: LOG}))
    assert release.changelog == ""
    assert b"changelog" not in release.to_bytes()


@pytest.mark.nightly(reason="a huge file")
def test_a_record_with_a_changelog_is_read_again() -> None:
    """Its bytes lead to the same record; huge and broken texts are cut and repaired, so that they fit."""
    release = recorded(Wheel().with_files({"toy_envs/CHANGELOG.md": LOG}))
    assert Release.model_validate_json(release.to_bytes()) == release
    huge = recorded(Wheel().with_files({"toy_envs/CHANGELOG.md": b"\xff\0" + "é".encode() * 400_000}))
    assert len(huge.changelog) <= MOST_OF_CHANGELOG
    assert huge.changelog[:3] == "\ufffdéé"


@pytest.mark.parametrize(
    ("version", "current"),
    [("0.2.0", "## [0.2.0] - 2026-02-01"), ("0.1.0", "## v0.1"), ("0.2.1", ""), ("0.2", "## [0.2.0] - 2026-02-01")],
)
def test_the_entry_of_the_release_stands_apart(version: str, current: str) -> None:
    """An entry goes from its heading to the next of its level, code is no heading, and nothing is lost."""
    found = changelog_of(entry(version, LOG))
    assert found is not None
    assert found.current.partition("\n")[0] == current
    for line in ("New things.", "A fault.", "The first release."):
        assert (line in found.current) is not (line in found.rest)
    assert ("A fault." in found.current) is ("New things." in found.current)


@pytest.mark.parametrize(
    "title", ["Changelog", "Change log", "CHANGES", "Release notes", "What's new?", "What’s new", "History"]
)
def test_a_readme_may_have_it(title: str) -> None:
    """The section below such a heading counts, up to the next heading of its level."""
    text = f"# Toys\n\nWords.\n\n## {title}\n\n### 0.2.0\n\nNew things.\n\n### 0.1.0\n\nFirst.\n\n## Licence\n\nMIT.\n"
    found = changelog_of(entry(description=text, description_content_type="text/markdown"))
    assert found == Changelog("the readme", "text/markdown", "### 0.2.0\n\nNew things.\n", "### 0.1.0\n\nFirst.")


def test_what_is_no_changelog_is_none() -> None:
    """A readme without such a section, or in another language, gives none, and so does an empty section."""
    for text, kind in (("# Toys\n\nChanges are good.", "text/markdown"), ("Changes\n=======\n\nx", "text/x-rst")):
        assert changelog_of(entry(description=text, description_content_type=kind)) is None
    for text in ("## Changelog", "## Changelog\n\n\n## Licence"):
        assert changelog_of(entry(description=text, description_content_type="")) is None
    shown = changelog_of(entry(changelog="Changes\n=======\n", file="CHANGES.rst"))
    assert shown == Changelog("CHANGES.rst of the wheel", "text/plain", "", "Changes\n=======")


HOSTILE = (
    "<script>alert(1)</script> <img src=x onerror=alert(1)> [x](javascript:alert(1)) ![y](https://t.example/y.png)"
)


@given(
    st.lists(
        st.sampled_from(["# ", "## 0.2.0 ", "- ", "\n", "```\n", HOSTILE, "\u202e", "0.2.0\n===\n", "> # 0.2.0\n"]),
        max_size=12,
    ),
    st.sampled_from(["CHANGELOG.md", "CHANGES.rst", "<b>.md"]),
)
def test_a_hostile_changelog_can_do_nothing(pieces: list[str], file: str) -> None:
    """Whatever it says, the page has no element, address or picture of it that could act."""
    release, _ = synthetic_release("toy-envs", "0.2.0")
    changes = {"changelog": "x" + "".join(pieces), "changelog_file": file}
    (page,) = documents([release.model_copy(update=changes)])
    html = package_page(view_of(readable(page))).decode()
    assert "\u202e" not in html
    tree = parsed(html)
    (section,) = (one for one in tree.all("section") if one.attributes.get("aria-labelledby") == "changelog")
    assert not {"script", "img", "b"} & {one.name for one in section.all()}
    assert all(one.attributes.get("href", "https://").startswith("https://") for one in section.all("a"))


def test_one_changelog_serves_all_releases_of_a_page() -> None:
    """Only the offered release carries it, so that a page does not grow by it with each release."""
    releases = [
        synthetic_release("toy-envs", version)[0].model_copy(update={"changelog": LOG, "changelog_file": "NEWS.md"})
        for version in ("0.1.0", "0.2.0", "0.3.0rc1")
    ]
    (page,) = documents(releases)
    assert [one["version"] for one in page["releases"] if "changelog" in one] == ["0.2.0"]
