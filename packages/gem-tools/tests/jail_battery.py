"""Runs attacks in the jail, as whoever runs this script, and prints what came of them as JSON.

A script, so that a test can run it as an ordinary user. Standard input is JSON: for each attack, a program and the
arguments of :class:`gem_tools.sandbox.Limits`. The last results are this process's own: what it could still do while
attacks on the quotas of its user went on.
"""

from __future__ import annotations

import ctypes
import dataclasses
import fcntl
import json
import os
import sys
import threading

from gem_tools.sandbox import Limits, Sandbox

PIPES = """
import os
held = []
try:
    while True: held.append(os.pipe())
except OSError:
    while True: pass
"""
INOTIFY = "import ctypes\nlibc = ctypes.CDLL(None)\nprint([libc.inotify_init1(0) for _ in range(200)].count(-1))"


def main() -> None:
    with Sandbox("required", Limits(seconds=60)) as sandbox:
        results = []
        for code, limits in json.load(sys.stdin):
            results.append(dataclasses.asdict(sandbox.run(code, limits=Limits(**limits))))
        attacks = [threading.Thread(target=sandbox.run, args=[PIPES], kwargs={"limits": Limits(3)}) for _ in range(4)]
        for attack in attacks:
            attack.start()
        refused = sandbox.run(INOTIFY).stdout.strip()
        pipes = [os.pipe() for _ in range(16)]
        sizes = {fcntl.fcntl(pipe[0], fcntl.F_GETPIPE_SZ) for pipe in pipes}  # type: ignore[attr-defined]
        watching = ctypes.CDLL(None).inotify_init1(0) >= 0
        for attack in attacks:
            attack.join()
    quotas = {"refused": refused, "sizes": sorted(sizes), "watching": watching}
    print(json.dumps({"user": os.getuid(), "results": results, "quotas": quotas}))


if __name__ == "__main__":
    main()
