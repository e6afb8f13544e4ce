"""Every package as its wheel: complete, installable alone, and small."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import zipfile
from collections.abc import Callable
from email.message import Message
from email.parser import HeaderParser
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest
from devtools.linked_environment import MissingRequirementError, link_environment

from gem.discovery.manifest import FILE_NAME, read_specs

ROOT = Path(__file__).parents[1]
FOLDERS = {
    re.search(r'^name = "(.+)"$', project.read_text(encoding="utf-8"), re.MULTILINE)[1]: project.parent  # type: ignore[index]
    for project in sorted([*ROOT.glob("packages/*/pyproject.toml"), *ROOT.glob("hub/pyproject.toml")])
}
PLUGINS = sorted(FOLDERS.keys() - {"gem-core", "gem-cli", "gem-hub-client"})

MEASURE = """
import importlib.metadata, json
sizes = {}
for distribution in importlib.metadata.distributions():
    files = [file.locate() for file in distribution.files or [] if file.suffix != ".pyc"]
    sizes[distribution.metadata["Name"].lower()] = sum(file.stat().st_size for file in files if file.exists())
print(json.dumps(sizes))
"""

IMPORT_EVERYTHING = """
import importlib, importlib.metadata, pkgutil, re, sys
package = importlib.import_module(sys.argv[1])
required = importlib.metadata.requires(sys.argv[2]) or []
optional = {re.match("[A-Za-z0-9_.-]+", line)[0].replace("-", "_") for line in required if "extra ==" in line}
for module in pkgutil.walk_packages(package.__path__, package.__name__ + "."):
    if not module.name.endswith("__main__"):
        try:
            importlib.import_module(module.name)
        except ModuleNotFoundError as error:
            if error.name not in optional:
                raise
"""
"""Without the extras, a module may lack what they bring, and nothing else."""

# One worker builds the wheels and makes the environments that several tests look at.
pytestmark = [
    pytest.mark.slow(reason="only a new environment with a wheel alone shows what the wheel fails to bring"),
    pytest.mark.xdist_group("packages"),
]


def output_of(*command: str | Path, cwd: Path) -> str:
    """Run a command in a folder; return what it printed, or fail with what it said."""
    done = subprocess.run([*map(str, command)], cwd=cwd, capture_output=True, text=True, check=False)
    assert done.returncode == 0, f"{command}\n{done.stdout}{done.stderr}"
    return done.stdout


PLAY = """
import gem

env = gem.make("game:Sudoku-v0-easy")
policy = gem.make_policy("reference", env)
observation, info = env.reset(seed=0)
policy.reset(observation, info)
total, over = 0.0, False
while not over:
    observation, reward, terminated, truncated, info = env.step(policy.act(observation, info))
    total, over = total + reward, terminated or truncated
print(round(total, 6))
"""
"""A loop without any other package; the reference policy's return."""


@pytest.fixture(scope="module")
def core_alone(
    tmp_path_factory: pytest.TempPathFactory, wheels: dict[str, Path], make_environment: Callable[..., Path]
) -> Path:
    """An environment with the wheel of gem-core and its dependencies alone."""
    return make_environment(tmp_path_factory.mktemp("core") / "venv", *with_siblings("gem-core", wheels))


@pytest.fixture(scope="module", params=["uv", pytest.param("pip", marks=pytest.mark.nightly)])
def core_and_games(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory, make_environment: Callable[..., Path]
) -> Path:
    """An environment into which an installer has put the folders of two packages, started in another folder."""
    cwd = tmp_path_factory.mktemp("games")
    folders = [FOLDERS[name] for name in ("gem-hub-client", "gem-cli", "gem-core", "gem-envs-games")]
    if request.param == "uv":
        make_environment(cwd / "venv", *folders)
    else:
        python = make_environment(cwd / "venv") / "bin" / "python"
        output_of(sys.executable, "-m", "pip", "--python", python, "install", "--quiet", *folders, cwd=cwd)
        output_of(sys.executable, "-m", "pip", "--python", python, "check", cwd=cwd)
    return cwd / "venv"


def contents(wheel: Path) -> tuple[list[str], Message]:
    """Return the paths in a wheel and its metadata."""
    with zipfile.ZipFile(wheel) as archive:
        names = archive.namelist()
        (metadata,) = (name for name in names if name.endswith(".dist-info/METADATA"))
        return names, HeaderParser().parsestr(archive.read(metadata).decode())


def import_name(distribution: str) -> str:
    """Return the package that a distribution of this repository brings."""
    return "gem" if distribution == "gem-core" else distribution.replace("-", "_")


@pytest.mark.parametrize("name", FOLDERS)
def test_a_wheel_is_complete(name: str, wheels: dict[str, Path]) -> None:
    """A wheel holds one package with its type marker, its licence and its readme, and no tests.

    That of gem-core also holds the start of the command, which must not lie in the folder that gem-llm overwrites.
    """
    names, metadata = contents(wheels[name])
    packages = {import_name(name), *(("gem_command",) if name == "gem-core" else ())}
    assert {path.partition("/")[0] for path in names if ".dist-info/" not in path} == packages
    assert all(f"{package}/py.typed" in names for package in packages)
    assert any(re.search(r"\.dist-info/licenses/LICENSE$", path) for path in names)
    assert not [path for path in names if re.match(r"tests?(/|_|\.py)", path.partition("/")[2])]
    assert metadata["License-Expression"] == "Apache-2.0"
    assert metadata["Description-Content-Type"] == "text/markdown"
    assert name in str(metadata.get_payload())
    assert metadata["Requires-Python"] == ">=3.10"
    assert "https://" in metadata["Project-URL"]


@pytest.mark.parametrize("name", FOLDERS)
def test_an_environment_package_brings_its_manifest(name: str, wheels: dict[str, Path]) -> None:
    """A wheel that claims namespaces holds the manifest beside the package's __init__.py."""
    with zipfile.ZipFile(wheels[name]) as archive:
        entry_points = [archive.read(path).decode() for path in archive.namelist() if path.endswith("entry_points.txt")]
        claims = "".join(entry_points).partition("[gem.envs]\n")[2].partition("\n[")[0].split()
        assert not claims or f"{import_name(name)}/environments.toml" in archive.namelist()
        assert bool(claims) == (FOLDERS[name] / "src" / import_name(name) / "environments.toml").exists()


@pytest.mark.parametrize("name", PLUGINS)
def test_a_plugin_pins_the_minor_version_of_gem_core(name: str, wheels: dict[str, Path]) -> None:
    """A plugin asks for gem-core>=X.Y,<X.(Y+1), so that a resolver never pairs it with an interface it predates."""
    version = contents(wheels["gem-core"])[1]["Version"]
    major, minor = map(int, version.split(".")[:2])
    # Without spaces and extras.
    required = [re.sub(r"[\s()]|\[.*?\]", "", line) for line in contents(wheels[name])[1].get_all("Requires-Dist", [])]
    assert [line for line in required if re.match(r"gem-core(?![\w-])", line)] == [
        f"gem-core<{major}.{minor + 1},>={major}.{minor}"
    ]


@pytest.mark.sampled(4)
@pytest.mark.parametrize("name", FOLDERS)
def test_a_wheel_works_alone(name: str, tmp_path: Path, make_linked_environment: Callable[..., Path]) -> None:
    """Every module of a package imports where nothing is but the wheel and what it declares, in fitting versions."""
    # gem-core requires the command, which therefore cannot require it.
    needed = "gem-core" if name == "gem-cli" else name
    if name == "gem-envs-reasoning" and find_spec("pycosat") is None:
        pytest.skip("pycosat could not be had: it has no wheel, and no compiler was here")
    python = make_linked_environment(tmp_path / "venv", needed) / "bin" / "python"
    output_of(python, "-c", IMPORT_EVERYTHING, import_name(name), name, cwd=tmp_path)


@pytest.mark.nightly  # the links above show the same of the packages; only their versions on the index are new here
@pytest.mark.parametrize("name", FOLDERS)
def test_an_installed_wheel_works_alone(
    name: str, wheels: dict[str, Path], tmp_path: Path, make_environment: Callable[..., Path]
) -> None:
    """The same where an installer has chosen the versions, which agree with each other."""
    make_environment(tmp_path / "venv", *with_siblings(name, wheels))
    python = tmp_path / "venv" / "bin" / "python"
    output_of(python, "-c", IMPORT_EVERYTHING, import_name(name), name, cwd=tmp_path)


def test_what_a_wheel_does_not_declare_is_missing(tmp_path: Path, make_linked_environment: Callable[..., Path]) -> None:
    """A package beside the tests is not there, nor is one of the workspace; a version that does not fit is an error."""
    python = make_linked_environment(tmp_path / "venv", "gem-envs-games") / "bin" / "python"
    tried = "import importlib.util, sys; print(*filter(importlib.util.find_spec, sys.argv[1:]))"
    assert output_of(python, "-c", tried, "pytest", "gem_eval", "click", cwd=tmp_path).split() == ["click"]
    needy = tmp_path / "wheels" / "needy" / "needy-1.0.dist-info"
    needy.mkdir(parents=True)
    for requirement in ("numpy<1", "no-such-package"):
        (needy / "METADATA").write_text(
            f"Metadata-Version: 2.1\nName: needy\nVersion: 1.0\nRequires-Dist: {requirement}\n"
        )
        with pytest.raises(MissingRequirementError, match=f"needy requires {requirement}"):
            link_environment(tmp_path / requirement, ["needy"], [needy.parent])


def with_siblings(name: str, wheels: dict[str, Path]) -> list[Path]:
    """Return the wheels of a package and of all the workspace's packages that it depends on."""
    names = [name]
    for each in names:
        for requirement in contents(wheels[each])[1].get_all("Requires-Dist", []):
            needed = re.match(r"[\w.-]+", requirement)
            if needed is not None and needed[0] in {*FOLDERS} - {*names} and "extra ==" not in requirement:
                names.append(needed[0])
    return [wheels[each] for each in names]


@pytest.mark.parametrize("document", ["README.md", ".github/workflows/hub-index.yml"])
def test_folders_are_installed_with_all_that_they_require(document: str, wheels: dict[str, Path]) -> None:
    """A command that installs folders names every package of the repository that they require, itself or before."""
    named: set[str] = set()
    for line in re.findall(r"pip install (\./.*)", (ROOT / document).read_text(encoding="utf-8")):
        here = {name for name, folder in FOLDERS.items() if f"./{folder.relative_to(ROOT)}" in line.split()}
        named |= here
        assert here
        required = {wheel for name in here for wheel in with_siblings(name, wheels)}
        assert required <= {wheels[name] for name in named}, line


def test_gem_core_stays_small(core_alone: Path, tmp_path: Path) -> None:
    """gem-core is twelve distributions, itself included, and at most 12 MB besides NumPy (unpacked, without bytecode).

    The backports that older Pythons need come on top: importlib-metadata with its own two below 3.12, tomli below 3.11.
    """
    sizes: dict[str, int] = json.loads(output_of(core_alone / "bin" / "python", "-c", MEASURE, cwd=tmp_path))
    backports = {"importlib_metadata", "lazy-importer", "tomli", "zipp"} if sys.version_info < (3, 12) else set()
    assert len(sizes.keys() - backports) <= 12, sorted(sizes)
    foreign = {name: size for name, size in sizes.items() if not name.startswith("gem-")}
    assert sum(foreign.values()) - sizes["numpy"] <= 12_000_000, sizes


def test_gem_core_stays_minimal() -> None:
    """The package of the contract has at most 10,000 lines in 75 modules; what is more belongs to a library on it."""
    modules = [*FOLDERS["gem-core"].glob("src/**/*.py")]
    assert len(modules) <= 75
    assert sum(len(module.read_text(encoding="utf-8").splitlines()) for module in modules) <= 10_000


def test_a_command_alone_asks_for_gem_core(
    tmp_path: Path, wheels: dict[str, Path], make_environment: Callable[..., Path]
) -> None:
    """gem-cli, which gem-core brings and which cannot require it, says in one sentence what it needs."""
    python = make_environment(tmp_path / "venv", wheels["gem-cli"], wheels["gem-hub-client"]) / "bin" / "python"
    done = subprocess.run([python.parent / "gem", "list"], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == "Error: the gem command needs gem-core; run: pip install gem-core\n"


def test_gem_eval_adds_little(core_alone: Path, tmp_path: Path, make_linked_environment: Callable[..., Path]) -> None:
    """gem-eval brings at most 14 foreign distributions (four for rich) and 18 MB beside gem-core, and can evaluate."""
    python = make_linked_environment(tmp_path / "venv", "gem-eval", "gem-envs-games") / "bin" / "python"
    before: dict[str, int] = json.loads(output_of(core_alone / "bin" / "python", "-c", MEASURE, cwd=tmp_path))
    sizes: dict[str, int] = json.loads(output_of(python, "-c", MEASURE, cwd=tmp_path))
    added = {name: size for name, size in sizes.items() if name not in before and not name.startswith("gem-")}
    assert len(added) <= 14, sorted(added)
    assert sum(added.values()) <= 18_000_000, added
    command = ("-m", "gem", "eval", "game:GuessTheNumber-v0-easy", "--agent", "reference", "-n", "4", "--json")
    report: dict[str, Any] = json.loads(output_of(python, *command, cwd=tmp_path))
    assert report["summary"]["environments"][0]["success"]["value"] == 1.0


@pytest.mark.nightly
def test_gem_gateway_adds_little(tmp_path: Path, make_linked_environment: Callable[..., Path]) -> None:
    """gem-gateway brings at most 6 distributions beside gem-eval, its own included, and the gateway answers there."""
    sizes: list[dict[str, int]] = []
    for name in ("gem-eval", "gem-gateway"):
        python = make_linked_environment(tmp_path / name, name) / "bin" / "python"
        sizes.append(json.loads(output_of(python, "-c", MEASURE, cwd=tmp_path)))
    assert 0 < len(sizes[1].keys() - sizes[0].keys()) <= 6, sorted(sizes[1].keys() - sizes[0].keys())
    assert "Anthropic" in output_of(python, "-m", "gem", "gateway", "--help", cwd=tmp_path)


def test_gem_core_alone_says_how_to_get_environments(core_alone: Path, tmp_path: Path) -> None:
    """Without any environment package, the commands work and name the packages to install."""
    gem = core_alone / "bin" / "gem"
    assert "pip install gem-envs-games" in output_of(gem, "list", cwd=tmp_path)
    assert json.loads(output_of(gem, "list", "--json", cwd=tmp_path)) == []
    # The official index is part of the wheel, so it needs no request.
    found = json.loads(output_of(gem, "hub", "search", "sudoku", "--json", cwd=tmp_path))["packages"]
    assert {"gem-envs-games", "gem-envs-reasoning"} <= {package["name"] for package in found}
    assert json.loads(output_of(core_alone / "bin" / "python", "-m", "gem", "doctor", "--json", cwd=tmp_path))
    failed = subprocess.run(
        [gem, "info", "game:Sudoku-v0-easy"], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert failed.returncode == 1
    assert "pip install gem-envs-games" in failed.stderr
    assert "Traceback" not in failed.stderr
    failed = subprocess.run(
        [gem, "play", "game:Sudoku-v0-easy", "--json"], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert failed.stderr.startswith("Error: gem.trajectory")
    assert failed.stderr.endswith("pip install gem-rollout\n")
    for command, package in (("check", "gem-testing"), ("rollout", "gem-rollout"), ("data", "gem-questions")):
        missing = subprocess.run([gem, command], cwd=tmp_path, capture_output=True, text=True, check=False)
        assert (missing.returncode, f"pip install {package}" in missing.stderr) == (2, True)


def test_installed_games_are_found_and_played(core_and_games: Path, tmp_path: Path) -> None:
    """Once the folders are installed, games are listed, the hub searched, and the reference policy solves Sudoku."""
    gem = core_and_games / "bin" / "gem"
    listed = {item["id"]: item for item in json.loads(output_of(gem, "list", "--json", cwd=tmp_path))}
    manifest = FOLDERS["gem-envs-games"] / "src" / "gem_envs_games" / FILE_NAME
    assert list(listed) == sorted(spec.id for spec in read_specs(manifest))
    assert listed["game:Sudoku-v0-easy"]["package"] == "gem-envs-games"
    assert "gem-envs-games" in output_of(gem, "hub", "search", "sudoku", cwd=tmp_path)
    assert output_of(core_and_games / "bin" / "python", "-c", PLAY, cwd=tmp_path) == "1.0\n"
