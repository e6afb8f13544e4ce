"""Tasks with several containers: what their compose files may say, and that the containers work together."""

from __future__ import annotations

import json
import os
import select
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from gem_terminal import TerminalEnv
from gem_terminal.engines import Engine
from gem_terminal.engines.cgroups import groups
from gem_terminal.engines.docker import DockerEngine
from gem_terminal.engines.docker.images import LABEL
from gem_terminal.engines.owner import ContainerOwner
from gem_terminal.errors import EngineError, TaskError
from gem_terminal.formats import load_task
from gem_terminal.task import CopiedFolder, Healthcheck, Image, Task

# Answers each connection with a greeting from its environment and a file that the task mounts.
SERVER = """
use IO::Socket::INET;
my $server = IO::Socket::INET->new(Listen => 8, LocalPort => $ARGV[0], ReuseAddr => 1) or die "port: $!";
open(my $file, "<", "/etc/word") or die "word: $!"; my $word = <$file>; chomp $word;
while (my $client = $server->accept) { print $client "$ENV{GREETING} $word $ARGV[1]\\n"; close $client }
"""
DOCKERFILE = """
FROM debian:bookworm-slim
ARG GREETED=nobody
ENV GREETING=$GREETED
COPY serve.pl /serve.pl
ENTRYPOINT ["perl", "/serve.pl"]
CMD ["8000", "by-default"]
"""
COMPOSE = """
services:
  MAIN:
    build: {context: .}
    command: ["sh", "-c", "sleep infinity"]
    environment: ["FROM_COMPOSE=yes", "TEST_DIR=${T_BENCH_TEST_DIR}"]
    volumes: ["${T_BENCH_TASK_LOGS_PATH}:${T_BENCH_CONTAINER_LOGS_PATH}", "./word:/data/word:ro"]
    depends_on:
      server: {condition: service_healthy}
      setup: {condition: service_completed_successfully}
    networks: [inner]
  server:
    build: {context: server, args: {GREETED: hello}}
    command: ["8000", "${WHO:-server}"]
    container_name: the-server
    volumes: [{type: bind, source: ./word, target: /etc/word}, "state:/state"]
    healthcheck:
      test: ["CMD", "bash", "-c", "exec 3<>/dev/tcp/localhost/8000"]
      interval: 10s
      timeout: 5s
      retries: 3
    ports: ["8000"]
    networks: {inner: {aliases: [web]}}
    restart: unless-stopped
  setup:
    image: debian:bookworm-slim
    entrypoint: bash -c
    command: ["read -r line < /dev/tcp/web/8000 && [ \\"$$line\\" = \\"hello mounted server\\" ]"]
    depends_on: {server: {condition: service_healthy}}
    networks: [inner]
networks: {inner: {driver: bridge}}
volumes: {state: {}}
"""


def write_harbor(folder: Path, compose: str = COMPOSE, network: str = "no-network") -> Path:
    files = {
        "task.toml": f"[environment]\nnetwork_mode = '{network}'\nmemory_mb = 256\n",
        "instruction.md": "Ask the server.",
        "environment/Dockerfile": "FROM debian:bookworm-slim\nWORKDIR /work\n",
        "environment/docker-compose.yaml": compose.replace("MAIN", "main"),
        "environment/word": "mounted\n",
        "environment/server/Dockerfile": DOCKERFILE,
        "environment/server/serve.pl": SERVER,
        "tests/test.sh": "#!/bin/bash\nread -r line < /dev/tcp/server/8000; [ \"$line\" = 'hello mounted server' ]; "
        "echo $((1 - $?)) > /logs/verifier/reward.txt\n",
    }
    for name, content in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(content)
    (folder / "tests/test.sh").chmod(0o755)
    return folder


def write_older(folder: Path, compose: str = COMPOSE) -> Path:
    write_harbor(folder / "as", compose)
    (folder / "as/environment").rename(folder / "task")
    (folder / "task/docker-compose.yaml").write_text(compose.replace("MAIN", "client"))
    (folder / "task/task.yaml").write_text("instruction: Ask the server.\n")
    (folder / "task/run-tests.sh").write_text("true\n")
    return folder / "task"


TRAINER = """
import sys
from pathlib import Path
sys.path.insert(0, sys.argv[4])
from trainer import engine_of, say
from gem_terminal import TerminalEnv
from gem_terminal.engines.cgroups import groups
from gem_terminal.engines.owner import ContainerOwner

env = TerminalEnv(path=sys.argv[3], engine=engine_of(sys.argv[1], sys.argv[2]), warm=0)
env.reset()
env.step("<bash>(setsid sleep 1000 &) ; echo begun</bash>")
owner = str(ContainerOwner.this_process())
own = [folder for folder, whose in groups() if str(whose) == owner]
say([owner, sorted({int(line) for folder in own for line in (folder / "cgroup.procs").read_text().split()})])
sys.stdin.read()
"""
"""A trainer whose episode has side-cars; it tells its label, and the processes of its control groups."""


def left_of(engine: Engine, owner: str = "") -> int:
    """Containers and networks of a process; of this one without a label."""
    owner = owner or str(ContainerOwner.this_process())
    if not isinstance(engine, DockerEngine):
        return len({folder.name for folder, whose in groups() if str(whose) == owner})
    mine = {"label": f"{LABEL}={owner}"}
    return len(engine.client.api.containers(all=True, filters=mine)) + len(engine.client.api.networks(filters=mine))


@pytest.mark.slow(reason="three containers a network, and two images")
@pytest.mark.every_engine
@pytest.mark.parametrize("network", ["no-network", pytest.param("public", marks=pytest.mark.nightly)])
def test_an_episode_with_side_cars(engine: Engine, tmp_path: Path, network: str) -> None:
    """The agent reaches services by their names, the tests do so too, and nothing is left."""
    before = left_of(engine)
    with TerminalEnv(path=write_harbor(tmp_path, network=network), engine=engine, warm=0) as env:
        env.reset()
        for name in ("server", "web", "the-server"):
            said = env.step(f"<bash>read -r line < /dev/tcp/{name}/8000; echo $line</bash>")[0]
            assert said == "hello mounted server\n[exit code 0]"
        assert (
            env.step("<bash>cat /data/word; echo $FROM_COMPOSE; pwd</bash>")[0] == "mounted\nyes\n/work\n[exit code 0]"
        )
        assert env.step("<bash>kill -9 -1; ls /state /serve.pl</bash>")[4]["exit_code"] != 0, "containers of their own"
        with pytest.raises(EngineError, match="several containers, of which no snapshot"):
            env.unwrapped.snapshot()
        assert env.step("<finish/>")[1] == 1.0
    assert left_of(engine) == before
    assert not [thread for thread in threading.enumerate() if thread.name == "gem-terminal side-car"]


@pytest.mark.slow(reason="two episodes with three containers each")
def test_a_killed_trainer_leaves_no_side_cars_and_its_neighbour_goes_on(
    engine: Engine, cache: Path, tmp_path: Path
) -> None:
    """After kill -9 the processes of all containers are gone, or reaped with their network; another episode is not."""
    task = write_harbor(tmp_path / "task")
    with TerminalEnv(path=task, engine=engine, warm=0) as neighbour:
        neighbour.reset()
        command = [sys.executable, "-c", TRAINER, engine.name, str(cache), str(task), str(Path(__file__).parent)]
        with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as killed:
            assert killed.stdout is not None
            try:
                owner, processes = json.loads(killed.stdout.readline())
                watched = [os.pidfd_open(pid) for pid in processes]
                assert left_of(engine, owner) >= 2
            finally:
                killed.kill()
        for descriptor in watched:  # without a daemon they end by themselves
            assert select.select([descriptor], [], [], 60)[0], "a process of a side-car goes on"
            os.close(descriptor)
        assert len(watched) >= 3 or isinstance(engine, DockerEngine)
        engine.reap()
        assert left_of(engine, owner) == 0
        said = neighbour.step("<bash>read -r line < /dev/tcp/server/8000; echo $line</bash>")[0]
        assert said == "hello mounted server\n[exit code 0]"


def test_what_a_compose_file_says(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Both formats read it alike, but for the name of the agent's service."""
    monkeypatch.setenv("WHO", "me")
    harbor, older = load_task(write_harbor(tmp_path / "a")), load_task(write_older(tmp_path / "b"))
    for task in (harbor, older):
        folder = tmp_path / ("a/environment" if task is harbor else "b/task")
        setup, server = sorted(task.side_cars, key=lambda each: each.name != "setup")
        assert task.waits_for == {"server": "healthy", "setup": "completed_successfully"}
        assert [each.name for each in task.side_cars] == ["server", "setup"], "the order in which they start"
        assert task.environment == {"FROM_COMPOSE": "yes"}
        assert task.folders == (CopiedFolder(folder / "word", "/data/word"),)
        assert server.image == Image(folder / "server", arguments=(("GREETED", "hello"),))
        assert (server.entrypoint, server.command, server.ports) == (None, ("8000", "me"), (8000,))
        assert (server.aliases, server.restarts) == (("the-server", "web"), True)
        assert server.folders == (CopiedFolder(folder / "word", "/etc/word"), CopiedFolder(None, "/state"))
        assert server.healthcheck == Healthcheck(
            "bash -c 'exec 3<>/dev/tcp/localhost/8000'", 0.5, 5.0, start_period=30.0, start_interval=0.5, retries=1
        )
        assert (setup.image, setup.entrypoint) == (Image(name="debian:bookworm-slim"), ("bash", "-c"))
        assert setup.command is not None
        assert "$line" in setup.command[0]
    assert (harbor.main_name, older.main_name) == ("main", "client")
    assert (harbor.image.folder, older.image.folder) == (tmp_path / "a/environment", tmp_path / "b/task")


def test_no_container_gets_tests_or_solution(tmp_path: Path) -> None:
    """Published tasks mount their whole folder. A missing folder is empty, as in Compose."""
    mounts = "services: {MAIN: {build: ., volumes: ['.:/app', './tests:/app/tests', './tests/a:/a', './runs:/runs']}}"
    folder = write_older(tmp_path, mounts)
    (folder / "tests/a").mkdir(parents=True)
    (folder / "solution.sh").touch()
    copied = load_task(folder).folders
    seen = {each.target: each.source for each in copied}
    assert seen == {
        "/app/Dockerfile": folder / "Dockerfile",
        "/app/server": folder / "server",
        "/app/word": folder / "word",
        "/runs": None,
    }


SIDE = "services: {MAIN: {build: .}, other: {image: debian:bookworm-slim, EXTRA}}"


@pytest.mark.parametrize(
    ("compose", "message"),
    [
        (SIDE.replace("EXTRA", "privileged: true"), "needs privileged, which no container has"),
        (SIDE.replace("EXTRA", "cap_add: [NET_ADMIN]"), "needs cap_add"),
        (SIDE.replace("EXTRA", "network_mode: host"), "network_mode: host, which is not supported"),
        (SIDE.replace("EXTRA", "volumes: ['/var/run/docker.sock:/s']"), "not in the folder of the task"),
        (SIDE.replace("EXTRA", "volumes: ['../../..:/s']"), "not in the folder of the task"),
        (SIDE.replace("EXTRA", "env_file: ./missing"), "missing, which is missing"),
        (SIDE.replace("EXTRA", "volumes: ['~/x:/s']"), "not in the folder of the task"),
        (SIDE.replace("EXTRA", "extends: {service: x}"), "has extends, which is not supported"),
        (SIDE.replace("EXTRA", "depends_on: [nobody]"), "depends on nobody, which is not there"),
        (SIDE.replace("EXTRA", "depends_on: [other]"), "depend on each other"),
        (SIDE.replace("EXTRA", "depends_on: [MAIN]"), "depends on the agent's"),
        (SIDE.replace("EXTRA", "networks: [far]"), "no network in common"),
        (SIDE.replace("EXTRA", "environment: ['A=${NOBODY_SETS_THIS:?}']"), "NOBODY_SETS_THIS, which is not set"),
        (SIDE.replace("EXTRA", "healthcheck: {test: x, interval: soon}"), "a time is a number"),
        ("services: {MAIN: {build: .}, other: {environment: {A: 1}}}", "neither build nor image"),
        ("services: {MAIN: {build: .}, other: {build: {context: ., target: x}}}", "builds a target"),
        ("services: {MAIN: {build: ., volumes: ['v:/a']}, other: {image: x, volumes: ['v:/b']}}", "share the volume v"),
        (
            "services: {MAIN: {build: ., depends_on: {other: {condition: service_healthy}}}, other: {image: x}}",
            "other is healthy, which has no healthcheck",
        ),
        ("services: []", "lists no services"),
        ("services: {MAIN: [", "cannot be read"),
    ],
)
def test_what_is_not_supported_is_refused(tmp_path: Path, compose: str, message: str) -> None:
    """The error names the file and what is not supported."""
    with pytest.raises(TaskError, match=message) as caught:
        load_task(write_harbor(tmp_path, compose))
    assert "docker-compose.yaml" in str(caught.value) or "Dockerfile" in str(caught.value)


def test_what_is_no_compose_file_of_the_task(tmp_path: Path) -> None:
    """Harbor and Terminal-Bench look for one name; another one is material of the task. Profiles are not started."""
    task = write_harbor(tmp_path, SIDE.replace("EXTRA", "profiles: [debug]"))
    assert load_task(task).side_cars == ()
    (task / "environment/docker-compose.yaml").rename(task / "environment/docker-compose.yml")
    (task / "environment/docker-compose.yml").write_text("services: {web: {privileged: true}, db: {image: x}}")
    assert load_task(task).side_cars == ()


def started(engine: Engine, folder: Path, compose: str) -> Task:
    with TerminalEnv(path=write_harbor(folder, compose), engine=engine, warm=0) as env:
        env.reset()
        return env.task


FAILS = """
services:
  main: {build: ., depends_on: {other: {condition: CONDITION}}}
  other:
    image: debian:bookworm-slim
    command: [bash, -c, "echo what went wrong; exit 7"]
    healthcheck: {test: exit 1, interval: 1ms, retries: 1}
"""


@pytest.mark.parametrize(
    ("condition", "message"),
    [
        ("service_completed_successfully", "service other ended with exit code 7; its output: 'what went wrong'"),
        ("service_healthy", "service other failed: .* 'exit 1'.*'what went wrong'"),
    ],
)
def test_a_side_car_that_fails_is_named(engine: Engine, tmp_path: Path, condition: str, message: str) -> None:
    """The reset fails with the service and its output, and leaves nothing."""
    before = left_of(engine)
    with pytest.raises(EngineError, match=message):
        started(engine, tmp_path, FAILS.replace("CONDITION", condition))
    assert left_of(engine) == before


@pytest.mark.only_engine("namespace")
def test_a_port_that_two_containers_want(engine: Engine, tmp_path: Path) -> None:
    """On one loopback the second would fail, or answer for the first."""
    two = "services: {main: {build: .}, a: {image: x, ports: [80]}, b: {image: x, expose: ['80/tcp']}}"
    with pytest.raises(EngineError, match="a and b both listen on port 80"):
        started(engine, tmp_path, two)
