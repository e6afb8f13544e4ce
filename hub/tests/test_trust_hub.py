"""A signed hub and its clients: keys that are made, pinned and replaced, and everything else that is refused."""

from __future__ import annotations

import json
import shutil
import threading
import time
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from buckets import memory_bucket
from click.testing import CliRunner
from hub_command import gem_hub, refusal
from securesystemslib.signer import CryptoSigner
from toy_hub import make_wheel, publish_wheel
from tuf.api.metadata import Metadata, Timestamp

from gem_hub.errors import HubRefusal
from gem_hub.serve import HubServer
from gem_hub.signing import online, roots
from gem_hub.signing.keys import create_key
from gem_hub.store import Store
from gem_hub_client.cli.group import hub_command
from gem_hub_client.config import Hub, hub_at
from gem_hub_client.errors import HubError, TrustError
from gem_hub_client.federated_search import search_hubs
from gem_hub_client.package_index import PackageIndex
from gem_hub_client.releases import IndexedRelease
from gem_hub_client.state import State
from gem_hub_client.sync import update
from gem_hub_client.trust.pins import pin_path, read_pin
from gem_hub_client.trust.records import check_recorded
from gem_hub_client.verify import verify

pytestmark = pytest.mark.usefixtures("own_folders")


@pytest.fixture
def root_key(tmp_path: Path) -> Path:
    """A private root key."""
    path = tmp_path / "keys" / "alice.pem"
    gem_hub("keys", "new", path)
    return path


@pytest.fixture
def signed(store: Store, tmp_path: Path, root_key: Path) -> Store:
    """A signed hub with one package."""
    publish_wheel(store, make_wheel(tmp_path / "dist"))
    gem_hub("keys", "init", "--hub", store.folder, "--key", root_key)
    return store


def client(store: Store) -> Hub:
    return hub_at(str(store.folder))


class TestFirstContact:
    """How trust begins."""

    def test_a_signed_hub_is_pinned_at_first_use(self, signed: Store) -> None:
        """`gem hub use` shows the fingerprint that the operator sees, and remembers the key."""
        shown = gem_hub("use", signed.folder)
        told = json.loads(gem_hub("keys", "list", "--hub", signed.folder, "--json"))
        assert told["fingerprint"] in shown
        pin = read_pin(client(signed))
        assert pin is not None
        assert pin.trusted_root.fingerprint == told["fingerprint"]

    def test_an_unsigned_hub_works_and_says_so(self, store: Store, tmp_path: Path) -> None:
        """A hub without keys is used as before, and called not signed."""
        publish_wheel(store, make_wheel(tmp_path / "dist"))
        assert "is not signed" in gem_hub("use", store.folder)
        assert "not signed" in gem_hub("update")
        assert read_pin(client(store)) is None


class TestChanges:
    """What a client accepts from a hub whose key it knows."""

    def test_each_change_is_signed(self, signed: Store, tmp_path: Path) -> None:
        """A publication reaches a pinned client without a command in between."""
        update(client(signed))
        publish_wheel(signed, make_wheel(tmp_path / "dist", version="0.2.0"))
        assert update(client(signed)).serial == 2

    def test_a_change_that_was_not_signed_is_not_seen(self, signed: Store, tmp_path: Path) -> None:
        """Who can write into the folder, but has no key, changes nothing for clients."""
        update(client(signed))
        root = json.loads((signed.folder / "root.json").read_bytes())
        root["serial"] += 1
        (signed.folder / "root.json").write_text(json.dumps(root))
        assert update(client(signed)).serial == 1

    @pytest.mark.parametrize("where", ["timestamp", "snapshot", "targets", "root.json"])
    def test_a_changed_file_is_refused(self, signed: Store, where: str) -> None:
        """One changed byte in any of the signed files is enough."""
        paths = sorted((signed.folder / "trust").rglob("*.json"))
        (path,) = [path for path in paths if where in path.name and path.name != "1.root.json"]
        content = path.read_bytes()
        path.write_bytes(content.replace(b"1", b"2", 1))
        with pytest.raises(TrustError):
            update(client(signed))
        path.write_bytes(content)
        assert update(client(signed)).serial == 1

    def test_a_change_that_was_cut_off_before_it_was_signed_is_signed_later(
        self, signed: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """After a kill between the change and its signature clients see the state before, until the next change."""
        real = online.sign_changes
        calls = []

        def killed(*arguments: Any, **options: Any) -> bool:
            calls.append(options.get("newest"))
            if options.get("newest") is not None:
                raise KeyboardInterrupt
            return real(*arguments, **options)

        monkeypatch.setattr(online, "sign_changes", killed)
        with pytest.raises(KeyboardInterrupt):
            publish_wheel(signed, make_wheel(tmp_path / "dist", version="0.2.0"))
        assert update(client(signed)).serial == 1
        monkeypatch.setattr(online, "sign_changes", real)
        gem_hub("sign", "--hub", signed.folder)
        assert update(client(signed)).serial == 2
        assert verify(client(signed)).problems == []

    def test_a_pinned_hub_without_signatures_is_refused(self, signed: Store) -> None:
        """Taking the signatures away makes no client trust what is not signed."""
        update(client(signed))
        for path in sorted((signed.folder / "trust").rglob("*"), reverse=True):
            path.unlink() if path.is_file() else path.rmdir()
        with pytest.raises(TrustError, match="trusts only what is signed"):
            update(client(signed))
        assert State.read(client(signed).cache).serial == 1


class TestCatalogue:
    """What becomes of a loaded catalogue when only the signatures or the history of its hub change."""

    def test_a_timestamp_that_was_renewed_alone_is_noticed_in_a_folder(self, signed: Store) -> None:
        """A search of a hub in a folder takes note of it though the catalogue is the same."""
        gem_hub("use", signed.folder)
        path = signed.folder / "trust" / "timestamp.json"
        timestamp: Metadata[Timestamp] = Metadata.from_bytes(path.read_bytes())
        before = timestamp.signed.expires
        timestamp.signed.version += 1
        timestamp.signed.expires = before - timedelta(days=1)
        root = roots.newest_root(signed.files)
        assert root is not None
        timestamp.sign(online.online_key(signed.files, root.signed))
        path.write_bytes(timestamp.to_bytes())
        assert search_hubs("toy", 3).hits
        assert State.read(client(signed).cache).expires == f"{before - timedelta(days=1):%Y-%m-%dT%H:%M:%SZ}"

    def test_after_a_theft_the_same_catalogue_is_loaded_anew(self, signed: Store, root_key: Path) -> None:
        """Nothing that was derived while the stolen key counted is kept, even where the hub shows the same now."""
        update(client(signed))
        before = State.read(client(signed).cache)
        gem_hub("keys", "rotate", "--hub", signed.folder, "--key", root_key, "--online", "--stolen")
        update(client(signed))
        after = State.read(client(signed).cache)
        assert (after.digest, before.restarts, after.restarts) == (before.digest, 0, 1)
        assert after.database != before.database
        update(client(signed))
        assert State.read(client(signed).cache).database == after.database

    def test_a_signed_catalogue_with_a_lower_serial_is_loaded_anew(self, signed: Store, tmp_path: Path) -> None:
        """What its hub has set back under newer signatures is not mixed with what was applied before."""
        earlier = (signed.folder / "root.json").read_bytes()
        publish_wheel(signed, make_wheel(tmp_path / "dist", "maze-quest", ids=["maze:Walk-v0"]))
        assert update(client(signed)).packages == 2
        (signed.folder / "root.json").write_bytes(earlier)
        assert online.sign_changes(signed.files)
        found = update(client(signed))
        assert (found.serial, found.packages) == (1, 1)


def insist(address: str | Path, key: str) -> tuple[int, str]:
    done = CliRunner().invoke(hub_command, ["use", str(address), "--key", key])
    return done.exit_code, done.output


def shown_key(store: Store) -> str:
    return str(json.loads(gem_hub("keys", "list", "--hub", store.folder, "--json"))["fingerprint"])


class TestInsisting:
    """`gem hub use --key`."""

    def test_the_right_key_is_trusted(self, signed: Store) -> None:
        """With the operator's fingerprint nothing is left to the first contact."""
        assert insist(signed.folder, shown_key(signed))[0] == 0
        assert read_pin(client(signed)) is not None

    def test_another_key_is_refused(self, signed: Store) -> None:
        """Neither the choice of hubs nor any key is written then."""
        code, output = insist(signed.folder, "SHA256:something-else")
        assert code == 1
        assert f"its newest key is {shown_key(signed)}" in output
        assert read_pin(client(signed)) is None

    def test_an_unsigned_hub_is_refused(self, store: Store, tmp_path: Path) -> None:
        """A hub without keys has none that one can insist on."""
        publish_wheel(store, make_wheel(tmp_path / "dist"))
        code, output = insist(store.folder, "SHA256:x")
        assert (code, "it is not signed at all" in output) == (1, True)

    def test_the_key_of_a_later_root_is_accepted(self, signed: Store, tmp_path: Path, root_key: Path) -> None:
        """The fingerprint that the operator shows today is found, though the hub began with other keys."""
        gem_hub("keys", "new", tmp_path / "bob.pem")
        gem_hub("keys", "rotate", "--hub", signed.folder, "--key", root_key, "--add", tmp_path / "bob.pem.pub")
        assert insist(signed.folder, shown_key(signed))[0] == 0
        update(client(signed))

    def test_a_pinned_key_changes_by_two_options_alone(self, signed: Store, tmp_path: Path) -> None:
        """A hub that was made anew with other keys is refused until somebody says which key is meant, or any."""
        update(client(signed))
        made_anew(signed, tmp_path)
        with pytest.raises(TrustError):
            update(client(signed))
        with pytest.raises(TrustError):
            update(client(signed), reset=True)
        assert insist(signed.folder, shown_key(signed))[0] == 0
        assert shown_key(signed) in gem_hub("use", signed.folder)
        made_anew(signed, tmp_path)
        gem_hub("use", signed.folder, "--forget-key")

    def test_a_damaged_pin_is_no_first_contact(self, signed: Store) -> None:
        """Where the trusted keys cannot be read, no others take their place unasked."""
        update(client(signed))
        pin_path(client(signed)).write_text("{")
        with pytest.raises(TrustError, match="--forget-key"):
            update(client(signed))
        gem_hub("use", signed.folder, "--forget-key")

    def test_an_empty_cache_does_not_forget_keys(self, signed: Store, tmp_path: Path) -> None:
        """Keys lie with the configuration."""
        update(client(signed))
        shutil.rmtree(tmp_path / "cache")
        made_anew(signed, tmp_path)
        with pytest.raises(TrustError):
            update(client(signed))


def made_anew(store: Store, tmp_path: Path) -> None:
    """Give a hub other keys, without a signature of the old ones."""
    for name in ("trust", "log", ".gem-hub/keys"):
        shutil.rmtree(store.folder / name)
    key = tmp_path / f"{len(list(tmp_path.iterdir()))}.pem"
    gem_hub("keys", "new", key)
    gem_hub("keys", "init", "--hub", store.folder, "--key", key)


class TestKeys:
    """Making and replacing keys."""

    def test_a_key_is_for_its_owner_alone(self, root_key: Path) -> None:
        """Nobody else reads the private key, and it is never written over."""
        assert root_key.stat().st_mode & 0o077 == 0
        before = root_key.read_bytes()
        assert "never written over" in refusal("keys", "new", root_key)
        assert root_key.read_bytes() == before

    def test_an_encrypted_key_needs_its_passphrase(
        self, store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """Without it, or with another one, nothing is signed."""
        publish_wheel(store, make_wheel(tmp_path / "dist"))
        path = tmp_path / "secret.pem"
        done = CliRunner().invoke(hub_command, ["keys", "new", str(path), "--encrypt"], input="abc\nabc\n")
        assert done.exit_code == 0
        arguments = ["keys", "init", "--hub", store.folder, "--key", path]
        assert "GEM_HUB_PASSPHRASE" in refusal(*arguments)
        monkeypatch.setenv("GEM_HUB_PASSPHRASE", "abd")
        assert "passphrase is wrong" in refusal(*arguments)
        assert not (store.folder / "trust").exists()
        monkeypatch.setenv("GEM_HUB_PASSPHRASE", "abc")
        gem_hub(*arguments)

    def test_a_threshold_signs_on_several_machines(self, store: Store, tmp_path: Path) -> None:
        """A draft goes from one holder of a key to the next; only the complete one gets into the hub."""
        publish_wheel(store, make_wheel(tmp_path / "dist"))
        keys = [tmp_path / f"{name}.pem" for name in ("alice", "bob", "carol")]
        for key in keys:
            gem_hub("keys", "new", key)
        publics = [option for key in keys[1:] for option in ("--public", f"{key}.pub")]
        draft = tmp_path / "root.json"
        common = ["--hub", store.folder, "--key", keys[0], *publics, "--threshold", "2"]
        refused = CliRunner().invoke(hub_command, ["keys", "init", *map(str, common)])
        assert (refused.exit_code, "1 more of the keys" in refused.output) == (2, True)
        gem_hub("keys", "init", *common, "--draft", draft)
        early = CliRunner().invoke(hub_command, ["keys", "publish", str(draft), "--hub", str(store.folder)])
        assert (early.exit_code, "needs 1 more" in early.output) == (2, True)
        gem_hub("keys", "sign", draft, "--key", keys[2])
        gem_hub("keys", "publish", draft, "--hub", store.folder)
        assert update(client(store)).serial == 1
        publish_wheel(store, make_wheel(tmp_path / "dist", version="0.2.0"))
        assert update(client(store)).serial == 2

    def test_a_stolen_online_key_is_healed_by_the_root_keys(
        self, signed: Store, tmp_path: Path, root_key: Path
    ) -> None:
        """Clients that the thief led ahead, with a history of the thief's making, come back without a reset."""
        update(client(signed))
        honest = tmp_path / "honest"
        shutil.copytree(signed.folder, honest)
        thief = Store(signed.folder)
        for version in ("6.6.6", "6.6.7"):
            publish_wheel(thief, make_wheel(tmp_path / "evil", "trap-envs", version, ids=["trap:Fall-v0"]), "thief")
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr("gem_hub.signing.online.time.time", lambda: 9_000_000_000.0)
            thief.sign()
        assert update(client(signed)).serial == 3
        page = PackageIndex([client(signed)]).package("trap-envs")
        assert page is not None
        shutil.rmtree(signed.folder)
        shutil.copytree(honest, signed.folder)
        store = Store(signed.folder)
        with pytest.raises(TrustError, match="is older"):
            update(client(signed))
        gem_hub("keys", "rotate", "--hub", signed.folder, "--key", root_key, "--online", "--stolen")
        assert update(client(signed)).serial == 1
        assert PackageIndex([client(signed)]).package("trap-envs") is None
        publish_wheel(
            store, make_wheel(tmp_path / "dist", "trap-envs", "6.6.6", ids=["trap:Fall-v0"], readme="Honest.")
        )
        assert update(client(signed)).serial == 2
        assert PackageIndex([client(signed)]).package("trap-envs") is not None

    def test_a_new_online_key_keeps_the_history(self, signed: Store, tmp_path: Path, root_key: Path) -> None:
        """Without --stolen, replacing the online key forgets nothing: the log must still continue."""
        update(client(signed))
        gem_hub("keys", "rotate", "--hub", signed.folder, "--key", root_key, "--online")
        update(client(signed))
        pin = read_pin(client(signed))
        assert pin is not None
        assert (pin.log_size, pin.trusted_root.version) == (1, 2)
        publish_wheel(signed, make_wheel(tmp_path / "dist", version="0.2.0"))
        assert update(client(signed)).serial == 2

    def test_without_the_online_key_nothing_changes(self, signed: Store, tmp_path: Path) -> None:
        """A signed hub refuses a change that could not be signed, before anything has happened."""
        shutil.move(signed.folder / ".gem-hub" / "keys", tmp_path / "away")
        with pytest.raises(HubRefusal, match="GEM_HUB_ONLINE_KEY"):
            publish_wheel(signed, make_wheel(tmp_path / "dist", version="0.2.0"))
        assert signed.existing("toy-envs").last.serial == 1
        assert update(client(signed)).serial == 1

    def test_the_online_key_may_lie_elsewhere(
        self, signed: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """GEM_HUB_ONLINE_KEY names its file, as a bucket needs it; another key is refused."""
        shutil.move(signed.folder / ".gem-hub" / "keys", tmp_path / "away")
        monkeypatch.setenv("GEM_HUB_ONLINE_KEY", str(tmp_path / "away" / "online.pem"))
        publish_wheel(signed, make_wheel(tmp_path / "dist", version="0.2.0"))
        assert update(client(signed)).serial == 2
        gem_hub("keys", "new", tmp_path / "other.pem")
        monkeypatch.setenv("GEM_HUB_ONLINE_KEY", str(tmp_path / "other.pem"))
        with pytest.raises(HubRefusal, match="is not the online key"):
            signed.sign()

    def test_the_online_key_is_not_served(self, signed: Store) -> None:
        """The server of the hub offers nothing of its private folder."""
        with HubServer(signed.folder) as server:
            threading.Thread(target=server.serve_forever, daemon=True).start()
            hub = hub_at(f"http://127.0.0.1:{server.port}/")
            assert hub.source.read("trust/timestamp.json", 10_000).content
            for path in (".gem-hub/keys/online.pem", "%2egem-hub/keys/online.pem"):
                with pytest.raises(HubError):
                    hub.source.read(path, 10_000)
            server.shutdown()


class TestWriter:
    """What the signing side itself refuses."""

    def test_the_online_key_is_no_root_key(self) -> None:
        """Whoever takes the online key could replace all others, now or with the next root."""
        root, other = CryptoSigner.generate_ed25519(), CryptoSigner.generate_ed25519()
        with pytest.raises(HubRefusal, match="online key is one of the root keys"):
            roots.first_root([root.public_key], 1, root.public_key, 30)
        first = roots.first_root([root.public_key], 1, other.public_key, 30)
        with pytest.raises(HubRefusal, match="online key is one of the root keys"):
            roots.successor(first, 30, online=root.public_key)
        with pytest.raises(HubRefusal, match="online key is one of the root keys"):
            roots.successor(first, 30, add=[other.public_key])

    @pytest.mark.parametrize("threshold", [0, 3])
    def test_a_threshold_must_be_reachable(self, threshold: int) -> None:
        """Two keys give one or two signatures, now and with the next root."""
        keys = [CryptoSigner.generate_ed25519().public_key for _ in range(3)]
        with pytest.raises(HubRefusal, match=f"2 root keys cannot give {threshold} signatures"):
            roots.first_root(keys[:2], threshold, keys[2], 30)
        first = roots.first_root(keys[:2], 2, keys[2], 30)
        with pytest.raises(HubRefusal, match=f"2 root keys cannot give {threshold} signatures"):
            roots.successor(first, 30, threshold=threshold)
        with pytest.raises(HubRefusal, match="1 root keys cannot give 2 signatures"):
            roots.successor(first, 30, remove=[keys[0].keyid])


class TestWeb:
    """The same over HTTP, with one code path."""

    def test_a_served_hub_is_pinned_installed_from_and_verified(self, signed: Store, tmp_path: Path) -> None:
        """Update, search, plan and verify work; an unchanged hub costs two requests."""
        with HubServer(signed.folder) as server:
            threading.Thread(target=server.serve_forever, daemon=True).start()
            hub = hub_at(f"http://127.0.0.1:{server.port}/")
            assert update(hub).packages == 1
            assert update(hub).changed == 0
            check_recorded(releases(hub))
            assert verify(hub).problems == []
            record = signed.folder / "releases" / "toy-envs" / "0.1.0.json"
            content = record.read_bytes()
            record.write_bytes(content.replace(b"A thing to find.", b"Another thing.  "))
            with pytest.raises(TrustError, match="entry 0 of its log is another one"):
                check_recorded([*releases(hub)])
            record.unlink()
            with pytest.raises(TrustError, match="cannot be checked"):
                check_recorded([*releases(hub)])
            record.write_bytes(content)
            server.shutdown()

    def test_a_hub_that_expires_is_searched_and_not_installed_from(
        self, signed: Store, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """Signatures count for a time; `gem hub sign` makes them count for longer."""
        gem_hub("use", signed.folder)
        real = time.time
        monkeypatch.setattr("time.time", lambda: real() + 20 * 86400.0)
        assert search_hubs("toy", 3).hits
        with pytest.raises(HubError, match="nothing is installed from it"):
            PackageIndex([client(signed)]).package("toy-envs")
        with pytest.raises(HubError, match="was valid until"):
            update(client(signed))
        gem_hub("sign", "--hub", signed.folder)
        assert PackageIndex([client(signed)]).package("toy-envs") is not None


def releases(hub: Hub) -> tuple[IndexedRelease, ...]:
    package = PackageIndex([hub]).package("toy-envs")
    assert package is not None
    return package.releases


def test_a_hub_in_a_bucket_is_signed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its online key lies elsewhere; what it serves is what a folder serves, log included."""
    store = Store(memory_bucket())
    publish_wheel(store, make_wheel(tmp_path / "dist"))
    key = create_key(tmp_path / "root.pem")
    with pytest.raises(HubRefusal, match="GEM_HUB_ONLINE_KEY"):
        online.new_online_key(store.files)
    monkeypatch.setenv("GEM_HUB_ONLINE_KEY", str(tmp_path / "online.pem"))
    root = roots.first_root([key.public_key], 1, online.new_online_key(store.files), 30)
    roots.sign_root(root, [key])
    store.install_root(1, roots.dumped(root))
    publish_wheel(store, make_wheel(tmp_path / "dist", version="0.2.0"))
    folder = tmp_path / "served"
    for top in ("trust", "log", "catalog", "envs", "simple", "files", "releases"):
        for path in store.files.files(top):
            (folder / path).parent.mkdir(parents=True, exist_ok=True)
            (folder / path).write_bytes(store.files.read(path) or b"")
    (folder / "root.json").write_bytes(store.files.read("root.json") or b"")
    found = verify(hub_at(str(folder)))
    assert (found.problems, found.key) == ([], roots.fingerprint(root.signed))
    assert update(hub_at(str(folder))).serial == 2
    assert not any("online" in path for path in store.files.files(".gem-hub"))
