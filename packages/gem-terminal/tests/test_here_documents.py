"""Here-documents in Dockerfiles: https://docs.docker.com/reference/dockerfile/#here-documents."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gem_terminal.engines import Engine
from gem_terminal.engines.namespace.dockerfile import parse
from gem_terminal.errors import TaskError
from gem_terminal.task import Image, ResourceLimits

DOCKERFILE = r"""FROM {base}
ENV WORD=outer
WORKDIR /work
RUN <<EOF
# a comment of the script
WORD=inner
echo "$WORD" > said
EOF
RUN cat <<'ONE' > one; cat <<-TWO > two
$WORD # stays
ONE
	tabs
	TWO
RUN <<SCRIPT
#!/usr/bin/perl
print "perl\n";
open(my $file, '>', 'script'); print $file "of perl\n";
SCRIPT
COPY <<FILLED <<"LITERAL" /copied/
$WORD and \$WORD
FILLED
$WORD
LITERAL
COPY --chmod=700 --chown=33:0 <<EOF /renamed
content
EOF
"""


def parsed(path: Path, text: str) -> list[tuple[str, str, list[tuple[str, str, bool]]]]:
    """Return name, text and here-documents of the instructions after FROM."""
    (path / "Dockerfile").write_text(f"FROM base\n{text}", encoding="utf-8")
    return [
        (each.name, each.text, [(one.word, one.body, one.is_filled) for one in each.documents])
        for each in parse(path / "Dockerfile")[1:]
    ]


@pytest.mark.only_engine("namespace")
def test_files_and_scripts_are_those_of_the_here_documents(engine: Engine, small: Image, tmp_path: Path) -> None:
    """A script sees its own variables, COPY replaces them unless the word is quoted, and modes and owners hold."""
    (tmp_path / "Dockerfile").write_text(DOCKERFILE.format(base=small.name))
    with engine.start(engine.prepare(Image(folder=tmp_path)), ResourceLimits()) as container:
        show = "cat said one two script /copied/FILLED /copied/LITERAL /renamed; stat -c '%a %u:%g' /renamed"
        said = container.run(("sh", "-c", show), seconds=60).output.decode().splitlines()
    assert said == [
        *("inner", "$WORD # stays", "tabs", "of perl", "outer and $WORD", "$WORD", "content", "700 33:0"),
    ]


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("RUN cat <<A <<-'B'\na\nA\nb\nB", ["A", "B"]),
        ("RUN python3 <<EOF && echo done\nprint(1)\nEOF", ["EOF"]),
        ("RUN cat \\\n  # a comment\n  <<EOF\nx\nEOF", ["EOF"]),
        ("RUN cat 3<<EOF\nx\nEOF", ["EOF"]),
        ("RUN cat <<< EOF", []),
        ("RUN echo $((1<<EOF))", []),
        ("RUN echo '<<EOF'", []),
        ("RUN echo 1 << 2", []),
        ('ENV A="<<EOF"', []),
    ],
)
def test_what_begins_a_here_document(line: str, words: list[str], tmp_path: Path) -> None:
    """A word of RUN, COPY or ADD; shifts, here-strings, quoted words and other instructions have none."""
    assert [[word for word, _, _ in found] for _, _, found in parsed(tmp_path, f"{line}\nUSER x")] == [words, []]


@pytest.mark.parametrize("begin", ["RUN <<EOF", "COPY <<EOF /x", "RUN <<A <<EOF\nA"])
def test_a_here_document_without_an_end_is_named(begin: str, tmp_path: Path) -> None:
    """The rest of the file is not taken for its lines."""
    with pytest.raises(TaskError, match="<<EOF has no end"):
        parsed(tmp_path, f"{begin}\nUSER x\n EOF\n")


@given(body=st.lists(st.text(st.characters(blacklist_categories=["Cs", "Cc", "Zl", "Zp"]), max_size=8), max_size=6))
def test_any_lines_are_kept_as_they_are(body: list[str], tmp_path_factory: pytest.TempPathFactory) -> None:
    """Also those that look like comments, continuations or instructions."""
    lines = [*body, "# no comment", "RUN x", "COPY --from=y <<EOF\\"]
    text = "".join(f"{line}\n" for line in lines if line != "EOF")
    assert parsed(tmp_path_factory.mktemp("file"), f"RUN <<EOF\n{text}EOF\n") == [
        ("RUN", "<<EOF", [("EOF", text, True)])
    ]
