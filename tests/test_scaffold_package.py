"""The package of ``gem new`` as its author and its users get it: untouched, from wheels, in separate environments."""

from __future__ import annotations

import hashlib
import json
import os
import re
import shutil
import stat
import subprocess
import sys
import threading
from collections.abc import Callable, Mapping
from functools import cached_property, partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from gem.cli.write_folder import write_files
from hypothesis import given, settings
from hypothesis import strategies as st

from gem.errors import ArgumentError
from gem_testing.scaffold.names import check_distribution, check_import_name, check_namespace
from gem_testing.scaffold.project import EXAMPLES, LICENCES, Project

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

ROOT = Path(__file__).parents[1]
CORE = ROOT / "packages" / "gem-core"
CLIENT = ROOT / "packages" / "gem-hub-client"
KIT = ROOT / "packages" / "gem-testing"
FILES = 15
IDS = [f"my:{name}-v0{variant}" for name in ("Arithmetic", "Treasure") for variant in ("", "-easy", "-hard")]

# One worker builds the wheels and makes the environments; beside it, others do not install at the same time.
pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("packages")]


def done(*command: str | Path, cwd: Path, env: Mapping[str, str] = {}, typed: str = "") -> str:
    """Run a command in a folder; return what it printed, or fail with what it said."""
    run = subprocess.run(
        [*map(str, command)],
        cwd=cwd,
        env={**os.environ, **env},
        input=typed,
        capture_output=True,
        text=True,
        check=False,
    )
    assert run.returncode == 0, f"{command}\n{run.stdout}{run.stderr}"
    return run.stdout


class Environment:
    """A virtual environment, and commands as in a shell in which it is active."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    @cached_property
    def variables(self) -> dict[str, str]:
        path = f"{self.folder / 'bin'}{os.pathsep}{os.environ['PATH']}"
        return {
            "PATH": path,
            "VIRTUAL_ENV": str(self.folder),
            "PRE_COMMIT_HOME": str(self.folder / "pre-commit"),
            "PYTHONDONTWRITEBYTECODE": "",  # bytecode is among what git has to ignore
        }

    def run(self, command: str, *arguments: str | Path, cwd: Path, typed: str = "") -> str:
        return done(self.folder / "bin" / command, *arguments, cwd=cwd, env=self.variables, typed=typed)


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory, with_git: None) -> Path:
    """The package that 'gem new my-envs' writes, in a git repository of its own."""
    folder = tmp_path_factory.mktemp("author")
    done(sys.executable, "-m", "gem", "new", "my-envs", "--author", "A. Author", cwd=folder)
    made = folder / "my-envs"
    done("git", "init", "--quiet", "--initial-branch=main", cwd=made)
    done("git", "add", ".", cwd=made)
    return made


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory, project: Path, build_wheel: Callable[[Path, Path], Path]) -> Path:
    """The wheel of the new package."""
    return build_wheel(project, tmp_path_factory.mktemp("dist"))


@pytest.fixture(scope="module")
def ours(wheels: Mapping[str, Path]) -> list[Path]:
    """The wheels of gem-testing, of gem-core, and of the hub's client, which that needs."""
    return [wheels[name] for name in ("gem-core", "gem-hub-client", "gem-testing")]


@pytest.fixture(scope="module")
def author(
    tmp_path_factory: pytest.TempPathFactory, project: Path, ours: list[Path], make_environment: Callable[..., Path]
) -> Environment:
    """The README's installation for authors: the package, editable, and its group ``dev``."""
    group = development_group(project / "pyproject.toml")
    (kit,) = (requirement for requirement in group if requirement.startswith("gem-testing"))
    group.remove(kit)
    folder = tmp_path_factory.mktemp("author") / "venv"
    return Environment(make_environment(folder, *ours, *group, "--editable", project))


@pytest.fixture(scope="module")
def user(
    tmp_path_factory: pytest.TempPathFactory, wheel: Path, make_linked_environment: Callable[..., Path]
) -> Environment:
    """An environment with the wheel and gem-testing, and what they declare."""
    folder = tmp_path_factory.mktemp("user") / "venv"
    return Environment(make_linked_environment(folder, "my-envs", "gem-testing", wheels=(wheel,)))


@pytest.fixture(scope="module")
def record(tmp_path_factory: pytest.TempPathFactory, user: Environment) -> Path:
    """The conformance record of the wheel."""
    folder = tmp_path_factory.mktemp("record")
    user.run("gem", "check", "my-envs", "--strict", "--report", "conformance.json", cwd=folder)
    return folder / "conformance.json"


def development_group(pyproject: Path, name: str = "dev") -> list[str]:
    """Return the requirements of a dependency group (pip before 25.1 cannot read it)."""
    groups = tomllib.loads(pyproject.read_text(encoding="utf-8"))["dependency-groups"]
    return [requirement for requirement in groups[name] if isinstance(requirement, str)]


def workflow(author: Environment, project: Path) -> Any:
    """Return the workflow, read by the YAML library that pre-commit brings."""
    code = "import json, sys, yaml; print(json.dumps(yaml.safe_load(open(sys.argv[1]))))"
    return json.loads(author.run("python", "-c", code, ".github/workflows/ci.yml", cwd=project))


@pytest.mark.nightly  # makes the author's environment, with mypy, ruff and pre-commit
def test_a_new_package_passes_its_own_tests(author: Environment, project: Path) -> None:
    """Every clause of the kit on every id and the environments' own tests pass under pytest, and none is skipped."""
    output = author.run("pytest", "-p", "no:cacheprovider", "-rs", cwd=project)
    assert re.search(r"^=+ \d+ passed in .+ =+$", output, re.MULTILINE), output


@pytest.mark.nightly  # makes the author's environment, with mypy, ruff and pre-commit
def test_a_new_package_passes_its_own_hooks(author: Environment, project: Path) -> None:
    """Style, format, types and gem check pass as pre-commit runs them, and change nothing."""
    output = author.run("pre-commit", "run", "--all-files", "--hook-stage", "pre-push", cwd=project)
    assert re.findall(r"^(.+?)\.\.+(\w+)$", output, re.MULTILINE) == [
        ("ruff check", "Passed"),
        ("ruff format", "Passed"),
        ("mypy", "Passed"),
        ("gem check", "Passed"),
    ]
    assert done("git", "diff", "--stat", cwd=project) == ""
    assert len(done("git", "ls-files", cwd=project).splitlines()) == FILES


@pytest.mark.nightly  # makes the author's environment, with mypy, ruff and pre-commit
def test_nothing_of_a_new_package_needs_cleaning_up(author: Environment, project: Path) -> None:
    """Git ignores the files that tests, checks and tools leave behind."""
    author.run("mypy", cwd=project)
    author.run("ruff", "check", cwd=project)
    author.run("pytest", "-k", "test_three_digs", cwd=project)
    untracked = done("git", "status", "--porcelain", "--untracked-files=all", cwd=project)
    assert [line for line in untracked.splitlines() if not line.startswith("A ")] == []


def test_a_new_package_is_listed_where_only_wheels_are(user: Environment, tmp_path: Path) -> None:
    """From the wheel alone, 'gem list' shows every id and variant with the package's name and version."""
    listed = json.loads(user.run("gem", "list", "--json", cwd=tmp_path))
    assert [(item["id"], item["package"], item["version"]) for item in listed] == [(i, "my-envs", "0.1.0") for i in IDS]
    assert [item["turns"] for item in listed] == ["single"] * 3 + ["multi"] * 3


@pytest.mark.nightly
def test_a_new_package_is_checked_where_only_wheels_are(user: Environment, tmp_path: Path) -> None:
    """From the wheel alone, the clauses hold that see what is installed: other processes, the manifest, what it needs.

    By night all of them; beside the sources gem-testing's own tests have them by day.
    """
    clauses = [f"--clause={name}" for name in ("contract.spawn", "determinism.hash_seeds", "manifest")]
    told = user.run("gem", "check", "my-envs", "--strict", *clauses, "--json", cwd=tmp_path)
    (package,) = json.loads(told)["packages"]
    assert [item["id"] for item in package["environments"]] == IDS
    for environment in package["environments"]:
        outcomes = {clause["clause"]: clause["outcome"] for clause in environment["clauses"]}
        assert set(outcomes.values()) == {"holds"}, outcomes
        assert {"contract.spawn", "determinism.hash_seeds", "manifest.ids"} <= outcomes.keys()


@pytest.mark.nightly
def test_every_clause_holds_where_only_wheels_are(record: Path) -> None:
    """From the wheel alone, every clause holds for every id, none untested or exempt, and the record says so."""
    (package,) = json.loads(record.read_text(encoding="utf-8"))["packages"]
    assert (package["distribution"], package["version"], package["complete"]) == ("my-envs", "0.1.0", True)
    assert [item["id"] for item in package["environments"]] == IDS
    for environment in package["environments"]:
        outcomes = {clause["clause"]: clause["outcome"] for clause in environment["clauses"]}
        assert set(outcomes.values()) == {"holds"}, outcomes


def test_a_new_package_is_played_where_only_wheels_are(user: Environment, tmp_path: Path) -> None:
    """A person types moves without boxes, the reference policy wins everything; both need just the gem command."""
    squares = "".join(f"{row} {column}\n" for row in range(1, 5) for column in range(1, 5))
    typed = user.run("gem", "play", "my:Treasure-v0-easy", "--seed", "7", "--json", cwd=tmp_path, typed=squares)
    played = json.loads(typed[typed.index("{") :])
    assert played["transitions"][0]["action"] == "\\boxed{1 1}"
    assert played["transitions"][-1]["terminated"]
    shown = user.run("gem", "play", "my:Arithmetic-v0", "--seed", "7", cwd=tmp_path, typed="0\nn\n")
    assert re.search(r"What is \d+ \* \d+ \+ \d+\?", shown)
    assert "Return 0 in 1 turns." in shown
    report = json.loads(user.run("gem", "rollout", *IDS, "--agent", "reference", "--json", cwd=tmp_path))
    assert [(item["env_id"], item["mean_return"], item["errors"]) for item in report["environments"]] == [
        (env_id, 1.0, 0) for env_id in IDS
    ]


def test_what_the_readme_shows_works(user: Environment, project: Path, tmp_path: Path) -> None:
    """The README's commands for users and its program run where only the wheels are installed."""
    readme = (project / "README.md").read_text(encoding="utf-8")
    assert set(re.findall(r"`(my:[^`]+)`", readme)) == {env_id for env_id in IDS if env_id.endswith("-v0")}
    commands = re.findall(r"^gem (?:list|play|rollout) .+$", readme, re.MULTILINE)
    assert len(commands) == 3
    for command in commands:
        user.run(*command.split(), cwd=tmp_path, typed="/quit\n")
    (program,) = re.findall(r"^```python\n(.*?)^```", readme, re.MULTILINE | re.DOTALL)
    assert "You have found it." in user.run("python", "-W", "error", "-c", program, cwd=tmp_path)


@pytest.mark.nightly  # makes the author's environment, with mypy, ruff and pre-commit
def test_the_workflow_is_well_formed(author: Environment, project: Path) -> None:
    """The workflow is YAML with four jobs, its scripts are shell, and it runs the hooks, the tests and the check."""
    jobs = workflow(author, project)["jobs"]
    assert [*jobs] == ["test", "wheel", "publish", "request"]
    scripts = [step["run"] for job in jobs.values() for step in job["steps"] if "run" in step]
    for script in scripts:
        done("bash", "-n", "-c", script, cwd=project)
    everything = "\n".join(scripts)
    for command in ("pre-commit run --all-files --hook-stage pre-push", "pytest", "gem check my-envs --report"):
        assert command in everything
    assert set(re.findall(r"--group (\w+)", everything)) == {"dev"}


GH = """#!/bin/sh
echo "$@" >> "$LOG"
case "$1 $2" in
  "release view") echo "https://files.example/my_envs-0.1.0-py3-none-any.whl" ;;
  "repo fork") git clone --quiet "$FORK" index ;;
  "api user") echo "author" ;;
esac
"""


@pytest.mark.nightly  # makes the author's environment, with mypy, ruff and pre-commit
def test_the_workflow_publishes_by_pull_request(
    author: Environment, project: Path, wheel: Path, record: Path, tmp_path: Path
) -> None:
    """The publishing scripts release wheel and conformance record, and ask an index for one record, as it demands."""
    pytest.importorskip("gem_hub", reason="gem-hub writes the record")
    fork, dist, tools = (tmp_path / name for name in ("fork", "dist", "tools"))
    shutil.copytree(ROOT / "hub" / "index", fork / "hub" / "index")
    for folder in (dist, tools):
        folder.mkdir()
    identity = {f"GIT_{who}_{what}": "author" for who in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")}
    done("git", "init", "--quiet", "--initial-branch=main", cwd=fork)
    done("git", "add", ".", cwd=fork)
    done("git", "commit", "--quiet", "--message", "The official index.", cwd=fork, env=identity)
    for file in (wheel, record):
        shutil.copy(file, dist)
    # GitHub itself is out of reach of a test; git, the shell and the hub are real.
    for name, script in {"gh": GH, "gem": f'#!/bin/sh\nexec "{sys.executable}" -m gem "$@"\n'}.items():
        (tools / name).write_text(script, encoding="utf-8")
        (tools / name).chmod(stat.S_IRWXU)
    simple = tmp_path / "simple"  # the public index, which has no project of this name
    simple.mkdir()
    job = workflow(author, project)["jobs"]["request"]
    variables = {
        "PATH": f"{tools}{os.pathsep}{os.environ['PATH']}",
        "LOG": str(tmp_path / "log"),
        "FORK": str(fork),
        "NAME": job["env"]["NAME"],
        "INDEX": "somebody/hub",
        "FOLDER": "hub/index",
        "GITHUB_REF_NAME": "v0.1.0",
        "GITHUB_ENV": str(tmp_path / "variables"),
        "NO_PROXY": "*",
    }
    handler = partial(SimpleHTTPRequestHandler, directory=str(tmp_path))
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as public:
        threading.Thread(target=public.serve_forever, daemon=True).start()
        variables["PIP_INDEX_URL"] = f"http://127.0.0.1:{public.server_address[1]}/simple/"
        for step in job["steps"]:
            if "name" in step:
                done("bash", "-e", "-o", "pipefail", "-c", step["run"], cwd=tmp_path, env=variables)
                lines = Path(variables["GITHUB_ENV"]).read_text(encoding="utf-8").splitlines()
                variables.update((name, value) for name, _, value in (line.partition("=") for line in lines))
        public.shutdown()
    changed = done("git", "diff", "--name-status", "main...my-envs-0.1.0", cwd=fork)
    assert changed == "A\thub/index/releases/my-envs/0.1.0.json\n"
    release = json.loads(done("git", "show", "my-envs-0.1.0:hub/index/releases/my-envs/0.1.0.json", cwd=fork))
    assert hashlib.sha256(wheel.read_bytes()).hexdigest() in json.dumps(release)
    assert (release["publisher"], release["url"]) == ("author", "https://files.example/my_envs-0.1.0-py3-none-any.whl")
    log = (tmp_path / "log").read_text(encoding="utf-8")
    assert f"release create v0.1.0 dist/{wheel.name} dist/conformance.json" in log
    assert "pr create --repo somebody/hub --head author:my-envs-0.1.0 --title my-envs 0.1.0" in log


def accepted(check: Callable[[str], str], pattern: str) -> st.SearchStrategy[str]:
    """Generate names of a form that pass their check."""

    def passes(text: str) -> bool:
        try:
            check(text)
        except ArgumentError:
            return False
        return True

    return st.from_regex(pattern, fullmatch=True).filter(passes).map(check)


LINES = st.text(st.characters(categories=["L", "P", "S"]), min_size=1)
NEW = st.builds(
    Project,
    distribution=accepted(check_distribution, r"[a-z0-9](-?[a-z0-9]){0,30}"),
    import_name=accepted(check_import_name, r"[a-z][a-z0-9_]{0,63}"),
    namespace=accepted(check_namespace, r"[A-Za-z][A-Za-z0-9_.-]{0,63}"),
    description=LINES,
    author=LINES,
    licence=st.sampled_from([*LICENCES]),
    examples=st.sampled_from([tuple(EXAMPLES.values()), *((example,) for example in EXAMPLES.values())]),
)


@pytest.fixture(scope="module")
def many(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder for packages of many names."""
    return tmp_path_factory.mktemp("many")


@pytest.mark.nightly  # makes the author's environment, with mypy, ruff and pre-commit
@given(new=NEW)
@settings(max_examples=20)
def test_the_style_holds_for_every_name(new: Project, author: Environment, many: Path) -> None:
    """Long or short, first or last in the alphabet: no name makes ruff want a line elsewhere."""
    folder = many / str(len([*many.iterdir()]))
    write_files(folder, new.files())
    author.run("ruff", "check", "--no-cache", cwd=folder)
    author.run("ruff", "format", "--no-cache", "--check", cwd=folder)


def test_a_new_package_uses_the_tools_of_this_repository() -> None:
    """The versions of mypy and ruff that it asks for are those of this repository, and so is the licence's text."""
    new = Project("my-envs", "my_envs", "my", "Some.", "Me", "Apache-2.0", tuple(EXAMPLES.values())).files()
    group = tomllib.loads(new["pyproject.toml"])["dependency-groups"]["dev"]
    ours = development_group(ROOT / "pyproject.toml", "lint")
    assert [tool for tool in group if tool.startswith(("mypy", "ruff"))] == [
        tool for tool in ours if tool.startswith(("mypy", "ruff"))
    ]
    assert new["LICENSE"] == (CORE / "LICENSE").read_text(encoding="utf-8")
