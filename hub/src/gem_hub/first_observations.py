"""Writes the first observation of each environment to a file. Run as a script where a package is being checked.

The arguments are the file, then ids. Each id gives one JSON line ``[id, text]``, so earlier lines remain when an
environment hangs or dies.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

MOST = 4000
"""The largest number of characters of an observation on a page."""


def main(target: str, *ids: str) -> None:
    """Reset each environment with seed 0."""
    import gem

    for env_id in ids:
        try:
            with gem.make(env_id) as env:
                observation, _ = env.reset(seed=0)
            line = json.dumps([env_id, as_text(observation)])
        except (Exception, SystemExit):  # noqa: S112  # the kit has already reported it
            continue
        with Path(target).open("a", encoding="utf-8") as file:
            file.write(f"{line}\n")


def as_text(observation: Any) -> str:
    """Return the text of an observation, with a word in place of each non-text part."""
    if isinstance(observation, list):
        parts = (part if isinstance(part, dict) else {} for part in observation)
        observation = "\n".join(str(part.get("text", f"[{part.get('type', 'part')}]")) for part in parts)
    text = str(observation).encode("utf-8", "replace").decode()
    return text if len(text) <= MOST else f"{text[: MOST - 1]}…"


if __name__ == "__main__":
    main(*sys.argv[1:])
