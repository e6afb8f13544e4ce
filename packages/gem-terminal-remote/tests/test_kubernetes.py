"""The Kubernetes engine, against a server of ours that speaks the API and runs real containers: no real cluster."""

from __future__ import annotations

import importlib.util
import io
import socket
import subprocess
import sys
import tarfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings, strategies

from gem_terminal import TerminalEnv
from gem_terminal.engines import Container, Engine, ExecResult, engine_by_name
from gem_terminal.engines.base import ImageProcess, Progress
from gem_terminal.errors import EngineError
from gem_terminal.shells.screen import Screen
from gem_terminal.task import Image, ResourceLimits
from gem_terminal_remote.kubernetes import KubernetesEngine
from gem_terminal_remote.kubernetes.container import Pod
from gem_terminal_remote.kubernetes.pods import POLICY, phase_of

pytest.importorskip("kubernetes", reason="the official client of Kubernetes is not installed")

# One worker has the cluster.
pytestmark = [
    pytest.mark.xdist_group("kubernetes"),
    pytest.mark.slow,
]


def beside(name: str) -> ModuleType:
    """Load a module from this folder, or else from the tests of gem-terminal; neither is a package."""
    path = Path(__file__).with_name(f"{name}.py")
    if not path.exists():
        path = Path(__file__).parents[2] / "gem-terminal" / "tests" / path.name
    known = f"gem_terminal_tests_{name}"
    if known not in sys.modules:
        spec = importlib.util.spec_from_file_location(known, path)
        assert spec is not None
        assert spec.loader is not None
        sys.modules[known] = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(sys.modules[known])
    return sys.modules[known]


api = beside("kubernetes_api")


class WithRegistry(KubernetesEngine):
    """Builds folders on the nodes' own engine, in place of a builder and a registry."""

    cluster: Any

    def image_process(self, reference: str) -> ImageProcess:
        found: ImageProcess = self.cluster.engine.image_process(self.cluster.images[reference])
        return found

    def prepare(self, image: Image, progress: Progress | None = None) -> str:
        if image.folder is None:
            return super().prepare(image, progress)
        reference = self.cluster.engine.prepare(image, progress)
        self.cluster.images[f"registry/{reference}"] = reference
        return f"registry/{reference}"


@pytest.fixture(scope="module", autouse=True)
def _short_pauses() -> Iterator[None]:
    """Pauses between attempts double from here on; a server on this machine needs none to recover."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("gem_terminal_remote.kubernetes.container.BACKOFF", 0.02)
        patch.setattr("gem_terminal_remote.kubernetes.engine.BACKOFF", 0.02)
        yield


@pytest.fixture(scope="module")
def nodes(working_engine: Callable[[str], Engine]) -> Engine:
    """The engine that the pods run on."""
    return working_engine("namespace")


@pytest.fixture(scope="module")
def cluster(nodes: Engine, small: Image, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """A cluster that has the smallest image."""
    assert small.name is not None
    made = api.Cluster(nodes, {small.name: nodes.prepare(small)}, tmp_path_factory.mktemp("cluster"))
    yield made
    made.close()


@pytest.fixture(scope="module")
def engine(cluster: Any) -> Iterator[KubernetesEngine]:
    """The engine that is tested, in place of those that other files test."""
    made = WithRegistry(kubeconfig=cluster.kubeconfig, start_seconds=60)
    made.cluster = cluster
    yield made
    made.close()


# What is promised of every engine is promised of this one.
for _promises in (beside("test_shell"), beside("test_env")):
    _fixtures = {"container", "shell", "env"}
    globals().update(
        {name: value for name, value in vars(_promises).items() if name.startswith("test_") or name in _fixtures}
    )


@pytest.mark.parametrize("ends", ["", "; exit"])
def test_an_agent_that_breaks_its_container_is_answered(env: TerminalEnv, ends: str) -> None:
    """As far as anything can be executed in its pod: not without the folder that its image begins in."""
    beside("test_env").test_an_agent_that_breaks_its_container_is_answered(env, "no shell", ends)
    env.reset(seed=0)
    _, reward, terminated, truncated, info = env.step(f"<bash>rm -rf /desk{ends}</bash>")
    if not truncated:
        _, reward, terminated, truncated, info = env.step("<finish/>")
    assert (reward, terminated, truncated) == (0.0, False, True)
    assert info["error"]


def test_side_cars_are_containers_of_one_pod(engine: KubernetesEngine, cluster: Any, tmp_path: Path) -> None:
    """They share a network and know each other by name, wait for each other, and go with the pod."""
    beside("test_side_cars").write_harbor(tmp_path / "several")
    others = set(cluster.pods)
    with TerminalEnv(path=tmp_path / "several", engine=engine, warm=0) as env:
        env.reset()
        (name,) = cluster.pods.keys() - others
        spec = cluster.pods[name].stored["spec"]
        assert [container["name"] for container in spec["containers"]] == ["task", "beside-1", "beside-2"]
        told = env.step("<bash>cat /data/word; cat < /dev/tcp/web/8000</bash>")[0]
        assert told.startswith("mounted\nhello mounted server")
        assert env.step("<bash>ls /serve.pl /etc/word 2>&1</bash>")[0].count("No such file") == 2
        assert env.step("<finish/>")[1] == 1.0
    assert cluster.pods.keys() <= others


def test_a_task_of_several_steps_is_played_in_one_pod(
    engine: KubernetesEngine, cluster: Any, tmp_path: Path, step_tasks: ModuleType
) -> None:
    """Each step has its files, user, health check and tests; the files of the container stay."""
    others = set(cluster.pods)
    seen: list[tuple[str, dict[str, Any]]] = []
    with TerminalEnv(path=step_tasks.write_task(tmp_path / "steps"), engine=engine, warm=0) as env:
        reward, info = step_tasks.solve(env, seen)
        assert len(cluster.pods.keys() - others) == 1
    assert (reward, info["success"]) == (1.0, True)
    words = ("Write begin into notes.", "Go on in notes.", "End.")
    assert [told for told in words if any(told in observation for observation, _ in seen)] == list(words)
    assert cluster.pods.keys() <= others


@pytest.mark.nightly
@pytest.mark.parametrize("transport", ["STDIO", "HTTP"])
def test_the_mcp_servers_of_a_task_run_in_its_pod(engine: KubernetesEngine, tmp_path: Path, transport: str) -> None:
    """As programs of the agent's container, and as side-cars on the network of the pod."""
    pytest.importorskip("gem_tools.mcp", reason="it comes with gem-terminal[mcp]")
    servers = beside("test_mcp_servers")
    task = servers.write_task(
        tmp_path / "mcp", getattr(servers, transport), servers.COMPOSE if transport == "HTTP" else ""
    )
    with TerminalEnv(path=task, engine=engine, warm=0) as env:
        told, _ = env.reset()
        assert "- note: Keep a note." in told
        user = "nobody" if transport == "STDIO" else "root"
        answer = env.step(servers.call("mcp_call", tool="note", arguments={"text": "kept"}))[0]
        assert answer.startswith(f"{user} 1 kept")


def test_a_service_whose_image_is_unknown_must_name_its_command() -> None:
    """Without a builder, nothing tells what an image of a registry runs."""
    assert KubernetesEngine().image_process("registry/unknown") == ImageProcess()


@pytest.fixture(scope="module")
def pod(engine: KubernetesEngine, small: Image) -> Iterator[Container]:
    """A pod that tests share which leave it as it was."""
    with engine.start(engine.prepare(small), ResourceLimits(memory=256 << 20), {"COLOUR": "$(HOME) $$ blue"}) as made:
        done = made.run(
            ("sh", "-c", "echo 'ada:*:1234:1234::/home/ada:/bin/sh' >> /etc/passwd; chmod 1777 /tmp"), seconds=30
        )
        assert done.exit_code == 0
        yield made


@pytest.fixture(autouse=True)
def _no_faults(request: pytest.FixtureRequest) -> Iterator[None]:
    """The server has met nothing that a real one would not have understood."""
    yield
    if "cluster" in request.fixturenames:
        assert request.getfixturevalue("cluster").faults == []


def said(container: Container, *command: str, **place: Any) -> str:
    """Return what a command says that succeeds."""
    done = container.run(command, seconds=30, **place)
    assert done.exit_code == 0, done.output
    return done.output.decode()


@pytest.mark.parametrize(
    ("user", "expected"),
    [
        (None, "0 0 /root"),
        ("root", "0 0 /root"),
        ("ada", "1234 1234 /home/ada"),
        ("1234", "1234 1234 /home/ada"),
        ("4321", "4321 4321 /"),
    ],
)
def test_a_process_has_its_user(pod: Container, user: str | None, expected: str) -> None:
    """By name or by number, with the group and home of that user, and no capability but root's."""
    ids = 'echo "$(id -u) $(id -g) $HOME"; grep CapEff /proc/self/status'
    who, capabilities = said(pod, "sh", "-c", ids, user=user).splitlines()
    assert who == expected
    assert (capabilities.split()[1] == "0" * 16) == (user in ("ada", "1234", "4321"))


def test_a_user_who_is_not_there_is_an_error(pod: Container) -> None:
    """The process does not run as somebody else."""
    done = pod.run(("id",), seconds=30, user="nobody-knows")
    assert (done.exit_code, done.output) == (127, b"there is no user nobody-knows\n")


def test_users_are_changed_with_what_the_image_has(engine: KubernetesEngine, small: Image) -> None:
    """setpriv, or else runuser, or else su; exit codes and arguments are kept, and without any of them it says so."""
    command = ("sh", "-c", 'echo "$(id -u)$1$HOME$X"; exit 7', "sh", " '$(id)' \n")
    with engine.start(engine.prepare(small), ResourceLimits(memory=256 << 20)) as container:
        said(container, "sh", "-c", "echo 'ada:*:1234:1234::/home/ada:/bin/sh' >> /etc/passwd")
        for program in ("setpriv", "runuser", "su"):
            done = container.run(command, seconds=30, user="ada", environment={"X": "y z"})
            assert (done.exit_code, done.output) == (7, b"1234 '$(id)' \n/home/aday z\n"), program
            said(container, "sh", "-c", 'rm "$(command -v "$1")"', "sh", program)
        done = container.run(command, seconds=30, user="ada")
        assert done.exit_code == 127
        assert b"no setpriv, runuser or su" in done.output


def test_a_process_has_its_folder_and_environment(pod: Container) -> None:
    """That of the pod as it was given, and its own over it; nothing of the cluster."""
    environment = {"X": "a=b\n'$(id)'", "COLOUR": "red"}
    told = said(pod, "env", "-0", environment=environment, workdir="/usr/share").split("\0")
    assert {"X=a=b\n'$(id)'", "COLOUR=red", "PWD=/usr/share", "HOME=/root"} <= set(told)
    assert not [pair for pair in told if pair.startswith(("KUBERNETES", "_gem", "OLDPWD"))]
    assert said(pod, "sh", "-c", 'printf %s "$COLOUR"') == "$(HOME) $$ blue"
    assert pod.run(("true",), seconds=30, workdir="/no-such-folder").exit_code == 127


@given(text=strategies.text(strategies.characters(exclude_characters="\0", codec="utf-8"), max_size=40))
@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_no_argument_is_ever_interpreted(pod: Container, text: str) -> None:
    """Whatever an argument, a variable or the name of a program holds, it is that and nothing else."""
    environment = {"X": text}
    told = said(pod, "sh", "-c", 'printf "%s|%s" "$1" "$X"', "sh", text, environment=environment, user="ada")
    assert told == f"{text}|{text}"


def test_a_name_with_an_equals_sign_is_a_program(pod: Container) -> None:
    """It is no variable of the one that comes after it."""
    done = pod.run(("A=1", "sh", "-c", "exit 0"), seconds=30)
    assert done.exit_code == 127


@pytest.mark.parametrize("name", ["", "a=b", "-i"])
def test_a_variable_without_a_possible_name_is_refused(pod: Container, name: str) -> None:
    """It would be an option or a value of something else."""
    with pytest.raises(EngineError, match="name of an environment variable"):
        pod.run(("true",), seconds=30, environment={name: "x"})


def test_what_no_command_line_holds_crashes_nothing(pod: Container) -> None:
    """One that is too long ends as it does in a shell; what is no character becomes a question mark."""
    done = pod.run(("cat", "x" * 100_000), seconds=30)
    assert (done.exit_code, done.output) == (126, b"the command line is too long\n")
    assert said(pod, "echo", "a\ud800b") == "a?b\n"
    with pytest.raises(EngineError, match="NUL"):
        pod.run(("echo", "a\0b"), seconds=30)


def test_a_pause_is_not_the_end(pod: Container) -> None:
    """A process that says nothing is told from one that has gone, and the code is known only then."""
    channel = pod.open(("sh", "-c", "read line; printf '\\377\\000'; exit 5"))
    assert channel.read(0.2) == b""
    assert channel.exit_code(0.1) is None
    assert channel.write(b"go\n")
    assert channel.read(30) == b"\xff\x00"
    assert channel.read(30) is None
    assert channel.read(30) is None
    assert channel.exit_code(30) == 5
    assert not channel.write(b"on")
    channel.close()
    channel.close()


def test_both_ways_are_open_at_once(pod: Container) -> None:
    """Megabytes that a process sends back while it is given more are all there: neither waits for the other."""
    data = bytes(range(256)) * (96 << 10)
    channel = pod.open(("sh", "-c", f"head -c {len(data)} | cat"))
    assert channel.write(data, 60)
    back = bytearray()
    while (more := channel.read(30)) is not None:
        assert more
        back += more
    assert back == data
    assert channel.exit_code(30) == 0
    channel.close()


def test_a_process_that_does_not_read_holds_nobody_up(pod: Container) -> None:
    """Writing gives up when its time is over, and running kills what takes too long."""
    channel = pod.open(("sleep", "60"))
    assert not channel.write(bytes(32 << 20), 0.5)
    channel.close()
    assert pod.run(("sleep", "60"), seconds=0.5, stdin=bytes(32 << 20)).exit_code is None


@pytest.mark.parametrize("spoken", ["v4.channel.k8s.io", "v5.channel.k8s.io"])
def test_both_protocols_are_spoken(cluster: Any, pod: Container, spoken: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Clusters before 1.30 know version 4 alone."""
    monkeypatch.setattr(cluster, "subprotocols", (spoken,))
    assert pod.run(("sh", "-c", "echo x; exit 9"), seconds=30) == ExecResult(b"x\n", 9)


def test_a_signal_is_128_and_its_number(pod: Container) -> None:
    """As shells have it."""
    assert pod.run(("sh", "-c", "kill -9 $$"), seconds=30).exit_code == 137


def test_a_terminal_is_resized_and_answers(pod: Container) -> None:
    """A screen is a terminal of the size that it says, with job control."""
    screen = Screen(pod, user="ada", environment={"PS1": "> "})
    for keys, text in ((["stty size", "Enter"], "40 120"), (["sleep 60", "Enter", "C-c"], "^C")):
        shown, deadline = screen.press(keys, 60), time.monotonic() + 60
        while text not in shown:  # it may come some pauses after the keys were echoed
            assert time.monotonic() < deadline, shown
            shown = screen.press([], 60)
    screen.press(["exit", "Enter"], 60)
    screen.close()


def packed(**files: bytes) -> bytes:
    """Return an archive of files that belong to user 7."""
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as archive:
        for name, content in files.items():
            member = tarfile.TarInfo(name)
            member.size, member.uid, member.gid, member.uname, member.mode = len(content), 7, 8, "root", 0o640
            archive.addfile(member, io.BytesIO(content))
    return buffer.getvalue()


def unpacked(archive: bytes | None) -> dict[str, tarfile.TarInfo]:
    """Return what is in an archive."""
    assert archive is not None
    with tarfile.open(fileobj=io.BytesIO(archive)) as read:
        return {member.name: member for member in read}


def test_archives_come_and_go(pod: Container) -> None:
    """Megabytes arrive whole, with the numbers of their owner and their mode; links come back as links."""
    data = bytes(range(256)) * (20 << 10)
    said(pod, "mkdir", "-p", "/desk/-dir")
    pod.put(packed(a=data, ünï=b"x"), "/desk/-dir")
    assert said(pod, "sh", "-c", "stat -c '%u %g %a %s' /desk/-dir/a").split() == ["7", "8", "640", str(len(data))]
    said(pod, "sh", "-c", "cd /desk/-dir; ln -s /etc/passwd link; mkfifo pipe; ln -s nowhere /desk/dangling")
    found = unpacked(pod.get("/desk/-dir"))
    assert found.keys() == {"-dir", "-dir/a", "-dir/ünï", "-dir/link", "-dir/pipe"}
    assert (found["-dir/a"].size, found["-dir/a"].uid) == (len(data), 7)
    assert found["-dir/link"].issym()
    assert found["-dir/pipe"].isfifo()
    assert unpacked(pod.get("/desk/dangling"))["dangling"].issym()
    assert pod.get("/desk/nothing") is None
    assert pod.get("/desk/-dir/a/below-a-file") is None
    with pytest.raises(EngineError, match="larger than 1000000 bytes"):
        pod.get("/desk", most=1_000_000)


def test_a_giant_with_holes_does_no_harm(pod: Container) -> None:
    """A file that claims a terabyte is too large after as many bytes as were asked for."""
    said(pod, "truncate", "-s", "1T", "/giant")
    with pytest.raises(EngineError, match="larger"):
        pod.get("/giant", most=5_000_000)
    said(pod, "rm", "/giant")


def test_files_need_a_program(engine: KubernetesEngine, small: Image) -> None:
    """Without tar and python3 the image takes and gives none, and the message says so."""
    with engine.start(engine.prepare(small), ResourceLimits(memory=256 << 20)) as container:
        said(container, "sh", "-c", "rm -f $(command -v tar) $(command -v python3)")
        with pytest.raises(EngineError, match="neither tar nor python3"):
            container.put(packed(a=b"a"), "/tmp")
        with pytest.raises(EngineError, match="neither tar nor python3"):
            container.get("/etc/passwd")


def test_a_pod_is_closed_in(engine: KubernetesEngine, cluster: Any, small: Image) -> None:
    """What is asked of the cluster: few capabilities, limits that are requests, no tokens, an end."""
    limits = ResourceLimits(cpus=0.5, memory=256 << 20, disk=1 << 30)
    with engine.start(engine.prepare(small), limits, {"X": "1"}) as container:
        stored = cluster.pods[container.id].stored
    (task,) = stored["spec"]["containers"]
    assert task["resources"]["requests"] == {"cpu": "500m", "memory": str(256 << 20)}
    assert task["resources"]["limits"] == {**task["resources"]["requests"], "ephemeral-storage": str(1 << 30)}
    assert task["securityContext"]["capabilities"]["drop"] == ["ALL"]
    assert task["securityContext"]["allowPrivilegeEscalation"] is False
    assert task["securityContext"]["seccompProfile"] == {"type": "RuntimeDefault"}
    spec = stored["spec"]
    assert (spec["restartPolicy"], spec["automountServiceAccountToken"], spec["enableServiceLinks"]) == (
        "Never", False, False,
    )  # fmt: skip
    assert 0 < spec["activeDeadlineSeconds"] <= 24 * 3600
    assert container.id not in cluster.pods


def test_the_network_is_denied_by_a_policy(engine: KubernetesEngine, cluster: Any, small: Image) -> None:
    """It is made once, selects the pods whose tasks ask for none, and one that lets something through is refused."""
    with engine.start(engine.prepare(small), ResourceLimits(memory=256 << 20)) as container:
        assert said(container, "sh", "-c", "wc -l < /proc/net/route").strip() == "1"
        assert cluster.pods[container.id].stored["metadata"]["labels"]["gem.terminal/network"] == "none"
    assert sum(call.startswith("POST /apis/networking") for call in cluster.calls) == 1
    with engine.start(engine.prepare(small), ResourceLimits(memory=256 << 20, network=True)) as container:
        assert cluster.pods[container.id].stored["metadata"]["labels"]["gem.terminal/network"] == "any"
    other = KubernetesEngine(kubeconfig=cluster.kubeconfig)
    closed = cluster.policies[POLICY]
    cluster.policies[POLICY] = {**closed, "spec": {**closed["spec"], "egress": [{}]}}
    try:
        with pytest.raises(EngineError, match="allows traffic"):
            other.start(other.prepare(small), ResourceLimits())
    finally:
        cluster.policies[POLICY] = closed
        other.close()


@pytest.fixture
def another(cluster: Any) -> Iterator[Callable[..., KubernetesEngine]]:
    """Makes engines of the same cluster, and closes them."""
    made: list[KubernetesEngine] = []

    def make(**arguments: Any) -> KubernetesEngine:
        made.append(KubernetesEngine(**{"kubeconfig": cluster.kubeconfig, "start_seconds": 60.0, **arguments}))
        return made[-1]

    yield make
    for engine in made:
        engine.close()


@pytest.mark.parametrize(
    ("name", "limits", "message"),
    [
        ("no-such-image", ResourceLimits(), "ImagePullBackOff.*no-such-image.*not found"),
        ("broken", ResourceLimits(), "does not start: StartError"),
        ("debian:bookworm-slim", ResourceLimits(cpus=99), "within 3 seconds: Unschedulable: 0/1 nodes"),
        ("debian:bookworm-slim", ResourceLimits(memory=-1), "quantities"),
    ],
)
def test_a_pod_that_does_not_start_says_why(
    another: Callable[..., KubernetesEngine], cluster: Any, name: str, limits: ResourceLimits, message: str
) -> None:
    """And it is not left behind."""
    cluster.images["broken"] = "no-such-reference"
    before = set(cluster.pods)
    with pytest.raises(EngineError, match=message):
        another(start_seconds=3.0 if limits.cpus == 99 else 60.0).start(name, limits)
    assert set(cluster.pods) == before


def test_an_exhausted_quota_says_so(
    another: Callable[..., KubernetesEngine], cluster: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What the API answers stands in the message."""
    monkeypatch.setattr(cluster, "full", True)
    with pytest.raises(EngineError, match="exceeded quota"):
        another().start("debian:bookworm-slim", ResourceLimits())


def test_a_watch_that_breaks_off_is_taken_up(
    another: Callable[..., KubernetesEngine], cluster: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A pod starts whatever becomes of the connection that tells of it."""
    monkeypatch.setattr(cluster, "cut_watches", 2)
    with another().start("debian:bookworm-slim", ResourceLimits()) as container:
        assert said(container, "echo", "up") == "up\n"
    assert cluster.cut_watches == 0


@pytest.mark.parametrize("status", [429, 500, 503])
def test_hiccups_are_met_with_patience(
    another: Callable[..., KubernetesEngine], cluster: Any, status: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A call that fails for the moment is made again, and so is one whose answer was lost: no second pod is made."""
    monkeypatch.setattr(cluster, "failures", [("POST /api", status), ("GET /api", status), ("DELETE /api", status)])
    monkeypatch.setattr(cluster, "lost", ["POST /api", "DELETE /api"])
    before = set(cluster.pods)
    with another().start("debian:bookworm-slim", ResourceLimits()) as container:
        assert cluster.pods.keys() - before == {container.id}
    assert set(cluster.pods) == before
    assert (cluster.failures, cluster.lost) == ([], [])


def test_exec_is_tried_again_where_it_has_not_begun(
    pod: Container, cluster: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An API that has too much to do has started nothing; after any other failure nobody knows, so it is one."""
    call = "GET /api/v1/namespaces/default/pods/"
    monkeypatch.setattr(cluster, "failures", [(call, 429), (call, 429)])
    assert said(pod, "echo", "up") == "up\n"
    monkeypatch.setattr(cluster, "failures", [(call, 500)])
    with pytest.raises(EngineError, match="a planted failure"):
        pod.run(("true",), seconds=30)


def test_exec_that_is_forbidden_says_so(pod: Container, cluster: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """The sentence of the API is in the message."""
    monkeypatch.setattr(cluster, "refuses_exec", True)
    with pytest.raises(EngineError, match="pods/exec"):
        pod.run(("true",), seconds=30)


def test_a_pod_that_is_deleted_is_an_error(engine: KubernetesEngine, cluster: Any, small: Image) -> None:
    """By whomever: what ran in it ends, which is no success, and nothing else can be started."""
    container = engine.start(engine.prepare(small), ResourceLimits(memory=256 << 20))
    channel = container.open(("sleep", "60"))
    cluster.delete(container.id)
    while channel.read(30) is not None:
        continue
    with suppress(EngineError):
        assert channel.exit_code(30) == 137
    channel.close()
    with pytest.raises(EngineError, match="not found"):
        container.run(("true",), seconds=30)
    container.remove()
    container.remove()


def test_a_connection_that_breaks_off_is_no_end_of_time(pod: Container, cluster: Any) -> None:
    """Nobody knows what became of the process, which is an error; the pod itself goes on."""
    channel = pod.open(("sh", "-c", "echo up; sleep 60"))
    assert channel.read(30) == b"up\n"
    cluster.cut()
    assert channel.read(30) is None
    with pytest.raises(EngineError, match="broke off"):
        channel.exit_code(30)
    channel.close()
    assert said(pod, "echo", "on") == "on\n"


def test_what_a_dead_process_left_is_reaped(
    engine: KubernetesEngine, cluster: Any, small: Image, pod: Container
) -> None:
    """Pods of this machine whose process has gone are removed; those of a live one, and of other machines, are not."""
    left = [engine.start(engine.prepare(small), ResourceLimits(memory=256 << 20)) for _ in range(3)]
    owner = engine._owner
    for container, annotation in zip(
        left, (str(replace(owner, began="0")), str(replace(owner, host="elsewhere")), "garbage"), strict=True
    ):
        cluster.pods[container.id].stored["metadata"]["annotations"] = {"gem.terminal/owner": annotation}
    labels = cluster.pods[left[1].id].stored["metadata"]["labels"]
    labels["gem.terminal/host"] = "0" * 32
    assert engine.reap() == 2
    assert {container.id for container in left} & cluster.pods.keys() == {left[1].id}
    assert pod.id in cluster.pods
    left[1].remove()


def test_overrides_are_merged(another: Callable[..., KubernetesEngine], cluster: Any) -> None:
    """Into the pod and its one container; what the API does not know is refused."""
    overrides = {
        "metadata": {"labels": {"team": "red"}},
        "spec": {"nodeSelector": {"disk": "ssd"}, "containers": [{"imagePullPolicy": "Always"}]},
    }
    with another(pod_overrides=overrides).start("debian:bookworm-slim", ResourceLimits()) as container:
        stored = cluster.pods[container.id].stored
        assert stored["spec"]["nodeSelector"] == {"disk": "ssd"}
        assert stored["spec"]["containers"][0]["imagePullPolicy"] == "Always"
        assert stored["spec"]["containers"][0]["image"] == "debian:bookworm-slim"
        assert stored["metadata"]["labels"].keys() > {"team", "gem.terminal"}
    for wrong in ({"spec": {"no-such-field": 1}}, {"spec": {"containers": []}}, {"metadata": {"name": "Not_a_name"}}):
        with pytest.raises(EngineError):
            another(pod_overrides=wrong).start("debian:bookworm-slim", ResourceLimits())


RUNS = {"name": "task", "state": {"running": {}}}
PULLS = {"name": "task", "state": {"waiting": {"reason": "ErrImagePull", "message": "503"}}}
STARTS = {"name": "task", "state": {"waiting": {"reason": "CreateContainerError", "message": "no space"}}}
OVER = {"name": "task", "state": {"terminated": {"reason": "OOMKilled", "exitCode": 137}}}
UNBOUND = {"type": "PodScheduled", "status": "False", "reason": "Unschedulable", "message": "no nodes"}


@pytest.mark.parametrize(
    ("pod", "running", "failed", "waits"),
    [
        ({}, False, "", "not scheduled to a node"),
        ({"status": {"phase": "Pending"}}, False, "", "it is Pending"),
        ({"status": {"phase": "Pending", "conditions": [UNBOUND]}}, False, "", "Unschedulable: no nodes"),
        ({"status": {"phase": "Pending", "containerStatuses": [PULLS]}}, False, "", "ErrImagePull: 503"),
        ({"status": {"phase": "Pending", "containerStatuses": [STARTS]}}, False, "CreateContainerError: no space", ""),
        ({"status": {"phase": "Running", "containerStatuses": [RUNS]}}, True, "", ""),
        ({"status": {"phase": "Running", "containerStatuses": [OVER]}}, False, "OOMKilled", ""),
        ({"status": {"phase": "Failed", "reason": "Evicted", "message": "disk"}}, False, "Evicted: disk", ""),
        ({"status": {"phase": "Failed"}}, False, "it has Failed", ""),
        ({"metadata": {"deletionTimestamp": "x"}, "status": {"phase": "Running"}}, False, "being deleted", ""),
    ],
)
def test_a_status_is_understood(pod: dict[str, Any], running: bool, failed: str, waits: str) -> None:
    """Whether a pod runs, never will, or may yet, and why, in the words of the cluster."""
    phase = phase_of(pod)
    assert phase.running == running
    assert bool(phase.failed) == bool(failed)
    assert failed in phase.failed
    assert waits in phase.waits


def test_an_api_that_is_silent_holds_nobody_up(
    cluster: Any, another: Callable[..., KubernetesEngine], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A server that takes a connection and says nothing is an error when its time is over."""
    monkeypatch.setattr("gem_terminal_remote.kubernetes.container.CALL_SECONDS", 0.3)
    with socket.create_server(("127.0.0.1", 0)) as mute:
        silent = tmp_path / "silent"
        silent.write_text(cluster.kubeconfig.read_text().replace(f":{cluster.port}", f":{mute.getsockname()[1]}"))
        with pytest.raises(EngineError, match="not answered for"):
            Pod(another(kubeconfig=silent).core, "default", "gem-x").run(("true",), seconds=30)


def test_a_forked_child_begins_anew(cluster: Any, another: Callable[..., KubernetesEngine]) -> None:
    """It makes a connection of its own, and its parent's is neither used nor closed."""
    from kubernetes.client import CoreV1Api  # half a second, which each worker would need

    engine = another()
    engine.check()
    parents = engine.client
    engine.reset_after_fork()  # what the child calls when it begins
    engine.check()
    assert engine.client is not parents
    assert CoreV1Api(parents).list_namespaced_pod("default").items is not None
    parents.close()


def test_a_folder_needs_a_registry_and_a_builder(tmp_path: Path) -> None:
    """Without them the image cannot come to the cluster; one that has a name needs neither."""
    engine = KubernetesEngine()
    with pytest.raises(EngineError, match="registry"):
        engine.prepare(Image(folder=tmp_path))
    assert engine.prepare(Image(folder=tmp_path, name="registry.example.org/task:1")) == "registry.example.org/task:1"


def test_a_cluster_that_is_not_there_is_a_clear_refusal(
    tmp_path: Path, cluster: Any, another: Callable[..., KubernetesEngine], monkeypatch: pytest.MonkeyPatch
) -> None:
    """No configuration, a wrong token, and a server that does not answer each say what to do or what was tried."""
    monkeypatch.setenv("KUBECONFIG", str(tmp_path / "nothing"))
    monkeypatch.delenv("KUBERNETES_SERVICE_HOST", raising=False)
    with pytest.raises(EngineError, match="set KUBECONFIG"):
        engine_by_name("kubernetes")
    stranger = tmp_path / "stranger"
    stranger.write_text(cluster.kubeconfig.read_text().replace(api.TOKEN, "another"))
    with pytest.raises(EngineError, match="Unauthorized"):
        another(kubeconfig=stranger).check()
    nobody = tmp_path / "nobody"
    nobody.write_text(cluster.kubeconfig.read_text().replace(f":{cluster.port}", ":1"))
    monkeypatch.setattr("gem_terminal_remote.kubernetes.engine.RETRIES", 1)
    with pytest.raises(EngineError, match=r"127\.0\.0\.1:1 cannot list the pods"):
        another(kubeconfig=nobody).check()


def test_the_client_that_is_missing_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    """With the line that installs it."""
    monkeypatch.setitem(sys.modules, "kubernetes", None)
    with pytest.raises(EngineError, match=r"pip install 'gem-terminal-remote\[kubernetes\]'"):
        KubernetesEngine().check()


def test_an_api_that_goes_away_truncates_the_episode(nodes: Engine, small: Image, tmp_path: Path) -> None:
    """In the middle of it: the step says what failed, and nothing raises."""
    assert small.name is not None
    cluster = api.Cluster(nodes, {small.name: nodes.prepare(small)}, tmp_path)
    folder = beside("test_env").write_task(
        tmp_path / "hello",
        **{"task.toml": f'[environment]\nmemory_mb = 256\ndocker_image = "{small.name}"\n'},
    )
    engine = KubernetesEngine(kubeconfig=cluster.kubeconfig, start_seconds=30)
    with TerminalEnv(path=folder, engine=engine) as env:
        env.reset(seed=0)
        assert env.step("<bash>echo up</bash>")[0] == "up\n[exit code 0]"
        cluster.close()
        _, reward, terminated, truncated, info = env.step("<bash>echo up</bash>")
        assert (reward, terminated, truncated) == (0.0, False, True)
        assert info["error"]
    engine.close()


def test_a_server_that_goes_away_resets_no_connection(nodes: Engine, tmp_path: Path) -> None:
    """A client that has just connected meets the end of the connection, which every Python closes cleanly."""
    cluster = api.Cluster(nodes, {}, tmp_path)
    cluster._server.shutdown()  # so that the connection is not accepted
    with socket.create_connection(("127.0.0.1", cluster.port)) as client:
        cluster.close()
        assert client.recv(1) == b""


def test_many_threads_share_an_engine(engine: KubernetesEngine, small: Image) -> None:
    """Pods are started and asked at the same time, and each has its own answer."""
    answers: dict[int, str] = {}

    def work(number: int) -> None:
        with engine.start(engine.prepare(small), ResourceLimits(memory=64 << 20)) as container:
            answers[number] = said(container, "echo", str(number))

    threads = [threading.Thread(target=work, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert answers == {number: f"{number}\n" for number in range(8)}


def test_a_file_without_end_is_given_up(
    engine: KubernetesEngine, small: Image, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What packs it is the container's own, and may write a little for ever."""
    monkeypatch.setattr("gem_terminal_remote.kubernetes.container._FILE_SECONDS", 2.0)
    with engine.start(engine.prepare(small), ResourceLimits(memory=64 << 20)) as container:
        endless = r"printf '#!/bin/bash\nwhile :; do head -c 8K /dev/zero; read -t 0.1 <> <(:); done' > /bin/tar"
        assert container.run(("bash", "-c", endless), seconds=60).exit_code == 0
        with pytest.raises(EngineError, match="does not give /etc"):
            container.get("/etc")


def test_what_was_killed_is_known_to_be(engine: KubernetesEngine, small: Image) -> None:
    """Who holds a process sees that it has gone, before the connection tells."""
    with engine.start(engine.prepare(small), ResourceLimits(memory=64 << 20)) as container:
        kills = container.kills
        container.kill_all()
        assert container.kills == kills + 1


def test_importing_loads_no_client() -> None:
    """The library is large, and most never need it."""
    code = "import sys, gem_terminal_remote.kubernetes.engine; sys.exit('kubernetes' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
