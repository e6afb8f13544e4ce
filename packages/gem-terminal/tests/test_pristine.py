"""Verification in a fresh container: what is carried over, and cheats of a root agent, none of which pays."""

from __future__ import annotations

import ast
import importlib.util
import io
import shutil
import sys
import sysconfig
import tarfile
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path, PurePosixPath

import pytest

from gem_terminal import TerminalEnv, load_task
from gem_terminal.engines import Engine
from gem_terminal.formats import bundled_tasks
from gem_terminal.task import Image, ResourceLimits
from gem_terminal.verdicts.carried_files import CarriedFiles
from gem_terminal.verdicts.carried_kinds import known_modules
from gem_terminal.verdicts.pristine import carry_rules, lay_over
from gem_terminal.verdicts.verdict_worth import verdict_worth
from gem_terminal.verdicts.verifier_scripts import landings_of

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

FILES = {
    "task.toml": "[environment]\nnetwork_mode = 'no-network'\nmemory_mb = 256\nworkdir = '/app'\n",
    "instruction.md": "Write the word of the day into /app/word.txt and the number into `/opt/shop/number`.",
    "environment/Dockerfile": "FROM debian:bookworm-slim\nRUN mkdir -p /app /opt/shop && echo 0 > /opt/shop/number\n",
    "tests/expected.txt": "hello\n",
    "tests/test.sh": (
        "#!/bin/bash\n. ~/.bashrc 2>/dev/null\n"
        'if [ "$(cat word.txt)" = "$(cat /tests/expected.txt)" ] && grep -qx 7 /opt/shop/number; then\n'
        "  echo 1 > /logs/verifier/reward.txt\nelse\n  echo 0 > /logs/verifier/reward.txt\nfi\n"
    ),
    "solution/solve.sh": "echo hello > /app/word.txt; echo 7 > /opt/shop/number\n",
}
PAY = "echo 1 > /logs/verifier/reward.txt"

CHEATS = {
    "a program": "cd /bin; rm cat grep; printf '#!/bin/sh\\necho 7' | tee cat > grep; chmod 755 cat grep",
    "a program earlier on the path": "printf '#!/bin/sh\\necho 7' | tee /usr/local/bin/cat > /usr/local/bin/grep; "
    "chmod 755 /usr/local/bin/*",
    "a profile of root": "echo 'cat() { echo 7; }; grep() { :; }' | tee /root/.bashrc /etc/bash.bashrc > /etc/profile",
    "links to the tests": "ln -s /tests/expected.txt word.txt; echo 7 > /opt/shop/number",
    "a link for the whole folder": "cd /; rm -rf app; mkdir /tests; echo hello > /tests/word.txt; ln -s /tests app; "
    "echo 7 > /opt/shop/number",
    "a writer in the background": f"(setsid bash -c 'while :; do {PAY}; done' >/dev/null 2>&1 &)",
    "a planted reward": f"mkdir -p /logs/verifier /tests; {PAY}; echo '{PAY}' > /tests/test.sh",
    "a shell": f"rm /bin/bash; printf '#!/bin/sh\\n{PAY}\\n' > /bin/bash; chmod 755 /bin/bash",
}
"""Each leads the tests of this file to a reward, or tries to."""


def write_task(folder: Path, **files: str) -> Path:
    """Write the task of this file."""
    for name, content in {**FILES, **files}.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(content)
    return folder


def earned(env: TerminalEnv, command: str) -> float:
    """Play an episode of one command; return its reward."""
    env.reset(seed=0)
    env.step(f"<bash>{command}</bash>")
    reward, _, truncated, info = env.step("<finish/>")[1:]
    assert not truncated, info
    assert info["verdict"] == ("pristine" if env.task.pristine else "forgeable")
    return reward


@pytest.mark.only_engine("namespace")
def test_no_cheat_pays_in_a_fresh_container(engine: Engine, tmp_path: Path) -> None:
    """And the solution does; such cheats do pay where agent and tests share a container."""
    with TerminalEnv(path=write_task(tmp_path), engine=engine, verifier="pristine", warm=0) as env:
        paid = [name for name, cheat in CHEATS.items() if earned(env, cheat) > 0.0]
        assert not paid
        assert earned(env, FILES["solution/solve.sh"]) == 1.0
    with TerminalEnv(path=tmp_path, engine=engine, warm=0) as env:
        assert [name for name in list(CHEATS)[:2] if earned(env, CHEATS[name]) == 0.0] == []


@pytest.mark.every_engine
def test_changes_under_declared_paths_are_carried(engine: Engine, tmp_path: Path) -> None:
    """Contents, modes, owners, links and deletions of them; nothing else, and the image's own links stay."""
    folder = write_task(
        tmp_path,
        **{
            "instruction.md": FILES["instruction.md"] + " Make the files a, b, c, d, new, other and planted.",
            "environment/Dockerfile": FILES["environment/Dockerfile"]
            + "RUN cd /app && mkdir old kept && echo 1 > old/file && echo image > old/Makefile "
            "&& echo 2 > kept/file && ln -s /root link "
            "&& ln -s /opt/shop shop\n",
            "tests/test.sh": "#!/bin/bash\ncd /app; find . /opt/shop /srv -printf '%p %y %m %U %l\\n' | sort;"
            f"cat a kept/* old/Makefile; test -e /elsewhere || echo clean; {PAY}\n",
        },
    )
    with TerminalEnv(path=folder, engine=engine, strict=True, warm=0) as env:
        env.reset(seed=0)
        env.step(
            "<bash>rm -r old; mkdir old; echo 3 > old/new; echo mine > old/Makefile;"
            " echo 4 > a; ln a b; ln -s a c; ln -s /usr/bin/env d;"
            "chown 7 a; chmod 4750 a; mkfifo pipe; ln -s /etc/shadow secret; ln -s /srv/../tests up; touch conftest.py;"
            "touch /elsewhere; rm kept/file; echo 5 > kept/other; rm shop; mkdir shop; echo 6 > shop/planted;"
            "echo 8 > /opt/shop/number</bash>"
        )
        info = env.step("<finish/>")[-1]
        assert info["success"], info
        listed = info["verifier_log"].splitlines()
    assert listed == [
        ". d 755 0 ", "./a f 750 7 ", "./b f 750 7 ", "./c l 777 0 a", "./d l 777 0 /usr/bin/env",
        "./kept d 755 0 ", "./kept/other f 644 0 ", "./link l 777 0 /root", "./old d 755 0 ",
        "./old/Makefile f 644 0 ",
        "./old/new f 644 0 ", "./shop d 755 0 ", "./shop/planted f 644 0 ", "/opt/shop d 755 0 ",
        "/opt/shop/number f 644 0 ", "/srv d 755 0 ", "4", "5", "image", "clean",
    ]  # fmt: skip


@pytest.mark.only_engine("namespace")
def test_a_folder_in_place_of_a_link_of_the_image_stays_in_its_place(engine: Engine, small: Image) -> None:
    """Whatever the engine told of the change: the link is removed before the folder's files are written."""
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as archive:
        for name, kind in (("app/link", tarfile.DIRTYPE), ("app/link/planted", tarfile.REGTYPE)):
            member = tarfile.TarInfo(name)
            member.type, member.mode = kind, 0o755
            archive.addfile(member)
    made = CarriedFiles(buffer.getvalue(), ("/app/link",), (), (), ())
    with engine.start(engine.prepare(small), ResourceLimits()) as fresh:
        fresh.run(("sh", "-c", "mkdir /app; ln -s /usr/bin /app/link"), seconds=60.0)
        assert lay_over(fresh, made) is None
        done = fresh.run(("sh", "-c", "test -e /usr/bin/planted; echo $?; ls -F /app"), seconds=60.0)
    assert done.output == b"1\nlink/\n"


def test_what_a_verdict_is_worth(tmp_path: Path) -> None:
    """It follows from the users of agent and tests, and from the container of the tests."""
    task = load_task(write_task(tmp_path))
    assert verdict_worth(task).is_forgeable
    assert verdict_worth(replace(task, user="agent")).level == "guarded"
    assert verdict_worth(replace(task, user="agent", tests=replace(task.tests, user="agent"))).is_forgeable
    assert verdict_worth(replace(task, pristine=True)).level == "pristine"
    (tmp_path / "environment/Dockerfile").write_text("FROM a AS b\nUSER one\nFROM c\nRUN x\n")
    assert verdict_worth(task).is_forgeable
    (tmp_path / "environment/Dockerfile").write_text("FROM c\nUSER two\n")
    assert verdict_worth(task).level == "guarded"


@pytest.mark.only_engine("namespace")
def test_search_paths_of_the_image_stay_its_own(engine: Engine, small: Image, tmp_path: Path) -> None:
    """What lies on one would be executed, or loaded by every program, without a word of the tests."""
    variables = {"PATH": "/app/bin:/usr/bin:/bin", "LD_LIBRARY_PATH": "/app/so"}
    with engine.start(engine.prepare(small), ResourceLimits(), variables) as fresh:
        rules = carry_rules(replace(load_task(write_task(tmp_path)), workdir="/srv"), fresh)
    assert {PurePosixPath("/app/bin"), PurePosixPath("/app/so")} <= set(rules.tools)


@pytest.mark.only_engine("namespace")
def test_modules_of_the_image_s_own_python_are_known(engine: Engine, small: Image, tmp_path: Path) -> None:
    """Whatever its version and place: it need not be that of the trainer, whose library has other names."""
    made = (
        "mkdir -p /root/python/lib/python2.1 /usr/local/lib/python3.99 && cd /usr/local/lib/python3.99"
        " && mkdir -p lib-dynload newest_package site-packages/installed"
        " && touch newest.py lib-dynload/fast.cpython-399.so newest_package/inner.py"
        " /root/python/lib/python2.1/oldest.py"
    )
    with engine.start(engine.prepare(small), ResourceLimits()) as fresh:
        assert fresh.run(("sh", "-c", made), seconds=60.0).exit_code == 0
        modules = carry_rules(replace(load_task(write_task(tmp_path)), workdir="/srv"), fresh).modules
    assert {"newest", "newest_package", "installed", "fast", "oldest"} <= modules
    assert "inner" not in modules


INSTALLED = {
    "venv/pyvenv.cfg": "venv",
    "conda/conda-meta/history": "conda",
    "py/lib/python3.11/os.py": "py",
    "sdk/go1.22/src/runtime/proc.go": "sdk/go1.22",
    "ruby/lib/ruby/3.1.0/set.rb": "ruby",
    "perl/lib/perl5/5.36.0/strict.pm": "perl",
    "julia/share/julia/base/Base.jl": "julia",
    "R/lib/R/library/base/R/base": "R",
}
"""A file of an installation → its folder."""


def test_what_is_installed_where_the_agent_works_stays_the_images_own(
    engine: Engine, small: Image, tmp_path: Path
) -> None:
    """Whole installations; the folder of the task itself is none, whatever lies in it."""
    task = replace(load_task(write_task(tmp_path)), image=small)
    with engine.start(engine.prepare(small), task.limits) as fresh:
        paths = " ".join(f"/app/{path}" for path in (*INSTALLED, "lib/python3.11/os.py"))
        made = f'for path in {paths}; do mkdir -p "${{path%/*}}"; : > $path; done'
        assert fresh.run(("sh", "-c", made), seconds=60.0).exit_code == 0
        tools = carry_rules(task, fresh).tools
    assert {str(place) for place in tools if PurePosixPath("/app") in place.parents} == {
        f"/app/{folder}" for folder in INSTALLED.values()
    }
    assert PurePosixPath("/app") not in tools


@pytest.mark.parametrize(
    ("script", "landings"),
    [
        ("mkdir -p checks && cp /tests/test_a.py checks/", ["/app/checks"]),
        ("cp -r '/tests/suite' \"/srv/x\"; pytest", ["/srv/x"]),
        ("cp /tests/a.py checks/test_a.py", ["/app/checks"]),
        ("cd sub && cp \\\n  /tests/a.py . || exit", ["/app", "/app/sub"]),
        ("cp /tests/a.py $PLACE; mv /tests/*.py\ninstall -m 644 /tests/b.py deep/er", ["/app/deep/er"]),
        ("pytest /tests/test_a.py", []),
    ],
)
def test_where_tests_copy_their_files(tmp_path: Path, script: str, landings: list[str]) -> None:
    """As their scripts say it, from any folder that they change to."""
    task = load_task(write_task(tmp_path, **{"tests/test.sh": f"#!/bin/bash\n{script}\n"}))
    assert sorted(map(str, landings_of(task, PurePosixPath("/app")))) == landings


def imported_by(paths: Iterable[Path]) -> dict[str, str]:
    """The modules that some code imports, also in functions → the name of a file that does."""
    found = {}
    for path in paths:
        for node in ast.walk(ast.parse(path.read_bytes())):
            names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
            if isinstance(node, ast.ImportFrom) and node.level == 0:
                names.append(str(node.module))
            found.update({name.partition(".")[0]: path.name for name in names})
    return found


@pytest.mark.nightly
def test_no_module_that_the_library_looks_for_is_free() -> None:
    """Everything that the code of this Python's library imports is its own, or in the table."""
    library = Path(sysconfig.get_path("stdlib"))
    apart = {
        "ensurepip",
        "idlelib",
        "lib2to3",
        "test",
        "tests",
        "tkinter",
        "turtledemo",
        "site-packages",
        "dist-packages",
    }
    free = imported_by(path for path in library.rglob("*.py") if apart.isdisjoint(path.relative_to(library).parts))
    for name in (*known_modules(), "__main__", "sitecustomize", "test", "usercustomize"):
        free.pop(name, None)
    assert free == {}


@pytest.mark.parametrize("package", ["_pytest", "pluggy", "iniconfig", "packaging"])
def test_no_module_that_pytest_looks_for_is_free(package: str) -> None:
    """Whatever its code imports is a library's, or in the table; annotationlib came with Python 3.14."""
    found = importlib.util.find_spec(package)
    assert found is not None
    assert found.origin is not None
    imported = imported_by(Path(found.origin).parent.rglob("*.py"))
    assert "__future__" in imported
    assert imported.keys() - {"annotationlib"} <= known_modules()


@pytest.mark.only_engine("namespace")
@pytest.mark.parametrize("verifier", ["task", "pristine"])
def test_files_beside_a_finished_image_are_in_the_working_folder(engine: Engine, tmp_path: Path, verifier: str) -> None:
    """For the agent and for the tests, who see them as the author wrote them where the agent may not change them."""
    folder = write_task(
        tmp_path,
        **{
            "task.toml": "[environment]\nnetwork_mode = 'no-network'\ndocker_image = 'debian:bookworm-slim'\n"
            "workdir = '/srv'\n",
            "environment/Makefile": "all:\n",
            "environment/data/one.txt": "1\n",
            "tests/test.sh": f"#!/bin/bash\ncat /srv/Makefile /srv/data/one.txt; {PAY}\n",
        },
    )
    (folder / "environment/Dockerfile").unlink()
    with TerminalEnv(path=folder, engine=engine, verifier=verifier, warm=0) as env:
        env.reset(seed=0)
        assert env.step("<bash>cat Makefile data/one.txt; echo mine | tee Makefile data/one.txt</bash>")[0].startswith(
            "all:\n1\n"
        )
        info = env.step("<finish/>")[-1]
    assert info["verifier_log"] == ("all:\nmine\n" if verifier == "pristine" else "mine\nmine\n")


NAIVE = r"""#!/bin/bash
cd /home/agent
[ -d project ] && git -C project status
python3 - <<'END'
import json, unittest
END
if python3 -m unittest discover -s /tests && su root -c true; then
  echo 1 > /logs/verifier/reward.txt
else
  echo 0 > /logs/verifier/reward.txt
fi
"""
"""Tests as careless as those of many published tasks: by the search path, in the agent's folder, as root."""

FORGE = "import os; os.system('mkdir -p /logs/verifier; echo 1 > /logs/verifier/reward.txt'); os._exit(0)"
PLANT = f"""cat > /tmp/forge.py <<'END'
{FORGE}
END
printf '#!/bin/sh\\n{PAY}\\nexit 0\\n' > /tmp/forge.sh; chmod 755 /tmp/forge.sh
"""
ROOT_CHEATS: dict[str, str] = tomllib.loads(Path(__file__).with_name("root_cheats.toml").read_text())
TASKS = sorted(folder.name for folder in bundled_tasks().iterdir())[:10]


def careless(name: str, folder: Path) -> Path:
    """Write a bundled task whose agent is root, and whose tests are careless."""
    shutil.copytree(bundled_tasks() / name, folder)
    settings = (folder / "task.toml").read_text().replace('user = "agent"', 'user = "root"')
    (folder / "task.toml").write_text(settings)
    (folder / "tests/test.sh").write_text(NAIVE)
    return folder


@pytest.mark.only_engine("docker", "namespace")  # a worker passes on what they carry, which others show
@pytest.mark.nightly
@pytest.mark.every_engine
@pytest.mark.parametrize("name", TASKS)
def test_no_cheat_of_root_pays(engine: Engine, tmp_path: Path, name: str) -> None:
    """Twenty cheats against the tests of ten tasks, of which nine pay in the shared container."""
    folder = careless(name, tmp_path / name)
    paid = []
    with TerminalEnv(path=folder, engine=engine, verifier="pristine", warm=0) as env:
        for cheat, script in ROOT_CHEATS.items():
            if earned(env, PLANT + script) != 0.0:
                paid.append(cheat)
    assert not paid
    if name == TASKS[0]:
        with TerminalEnv(path=folder, engine=engine, keep_processes=True, warm=0) as env:
            pays = [cheat for cheat, script in ROOT_CHEATS.items() if earned(env, PLANT + script) == 1.0]
        assert len(pays) >= 8, pays  # the others need a compiler, or a verifier that is careless in another way
