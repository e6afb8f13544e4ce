"""The conformance queue at work: what runs, what is repeated, and what a hub without a sandbox does."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from click.testing import CliRunner
from registry_server import GENEROUS, RegistryClient, running_registry, toy_wheel
from toy_hub import publish_wheel

from gem_hub import sandbox
from gem_hub.cli.admin import admin_command
from gem_hub.events import Conformance
from gem_hub.registry import conformance_worker
from gem_hub.registry.conformance_worker import ConformanceWorker, no_kit_because
from gem_hub.registry.queue import RETRY_SECONDS
from gem_hub.registry.recovery import recover
from gem_hub.registry.services import RegistryServices
from gem_hub.registry.settings import RegistrySettings
from gem_hub.store import Store
from gem_testing import CLAUSES


@pytest.fixture
def now() -> list[float]:
    return [1_000_000.0]


@pytest.fixture
def services(tmp_path: Path, now: list[float]) -> Iterator[RegistryServices]:
    """A registry with alice's ``alpha-envs`` 0.1.0 in the hub and in its queue; its kit finds no dependencies."""
    (tmp_path / "empty").mkdir()
    nowhere = (tmp_path / "empty").as_uri()
    settings = RegistrySettings(index_url=nowhere, conformance_attempts=2, quotas=GENEROUS)
    store = Store(tmp_path / "hub")
    wheel = toy_wheel(tmp_path, "alpha-envs")
    publish_wheel(store, wheel, "alice")
    made = RegistryServices(store, settings, clock=lambda: now[0])
    (release,) = store.existing("alpha-envs").releases
    made.queue.confirm("alpha-envs", "0.1.0", release.sha256)
    yield made
    made.close()


def test_a_run_that_cannot_begin_is_tried_again_and_then_given_up(services: RegistryServices, now: list[float]) -> None:
    """Without its dependencies a release waits for another attempt; after the last one it fails with the reason."""
    worker = ConformanceWorker(services)
    assert worker.work_once()
    assert services.queue.counts() == {"queued": 1}
    assert not worker.work_once()
    now[0] += RETRY_SECONDS * 2
    assert worker.work_once()
    (release,) = services.store.existing("alpha-envs").releases
    state = services.queue.state_of(release.sha256)
    assert state is not None
    assert (state["state"], state["attempts"]) == ("failed", 2)
    assert "cannot be installed" in state["message"]
    assert services.store.existing("alpha-envs").conformance("0.1.0") == []


def test_a_release_that_is_gone_or_known_costs_no_run(
    services: RegistryServices, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A release with the hub's result, and one that does not exist, are done at once."""
    monkeypatch.setattr(conformance_worker, "recheck", lambda *args: pytest.fail("it ran"))
    import gem

    (release,) = services.store.existing("alpha-envs").releases
    record = {"gem_core": gem.__version__, "packages": []}
    event = Conformance(
        name="alpha-envs", version="0.1.0", by="alice", record=record, isolation="jail", sha256=release.sha256
    )
    services.store.add_event(event)
    services.queue.confirm("not-there", "0.1.0", "0" * 64)
    worker = ConformanceWorker(services)
    assert [worker.work_once() for _ in range(3)] == [True, True, False]
    assert services.queue.counts() == {"done": 2}


def test_a_hub_without_a_sandbox_runs_no_strangers_code(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The release waits in the queue, and the answer to its upload says why."""
    monkeypatch.setattr(conformance_worker, "isolation", lambda: "none")
    settings = RegistrySettings(quotas=GENEROUS)
    services = RegistryServices(Store(tmp_path / "other"), settings)
    note = no_kit_because(services)
    services.close()
    assert note == "not run: this hub has no sandbox for the code of strangers"
    with running_registry(tmp_path / "hub", settings, conformance_note=note) as registry:
        answer = registry.account("alice").upload(toy_wheel(tmp_path, "alpha-envs"))
        assert (answer.status, answer.json["conformance"]) == (200, note)
        assert registry.services.queue.counts() == {"queued": 1}


def test_only_owners_see_why_a_run_failed(tmp_path: Path) -> None:
    """Messages of installers can name folders of the registry's machine."""
    with running_registry(tmp_path / "hub") as registry:
        alice, bob = registry.account("alice"), registry.account("bob")
        alice.upload(toy_wheel(tmp_path, "alpha-envs"))
        check = registry.services.queue.take()
        assert check is not None
        registry.services.queue.finish(check, "failed", "no such file: /srv/secret")
        path = "/api/v1/packages/alpha-envs"
        for client, seen in ((alice, True), (bob, False), (registry.stranger, False)):
            (release,) = client.send("GET", path).json["releases"]
            assert release["conformance"]["queue"] == "failed"
            assert ("message" in release["conformance"]) is seen


def test_what_killed_processes_left_is_removed(services: RegistryServices) -> None:
    """Half an upload of a process that is gone goes; one of a process that lives stays."""
    dead = subprocess.Popen([sys.executable, "-c", ""])
    dead.wait()
    gone = services.uploads / f"{dead.pid}-0123.upload"
    kept = services.uploads / f"{os.getppid()}-0123.upload"
    for path in (gone, kept):
        path.write_bytes(b"half")
    recover(services)
    assert list(services.uploads.iterdir()) == [kept]


def test_a_release_whose_upload_was_cut_off_gets_its_line_in_the_log(
    services: RegistryServices, tmp_path: Path
) -> None:
    """What was published and not logged before a kill is logged, and queued, when the registry begins anew."""
    publish_wheel(services.store, toy_wheel(tmp_path, "alpha-envs", "0.2.0"), "alice")
    releases = services.store.existing("alpha-envs").releases
    (release,) = (release for release in releases if release.version == "0.2.0")
    services.queue.announce("alpha-envs", "0.2.0", release.sha256)
    services.queue.announce("alpha-envs", "0.3.0", "0" * 64)
    recover(services)
    (line,) = services.audit.lines()
    assert (line["action"], line["subject"], line["account"]) == ("upload.recovered", "alpha-envs 0.2.0", "alice")
    assert services.queue.counts() == {"queued": 2}


class CommandServer:
    """``gem hub serve --publish`` in a process of its own, and what it says."""

    def __init__(self, hub: Path, config: Path) -> None:
        options = ["--publish", "--hub", str(hub), "--config", str(config), "--port", "0"]
        self.process = subprocess.Popen(
            [sys.executable, "-m", "gem", "hub", "serve", *options],
            stderr=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        assert self.process.stdout is not None
        self.greeting = []
        for line in self.process.stdout:
            self.greeting.append(line)
            if line.startswith("Ctrl-C"):
                break
        match = re.search(r"http://127\.0\.0\.1:(\d+)/", "".join(self.greeting))
        assert match is not None, self.process.communicate()
        self.port = int(match[1])

    def wait_for(self, text: str) -> str:
        """Read what it says until a line holds a text; return the line."""
        assert self.process.stderr is not None
        for line in self.process.stderr:
            if text in line:
                return line
        raise AssertionError(f"it never said {text!r}")

    def end(self, signal_number: int) -> None:
        self.process.send_signal(signal_number)
        self.process.communicate()


@pytest.mark.nightly
@pytest.mark.skipif(sandbox.isolation() == "none", reason="nothing here keeps code apart")
def test_the_kit_runs_after_an_upload_and_again_after_a_kill(tmp_path: Path, links: Path) -> None:
    """A registry that is killed while it runs the kit runs it again when it begins anew; everybody sees the result."""
    config = tmp_path / "registry.toml"
    config.write_text(f"find_links = [{str(links)!r}]\nregistration = 'open'\n")
    server = CommandServer(tmp_path / "hub", config)
    watchdog = threading.Timer(500, lambda: server.end(signal.SIGKILL))
    watchdog.start()
    try:
        token = RegistryClient(server.port).send("POST", "/api/v1/accounts", {"name": "ann"}).json["token"]
        (wheel,) = links.glob("my_puzzles-*.whl")
        answer = RegistryClient(server.port, token).upload(wheel)
        assert (answer.status, answer.json["state"]) == (200, "published"), answer.text
        server.wait_for("running the conformance kit")
        server.end(signal.SIGKILL)
        server = CommandServer(tmp_path / "hub", config)
        line = server.wait_for("my-puzzles 0.1.0: done")
        assert f"{6 * len(CLAUSES)} clauses hold, 0 violated" in line
        (release,) = RegistryClient(server.port).send("GET", "/api/v1/packages/my-puzzles").json["releases"]
        assert release["conformance"]["source"] == "hub"
        assert release["conformance"]["queue"] == "done"
        assert RegistryClient(server.port, token).upload(wheel).json["conformance"] == "done"
    finally:
        watchdog.cancel()
        server.end(signal.SIGTERM)


def test_the_operator_manages_a_registry_from_the_command_line(tmp_path: Path) -> None:
    """Accounts, tokens, invites, the log and the queue; each mistake is a sentence."""
    hub = tmp_path / "hub"
    Store(hub).rebuild()

    def admin(*words: str) -> tuple[int, str]:
        result = CliRunner().invoke(admin_command, [*words, "--hub", str(hub)])
        return result.exit_code, result.output

    assert admin("account", "add", "ann")[0] == 0
    assert admin("account", "add", "ann") == (1, "Error: there is an account 'ann' already\n")
    assert admin("token", "ben") == (1, "Error: there is no account 'ben'; run: gem hub admin account add ben\n")
    code, token = admin("token", "ann", "--scope", "publish", "--package", "Alpha_Envs", "--days", "3")
    assert code == 0
    with running_registry(hub) as registry:
        client = RegistryClient(registry.port, token.strip())
        me = client.send("GET", "/api/v1/me").json
        assert (me["account"], me["scopes"], me["packages"]) == ("ann", ["publish"], ["alpha-envs"])
        assert admin("account", "disable", "ann")[0] == 0
        assert client.send("GET", "/api/v1/me").status == 401
        assert admin("account", "enable", "ann")[0] == 0
        assert client.send("GET", "/api/v1/me").status == 200
        assert admin("revoke", "1")[0] == 0
        assert client.send("GET", "/api/v1/me").status == 401
        invite = admin("invite")[1].strip()
        assert registry.stranger.send("POST", "/api/v1/accounts", {"name": "eve", "invite": invite}).status == 201
    assert admin("revoke", "1") == (1, "Error: there is no valid token 1\n")
    assert admin("account", "list") == (0, "ann\neve\n")
    log = admin("audit")[1]
    assert "token.create" in log
    moments = re.findall(r"^\d+  (\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ)  ", log, re.MULTILINE)
    assert len(moments) == len(log.splitlines()) > 5
    assert moments == sorted(moments)
    assert [line["created"] for line in json.loads(admin("audit", "--json")[1])] == moments
    assert token.strip() not in log
    assert invite not in log
    assert admin("queue") == (0, "")
    elsewhere = CliRunner().invoke(admin_command, ["queue", "--hub", str(tmp_path / "nothing")])
    assert (elsewhere.exit_code, "is no hub" in elsewhere.output) == (2, True)
