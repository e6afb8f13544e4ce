"""Mutates a sound wheel many times and asks the gate each time; ``test_gate_mutants.py`` does it at night.

Arguments: how many wheels, and a seed. Half of the mutants are the wheel with changed bytes; the other half are built
around a changed text with a valid RECORD and valid checksums, so that they get past the archive. Prints one JSON
object: how many wheels, how often each answer, and the mutants whose answer was wrong.
"""

from __future__ import annotations

import io
import json
import random
import sys
import time
import zipfile
from collections import Counter
from dataclasses import replace
from typing import Any

from test_gate_fuzz import FILENAME, LIMITS, SOUND, check_answer, edited
from test_installers_agree import ENTRIES, METADATA, PIECES
from wheel_builder import MANIFEST, Wheel

from gem_hub.gate import examine

KINDS = ("flip", "insert", "delete", "copy", "cut")
MOST_SHOWN = 20


def changed_bytes(generator: random.Random) -> tuple[str, bytes]:
    """Return the wheel after one to three edits of its bytes."""
    content = SOUND
    for _ in range(generator.randint(1, 3)):
        kind, place = generator.choice(KINDS), generator.randrange(len(SOUND))
        argument: object = generator.randrange(1, 256)
        if kind == "insert":
            argument = generator.randbytes(generator.randint(1, 40))
        elif kind == "copy":
            argument = generator.randrange(len(SOUND))
        content = edited(content, (kind, place, argument))
    return FILENAME, content


def changed_text(generator: random.Random) -> tuple[str, bytes]:
    """Return a wheel that is built around a changed text, with a RECORD that fits."""
    base = replace(Wheel(), files={**Wheel().files, "toy_envs/cli.py": "def main():\n    pass\n"}, entry_points=ENTRIES)
    kind = generator.randrange(6)
    if kind == 0:
        return replace(base, entry_points=spoilt(ENTRIES, generator)).build()
    if kind == 1:
        head, _, readme = spoilt(METADATA, generator).partition("\n\n")
        return replace(base, headers=tuple(head.split("\n")), readme=readme).build()
    if kind == 2:
        return replace(base, wheel_file=spoilt(base.wheel_file, generator)).build()
    if kind == 3:
        return replace(base, record=lambda text: spoilt(text, generator)).build()
    if kind == 4:
        return base.with_files({"toy_envs/environments.toml": spoilt(MANIFEST, generator)}).build()
    return base.with_files({spoilt("toy_envs/more.py", generator): "MORE = 1\n"}).build()


def spoilt(text: str, generator: random.Random) -> str:
    """Return a text with one to three pieces in the place of some of its characters."""
    for _ in range(generator.randint(1, 3)):
        place, length = generator.randrange(len(text) + 1), generator.randint(0, 3)
        text = text[:place] + generator.choice(PIECES) + text[place + length :]
    return text.encode("utf-8", "replace").decode()


def problem(filename: str, content: bytes, is_rebuilt: bool) -> tuple[str, list[str]]:
    """Return a sentence on what is wrong with the gate's answer, or none, and the codes of the answer."""
    try:
        verdict = examine(filename, content, "someone", limits=LIMITS)
        if not is_rebuilt:
            check_answer(verdict)
        elif verdict.passed:
            assert verdict.wheel is not None
            with zipfile.ZipFile(io.BytesIO(content)) as archive:
                read = {name: archive.read(name) for name in archive.namelist()}
            assert read == {name: verdict.wheel.archive.read(name) for name in verdict.wheel.archive.entries}
            assert (verdict.wheel.name, verdict.wheel.version) == ("toy-envs", "0.1.0")
        assert all(one.code and one.message and str(one).isprintable() for one in verdict.refusals)
    except Exception as error:
        return f"{type(error).__name__}: {error}", []
    return "", ["passed"] if verdict.passed else [one.code for one in verdict.refusals]


def examined(count: int, seed: int) -> dict[str, Any]:
    """Return what the gate answered to a number of mutants."""
    generator = random.Random(seed)
    codes: Counter[str] = Counter()
    wrong: list[dict[str, Any]] = []
    for number in range(count):
        is_rebuilt = bool(number % 2)
        filename, content = (changed_text if is_rebuilt else changed_bytes)(generator)
        what, answer = problem(filename, content, is_rebuilt)
        codes.update(set(answer))
        if what and len(wrong) < MOST_SHOWN:
            wrong.append({"number": number, "problem": what, "wheel": content.hex()})
    return {"wheels": count, "wrong": wrong, "answers": dict(codes.most_common())}


def main(count: str, seed: str) -> None:
    result = examined(int(count), int(seed))
    print(json.dumps({"cpu_seconds": round(time.process_time(), 1), **result}))


if __name__ == "__main__":
    main(*sys.argv[1:])
