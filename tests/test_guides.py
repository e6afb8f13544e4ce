"""The guides do what they show: every fenced block is run, in order, as a reader would.

A document is a story. Its blocks act on one folder, from top to bottom:

* a block after ``<!-- file: PATH -->`` becomes that file, one after ``<!-- append: PATH -->`` its end;
* ``python`` and ``pycon`` blocks are one program, what ``pycon`` shows is compared (as doctest does);
* ``bash`` and ``console`` blocks are commands, run in an environment of their own; ``console`` shows what they print,
  with … for anything at all, and lines that begin with ``> `` are typed. ``<!-- exit: N -->`` announces an exit code;
* ``toml``, ``json`` and ``jsonl`` blocks are valid, manifests and suites of evaluations by their schemas;
* a ``text`` block is not run, and ``<!-- not run: REASON -->`` says why;
* a block after ``<!-- nightly: REASON -->`` is followed by night alone; no later block may need it.

In documents that are no guides only Python runs: their commands set up the repository itself.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import sysconfig
import venv
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import cache, cached_property
from pathlib import Path
from typing import Any

import pytest
from markdown_it import MarkdownIt

from gem.discovery.manifest_schema import validate
from gem_eval import EvaluationConfig
from gem_testing import CLAUSES

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
SKILL = ROOT / "packages" / "gem-testing" / "src" / "gem_testing" / "skill" / "SKILL.md"
GUIDES = [*sorted([DOCS / "README.md", *DOCS.glob("guides/*.md")]), SKILL]
OTHERS = sorted(
    path
    for pattern in ("*.md", "docs/**/*.md", "packages/*/README.md", "hub/README.md", "benchmarks/*.md")
    for path in ROOT.glob(pattern)
    if path not in GUIDES
)
LONG = "it is followed in more than five seconds"
NIGHTLY = {
    "docs/guides/coding-agents.md": "packages/gem-testing/tests/test_skill.py tests these commands by day",
    "docs/guides/coming-from-inspect.md": LONG,
    "docs/guides/conformance.md": LONG,
    "docs/guides/dataset-environment.md": LONG,
    "docs/guides/environment-server.md": LONG,
    "docs/guides/evaluation.md": LONG,
    "docs/guides/first-environment.md": LONG,  # test_scaffold_package.py tests such a package by day
    "docs/guides/hub.md": "it builds, checks and publishes wheels from its second block on",
    "docs/guides/multi-agent.md": LONG,
    "docs/guides/picture-environment.md": LONG,
    "docs/guides/publishing.md": "it builds and checks a wheel from its third block on",
    "docs/guides/rewards.md": LONG,
    "docs/guides/terminal.md": LONG,
    "docs/guides/tool-environment.md": LONG,
    "docs/guides/tools.md": LONG,
    "docs/guides/trainers.md": LONG,
    "docs/guides/training.md": LONG,
    "docs/guides/trajectories.md": LONG,
    "docs/guides/worlds-from-descriptions.md": "it makes and installs a package",
    str(SKILL.relative_to(ROOT)): LONG,
}
"""Documents whose commands run by night alone. By day test_documents.py knows that the commands exist."""
WHOLE = "the first block of a document follows the whole document, with its installs"
DATA = ("toml", "json", "jsonl")
LANGUAGES = ("python", "pycon", "bash", "console", "text", *DATA)

# Reads a block a line from stdin and answers each with a line: what went wrong, or nothing.
PROGRAM = r"""
import contextlib, doctest, io, json, linecache, os, sys, traceback, types

answers = os.fdopen(os.dup(1), "w")
os.dup2(2, 1)
module = sys.modules["__main__"] = types.ModuleType("__main__")
sys.path[0] = os.getcwd()

def run(code, name, shown):
    said = io.StringIO()
    try:
        with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(said):
            if shown:
                test = doctest.DocTestParser().get_doctest(code, {}, name, name, 0)
                test.globs = module.__dict__
                doctest.DocTestRunner(optionflags=doctest.ELLIPSIS).run(test, out=said.write, clear_globs=False)
            else:
                linecache.cache[name] = (len(code), None, code.splitlines(True), name)
                exec(compile(code, name, "exec", dont_inherit=True), module.__dict__)
    except BaseException:
        return said.getvalue() + traceback.format_exc()
    return said.getvalue()

for line in sys.stdin:
    print(json.dumps(run(**json.loads(line))), file=answers, flush=True)
answers.close()
"""


@dataclass(frozen=True)
class Block:
    """One fenced block of a document."""

    document: str
    line: int
    language: str
    code: str
    notes: dict[str, str] = field(default_factory=dict)
    """The words of the comments right before it: ``file``, ``append``, ``exit``, ``nightly``, ``not run``."""
    prose: str = ""
    """The paragraph before it."""

    @property
    def place(self) -> str:
        return f"{self.document}:{self.line}"

    @property
    def by_night(self) -> bool:
        """Whether only the nightly tier follows it."""
        return "nightly" in self.notes or self.document in NIGHTLY

    @property
    def path(self) -> str | None:
        """The file that it is, or ends."""
        return self.notes.get("file") or self.notes.get("append")


def blocks_of(text: str, document: str) -> Iterator[Block]:
    """Yield the code blocks of a Markdown text, indented ones without a language included."""
    notes: dict[str, str] = {}
    prose = ""
    for token in MarkdownIt().parse(text):
        if token.type == "html_block":
            notes.update(re.findall(r"<!-- ([a-z ]+): (.+?) -->", token.content))
        elif token.type in ("fence", "code_block"):
            assert token.map is not None
            yield Block(document, token.map[0] + 1, token.info.strip(), token.content, notes, prose)
            notes = {}
        elif token.type == "inline":
            prose = token.content


def blocks_in(paths: list[Path]) -> list[Block]:
    return [
        block for path in paths for block in blocks_of(path.read_text(encoding="utf-8"), str(path.relative_to(ROOT)))
    ]


GUIDE_BLOCKS = blocks_in(GUIDES)
OTHER_BLOCKS = [block for block in blocks_in(OTHERS) if block.language in ("python", "pycon", *DATA)]


class Story:
    """A document that is being followed: its folder, where the reader stands, and the program so far."""

    def __init__(self, folder: Path) -> None:
        self.where = folder / "work"
        self.where.mkdir(parents=True)
        self._venv = folder / "venv"
        self._exit_folder = folder / "exit-folder"
        self._program: subprocess.Popen[str] | None = None

    def follow(self, block: Block) -> None:
        """Do what a block shows; AssertionError if it is not so."""
        if block.language in DATA:
            check_data(block)
        if block.path is not None:
            path = self.where / block.path
            path.parent.mkdir(parents=True, exist_ok=True)
            with path.open("a" if "append" in block.notes else "w", encoding="utf-8") as file:
                file.write(block.code)
        elif block.language in ("python", "pycon"):
            self._run_python(block)
        elif block.language == "bash":
            self._command("set -euo pipefail\n" + block.code, typed=(), code=int(block.notes.get("exit", 0)))
        elif block.language == "console":
            self._run_session(block)

    def close(self) -> None:
        if self._program is not None:
            self._program.communicate()

    @cached_property
    def bin(self) -> Path:
        """The programs of an environment that has what this one has, and into which the story may install more."""
        venv.create(self._venv, symlinks=True)
        paths = sysconfig.get_paths("posix_prefix", {"base": str(self._venv), "platbase": str(self._venv)})
        here, scripts = Path(paths["purelib"]), Path(paths["scripts"])
        mine = sysconfig.get_paths()["purelib"]
        # Not a line with the path alone: the editable installs there are path files too.
        (here / "parent.pth").write_text(f"import site; site.addsitedir({mine!r})\n", encoding="utf-8")
        for name, module in {"gem": "gem", "pip": "pip", "pytest": "pytest"}.items():
            script = scripts / name
            script.write_text(f'#!/bin/sh\nexec "{scripts / "python"}" -m {module} "$@"\n', encoding="utf-8")
            script.chmod(0o755)
        return scripts

    @property
    def variables(self) -> dict[str, str]:
        own = {name: value for name, value in os.environ.items() if not name.startswith(("GEM_", "PYTEST_", "PYTHON"))}
        return {
            **own,
            "PATH": f"{self.bin}{os.pathsep}{os.environ['PATH']}",
            "VIRTUAL_ENV": str(self._venv),
            "PIP_DISABLE_PIP_VERSION_CHECK": "1",
            "PIP_NO_BUILD_ISOLATION": "0",  # which means true: hatchling is here already
            "PYTHONDONTWRITEBYTECODE": "1",
        }

    def _run_python(self, block: Block) -> None:
        if self._program is None or self._program.poll() is not None:
            self._program = subprocess.Popen(
                [self.bin / "python", "-W", "error", "-c", PROGRAM],
                cwd=self.where,
                env=self.variables,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                text=True,
            )
        assert self._program.stdin is not None
        assert self._program.stdout is not None
        request = {"code": block.code, "name": block.place, "shown": block.language == "pycon"}
        self._program.stdin.write(json.dumps(request) + "\n")
        self._program.stdin.flush()
        answer = self._program.stdout.readline()
        assert answer, f"{block.place}: the program was ended"
        said = json.loads(answer)
        assert not said, said

    def _run_session(self, block: Block) -> None:
        """Run the commands of a session, and compare what each prints with what is shown, where anything is."""
        commands = re.findall(r"^\$ ((?:.*\\\n)*.*)\n((?:(?!\$ ).*\n)*)", block.code, re.MULTILINE)
        assert commands, "a console block holds commands after '$ '"
        codes = [0] * (len(commands) - 1) + [int(block.notes.get("exit", 0))]
        for (command, shown), code in zip(commands, codes, strict=True):
            typed = tuple(re.findall(r"^> (.*)$", shown, re.MULTILINE))
            printed = self._command(command, typed, code)
            if shown.strip():
                assert matches(shown, printed), f"$ {command}\nshown:\n{shown}\nprinted:\n{printed}"

    def _command(self, command: str, typed: tuple[str, ...], code: int) -> str:
        """Run a command and go where it leads; return what a terminal would show."""
        done = subprocess.run(
            ["bash", "-c", f"trap 'pwd > {self._exit_folder}' EXIT\n{command}"],
            cwd=self.where,
            env=self.variables,
            input="".join(f"{line}\n" for line in typed),
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=False,
        )
        assert done.returncode == code, f"$ {command}\nexit code {done.returncode}, not {code}:\n{done.stdout}"
        self.where = Path(self._exit_folder.read_text(encoding="utf-8").strip())
        # A terminal shows what is typed, which a pipe does not.
        echo = iter(typed)
        return re.sub(r"^> ", lambda _: f"> {next(echo, '')}\n", done.stdout, flags=re.MULTILINE)


def matches(shown: str, printed: str) -> bool:
    """Return whether a text is what is shown, where … stands for anything; blanks at the ends of lines do not count."""
    want, got = ("\n".join(line.rstrip() for line in text.strip().splitlines()) for text in (shown, printed))
    return re.fullmatch(".*?".join(map(re.escape, want.split("…"))), got, re.DOTALL) is not None


def check_data(block: Block) -> None:
    """Parse TOML or JSON; a manifest, or a part of one, keeps its schema, and so does a suite of evaluations."""
    if block.language == "toml":
        document = tomllib.loads(block.code)
        if "environment" in document and "episodes" in document:
            EvaluationConfig.from_dict(document)
        elif "environment" in document:
            validate({"schema": 1, **document}, Path(block.place))
    else:
        for text in block.code.splitlines() if block.language == "jsonl" else [block.code]:
            json.loads(text)


@pytest.fixture(scope="module")
def results_of(
    tmp_path_factory: pytest.TempPathFactory, request: pytest.FixtureRequest
) -> Callable[[str], dict[int, str]]:
    """A function that follows a document once, to its end or the first block that fails.

    It returns what was wrong with the block of each line, "" where nothing was.
    """
    by_night = request.config.getoption("--tier") == "all"

    @cache
    def follow(document: str) -> dict[int, str]:
        results: dict[int, str] = {}
        story = Story(tmp_path_factory.mktemp("story"))
        try:
            for block in (*GUIDE_BLOCKS, *OTHER_BLOCKS):
                if block.document == document and (by_night or not block.by_night):
                    results[block.line] = "it cannot be followed"
                    story.follow(block)
                    results[block.line] = ""
        except Exception as error:
            results[max(results)] = str(error) or repr(error)
        finally:
            story.close()
        return results

    return follow


def in_one_worker(blocks: list[Block]) -> list[Any]:
    params = []
    for block in blocks:
        marks = [pytest.mark.xdist_group(block.document), pytest.mark.slow(reason=WHOLE)]
        if block.by_night:
            marks.append(pytest.mark.nightly)
        params.append(pytest.param(block, id=block.place, marks=marks))
    return params


@pytest.mark.parametrize("block", in_one_worker([*GUIDE_BLOCKS, *OTHER_BLOCKS]))
def test_a_block_is_as_shown(block: Block, results_of: Callable[[str], dict[int, str]]) -> None:
    """Every block works as written after those before it in the same document, without a warning."""
    results = results_of(block.document)
    if block.line not in results:
        pytest.fail(f"not reached: the block in line {max(results)} of {block.document} failed", pytrace=False)
    if results[block.line]:
        pytest.fail(results[block.line], pytrace=False)


@pytest.mark.parametrize("block", GUIDE_BLOCKS, ids=lambda block: block.place)
def test_no_block_escapes(block: Block) -> None:
    """Every block of a guide has a language that is run or checked, and one that is not run says why."""
    assert block.language in LANGUAGES
    assert (block.language == "text") == ("not run" in block.notes)
    assert block.notes.keys() <= {"file", "append", "exit", "nightly", "not run"}


@pytest.mark.parametrize("block", [b for b in GUIDE_BLOCKS if b.path], ids=lambda block: block.place)
def test_the_reader_is_told_which_file_a_block_is(block: Block) -> None:
    """The comment that names a file is invisible, so the paragraph before the block names it too."""
    assert f"`{block.path}`" in block.prose


def test_the_index_lists_every_document() -> None:
    """docs/README.md links to each document of docs/."""
    links = set(re.findall(r"\]\(([^)#:]+\.md)", (DOCS / "README.md").read_text(encoding="utf-8")))
    documents = {str(path.relative_to(DOCS)) for path in DOCS.rglob("*.md")} - {"README.md"}
    assert documents <= links


def test_the_page_on_the_kit_lists_every_clause() -> None:
    """The table in conformance.md has a row for each clause, in reading order, with its promise."""
    text = (DOCS / "guides" / "conformance.md").read_text(encoding="utf-8")
    table = "".join(f"| `{clause.name}` | {clause.promise} |\n" for clause in CLAUSES.values())
    assert f"| clause | promise |\n|---|---|\n{table}\n" in text, f"the table is now:\n{table}"


def test_documents_say_how_many_clauses_there_are() -> None:
    """Wherever a document counts the clauses, the number is that of the kit."""
    documents = [DOCS.parent / "README.md", *DOCS.rglob("*.md"), *DOCS.parent.glob("packages/*/README.md")]
    counts = {
        f"{document.relative_to(DOCS.parent)}: {count}"
        for document in documents
        for count in re.findall(r"(\d+) clauses", document.read_text(encoding="utf-8"))
        if int(count) != len(CLAUSES)
    }
    assert not counts, f"the kit has {len(CLAUSES)}"


@pytest.mark.parametrize(
    "document", sorted({b.document for b in GUIDE_BLOCKS if (b.path or "").endswith("environments.toml")})
)
def test_the_finished_environments_of_a_guide_are_checked(document: str) -> None:
    """After the last file of a guide's package comes 'gem check' with all of its clauses, and none is violated."""
    blocks = [block for block in GUIDE_BLOCKS if block.document == document]
    written = max(number for number, block in enumerate(blocks) if (block.path or "").startswith("src/"))
    checks = [block.code for block in blocks[written:] if block.code.startswith("$ gem check\n")]
    assert checks
    assert ": all clauses hold" in checks[-1]


def story_of(text: str, folder: Path) -> None:
    """Follow a text that is no document."""
    story = Story(folder / "story")
    try:
        for block in blocks_of(text, "text"):
            story.follow(block)
    finally:
        story.close()


def test_a_story_goes_from_top_to_bottom(tmp_path: Path) -> None:
    """Files are there for the commands after them, folders are kept, and a program remembers its names."""
    text = """
<!-- file: a/thing.py -->
```python
value = 3
```

```console
$ cd a
$ ls
thing.py
$ printf "> "; read line; echo "this is $line"
> typed
this is …ed
```

```python
from thing import value
```

```pycon
>>> value
3
```
"""
    story_of(text, tmp_path)


@pytest.mark.parametrize(
    "text",
    [
        "```python\n1 / 0\n```",
        "```python\nimport warnings\nwarnings.warn('x')\n```",
        "```python\nimport sys\nsys.exit()\n```",
        "```python\nimport sys\nprint('x', file=sys.stderr)\n```",
        "```pycon\n>>> 1 + 1\n3\n```",
        "```bash\nfalse\ntrue\n```",
        "```console\n$ echo yes\nno\n```",
        "```console\n$ echo yes\nyes\n$ false\n```",
        "<!-- exit: 1 -->\n```console\n$ true\n```",
        "```console\nyes\n```",
        "```toml\nx = \n```",
        '```toml\n[[environment]]\nid = "a:B-v0"\n```',
        '```toml\nepisodes = 3\n[[environment]]\nname = "a:B-v0"\n```',
        "```jsonl\n{}\n{\n```",
    ],
)
def test_a_block_that_is_not_as_shown_is_noticed(text: str, tmp_path: Path) -> None:
    """Errors, warnings, other output, other exit codes and broken data make the test of a block fail."""
    with pytest.raises((AssertionError, ValueError)):
        story_of(text, tmp_path)
