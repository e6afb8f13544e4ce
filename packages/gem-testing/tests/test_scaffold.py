"""gem new: the names it takes, what it refuses, and that it writes everything or nothing."""

from __future__ import annotations

import json
import keyword
import os
import pty
import re
import select
import shutil
import stat
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result
from hypothesis import given
from hypothesis import strategies as st

import gem
from gem.discovery.manifest_schema import validate
from gem.discovery.official import NAMESPACES
from gem.errors import ArgumentError
from gem_cli.write_folder import write_files
from gem_testing import CLAUSES, ClauseOutcome, run_clause
from gem_testing.cli.new import new_command
from gem_testing.conformance import clauses_for_each
from gem_testing.scaffold import names
from gem_testing.scaffold.project import EXAMPLES, LICENCES, Project
from gem_testing.targets import envs_under_test

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

EVERYTHING = {
    ".github/workflows/ci.yml",
    ".gitignore",
    ".pre-commit-config.yaml",
    "CHANGELOG.md",
    "LICENSE",
    "README.md",
    "pyproject.toml",
    "src/my_envs/__init__.py",
    "src/my_envs/arithmetic.py",
    "src/my_envs/environments.toml",
    "src/my_envs/py.typed",
    "src/my_envs/treasure.py",
    "tests/test_arithmetic.py",
    "tests/test_environments.py",
    "tests/test_treasure.py",
}

# Few characters, so that the odd ones come up in every run.
IMPORT_NAMES = st.text("ab1_", min_size=1, max_size=64).map(lambda text: f"a{text}"[:64])
NAMESPACE_NAMES = st.text("aB1_-.", max_size=63).map(lambda text: f"a{text}")
DISTRIBUTIONS = st.text("aB1_-.", max_size=62).map(lambda text: f"a{text}z")
LINES = st.one_of(st.text(min_size=1, max_size=60), st.text("a \"\\'<>{}#$é箱", min_size=1, max_size=60))


@pytest.fixture(autouse=True)
def _in_an_empty_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def invoke(*arguments: str) -> Result:
    return CliRunner().invoke(new_command, list(arguments), catch_exceptions=False)


def written(*arguments: str) -> dict[str, Any]:
    result = invoke(*arguments, "--json")
    assert result.exit_code == 0, result.output
    report: dict[str, Any] = json.loads(result.stdout)
    return report


def refused(*arguments: str) -> str:
    """The message with which a package is refused; nothing may have been written."""
    before = sorted(Path.cwd().rglob("*"))
    with pytest.raises(ArgumentError) as caught:
        invoke(*arguments)
    assert sorted(Path.cwd().rglob("*")) == before
    return str(caught.value)


def files_below(folder: Path) -> set[str]:
    return {path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file()}


def project(**changes: Any) -> Project:
    fields = ("my-envs", "my_envs", "my", "Some environments.", "A. Author", "MIT", tuple(EXAMPLES.values()))
    return Project(*fields)._replace(**changes)


def test_a_name_is_all_it_takes() -> None:
    """Without a terminal nothing is asked, and every file that was reported is there."""
    report = written("my-envs")
    assert report["folder"] == str(Path("my-envs").resolve())
    assert (report["distribution"], report["import_name"], report["namespace"]) == ("my-envs", "my_envs", "my")
    assert report["environments"] == ["my:Arithmetic-v0", "my:Treasure-v0"]
    assert set(report["files"]) == files_below(Path("my-envs")) == EVERYTHING
    assert [path.name for path in Path.cwd().iterdir()] == ["my-envs"]


@pytest.mark.nightly
def test_a_new_package_keeps_every_clause(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing is violated and nothing is untested, each example against every clause and its variants by arguments."""
    written("kept-envs", "--examples", "all")
    monkeypatch.setattr(sys, "path", list(sys.path))
    results = [
        (under_test.spec.id, run_clause(under_test, CLAUSES[clause]))
        for under_test, clause in clauses_for_each(envs_under_test("./kept-envs"))
    ]
    assert len(results) > 2 * len(CLAUSES)
    assert [(env_id, result) for env_id, result in results if result.outcome is not ClauseOutcome.HOLDS] == []


@pytest.mark.slow
def test_a_new_package_passes_the_tests_of_its_rules() -> None:
    """The tests that it brings for its examples pass."""
    written("kept-envs", "--examples", "all")
    tests = [f"kept-envs/tests/test_{example.module}.py" for example in EXAMPLES.values()]
    path = os.pathsep.join([str(Path("kept-envs/src").resolve()), os.environ.get("PYTHONPATH", "")])
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *tests],
        env={**os.environ, "PYTHONPATH": path},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout


def test_a_person_is_told_what_comes_next() -> None:
    """The text names the folder, the environments and the next commands, quoted for a shell."""
    output = invoke("my-envs", "--into", "new folder/mine").output
    assert "cd 'new folder/mine'\n" in output
    assert "  my:Treasure-v0\n" in output
    assert "gem play my:Treasure-v0-easy" in output


def test_every_choice_has_an_option() -> None:
    """What the options say stands in the files that depend on it."""
    options = {
        "import-name": "puzzle_box",
        "namespace": "boxes",
        "description": 'Boxes, "deep" ones \\ and 箱.',
        "author": "Zoë O'Neil",
        "license": "MIT",
        "examples": "multi",
        "into": "elsewhere",
    }
    report = written("Puzzle.Envs", *(part for name, value in options.items() for part in (f"--{name}", value)))
    assert report["environments"] == ["boxes:Treasure-v0"]
    folder = Path("elsewhere")
    metadata = tomllib.loads((folder / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert metadata["name"] == "puzzle-envs"
    assert metadata["description"] == options["description"]
    assert metadata["authors"] == [{"name": options["author"]}]
    assert metadata["license"] == "MIT"
    assert metadata["entry-points"]["gem.envs"] == {"boxes": "puzzle_box"}
    assert "MIT License" in (folder / "LICENSE").read_text(encoding="utf-8")
    assert options["author"] in (folder / "LICENSE").read_text(encoding="utf-8")
    assert not [path for path in files_below(folder) if "arithmetic" in path]
    assert "Arithmetic" not in "".join(
        path.read_text(encoding="utf-8") for path in folder.rglob("*.*") if path.is_file()
    )


@pytest.mark.parametrize(
    ("examples", "turns"),
    [
        ("both", ["single", "multi"]),
        ("all", ["single", "multi", "single"]),
        ("single", ["single"]),
        ("multi", ["multi"]),
        ("picture", ["single"]),
    ],
)
def test_the_manifest_lists_the_chosen_examples(examples: str, turns: list[str]) -> None:
    """Each choice gives a manifest that the schema accepts, with just those environments."""
    report = written("my-envs", "--examples", examples)
    path = Path("my-envs/src/my_envs/environments.toml")
    manifest = validate(tomllib.loads(path.read_text(encoding="utf-8")), path)
    assert [entry.id for entry in manifest.environment] == report["environments"]
    assert [entry.turns for entry in manifest.environment] == turns


@given(DISTRIBUTIONS, IMPORT_NAMES, NAMESPACE_NAMES, LINES, LINES, st.sampled_from([*LICENCES]))
def test_whatever_passes_the_checks_gives_a_whole_package(
    distribution: str, import_name: str, namespace: str, description: str, author: str, licence: str
) -> None:
    """For any accepted answers all Python compiles, all TOML says what was answered, and no blank is left."""
    try:
        whole = project(
            distribution=names.check_distribution(distribution),
            import_name=names.check_import_name(import_name),
            namespace=names.check_namespace(namespace),
            description=names.check_line("the description", description),
            author=names.check_line("the author", author),
            licence=licence,
        )
    except ArgumentError:
        return
    files = whole.files()
    for path, text in files.items():
        if path.endswith(".py"):
            compile(text, path, "exec")
        assert text == "" or text.endswith("\n")
        assert "\r" not in text
        assert text.encode().decode() == text
    document = tomllib.loads(files["pyproject.toml"])
    assert document["project"]["name"] == whole.distribution
    assert document["project"]["description"] == whole.description
    assert document["project"]["authors"] == [{"name": whole.author}]
    assert document["project"]["entry-points"] == {"gem.envs": {whole.namespace: whole.import_name}}
    manifest = Path(f"src/{whole.import_name}/environments.toml")
    listed = validate(tomllib.loads(files[manifest.as_posix()]), manifest)
    assert [entry.id for entry in listed.environment] == whole.environments()


def test_no_blank_is_left() -> None:
    """Every blank of every template is filled in, and what an author writes is no blank."""
    files = project().files()
    assert not [path for path, text in files.items() if re.search(r"<<\w+>>", text)]
    assert "<<namespace>>" in project(description="Not a <<namespace>>.").files()["README.md"]


@pytest.mark.parametrize("version", ["0.1.0", "0.9.3", "1.4.2", "2.10.0.dev1"])
def test_the_pin_is_the_running_minor_version(version: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The package asks for gem-core>=X.Y,<X.(Y+1), where X.Y is the version that wrote it."""
    monkeypatch.setattr(gem, "__version__", version)
    major, minor = map(int, version.split(".")[:2])
    pin = f">={major}.{minor},<{major}.{minor + 1}"
    document = tomllib.loads(project().files()["pyproject.toml"])
    assert document["project"]["dependencies"] == [f"gem-core{pin}", f"gem-questions{pin}"]
    assert f"gem-testing{pin}" in document["dependency-groups"]["dev"]


@pytest.mark.parametrize(
    ("distribution", "namespace"),
    [
        ("my-envs", "my"),
        ("gem-envs-chess", "chess"),
        ("gem-chess", "chess"),
        ("chess-gem-envs", "chess"),
        ("chess-environments", "chess"),
        ("chess", "chess"),
        ("two-words-env", "two-words"),
        ("envs", "envs"),
        ("game-envs", "game_envs"),
        ("gem-envs-math", "gem_envs_math"),
        ("gem-envs-3d", "gem_envs_3d"),
    ],
)
def test_the_proposed_namespace_is_short_and_free(distribution: str, namespace: str) -> None:
    """It is the name without "gem" and "envs", or the import name where that is taken or no namespace."""
    import_name = names.propose_import_name(distribution)
    assert names.propose_namespace(distribution, import_name) == namespace
    assert names.check_namespace(namespace) == namespace


@pytest.mark.parametrize("name", ["", "-my", "my-", "my envs", "my/envs", "../up", "mŷ", ".", "my\n", "-" * 3])
def test_what_pep_508_forbids_is_no_distribution(name: str) -> None:
    """The message repeats the name and shows one that is possible."""
    assert repr(name) in refused("--", name)
    with pytest.raises(ArgumentError, match="for example 'my-envs'"):
        names.check_distribution(name)


@pytest.mark.parametrize("name", ["gem-core", "GEM_core", "gem-envs-games", "gem-eval", "gem-rl", "numpy", "PyTest"])
def test_the_names_of_gem_and_what_it_needs_are_taken(name: str) -> None:
    """A distribution that GEM builds on cannot be the author's, however it is spelled."""
    assert "exists already" in refused(name)


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("3d", "begin with a lower-case letter"),
        ("MyEnvs", "begin with a lower-case letter"),
        ("my-envs", "begin with a lower-case letter"),
        ("my.envs", "begin with a lower-case letter"),
        ("étude", "begin with a lower-case letter"),
        ("_my", "begin with a lower-case letter"),
        ("", "begin with a lower-case letter"),
        ("class", "keyword"),
        ("lambda", "keyword"),
        ("random", "standard library"),
        ("json", "standard library"),
        ("gem", "gem-core"),
        ("numpy", "numpy"),
        ("tests", "folder of the package's tests"),
        ("a" * 65, "at most 64 characters"),
    ],
)
def test_an_import_name_must_be_importable(name: str, reason: str) -> None:
    """Each name that would not import, or would hide a module that is needed, is refused with the reason."""
    message = refused("my-envs", "--import-name", name)
    assert reason in message
    assert "\n" not in message


def test_an_import_name_that_follows_from_the_name_is_checked_too() -> None:
    """A distribution may be called like a module; its package may not."""
    assert "standard library" in refused("json")
    assert "lower-case letter" in refused("3d-envs")
    assert written("3d-envs", "--import-name", "three_d")["import_name"] == "three_d"


@given(st.text(max_size=20))
def test_every_name_is_taken_or_refused_in_one_sentence(text: str) -> None:
    """No text makes a check fail in another way, and what is taken is what Python and pip can use."""
    for check in (names.check_distribution, names.check_import_name, names.check_namespace):
        try:
            said = check(text)
        except ArgumentError as error:
            said = str(error)
        else:
            assert said.isascii()
            if check is names.check_import_name:
                assert said.isidentifier()
                assert not keyword.iskeyword(said)
        assert "\n" not in said


@pytest.mark.parametrize("namespace", sorted(NAMESPACES))
def test_a_namespace_of_gem_itself_must_be_asked_for(namespace: str) -> None:
    """It is refused with the packages that fill it, and allowed by an option, since several packages may fill one."""
    message = refused("my-envs", "--namespace", namespace)
    assert all(name in message for name in NAMESPACES[namespace])
    assert "--share-namespace" in message
    assert written("my-envs", "--namespace", namespace, "--share-namespace")["namespace"] == namespace


@pytest.mark.parametrize("namespace", ["", "3d", "my:own", "a/b", "a b", "_x", "é", "x" * 65])
def test_a_namespace_follows_the_grammar_of_ids(namespace: str) -> None:
    """What gem.ids would not read is refused."""
    assert "namespace" in refused("my-envs", "--namespace", namespace)


@pytest.mark.parametrize("text", ["", "  ", "two\nlines", "a\x00b", "\x7f", "\x85", "\u2028", "\ud800", "x" * 501])
@pytest.mark.parametrize("option", ["--author", "--description"])
def test_a_line_is_a_line(option: str, text: str) -> None:
    """Author and description are one line of visible text, so that every file can hold them."""
    assert f"the {option[2:]} must" in refused("my-envs", option, text)


def test_a_name_is_needed_where_nobody_can_be_asked() -> None:
    """Without a terminal and without a name the command says how to call it."""
    result = invoke()
    assert result.exit_code == 2
    assert "gem new my-envs" in result.output


def test_a_folder_with_something_in_it_is_left_alone() -> None:
    """The message names what is there, and nothing is written."""
    Path("my-envs").mkdir()
    Path("my-envs/notes.txt").write_text("mine", encoding="utf-8")
    assert "'notes.txt'" in refused("my-envs")
    assert files_below(Path("my-envs")) == {"notes.txt"}


@pytest.mark.parametrize("kind", ["file", "broken link"])
def test_what_is_no_folder_is_left_alone(kind: str) -> None:
    """A file or a broken link of that name is neither replaced nor followed."""
    if kind == "file":
        Path("my-envs").write_text("mine", encoding="utf-8")
    else:
        Path("my-envs").symlink_to("nowhere")
    assert "is not a folder" in refused("my-envs")


def test_an_empty_folder_is_filled() -> None:
    """An empty folder keeps its identity, so that a shell can stand in it: --into . works."""
    Path("here").mkdir()
    inode = Path("here").stat().st_ino
    os.chdir("here")
    written("my-envs", "--into", ".")
    assert Path("../here").stat().st_ino == inode
    assert files_below(Path("../here")) == EVERYTHING


def test_missing_parents_are_made() -> None:
    """--into may name a folder several levels down."""
    written("my-envs", "--path", "a/b/c")
    assert files_below(Path("a/b/c")) == EVERYTHING


def test_others_may_read_what_was_written() -> None:
    """Folders and files get the permissions that the author's umask gives them."""
    Path("ordinary").mkdir()
    written("my-envs")
    assert stat.S_IMODE(Path("my-envs").stat().st_mode) == stat.S_IMODE(Path("ordinary").stat().st_mode)


@pytest.mark.parametrize("exists", [False, True])
@pytest.mark.parametrize("wrong", [{"a": "", "a/b": ""}, {"a": "", "b": "\ud800"}])
def test_a_file_that_cannot_be_written_leaves_nothing(exists: bool, wrong: dict[str, str]) -> None:
    """Whatever fails half-way, the folder is as it was and nothing lies beside it."""
    folder = Path("parent/whole")
    (folder if exists else folder.parent).mkdir(parents=True)
    before = sorted(Path.cwd().rglob("*"))
    with pytest.raises((OSError, UnicodeError)):
        write_files(folder, wrong)
    assert sorted(Path.cwd().rglob("*")) == before


def test_a_folder_that_is_not_empty_is_not_written_into() -> None:
    """What looked empty when the questions began may be full when the answers are there."""
    Path("full").mkdir()
    Path("full/mine").touch()
    with pytest.raises(ArgumentError, match="'mine'"):
        write_files(Path("full"), {"a": ""})
    assert files_below(Path("full")) == {"mine"}


def test_an_empty_folder_may_be_a_file_system_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    """Into a folder that exists nothing is moved from outside, which a mounted one would not allow."""
    move = Path.rename

    def fail_from_outside(self: Path, target: Path) -> Path:
        if not self.is_relative_to(target.parent):
            raise OSError(18, "Invalid cross-device link", str(self))
        return move(self, target)

    Path("mounted").mkdir()
    monkeypatch.setattr(Path, "rename", fail_from_outside)
    written("my-envs", "--into", "mounted")
    assert files_below(Path("mounted")) == EVERYTHING


def test_a_move_that_fails_is_undone(monkeypatch: pytest.MonkeyPatch) -> None:
    """Filling an empty folder takes several moves; if one fails, those before it are taken back."""
    move, moves = Path.rename, iter([None, None])

    def fail_at_the_third(self: Path, target: Path) -> Path:
        if next(moves, "no more") is not None:
            raise PermissionError(13, "Permission denied", str(target))
        return move(self, target)

    Path("whole").mkdir()
    monkeypatch.setattr(Path, "rename", fail_at_the_third)
    with pytest.raises(PermissionError):
        write_files(Path("whole"), {"a": "", "b/c": "", "d": ""})
    assert not [*Path("whole").iterdir()]


@pytest.mark.skipif(shutil.which("git") is None, reason="git is what is asked")
def test_the_proposed_author_is_who_commits(monkeypatch: pytest.MonkeyPatch) -> None:
    """Git's user.name is the default; what is no line of text is not."""
    config = Path("gitconfig").resolve()
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", str(config))
    monkeypatch.setenv("GIT_CONFIG_SYSTEM", os.devnull)
    monkeypatch.setenv("GIT_CEILING_DIRECTORIES", str(Path.cwd().parent))
    for number, (name, expected) in enumerate(
        {"Ada Łoś": "Ada Łoś", '"two\\nlines"': "The authors of my-envs"}.items()
    ):
        config.write_text(f"[user]\nname = {name}\n", encoding="utf-8")
        written("my-envs", "--into", str(number))
        document = tomllib.loads(Path(f"{number}/pyproject.toml").read_text(encoding="utf-8"))
        assert document["project"]["authors"] == [{"name": expected}]


def test_no_git_is_needed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where there is no git, the authors are those of the package."""
    monkeypatch.setenv("PATH", "")
    written("my-envs", "--license", "MIT")
    assert "The authors of my-envs" in Path("my-envs/LICENSE").read_text(encoding="utf-8")


class Terminal:
    """A command that believes to run on a terminal."""

    def __init__(self, *command: str) -> None:
        self._screen, inside = pty.openpty()
        self.process = subprocess.Popen(command, stdin=inside, stdout=inside, stderr=inside)
        os.close(inside)
        self.shown = ""

    def answer(self, question: str, text: str) -> None:
        """Wait for a question on what is shown next, then type an answer."""
        before = len(self.shown)
        while question not in self.shown[before:]:
            assert self._read(), f"{question!r} was not asked; the screen shows:\n{self.shown}"
        os.write(self._screen, f"{text}\n".encode())

    def close(self) -> int:
        """Wait for the end; return the exit code."""
        while self._read():
            pass
        os.close(self._screen)
        return self.process.wait()

    def _read(self) -> bool:
        """Read what is shown next; False when the command has ended."""
        # Long enough for any machine. Without it, a command that waits for an answer would hold up everything.
        assert select.select([self._screen], [], [], 60)[0], f"nothing happens; the screen shows:\n{self.shown}"
        try:
            shown = os.read(self._screen, 4096)
        except OSError:  # how Linux says that the other side has closed
            return False
        self.shown += shown.decode(errors="replace")
        return bool(shown)


@pytest.fixture
def terminal() -> Iterator[Terminal]:
    """'gem new' on a terminal."""
    running = Terminal(sys.executable, "-m", "gem", "new")
    yield running
    running.process.kill()
    running.process.wait()


def test_on_a_terminal_it_asks(terminal: Terminal) -> None:
    """Every question proposes an answer; one that will not do is asked again with the reason."""
    terminal.answer("Name for pip install [my-envs]:", "bad name")
    terminal.answer("Name for pip install [my-envs]:", "chess-envs")
    terminal.answer("Import name [chess_envs]:", "")
    terminal.answer("Namespace of its ids [chess]:", "game")
    terminal.answer("Namespace of its ids [chess]:", "")
    terminal.answer("Description [", "Chess.")
    terminal.answer("Author [", "Me")
    terminal.answer("[Apache-2.0]:", "mit")
    terminal.answer("[both]:", "multi")
    assert terminal.close() == 0
    assert "'bad name' cannot be the name of a distribution" in terminal.shown
    assert "filled by gem-envs-games" in terminal.shown
    folder = Path("chess-envs")
    assert "Copyright (c)" in (folder / "LICENSE").read_text(encoding="utf-8")
    assert '\ndescription = "Chess."\n' in (folder / "pyproject.toml").read_text(encoding="utf-8")
    assert not (folder / "src/chess_envs/arithmetic.py").exists()


def test_a_taken_folder_is_noticed_before_anything_else_is_asked(terminal: Terminal) -> None:
    """After the name there is no other question where the package could not be written."""
    Path("chess-envs").mkdir()
    Path("chess-envs/notes.txt").touch()
    terminal.answer("Name for pip install [my-envs]:", "chess-envs")
    assert terminal.close() == 1
    assert "is not empty" in terminal.shown
    assert "Import name" not in terminal.shown


def test_whoever_leaves_a_question_gets_nothing(terminal: Terminal) -> None:
    """Control-D at a question ends the command, and nothing is written."""
    terminal.answer("Name for pip install", "")
    terminal.answer("Import name", "\x04")
    assert terminal.close() == 130
    assert not [*Path.cwd().iterdir()]


HEAVY = {"jinja2", "numpy", "pydantic", "pytest", "rich"}

REPORT = """
import sys
from gem_cli.main import cli
cli.main(["new", "my-envs", "--yes"], standalone_mode=False)
print(*sorted(sys.modules))
"""


def test_it_loads_nothing_heavy() -> None:
    """Writing a package needs neither schemas, drawing nor a template engine, so that it takes no time."""
    done = subprocess.run([sys.executable, "-c", REPORT], capture_output=True, text=True, check=True)
    loaded = set(done.stdout.splitlines()[-1].split())
    assert "gem_testing.scaffold.project" in loaded
    assert not loaded & HEAVY
