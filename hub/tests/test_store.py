from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from buckets import memory_bucket
from hypothesis import given, settings
from hypothesis import strategies as st
from toy_hub import MOMENT, contents, make_wheel, publish_and_die, publish_wheel, read_wheel, synthetic_release

from gem_hub.derive import list_pages
from gem_hub.errors import HubRefusal
from gem_hub.events import Conformance, Deprecate, Lift, Owner, Quarantine, Undeprecate, Unyank, Yank
from gem_hub.policy import HubPolicy
from gem_hub.publishing import Destination, examine_all
from gem_hub.simple_pages import extended_lists
from gem_hub.storage import HubFolder
from gem_hub.store import Store, StoreResult
from gem_hub_client.errors import HubError


@pytest.fixture(params=["folder", "bucket"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Store:
    """An empty hub in a folder, and one in a bucket of memory."""
    return Store(tmp_path / "hub" if request.param == "folder" else memory_bucket())


def read(store: Store, path: str) -> bytes:
    """Return the content of a file of a hub."""
    content = store.files.read(path)
    assert content is not None, path
    return content


BY = {"by": "someone", "created": MOMENT}
RECORD = {
    "gem_core": "0.1.0",
    "packages": [
        {
            "environments": [
                {
                    "id": "toy:Thing-v0",
                    "clauses": [
                        {"outcome": "holds"},
                        {"outcome": "holds"},
                        {"outcome": "violated"},
                        {"outcome": "violated", "exempt": True},
                        {"outcome": "not tested"},
                    ],
                }
            ]
        }
    ],
}


def put(store: Store, *args: Any, **kwargs: Any) -> StoreResult:
    """Publish a record without a wheel."""
    release, metadata = synthetic_release(*args, **kwargs)
    return store.publish(release, None, metadata)


def page(store: Store, name: str) -> Any:
    """Return what ``envs/NAME.json`` says."""
    return json.loads(read(store, f"envs/{name}.json"))


def lines(store: Store) -> dict[str, Any]:
    """Return the catalogue's lines by name."""
    from gem_hub.catalogue import read_feed

    return {line["name"]: line for line in read_feed(store._root(), store.files.read)}


def test_a_published_wheel_lies_under_its_digest_with_its_metadata(store: Store, wheel: Callable[..., Path]) -> None:
    """The hub has the wheel's bytes, the metadata beside it, a record that says both digests, and pages."""
    path = wheel()
    release, metadata = read_wheel(path)
    assert store.admits(release)
    assert store.publish(release, path, metadata) is StoreResult.PUBLISHED
    assert not store.admits(release)
    blob = f"files/{release.sha256[:2]}/{release.sha256}/{path.name}"
    assert read(store, blob) == path.read_bytes()
    assert read(store, f"{blob}.metadata") == metadata
    assert json.loads(read(store, release.path))["serial"] == 1
    assert store.files.exists("simple/toy-envs/index.html")
    assert [environment["id"] for environment in page(store, "toy-envs")["releases"][0]["environments"]] == [
        "toy:Thing-v0",
        "toy:Thing-v0-easy",
    ]
    assert lines(store)["toy-envs"]["environments"] == [
        {
            "id": "toy:Thing-v0",
            "description": "A thing to find.",
            "tags": ["toy"],
            "requires": [],
            "turns": "multi",
            "variants": ["easy"],
        }
    ]
    assert page(store, "toy-envs")["releases"][0]["requires_gem_core"] == "<0.2,>=0.1"


def test_the_same_bytes_again_change_nothing(store: Store, wheel: Callable[..., Path]) -> None:
    """Publishing is repeatable: the second time says so, and not a byte of the hub is written."""
    assert publish_wheel(store, wheel()) == "published"
    before = contents(store.files)
    assert publish_wheel(store, wheel(), publisher="somebody-else") == "already published"
    assert contents(store.files) == before


def test_what_is_there_already_is_also_found(store: Store, wheel: Callable[..., Path]) -> None:
    """A killed process wrote the record alone; whoever publishes the file again is told so once readers find it."""
    publish_and_die(store.files, wheel())
    assert publish_wheel(store, wheel()) == "already published"
    assert store.rebuild(check=True) == []


def test_other_bytes_for_a_version_are_refused(store: Store, wheel: Callable[..., Path]) -> None:
    """A published version never changes, and another spelling of the version is the same version."""
    publish_wheel(store, wheel(version="1.0"))
    before = contents(store.files)
    for version in ("1.0", "1.0.0"):
        with pytest.raises(HubRefusal, match=r"is published as 1\.0 with sha256 .*give it a new version"):
            publish_wheel(store, wheel(version=version, readme="changed"))
    assert contents(store.files) == before


def test_only_owners_publish(store: Store) -> None:
    """Whoever publishes first owns the name; others must be let in by an owner event."""
    put(store, "alpha", "0.1.0", publisher="alice")
    assert store.owners("alpha") == ["alice"]
    with pytest.raises(HubRefusal, match=r"'bob' is none of the owners \(alice\).*gem hub owner add alpha bob"):
        put(store, "alpha", "0.2.0", publisher="bob")
    store.add_event(Owner(name="alpha", action="add", owner="bob", by="alice"))
    put(store, "alpha", "0.2.0", publisher="bob")
    store.add_event(Owner(name="alpha", action="remove", owner="alice", by="bob"))
    assert store.owners("alpha") == ["bob"]
    with pytest.raises(HubRefusal, match="bob is its last owner; add another one first"):
        store.add_event(Owner(name="alpha", action="remove", owner="bob", by="bob"))
    assert store.owners("beta") == []


def test_environment_ids_belong_to_one_package_for_good(store: Store) -> None:
    """An id that any release ever had stays with its package, also when a newer one lacks it or all are yanked."""
    put(store, "alpha", "0.1.0", ["toy:One-v0", "toy:One-v0-easy"])
    put(store, "alpha", "0.2.0", ["toy:Two-v0"])
    assert store.environment_ids() == {"toy:One-v0": "alpha", "toy:Two-v0": "alpha"}
    for version in ("0.1.0", "0.2.0"):
        store.add_event(Yank(name="alpha", version=version, reason="bad", **BY))
    assert lines(store)["alpha"]["removed"] is True
    fresh = Store(store.files)
    assert fresh.environment_ids() == {"toy:One-v0": "alpha", "toy:Two-v0": "alpha"}
    with pytest.raises(HubRefusal, match="the environment id 'toy:One-v0' belongs to alpha"):
        fresh.admits(synthetic_release("beta", "0.1.0", ["toy:One-v0"])[0])
    with pytest.raises(HubRefusal, match="the environment id 'toy:One-v0' belongs to alpha"):
        put(fresh, "beta", "0.1.0", ["toy:One-v0-hard"])
    assert fresh.packages() == ["alpha"]


def test_ids_that_were_claimed_meanwhile_are_noticed(store: Store) -> None:
    """A store that knew an older hub sees what another process has claimed since."""
    other = Store(store.files)
    put(store, "alpha", "0.1.0", ["toy:One-v0"])
    assert store.environment_ids() == {"toy:One-v0": "alpha"}
    put(other, "beta", "0.1.0", ["toy:Two-v0"])
    with pytest.raises(HubRefusal, match="'toy:Two-v0' belongs to beta"):
        put(store, "alpha", "0.2.0", ["toy:Two-v0"])


@settings(max_examples=20, deadline=None)
@given(st.lists(st.from_regex(r"[a-z]{1,3}(-[a-z]{1,2})?", fullmatch=True), unique=True, max_size=12))
def test_lists_that_grow_are_those_that_are_written_whole(names: list[str]) -> None:
    """A new name is put into the pages of all packages where a page of all names would have it."""
    pages: dict[str, bytes | None] = dict(list_pages([]))
    for number, name in enumerate(names):
        known = sorted(names[:number])
        successor = next((other for other in known if other > name), "")
        before, pages = pages, dict(extended_lists(pages, name, successor))
        for path in pages:  # a kill came between the two files
            assert extended_lists({**before, path: pages[path]}, name, successor) == {}
        assert pages == list_pages(sorted([*known, name]))
    assert extended_lists(dict.fromkeys(pages, b""), "x", "") == {}
    assert all(extended_lists(pages, name, "") == {} for name in names)


def test_a_publication_looks_at_its_own_package_alone(
    tmp_path: Path, wheel: Callable[..., Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    """In a process that knows the hub, the gate and the store list no folder of all packages, and read none of them."""
    store = Store(tmp_path / "hub")
    for number in range(5):
        put(store, f"known-{number}{number}{number}", "0.1.0", [f"toy{number}:One-v0"])
    store.taken()
    listed: list[str] = []
    read_paths: list[str] = []
    real_names, real_read = HubFolder.names, HubFolder.read
    monkeypatch.setattr(HubFolder, "names", lambda self, path: (listed.append(path), real_names(self, path))[1])
    monkeypatch.setattr(HubFolder, "read", lambda self, path: (read_paths.append(path), real_read(self, path))[1])
    for version in ("0.1.0", "0.2.0"):
        path = wheel("quite-another", version, ids=["another:One-v0"])
        (attempt,) = examine_all([(path.name, path.read_bytes(), path)], Destination(store, "someone", HubPolicy()))
        assert not [one for one in attempt.refusals if one.code.startswith(("name", "id"))]
        publish_wheel(store, path)
    assert not {"releases", "events"} & set(listed)
    assert [path for path in read_paths if "known-" in path] == []
    monkeypatch.undo()
    assert store.rebuild(check=True) == []


def test_a_file_that_is_not_what_the_record_says_is_refused(store: Store, wheel: Callable[..., Path]) -> None:
    """What counts is what was copied, not what the file was when the record was written."""
    path = wheel()
    release, metadata = read_wheel(path)
    path.write_bytes(path.read_bytes() + b"\0")
    with pytest.raises(HubRefusal, match="has it been built anew meanwhile"):
        store.publish(release, path, metadata)
    with pytest.raises(HubRefusal, match="the metadata is not what"):
        store.publish(release, path, metadata + b"\n")
    with pytest.raises(HubRefusal, match="needs the file itself"):
        store.publish(release, None, metadata)
    assert store.packages() == []
    assert not list(store.files.files("files"))


def test_a_yanked_release_is_no_longer_what_search_shows(store: Store) -> None:
    """Search shows the newest version that is sound; pre-releases only where there is nothing else."""
    for version in ("0.9.0", "0.10.0", "1.0rc1"):
        put(store, "alpha", version)
    assert lines(store)["alpha"]["version"] == "0.10.0"
    assert store.add_event(Yank(name="alpha", version="0.10.0", reason="wrong rewards", **BY))
    assert lines(store)["alpha"]["version"] == "0.9.0"
    assert lines(store)["alpha"]["yanked"] == {"0.10.0": "wrong rewards"}
    store.add_event(Yank(name="alpha", version="0.9.0", reason="too", **BY))
    assert lines(store)["alpha"]["version"] == "1.0rc1"
    assert store.add_event(Unyank(name="alpha", version="0.10.0", **BY))
    assert lines(store)["alpha"]["version"] == "0.10.0"
    assert [release["version"] for release in page(store, "alpha")["releases"]] == ["1.0rc1", "0.10.0", "0.9.0"]


def test_an_event_that_changes_nothing_is_not_recorded(store: Store) -> None:
    """A second yank for the same reason, an unyank of what is not yanked and the like leave the hub as it was."""
    put(store, "alpha", "0.1.0")
    store.add_event(Yank(name="alpha", version="0.1.0", reason="bad", **BY))
    before = contents(store.files)
    for event in (
        Yank(name="alpha", version="0.1.0", reason="bad", by="someone", created="2026-02-01T12:00:00Z"),
        Lift(name="alpha", reason="fine", **BY),
        Owner(name="alpha", action="add", owner="someone", **BY),
    ):
        assert not store.add_event(event)
    assert contents(store.files) == before
    assert store.add_event(Yank(name="alpha", version="0.1.0", reason="worse", **BY))


def test_unknown_names_are_answered_with_the_nearest(store: Store) -> None:
    """A typing mistake in a package, version or owner gets the name that was probably meant."""
    put(store, "alpha-envs", "0.1.0")
    for event, message in (
        (Deprecate(name="alpha-env", reason="x", **BY), "there is no package 'alpha-env' .* did you mean 'alpha-envs'"),
        (Unyank(name="alpha-envs", version="0.1", **BY), "there is no alpha-envs 0.1; did you mean '0.1.0'"),
        (Owner(name="alpha-envs", action="remove", owner="sameone", **BY), "did you mean 'someone'"),
    ):
        with pytest.raises(HubRefusal, match=message):
            store.add_event(event)


def test_a_quarantined_package_takes_no_release_and_keeps_its_deprecation(store: Store) -> None:
    """A quarantine stops publishing, shows its reason, and leaves what was there before when it is lifted."""
    put(store, "alpha", "0.1.0")
    store.add_event(Deprecate(name="alpha", reason="use beta", **BY))
    store.add_event(Quarantine(name="alpha", reason="reads keys", **BY))
    assert (lines(store)["alpha"]["status"], lines(store)["alpha"]["reason"]) == ("quarantined", "reads keys")
    assert page(store, "alpha")["releases"][0]["url"] == ""
    with pytest.raises(HubRefusal, match=r"quarantined \(reads keys\)"):
        put(store, "alpha", "0.2.0")
    store.add_event(Lift(name="alpha", reason="a false alarm", **BY))
    assert (lines(store)["alpha"]["status"], lines(store)["alpha"]["reason"]) == ("deprecated", "use beta")
    put(store, "alpha", "0.2.0")


def test_a_quarantined_package_whose_releases_are_yanked_is_still_found_by_an_audit(store: Store) -> None:
    """Yanking everything removes a package from search, but not its quarantine from the catalogue."""
    put(store, "alpha", "0.1.0")
    store.add_event(Yank(name="alpha", version="0.1.0", reason="bad", **BY))
    store.add_event(Quarantine(name="alpha", reason="reads keys", **BY))
    assert lines(store)["alpha"]["status"] == "quarantined"


def test_conformance_is_counted_and_kept(store: Store) -> None:
    """The catalogue counts the newest check of the version that it shows, without what is exempt; pages keep all."""
    put(store, "alpha", "0.1.0", ["toy:Thing-v0"])
    check = Conformance(name="alpha", version="0.1.0", record=RECORD, examples={"toy:Thing-v0": "You see."}, **BY)
    assert store.add_event(check)
    assert lines(store)["alpha"]["conformance"] == {
        "gem_core": "0.1.0",
        "holds": 2,
        "violated": 1,
        "not_tested": 1,
        "source": "author",
    }
    assert page(store, "alpha")["releases"][0]["environments"][0]["example_observation"] == "You see."
    assert not store.add_event(check)
    newer = {**RECORD, "gem_core": "0.2.0"}
    assert store.add_event(Conformance(name="alpha", version="0.1.0", record=newer, **BY))
    assert [record["gem_core"] for record in page(store, "alpha")["releases"][0]["conformance"]] == ["0.1.0", "0.2.0"]


def test_a_run_by_the_hub_is_shown_before_what_the_author_says(store: Store) -> None:
    """A later record of the author does not take the place of the hub's own run, and no run is of another wheel."""
    put(store, "alpha", "0.1.0", ["toy:Thing-v0"])
    release = store.existing("alpha").records[0]
    run = Conformance(name="alpha", version="0.1.0", record=RECORD, isolation="jail", sha256=release.sha256, **BY)
    assert store.add_event(run)
    assert store.add_event(Conformance(name="alpha", version="0.1.0", record={**RECORD, "gem_core": "9"}, **BY))
    shown = lines(store)["alpha"]["conformance"]
    assert (shown["source"], shown["gem_core"]) == ("hub", "0.1.0")
    assert page(store, "alpha")["releases"][0]["conformance_sources"] == ["hub", "author"]
    with pytest.raises(HubRefusal, match="conformance is about a wheel with sha256 000000000000"):
        store.add_event(run.model_copy(update={"sha256": "0" * 64}))


def test_a_hub_keeps_no_record_of_what_is_not_released(store: Store) -> None:
    """A record in mode ``source`` is refused by the store, and named where it lies in a hub."""
    release, metadata = synthetic_release("alpha", "0.1.0", mode="source")
    with pytest.raises(HubRefusal, match="mode 'source' has no file to publish"):
        store.publish(release, None, metadata)
    store.files.create(release.path, release.to_bytes())
    with pytest.raises(HubError, match="package without a release, of which a hub keeps no record"):
        store.rebuild()


def test_a_change_of_one_package_touches_nothing_of_the_others(store: Store) -> None:
    """Publishing writes the pages of its own package, the newest segment and ``root.json``, however many others are."""
    for number in range(70):
        put(store, f"package-{number}", "0.1.0")
    before = contents(store.files)
    put(store, "package-3", "0.2.0")
    after = contents(store.files)
    changed = {path for path in after if before.get(path) != after[path] and not path.startswith("files/")}
    (segment,) = (path for path in changed if path.startswith("catalog/seg-65-71-"))
    assert changed == {
        "releases/package-3/0.2.0.json",
        "badges/package-3.svg",
        "envs/package-3.json",
        "simple/package-3/index.html",
        "simple/package-3/index.json",
        segment,
        "root.json",
    }


def test_make_wheel_gives_the_same_bytes(tmp_path: Path) -> None:
    """The wheels of these tests do not depend on when they are made."""
    assert make_wheel(tmp_path / "a").read_bytes() == make_wheel(tmp_path / "b").read_bytes()


def test_everything_is_on_the_disk_before_it_gets_its_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each file is on the disk before it is put in its place, and then its folder is, so a power cut loses nothing."""
    store = Store(tmp_path / "hub")
    calls: list[str] = []

    def noting(name: str) -> Callable[..., object]:
        original = getattr(os, name)

        def call(*args: Any, **kwargs: Any) -> object:
            calls.append("fsync" if name == "fsync" else "named")
            return original(*args, **kwargs)

        return call

    for name in ("fsync", "link", "replace"):
        monkeypatch.setattr(os, name, noting(name))
    put(store, "alpha", "0.1.0")
    places = [number for number, call in enumerate(calls) if call == "named"]
    assert len(places) > 8
    assert all(calls[number - 1] == calls[number + 1] == "fsync" for number in places)


OWNED = [
    Yank(name="alpha", version="0.1.0", reason="bad", by="x"),
    Unyank(name="alpha", version="0.1.0", by="x"),
    Deprecate(name="alpha", reason="bad", by="x"),
    Undeprecate(name="alpha", by="x"),
    Quarantine(name="alpha", reason="bad", by="x"),
    Lift(name="alpha", reason="fine", by="x"),
    Owner(name="alpha", action="add", owner="eve", by="x"),
    Owner(name="alpha", action="remove", owner="alice", by="x"),
    Conformance(name="alpha", version="0.1.0", record=RECORD, by="x"),
]


@pytest.mark.parametrize("event", OWNED, ids=lambda event: event.kind)
def test_a_stranger_changes_nothing(store: Store, event: Any) -> None:
    """No event of an account that neither owns the package nor operates the hub is accepted, and nothing changes."""
    put(store, "alpha", "0.1.0", publisher="alice")
    put(store, "beta", "0.1.0", publisher="eve")
    before = contents(store.files)
    for stranger in ("eve", "nobody", "Alice", "alice "):
        with pytest.raises((HubRefusal, ValueError), match=r"may not request|by"):
            store.add_event(event.__class__.model_validate({**event.model_dump(), "by": stranger}))
    assert contents(store.files) == before


def test_operators_change_any_package(store: Store) -> None:
    """The accounts of the policy may yank, quarantine and lift; without them the account that owns the folder may."""
    put(store, "alpha", "0.1.0", publisher="alice")
    owner = store.files.owner() or "alice"  # nobody owns a bucket
    assert store.operators() == [owner] * (owner != "alice")
    assert store.add_event(Yank(name="alpha", version="0.1.0", reason="bad", by=owner))
    store.files.create("policy.json", b'{"operators": ["olga"]}')
    owner = "eve" if owner == "alice" else owner
    with pytest.raises(HubRefusal, match=rf"{owner!r} may not request 'unyank'; alice, olga may"):
        store.add_event(Unyank(name="alpha", version="0.1.0", by=owner))
    assert store.add_event(Quarantine(name="alpha", reason="reads keys", by="olga"))
    with pytest.raises(HubRefusal, match="'alice' may not request 'release'; olga may"):
        store.add_event(Lift(name="alpha", reason="fine", by="alice"))
    assert store.add_event(Lift(name="alpha", reason="fine", by="olga"))
    assert store.add_event(Quarantine(name="alpha", reason="my mistake", by="alice"))
    assert store.add_event(Lift(name="alpha", reason="fine", by="alice"))


def test_an_owner_who_left_changes_nothing(store: Store) -> None:
    """Rights end with ownership."""
    put(store, "alpha", "0.1.0", publisher="alice")
    store.add_event(Owner(name="alpha", action="add", owner="bob", by="alice"))
    store.add_event(Owner(name="alpha", action="remove", owner="alice", by="bob"))
    for event in (
        Yank(name="alpha", version="0.1.0", reason="bad", by="alice"),
        Deprecate(name="alpha", reason="b", by="alice"),
    ):
        with pytest.raises(HubRefusal, match="'alice' may not request"):
            store.add_event(event)
