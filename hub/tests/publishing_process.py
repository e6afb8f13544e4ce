"""One of several processes that publish into one hub at once; see ``test_concurrency.py``.

Arguments: hub (a folder or the address of a bucket), folder for wheels, number of this process, how many releases. It
says ``ready``, waits for a line, and then prints one JSON object: version → outcome.
"""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

from toy_hub import make_wheel, publish_wheel

from gem_hub.errors import HubRefusal
from gem_hub.storage.addresses import open_files
from gem_hub.store import Store

RACED = "9.9.9"


def main(hub: str, folder: str, number: str, count: str) -> None:
    wheels = [make_wheel(Path(folder) / number, version=f"0.{number}.{patch}") for patch in range(int(count))]
    raced = make_wheel(Path(folder) / number, version=RACED, readme=f"By process {number}.")
    wheels.insert(len(wheels) // 2, raced)
    print("ready", flush=True)
    sys.stdin.readline()
    os.fsync = lambda number: None  # nobody cuts the power here
    store = Store(open_files(hub))
    outcomes = {}
    for wheel in wheels:
        version = wheel.name.split("-")[1]
        try:
            outcomes[version] = publish_wheel(store, wheel)
        except HubRefusal as refusal:
            outcomes[version] = f"refused: {refusal}"
    print(json.dumps(outcomes))


if __name__ == "__main__":
    main(*sys.argv[1:])
