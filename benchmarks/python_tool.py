"""The Python tool against the original's, paired in one run: CPU seconds of all processes, and executions a second.

    python -m venv /tmp/original && /tmp/original/bin/pip install gem-llm datasets pandas pylatexenc requests
    python benchmarks/python_tool.py --original /tmp/original/bin/python
    python benchmarks/python_tool.py --leaks 10000
    python benchmarks/python_tool.py --timeouts 100
    python benchmarks/python_tool.py --attacks 3
    python benchmarks/python_tool.py --tiers
    python benchmarks/python_tool.py --leaks 10000 --mode restricted
    python benchmarks/python_tool.py --before FOLDER --rounds 20

The cost of an execution is the difference between a process that runs many and one that runs few, so that starting
and warming up do not count. Each round measures both sides in turn. ``--before`` compares with another version, whose
checkout the folder is.
"""

from __future__ import annotations

import argparse
import atexit
import gc
import json
import os
import statistics
import subprocess
import sys
import threading
import time
from pathlib import Path

PROGRAMS = {"print": "print(1+1)", "numpy": "import numpy\nprint(numpy.arange(3).sum())"}
ATTACKS = {
    "a loop": "while True: pass",
    "processes": "import os\nwhile True:\n    try: os.fork()\n    except OSError: pass",
    "ignored signals": "import signal\nfor n in range(1, 65):\n    try: signal.signal(n, signal.SIG_IGN)\n"
    "    except (OSError, ValueError): pass\nwhile True: pass",
    "a loop in C": "9 ** 9 ** 9",
    "messages": "import socket\na, b = socket.socketpair()\na.setblocking(False)\nwhile True:\n"
    "    try: a.send(b'x')\n    except OSError: pass",
    "files": "n = 0\nwhile True:\n    try:\n        with open(str(n), 'wb') as file: file.write(bytes(65536))\n"
    "    except OSError: pass\n    n += 1",
}
FEW = 4
COSTS = {"a program": 300, "a call of a session": 4000, "a start": 6}
"""What ``--before`` compares → how many of them more than one a round counts."""


def main() -> None:
    """Measure the chosen parts; by default everything but leaks."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--original", help="interpreter that has the original installed")
    parser.add_argument("--before", type=Path, help="a checkout of another version, to compare the costs with")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--leaks", type=int, metavar="N", help="run N programs and count what is left")
    parser.add_argument("--timeouts", type=int, metavar="N", help="run N programs out of time, alone and 16 at once")
    parser.add_argument("--attacks", type=int, metavar="N", help="run each attack N times, and see how late it ends")
    parser.add_argument("--tiers", action="store_true", help="compare the jail with the tier of containers")
    parser.add_argument("--mode", default="required", help="the mode of the sandbox for --leaks")
    parser.add_argument("--worker", nargs=4, metavar=("SIDE", "PROGRAM", "COUNT", "THREADS"), help=argparse.SUPPRESS)
    parser.add_argument("--cost", nargs=3, metavar=("MODE", "COST", "COUNT"), help=argparse.SUPPRESS)
    chosen = parser.parse_args()
    if chosen.worker:
        sys.path.pop(0)  # this folder, whose files may have the names of libraries
        side, program, count, threads = chosen.worker
        work(side, PROGRAMS[program], int(count), int(threads))
        return
    if chosen.cost:
        sys.path.pop(0)
        mode, cost, count = chosen.cost
        spend(mode, cost, int(count))
        return
    if chosen.before:
        versions(chosen.before.resolve(), chosen.rounds)
    if chosen.original:
        compare(chosen.original, chosen.rounds)
    if chosen.tiers:
        tiers(chosen.rounds)
    if chosen.leaks:
        leaks(chosen.leaks, chosen.mode)
    if chosen.timeouts:
        timeouts(chosen.timeouts)
    if chosen.attacks:
        attacks(chosen.attacks)


def work(side: str, program: str, count: int, threads: int) -> None:
    """Run a program ``count`` times with the tool that is installed here; print the wall-clock seconds."""
    if side != "theirs":
        from gem_tools import PythonTool
        from gem_tools.sandbox import Sandbox

        sandbox = Sandbox("auto" if side == "ours" else side)
        atexit.register(sandbox.close)  # so that its processes count
        tool = PythonTool(sandbox=sandbox)
        action = f"<python>{program}</python>"

        def call() -> str:
            answered = tool.respond(action)
            assert answered is not None
            return answered[1].text
    else:
        from gem.tools.python_code_tool import PythonCodeTool

        original = PythonCodeTool()
        action = f"<python>{program}</python>"

        def call() -> str:
            return str(original.execute_action(action)[2])

    expected = "Code execution result: " + ("2" if "1+1" in program else "3")
    numbers = iter(range(count))
    lock = threading.Lock()

    def repeat() -> None:
        while True:
            with lock:
                if next(numbers, None) is None:
                    return
            answer = call()
            assert answer.startswith(expected), answer

    assert call().startswith(expected)
    started = time.perf_counter()
    callers = [threading.Thread(target=repeat) for _ in range(threads)]
    for thread in callers:
        thread.start()
    for thread in callers:
        thread.join()
    print(json.dumps({"seconds": time.perf_counter() - started}))


def measured(python: str, side: str, program: str, count: int, threads: int) -> tuple[float, float]:
    """Return CPU seconds of a worker and all of its processes, and the wall-clock seconds of its calls."""
    path = f"{Path(python).parent}{os.pathsep}{os.environ.get('PATH', '')}"
    command = [python, __file__, "--worker", side, program, str(count), str(threads)]
    child = subprocess.Popen(command, env={**os.environ, "PATH": path}, stdout=subprocess.PIPE)
    assert child.stdout is not None
    output = child.stdout.read()
    _, status, usage = os.wait4(child.pid, 0)
    child.returncode = os.waitstatus_to_exitcode(status)
    assert child.returncode == 0, "the worker failed"
    return usage.ru_utime + usage.ru_stime, json.loads(output.splitlines()[-1])["seconds"]


def compare(original: str, rounds: int) -> None:
    """Print the tables of both sides."""
    sides = {"ours": sys.executable, "theirs": original}
    counts = {"ours": 300, "theirs": 40}
    print("| CPU ms per execution | ours | original | times better | goal | met |\n|---|---|---|---|---|---|")
    for program, goal in (("print", 4), ("numpy", 12)):
        figures: dict[str, list[float]] = {"ours": [], "theirs": []}
        for _ in range(rounds):
            for side, python in sides.items():
                many = counts[side] if program == "print" else counts[side] // 2
                difference = measured(python, side, program, many, 1)[0] - measured(python, side, program, FEW, 1)[0]
                figures[side].append(1000 * difference / (many - FEW))
        row(program, figures["ours"], figures["theirs"], [b / a for a, b in pairs(figures)], goal)
    print("\n| executions per s, 16 at once | ours | original | times better | goal | met |\n|---|---|---|---|---|---|")
    for program, goal in (("print", 6), ("numpy", 6)):
        figures = {"ours": [], "theirs": []}
        for _ in range(rounds):
            for side, python in sides.items():
                many = counts[side] * 2
                figures[side].append(many / measured(python, side, program, many, 16)[1])
        row(program, figures["ours"], figures["theirs"], [a / b for a, b in pairs(figures)], goal)


def tiers(rounds: int) -> None:
    """Print the table of the jail and the tier without namespaces."""
    print("| CPU ms per execution | jail | restricted | ratio | goal | met |\n|---|---|---|---|---|---|")
    for program in PROGRAMS:
        figures: dict[str, list[float]] = {"required": [], "restricted": []}
        for _ in range(rounds):
            for side, found in figures.items():
                few, many = (measured(sys.executable, side, program, count, 1)[0] for count in (FEW, 200))
                found.append(1000 * (many - few) / (200 - FEW))
        jail, restricted = figures.values()
        ratios = [b / a for a, b in zip(jail, restricted, strict=True)]
        met = "yes" if statistics.median(ratios) <= 1.5 else "**no**"
        print(
            f"| {program} | {statistics.median(jail):.1f} | {statistics.median(restricted):.1f} | "
            f"{statistics.median(ratios):.2f} ({min(ratios):.2f} … {max(ratios):.2f}) | 1.5 | {met} |",
            flush=True,
        )


def spend(mode: str, cost: str, count: int) -> None:
    """Run programs, calls of a session or starts of a sandbox, with the version that can be imported."""
    import warnings

    from gem_tools.sandbox import Sandbox

    warnings.simplefilter("ignore")  # the restricted tier says what it lacks
    if cost == "a start":
        for _ in range(count):
            with Sandbox(mode) as sandbox:
                assert sandbox.run("print(1+1)").stdout == "2\n"
        return
    with Sandbox(mode) as sandbox, sandbox.session() as session:
        run = session.run if cost == "a call of a session" else sandbox.run
        for _ in range(count):
            assert run("print(1+1)").stdout == "2\n"


def spent(folder: Path, mode: str, cost: str, count: int) -> float:
    """Return the CPU seconds of a process of a version and all of its processes."""
    sources = os.pathsep.join(str(path) for path in sorted(folder.glob("packages/*/src")))
    command = [sys.executable, __file__, "--cost", mode, cost, str(count)]
    child = subprocess.Popen(command, env={**os.environ, "PYTHONPATH": sources})
    _, status, usage = os.wait4(child.pid, 0)
    child.returncode = os.waitstatus_to_exitcode(status)
    assert child.returncode == 0, "the process failed"
    return usage.ru_utime + usage.ru_stime


def versions(before: Path, rounds: int) -> None:
    """Print the costs of this version and of the other one; the ratio is the rounds' median with its quartiles."""
    here = Path(__file__).parents[1]
    print("| CPU ms | tier | before | now | ratio (quartiles) | goal | met |\n|---|---|---|---|---|---|---|")
    for mode, tier in (("required", "jail"), ("restricted", "restricted")):
        for cost, many in COSTS.items():
            figures: dict[Path, list[float]] = {before: [], here: []}
            for number in range(rounds):
                for folder in list(figures)[:: 1 if number % 2 else -1]:
                    difference = spent(folder, mode, cost, many + 1) - spent(folder, mode, cost, 1)
                    figures[folder].append(1000 * difference / many)
            old, new = figures.values()
            low, middle, high = statistics.quantiles([b / a for a, b in zip(old, new, strict=True)], n=4)
            print(
                f"| {cost} | {tier} | {statistics.median(old):.2f} | {statistics.median(new):.2f} | "
                f"{middle:.2f} ({low:.2f} … {high:.2f}) | 1.1 | {'yes' if middle <= 1.1 else '**no**'} |",
                flush=True,
            )


def pairs(figures: dict[str, list[float]]) -> list[tuple[float, float]]:
    """Return the rounds of both sides."""
    return list(zip(figures["ours"], figures["theirs"], strict=True))


def row(name: str, ours: list[float], theirs: list[float], ratios: list[float], goal: float) -> None:
    """Print a row: medians, and the range of the ratios."""
    met = "yes" if statistics.median(ratios) >= goal else "**no**"
    print(
        f"| {name} | {statistics.median(ours):.1f} | {statistics.median(theirs):.1f} | {statistics.median(ratios):.1f} "
        f"({min(ratios):.1f} … {max(ratios):.1f}) | {goal:g} | {met} |",
        flush=True,
    )


def leaks(count: int, mode: str) -> None:
    """Run many programs, some of them hostile, from 8 threads, and print the resources that have grown."""
    from gem_tools.sandbox import Limits, Sandbox

    programs = (
        "print(1+1)",
        "1/0",
        "open('f', 'w').write('x' * 100000)",
        "import os\nif os.fork() == 0:\n    import time; time.sleep(100)",
    )
    with Sandbox(mode, Limits(seconds=20)) as sandbox:

        def run(some: int) -> None:
            numbers = iter(range(some))

            def repeat() -> None:
                for number in numbers:
                    done = sandbox.run(programs[number % 4])
                    assert done.exit_code in (0, 1), done

            callers = [threading.Thread(target=repeat) for _ in range(8)]
            for thread in callers:
                thread.start()
            for thread in callers:
                thread.join()

        run(200)
        before = footprint()
        started = time.perf_counter()
        run(count)
        took = time.perf_counter() - started
        after = footprint()
    print(f"{count} runs in {took:.0f} s")
    for name, value in before.items():
        print(f"{name}: {value} → {after[name]}")


def footprint() -> dict[str, int]:
    """Return the resources that this process and its descendants hold."""
    gc.collect()
    me = os.getpid()
    parents = {}
    for name in (path.name for path in Path("/proc").iterdir()):
        try:
            parents[int(name)] = int(Path(f"/proc/{name}/stat").read_text().rpartition(")")[2].split()[1])
        except (ValueError, OSError):
            continue
    family = {me}
    while more := {pid for pid, parent in parents.items() if parent in family} - family:
        family |= more
    return {
        "processes": len(family),
        "descriptors": sum(len(list(Path(f"/proc/{pid}/fd").iterdir())) for pid in family),
        "resident bytes": sum(
            int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE") for pid in family
        ),
        "threads": threading.active_count(),
        "mounts": len(Path("/proc/self/mountinfo").read_text().splitlines()),
    }


def attacks(count: int) -> None:
    """Print the delay at which hostile programs end after their time limit of 1 s."""
    from gem_tools.sandbox import Limits, Sandbox

    limits = Limits(seconds=1.0, memory=256 << 20, processes=24)
    print("| attack | late, s: median | worst |\n|---|---|---|")
    with Sandbox("required", limits) as sandbox:
        sandbox.warm_up()
        for name, code in ATTACKS.items():
            late: list[float] = []
            for _ in range(count):
                started = time.perf_counter()
                done = sandbox.run(code)
                assert done.limit == "seconds", done
                late.append(time.perf_counter() - started - limits.seconds)
            print(f"| {name} | {statistics.median(late):.3f} | {max(late):.3f} |")


def timeouts(count: int) -> None:
    """Print the delay at which programs end after their time limit."""
    from gem_tools.sandbox import Limits, Sandbox

    limits = Limits(seconds=0.5)
    with Sandbox("required") as sandbox:
        sandbox.warm_up()
        for threads, code in ((1, "while True: pass"), (16, "while True: pass"), (16, "import time\ntime.sleep(60)")):
            late: list[float] = []

            def repeat(code: str = code, late: list[float] = late, some: int = count // threads) -> None:
                for _ in range(some):
                    started = time.perf_counter()
                    done = sandbox.run(code, limits=limits)
                    assert done.timed_out, done
                    late.append(time.perf_counter() - started - limits.seconds)

            callers = [threading.Thread(target=repeat) for _ in range(threads)]
            for thread in callers:
                thread.start()
            for thread in callers:
                thread.join()
            late.sort()
            print(f"{threads} at once, {code!r}: median {late[len(late) // 2]:.3f} s late, worst {late[-1]:.3f} s")


if __name__ == "__main__":
    main()
