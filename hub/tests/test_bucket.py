"""A hub in a bucket; the tests of ``test_store.py`` run over one too."""

from __future__ import annotations

import itertools
import json
import tempfile
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from buckets import (
    CountedRequests,
    FatalRequest,
    KilledError,
    WatchedStore,
    copied,
    expire,
    memory_bucket,
    memory_store,
)
from hub_faults import faults
from hypothesis import given, settings
from registry_server import GENEROUS, running_registry, toy_wheel
from test_rebuild import perform, sequences, small_blocks
from toy_hub import MOMENT, contents, make_wheel, publish_wheel, synthetic_release

from gem_hub.errors import HubRefusal
from gem_hub.events import Lift, Quarantine, Yank
from gem_hub.rebuild import KEPT
from gem_hub.registry.services import RegistryServices
from gem_hub.registry.settings import RegistrySettings
from gem_hub.static_answers import StaticAnswers
from gem_hub.storage import HeldLock, HubFiles, HubFolder
from gem_hub.storage.addresses import open_files
from gem_hub.storage.bucket import HubBucket
from gem_hub.storage.lease import LEASE, BucketLock, LostLockError
from gem_hub.storage.probe import probe
from gem_hub.store import Store
from gem_hub_client.errors import HubError

BY = {"by": "someone", "created": MOMENT}


def put(store: Store, *args: Any, **kwargs: Any) -> None:
    """Publish a record without a wheel."""
    release, metadata = synthetic_release(*args, **kwargs)
    store.publish(release, None, metadata)


class TestFiles:
    """What a folder and a bucket promise alike."""

    @pytest.fixture(params=["folder", "bucket"])
    def files(self, request: pytest.FixtureRequest, tmp_path: Path) -> HubFiles:
        return HubFolder(tmp_path / "hub") if request.param == "folder" else memory_bucket()

    def test_a_file_is_created_once(self, files: HubFiles) -> None:
        """The second creation changes nothing and says so."""
        assert files.create("a/b.json", b"1")
        assert not files.create("a/b.json", b"2")
        assert files.read("a/b.json") == b"1"

    def test_one_of_many_creators_wins(self, files: HubFiles) -> None:
        """Of threads that create one file at once, one is told that it did, and the file is its own."""
        with ThreadPoolExecutor(8) as pool:
            for place in range(10):
                created = list(pool.map(lambda n, place=place: files.create(f"a/{place}", b"%d" % n), range(8)))
                (winner,) = (number for number, was_created in enumerate(created) if was_created)
                assert files.read(f"a/{place}") == b"%d" % winner

    def test_a_replacement_says_whether_it_changed_something(self, files: HubFiles) -> None:
        """A file may be new or there already; the same content is not written again."""
        assert files.replace("a.json", b"1")
        assert not files.replace("a.json", b"1")
        assert files.replace("a.json", b"2")
        files.replace_all({"a.json": b"2", "b.json": b"3", "c/d": b""})
        assert files.read_all(["c/d", "b.json", "nothing", "a.json"]) == [b"", b"3", None, b"2"]

    def test_what_does_not_exist(self, files: HubFiles) -> None:
        """A missing file or folder is an answer, not an error."""
        assert files.read("a/b") is files.size("a/b") is None
        assert not files.exists("a/b")
        assert files.age("a/b") == 0
        assert files.names("a") == files.used_names("a") == list(files.files("a")) == []
        files.remove("a/b")
        files.move("a/b", "c")

    def test_names_and_files_of_a_folder(self, files: HubFiles) -> None:
        """The names of a folder are sorted, and neither a longer name nor what lies deeper is among them."""
        paths = ["a/x+local.whl", "a/1!2.0-x.whl", "a/.b/c.json", "ab/c", "a/z~1", "a/r/s.json"]
        for path in paths:
            files.create(path, b"x")
        assert files.names("a") == [".b", "1!2.0-x.whl", "r", "x+local.whl", "z~1"]
        assert files.used_names("a") == [".b", "r"]
        assert sorted(files.files("a")) == sorted(path for path in paths if path.startswith("a/"))
        assert sorted(files.files("")) == sorted(paths)
        assert [files.read(path) for path in paths] == [b"x"] * 6

    def test_a_file_is_moved_unless_the_target_exists(self, files: HubFiles) -> None:
        """The target is never overwritten, and the source is gone either way."""
        files.create("a", b"1")
        files.move("a", "b/c")
        assert (files.read("a"), files.read("b/c")) == (None, b"1")
        files.create("a", b"2")
        files.move("a", "b/c")
        assert (files.read("a"), files.read("b/c")) == (None, b"1")
        files.remove("b/c")
        assert files.names("b") == []

    def test_what_is_private_is_not_opened_for_readers(self, files: HubFiles) -> None:
        """Neither the private folder nor a hidden file is public, and a folder is no file."""
        for path in (".gem-hub/quarantined/x", "a/.hidden", "a/b"):
            files.create(path, b"x")
        assert files.open_public(".gem-hub/quarantined/x") is files.open_public("a/.hidden") is None
        assert files.open_public("a") is files.open_public("nothing") is None
        assert [files.is_public_folder(path) for path in ("a", ".gem-hub", "a/b", "nothing")] == [True] + [False] * 3
        opened = files.open_public("a/b")
        assert opened is not None
        with opened:
            assert opened.read() == b"x"

    def test_only_the_promised_file_is_copied_in(self, files: HubFiles, tmp_path: Path) -> None:
        """A copy with another digest or size is refused; one that is there is left alone."""
        from hashlib import sha256

        source = tmp_path / "source"
        source.write_bytes(b"wheel")
        digest = sha256(b"wheel").hexdigest()
        for wrong in (("0" * 64, 5), (digest, 6)):
            with pytest.raises(HubRefusal, match="has it been built anew meanwhile"):
                files.copy_in(source, "files/x", *wrong)
        assert files.copy_in(source, "files/x", digest, 5)
        assert not files.copy_in(source, "files/x", digest, 5)
        assert files.read("files/x") == b"wheel"


class TestProbe:
    """Which services hold a hub. These servers are our own; those of others are in ``test_s3_servers.py``."""

    def test_a_service_that_keeps_conditions_is_taken(self) -> None:
        """The probe leaves nothing behind."""
        bucket = memory_bucket()
        probe(bucket)
        assert list(bucket.files("")) == []

    @pytest.mark.parametrize(
        ("ignored", "reason"),
        [("create", "ignores If-None-Match"), ("update", "ignores If-Match")],
    )
    def test_a_service_that_ignores_a_condition_is_refused(self, ignored: str, reason: str) -> None:
        """A store that accepts a double create, or a replacement of what has changed, holds no hub."""

        class Careless:
            def __init__(self) -> None:
                self.inner = memory_store()

            def __getattr__(self, name: str) -> Any:
                return getattr(self.inner, name)

            def put(self, path: str, content: bytes, mode: Any, **options: Any) -> Any:
                ignores = mode == "create" if ignored == "create" else isinstance(mode, dict)
                return self.inner.put(path, content, mode="overwrite" if ignores else mode, **options)

        with pytest.raises(HubError, match=f"cannot hold a hub.*{reason}.*use a service with conditional writes"):
            probe(HubBucket(Careless(), "s3://careless"))  # type: ignore[arg-type]

    def test_a_service_that_decides_too_late_is_refused(self) -> None:
        """Looking first and writing then is no condition: several requests at once find nothing."""

        class Late:
            def __init__(self) -> None:
                self.inner = memory_store()
                self.all_looked = threading.Barrier(8, timeout=60)

            def __getattr__(self, name: str) -> Any:
                return getattr(self.inner, name)

            def put(self, path: str, content: bytes, mode: Any, **options: Any) -> Any:
                if path.endswith("raced"):
                    self.all_looked.wait()
                    mode = "overwrite"
                return self.inner.put(path, content, mode=mode, **options)

        with pytest.raises(HubError, match="lets several requests at once create the same object"):
            probe(HubBucket(Late(), "s3://late"))  # type: ignore[arg-type]

    @pytest.mark.parametrize(
        "address", ["s3://", "s3:///x", "s3://bucket?x=1", "s3://bucket#x", "gs://x/y", "http://x/y"]
    )
    def test_other_addresses_are_refused(self, address: str) -> None:
        """An address is never taken for the name of a folder."""
        with pytest.raises(HubError, match="bucket"):
            open_files(address)


class Interrupted:
    """In the place of a thread's event: lets a lease be renewed a number of times."""

    def __init__(self, times: int) -> None:
        self.left = times

    def wait(self, seconds: float) -> bool:
        self.left -= 1
        return self.left < 0


class TestLease:
    """The lock of a bucket."""

    @pytest.fixture
    def bucket(self) -> HubBucket:
        return memory_bucket()

    def stolen(self, bucket: HubBucket) -> Any:
        """Return the lock of a process that stalled, after which another one held the lock."""
        stalled = bucket.lock().held()
        lease = stalled.__enter__()
        expire(bucket)
        with bucket.lock().held():
            pass
        self.stalled = stalled  # else it would end here, as all generators do that nobody names
        return lease

    def test_who_lost_the_lock_decides_nothing(self, bucket: HubBucket) -> None:
        """The decision is one conditional write with the lock itself."""
        lease = self.stolen(bucket)
        before = bucket.read(LEASE)
        with pytest.raises(LostLockError, match="another one may be changing the hub now; run the command again"):
            lease.decide(b"{}")
        assert bucket.read(LEASE) == before

    def test_who_lost_the_lock_replaces_and_removes_nothing(self, bucket: HubBucket) -> None:
        """Each write over what exists asks first."""
        bucket.create("a", b"1")
        self.stolen(bucket)
        for write in (
            lambda: bucket.replace("a", b"2"),
            lambda: bucket.replace_all({"a": b"2"}),
            lambda: bucket.remove("a"),
            lambda: bucket.move("a", "b"),
        ):
            with pytest.raises(LostLockError):
                write()
        assert [bucket.read("a"), bucket.read("b")] == [b"1", None]

    def test_a_write_that_was_stalled_on_its_way_is_refused(self, bucket: HubBucket) -> None:
        """What another holder wrote after the question for the lock has another ETag, so the late write fails."""
        bucket.create("a", b"1")

        def stall(name: str, path: str) -> None:
            if (name, path) == ("put", "a") and bucket.read("a") == b"1":
                expire(bucket)
                with bucket.lock().held():
                    bucket.replace("a", b"3")

        stalling = HubBucket(WatchedStore(bucket._store, stall), "memory://bucket")  # type: ignore[arg-type]
        with stalling.lock().held(), pytest.raises(LostLockError):
            stalling.replace("a", b"2")
        assert bucket.read("a") == b"3"

    def test_a_write_that_was_stalled_before_its_reading_is_refused(self, bucket: HubBucket) -> None:
        """The lock is asked for after the reading, so that what another holder wrote before it stays."""
        bucket.create("a", b"1")

        def stall(name: str, path: str) -> None:
            if (name, path) == ("get", "a"):
                expire(bucket)
                with bucket.lock().held():
                    bucket.replace("a", b"3")

        stalling = HubBucket(WatchedStore(bucket._store, stall), "memory://bucket")  # type: ignore[arg-type]
        for write in (lambda: stalling.replace("a", b"2"), lambda: stalling.replace_all({"a": b"2"})):
            with stalling.lock().held(), pytest.raises(LostLockError):
                write()
        assert bucket.read("a") == b"3"

    def test_the_lock_waits_for_its_holder(self, bucket: HubBucket) -> None:
        """The second of two threads gets the lock when the first one gives it back, and not before."""
        order = []
        with bucket.lock().held():
            waiting = threading.Thread(target=lambda: self.noted(bucket, order))
            waiting.start()
            order.append("first")
        waiting.join()
        assert order == ["first", "second"]

    def noted(self, bucket: HubBucket, order: list[str]) -> None:
        with bucket.lock().held():
            order.append("second")

    def test_a_holder_that_renews_is_never_followed(self, bucket: HubBucket, monkeypatch: pytest.MonkeyPatch) -> None:
        """Another process waits while the object changes, however long that takes, and gives up in the end."""
        monkeypatch.setattr("time.sleep", lambda seconds: None)
        moments = iter(range(0, 10**6, 7))
        with bucket.lock().held() as lease:

            def renew(name: str, path: str) -> None:
                if name == "get":
                    lease.keep(Interrupted(1))  # type: ignore[attr-defined]

            watched = HubBucket(WatchedStore(bucket._store, renew), "memory://bucket")  # type: ignore[arg-type]
            waiting = BucketLock(watched, 30.0, clock=lambda: float(next(moments)))
            with pytest.raises(HubRefusal, match="other processes have been changing this hub for 120 seconds"):
                waiting.held().__enter__()
            lease.decide(b"{}")

    def test_a_silent_holder_is_followed_after_its_lease(
        self, bucket: HubBucket, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """The one who waits measures by its own clock how long nothing has changed, and inherits what was decided."""
        monkeypatch.setattr("time.sleep", lambda seconds: None)
        dead = {"epoch": 3, "beat": 9, "holder": "dead", "seconds": 20, "intent": '{"path": "x"}'}
        bucket.create(LEASE, json.dumps(dead).encode())
        moments: list[float] = []

        def clock() -> float:
            moments.append(100.0 + len(moments))
            return moments[-1]

        with BucketLock(bucket, 1e6, clock=clock).held() as lease:
            assert lease.intent == b'{"path": "x"}'
            assert 20 < moments[-1] - 100 < 30
            assert json.loads(bucket.read(LEASE) or b"")["epoch"] == 4

    def test_an_answer_that_got_lost_is_no_lost_lock(self, bucket: HubBucket) -> None:
        """A write that got through counts, although its repetition found the condition broken."""
        from obstore.exceptions import PreconditionError

        inner = bucket._store

        class Forgetful(WatchedStore):
            def put(self, path: str, *args: Any, **kwargs: Any) -> Any:
                inner.put(path, *args, **kwargs)
                raise PreconditionError("the answer to the first attempt got lost")

        forgetful = HubBucket(Forgetful(inner, lambda name, path: None), "memory://bucket")  # type: ignore[arg-type]
        with forgetful.lock().held() as lease:
            lease.decide(b'{"path": "x"}')
        assert json.loads(bucket.read(LEASE) or b"")["intent"] == '{"path": "x"}'

    @pytest.mark.parametrize(
        "content", [b"", b"[]", b"{}", b'{"holder": 1, "epoch": 1}', b'{"holder": "", "epoch": ""}']
    )
    def test_a_damaged_lock_says_what_to_do(self, bucket: HubBucket, content: bytes) -> None:
        """Nobody takes a lock whose state is unknown."""
        bucket.create(LEASE, content)
        with pytest.raises(HubError, match=r"lock\.json: is damaged .* remove it and run: gem hub rebuild"):
            bucket.lock().held().__enter__()


CHANGES: dict[str, Callable[[Store, Path], object]] = {
    "a first release": lambda store, dist: publish_wheel(store, make_wheel(dist, "steps", "0.1.0", ["steps:T-v0"])),
    "a second release": lambda store, dist: publish_wheel(store, make_wheel(dist, "steps", "0.2.0", ["steps:T-v0"])),
    "a yank": lambda store, dist: store.add_event(Yank(name="steps", version="0.1.0", reason="bad", **BY)),
    "a quarantine": lambda store, dist: store.add_event(Quarantine(name="steps", reason="bad", **BY)),
    "its end": lambda store, dist: store.add_event(Lift(name="steps", reason="good", **BY)),
    "a rebuild": lambda store, dist: [store.files.remove("simple/steps/index.html"), store.rebuild()],
}


class TestKills:
    """A process that dies while it changes a hub in a bucket: the requests before that moment were made, others not."""

    @pytest.mark.slow(reason="every kill is followed by a reading of the whole hub")
    def test_a_kill_before_any_request_corrupts_nothing(self, tmp_path: Path) -> None:
        """No reader stumbles, the next change has completed what was begun, and nothing is lost."""
        dist = tmp_path / "dist"
        before, kills = memory_bucket(), 0
        for number, (name, change) in enumerate(CHANGES.items()):
            for step in itertools.count(1):
                memory = memory_store()
                bucket = copied(before, memory_bucket(memory))
                fatal = FatalRequest(step)
                dying = Store(memory_bucket(WatchedStore(memory, fatal)))
                try:
                    change(dying, dist)
                except KilledError:
                    kills += 1
                if not fatal.killed:
                    break
                assert faults(bucket) == []
                expire(bucket)
                store = Store(bucket)
                publish_wheel(store, make_wheel(dist, "other", "0.1.0", ["other:T-v0"]))
                if name == "a rebuild":  # what it was to heal is no remains of a change
                    store.rebuild()
                assert store.rebuild(check=True) == []
                assert faults(bucket) == []
                serials = sorted(store.truth.serials().values())
                assert serials == list(range(1, len(serials) + 1))
                assert len(serials) in (number + 1, number + 2)
            change(Store(before), dist)
        assert kills >= 60


@pytest.mark.slow(reason="each example changes two hubs up to 43 times")
@settings(max_examples=settings.default.max_examples // 8)
@given(sequences)
def test_both_storages_have_the_same_bytes(sequence: list[Any]) -> None:
    """After the same changes, a folder and a bucket hold the same files with the same content."""
    with tempfile.TemporaryDirectory() as scratch, small_blocks(3):
        folder, bucket = Store(Path(scratch)), Store(memory_bucket())
        for action in sequence:
            perform(folder, action)
            perform(bucket, action)
        assert contents(folder.files) == contents(bucket.files)
        assert bucket.rebuild(check=True) == bucket.rebuild() == []


def test_wheels_lie_in_both_storages_alike(tmp_path: Path) -> None:
    """Hosted wheels, their metadata, and the hidden files of a quarantined package are the same too."""
    stores = [Store(tmp_path / "hub"), Store(memory_bucket())]
    trees = []
    for store in stores:
        for version in ("0.1.0", "0.2.0"):
            publish_wheel(store, make_wheel(tmp_path / "dist", version=version))
        publish_wheel(store, make_wheel(tmp_path / "dist", "bad", "1.0", ["bad:T-v0"]))
        store.add_event(Quarantine(name="bad", reason="reads keys", **BY))
        trees.append({path: store.files.read(path) for path in store.files.files("") if "lock" not in path})
    trees[0].pop(".gem-hub/.gitignore")
    assert trees[0] == trees[1]
    assert len([path for path in trees[1] if path.startswith(".gem-hub/quarantined/files/")]) == 2


class TestCost:
    """The requests of a publication."""

    def requests(self, packages: int, releases: int) -> Counter[tuple[str, str]]:
        """Return the requests of one more release of a package, by kind and path."""
        memory = memory_store()
        store = Store(memory_bucket(memory))
        for number in range(packages):
            put(store, f"package-{number}", "0.1.0")
        for number in range(releases):
            put(store, "toy-envs", f"0.{number}.0")
        counted = CountedRequests()
        fresh = Store(memory_bucket(WatchedStore(memory, counted)))
        fresh.environment_ids()  # reading the catalogue costs what the hub has changed since; it comes before the lock
        counted.counts.clear()
        put(fresh, "toy-envs", "9.0")
        return counted.counts

    def test_a_publication_costs_what_its_own_package_costs(self) -> None:
        """As many requests in a hub of 3 packages as in one of 120; each earlier release adds two reads."""
        small, large = self.requests(2, 3), self.requests(119, 3)
        assert kinds(small) == kinds(large)
        assert kinds(self.requests(2, 13)) - kinds(small) == Counter({"get": 20})
        assert kinds(small) == Counter({"get": 23, "put": 10, "list_with_delimiter": 6, "head": 1})

    def test_a_publication_names_no_other_package(self) -> None:
        """Not one request is about another package."""
        assert not [path for _, path in self.requests(30, 3) if "package-" in path]


def kinds(requests: Counter[tuple[str, str]]) -> Counter[str]:
    """Return how many requests of each kind there were."""
    counts: Counter[str] = Counter()
    for (name, _), count in requests.items():
        counts[name] += count
    return counts


@pytest.mark.slow
def test_threads_lose_nothing_and_one_wins_a_race() -> None:
    """Threads publish versions of their own and race for one more: all are there, and one wins the race."""
    memory = memory_store()

    def publish_all(number: int) -> list[str]:
        store = Store(memory_bucket(memory))
        outcomes = []
        for version in (f"0.{number}.0", "9.9.9", f"0.{number}.1"):
            release, metadata = synthetic_release("toy-envs", version, salt=f"{number}" if version == "9.9.9" else "")
            try:
                outcomes.append(store.publish(release, None, metadata).value)
            except HubRefusal as refusal:
                outcomes.append(str(refusal))
        return outcomes

    with ThreadPoolExecutor(6) as pool:
        results = list(pool.map(publish_all, range(6)))
    assert {outcome for first, _, last in results for outcome in (first, last)} == {"published"}
    raced = sorted(middle for _, middle, _ in results)
    assert raced[0] == "published"
    assert all("what is published never changes" in refusal for refusal in raced[1:])
    store = Store(memory_bucket(memory))
    assert store.existing("toy-envs").serials == list(range(1, 14))
    assert store.rebuild(check=True) == []


class TestFailures:
    """Changes that fail in the middle while their process lives on."""

    def test_a_change_that_was_decided_is_completed_by_the_next_one(self) -> None:
        """A service that fails after the decision gives an error; the next change completes the first one."""
        memory = memory_store()
        put(Store(memory_bucket(memory)), "alpha", "0.1.0")

        def fail(name: str, path: str) -> None:
            if name == "put" and path.startswith("envs/"):
                raise HubError("the service is away")

        with pytest.raises(HubError, match="the service is away"):
            put(Store(memory_bucket(WatchedStore(memory, fail))), "alpha", "0.2.0")
        store = Store(memory_bucket(memory))
        put(store, "beta", "0.1.0")
        assert store.rebuild(check=True) == []
        assert [release.version for release in store.existing("alpha").releases] == ["0.2.0", "0.1.0"]

    def test_a_rebuild_completes_what_was_decided_first(self) -> None:
        """The record that only the lock knows is made before everything is derived from the records."""
        memory = memory_store()
        put(Store(memory_bucket(memory)), "alpha", "0.1.0")

        def fail(name: str, path: str) -> None:
            if name == "put" and path.startswith("releases/"):
                raise HubError("the service is away")

        with pytest.raises(HubError, match="the service is away"):
            put(Store(memory_bucket(WatchedStore(memory, fail))), "alpha", "0.2.0")
        store = Store(memory_bucket(memory))
        store.rebuild()
        assert [release.version for release in store.existing("alpha").releases] == ["0.2.0", "0.1.0"]

    @pytest.mark.parametrize("kind", ["folder", "bucket"])
    def test_a_file_that_went_between_copy_and_record_is_copied_again(self, tmp_path: Path, kind: str) -> None:
        """Another publisher of the same file may be refused and remove it while this one waits for the lock."""
        store = Store(tmp_path / "hub" if kind == "folder" else memory_bucket())
        genuine = store._locked

        @contextmanager
        def locked_late() -> Iterator[HeldLock]:
            with genuine() as held:
                for path in list(store.files.files("files")):
                    store.files.remove(path)
                yield held

        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(store, "_locked", locked_late)
            assert publish_wheel(store, make_wheel(tmp_path / "dist")) == "published"
        assert faults(store.files) == []
        assert store.rebuild(check=True) == []

    def test_a_file_without_a_record_is_swept_a_day_later(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """In a bucket a refused publication leaves its wheel, which a late removal could take from somebody else."""
        store = Store(memory_bucket())
        publish_wheel(store, make_wheel(tmp_path / "dist", "alpha", "1.0", ["toy:Thing-v0"]))
        with pytest.raises(HubRefusal, match="belongs to alpha"):
            publish_wheel(store, make_wheel(tmp_path / "dist", "beta", "1.0", ["toy:Thing-v0"]))
        assert len([path for path in store.files.files("files") if path.endswith(".whl")]) == 2
        store.rebuild()
        assert len([path for path in store.files.files("files") if path.endswith(".whl")]) == 2
        monkeypatch.setitem(KEPT, "unreferenced", -1.0)
        store.rebuild()
        assert [path for path in store.files.files("files") if "beta" in path] == []
        assert faults(store.files) == []


class TestServed:
    """A hub in a bucket behind the servers that folders have."""

    def fields(self, **given: str) -> Callable[[str], list[str]]:
        """Return the header fields of a request."""
        return lambda name: [given[name]] if name in given else []

    @pytest.fixture
    def sites(self, tmp_path: Path) -> list[StaticAnswers]:
        """The same hub in a folder and in a bucket."""
        stores = [Store(tmp_path / "hub"), Store(memory_bucket())]
        for store in stores:
            publish_wheel(store, make_wheel(tmp_path / "dist"))
            publish_wheel(store, make_wheel(tmp_path / "dist", "bad", "1.0", ["bad:T-v0"]))
            store.add_event(Quarantine(name="bad", reason="reads keys", **BY))
        return [StaticAnswers(store.files, "https://index.example/simple/") for store in stores]

    def test_every_answer_is_that_of_a_folder(self, sites: list[StaticAnswers]) -> None:
        """Files, pages by the client's preference, redirects, and what does not exist or is private."""
        hidden = [path for path in sites[1].files.files("") if path.startswith(".gem-hub/quarantined/")]
        wheel = next(path for path in sites[0].files.files("files") if path.endswith(".whl"))
        targets = [
            "/",
            "/root.json",
            "/simple/",
            "/simple",
            "/simple/toy-envs/",
            "/simple/toy-envs",
            "/simple/Toy_Envs/",
        ]
        targets += ["/simple/unknown/", "/simple/bad/", "/envs/toy-envs.json", "/envs", "/nothing", "/../root.json"]
        targets += ["/.gem-hub/lock.json", "/%2egem-hub/lock.json", *(f"/{path}" for path in hidden), f"/{wheel}"]
        kinds = ["text/html", "application/vnd.pypi.simple.v1+json", "image/png"]
        seen = set()
        for target in targets:
            for kind in kinds:
                answers = [site.answer(target, self.fields(Accept=kind, Range="bytes=3-9")) for site in sites]
                told = []
                for one in answers:
                    with one.body:
                        told.append((one.status, one.fields, b"".join(one.chunks())))
                assert told[0] == told[1], target
                seen.add(int(told[0][0]))
        assert hidden
        assert seen == {200, 206, 301, 302, 404, 406} - {200}

    def test_a_registry_publishes_into_a_bucket(self, tmp_path: Path) -> None:
        """An upload is in the bucket and served from there; the registry's own state is on this machine."""
        bucket = memory_bucket()
        state = RegistrySettings(
            folder=str(tmp_path / "state"), quotas=GENEROUS, conformance=False, registration="open"
        )
        with running_registry(bucket, state) as registry:
            alice = registry.account("alice")
            wheel = toy_wheel(tmp_path, "treasure-hunt")
            assert alice.upload(wheel).status == 200
            assert alice.upload(wheel).status == 200
            other = alice.upload(toy_wheel(tmp_path / "other", "treasure-hunt", readme="Other bytes."))
            assert other.status == 409
            page = alice.send("GET", "/simple/treasure-hunt/", Accept="application/vnd.pypi.simple.v1+json").json
            path = page["files"][0]["url"].removeprefix("../..")
            assert alice.send("GET", path).body == wheel.read_bytes() == bucket.read(path[1:])
            assert alice.send("GET", f"/{LEASE}").status == 404
        assert Store(bucket).rebuild(check=True) == []
        assert Store(bucket).owners("treasure-hunt") == ["alice"]
        assert (tmp_path / "state/registry.db").exists()

    def test_a_registry_over_a_bucket_needs_a_folder(self) -> None:
        """Its database and uploads never go into the bucket."""
        with pytest.raises(HubRefusal, match="keeps its database and uploads on this machine; name the folder"):
            RegistryServices(Store(memory_bucket()), RegistrySettings())
