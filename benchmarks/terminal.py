"""The speed of terminal tasks: commands, episode starts, engines, many at once.

    python benchmarks/terminal.py
    python benchmarks/terminal.py --only commands --rounds 9

Needs a Docker engine and the namespace engine, both with the image `debian:bookworm-slim`. Everything is timed by the
clock through `TerminalEnv`, parsing and bookkeeping included, on one trivial task. Comparisons are paired in one
run: each round measures all sides in turn, a ratio is that of one round's medians, and tables show the median of the
rounds with their range.

`exec_run` is docker-py's method for running a command in a container, here in the container of the episode that
plays beside it; the namespace engine is compared with that of the Docker container of the same round.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from functools import partial
from pathlib import Path

from gem.errors import GemError
from gem_terminal import TerminalEnv
from gem_terminal.engines import Engine
from gem_terminal.engines.docker import DockerEngine
from gem_terminal.engines.namespace import NamespaceEngine
from gem_terminal.errors import EngineError

FILES = {
    "task.toml": "[environment]\nmemory_mb = 256\n",
    "instruction.md": "Do nothing.",
    "environment/Dockerfile": "FROM debian:bookworm-slim\n",
    "tests/test.sh": "#!/bin/bash\necho 1 > /logs/verifier/reward.txt\n",
}
PARALLEL = 32
COMMANDS = 10
"""Commands of an episode, where many are played at once."""


def timed(work: Callable[[], object]) -> float:
    """Return the wall-clock seconds of a call."""
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def spread(values: Sequence[float], number: str) -> str:
    """Return the median and the range."""
    return f"{statistics.median(values):{number}} ({min(values):{number}} … {max(values):{number}})"


def percentiles(seconds: Sequence[float]) -> str:
    """Return the median and the 95th percentile, in milliseconds."""
    ordered = sorted(seconds)
    return f"{statistics.median(ordered) * 1e3:.1f} | {ordered[int(0.95 * (len(ordered) - 1))] * 1e3:.1f}"


def verdict(is_met: bool) -> str:
    """Return the table's word for a goal that is met or missed."""
    return "yes" if is_met else "**no**"


class Bench:
    """The engines, the task, and the amount of measurements."""

    def __init__(self, engines: Sequence[Engine], task: Path, options: argparse.Namespace) -> None:
        self.engines = engines
        self.task = task
        self.rounds: int = options.rounds
        self.commands: int = options.commands
        self.episodes: int = options.episodes

    def env(self, engine: Engine, warm: int = 0) -> TerminalEnv:
        return TerminalEnv(path=self.task, engine=engine, warm=warm, max_turns=1_000_000)


def wait_until_ready() -> None:
    """Wait until no session is made or discarded in the background."""
    while workers := [thread for thread in threading.enumerate() if thread.name == "gem-terminal pool"]:
        workers[0].join()  # which may have started another one meanwhile


def step_seconds(env: TerminalEnv, command: str) -> float:
    """Return the seconds of a turn with a command that prints nothing."""

    def work() -> None:
        observation = env.step(f"<bash>{command}</bash>")[0]
        if observation != "[exit code 0]":
            raise RuntimeError(f"{command} brought {observation!r}")

    return timed(work)


def commands(bench: Bench) -> list[str]:
    """Time commands through the episode's shell, against docker-py's `exec_run`."""
    kinds = {"/bin/true": ("/bin/true", ["/bin/true"], 30), "a builtin": (":", ["bash", "-c", ":"], None)}
    ours: dict[tuple[str, str], list[float]] = {}
    theirs: dict[str, list[float]] = {}
    ratios: dict[tuple[str, str], list[float]] = {}
    with ExitStack() as stack:
        envs = {engine.name: stack.enter_context(bench.env(engine)) for engine in bench.engines}
        for env in envs.values():
            env.reset()
        docker = envs["docker"].engine
        assert isinstance(docker, DockerEngine)
        session = envs["docker"]._session
        assert session is not None
        container = docker.client.containers.get(session._container.id)
        for _ in range(bench.rounds):
            for kind, (command, argv, _) in kinds.items():
                seconds: dict[str, list[float]] = {}
                for name, env in envs.items():
                    seconds[name] = [step_seconds(env, command) for _ in range(bench.commands)]
                run = partial(container.exec_run, argv)
                seconds["exec_run"] = [timed(run) for _ in range(bench.commands // 4)]
                medians = {name: statistics.median(values) for name, values in seconds.items()}
                theirs.setdefault(kind, []).append(medians["exec_run"])
                for name in envs:
                    ours.setdefault((kind, name), []).append(medians[name])
                    ratios.setdefault((kind, name), []).append(medians["exec_run"] / medians[name])
    lines = [
        "| a warm command, ms | engine | ours | exec_run | times faster | goal | met |",
        "|---|---|---|---|---|---|---|",
    ]
    for (kind, name), values in ours.items():
        goal, ratio = kinds[kind][2], ratios[kind, name]
        met = verdict(statistics.median(ratio) >= goal) if goal else ""
        own, other = (spread([value * 1e3 for value in side], ".2f") for side in (values, theirs[kind]))
        lines.append(f"| {kind} | {name} | {own} | {other} | {spread(ratio, '.0f')} | {goal or ''} | {met} |")
    return lines


def starts(bench: Bench) -> list[str]:
    """Time the beginning of an episode, with and without warm sessions."""
    lines = ["| beginning an episode, ms | engine | p50 | p95 | goal | met |", "|---|---|---|---|---|---|"]
    for engine in bench.engines:
        seconds: dict[str, list[float]] = {"a session is ready": [], "none is": []}
        # Another size of output makes it another kind, so that it cannot take what was made for the warm one.
        with bench.env(engine, warm=1) as warm, bench.env(engine).spawn(output=20_000) as cold:
            for _ in range(2):  # from its second episode on an environment has the next one made
                warm.reset()
            for _ in range(bench.episodes):
                wait_until_ready()
                seconds["a session is ready"].append(timed(warm.reset))
                wait_until_ready()
                seconds["none is"].append(timed(cold.reset))
        for what, values in seconds.items():
            goal, met = ("p50 < 50", verdict(statistics.median(values) < 0.05)) if "ready" in what else ("", "")
            lines.append(f"| {what} | {engine.name} | {percentiles(values)} | {goal} | {met} |")
    return lines


def engines(bench: Bench) -> list[str]:
    """Time the start of a container and its shell on either engine, in turn."""
    medians: dict[str, list[float]] = {engine.name: [] for engine in bench.engines}
    with ExitStack() as stack:
        envs = [stack.enter_context(bench.env(engine)) for engine in bench.engines]
        for env in envs:
            env.reset()
        for _ in range(bench.rounds):
            seconds: dict[str, list[float]] = {name: [] for name in medians}
            for env in envs:  # in blocks, because Docker's daemon cleans up for a while after its answer
                env.reset()
                for _ in range(max(bench.episodes // bench.rounds, 3)):
                    wait_until_ready()  # so that the previous one's remains are not discarded at the same time
                    seconds[env.engine.name].append(timed(env.reset))
            for name, values in seconds.items():
                medians[name].append(statistics.median(values))
    ratios = [docker / namespace for docker, namespace in zip(medians["docker"], medians["namespace"], strict=True)]
    milliseconds = {name: spread([value * 1e3 for value in values], ".1f") for name, values in medians.items()}
    return [
        "| without a pool, ms | namespace | docker | times faster | goal | met |",
        "|---|---|---|---|---|---|",
        f"| an episode begins | {milliseconds['namespace']} | {milliseconds['docker']} | {spread(ratios, '.1f')} | 10 "
        f"| {verdict(statistics.median(ratios) >= 10)} |",
    ]


def verified(bench: Bench) -> list[str]:
    """Time a whole episode with a ready session: reset, one command, verification."""
    lines = ["| an episode of one command, ms | engine | p50 | p95 |", "|---|---|---|---|"]
    for engine in bench.engines:
        seconds: dict[str, list[float]] = {"all of it": [], "verification alone": []}

        with bench.env(engine, warm=1) as env:
            for _ in range(2):
                env.reset()
            for _ in range(bench.episodes):
                wait_until_ready()
                begun = timed(env.reset) + step_seconds(env, "true")
                seconds["verification alone"].append(timed(partial(env.step, "<finish/>")))
                seconds["all of it"].append(begun + seconds["verification alone"][-1])
        lines += [f"| {what} | {engine.name} | {percentiles(values)} |" for what, values in seconds.items()]
    return lines


def parallel(bench: Bench) -> list[str]:
    """Time thirty-two environments at once, each in a thread, with the default warmth and without."""
    lines = [
        f"| {PARALLEL} at once, {COMMANDS} commands an episode | engine | episodes a second | commands a second "
        "| beginning, ms: p50 | p95 | failures |",
        "|---|---|---|---|---|---|---|",
    ]
    for engine in bench.engines:
        each = 6 if engine.name == "docker" else 20
        for warm in (0, 1):
            begun: list[float] = []
            failures: list[str] = []

            def play(env: TerminalEnv, each: int, begun: list[float], failures: list[str]) -> None:
                for _ in range(each):
                    try:
                        begun.append(timed(env.reset))
                        for number in range(COMMANDS):
                            observation = env.step(f"<bash>ls / >/dev/null; echo {number}</bash>")[0]
                            if observation != f"{number}\n[exit code 0]":
                                raise EngineError(observation)
                    except GemError as error:
                        failures.append(str(error))

            with ExitStack() as stack:
                envs = [stack.enter_context(bench.env(engine, warm=warm)) for _ in range(PARALLEL)]
                threads = [threading.Thread(target=play, args=(env, each, begun, failures)) for env in envs]
                start = time.perf_counter()
                for thread in threads:
                    thread.start()
                for thread in threads:
                    thread.join()
                seconds = time.perf_counter() - start
            lines.append(
                f"| warm={warm} | {engine.name} | {len(begun) / seconds:.1f} | {len(begun) * COMMANDS / seconds:,.0f} "
                f"| {percentiles(begun)} | {len(failures)} |"
            )
    return lines


SECTIONS = {
    "commands": commands,
    "starts": starts,
    "engines": engines,
    "verified": verified,
    "parallel": parallel,
}


@contextmanager
def benched(options: argparse.Namespace) -> Iterator[Bench]:
    """Yield both engines and the task, whose image is ready."""
    both = (DockerEngine(), NamespaceEngine(options.images))
    with tempfile.TemporaryDirectory() as folder:
        for name, content in FILES.items():
            path = Path(folder) / "task" / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(content)
        bench = Bench(both, path.parents[1], options)
        try:
            for engine in both:
                engine.check()
                with bench.env(engine) as env:
                    env.reset()
            yield bench
        finally:
            for engine in both:
                engine.close()


def main() -> None:
    """Print the tables as Markdown."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument(
        "--commands", type=int, default=100, help="commands of each kind and round; exec_run: a quarter"
    )
    parser.add_argument("--episodes", type=int, default=40, help="episodes of each kind and engine")
    parser.add_argument("--images", type=Path, help="folder of the namespace engine's images; its cache if not given")
    parser.add_argument("--only", choices=list(SECTIONS), action="append")
    options = parser.parse_args()
    with benched(options) as bench:
        for name, section in SECTIONS.items():
            if not options.only or name in options.only:
                print(f"{name} …", file=sys.stderr)
                print("\n".join(section(bench)), end="\n\n", flush=True)


if __name__ == "__main__":
    main()
