"""Where an interpreter may lie: its folders are shown in the jail, read-only, and the scratch folders stay writable."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

import gem
import gem_tools
from gem_tools.sandbox import Sandbox, SandboxError, system
from gem_tools.sandbox.inside import jail
from gem_tools.sandbox.inside.jail import scratch_binds
from gem_tools.sandbox.system import shown_folders

WRITES = """
import os
for name in ("/tmp/left", "/var/tmp/left", "/dev/shm/left", "left"):
    open(name, "w").write("x")
try:
    open(SHOWN + "/evil", "w")
except OSError as error:
    print(error.strerror, open(SHOWN + "/answer").read())
print(os.path.exists(BESIDE), os.listdir(SHOWN + "/hidden"))
"""

LONG = "a" * 90
PLACES = [
    "/tmp/gem-{pid}-plain",
    "/tmp/gem {pid} with a blank and an ü",
    f"/tmp/gem-{{pid}}-{LONG}/deep",
    "/var/tmp/gem-{pid}",
    "/dev/shm/gem-{pid}",
    f"{Path.home()}/.gem test {{pid}} ü",
]

RUNS = """
import os, sys
from gem_tools.sandbox import Sandbox, SandboxError
with Sandbox("required") as sandbox:
    done = sandbox.run("import os, gem_probe, tempfile\\nfor f in ('/tmp/left', '/dev/shm/left'): open(f, 'w')\\n"
        "tempfile.mkdtemp()\\nprint(gem_probe.__file__)\\nopen(os.path.dirname(gem_probe.__file__) + '/evil', 'w')")
    print(done.stdout, done.error(last_line_only=True))
"""


@pytest.fixture(scope="module")
def _jail() -> None:
    with Sandbox("required") as sandbox:
        try:
            sandbox.warm_up()
        except SandboxError as error:
            pytest.skip(f"NOT TESTED, the jail: {error}")


@pytest.fixture
def place(request: pytest.FixtureRequest) -> Iterator[Path]:
    """A fresh folder below one of the places."""
    with tempfile.TemporaryDirectory(dir=request.param) as name:
        yield Path(name)


@pytest.mark.usefixtures("_jail")
@pytest.mark.parametrize("place", ["/tmp", "/var/tmp", "/dev/shm"], indirect=True)
def test_scratch_folders_are_writable_wherever_the_interpreter_lies(
    place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A folder below /tmp is shown, read-only, and nothing beside it; what else is below /tmp is the program's."""
    shown = place / "with a blank and an ü" / "lib"
    shown.mkdir(parents=True)
    (shown / "answer").write_text("42")
    shown.chmod(0o777)  # so that no permission stands before the mount
    (shown / "hidden").mkdir()
    (shown / "hidden" / "secret").touch()
    beside = place / "beside"
    beside.write_text("secret")
    alone = place / "pyvenv.cfg"
    alone.write_text("a file")
    code = f"SHOWN, BESIDE = {str(shown)!r}, {str(beside)!r}\n{WRITES}"
    monkeypatch.setattr(
        "gem_tools.sandbox.jail_launcher.shown_folders", lambda: [*shown_folders(), str(shown), str(alone)]
    )
    monkeypatch.setattr("gem_tools.sandbox.jail_launcher.hidden_folders", lambda _: [str(shown / "hidden")])
    with Sandbox("required") as sandbox:
        for _ in range(2):  # nor does an execution leave anything for the next
            assert sandbox.run(code).stdout == "Read-only file system 42\nFalse []\n"
            assert sandbox.run("import os\nprint(os.path.exists('/tmp/left'))").stdout == "False\n"
            assert sandbox.run(f"print(open({str(alone)!r}).read())").stdout == "a file\n"
            assert "Read-only" in sandbox.run(f"open({str(alone)!r}, 'w')").stderr
    assert sorted(path.name for path in shown.iterdir()) == ["answer", "hidden"]


@pytest.fixture
def installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder of installed packages: an environment of one module, its data, and libraries; and one of a base."""
    site = tmp_path / "venv" / "lib" / "python3" / "site-packages"
    base = tmp_path / "base" / "lib" / "python3" / "site-packages"

    def install(folder: Path, name: str, files: dict[str, str], metadata: str = "", points: str = "") -> None:
        info = folder / f"{name}-1.dist-info"
        info.mkdir(parents=True)
        (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1\n{metadata}")
        (info / "entry_points.txt").write_text(points)
        for path, text in files.items():
            (folder / path).parent.mkdir(parents=True, exist_ok=True)
            (folder / path).write_text(text)
        (info / "RECORD").write_text("".join(f"{path},,{len(text)}\n" for path, text in files.items()))

    requires = "".join(f"Requires-Dist: {name}\n" for name in ("Single.Answers", "gp-needed", "gp-shared"))
    module = {"gp_single.py": "ANSWER = 42", "__pycache__/gp_single.cpython-311.pyc": "ANSWER = 42"}
    install(site, "gp_single", module, requires, "[gem.envs]\ngp = gp_single:single_env\n")
    install(site, "single_answers", {"gp_answers/__init__.py": "", "gp_answers/data.json": "42" * 9})
    install(site, "gp_needed", {"gp_needed.py": "x = 1\n" * 9, "gp_needed.txt": "x"})
    install(site, "gp_shared", {"gp_shared/__init__.py": "", "gp_shared/table.csv": "1" * 9})
    install(site, "gp_user", {"gp_user.py": "import gp_shared"}, "Requires-Dist: gp-shared\n")
    install(base, "gp_base", {"gp_base.py": "ANSWER = 42"}, "", "[gem.envs]\nbase = gp_base:env\n")
    monkeypatch.syspath_prepend(str(site))
    monkeypatch.setattr(sys, "base_prefix", str(tmp_path / "base"))
    monkeypatch.setattr(sys, "base_exec_prefix", str(tmp_path / "base"))
    for function in CACHED:
        function.cache_clear()
    yield tmp_path
    for function in CACHED:
        function.cache_clear()


CACHED = (system.import_path, system.shown_folders, system.hidden_folders, system._packages)
LOOKS = """
import glob, os
for name in ("gp_single", "gp_answers", "gp_needed", "gp_shared", "gp_user"):
    try:
        module = __import__(name)
        table = os.path.join(os.path.dirname(module.__file__ or ""), "table.csv")
        print(name, hasattr(module, "ANSWER"), hasattr(module, "x"), os.path.exists(table))
    except ImportError:
        print(name, "gone")
for folder in FOLDERS:
    for path in glob.glob(folder + "/**", recursive=True):
        if os.path.isfile(path) and b"42" in open(path, "rb").read():
            print("found", path)
"""


@pytest.mark.usefixtures("_jail")
def test_answers_are_hidden_in_whatever_way_they_are_installed(installed: Path) -> None:
    """Modules with their bytecode, data packages, and packages of the base interpreter are empty; libraries are not."""
    code = f"FOLDERS = {[str(installed / 'venv'), str(installed / 'base')]!r}\n{LOOKS}"
    with Sandbox("required") as sandbox:
        done = sandbox.run(code)
    assert done.stdout.splitlines() == [
        "gp_single False False False",
        "gp_answers False False False",  # an empty namespace
        "gp_needed False True False",
        "gp_shared False False True",
        "gp_user False False False",
    ], done
    assert any("gp_single.py" in path for path in system.hidden_folders())


WALKS = """
import os
def walk(folder):
    for path in (folder + name for name in os.listdir(folder or "/")):
        if path in SHOWN or os.path.islink(path):
            continue
        if any(one.startswith(path + "/") for one in SHOWN):
            walk(path + "/")
        else:
            print(path)
walk("/")
"""
"""Prints what lies beside the files and folders that are shown."""


@pytest.mark.usefixtures("_jail")
def test_folders_of_applications_are_not_shown() -> None:
    """A program sees the system's folders, the interpreter and its packages, and nothing of the folders they lie in."""
    with Sandbox("required") as sandbox:
        done = sandbox.run(f"SHOWN = {[*jail.SYSTEM, *shown_folders()]!r}\n{WALKS}")
    assert done.ok, done
    assert set(done.stdout.splitlines()) <= {"/box", "/dev", "/etc/hosts", "/proc", "/shown", "/var"}


def test_an_interpreter_in_usr_local_shows_its_own_parts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its programs, shared libraries and standard library; not what an administrator installed beside it."""
    version = f"python{sys.version_info[0]}.{sys.version_info[1]}"
    for path in (
        "bin/python3",
        "bin/tool",
        "lib/libpython3.so.1",
        f"lib/{version}/os.py",
        "lib/app/answers",
        "src/app",
    ):
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).touch()
    monkeypatch.setattr(system, "_SHARED_PREFIXES", (str(tmp_path),))
    parts = {os.path.relpath(path, tmp_path) for path in system._parts(str(tmp_path))}
    assert parts == {"bin/python3", "lib/libpython3.so.1", f"lib/{version}"}


def test_scratch_folders_are_apart() -> None:
    """Folders of the same name below two scratch folders have a place each."""
    folders = ["/dev/shm/v/lib", "/tmp/v/lib", "/var/tmp/v/lib"]
    assert len({bind.target for bind in scratch_binds(folders)}) == len(folders)


def test_a_folder_within_another_is_bound_once() -> None:
    """Folders that are shown with another one need no bind, and those outside of scratch folders need none at all."""
    binds = scratch_binds(["/tmp/v/lib", "/tmp/v/lib/python", "/tmp/v/library", "/usr/lib", "/tmpfile/x"])
    assert [(bind.path, bind.target) for bind in binds] == [
        ("/tmp/v/lib", "/box/tmp/v/lib"),
        ("/tmp/v/library", "/box/tmp/v/library"),
    ]
    assert len({bind.source for bind in binds}) == 2


@pytest.mark.nightly
@pytest.mark.usefixtures("_jail")
@pytest.mark.parametrize("where", PLACES)
def test_a_virtual_environment_works_wherever_it_lies(where: str) -> None:
    """Programs import packages of an environment at odd paths, cannot change them, and write to /tmp."""
    root = Path(where.format(pid=os.getpid()))
    root.mkdir(parents=True)
    try:
        subprocess.run([sys.executable, "-m", "venv", "--without-pip", root / "venv"], check=True)
        (site,) = root.glob("venv/lib/python*/site-packages")
        (site / "gem_probe").mkdir()
        (site / "gem_probe" / "__init__.py").touch()
        sources = os.pathsep.join(str(Path(package.__path__[0]).parent) for package in (gem, gem_tools))
        done = subprocess.run(
            [root / "venv" / "bin" / "python", "-c", RUNS],
            env={**os.environ, "PYTHONPATH": sources},
            capture_output=True,
            text=True,
            check=True,
        )
        probe, error = done.stdout.splitlines()
        assert probe == str(site / "gem_probe" / "__init__.py")
        assert "Read-only file system" in error or "PermissionError" in error
    finally:
        subprocess.run(["rm", "-rf", root], check=True)


@pytest.fixture
def linked(monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder of installed packages behind a linked folder; one of its packages is a link, of another each file is."""
    caches = (system.import_path, system.shown_folders, system.hidden_folders, system.linked_packages, system._packages)
    with tempfile.TemporaryDirectory(dir=Path.home()) as name:
        base = Path(name).resolve()
        site, store = base / "real" / "site-packages", base / "store"
        for package in ("probe_folder", "probe_files", "probe_answers"):
            place = store / package
            for path, content in (
                (place / package / "__init__.py", f"NAME = {package!r}\n"),
                (
                    place / f"{package}-1.dist-info" / "METADATA",
                    f"Metadata-Version: 2.1\nName: {package}\nVersion: 1\n",
                ),
                (place / f"{package}-1.dist-info" / "RECORD", f"{package}/__init__.py,,\n"),
            ):
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text(content)
        (store / "probe_answers" / "probe_answers-1.dist-info" / "entry_points.txt").write_text(
            "[gem.envs]\nprobe = probe_answers\n"
        )
        site.mkdir(parents=True)
        (site / "probe_folder").symlink_to(store / "probe_folder" / "probe_folder")
        for package in ("probe_files", "probe_answers"):
            for file in (store / package).glob("*/*"):
                target = site / file.relative_to(store / package)
                target.parent.mkdir(exist_ok=True)
                target.symlink_to(file)
        (base / "link").symlink_to("real")
        monkeypatch.syspath_prepend(str(base / "link" / "site-packages"))
        for cache in caches:
            cache.cache_clear()
        yield base
    monkeypatch.undo()
    for cache in caches:
        cache.cache_clear()


@pytest.mark.usefixtures("_jail")
def test_packages_that_are_links_are_imported_but_those_of_environments(linked: Path) -> None:
    """As uv installs them in its link mode; what an environment's files lead to is not shown."""
    code = (
        "import os, probe_folder, probe_files\nprint(probe_folder.NAME, probe_files.NAME)\n"
        f"print(os.path.exists({str(linked / 'store' / 'probe_answers')!r}))\nimport probe_answers"
    )
    with Sandbox("required") as sandbox:
        done = sandbox.run(code)
        assert done.stdout == "probe_folder probe_files\nFalse\n", done
        assert "ModuleNotFoundError" in done.stderr or "PermissionError" in done.stderr or "NAME" not in done.stderr


def test_links_above_a_path_are_found(tmp_path: Path) -> None:
    """Also links that lead to links, and links in circles."""
    base = tmp_path.resolve()
    (base / "real").mkdir()
    (base / "b").symlink_to("real")
    (base / "a").symlink_to(base / "b")
    (base / "loop").symlink_to("loop")
    assert system._links_above(str(base / "a" / "bin" / "python")) == [str(base / "a"), str(base / "b")]
    assert system._links_above(str(base / "loop" / "x")) == [str(base / "loop")]
    assert system._links_above(str(base / "real" / "x")) == []
