"""Images: prebuilt ones first, several builds at a time, one copy of equal bases."""

from __future__ import annotations

import os
import tarfile
import threading
import warnings
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from uuid import uuid4

import pytest

from gem_terminal import warnings_once
from gem_terminal.engines import Engine
from gem_terminal.engines.base import ProgressStage
from gem_terminal.engines.contexts import beginning_of
from gem_terminal.engines.docker import DockerEngine
from gem_terminal.engines.docker.buildkit import has_buildkit
from gem_terminal.engines.exclusive import PLACES, building, no_building
from gem_terminal.engines.namespace import NamespaceEngine
from gem_terminal.errors import EngineError
from gem_terminal.task import Image, ResourceLimits

LONG = 60.0
"""Seconds that no test takes."""


def context(folder: Path, *lines: str, name: str | None = None) -> Image:
    """A folder to build, and the name of a prebuilt image."""
    folder.mkdir()
    (folder / "Dockerfile").write_text("\n".join(lines) + "\n")
    return Image(folder=folder, name=name)


@pytest.mark.every_engine
def test_a_prebuilt_image_comes_before_the_dockerfile(engine: Engine, small: Image, tmp_path: Path) -> None:
    """Nothing is built; the files are those of the prebuilt image."""
    image = context(tmp_path / "task", f"FROM {small.name}", "RUN touch /of-the-dockerfile", name=small.name)
    with engine.start(engine.prepare(image), ResourceLimits()) as container:
        assert container.run(("test", "-e", "/of-the-dockerfile"), seconds=60).exit_code == 1


STAGES = """\
ARG BASE={base}
FROM --platform=linux/{machine} $BASE AS Made
WORKDIR /build
ENV KIND=made
ENV NONCE={nonce}
RUN mkdir -p out/deep && echo $KIND > out/deep/file && ln out/deep/file out/linked && ln -s file out/deep/link \\
    && echo 1 > one.txt && echo 2 > two.txt && chown -R 33:33 out && chmod 750 out/deep
FROM made
RUN echo more >> out/deep/file && echo of-the-second > /second # {nonce}
FROM $BASE
COPY --from=made /build/out /app/
COPY --from=Made /build/out/deep/file /build/one.txt /files/
COPY --from=0 /build/*.txt /matched/
COPY --from=1 /second /renamed
COPY --from={base} /etc/debian_version /version
COPY --from=made --chown=33:0 /build/one.txt /owned
"""


def test_a_dockerfile_may_have_stages(engine: Engine, small: Image, tmp_path: Path) -> None:
    """Each engine copies from stages by name and number, and from images; the files keep their owners."""
    machine = {"x86_64": "amd64", "aarch64": "arm64"}[os.uname().machine]
    image = context(tmp_path / "task", STAGES.format(base=small.name, machine=machine, nonce=uuid4()))
    reference = engine.prepare(image)
    show = (
        "cd /; echo $KIND; cat app/deep/file app/linked app/deep/link files/file files/one.txt renamed; ls matched; "
        "stat -c '%n %u:%g %a' app/deep app/linked owned; cmp version etc/debian_version && echo same"
    )
    with engine.start(reference, ResourceLimits()) as container:
        said = container.run(("sh", "-c", show), seconds=60).output.decode().split("\n")
    assert said == [
        "", "made", "made", "made", "made", "1", "of-the-second", "one.txt", "two.txt", "app/deep 33:33 750",
        "app/linked 33:33 644", "owned 33:0 644", "same", "",
    ]  # fmt: skip
    if isinstance(engine, DockerEngine):
        engine.client.images.remove(reference)


def test_a_stage_that_does_not_have_the_file_is_named(
    new_engine: Callable[[], NamespaceEngine], small: Image, tmp_path: Path
) -> None:
    """The error quotes the line."""
    image = context(tmp_path / "task", f"FROM {small.name} AS first", "FROM first", "COPY --from=first /gone /here")
    with pytest.raises(EngineError, match=r"'COPY --from=first /gone /here': .* has no /gone"):
        new_engine().prepare(image)


def test_a_dockerfile_can_extend_the_search_path(engine: Engine, small: Image, tmp_path: Path) -> None:
    """Of a base that sets none itself, too."""
    lines = [f"FROM {small.name}", 'ENV PATH="/own/bin:$PATH"', "RUN mkdir -p /own/bin && cp /bin/true /own/bin/mine"]
    reference = engine.prepare(context(tmp_path / "task", *lines, f"RUN mine # {uuid4()}"))
    with engine.start(reference, ResourceLimits()) as container:
        assert container.run(("sh", "-c", "mine && ls /own/bin"), seconds=60).output == b"mine\n"
    if isinstance(engine, DockerEngine):
        engine.client.images.remove(reference)


def test_files_are_copied_from_an_image_without_a_shell(
    new_engine: Callable[[], NamespaceEngine], small: Image, tmp_path: Path
) -> None:
    """Such as one of a single program; what another image has at a path is not taken for its own."""
    engine, name = new_engine(), f"program-{uuid4().hex}:1"
    (tmp_path / "program").write_text("echo runs\n")
    with tarfile.open(tmp_path / "base.tar", "w") as archive:
        archive.add(tmp_path / "program", "usr/tools/program")
    engine.add_base(name, tmp_path / "base.tar")
    begin = [f"FROM {small.name}", f"COPY --from={name} /usr/tools/* /copied/"]
    with engine.start(engine.prepare(context(tmp_path / "task", *begin)), ResourceLimits()) as container:
        assert container.run(("sh", "/copied/program"), seconds=60).output == b"runs\n"
    lines = [f"FROM {small.name}", f"COPY --from={name} /etc/passwd /here"]
    with pytest.raises(EngineError, match="the image that it copies from has no /etc/passwd"):
        engine.prepare(context(tmp_path / "absent", *lines))


@pytest.mark.every_engine
def test_where_the_prebuilt_image_cannot_be_had_the_dockerfile_is_built(
    engine: Engine, small: Image, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An engine that would pull says so, once; the next start asks no registry."""
    monkeypatch.setattr(warnings_once, "_GIVEN", set())
    missing = "localhost:9/no/such:1"
    image = context(tmp_path / "task", f"FROM {small.name}", f"RUN touch /of-the-dockerfile # {uuid4()}", name=missing)
    with warnings.catch_warnings(record=True) as given:
        warnings.simplefilter("always")
        reference = engine.prepare(image)
        assert engine.prepare(image) == reference
    told = [str(one.message) for one in given if missing in str(one.message)]
    assert len(told) == isinstance(engine, DockerEngine)
    with engine.start(reference, ResourceLimits()) as container:
        assert container.run(("test", "-e", "/of-the-dockerfile"), seconds=60).exit_code == 0
    if isinstance(engine, DockerEngine):
        engine.client.images.remove(reference)


def test_images_that_begin_alike_are_built_one_after_another_and_others_at_the_same_time(tmp_path: Path) -> None:
    """The beginning is the base and the first command; comments of other lines do not matter."""
    alike = [context(tmp_path / name, "FROM a", "RUN b", f"RUN {name}") for name in ("x", "y")]
    other = context(tmp_path / "z", "FROM a", "RUN c")
    assert beginning_of(alike[0]) == beginning_of(alike[1]) != beginning_of(other)
    locks, waits, order = tmp_path / "locks", threading.Event(), list[str]()

    def builds(beginning: str, told: Callable[[ProgressStage], None] | None) -> None:
        with building(locks, beginning, told):
            order.append(beginning)

    with ThreadPoolExecutor(2) as threads:
        with building(locks, "1", None):
            second = threads.submit(builds, "1", lambda _: waits.set())
            assert waits.wait(LONG), "it does not wait for the one that begins alike"
            threads.submit(builds, "2", None).result(LONG)
            assert order == ["2"]
        second.result(LONG)
    assert order == ["2", "1"]


def test_builds_have_few_places_and_the_removal_of_images_waits_for_all(tmp_path: Path) -> None:
    """The removal waits for the build of each place, one after another; so does a build if all places are taken."""
    entered, waits = threading.Semaphore(0), threading.Semaphore(0)
    let_go = [threading.Event() for _ in range(PLACES)]

    def builds(number: int) -> None:
        with building(tmp_path, f"{number:x}", None):
            entered.release()
            let_go[number].wait(LONG)

    def removes() -> None:
        with no_building(tmp_path, lambda _: waits.release()):
            assert all(event.is_set() for event in let_go)

    def one_more() -> None:
        with building(tmp_path, "ff", lambda _: waits.release()):
            assert any(event.is_set() for event in let_go)

    with ThreadPoolExecutor(PLACES + 1) as threads:
        jobs = []
        try:
            for number in range(PLACES):
                jobs.append(threads.submit(builds, number))
                assert entered.acquire(timeout=LONG)
            for waiting in (one_more, removes):
                jobs.append(threads.submit(waiting))
                assert waits.acquire(timeout=LONG), "it does not wait"
                if waiting is one_more:
                    for event in let_go:
                        event.set()
                    for job in jobs:
                        job.result(LONG)
                    for number, event in enumerate(let_go):
                        event.clear()
                        jobs.append(threads.submit(builds, number))
                        assert entered.acquire(timeout=LONG)
            for event in let_go[:-1]:
                event.set()
                assert waits.acquire(timeout=LONG), "it waits for no further place"
        finally:
            for event in let_go:
                event.set()
        for job in jobs:
            job.result(LONG)


@pytest.mark.nightly
@pytest.mark.only_engine("namespace")
def test_a_copied_layer_is_that_of_its_files_alone(engine: Engine, small: Image, tmp_path: Path) -> None:
    """Contexts that differ in what is copied later share the layers before; a name, mode or content makes another."""
    assert isinstance(engine, NamespaceEngine)
    nonce = str(uuid4())  # an image of an earlier run of this test is none of these
    first = {"early/x": nonce, "late/x": "1"}
    contexts = {
        "first": first, "late": first | {"late/x": "2"}, "content": first | {"early/x": "2"},
        "name": {"early/y": nonce, "late/x": "1"}, "mode": first, "source": first,
    }  # fmt: skip
    layers = {}
    for name, files in contexts.items():
        early = "early/x" if name == "source" else "early"
        image = context(tmp_path / name, f"FROM {small.name}", f"COPY {early} /e/", "COPY late /l/")
        for path, text in files.items():
            (tmp_path / name / path).parent.mkdir(exist_ok=True)
            (tmp_path / name / path).write_text(text)
        if name == "mode":
            (tmp_path / name / "early" / "x").chmod(0o755)
        layers[name] = engine._images.layers(engine.prepare(image))[0]
    assert layers["first"][1] == layers["late"][1]
    assert layers["first"][0] != layers["late"][0]
    assert (layers["late"][0] / "l" / "x").read_text() == "2"
    assert len({layers[name][1] for name in ("first", "content", "name", "mode", "source")}) == 5


@pytest.mark.only_engine("namespace")
def test_bases_of_the_same_content_are_one_folder(engine: Engine, tmp_path: Path) -> None:
    """Names of one archive share its files and the layers built on them; another content has files of its own."""
    del engine
    archives = []
    for word in ("one", "two"):
        root = tmp_path / word
        (root / "usr" / "share" / "x").mkdir(parents=True)
        (root / "usr" / "share" / "x" / "file").write_text(word)
        archives.append(tmp_path / f"{word}.tar")
        with tarfile.open(archives[-1], "w") as archive:
            archive.add(root, arcname=".")
    store = NamespaceEngine(tmp_path / "images of é")
    try:
        for name, number in (("a:1", 0), ("b:1", 0), ("c:1", 1)):
            store.add_base(name, archives[number])
            assert store.has_base(name)
        layers = {name: store._images.layers(store.prepare(Image(name=name)))[0] for name in ("a:1", "b:1", "c:1")}
    finally:
        store.close()
    assert layers["a:1"] == layers["b:1"] != layers["c:1"]
    assert len(list((tmp_path / "images of é" / "contents").iterdir())) == 2
    assert (layers["c:1"][0] / "usr/share/x/file").read_text() == "two"


@pytest.mark.nightly
@pytest.mark.only_engine("docker")
def test_buildkit_builds_what_the_classic_builder_refuses(engine: Engine, small: Image, tmp_path: Path) -> None:
    """Mounts of RUN and modes of COPY, with build arguments, steps as progress, and the end of a failure's output."""
    if not has_buildkit(None):
        pytest.skip("the docker program has no buildx")
    assert isinstance(engine, DockerEngine)
    lines = [f"FROM {small.name}", "ARG WORD", f"ENV NONCE={uuid4()}"]
    lines += ["RUN --mount=type=cache,target=/cache echo $WORD > /said", "COPY --chmod=700 Dockerfile /copied"]
    image = replace(context(tmp_path / "a task of é", *lines), arguments=(("WORD", "two words"),))
    stages: list[ProgressStage] = []
    reference = engine.prepare(image, stages.append)
    try:
        with engine.start(reference, ResourceLimits()) as container:
            said = container.run(("sh", "-c", "cat /said; stat -c %a /copied"), seconds=60).output
        assert said == b"two words\n700\n"
        assert engine.client.images.get(reference).labels["gem.terminal"] == "image"
        assert {(stage.done, stage.total) for stage in stages if stage.text.startswith(("RUN", "COPY"))} == {
            (2, 3),
            (3, 3),
        }
    finally:
        engine.client.images.remove(reference)
    failing = context(tmp_path / "failing", f"FROM {small.name}", "RUN echo the reason; exit 3")
    with pytest.raises(EngineError, match=r"failing cannot be built: .*exit code: 3"):
        engine.prepare(failing)
    slow = replace(context(tmp_path / "slow", f"FROM {small.name}", f"RUN sleep {LONG}"), build_seconds=5.0)
    with pytest.raises(EngineError, match=r"slow cannot be built in the 5 seconds that its task grants"):
        engine.prepare(slow)
