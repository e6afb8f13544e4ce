"""``gem hub diff`` and the table of changes on a package's page."""

from __future__ import annotations

import copy
import json
import zipfile
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st
from site_pages import conformance_record, documents, parsed
from toy_hub import MOMENT, make_wheel, publish_wheel, synthetic_release

import gem_hub_client.wheel_files as wheel_files
from gem_hub.events import Conformance, Quarantine, Yank
from gem_hub.site.build import pages
from gem_hub.store import Store
from gem_hub_client.cli.group import hub_command
from gem_hub_client.errors import HubError
from gem_hub_client.release_diff import ReleaseChange, change_kind, compare_files, compare_releases

pytestmark = pytest.mark.usefixtures("own_folders")

SCORE = {"episodes": 32, "mean": 0.5, "standard_error": 0.1, "success_rate": 0.5, "mean_turns": 3.0, "error": ""}


def entry(record: dict[str, Any] | None = None, source: str = "author") -> dict[str, Any]:
    """Return a release as a page lists it, with a record of the kit if one is given."""
    (page,) = documents([synthetic_release("toy-envs", "0.1.0", ("toy:Thing-v0", "toy:Other-v0"))[0]])
    released: dict[str, Any] = page["releases"][0]
    if record is not None:
        released |= {"conformance": [record], "conformance_sources": [source]}
    return released


ENTRY = entry()


def places(changes: list[ReleaseChange]) -> list[tuple[str, str, str]]:
    return [(change.part, change.place, change_kind(change)) for change in changes]


OTHER_VALUES: dict[str, Any] = {
    "requires_python": ">=3.12",
    "requires_gem_core": "<9",
    "requires_dist": ["numpy"],
    "hub_requires": ["toy-base"],
    "provides_extra": ["all"],
    "licence": "MIT",
    "author": "Ada",
    "summary": "Other toys",
    "keywords": ["new"],
    "project_urls": {"Home": "https://toys.example"},
    "publisher": "somebody-else",
    "mode": "host",
    "yanked": "broken",
    "description": "one\ntwo",
}


@pytest.mark.parametrize("key", OTHER_VALUES)
def test_each_field_of_the_metadata_is_compared(key: str) -> None:
    """A release that differs in one field alone has this change and no other, either way round."""
    old = entry()
    new = {**copy.deepcopy(old), key: OTHER_VALUES[key]}
    place = {"description": "readme"}.get(key, key)
    assert [change.place for change in compare_releases(old, new)] == [place]
    back = compare_releases(new, old)
    assert [(one.before, one.after) for one in compare_releases(old, new)] == [(one.after, one.before) for one in back]


@pytest.mark.parametrize("key", [key for key in ENTRY["environments"][0] if key != "id"])
def test_each_key_of_the_manifest_is_compared(key: str) -> None:
    """A changed key of one environment is a change of that environment, and of no other."""
    old = entry()
    new = copy.deepcopy(old)
    new["environments"][1][key] = "changed"
    assert [change.place for change in compare_releases(old, new)] == [f"toy:Other-v0 {key}"]


def test_environments_that_come_and_go_are_one_change_each() -> None:
    """An added or removed environment is named with its description; what it holds is no change besides."""
    old = entry(conformance_record({"toy:Thing-v0": {"contract.step": "holds"}}))
    new = entry(
        conformance_record(
            {"toy:Thing-v0": {"contract.step": "holds"}, "toy:New-v0": {"contract.step": "holds", "x.y": "violated"}}
        )
    )
    new["environments"][1]["id"] = "toy:New-v0"
    assert places(compare_releases(old, new)) == [
        ("manifest", "toy:New-v0", "added"),
        ("manifest", "toy:Other-v0", "removed"),
        ("conformance", "toy:New-v0 x.y", "added"),
    ]


@pytest.mark.parametrize("outcome", ["violated", "not tested", "exempt"])
def test_a_clause_that_no_longer_holds_is_told(outcome: str) -> None:
    """Each other outcome of the same clause is a change, also where nothing else differs."""
    old = entry(conformance_record({"toy:Thing-v0": {"contract.step": "holds", "contract.reset": "holds"}}))
    new = entry(conformance_record({"toy:Thing-v0": {"contract.step": outcome, "contract.reset": "holds"}}))
    (change,) = compare_releases(old, new)
    assert (change.place, change.before, change.after) == ("toy:Thing-v0 contract.step", "holds", outcome)


def test_the_hubs_record_counts_before_the_authors() -> None:
    """The newest record of the hub is compared, whatever an author claims later; unknown schemas are left out."""
    holds, violated = (conformance_record({"toy:Thing-v0": {"contract.step": one}}) for one in ("holds", "violated"))
    old = entry(holds, "hub")
    claimed = entry() | {"conformance": [violated, holds], "conformance_sources": ["hub", "author"]}
    assert places(compare_releases(old, claimed)) == [("conformance", "toy:Thing-v0 contract.step", "changed")]
    later = entry() | {"conformance": [holds, {**violated, "schema": 2}], "conformance_sources": ["hub", "hub"]}
    assert compare_releases(old, later) == []
    by_author = compare_releases(old, entry(holds))
    assert [change.place for change in by_author] == ["tested by"]
    assert "gem-core 0.1.0" in by_author[0].after


@pytest.mark.parametrize(
    ("mean", "error", "worth"),
    [
        # 1.96 × sqrt(0.1² + 0.1²) is 0.2772.
        (0.777, 0.1, "within chance"),
        (0.778, 0.1, "more than chance"),
        (0.223, 0.1, "within chance"),
        (0.222, 0.1, "more than chance"),
        # 1.96 × 0.1, where the second mean is exact.
        (0.695, 0.0, "within chance"),
        (0.697, 0.0, "more than chance"),
    ],
)
def test_scores_are_told_apart_from_chance(mean: float, error: float, worth: str) -> None:
    """The border is 1.96 standard errors of the difference, to both sides."""
    outcomes = {"toy:Thing-v0": {"contract.step": "holds"}}
    old = entry(conformance_record(outcomes, scores={"random": SCORE}))
    new = entry(conformance_record(outcomes, scores={"random": {**SCORE, "mean": mean, "standard_error": error}}))
    (change,) = compare_releases(old, new)
    assert (change.place, change.note) == ("toy:Thing-v0 random", worth)
    unknown = entry(conformance_record(outcomes, scores={"random": {**SCORE, "mean": None}}))
    assert places(compare_releases(old, unknown)) == [("scores", "toy:Thing-v0 random", "removed")]


@given(
    st.recursive(
        st.none() | st.integers() | st.text(max_size=3),
        lambda v: st.lists(v) | st.dictionaries(st.text(max_size=3), v),
        max_leaves=4,
    ),
    st.sampled_from(["environments", "conformance", "conformance_sources", "description", "licence"]),
)
def test_a_page_of_any_other_shape_is_refused(value: Any, key: str) -> None:
    """What a hostile hub writes into an entry ends in a comparison or a HubError, and in nothing else."""
    with suppress(HubError):
        compare_releases(ENTRY, {**ENTRY, key: value})


FILES = st.dictionaries(st.sampled_from("abcdef"), st.sampled_from(["0" * 64, "1" * 64]))


@given(FILES, FILES)
def test_files_are_compared_as_sets_of_paths_and_digests(old: dict[str, str], new: dict[str, str]) -> None:
    """What the changes say, applied to the old files, gives the new ones."""
    changed = dict(old)
    for change in compare_files(old, new):
        assert (old.get(change.place), new.get(change.place)) == (change.before, change.after)
        if change.after is None:
            del changed[change.place]
        else:
            changed[change.place] = change.after
    assert changed == new


def run(*arguments: str, code: int = 0) -> Any:
    done = CliRunner().invoke(hub_command, ["diff", *arguments, "--json"])
    assert done.exit_code == code, done.output
    return json.loads(done.stdout) if code == 0 else done.output


@pytest.fixture
def hub(store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Store:
    """A hub with three releases of toy-envs, the configured one; the third one has a file more and one less."""
    for version, files in (
        ("0.1.0", {"toy_envs/old.py": "x = 1\n", "toy_envs/same.py": "y = 1\n"}),
        ("0.2.0", {"toy_envs/same.py": "y = 1\n"}),
        ("0.10.0", {"toy_envs/new.py": "x = 2\n", "toy_envs/same.py": "y = 1\n"}),
    ):
        publish_wheel(store, make_wheel(tmp_path / "dist", version=version, files=files))
    monkeypatch.setenv("GEM_HUB", str(store.folder))
    return store


def test_the_files_of_two_wheels_are_compared(hub: Store) -> None:
    """Added, removed and changed files have their digests; the folder of the metadata has one name in all versions."""
    report = run("toy-envs", "0.1.0", "0.10.0")
    assert report["files_compared"]
    files = {one["place"]: (one["before"] is None, one["after"] is None) for one in report["changes"]}
    assert files == {
        ".dist-info/METADATA": (False, False),
        "toy_envs/__init__.py": (False, False),
        "toy_envs/new.py": (True, False),
        "toy_envs/old.py": (False, True),
    }


def test_the_default_is_the_newest_release_and_the_one_before_it(hub: Store) -> None:
    """Versions are ordered as versions; an unknown one and the first one without another are errors."""

    def versions(*arguments: str) -> tuple[str, str]:
        report = run("toy-envs", *arguments, "--no-files")
        assert not report["files_compared"]
        return report["before"]["version"], report["after"]["version"]

    assert versions() == ("0.2.0", "0.10.0")
    assert versions("0.1") == ("0.1.0", "0.10.0")
    assert versions("0.2.0", "0.1.0") == ("0.2.0", "0.1.0")
    assert "there are 0.10.0, 0.2.0, 0.1.0" in run("toy-envs", "0.3.0", code=1)
    hub_with_one = make_wheel(hub.folder.parent / "dist", "toy-base", ids=("base:Thing-v0",))
    publish_wheel(hub, hub_with_one)
    assert "is its first release" in run("toy-base", code=1)


def test_a_file_that_is_not_the_hubs_is_not_compared(hub: Store) -> None:
    """An altered wheel ends the comparison; a quarantined package offers no files, and the rest is compared."""
    (wheel,) = (path for path in (hub.folder / "files").rglob("*.whl") if "0.2.0" in path.name)
    content = bytearray(wheel.read_bytes())
    content[40] ^= 1
    wheel.chmod(0o644)
    wheel.write_bytes(content)
    assert "is not the wheel of toy-envs 0.2.0" in run("toy-envs", "0.1.0", "0.2.0", code=1)
    hub.add_event(Quarantine(name="toy-envs", by="someone", reason="odd"))
    assert not run("toy-envs", "0.1.0", "0.2.0")["files_compared"]


def test_a_wheel_that_would_fill_the_memory_is_not_read(hub: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    """The sizes that an archive promises are added up before a file of it is read."""
    monkeypatch.setattr(wheel_files, "_MOST_BYTES", 100)
    monkeypatch.setattr(zipfile.ZipFile, "open", lambda *_: pytest.fail("a file was read"))
    assert "its wheel cannot be read" in run("toy-envs", code=1)


def test_the_page_shows_what_is_new_and_escapes_it() -> None:
    """The page compares with the last release that was not yanked; the first release has no such table."""
    hostile = "<script>alert(1)</script>\u202e"
    old, gone, new = (synthetic_release("toy-envs", version, ("toy:Thing-v0",))[0] for version in ("1", "2", "3"))
    new = new.model_copy(update={"metadata": new.metadata.model_copy(update={"licence": hostile, "summary": "x"})})
    common = {"name": "toy-envs", "by": "someone", "created": MOMENT}
    record = conformance_record({"toy:Thing-v0": {hostile: "violated"}})
    events = [Yank(version="2", reason="x", **common), Conformance(version="3", record=record, **common)]
    page = pages(documents([old, gone, new], events))["p/toy-envs/index.html"].decode()
    assert "Changes since 1<" in page
    assert "<script>alert" not in page
    assert "\u202e" not in page
    text = parsed(page).text
    assert "licence" in text
    assert "alert(1)" in text
    assert 'id="changes"' not in pages(documents([old]))["p/toy-envs/index.html"].decode()
