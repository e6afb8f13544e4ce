"""The official index: a first state inside the client, and the current one from where it is published."""

from __future__ import annotations

import json
import os
import shutil
import threading
import time
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial
from hashlib import sha256
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from securesystemslib.signer import CryptoSigner
from toy_hub import make_wheel, publish_wheel

from gem_hub.signing import roots
from gem_hub.signing.development import development_key
from gem_hub.signing.online import sign_changes
from gem_hub.snapshot import published_files, snapshot_files
from gem_hub.storage import HubFolder
from gem_hub.store import Store
from gem_hub_client.cli.group import hub_command
from gem_hub_client.config import hub_at, hubs
from gem_hub_client.errors import HubError
from gem_hub_client.federated_search import search_hubs
from gem_hub_client.official import official_root, snapshot_folder
from gem_hub_client.package_index import PackageIndex
from gem_hub_client.trust.metadata import first_root
from gem_hub_client.trust.pins import Pin, read_pin, write_pin

ROOTS = Path(__file__).parents[1] / "official_roots"


class Published:
    """The place where the index is published: static files on a web server that knows nothing of hubs."""

    def __init__(self, folder: Path, store: Store) -> None:
        self.folder, self.store = folder, store
        self.roots, self.key = [(ROOTS / "1.root.json").read_bytes()], development_key("online")
        handler = partial(_Quiet, directory=str(folder))
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.01,), daemon=True)
        self._thread.start()
        self.url = f"http://127.0.0.1:{self._server.server_port}/gem/"

    def publish(self) -> None:
        """Derive and sign what the workflow publishes, each time from nothing."""
        site = self.folder / "gem"
        write(site, published_files(list(self.store.truth.packages())))
        for kind in ("releases", "events"):
            for path in (self.store.folder / kind).rglob("*.json"):
                write(site, {path.relative_to(self.store.folder).as_posix(): path.read_bytes()})
        sign(site, self.roots, self.key)

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()


class _Quiet(SimpleHTTPRequestHandler):
    def log_message(self, *arguments: Any) -> None:
        pass


def write(folder: Path, files: dict[str, bytes]) -> None:
    for path, content in files.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_bytes(content)


def sign(folder: Path, chain: Sequence[bytes] = (), key: CryptoSigner | None = None) -> None:
    """Sign as the script does, with the development key if no other is given."""
    chain = chain or [(ROOTS / "1.root.json").read_bytes()]
    write(folder, {f"trust/{number}.root.json": content for number, content in enumerate(chain, 1)})
    sign_changes(HubFolder(folder), renew=True, signer=key or development_key("online"))


@pytest.fixture
def embedded(tmp_path: Path, store: Store, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The snapshot of a release's client, which knows one package; the store is the index of the project."""
    for name in ("XDG_CACHE_HOME", "XDG_CONFIG_HOME"):
        monkeypatch.setenv(name, str(tmp_path / name))
    monkeypatch.delenv("GEM_HUB", raising=False)
    publish_wheel(store, make_wheel(tmp_path / "dist"))
    folder = tmp_path / "embedded"
    write(folder, snapshot_files(list(store.truth.packages())))
    for module in ("config", "pages"):
        monkeypatch.setattr(f"gem_hub_client.{module}.snapshot_folder", lambda: folder)
    return folder


@pytest.fixture
def published(tmp_path: Path, store: Store, embedded: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Published]:
    """The published index, with a second package."""
    publish_wheel(store, make_wheel(tmp_path / "dist", "maze-quest", ids=["maze:Walk-v0"]))
    place = Published(tmp_path / "site", store)
    place.publish()
    monkeypatch.setenv("GEM_OFFICIAL_HUB", place.url)
    yield place
    place.close()


def run(*arguments: str) -> tuple[int, str]:
    done = CliRunner().invoke(hub_command, arguments)
    return done.exit_code, done.output


def found(query: str) -> list[str]:
    return [hit.record["name"] for hit in (found.hit for found in search_hubs(query, 5).hits)]


def test_the_keys_of_this_client_are_the_newest_of_the_index() -> None:
    """The root inside the client is one that the repository publishes, signed by itself, and says what it is."""
    newest = max(ROOTS.glob("*.root.json"), key=lambda path: int(path.name.partition(".")[0]))
    assert newest.read_bytes() == official_root()
    assert first_root(official_root(), "root").development


def test_without_a_network_the_snapshot_answers(embedded: Path) -> None:
    """A client that never asked searches what it carries."""
    assert found("toy") == ["toy-envs"]
    assert hub_at("official").embedded


def test_update_loads_the_current_index(published: Published) -> None:
    """After one command search, info and install see what the project publishes now."""
    assert found("maze") == []
    code, output = run("update")
    assert code == 0, output
    assert "signed with a development key" in output
    assert "proves nothing about who made it" in output
    assert found("maze") == ["maze-quest"]
    assert hub_at("official").location == published.url
    package = PackageIndex(hubs()).package("maze-quest")
    assert package is not None
    assert [str(release.version) for release in package.releases] == ["0.1.0"]
    assert run("info", "maze-quest")[0] == 0


def test_what_changes_later_is_loaded_too(published: Published, tmp_path: Path) -> None:
    """The index is published anew from nothing each time, and clients follow it."""
    run("update")
    publish_wheel(published.store, make_wheel(tmp_path / "dist", version="0.2.0"))
    published.publish()
    later = (published.folder / "gem" / "trust" / "timestamp.json").stat().st_mtime + 2
    os.utime(published.folder / "gem" / "trust" / "timestamp.json", (later, later))  # this server knows only seconds
    code, output = run("update")
    assert code == 0, output
    assert "serial 3" in output


def test_pages_that_were_never_read_come_from_the_snapshot(published: Published) -> None:
    """Off line, what the client carries is used as long as it is what the catalogue promises."""
    run("update")
    published.close()
    assert "--offline shows what was read before" in run("info", "toy-envs")[1]
    code, output = run("info", "toy-envs", "--offline")
    assert code == 0, output
    assert "nothing was read about maze-quest" in run("info", "maze-quest", "--offline")[1]


@pytest.mark.parametrize("path", ["trust/timestamp.json", "root.json"])
def test_another_index_in_its_place_is_refused(published: Published, path: str) -> None:
    """A place that serves no signatures, or others, changes nothing: the snapshot stays."""
    site = published.folder / "gem"
    if path == "root.json":
        for file in (site / "trust" / "targets").glob("*.root.json"):
            file.write_bytes(file.read_bytes().replace(b"serial", b"Serial"))
    else:
        (site / path).unlink()
    code, output = run("update")
    assert code == 1
    assert "official" in output or "trust/" in output
    assert hub_at("official").embedded
    assert found("toy") == ["toy-envs"]


def test_a_place_that_cannot_be_reached_changes_nothing(embedded: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The error names the address; the snapshot is still searched."""
    monkeypatch.setenv("GEM_OFFICIAL_HUB", "http://127.0.0.1:9/")
    code, output = run("update")
    assert (code, "127.0.0.1:9" in output) == (1, True)
    assert found("toy") == ["toy-envs"]


def test_a_build_that_knows_no_place_says_so(embedded: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without an address there is nothing to ask, and the command names what can give one."""
    monkeypatch.delenv("GEM_OFFICIAL_HUB", raising=False)
    monkeypatch.setattr("gem_hub_client.config.published_address", lambda: "")
    code, output = run("update")
    assert code == 0
    assert "GEM_OFFICIAL_HUB" in output


def test_a_mirror_must_be_an_address(embedded: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A folder is no place from which the official index is loaded."""
    monkeypatch.setenv("GEM_OFFICIAL_HUB", "/srv/hub")
    with pytest.raises(HubError, match="must name an http address"):
        hub_at("official")


def test_a_released_snapshot_is_signed_and_expires(
    embedded: Path, published: Published, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A release signs what it carries: changed bytes are refused; too old, it is searched and not installed from."""
    sign(embedded)
    assert found("toy") == ["toy-envs"]
    import time

    real = time.time
    monkeypatch.setattr("time.time", lambda: real() + 30 * 86400.0)
    results = search_hubs("toy", 5)
    assert [found.hit.record["name"] for found in results.hits] == ["toy-envs"]
    assert "valid until" in results.statuses[0].note or results.statuses[0].age is not None
    with pytest.raises(HubError, match="nothing is installed from it"):
        PackageIndex([hub_at("official")]).package("toy-envs")


def test_a_changed_signed_snapshot_is_refused(embedded: Path) -> None:
    """Whoever can write into the installed package without a key does not get past the signature by that."""
    sign(embedded)
    root = json.loads((embedded / "root.json").read_bytes())
    write(embedded, {"root.json": json.dumps({**root, "serial": 7}).encode()})
    (target,) = (embedded / "trust" / "targets").glob("*.root.json")
    target.write_bytes(b"{}")
    with pytest.raises(HubError, match="is not what was signed"):
        search_hubs("toy", 5)


def test_a_newer_client_brings_a_newer_snapshot(
    embedded: Path, published: Published, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What was loaded once does not hide a snapshot that was signed later."""
    run("update")
    assert not hub_at("official").embedded
    import time

    real = time.time
    monkeypatch.setattr("time.time", lambda: real() + 100.0)
    sign(embedded)
    assert hub_at("official").embedded


def test_the_snapshot_of_this_checkout_is_not_signed() -> None:
    """Only a release signs; a build of a checkout carries no signature that could be mistaken for one."""
    assert not (snapshot_folder() / "trust").exists()


class ReleaseKeys:
    """The keys of releases: a chain of two roots, of which the second names other root keys and another online key."""

    def __init__(self) -> None:
        root, other = CryptoSigner.generate_ed25519(), CryptoSigner.generate_ed25519()
        self.online = [CryptoSigner.generate_ed25519(), CryptoSigner.generate_ed25519()]
        first = roots.first_root([root.public_key], 1, self.online[0].public_key, 30)
        roots.sign_root(first, [root])
        second = roots.successor(
            first, 30, add=[other.public_key], remove=[root.public_key.keyid], online=self.online[1].public_key
        )
        roots.sign_root(second, [root, other])
        self.chain = [roots.dumped(first), roots.dumped(second)]


@pytest.fixture
def keys() -> ReleaseKeys:
    return ReleaseKeys()


def carry(monkeypatch: pytest.MonkeyPatch, root: bytes) -> None:
    """Install a client that carries this root."""
    for module in ("access", "status"):
        monkeypatch.setattr(f"gem_hub_client.trust.{module}.official_root", lambda: root)


def publish(published: Published, keys: ReleaseKeys, version: int) -> None:
    """Publish the index with the roots up to a version."""
    published.roots, published.key = keys.chain[:version], keys.online[version - 1]
    for path in (published.folder / "gem" / "trust").glob("*.root.json"):
        path.unlink()
    published.publish()


def pin() -> Pin:
    found = read_pin(hub_at("official"))
    assert found is not None
    return found


class TestAnotherClient:
    """Another version of the client carries another root than the one before it."""

    @pytest.fixture
    def seen(self, published: Published, keys: ReleaseKeys, monkeypatch: pytest.MonkeyPatch) -> Pin:
        """What a client with root 1 has seen."""
        carry(monkeypatch, keys.chain[0])
        publish(published, keys, 1)
        assert run("update")[0] == 0
        assert pin().log_size == 2
        return pin()

    @pytest.mark.parametrize("carried", [[2], [2, 1], [2, 1, 2]], ids=["newer", "newer and back", "there and back"])
    def test_a_root_of_the_same_chain_forgets_nothing(
        self,
        published: Published,
        keys: ReleaseKeys,
        seen: Pin,
        monkeypatch: pytest.MonkeyPatch,
        carried: list[int],
    ) -> None:
        """The history that was seen is demanded from each next client too, whichever of the two roots it carries."""
        site = published.folder / "gem"
        publish(published, keys, 2)
        shutil.copytree(site, published.folder / "honest")
        shutil.rmtree(site / "log")
        shutil.rmtree(site / "releases" / "maze-quest")
        sign_changes(HubFolder(site), renew=True, signer=keys.online[1], now=time.time() + 10)
        shutil.copytree(site, published.folder / "shortened")
        for moment, version in enumerate(carried, 1):
            carry(monkeypatch, keys.chain[version - 1])
            for place, expected in (("shortened", 1), ("honest", 0)):
                shutil.rmtree(site)
                shutil.copytree(published.folder / place, site)
                later = time.time() + moment * 2 + expected
                os.utime(site / "trust" / "timestamp.json", (later, later))  # this server knows only seconds
                code, output = run("update")
                assert (code, "its history was taken back" in output) == (expected, bool(expected)), output
        assert (pin().log_size, pin().trusted_root.version) == (2, 2)
        assert pin().first == sha256(keys.chain[carried[-1] - 1]).hexdigest()

    def test_a_place_without_the_root_of_the_client_is_refused(
        self, published: Published, keys: ReleaseKeys, seen: Pin, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """Who hides a root that replaced a key cannot make the replaced key count."""
        carry(monkeypatch, keys.chain[1])
        code, output = run("update")
        assert (code, "lead from one to the other" in output) == (1, True), output
        assert pin() == seen
        write_pin(hub_at("official"), replace(seen, first=sha256(keys.chain[1]).hexdigest()))
        code, output = run("update")
        assert (code, "root 2 came with this client" in output) == (1, True), output

    @pytest.mark.parametrize("version", [1, 2])
    def test_other_keys_need_a_word_of_the_user(
        self, published: Published, seen: Pin, monkeypatch: pytest.MonkeyPatch, version: int
    ) -> None:
        """Keys that do not follow from the trusted ones are named, and trusted only after --forget-key."""
        others = ReleaseKeys()
        carry(monkeypatch, others.chain[version - 1])
        publish(published, others, version)
        code, output = run("update")
        assert (code, "--forget-key" in output) == (1, True), output
        for root in (seen.trusted_root, first_root(others.chain[version - 1], "root")):
            assert root.fingerprint in output
        assert pin() == seen
        assert run("use", "official", "--forget-key")[0] == 0
        assert run("update")[0] == 0
        assert pin().root.encode() == others.chain[version - 1]

    def test_release_keys_follow_the_development_keys_and_never_the_other_way(
        self, published: Published, keys: ReleaseKeys, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """What development keys signed proved nothing, so nothing is lost; a step back would lose everything."""
        assert run("update")[0] == 0
        carry(monkeypatch, keys.chain[0])
        publish(published, keys, 1)
        assert run("update")[0] == 0
        assert not pin().trusted_root.development
        carry(monkeypatch, official_root())
        publish(published, keys, 1)
        code, output = run("update")
        assert (code, "--forget-key" in output) == (1, True), output
        assert not pin().trusted_root.development
