"""Finding installed environment packages without importing them."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import gem
from gem import discovery
from gem.discovery.manifest import ManifestContents, read_manifest
from gem.errors import EntryPointError, PluginWarning, UnknownEnvironmentError

if TYPE_CHECKING:
    from conftest import PluginSite


def announced(site: PluginSite) -> list[tuple[str, str, str, str]]:
    """Return what the distributions of the site announce, those that happen to be installed left out."""
    discovery.clear_caches()
    return [
        (entry.distribution, entry.version, entry.name, entry.value)
        for entry in discovery.entry_points(discovery.ENVIRONMENT_GROUP)
        if (site.folder / entry.value.partition(".")[0]).exists() or entry.value.startswith("absent")
    ]


def test_every_namespace_of_a_distribution_is_found(site: PluginSite) -> None:
    """Each entry point of the group is an announcement with the distribution's name and version."""
    site.add("my-envs", {"one": "my_envs", "two": "my_envs"}, {"my_envs/__init__.py": ""})
    assert announced(site) == [("my-envs", "1.0", "one", "my_envs"), ("my-envs", "1.0", "two", "my_envs")]
    assert {"one", "two"} <= set(discovery.namespaces())


def test_the_order_is_that_of_the_names(site: PluginSite) -> None:
    """Whatever order a folder lists its entries in, distributions come sorted by name."""
    for letter in "dbca":
        site.add(f"envs-{letter}", {"same": f"absent_{letter}"}, {})
    assert [entry[0] for entry in announced(site)] == ["envs-a", "envs-b", "envs-c", "envs-d"]


def test_other_groups_and_other_distributions_are_none_of_ours(site: PluginSite) -> None:
    """Entry points of other groups, also of ones that begin like ours, announce nothing."""
    site.add("others", "[console_scripts]\ngem.tool = absent:run\n[gem.envsx]\na = absent\n[gem]\nb = absent\n", {})
    assert announced(site) == []
    assert discovery.scan_problems() == ()


def test_one_entry_point_written_twice_counts_once(site: PluginSite) -> None:
    """A repeated line is no second claimant."""
    site.add("my-envs", "[gem.envs]\na = absent\na = absent\n", {})
    assert announced(site) == [("my-envs", "1.0", "a", "absent")]


def test_the_first_of_two_copies_on_the_path_is_used(site: PluginSite, monkeypatch: pytest.MonkeyPatch) -> None:
    """A distribution that stands twice on sys.path, in whatever spelling, is the one that Python would import."""
    site.add("my-envs", {"late": "absent_late"}, {})
    earlier = type(site)(site.folder.parent / "earlier")
    earlier.folder.mkdir()
    monkeypatch.syspath_prepend(str(earlier.folder))
    earlier.add("My_Envs", {"early": "absent_early"}, {})
    assert [entry[2] for entry in announced(site)] == ["early"]


@pytest.mark.parametrize(
    "text",
    [
        "[gem.envs]\nno equals sign\n",
        "[gem.envs]\n = nameless\n[gem.envs]\n\x00\n",
    ],
)
def test_a_malformed_entry_points_file_is_a_problem_of_its_own(site: PluginSite, text: str) -> None:
    """A distribution whose file cannot be parsed hides no other, whether or not it is reported."""
    site.add("broken", text, {})
    site.add("healthy", {"a": "absent"}, {})
    assert ("healthy", "1.0", "a", "absent") in announced(site)


def test_bytes_that_are_no_text_are_a_problem_of_their_own(site: PluginSite) -> None:
    """Entry points that are no UTF-8 are reported under the distribution's folder."""
    (site.add("broken", {"a": "absent"}, {}) / "entry_points.txt").write_bytes(b"[gem.envs]\na = \xff\xfe\n")
    site.add("healthy", {"b": "absent"}, {})
    assert announced(site) == [("healthy", "1.0", "b", "absent")]
    assert [problem.distribution for problem in discovery.scan_problems()] == ["broken-1.0.dist-info"]


@pytest.mark.parametrize("metadata", [None, "", "Name: x\n", "Version: 1.0\n", "\nName: x\nVersion: 1\n"])
def test_a_distribution_without_name_or_version_is_a_problem_of_its_own(site: PluginSite, metadata: str | None) -> None:
    """Where METADATA is missing or says neither name nor version, the folder stands for the name."""
    site.add("broken", {"a": "absent"}, {}, metadata)
    site.add("healthy", {"b": "absent"}, {})
    assert announced(site) == [("healthy", "1.0", "b", "absent")]
    (problem,) = discovery.scan_problems()
    assert str(problem).startswith("broken-1.0.dist-info: its entry points cannot be read")


def test_the_environments_of_a_namespace_come_from_the_manifest(site: PluginSite) -> None:
    """The specs carry the distribution's name and version, and nothing of the package is imported."""
    site.add_thing("my-things", "my_things", "things")
    found = discovery.installed("things")
    assert found.problems == ()
    assert sorted(found.specs) == ["things:Thing-v0", "things:Thing-v0-big"]
    ((spec,),) = [found.specs["things:Thing-v0-big"]]
    assert (spec.distribution, spec.version, spec.kwargs) == ("my-things", "1.0", {"size": 9})
    assert "my_things" not in sys.modules


def test_a_manifest_of_several_namespaces_is_read_once(site: PluginSite, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever the number of namespaces that a package claims; each has the ids of its own."""
    tables = "".join(f'[[environment]]\nid = "{name}:A-v0"\nentry_point = "m:C"\n' for name in ("one", "two"))
    site.add(
        "my-envs",
        {"one": "my_envs", "two": "my_envs"},
        {"my_envs/__init__.py": "", "my_envs/environments.toml": f"schema = 1\n{tables}"},
    )
    discovery.clear_caches()
    read: list[Path] = []

    def reading(path: Path, distribution: str, version: str) -> ManifestContents:
        read.append(path)
        return read_manifest(path, distribution, version)

    monkeypatch.setattr("gem.discovery.read_manifest", reading)
    assert [list(discovery.installed(name).specs) for name in ("one", "two")] == [["one:A-v0"], ["two:A-v0"]]
    assert len(read) == 1


def test_a_folder_that_hides_an_installed_package_is_named(
    site: PluginSite, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Such as gem_envs_games/ in the working directory: installing the package again would not help."""
    site.add_thing("my-things", "my_things", "things")
    (tmp_path / "here/my_things").mkdir(parents=True)
    (tmp_path / "here/my_things/__init__.py").touch()
    monkeypatch.syspath_prepend(str(tmp_path / "here"))
    discovery.clear_caches()
    with (
        pytest.warns(PluginWarning, match="hides the installed package"),
        pytest.raises(UnknownEnvironmentError, match=r"my-things: .*here.my_things is not my-things's, it hides"),
    ):
        gem.make("things:Thing-v0")


def test_a_namespace_that_nobody_claims_is_empty(site: PluginSite) -> None:
    """Asking for it is no error."""
    assert discovery.installed("nobody-claims-this") == discovery.Installed({}, ())


def test_two_distributions_may_fill_one_namespace(site: PluginSite) -> None:
    """Ids of both are there; an id of both has both specs, sorted by distribution."""
    site.add_thing("b-things", "b_things", "things")
    site.add_thing("a-things", "a_things", "things")
    specs = discovery.installed("things").specs
    assert [spec.distribution for spec in specs["things:Thing-v0"]] == ["a-things", "b-things"]


@pytest.mark.parametrize(
    ("value", "files"),
    [
        ("absent", {}),
        ("broken_pkg", {"broken_pkg/__init__.py": ""}),
        ("broken_pkg", {"broken_pkg/__init__.py": "", "broken_pkg/environments.toml": "schema = 2"}),
        ("broken_pkg", {"broken_pkg/__init__.py": "", "broken_pkg/environments.toml/folder": ""}),
        ("broken_pkg", {"broken_pkg.py": ""}),
        ("broken_pkg:attribute", {"broken_pkg/__init__.py": ""}),
        ("..", {}),
        ("", {}),
    ],
)
def test_a_package_without_a_usable_manifest_is_a_problem_of_its_own(
    site: PluginSite, value: str, files: dict[str, str]
) -> None:
    """The distribution is named, and those that share the namespace are there."""
    site.add("broken", f"[gem.envs]\nthings = {value}\n", files)
    site.add_thing("healthy", "healthy_things", "things")
    found = discovery.installed("things")
    assert [spec.distribution for spec in found.specs["things:Thing-v0"]] == ["healthy"]
    (problem,) = (*found.problems, *discovery.scan_problems())
    assert problem.distribution in ("broken", "broken-1.0.dist-info")  # the folder, where the entry point is refused


def test_the_manifest_of_a_subpackage_is_found_without_importing_the_package(site: PluginSite) -> None:
    """An entry point may name a subpackage; neither it nor its parent is imported."""
    manifest = 'schema = 1\n[[environment]]\nid = "sub:A"\nentry_point = "outer.inner:A"\ndescription = "A."\n'
    site.add(
        "my-envs",
        {"sub": "outer.inner"},
        {
            "outer/__init__.py": "raise RuntimeError",
            "outer/inner/__init__.py": "raise RuntimeError",
            "outer/inner/environments.toml": manifest,
        },
    )
    assert list(discovery.installed("sub").specs) == ["sub:A"]


def test_ids_outside_the_claimed_namespaces_are_reported(site: PluginSite) -> None:
    """They are not offered, and the problem says which entry point would claim them."""
    manifest = 'schema = 1\n[[environment]]\nid = "theirs:A"\nentry_point = "my_envs:A"\ndescription = "A."\n'
    site.add("my-envs", {"mine": "my_envs"}, {"my_envs/__init__.py": "", "my_envs/environments.toml": manifest})
    assert discovery.installed("mine").specs == {}
    assert discovery.installed("theirs").specs == {}
    (problem,) = [found for found in discovery.unclaimed_problems() if found.distribution == "my-envs"]
    assert 'theirs = "my_envs"' in problem.message


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("", ["a-envs", "b-envs"]),
        ("0", ["a-envs", "b-envs"]),
        ("1", []),
        ("ALL", []),
        ("true", []),
        ("a-envs", ["b-envs"]),
        ("A_Envs", ["b-envs"]),
        (" a-envs , b.envs ", []),
        ("other", ["a-envs", "b-envs"]),
    ],
)
def test_plugins_can_be_switched_off(
    site: PluginSite, monkeypatch: pytest.MonkeyPatch, value: str, expected: list[str]
) -> None:
    """GEM_DISABLE_PLUGINS hides all, or those that it names in any spelling."""
    monkeypatch.setenv(discovery.SWITCH, value)
    site.add("a-envs", {"a": "absent_a"}, {})
    site.add("b-envs", {"b": "absent_b"}, {})
    assert [entry[0] for entry in announced(site)] == expected


def test_the_switch_counts_as_long_as_it_is_set(site: PluginSite, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is asked while plugins are off does not hide them afterwards, nor the other way round."""
    site.add_thing("my-things", "my_things", "things")
    for value, found in (("1", False), ("", True), ("my-things", False), ("", True)):
        monkeypatch.setenv(discovery.SWITCH, value)
        assert bool(discovery.installed("things").specs) == found


def test_what_is_installed_later_is_found_after_the_caches_are_cleared(site: PluginSite) -> None:
    """What was found once stays, until clear_caches."""
    assert discovery.installed("things").specs == {}
    site.add_thing("my-things", "my_things", "things")  # clears the caches
    assert discovery.installed("things").specs
    assert discovery.installed("things") is discovery.installed("things")


def test_an_installed_distribution_is_known_by_any_spelling(site: PluginSite) -> None:
    """is_installed compares names as installers do."""
    site.add("my-envs", "", {})
    assert discovery.is_installed("My.Envs")
    assert not discovery.is_installed("my-envs-2")


@pytest.mark.parametrize(
    ("pin", "told"),
    [
        ("gem-core<0.1,>=0.0.5", True),
        ("gem-core (>=0.0.5,<0.1)", True),
        ("Gem_Core[datasets] <0.1 ; python_version > '3'", True),
        ("gem-core>=0.0.5,<99.9", False),
        ("gem-core", False),
        ("gem-core-extras<0.1", False),
    ],
)
def test_a_package_for_another_gem_core_says_so_when_it_fails(site: PluginSite, pin: str, told: bool) -> None:
    """The errors of its import and of its manifest end with what it asks for; one that works is left alone."""
    metadata = f"Metadata-Version: 2.1\nName: {{name}}\nVersion: 1.0\nRequires-Dist: {pin}\n"
    manifest = (
        'schema = 1\n[[environment]]\nid = "old:Thing-v0"\nentry_point = "old_things:Gone"\ndescription = "A thing."\n'
    )
    broken = "schema = 0\n"
    files = {"old_things/__init__.py": "", "old_things/environments.toml": manifest, "older_things/__init__.py": ""}
    site.add("old-things", {"old": "old_things"}, files, metadata)
    site.add("older-things", {"older": "older_things"}, {**files, "older_things/environments.toml": broken}, metadata)
    with pytest.raises(EntryPointError) as raised:
        gem.make("old:Thing-v0")
    (problem,) = discovery.installed("older").problems
    for text in (str(raised.value), str(problem)):
        assert (f"-things asks for {pin}, and gem-core {gem.__version__} is installed" in text) is told
