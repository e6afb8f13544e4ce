"""Attacks through what tests execute or read as configuration: none pays in a fresh container.

Each attack is a live one: it pays where the task declares that everything in ``/app`` counts.
"""

from __future__ import annotations

import importlib.util
import shutil
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import pytest

from gem_terminal import load_task
from gem_terminal.engines import Engine
from gem_terminal.engines.base import Container
from gem_terminal.task import Task
from gem_terminal.verdicts.verification import verify

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

ATTACKS: dict[str, dict[str, str]] = tomllib.loads(Path(__file__).with_name("pristine_attacks.toml").read_text())

# The first command is that of the bundled tasks, so that its layer is theirs.
PROGRAMS = r"""FROM debian:bookworm-slim
RUN apt-get update \
 && apt-get install -y --no-install-recommends \
      bzip2 ca-certificates curl file gcc git less libc6-dev make procps python3 sqlite3 unzip vim-tiny xz-utils zip \
 && rm -rf /var/lib/apt/lists/* \
 && useradd --create-home --shell /bin/bash agent
"""
LANGUAGES = r"""RUN apt-get update && apt-get install -y --no-install-recommends golang-go nodejs npm \
 && rm -rf /var/lib/apt/lists/*
"""
FILES = r"""COPY opt /opt
COPY pytest /usr/local/lib/python3.11/dist-packages
COPY app /app
WORKDIR /app
ENV PATH=/app/bin:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin NODE_PATH=/opt/node GIT_PAGER=cat
RUN mkdir -p python/lib/python3.11 && cd python/lib/python3.11 && ln -s /usr/lib/python3.11/* . \
 && cp --remove-destination /usr/lib/python3.11/os.py /usr/lib/python3.11/colorsys.py . && cd /app \
 && chmod 755 check.sh && mkdir bin && git init -q -b main && git config user.name A && git config user.email a@b.c \
 && git remote add origin /srv/origin && git add . && git commit -q -m Begin && git clone -q --bare . /srv/origin \
 && git rev-parse HEAD > /srv/begin
"""
# Each verdict begins with what the image has already compiled: otherwise Go would check its library again in each.
COMPILED = r"""RUN python3 -m compileall -q /usr/local/lib/python3.11/dist-packages; cp -a /app /warm && cd /warm/lib \
 && printf 'package lib\nimport ("os"; "testing"; "example.org/check")\n' > x_test.go \
 && printf 'func TestX(t *testing.T) { os.Getenv("x"); check.Same("", "") }\n' >> x_test.go \
 && GOPROXY=off GOCACHE=/opt/go-cache go test . && rm -r /warm
"""
PYTHON_TEST = """import colorsys, unittest
from helper import ANSWER
class Answer(unittest.TestCase):
    def test_answer(self):
        with open("/app/answer.txt") as file:
            self.assertEqual(colorsys.rgb_to_hsv(0, 0, int(file.read())), (2 / 3, 1, int(ANSWER)))
"""
DATA_TEST = """import pathlib
def test_data(pytestconfig):
    answer = pathlib.Path("/app/answer.txt")
    for case in pathlib.Path("/app").glob("**/cases/*.txt"):
        assert answer.exists() and answer.read_text() == case.read_text()
"""
LIBRARY_TEST = """import pathlib
from shapes.testing import assert_same
def test_library():
    answer = pathlib.Path("/app/answer.txt")
    assert_same(answer.exists() and answer.read_text(), "42\\n")
"""
C_TEST = """#include <assert.h>
#include <stdio.h>
#include <sys/types.h>
int main(void) {
    int found = 0;
    FILE *file = fopen("/app/answer.txt", "r");
    assert(file && fscanf(file, "%d", &found) == 1 && found == 42);
}
"""
PERL_TEST = """use strict;
open(my $file, '<', '/app/answer.txt') or die;
die unless <$file> == 42;
"""
GO_TEST = """package lib

import (
\t"os"
\t"testing"

\t"example.org/check"
)

func TestAnswer(t *testing.T) {
\tdata, _ := os.ReadFile("/app/answer.txt")
\tif !check.Same(string(data), "42\\n") {
\t\tt.Fatal()
\t}
}
"""
IMAGE = {
    "app/readme.txt": "Read me.\n",
    "app/Makefile": "-include local.mk answer.d\ncheck:\n\tgrep -qx 42 answer.txt\n"
    "check-program: answer\n\t./answer\nanswer: /tests/answer.c\n\tgcc -o $@ $<\n"
    "RULES = verify \\\n  other\n$(RULES):\n\tgrep -qx 42 answer.txt\ninclude mk/rules.mk\n",
    "app/mk/rules.mk": "lint: export WORD = 42\nlint:\n\tgrep -qx $$WORD answer.txt\n",
    "app/check.sh": "#!/bin/bash\n[ -f ~/.bashrc ] && . ~/.bashrc\ngrep -qx 42 /app/answer.txt\n",
    "app/tests/helper.py": "ANSWER = '42'\n",
    "app/tests/conftest.py": "def pytest_configure(config): config.is_strict = True\n",
    "app/tests/cases/expected.txt": "42\n",
    "app/shapes/__init__.py": "",
    "app/shapes/testing/__init__.py": "def assert_same(a, b): assert a == b\n",
    "app/shapes/tests/__init__.py": "",
    "app/shapes/tests/cases/expected.txt": "42\n",
    "app/runtests.py": "import sys\nsys.exit(open('/app/answer.txt').read() != '42\\n')\n",
    "app/manage.py": "import sys\nsys.exit(open('/app/answer.txt').read() != '42\\n')\n",
    "app/go.mod": "module example.org/app\n\ngo 1.19\n\nrequire example.org/check v0.0.0\n\n"
    "replace example.org/check => /opt/check\n",
    "app/lib/lib.go": "package lib\n",
    "app/package.json": '{"scripts": {"test": "node test/check.js"}}\n',
    "app/test/check.js": "require('./judge')(require('fs').readFileSync('/app/answer.txt', 'utf8'), '42\\n')\n",
    "app/test/judge.js": "module.exports = require('assert').equal\n",
    "app/verify-it": "grep -qx 42 answer.txt\n",
    "opt/check/go.mod": "module example.org/check\n\ngo 1.19\n",
    "opt/check/check.go": "package check\n\nfunc Same(a, b string) bool { return a == b }\n",
    "opt/node/check/index.js": "module.exports = require('assert').equal\n",
}
TESTS = {
    "test_answer.py": PYTHON_TEST,
    "test_data.py": DATA_TEST,
    "test_library.py": LIBRARY_TEST,
    "answer.c": C_TEST,
    "answer.py": "import colorsys, sys\nsys.exit(open('/app/answer.txt').read() != '42\\n')\n",
    "answer.t": PERL_TEST,
    "answer_test.go": GO_TEST,
    "answer.test.js": "require('check')(require('fs').readFileSync('/app/answer.txt', 'utf8'), '42\\n')\n",
}
COPY = "mkdir -p checks && cp /tests/test_answer.py checks/"
COMMANDS = {
    "pytest": f"{COPY} && PYTHONPATH=/app:/app/tests python3 -m pytest -q checks/test_answer.py",
    "pytest elsewhere": "PYTHONPATH=/app/tests python3 -m pytest -q /tests/test_answer.py",
    "unittest": f"{COPY} && PYTHONPATH=/app/tests python3 -m unittest discover -s checks",
    "unittest elsewhere": "PYTHONPATH=/app/tests python3 -m unittest discover -s /tests -p test_answer.py",
    "git": "git status --porcelain; git diff; git fetch -q origin; git log -1; grep -qx 42 answer.txt",
    "git status": 'test -z "$(git status --porcelain readme.txt)" && grep -qsx -e 42 -e x answer.txt readme.txt',
    "pytest data": "mkdir -p tests && cp /tests/test_data.py tests/ && python3 -m pytest -q tests/test_data.py",
    "pytest library": "PYTHONPATH=/app python3 -m pytest -q /tests/test_library.py",
    "own runner": "python3 runtests.py && python3 manage.py test",
    "git checkout": "git checkout -q $(cat /srv/begin) -- check.sh && sh check.sh",
    "make": "make -s check",
    "make program": "make -s check-program",
    "make rules": "make -s lint",
    "make variable": "make -s verify",
    "own python": "PYTHONHOME=/app/python python3 /tests/answer.py",
    "search path": "PATH=/app/tools:$PATH; grep -qx 42 answer.txt",
    "search path of a program": "PATH=/app/tools:$PATH; env grep -qx 42 answer.txt",
    "script without suffix": "sh verify-it",
    "shell": "./check.sh",
    "cc": "gcc -I/app -I/app/lib -o /tmp/answer /tests/answer.c && /tmp/answer",
    "perl": "perl -I/app/lib /tests/answer.t",
    "go": "cp /tests/answer_test.go lib/ && GOPROXY=off GOCACHE=/opt/go-cache go test ./lib/",
    "node": "cp /tests/answer.test.js . && node --test answer.test.js",
    "npm": "npm test",
    "go elsewhere": "mkdir -p /tmp/o/lib && cp go.mod /tmp/o && cp lib/*.go /tests/answer_test.go /tmp/o/lib"
    " && cd /tmp/o && GOPROXY=off GOCACHE=/opt/go-cache go test ./lib/",
}
"""Task → the command of its tests, which stand for the ways in which published tasks run theirs."""
PARTS = 12
"""Of the attacks, so that each test takes a minute or two."""
# $TASKS names verifiers, one a line. Each finds the files as they were laid over the image: what another has changed is
# replaced. The reward is the share of those that pass.
SCRIPT = """#!/bin/bash
tests_of() {
  case "$1" in
%s  esac
}
/bin/mkdir /laid && /bin/cp -a /app /root /laid && /bin/sleep 0.02 && /usr/bin/touch /laid/since || exit
/bin/sleep 0.02
passed=0 all=0
while read -r name; do
  /usr/bin/find /app /root -cnewer /laid/since ! -type d -delete
  /bin/cp -an /laid/app /laid/root / || exit
  all=$((all + 1))
  if (cd /app && tests_of "$name") < /dev/null; then passed=$((passed + 1)); echo "passed: $name"; fi
done <<< "$TASKS"
/usr/bin/python3 -ISc "print($passed / $all)" > /logs/verifier/reward.txt
"""
BEGIN = r"""set -e; cp -a /app /app.as.it.was
cat > /tmp/pay <<'END'
#!/bin/sh
mkdir -p /logs/verifier; echo 1 > /logs/verifier/reward.txt; kill -9 -1
END
printf 'import os\nos._exit(0)\n' > /tmp/pass.py; chmod 755 /tmp/pay"""
RESET = "find /app -mindepth 1 -delete; cp -a /app.as.it.was/. /app; rm -rf /root/.config; cp /etc/skel/.bashrc /root/"
SOLUTION = "echo 42 > answer.txt"


class Arena:
    """One container of an agent, in which attacks are tried one after the other."""

    def __init__(self, task: Task, container: Container, engine: Engine) -> None:
        self._task, self._container, self._engine = task, container, engine
        self.log = ""

    def reward(self, names: str | Iterable[str], plant: str, *, everything_counts: bool = False) -> float:
        """Plant something in the image's files and return the share of verifiers that pass.

        Args:
            names: the name of a verifier, or of several, which judge the same fresh container in turn.
            plant: the agent's commands.
            everything_counts: whether the task's author declares whatever the agent plants.
        """
        done = self._container.run(("bash", "-c", f"{RESET}; cd /app; {plant}"), seconds=60.0, user="root")
        assert done.exit_code == 0, done.output
        metadata = {"pristine_paths": ["/app/**", "/root/**"]} if everything_counts else {}
        environment = {**self._task.tests.environment, "TASKS": names if isinstance(names, str) else "\n".join(names)}
        task = replace(self._task, metadata=metadata, tests=replace(self._task.tests, environment=environment))
        result = verify(task, self._container, self._engine)
        self.log = result.error or result.log
        return result.reward


def write_task(folder: Path, *, languages: bool) -> Path:
    """Write the task whose tests run one of the commands."""
    cases = "".join(f"    '{name}') {command};;\n" for name, command in COMMANDS.items())
    files = {
        "task.toml": "[environment]\nnetwork_mode = 'no-network'\nmemory_mb = 2048\n",
        "instruction.md": "Write the answer into a file.",
        "environment/Dockerfile": PROGRAMS + (LANGUAGES + FILES + COMPILED if languages else FILES),
        "tests/test.sh": SCRIPT % cases,
        **{f"environment/{name}": content for name, content in IMAGE.items()},
        **{f"tests/{name}": content for name, content in TESTS.items()},
    }
    for name, content in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(content)
    library = folder / "environment/pytest"
    library.mkdir()
    for module in ("pytest", "_pytest", "pluggy", "iniconfig", "packaging", "pygments", "py"):
        found = importlib.util.find_spec(module)
        assert found is not None
        assert found.origin is not None
        if found.submodule_search_locations is None:
            shutil.copy(found.origin, library)
        else:
            skipped = shutil.ignore_patterns("__pycache__")
            shutil.copytree(Path(found.origin).parent, library / module, ignore=skipped)
    return folder


@contextmanager
def arena(engine: Engine, folder: Path, *, languages: bool) -> Iterator[Arena]:
    """Start the container of the agent."""
    task = replace(load_task(write_task(folder, languages=languages)), pristine=True)
    with engine.start(engine.prepare(task.image), task.limits) as container:
        done = container.run(("bash", "-c", BEGIN), seconds=60.0, user="root")
        assert done.exit_code == 0, done.output
        yield Arena(task, container, engine)


@pytest.mark.slow(reason="the first task of a run builds the packages that the images of all share")
@pytest.mark.only_engine("namespace")
def test_attacks_of_all_kinds_at_once(engine: Engine, tmp_path: Path) -> None:
    """For the verifiers without a compiler: no attack pays, in two portions; the solution does."""
    with arena(engine, tmp_path, languages=False) as tried:
        for name in ("pytest", "git", "make"):
            plants = [attack["plant"] for attack in ATTACKS.values() if attack["task"] == name]
            for some in (plants[::2], plants[1::2]):
                assert tried.reward(name, "\n".join(f"({plant}) 2>/dev/null" for plant in some) + "\ntrue") == 0.0
            assert tried.reward(name, SOLUTION) == 1.0, tried.log
        assert tried.reward("pytest", ATTACKS["tox.ini"]["plant"], everything_counts=True) == 1.0


@pytest.mark.nightly
@pytest.mark.only_engine("docker", "namespace")
@pytest.mark.parametrize("part", range(PARTS))
def test_no_attack_pays(engine: Engine, tmp_path: Path, part: int) -> None:
    """Each attack by itself, whatever the verifier; and the solution pays for all of them.

    The verifiers judge one fresh container in turn, since Docker takes seconds for each.
    """
    with arena(engine, tmp_path, languages=True) as tried:
        assert tried.reward(COMMANDS, SOLUTION) == 1.0, tried.log
        for name in list(ATTACKS)[part::PARTS]:
            assert tried.reward(COMMANDS, f"({ATTACKS[name]['plant']}) 2>/dev/null\ntrue") == 0.0, (name, tried.log)


@pytest.mark.nightly
@pytest.mark.only_engine("docker", "namespace")
@pytest.mark.parametrize(
    "built",
    ["cp /bin/true answer; touch -d 2099-01-01 answer", "echo 'int main(void) { }' | gcc -xc -o answer -"],
)
def test_make_builds_anew_what_an_agent_has_built(engine: Engine, tmp_path: Path, built: str) -> None:
    """From a source of the tests, which is newer than all that is carried, whatever its author's clock said."""
    with arena(engine, tmp_path, languages=False) as tried:
        assert tried.reward("make program", built) == 0.0
        assert tried.reward("make program", f"{SOLUTION}; {built}") == 1.0, tried.log


@pytest.mark.nightly
@pytest.mark.only_engine("namespace")
def test_every_attack_is_a_live_one(engine: Engine, tmp_path: Path) -> None:
    """It pays where everything counts; so no attack is without effect for another reason than the rules."""
    with arena(engine, tmp_path, languages=True) as tried:
        dead = [
            name
            for name, attack in ATTACKS.items()
            if tried.reward(attack["task"], attack["plant"], everything_counts=True) < 1.0
        ]
    assert not dead, ", ".join(dead)
