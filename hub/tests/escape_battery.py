"""Runs the attempts of ``escape_attacks.py`` in the sandbox, as whoever runs this script. Prints their results as JSON.

A script, so that a test can run it as root and as an ordinary user. The argument is the folder for the host's files.
"""

from __future__ import annotations

import json
import os
import secrets
import socket
import sys
import threading
from collections.abc import Callable
from pathlib import Path

from gem_hub import sandbox
from gem_hub.sandbox import Bounds, Finished
from gem_processes.syscall_numbers import numbers_on

PYTHON = os.path.realpath(sys.executable)
ATTACKS = Path(__file__).with_name("escape_attacks.py")


def main(folder: Path) -> None:
    os.umask(0o022)
    secret = secrets.token_hex(16)
    os.environ["HF_TOKEN"] = secret
    project = folder / "home" / "project"
    shown = project / "venv"
    shown.mkdir(parents=True)
    script = shown / "attacks.py"
    script.write_text(ATTACKS.read_text())
    paths = [project / ".env", folder / "home" / ".netrc", folder / "neighbour", Path.cwd() / "secret"]
    for path in paths:
        path.write_text(secret)
    given = {
        "terces": secret[::-1],
        "paths": [*map(str, paths), str(Path(__file__).resolve())],
        "unix": serve(socket.AF_UNIX, str(project / "agent.sock")),
        "abstract": str(serve(socket.AF_UNIX, f"\0gem-{secret[:8]}"))[1:],
        "port": serve(socket.AF_INET, ("127.0.0.1", 0))[1],
        "shown": str(shown),
        "numbers": numbers_on(),
    }

    def attack(code: str, **bounds: float) -> Finished:
        limits = Bounds(**{"seconds": 60, "memory": 2**30, "processes": 64, "disk": 2**24, **bounds})  # type: ignore[arg-type]
        wanted = dict.fromkeys(("link", "pipe", "folder", "huge", "sound"), 1000)
        return sandbox.run([PYTHON, "-I", "-c", code], [shown], wanted, limits, "jail")

    command = [PYTHON, "-I", str(script), json.dumps(given)]
    finished = sandbox.run(command, [shown], {}, Bounds(60, 2**31, 64), "jail")
    try:
        told = json.loads(finished.output.splitlines()[-1])
    except (ValueError, IndexError):
        sys.exit(f"the attacks ended with {finished.code}: {finished.output}")
    results = {name: check(attack) for name, check in LIMITS.items()}
    print(json.dumps({**told, "user": os.getuid(), "limits": results}))


def serve(family: int, address: object) -> object:
    """Accept connections in a thread; return the address."""
    listening = socket.socket(family)
    listening.bind(address)
    listening.listen()

    def accept() -> None:
        while True:
            listening.accept()[0].sendall(b"signed")

    threading.Thread(target=accept, daemon=True).start()
    return listening.getsockname() if family == socket.AF_INET else address


def memory_together(attack: Callable[..., Finished]) -> bool:
    """Some processes, each far below the limit, are stopped when they exceed it together."""
    code = "import os, time\nfor _ in range(3): os.fork()\nheld = bytearray(60 << 20)\ntime.sleep(50)"
    return attack(code, memory=2**28).stopped == "memory"


def shared_memory_counts_once(attack: Callable[..., Finished]) -> bool:
    """Pages that a fork shares are not counted for each process."""
    code = "import os\nheld = b'x' * (60 << 20)\nfor _ in range(3): os.fork()\nimport time; time.sleep(0.5)"
    finished = attack(code, memory=2**28)
    return (finished.code, finished.stopped) == (0, "")


def disk_together(attack: Callable[..., Finished]) -> bool:
    """Many files, each below the limit, do not exceed it together."""
    code = (
        "try:\n    for number in range(100): open(f'{number}', 'wb').write(bytes(1 << 20))\n"
        "except OSError as error: print('full', number)"
    )
    said = attack(code).output.split()
    return said[:1] == ["full"] and int(said[1]) <= 17


def processes_together(attack: Callable[..., Finished]) -> bool:
    """A fork bomb ends at the limit."""
    code = (
        "import os, time\nmade = 0\ntry:\n    while True:\n        if os.fork() == 0:\n            time.sleep(60)\n"
        "        made += 1\nexcept OSError: print('fizzled', made)"
    )
    said = attack(code, processes=32).output.split()
    return said[:1] == ["fizzled"] and int(said[1]) < 32


def output_ends(attack: Callable[..., Finished]) -> bool:
    """Endless output does not fill the disk of the host."""
    return attack("while True: print('x' * 10000)").code not in (0, None)


def results_are_plain(attack: Callable[..., Finished]) -> bool:
    """Links, pipes, folders and large files are not returned; a plain file is."""
    code = (
        "import os\nos.symlink('/etc/hostname', 'link'); os.mkfifo('pipe'); os.mkdir('folder')\n"
        "open('huge', 'wb').write(bytes(1001)); open('sound', 'w').write('ok')"
    )
    return attack(code).files == {"sound": b"ok"}


def all_die_in_time(attack: Callable[..., Finished]) -> bool:
    """At the time limit the run ends, with a process that left its session."""
    return attack("import os, time\nif os.fork() == 0: os.setsid()\ntime.sleep(600)", seconds=1).stopped == "time"


CHECKS = (
    memory_together,
    shared_memory_counts_once,
    disk_together,
    processes_together,
    output_ends,
    results_are_plain,
    all_die_in_time,
)
LIMITS = {check.__name__: check for check in CHECKS}

if __name__ == "__main__":
    main(Path(sys.argv[1]))
