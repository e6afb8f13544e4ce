"""From what a person types after ``gem check`` to the environments that are meant."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import gem
from gem import discovery
from gem.discovery.official import NAMESPACES
from gem.errors import GemError, ManifestError, UnknownEnvironmentError
from gem_testing.targets import PackageUnderTest, envs_under_test, packages_of

if TYPE_CHECKING:
    from conftest import PluginSite

MANIFEST = """
schema = 1
[[environment]]
id = "{namespace}:Thing-v0"
entry_point = "{package}:Thing"
description = "A thing."
[environment.variants]
big = {{ size = 9 }}
"""

THING = """
import gem

class Thing(gem.Env):
    def __init__(self, size: int = 1) -> None:
        self.size = size

    def reset(self, seed=None, options=None):
        super().reset(seed=seed)
        return f"size {self.size}", {}

    def step(self, action):
        return "", 0.0, True, False, {}
"""


@pytest.fixture(autouse=True)
def _same_path(monkeypatch: pytest.MonkeyPatch) -> None:
    """What a target puts on sys.path goes with the test."""
    monkeypatch.setattr(sys, "path", list(sys.path))


def lay_out(
    folder: Path, package: str = "local_things", under: str = "src", namespace: str = "local", project: str = ""
) -> Path:
    """Lay out a project that nobody has installed; return its folder."""
    inside = folder.joinpath(under, *package.split("."))
    inside.mkdir(parents=True)
    (inside / "__init__.py").write_text(THING, encoding="utf-8")
    (inside / "environments.toml").write_text(MANIFEST.format(namespace=namespace, package=package), encoding="utf-8")
    text = project or (
        '[project]\nname = "Local.Things"\nversion = "2.1"\ndependencies = ["gem-core"]\n'
        f'[project.entry-points."gem.envs"]\n{namespace} = "{package}"\n'
    )
    (folder / "pyproject.toml").write_text(text, encoding="utf-8")
    return folder


def ids(packages: list[PackageUnderTest]) -> list[str]:
    return [spec.id for package in packages for spec in package.specs]


def test_an_id_is_that_environment_alone(site: PluginSite) -> None:
    """An id names neither its variants nor its neighbours."""
    site.add_thing("my-things", "my_things", "things")
    (package,) = packages_of("things:Thing-v0-big")
    assert [spec.id for spec in package.specs] == ["things:Thing-v0-big"]
    assert (package.name, package.version, package.namespaces) == ("my-things", "1.0", {"things"})
    assert package.manifest == site.folder / "my_things" / "environments.toml"
    assert not package.whole
    assert "my_things" not in sys.modules


@pytest.mark.parametrize("target", ["things", "things:", "my-things", "My_Things"])
def test_a_namespace_and_a_distribution_are_all_their_environments(site: PluginSite, target: str) -> None:
    """Distributions are known by any spelling."""
    site.add_thing("my-things", "my_things", "things")
    (package,) = packages_of(target)
    assert ids([package]) == ["things:Thing-v0", "things:Thing-v0-big"]
    assert package.whole


def test_a_namespace_is_filled_by_every_package_that_claims_it(site: PluginSite) -> None:
    """Of a package with several namespaces, only what lies in this one is meant."""
    site.add_thing("a-things", "a_things", "things")
    other = MANIFEST.format(namespace="other", package="b_things").replace("schema = 1", "")
    site.add(
        "b-things",
        {"things": "b_things", "other": "b_things"},
        {
            "b_things/__init__.py": THING,
            "b_things/environments.toml": MANIFEST.format(namespace="things", package="b_things") + other,
        },
    )
    assert [(p.name, len(p.specs), p.whole) for p in packages_of("things")] == [
        ("a-things", 2, True),
        ("b-things", 2, False),
    ]
    assert ids(packages_of("b-things")) == [
        f"{namespace}:Thing-v0{variant}" for namespace in ("things", "other") for variant in ("", "-big")
    ]


def test_an_id_of_two_distributions_is_both_unless_it_has_an_owner(site: PluginSite) -> None:
    """What gem.make refuses as ambiguous can be checked, each by its own package."""
    site.add_thing("a-things", "a_things", "things")
    site.add_thing("b-things", "b_things", "things")
    assert [package.name for package in packages_of("things:Thing-v0")] == ["a-things", "b-things"]
    (package,) = packages_of("b.things/things:Thing-v0")
    assert package.name == "b-things"


def test_a_distribution_and_a_namespace_of_one_name_are_both_meant(site: PluginSite) -> None:
    """Nothing that the name stands for goes unchecked."""
    site.add_thing("things", "things_one", "one")
    site.add_thing("other", "other_things", "things")
    assert ids(packages_of("things")) == [
        f"{namespace}:Thing-v0{variant}" for namespace in ("things", "one") for variant in ("", "-big")
    ]


def test_ids_outside_the_claimed_namespaces_are_checked(site: PluginSite) -> None:
    """A manifest that lists what no entry point claims is reported by manifest.ids, not overlooked."""
    files = {
        "my_things/__init__.py": THING,
        "my_things/environments.toml": MANIFEST.format(namespace="unclaimed", package="my_things"),
    }
    site.add("my-things", {"claimed": "my_things"}, files)
    (package,) = packages_of("my-things")
    assert ids([package]) == ["unclaimed:Thing-v0", "unclaimed:Thing-v0-big"]
    assert package.namespaces == {"claimed"}


def test_an_environment_is_checked_once_however_often_it_is_named(site: PluginSite) -> None:
    """Targets that overlap come to one package with each of its environments once."""
    site.add_thing("my-things", "my_things", "things")
    (package,) = packages_of("things:Thing-v0-big", "my-things", "things", str(site.folder / "my_things"))[:1]
    assert sorted(spec.id for spec in package.specs) == ["things:Thing-v0", "things:Thing-v0-big"]
    assert package.whole


def test_what_is_registered_in_this_process_can_be_checked() -> None:
    """A registered class has no manifest and no package."""
    gem.register("local:Registered-v0", "json:JSONDecoder")
    try:
        (package,) = packages_of("local:Registered-v0")
    finally:
        gem.unregister("local:Registered-v0")
    assert (ids([package]), package.manifest, package.distribution) == (["local:Registered-v0"], None, None)


@pytest.mark.parametrize("under", ["src", "", "lib"])
@pytest.mark.parametrize("where", ["", "pyproject.toml", "PACKAGE", "PACKAGE/environments.toml"])
def test_a_path_need_not_be_installed(tmp_path: Path, under: str, where: str) -> None:
    """Project, package and file lead to the same, with names and namespaces of the pyproject, and can be imported."""
    lay_out(tmp_path, under=under)
    inside = f"{under}/local_things" if under else "local_things"
    (package,) = packages_of(str(tmp_path / where.replace("PACKAGE", inside)))
    assert ids([package]) == ["local:Thing-v0", "local:Thing-v0-big"]
    assert (package.name, package.version, package.namespaces) == ("Local.Things", "2.1", {"local"})
    assert package.requirements == ("gem-core",)
    assert {spec.distribution for spec in package.specs} == {"Local.Things"}
    assert str(tmp_path / under) in sys.path
    assert "local_things" not in sys.modules


def test_the_current_folder_is_a_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """'.' and a bare name of a folder work, the latter where nothing installed has the name."""
    lay_out(tmp_path / "project")
    monkeypatch.chdir(tmp_path / "project")
    assert ids(packages_of(".")) == ["local:Thing-v0", "local:Thing-v0-big"]
    monkeypatch.chdir(tmp_path)
    assert ids(packages_of("project")) == ["local:Thing-v0", "local:Thing-v0-big"]


def test_what_is_installed_comes_before_a_folder_of_the_name(
    site: PluginSite, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A folder that happens to lie here takes nothing away from a namespace; './name' means the folder."""
    site.add_thing("my-things", "my_things", "things")
    lay_out(tmp_path / "things")
    monkeypatch.chdir(tmp_path)
    assert ids(packages_of("things"))[0] == "things:Thing-v0"
    assert ids(packages_of("./things"))[0] == "local:Thing-v0"


def test_a_package_without_a_project(tmp_path: Path) -> None:
    """Where there is no pyproject, nothing is known of namespaces and requirements."""
    lay_out(tmp_path, package="outer.inner", under="")
    (tmp_path / "outer" / "__init__.py").write_text("")
    (tmp_path / "pyproject.toml").unlink()
    (package,) = packages_of(str(tmp_path / "outer" / "inner"))
    assert (package.import_name, package.name) == ("outer.inner", "outer.inner")
    assert (package.namespaces, package.requirements, package.distribution) == (None, None, None)
    assert str(tmp_path) in sys.path


def test_a_dynamic_version_is_unknown(tmp_path: Path) -> None:
    """What only a build would tell is None."""
    project = (
        '[project]\nname = "x"\ndynamic = ["version", "dependencies"]\n[project.entry-points."gem.envs"]\n'
        'local = "local_things"\n'
    )
    (package,) = packages_of(str(lay_out(tmp_path, project=project)))
    assert (package.distribution, package.version, package.requirements) == ("x", None, None)


def test_a_project_with_several_packages(tmp_path: Path) -> None:
    """Each package that an entry point names is one of its own."""
    project = '[project]\nname = "x"\n[project.entry-points."gem.envs"]\none = "one_things"\ntwo = "two_things"\n'
    lay_out(tmp_path, package="one_things", namespace="one")
    lay_out(tmp_path, package="two_things", namespace="two", project=project)
    assert [package.namespaces for package in packages_of(str(tmp_path))] == [{"one"}, {"two"}]


def test_a_checkout_comes_before_an_installed_copy(site: PluginSite, tmp_path: Path) -> None:
    """A path means the code at this path, also where another copy is installed."""
    site.add_thing("my-things", "local_things", "local")
    (package,) = packages_of(str(lay_out(tmp_path / "checkout")))
    assert package.manifest == tmp_path / "checkout" / "src" / "local_things" / "environments.toml"
    assert sys.path[0] == str(tmp_path / "checkout" / "src")


def test_a_name_that_is_imported_already_is_not_confused(tmp_path: Path) -> None:
    """Where this process has imported another package of the name, checking the path here would test the wrong one."""
    lay_out(tmp_path, package="json")
    with pytest.raises(ManifestError, match="cannot be imported as 'json', because this name stands for"):
        packages_of(str(tmp_path))


def test_subjects_are_ready_for_the_clauses(tmp_path: Path) -> None:
    """A subject knows manifest, namespaces and requirements of its package."""
    first, _ = envs_under_test(str(lay_out(tmp_path)))
    assert first.manifest == tmp_path / "src" / "local_things" / "environments.toml"
    assert (first.namespaces, first.requirements) == ({"local"}, ("gem-core",))


@pytest.mark.parametrize("text", ["schema = 1", "no toml", 'schema = 1\n[[environment]]\nid = "x"\nfoo = 1\n'])
def test_a_broken_manifest_is_a_problem_of_the_package(site: PluginSite, tmp_path: Path, text: str) -> None:
    """A package is found with every reason, by path, name, namespace and id alike; a subject needs a sound one."""
    (lay_out(tmp_path / "project") / "src" / "local_things" / "environments.toml").write_text(text)
    site.add("my-things", {"things": "my_things"}, {"my_things/__init__.py": "", "my_things/environments.toml": text})
    for target in (str(tmp_path / "project"), "my-things", "things", "things:Any-v0"):
        (package,) = packages_of(target)
        assert package.specs == ()
        assert "environments.toml" in package.problem
        with pytest.raises(ManifestError, match=r"environments\.toml"):
            envs_under_test(target)


def test_a_missing_manifest_and_a_missing_package_are_problems(site: PluginSite) -> None:
    """What the entry point names has to be there, with its manifest."""
    site.add("no-manifest", {"one": "no_manifest"}, {"no_manifest/__init__.py": ""})
    site.add("no-package", {"two": "no_package"}, {})
    assert "cannot be read: No such file" in packages_of("no-manifest")[0].problem
    assert packages_of("two")[0].problem == "the package 'no_package' that its entry point names cannot be found"


@pytest.mark.parametrize(
    ("target", "error", "message"),
    [
        ("things:Thnig-v0", UnknownEnvironmentError, "did you mean 'things:Thing-v0'?"),
        ("nobody/things:Thing-v0", UnknownEnvironmentError, "my-things does"),
        ("nothere:Thing-v0", UnknownEnvironmentError, "nothing installed provides the namespace 'nothere'"),
        ("thing", UnknownEnvironmentError, "did you mean 'things'?"),
        (
            "zzz",
            UnknownEnvironmentError,
            "'zzz' is not an environment id, and no namespace, installed distribution or path",
        ),
        ("elsewhere", UnknownEnvironmentError, "run 'pip install gem-envs-elsewhere'"),
        ("click", UnknownEnvironmentError, "is installed and announces no environments"),
        ("malformed", UnknownEnvironmentError, "its entry points cannot be read"),
        ("./missing", UnknownEnvironmentError, "there is nothing at "),
        ("EMPTY", UnknownEnvironmentError, "has neither pyproject.toml nor environments.toml; give its path"),
        ("EMPTY/file.txt", UnknownEnvironmentError, "is neither a pyproject.toml nor an environments.toml"),
        ("EMPTY/fiel.txt", UnknownEnvironmentError, "file.txt'?"),
        ("PARENT", UnknownEnvironmentError, "check project/src/local_things"),
        ("NAMELESS", ManifestError, 'announces no environments; add [project.entry-points."gem.envs"]'),
        ("BROKEN", ManifestError, "not valid TOML"),
        ("ODD", ManifestError, "must be a table of"),
        ("LOST", ManifestError, "names the package 'gone', which is neither in"),
    ],
)
def test_errors_say_what_was_looked_for_and_what_is_near(
    site: PluginSite,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    target: str,
    error: type[GemError],
    message: str,
) -> None:
    """Each way of naming nothing has a message of its own."""
    monkeypatch.setitem(NAMESPACES, "elsewhere", ("gem-envs-elsewhere",))
    site.add_thing("my-things", "my_things", "things")
    if target == "malformed":
        site.add("malformed", "[gem.envs]\nno equals sign\n", {})
    (tmp_path / "EMPTY").mkdir()
    (tmp_path / "EMPTY" / "file.txt").write_text("")
    lay_out(tmp_path / "PARENT" / "project")
    lay_out(tmp_path / "NAMELESS", project='[project]\nname = "x"\n')
    lay_out(tmp_path / "BROKEN", project="[project")
    lay_out(tmp_path / "ODD", project='[project.entry-points]\n"gem.envs" = "x"\n')
    lay_out(tmp_path / "LOST", project='[project.entry-points."gem.envs"]\na = "gone"\n')
    if target.partition("/")[0].isupper():
        target = str(tmp_path / target)
    with pytest.raises(error) as raised:
        packages_of(target)
    assert message in str(raised.value)


def test_switched_off_plugins_are_said_to_be(site: PluginSite, monkeypatch: pytest.MonkeyPatch) -> None:
    """Who has switched plugins off is told so instead of that nothing is installed."""
    site.add_thing("my-things", "my_things", "things")
    monkeypatch.setenv("GEM_DISABLE_PLUGINS", "1")
    discovery.clear_caches()
    with pytest.raises(UnknownEnvironmentError, match="plugins are switched off by GEM_DISABLE_PLUGINS=1"):
        packages_of("things")
