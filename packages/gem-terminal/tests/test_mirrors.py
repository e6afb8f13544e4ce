"""Mirrors of package indices: settings of a machine that hold for builds and for containers with a network."""

from __future__ import annotations

from pathlib import Path
from uuid import uuid4

import pytest

from gem_terminal.engines import Engine
from gem_terminal.engines.docker import DockerEngine
from gem_terminal.engines.mirrors import MIRRORS, mirror_settings, with_lines_after_from
from gem_terminal.errors import EngineError
from gem_terminal.task import Image, ResourceLimits

SETTINGS = """
[variables]
PIP_INDEX_URL = "https://mirror.example/simple"
OWN = "of the machine"

[files]
"/etc/pip.conf" = "pip.conf"
"/opt/new/folder/ca.crt" = "ca.crt"
"""


@pytest.fixture
def settings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A file of settings, which the variable names."""
    file = tmp_path / "mirrors.toml"
    file.write_text(SETTINGS)
    (tmp_path / "pip.conf").write_text("[global]\n")
    (tmp_path / "ca.crt").write_text("certificate\n")
    monkeypatch.setenv(MIRRORS, str(file))
    return file


@pytest.mark.slow(reason="Docker builds an image")
@pytest.mark.every_engine
def test_builds_have_the_mirrors_and_the_image_keeps_no_variable(
    engine: Engine, small: Image, tmp_path: Path, settings: Path
) -> None:
    """The first command of a Dockerfile has variables and files; a task's own variable of the same name wins."""
    (tmp_path / "task").mkdir()
    say = 'echo "$PIP_INDEX_URL,$OWN,$(cat /etc/pip.conf /opt/new/folder/ca.crt | tr "\\n" " ")" > /said'
    lines = [f"FROM {small.name}", "ENV OWN='of the task'", f"RUN {say} # {uuid4()}", "RUN echo own > /etc/pip.conf"]
    (tmp_path / "task" / "Dockerfile").write_text("\n".join(lines))
    image = Image(folder=tmp_path / "task")
    reference = engine.prepare(image)
    references = [reference]
    try:
        with engine.start(reference, ResourceLimits()) as container:
            said = container.run(("sh", "-c", 'cat /said; echo "[$PIP_INDEX_URL]"'), seconds=60).output.decode()
        assert said.splitlines() == ["https://mirror.example/simple,of the task,[global] certificate ", "[]"]
        with engine.start(reference, ResourceLimits(network=True)) as container:
            ask = 'echo "$PIP_INDEX_URL,$OWN"; cat /etc/pip.conf'
            said = container.run(("sh", "-c", ask), seconds=60).output.decode()
        assert said.splitlines() == ["https://mirror.example/simple,of the task", "own"], "the task changed the file"
        settings.write_text("")
        references.append(engine.prepare(image))
        assert references[1] != reference, "an image built with other settings is another image"
    finally:
        if isinstance(engine, DockerEngine):
            for each in references:
                engine.client.images.remove(each)


@pytest.mark.every_engine
def test_containers_of_prebuilt_images_have_the_mirrors_if_they_have_a_network(
    engine: Engine, small: Image, settings: Path
) -> None:
    """Tests that install packages work; a task without a network sees nothing of it."""
    reference = engine.prepare(small)
    ask = ("sh", "-c", 'echo "$PIP_INDEX_URL"; cat /opt/new/folder/ca.crt 2>&1')
    with engine.start(reference, ResourceLimits(network=True)) as container:
        assert container.run(ask, seconds=60).output == b"https://mirror.example/simple\ncertificate\n"
    with engine.start(reference, ResourceLimits()) as container:
        assert container.run(ask, seconds=60).output.startswith(b"\ncat: ")


def test_each_stage_begins_with_the_mirrors() -> None:
    """Comments, continued lines and here-documents are read as Docker reads them."""
    text = """\
# syntax=docker/dockerfile:1
ARG BASE=debian
FROM $BASE \\
  # a comment
  AS first
RUN cat <<EOF && echo $((1<<n)) \\
 done
from os import path
EOF
from debian as second
RUN true \\
FROM no-stage
"""
    expected = text.replace("  AS first\n", "  AS first\nARG X\n").replace("as second\n", "as second\nARG X\n")
    assert with_lines_after_from(text, ["ARG X"]) == expected


@pytest.mark.parametrize(
    ("content", "why"),
    [
        ("[variable]\n", r"other than \[variables\] and \[files\]: variable"),
        ("[variables]\nA = 1\n", r"\[variables\] must be a table of strings"),
        ("[variables]\n'A B' = 'x'\n", "'A B' is no name of a variable"),
        ("[files]\n'etc/pip.conf' = 'pip.conf'\n", "'etc/pip.conf' is no absolute path"),
        ("[files]\n'/etc/../pip.conf' = 'pip.conf'\n", "is no absolute path"),
        ("[files]\n'/etc/pip.conf' = 'missing'\n", "No such file.*missing"),
        ("[", "mirrors.toml: "),
    ],
)
def test_a_file_that_cannot_be_used_is_named_with_the_reason(settings: Path, content: str, why: str) -> None:
    """The error says which file, and what is wrong with it."""
    settings.write_text(content)
    with pytest.raises(EngineError, match=f"{MIRRORS} names a file that cannot be used: .*{why}"):
        mirror_settings()
