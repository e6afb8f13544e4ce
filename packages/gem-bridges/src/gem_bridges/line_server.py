"""Answers requests with a script beside it, in a process and a Python of their own; run as a script itself.

It needs no other package, reads a JSON object a line, and answers with one a line: with what ``answered`` of the script
returns for it, or with the reason (``refused``) where that fails or returns what JSON cannot hold, such as NaN.
Arguments: the bytes of address space that the process may have, and the path of the script.
"""

from __future__ import annotations

import json
import os
import runpy
import sys
import threading
import time
import warnings


def _end_with(parent: int) -> None:
    while os.getppid() == parent:
        time.sleep(2)
    os._exit(0)


def _limit_memory(size: int) -> None:
    try:
        import resource
    except ImportError:  # not on Windows
        return
    resource.setrlimit(resource.RLIMIT_AS, (size, size))


def main() -> None:
    """Answer requests until the input ends."""
    if os.environ.get("PYTHONHASHSEED") != "0":  # the order of sets must be the same in each process
        os.environ["PYTHONHASHSEED"] = "0"
        os.execv(sys.executable, [sys.executable, "-u", *sys.argv])  # noqa: S606  # this script again
    _limit_memory(int(sys.argv[1]))
    sys.path.pop(0)  # the folder of this script, whose names are not meant for others
    threading.Thread(target=_end_with, args=(os.getppid(),), daemon=True).start()
    warnings.simplefilter("ignore")
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)  # what libraries print must not come between the answers
    answered = runpy.run_path(sys.argv[2])["answered"]
    for line in sys.stdin:
        try:
            answer = json.dumps(answered(json.loads(line)), allow_nan=False)
        except BaseException as error:  # packages end the process with sys.exit where a key is missing
            answer = json.dumps({"refused": f"{type(error).__name__}: {error}"})
        answers.write(answer + "\n")
        answers.flush()


if __name__ == "__main__":
    main()
