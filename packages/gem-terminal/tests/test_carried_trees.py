"""Whatever tree an agent makes of the image's files, a fresh container gets the same one."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import PurePosixPath

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from gem_terminal.engines import Container, Engine
from gem_terminal.task import Image, ResourceLimits
from gem_terminal.verdicts.carried_files import CarryRules
from gem_terminal.verdicts.declarations import Declarations
from gem_terminal.verdicts.pristine import existing_paths, lay_over

DOCKERFILE = r"""FROM debian:bookworm-slim
RUN mkdir -p /app/a/b/c "/app/back\\slash" && cd /app && echo 1 > a/one && echo 2 > a/b/two && ln a/one a/b/hard \
 && ln -s a/b link && ln -s /usr gone && echo 3 > x && chmod 751 x && head -c 5000 /dev/zero > zeros \
 && cp -a a z && cp -a a y && echo 4 > left
WORKDIR /app
"""
LIMITS = ResourceLimits(memory=256 << 20, processes=64)
EVERYTHING = CarryRules(declared=(PurePosixPath("/app"),), author=Declarations(patterns=("/app/**",)))
NAMES = (
    "a",
    "b",
    "c",
    "x",
    "link",
    "one",
    "two",
    r"$'n\377'",
    r"$'n\344\270'",
    "'new ü'",
    r"$'new\nline'",
    "./-d",
    r"'back\slash'",
)
"""Words of Bash, some of them names that are not UTF-8."""

paths = st.lists(st.sampled_from(NAMES), min_size=1, max_size=3).map("/".join)
edits = st.one_of(
    st.builds("echo {1} > {0}".format, paths, st.integers(0, 9)),
    st.builds("mkdir -p {}".format, paths),
    st.builds("rm -rf {}".format, paths),
    st.builds("ln -s {1} {0}".format, paths, st.sampled_from(["a", "b/c", "/app/a", "/usr/bin", "nowhere"])),
    st.builds("ln {} {}".format, paths, paths),
    st.builds("mv {} {}".format, paths, paths),
    st.builds("chmod {1} {0}".format, paths, st.sampled_from(["600", "755", "1777"])),
    st.builds("truncate -s {1} {0}".format, paths, st.sampled_from(["0", "4097", "3M"])),
    st.builds("mkfifo {}".format, paths),
    st.builds("cp -a {} {}".format, paths, paths),
)
LISTING = r"""cd /app && find . \( -type f -printf '%p %y %m %U %n %s\0' \) -o \( -type d -printf '%p %y %m %U\0' \) \
-o \( -type l -printf '%p %y %l\0' \) | LC_ALL=C sort -z; find . -type f -exec md5sum {} + | LC_ALL=C sort"""


@pytest.fixture(scope="module")
def reference(engine: Engine, tmp_path_factory: pytest.TempPathFactory) -> str:
    """An image with files, folders, links and hard links in /app."""
    folder = tmp_path_factory.mktemp("trees")
    (folder / "Dockerfile").write_text(DOCKERFILE)
    return engine.prepare(Image(folder=folder))


def listing(container: Container) -> list[str]:
    """What is in /app, but for pipes."""
    done = container.run(("bash", "-c", LISTING), seconds=60.0, user="root")
    assert done.exit_code == 0, done.output
    return done.output.decode(errors="backslashreplace").split("\0")


def assert_carried(engine: Engine, reference: str, script: Iterable[str]) -> None:
    """A fresh container has the same tree as the one in which the script ran."""
    with engine.start(reference, LIMITS) as worked, engine.start(reference, LIMITS) as fresh:
        commands = "\n".join(f"{command} 2>/dev/null" for command in script)
        worked.run(("bash", "-c", f"cd /app\n{commands}\ntrue"), seconds=60.0, user="root")
        carried = EVERYTHING.carried(worked.changes(EVERYTHING.folders), lambda paths: existing_paths(fresh, paths))
        assert lay_over(fresh, carried) is None
        assert listing(fresh) == listing(worked)


OVER_EACH_OTHER = r"""rm -rf a; echo new > a
rm link; mkdir -p link/d
rm -rf 'back\\slash'; ln -s nowhere 'back\\slash'
echo 4 > $'n\377'; mkdir -p $'n\344\270'/d
rm x; mkdir x
truncate -s 3M zeros; ln zeros other; mkfifo pipe
rm gone; echo 5 > gone; rm left; mkfifo left
rm -rf z/b; ln -s /app/gone z/b
rm -rf z/one; cp -a zeros z/one
cp -a y y2; rm -r y; mv y2 y
echo 6 > sticky; chmod 1777 sticky"""


@pytest.mark.only_engine("docker", "namespace")
@pytest.mark.every_engine
def test_each_kind_takes_the_place_of_another(engine: Engine, reference: str) -> None:
    """A file that of a folder, a link that of a folder, a folder that of a link; and names may be any bytes."""
    assert_carried(engine, reference, OVER_EACH_OTHER.splitlines())


@pytest.mark.only_engine("docker", "namespace")
@given(script=st.lists(edits, min_size=3, max_size=20))
@settings(max_examples=8, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_any_tree_is_carried_as_it_is(engine: Engine, reference: str, script: list[str]) -> None:
    """Contents, modes, owners, links and hard links are those of the container in which the agent worked."""
    assert_carried(engine, reference, script)


@pytest.mark.only_engine("docker", "namespace")
@pytest.mark.nightly
@given(script=st.lists(edits, min_size=3, max_size=40))
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_many_trees_are_carried_as_they_are(engine: Engine, reference: str, script: list[str]) -> None:
    """The same, with more and longer scripts."""
    assert_carried(engine, reference, script)
