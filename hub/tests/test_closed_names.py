"""Official names and namespaces, addresses in the place of folders, full disks, quarantined files."""

from __future__ import annotations

import errno
import http.client
import os
import threading
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from toy_hub import contents, make_wheel, publish_wheel, synthetic_release
from wheel_builder import MANIFEST, Wheel

from gem_hub.events import Lift, Quarantine
from gem_hub.gate import HubView, examine
from gem_hub.policy import HubPolicy
from gem_hub.serve import HubServer
from gem_hub.storage import HubFolder
from gem_hub.store import Store
from gem_hub_client.cli.group import hub_command
from gem_hub_client.config import hub_at
from gem_hub_client.errors import HubError
from gem_hub_client.verify import verify

FRESH = HubView(operators={"olga"})
"""A hub without packages, as its operator runs it."""


def codes(wheel: Wheel, publisher: str, policy: HubPolicy = HubPolicy()) -> set[str]:  # noqa: B008
    return {refusal.code for refusal in examine(*wheel.build(), publisher, FRESH, policy).refusals}


def in_namespace(namespace: str, name: str = "toy-envs") -> Wheel:
    package = name.replace("-", "_")
    manifest = MANIFEST.replace("toy:", f"{namespace}:").replace("toy_envs", package)
    wheel = Wheel().named(name)
    files = {**wheel.files, f"{package}/environments.toml": manifest}
    return Wheel(
        files=files, headers=wheel.headers, entry_points=f"[gem.envs]\n{namespace} = {package}\n",
        info=wheel.info, filename=wheel.filename,
    )  # fmt: skip


@pytest.mark.parametrize("name", ["gem-core", "gem-llm", "gem-envs-games", "gem-testing", "gem-poker"])
def test_official_names_are_closed_in_a_fresh_hub_too(name: str) -> None:
    """Only operators, and accounts that they name, publish what looks like GEM's own."""
    wheel = Wheel().named(name)
    assert "name.reserved-prefix" in codes(wheel, "mallory")
    assert "name.reserved-prefix" not in codes(wheel, "olga")
    assert "name.reserved-prefix" not in codes(wheel, "gemma", HubPolicy(prefix_owners=["gemma"]))


@pytest.mark.parametrize("namespace", ["game", "math", "qa", "eval", "terminal"])
def test_namespaces_of_gem_are_closed(namespace: str) -> None:
    """No other package has ids in them, whoever owns it."""
    assert codes(in_namespace(namespace), "mallory") == {"id.namespace"}
    assert codes(in_namespace(namespace), "olga") == set()


def test_a_granted_namespace_is_closed_to_others() -> None:
    """The operator grants a namespace to accounts; they may use it in any package, others in none."""
    policy = HubPolicy(namespaces={"acme": ["alice"]})
    assert codes(in_namespace("acme"), "alice", policy) == set()
    assert codes(in_namespace("acme"), "mallory", policy) == {"id.namespace"}
    assert codes(in_namespace("other"), "mallory", policy) == set()


def test_closed_names_and_namespaces_are_not_merged(tmp_path: Path) -> None:
    """What the gate refuses singly is refused in a merge as well."""
    for release in (
        synthetic_release("gem-core", "9.0", publisher="mallory")[0],
        synthetic_release("mallory-games", "1.0", ("game:Chess-v0",), publisher="mallory")[0],
    ):
        folder = tmp_path / release.name
        path = folder / release.path
        path.parent.mkdir(parents=True)
        path.write_bytes(release.to_bytes())
        with pytest.raises(HubError, match=r"is a package of GEM itself|the namespace of 'game:Chess-v0' is for"):
            Store(folder).rebuild()


@pytest.mark.parametrize(
    ("address", "reason"),
    [
        ("https://hub.example/gem/", "you are not logged in"),
        ("http://127.0.0.1:8000", "you are not logged in"),
        ("file:///srv/hub", "is an address"),
        ("s3:///folder", "is no address of a bucket"),
        ("gs://bucket/folder", "is no hub's address"),
    ],
)
@pytest.mark.parametrize(
    "arguments",
    [
        ["publish", "x.whl"],
        ["yank", "a", "1", "--reason", "x"],
        ["owner", "add", "a", "b"],
        ["deprecate", "a", "--reason", "x"],
    ],
    ids=lambda arguments: arguments[0],
)
def test_no_command_takes_an_address_for_a_folder(
    address: str, reason: str, arguments: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nothing is made under the name of an address, and the message says that nothing was published."""
    monkeypatch.chdir(tmp_path)
    wheel = Wheel().write(tmp_path)
    given = [str(wheel) if argument == "x.whl" else argument for argument in arguments]
    result = CliRunner().invoke(hub_command, [*given, "--hub", address])
    told = result.output + str(result.exception)
    assert (result.exit_code != 0, reason in told) == (True, True), told
    assert [path.name for path in tmp_path.iterdir()] == [wheel.name]


class TestQuarantine:
    """The files of a quarantined package."""

    def test_they_are_gone_and_come_back(self, store: Store, wheel: Any) -> None:
        """No server offers a wheel or its metadata during a quarantine; a lift brings the same bytes back."""
        publish_wheel(store, wheel())
        before = {path: content for path, content in contents(store.folder).items() if path.startswith("files/")}
        assert len(before) == 2
        store.add_event(Quarantine(name="toy-envs", reason="steals keys", by="someone"))
        assert not (store.folder / "files").exists()
        assert verify(hub_at(str(store.folder))).problems == []
        (hidden,) = (store.folder / ".gem-hub").rglob("*.whl")
        with HubServer(store.folder) as server:
            thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
            thread.start()
            try:
                for path in (*before, hidden.relative_to(store.folder).as_posix()):
                    connection = http.client.HTTPConnection("127.0.0.1", server.port)
                    connection.request("GET", f"/{path}")
                    assert connection.getresponse().status == 404
                    connection.close()
            finally:
                server.shutdown()
                thread.join()
        assert store.rebuild() == []
        assert store.rebuild(check=True) == []
        store.add_event(Lift(name="toy-envs", reason="a false alarm", by="someone"))
        after = {path: content for path, content in contents(store.folder).items() if path.startswith("files/")}
        assert after == before
        assert not list((store.folder / ".gem-hub").rglob("*.whl"))
        assert verify(hub_at(str(store.folder))).problems == []

    def test_a_rebuild_moves_what_was_left(self, store: Store, wheel: Any) -> None:
        """A wheel that somebody put back, or an older version left, is moved away by a rebuild, and verify names it."""
        publish_wheel(store, wheel())
        (path,) = store.folder.glob("files/*/*/*.whl")
        content = path.read_bytes()
        store.add_event(Quarantine(name="toy-envs", reason="steals keys", by="someone"))
        path.parent.mkdir(parents=True)
        path.write_bytes(content)
        (problem,) = verify(hub_at(str(store.folder))).problems
        assert path.name in problem
        assert store.rebuild(check=True) == [path.relative_to(store.folder).as_posix()]
        store.rebuild()
        assert not path.exists()


class TestFullDisk:
    """A disk that is full in the middle of a publication."""

    @pytest.mark.parametrize("moment", range(8))
    def test_the_message_says_where_and_the_next_command_heals(
        self, store: Store, wheel: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, moment: int
    ) -> None:
        """Whichever write fails, the error names the file; afterwards the hub is whole, and publishing again works."""
        publish_wheel(store, make_wheel(tmp_path / "first", "first-envs", "1.0", ("first:Thing-v0",)))
        calls = 0
        original = HubFolder._target

        def target(self: HubFolder, path: str) -> Path:
            nonlocal calls
            calls += 1
            if calls > moment:
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
            return original(self, path)

        with monkeypatch.context() as patch:
            patch.setattr(HubFolder, "_target", target)
            with pytest.raises(HubError, match=r"hub/.*: cannot be written: No space left on device\. Free space"):
                publish_wheel(store, wheel())
        publish_wheel(store, make_wheel(tmp_path / "next", "next-envs", "1.0", ("next:Thing-v0",)))
        assert store.rebuild(check=True) == []
        assert verify(hub_at(str(store.folder))).problems == []
        publish_wheel(store, wheel())
        assert verify(hub_at(str(store.folder))).problems == []
