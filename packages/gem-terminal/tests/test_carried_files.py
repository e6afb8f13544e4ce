"""Which of an agent's changes the pristine verifier lays over a fresh container."""

from __future__ import annotations

import hashlib
import io
import sys
import tarfile
import time
import zlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path, PurePosixPath
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from gem_terminal import load_task
from gem_terminal.engines.base import FileChanges
from gem_terminal.verdicts.carried_files import CarriedFiles, CarryRules
from gem_terminal.verdicts.declarations import Declarations, declarations_of

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

RULES = CarryRules(
    declared=tuple(map(PurePosixPath, ("/app", "/root", "/home/agent", "/opt/shop/number", "/root/.ssh", "/srv/all"))),
    author=Declarations(
        stated=(PurePosixPath("/app/special/conftest.py"), PurePosixPath("/srv/all")),
        patterns=("/app/build/**", "/app/*/Cargo.toml"),
        paths=tuple(
            map(
                PurePosixPath, ("/root/.ssh", "/opt/shop/number", "/app/Justfile", "/app/tox.ini", "/app/named_test.go")
            )
        ),
        names=frozenset(("report.json", "INDEX", ".env", "setup.cfg", "deploy.sh", "code.py")),
    ),
    tools=(PurePosixPath("/app/venv"), PurePosixPath("/usr/local/bin"), PurePosixPath("/usr/bin")),
)
OWN_NAMES: dict[str, list[str]] = tomllib.loads(Path(__file__).with_name("own_names.toml").read_text())
"""Programs → names of files that they read on their own accord."""

ELF = b"\x7fELF\2\1\1"

Member = tuple[str, Mapping[str, object], bytes]


def changes(*members: Member, removed: Iterable[str] = ()) -> FileChanges:
    """Changes of a container, each with a path, fields of its header, and its content."""
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as made:
        for path, fields, content in members:
            member = tarfile.TarInfo(path.lstrip("/"))
            member.size = len(content)
            for name, value in fields.items():
                setattr(member, name, value)
            made.addfile(member, io.BytesIO(content))
    return FileChanges((("/", buffer.getvalue()),), tuple(removed))


def link(path: str, target: str) -> Member:
    """A symbolic link."""
    return path, {"type": tarfile.SYMTYPE, "linkname": target}, b""


def folder(path: str) -> Member:
    """A folder."""
    return path, {"type": tarfile.DIRTYPE, "mode": 0o755}, b""


def carried(*members: Member, rules: CarryRules = RULES, image: Mapping[str, bool] | None = None) -> CarriedFiles:
    """What the rules carry over an image with some files and folders."""

    def look(paths: Sequence[str]) -> Mapping[str, bool]:
        return {path: (image or {})[path] for path in paths if path in (image or {})}

    return rules.carried(changes(*members, removed=[path for path, _, _ in members]), look)


def names_in(archive: bytes) -> list[str]:
    """The absolute paths of an archive."""
    with tarfile.open(fileobj=io.BytesIO(archive)) as made:
        return [f"/{member.name}" for member in made]


def names_of(*members: Member, rules: CarryRules = RULES, image: Mapping[str, bool] | None = None) -> list[str]:
    """The paths that the rules carry."""
    return names_in(carried(*members, rules=rules, image=image).archive)


def files(*paths: str, content: bytes = b"x") -> list[Member]:
    """Files with one content."""
    return [(path, {}, content) for path in paths]


CARRIED = (
    "/app/x.txt", "/app/a b/ü.py", "/root/result.csv", "/home/agent/y.c", "/app/lib/latest.js", "/app/x.min.js",
    "/app/run.sh", "/app/project/src/venv.rs", "/app/.gitignore", "/app/data/test/1.png", "/app/contest.py",
    "/app/out/report.json", "/app/INDEX", "/app/.env", "/opt/shop/number", "/app/Justfile", "/app/code.py",
    "/root/.ssh/config", "/app/special/conftest.py", "/srv/all/any.cfg", "/srv/all/.b/.c", "/srv/all/tests/check.py",
    "/app/build/Makefile", "/app/build/a/.b/package.json", "/app/crate/Cargo.toml", "/app/named_test.go",
)  # fmt: skip
REFUSED = (
    "/etc/ld.so.preload", "/usr/bin/python3", "/tests/test.sh", "/opt/shop/other", "/root/.ssh/../../etc/passwd",
    "/app/venv/bin/python", "/app/.venv/bin/x.py", "/root/.bashrc", "/root/.local/lib/z.py", "/home/agent/.profile",
    "/app/tests/new.py", "/app/pkg/test_x.py", "/app/pkg/x_test.go", "/app/a.spec.ts", "/app/FooTest.java", "/app/word",
    "/app/node_modules/left/index.js", "/app/vendor/autoload.php", "/app/__pycache__/x.py", "/app/x.dist-info/a.txt",
    "/srv/all/conftest.py", "/srv/all/x/tox.ini", "/app/setup.cfg", "/app/tox.ini", "/app/crates/a/Cargo.toml",
    "/app/json.py", "/app/a/csv.cpython-311-x86_64-linux-gnu.so", "/app/pytest.py", "/app/_pytest/__init__.py",
    "/app/tests/helper.cpython-311-x86_64-linux-gnu.so", "/app/tests/run.sh", "/app/sitecustomize.so",
    "/app/json.pyc", "/app/pytest.pyc", "/app/csv/__init__.pyc", "/app/tests/helper.pyc", "/app/toxfile.py",
    "/app/gunicorn.conf.py", "/app/Makefile.sh", "/app/local.mk.c", "/app/main.d", "/app/main.d.sh",
    "/app/buildSrc/src/main/java/A.java", "/app/project/Build.scala", "/app/site_scons/site_init.py",
    "/app/numpy/testing/_private.py", "/app/features.h", "/app/bits/types.h",
)  # fmt: skip


def test_paths_that_are_carried() -> None:
    """Those of declared kinds in declared places, and those that the author names."""
    assert sorted(names_of(*files(*CARRIED, *REFUSED))) == sorted(CARRIED)


@pytest.mark.parametrize("program", OWN_NAMES)
def test_nothing_that_a_program_reads_on_its_own_accord_is_carried(program: str) -> None:
    """As a file, a link, another name of a file, or in a folder; nor does the mention of the name change that."""
    paths = [f"{place}/{name}" for place in ("/app", "/home/agent/project") for name in OWN_NAMES[program]]
    own = files("/app/0.txt")
    hard = {"type": tarfile.LNKTYPE, "linkname": "app/0.txt"}
    for content in (b"x", b"#\0\nx\n", b"x\n#\0", b"[\0]", b"MZ = 1\n", b"\x7fELF = 1\n"):
        assert names_of(*own, *files(*paths, content=content)) == ["/app/0.txt"]
    assert names_of(*own, *(link(path, "/app/0.txt") for path in paths)) == ["/app/0.txt"]
    assert names_of(*own, *((path, hard, b"") for path in paths)) == ["/app/0.txt"]


@example("app", ["app", "..", "tests"])
@example("app", ["usr", "..", "..", "..", "tests"])
@given(
    st.sampled_from(["app", "root", "home/agent"]),
    st.lists(st.sampled_from(["..", "a", "usr", "tests", "app", "."]), max_size=6),
)
def test_a_carried_link_leads_nowhere_else(place: str, target: list[str]) -> None:
    """Wherever it lies: to the declared folders, or to the tools of the image."""
    for goal in ("/".join(target), "/" + "/".join(target)):
        if names_of(link(f"/{place}/d/link.txt", goal)):
            parts: list[str] = [] if goal.startswith("/") else [*place.split("/"), "d"]
            for part in goal.split("/"):
                parts = parts[:-1] if part == ".." else parts if part in ("", ".") else [*parts, part]
            assert f"/{'/'.join(parts)}/".startswith(("/app/", "/root/", "/home/agent/", "/usr/"))


def test_a_link_has_the_kind_of_its_name_or_leads_to_a_folder() -> None:
    """A link named Makefile would make a configuration of any file."""
    image = {"/app/old": True, "/app/file": False}
    members = [
        folder("/app/new"),
        *files("/app/text.txt"),
        link("/app/a.txt", "text.txt"),
        link("/app/current", "new"),
        link("/app/before", "/app/old"),
        link("/app/Makefile", "text.txt"),
        link("/app/GNUmakefile", "/app/file"),
        link("/app/tests", "new"),
        link("/app/chain", "Makefile"),
    ]
    assert names_of(*members, image=image) == ["/app/new", "/app/text.txt", "/app/a.txt", "/app/current", "/app/before"]


def test_the_scripts_and_programs_of_the_image_stay() -> None:
    """The tests may call them; new ones come, and those that the author names."""
    members = [
        *files("/app/check.sh", "/app/deploy.sh", "/app/new.sh"),
        *files("/app/tool", "/app/made", content=ELF),
        link("/app/other.sh", "new.sh"),
    ]
    image = {"/app/check.sh": False, "/app/deploy.sh": False, "/app/tool": False, "/app/other.sh": False}
    assert names_of(*members, image=image) == ["/app/deploy.sh", "/app/new.sh", "/app/made"]


def test_a_file_without_suffix_is_carried_if_it_is_no_text() -> None:
    """From its beginning on: a zero byte may stand in a comment of a configuration, which may begin as programs do."""
    binary = [b"SQLite format 3\0", ELF, b"MZ\x90\0\3", b"\xca\xfe\xba\xbe\0", b"\0asm"]
    text = [
        b"words",
        b"#\0\n",
        b"[a]\n#\0",
        b"a\n\0",
        b"#" * 16 + b"\0",
        b"MZ = 1\n",
        b"\x7fELF = 1\n",
        b"\xca\xfe\xba\xbe = 1\n",
        b"",
    ]
    members: list[Member] = [(f"/app/{number}", {}, content) for number, content in enumerate([*binary, *text])]
    assert names_of(*members) == [f"/app/{number}" for number in range(len(binary))]
    assert names_of(*files("/app/GNUmakefile", "/app/BUILD", "/app/dune", "/app/local.mk", content=b"a\0\n")) == []


def test_modules_that_python_would_import_in_place_of_its_own() -> None:
    """They come inside packages only: of the image, or new ones that no link leads to."""
    image = {"/app/old": True, "/app/old/__init__.py": False, "/app/plain": True, "/app/own.py": False}
    members = [
        *files("/app/old/json.py", "/app/plain/__init__.py", "/app/plain/csv.py", "/app/types.py", "/app/own.py"),
        *files("/app/new/__init__.py", "/app/new/json.py", "/app/bare/json.py", "/app/logging/__init__.py"),
        *files("/app/away/__init__.py", "/app/away/csv.py"),
        link("/app/back", "away"),
        folder("/app/away"),
    ]
    assert [name for name in names_of(*members, image=image) if name.endswith(".py")] == [
        "/app/old/json.py", "/app/own.py", "/app/new/__init__.py", "/app/new/json.py", "/app/away/__init__.py",
    ]  # fmt: skip


def test_a_folder_around_the_tests_does_not_become_a_package() -> None:
    """Pytest would import it: one that the tests are copied to, one at the root, one of the image that nobody names."""
    image = {
        "/app/named": True,
        "/app/plain": True,
        "/app/spoken": True,
        "/app/old": True,
        "/app/old/__init__.py": False,
    }
    around = ("", "/checks", "/new", "/plain", "/named", "/spoken", "/old")
    author = Declarations(paths=(PurePosixPath("/app/named"),), names=frozenset(("spoken", "app")))
    rules = replace(
        RULES,
        author=author,
        landings=frozenset(map(PurePosixPath, ("/app/checks", "/app/checks/a/in", "/app/checks/a"))),
    )
    for name in ("__init__.py", "__init__.pyc", "__init__.cpython-311-x86_64-linux-gnu.so"):
        members = files(*(f"/app{place}/{name}" for place in (*around, "/evil", "/evil/in")), content=ELF)
        kept = ["new", "named", "spoken", *(["old"] if f"/app/old/{name}" in image else [])]
        links = [folder("/app/evil"), link("/app/checks/a", "../evil")]
        carried = names_of(*members, *links, image=image, rules=rules)
        assert [path for path in carried if path.endswith(name)] == [f"/app/{place}/{name}" for place in kept]


REPOSITORY = (
    "HEAD", "index", "packed-refs", "refs/heads/vendor/conftest.py", "logs/HEAD", "info/exclude", "modules/sub/HEAD",
    "objects/pack/pack-1.pack", "COMMIT_EDITMSG",
)  # fmt: skip
NO_REPOSITORY = (
    "hooks/pre-commit", "commondir", "config.worktree", "worktrees/a/gitdir", "info/attributes", "info/grafts",
    "objects/info/alternates", "rebase-merge/git-rebase-todo", "modules/sub/hooks/update", "gitdir", "x.txt",
    "sequencer/todo", "refs/replace/" + "0" * 40, "objects/pack/pack-1.idx", "objects/pack/multi-pack-index",
    "objects/info/commit-graph",
)  # fmt: skip


@pytest.mark.parametrize("repository", ["/app/.git", "/srv/all/bare.git", "/app/a/.git/modules/b"])
def test_the_content_of_a_repository_comes_without_what_git_executes(repository: str) -> None:
    """Objects, references and logs; no hooks, and no file that leads git to another folder."""
    members = files(*(f"{repository}/{name}" for name in (*REPOSITORY, *NO_REPOSITORY)))
    assert names_of(*members) == [f"{repository}/{name}" for name in REPOSITORY]
    assert names_of(*files("/app/.git"), link("/root/.git", "/app"), link("/app/a/.git/HEAD", "/app/x.txt")) == []


@pytest.mark.parametrize("digest", [hashlib.sha1, hashlib.sha256])
def test_an_object_has_the_digest_that_is_its_name(digest: Callable[[bytes], Any]) -> None:
    """Git reads a file of one object without a look at its digest, and would take any content for an old commit."""
    name = digest(b"blob 5\0true\n").hexdigest()
    path = f"/app/.git/objects/{name[:2]}/{name[2:]}"
    packed = zlib.compress(b"blob 5\0true\n")
    assert names_of((path, {}, packed)) == [path]
    for content in (zlib.compress(b"blob 6\0false\n"), packed[:-1], b"", b"x", zlib.compress(bytes(1 << 21))):
        assert names_of((path, {}, content)) == []


def test_what_tests_expect_stays_the_images_own() -> None:
    """Data in folders of tests, however they are changed; the author opens such a file by its path alone."""
    image = {
        f"/app{path}": path.endswith("cases")
        for path in ("/tests/a.txt", "/tests/cases", "/tests/cases/b.csv", "/pkg/tests/c.png", "/data/a.txt")
    }
    changed = [
        *files("/app/tests/a.txt", "/app/tests/cases/b.csv", "/app/pkg/tests/c.png", "/app/tests/new.txt"),
        *files("/app/data/a.txt"),
    ]
    assert names_of(*changed, image=image) == ["/app/tests/new.txt", "/app/data/a.txt"]
    assert names_of(link("/app/tests/cases", "/app/tests"), link("/app/tests/a.txt", "x.txt"), image=image) == []
    assert names_of(folder("/app/tests/cases"), folder("/app/tests/a.txt"), image=image) == ["/app/tests/cases"]
    assert names_of(*files("/app/tests/cases", content=b"\0"), image=image) == []
    author = RULES.author._replace(paths=(*RULES.author.paths, PurePosixPath("/app/tests/a.txt")))
    named = replace(RULES, author=author._replace(names=frozenset(["b.csv"])))
    assert names_of(*files("/app/tests/a.txt", "/app/tests/cases/b.csv"), image=image, rules=named) == [
        "/app/tests/a.txt"
    ]


def test_tests_are_not_removed() -> None:
    """Nor is what they expect, or what says what to run; a folder around them is, and leaves the tests behind.

    The author names the path of what may go.
    """
    gone = [
        "/app/tests",
        "/app/pkg/tests/a.txt",
        "/app/test_x.py",
        "/app/a.spec.ts",
        "/app/conftest.py",
        "/app/mypy.ini",
        "/app/phpunit.xml.dist",
        "/app/web/.golangci.yml",
        "/app/package.json",
    ]
    kept = ["/app/pkg", "/app/x.py", "/app/tests.txt", "/root/.ssh", "/srv/all/tests", "/app/a.json", "/app/.env"]
    result = RULES.carried(changes(removed=[*gone, *kept]), lambda paths: {})
    assert list(result.removed) == kept
    assert list(result.sheltered) == [path for path in kept if path not in ("/root/.ssh", "/srv/all/tests")]


def test_a_program_has_no_name_of_a_command_of_the_image() -> None:
    """It would be found first where tests search a folder of the agent; a program that runs tests stays as it is."""
    image = {"/usr/bin/grep": False, "/app/manage.py": False}
    paths = files("/app/bin/grep", "/app/bin/mine", content=ELF)
    assert names_of(*paths, *files("/app/manage.py", "/app/site/manage.py"), image=image) == [
        "/app/bin/mine", "/app/site/manage.py",
    ]  # fmt: skip


def test_data_under_a_name_of_no_kind_may_be_executed() -> None:
    """New ones come, but not in place of the image's, among tests, as a command, or as a library's compiled form."""
    come = ["/app/model.keras", "/app/weights", "/app/lib/x.faiss", "/app/deploy.sh"]
    stay = [
        "/app/verify",
        "/app/tests/judge",
        "/app/tools/grep",
        "/app/assert.h.x",
        "/app/lib/strict.x",
        "/app/sys/types",
    ]
    image = dict.fromkeys(("/app/verify", "/usr/bin/grep", "/app/deploy.sh"), False)
    assert names_of(*files(*stay, *come, content=b"exit 0;\0\n"), image=image) == come
    named = replace(RULES, author=RULES.author._replace(names=frozenset({"verify", "grep"})))
    told = names_of(*files("/app/verify", "/app/tools/grep", content=b"exit 0;\0\n"), image=image, rules=named)
    assert told == ["/app/verify", "/app/tools/grep"]


def test_a_file_that_can_be_executed_has_no_name_of_a_command() -> None:
    """Whatever its kind is; one that cannot be executed has it, unless a shell would read it."""
    image = {f"/usr/bin/{name}": False for name in ("convert.py", "plot.csv")}
    for mode, expected in ((0o755, []), (0o644, ["/app/bin/convert.py", "/app/bin/plot.csv"])):
        members = [(f"/app/bin/{name}", {"mode": mode}, b"x") for name in ("convert.py", "plot.csv")]
        assert names_of(*members, image=image) == expected


def test_no_file_is_newer_than_the_tests() -> None:
    """Make would not build again from the tests' sources what an agent dated into the future."""
    result = carried(("/app/answer", {"mtime": 1 << 33}, ELF), ("/app/x.txt", {"mtime": 7}, b"x"))
    with tarfile.open(fileobj=io.BytesIO(result.archive)) as made:
        future, past = (member.mtime for member in made)
    assert future < time.time()
    assert past == 7


def test_hard_links_and_special_files() -> None:
    """A hard link comes with its file, or as a file where that is left behind; devices and special bits do not come."""
    members: list[Member] = [
        ("/app/dir", {"type": tarfile.DIRTYPE, "mode": 0o2777}, b""),
        ("/app/Makefile", {}, b"left behind"),
        ("/app/copy.txt", {"type": tarfile.LNKTYPE, "linkname": "app/Makefile"}, b""),
        ("/app/one.txt", {"mode": 0o6755}, b"1"),
        ("/app/two.txt", {"type": tarfile.LNKTYPE, "linkname": "app/one.txt"}, b""),
        ("/app/three.txt", {"type": tarfile.LNKTYPE, "linkname": "etc/shadow"}, b""),
        ("/app/four.txt", {"type": tarfile.CHRTYPE, "devmajor": 1}, b""),
        ("/app/five.txt", {"type": tarfile.FIFOTYPE}, b""),
        ("/app/link.txt", {"type": tarfile.SYMTYPE, "linkname": "/app/dir"}, b""),
        ("/app/link.txt/inner.txt", {}, b"x"),
    ]
    result = carried(*members)
    with tarfile.open(fileobj=io.BytesIO(result.archive)) as made:
        assert [(member.name, member.mode, member.islnk(), member.size) for member in made if not member.issym()] == [
            ("app/dir", 0o2777, False, 0), ("app/copy.txt", 0o644, False, 11), ("app/one.txt", 0o755, False, 1),
            ("app/two.txt", 0o644, True, 0),
        ]  # fmt: skip
    assert (result.refused, result.undeclared) == (
        ("/app/Makefile", "/app/four.txt", "/app/five.txt"),
        ("/app/Makefile",),
    )


def test_deletions_count_but_for_what_runs_tests() -> None:
    """A configuration of the image that is gone is one that the agent has changed."""
    paths = ("/app/a.txt", "/app/Makefile", "/app/old", "/app/.git/refs/heads/x", "/app/special/conftest.py")
    kept = (
        "/app/conftest.py",
        "/app/pyproject.toml",
        "/app/.git/hooks/update",
        "/usr/bin/env",
        "/app/venv/x",
        "/tests/x",
    )
    given_changes = changes(removed=(*paths, *kept))
    assert RULES.carried(given_changes, lambda paths: {}).removed == paths


def test_installed_packages_are_new_files_only() -> None:
    """Where a task says that it installs them: nothing of the image changes, and no command or setting hides it."""
    rules = replace(RULES, added=(PurePosixPath("/usr"), PurePosixPath("/etc")))
    image = {"/usr/bin/python3": False, "/usr/lib/os.py": False, "/usr/bin/cat": False, "/etc/profile.d": True}
    new = (
        "/usr/bin/new", "/usr/lib/new/x", "/usr/lib/python3/dist-packages/new/x.py", "/etc/new/new.conf", "/app/x.py",
        "/usr/lib/python3/dist-packages/new-1.dist-info/RECORD",
    )  # fmt: skip
    old = (
        "/usr/bin/python3", "/usr/lib/os.py", "/usr/local/bin/cat", "/usr/lib/new/sitecustomize.py", "/usr/lib/z/x.pth",
        "/etc/ld.so.preload", "/etc/profile.d/x.sh", "/usr/lib/python3.11/__pycache__/os.cpython-311.pyc",
    )  # fmt: skip
    plugin: Member = ("/usr/lib/new-1.dist-info/entry_points.txt", {}, b"[pytest11]\nnew = x\n")
    result = carried(*files(*new, *old), plugin, rules=rules, image=image)
    assert names_in(result.archive) == list(new)
    assert set(result.removed) <= set(new)


def test_the_words_of_an_author(tmp_path: Path) -> None:
    """Paths and names in the instruction, paths and patterns in the metadata; no tools, no address, no broad folder."""
    text = (
        "Fetch https://example.org/usr/data and write /srv/a.txt. Put `/etc/nginx/site.conf` (and '~/.ssh/config')"
        " there, use /usr/bin/python3, and read /etc/passwd or /tests/x, /var and /opt/shop/../../bin/sh. Write"
        " report.json, out/meta.yaml and `INDEX` (a list)."
    )
    (tmp_path / "tests").mkdir()
    (tmp_path / "environment").mkdir()
    (tmp_path / "task.toml").write_text(
        "[metadata]\npristine_paths = ['/usr/local/share/x', 'relative', 3, '/app/*.mk']\n"
    )
    (tmp_path / "instruction.md").write_text(text)
    (tmp_path / "environment/Dockerfile").write_text("FROM debian\n")
    (tmp_path / "tests/test.sh").write_text("true\n")
    author = declarations_of(load_task(tmp_path), PurePosixPath("/home/agent"))
    assert list(map(str, author.places)) == [
        "/usr/local/share/x", "/app", "/srv/a.txt", "/etc/nginx/site.conf", "/home/agent/.ssh/config",
    ]  # fmt: skip
    assert author.patterns == ("/app/*.mk",)
    assert {"report.json", "meta.yaml", "INDEX", "list"} <= author.names
