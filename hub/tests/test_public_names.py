"""Whether a name of the public index, or a dependency of another package, can be taken over in a hub."""

from __future__ import annotations

import json
import random
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st
from toy_hub import make_wheel, publish_wheel
from toy_hub import read_wheel as record_of
from wheel_builder import MANIFEST, Wheel

from gem_hub.cli.publish import publish_command
from gem_hub.gate import GateResult, HubView, examine
from gem_hub.name_filter import FILE_NAME, NameFilter, well_known_names
from gem_hub.name_filter import command as build_filter
from gem_hub.policy import HubPolicy
from gem_hub.public_names import PublicIndex, PublicNames
from gem_hub.store import Store
from gem_hub_client.config import hub_at
from gem_hub_client.errors import HubError
from gem_hub_client.package_index import PackageIndex
from gem_hub_client.resolve import Resolution, requirement, resolve

LETTERS = "abcdefghijklmnopqrstuvwxyz0123456789"
names = st.lists(st.text(LETTERS, min_size=1, max_size=8), min_size=1, max_size=3).map("-".join)


@given(known=st.sets(names, max_size=60), other=names)
def test_a_filter_has_every_name_and_survives_a_file(known: set[str], other: str) -> None:
    """No name is missed, in any spelling; the file gives the same answers; names of other letters are hardly in it."""
    made = NameFilter.of((name.upper().replace("-", "_") for name in known), "2026-11-22")
    assert all(name in made for name in known)
    assert all(name.replace("-", ".") in made for name in known)
    assert other in known or other not in made or known
    head, _, content = made.to_bytes().partition(b"\n")
    assert json.loads(head)["names"] == made.names == len(known)
    assert len(content) <= 8 + 3 * len(known)


def test_a_filter_is_small_and_seldom_wrong(tmp_path: Path) -> None:
    """For 20,000 synthetic names the file has 20 bits a name, and at most one in 2,000 other names is taken for one."""
    choose = random.Random(3)
    some = ["".join(choose.choices(LETTERS, k=10)) for _ in range(40_000)]
    listed = tmp_path / "names.txt"
    listed.write_text("\n".join(some[:20_000]), encoding="utf-8")
    target = tmp_path / FILE_NAME
    result = CliRunner().invoke(build_filter, [str(listed), str(target), "--date", "2026-11-22"])
    assert result.exit_code == 0, result.output
    read = NameFilter.from_bytes(target.read_bytes(), target.name)
    assert all(name in read for name in some[:20_000])
    assert sum(name in read for name in some[20_000:]) <= 10
    assert target.stat().st_size <= 20_000 * 20 / 8 + 200


@pytest.mark.parametrize("damage", [b"", b"{}\n", b"x" * 100, None])
def test_a_damaged_filter_is_an_error(tmp_path: Path, damage: bytes | None) -> None:
    """A filter that was changed or cut off stops the gate, because it would let names pass."""
    content = bytearray(NameFilter.of(["sympy"], "2026-11-22").to_bytes())
    content[-1] ^= 1
    (tmp_path / FILE_NAME).write_bytes(bytes(content) if damage is None else damage)
    with pytest.raises(HubError, match="is no filter of names"):
        PublicNames.of(Store(tmp_path), guarded=False)


@contextmanager
def public_index(projects: dict[str, list[str]], status: int = 404) -> Iterator[str]:
    """Serve a package index (PEP 691): project → digests of its files; ``status`` for all others."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            name = self.path.split("/")[-2]
            found = self.path.startswith("/simple/") and name in projects
            files = [{"filename": "x.whl", "hashes": {"sha256": digest}} for digest in projects.get(name, [])]
            self.send_response(200 if found else status)
            self.end_headers()
            self.wfile.write(json.dumps({"name": name, "files": files}).encode())

        def log_message(self, *arguments: object) -> None:
            """Say nothing."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_address[1]}/simple/"
        finally:
            server.shutdown()
            thread.join()


def wheel_named(name: str, version: str = "99.0.0") -> Wheel:
    package = name.replace("-", "_")
    return Wheel().named(name, package, version)


def judged(name: str, public: PublicNames, policy: HubPolicy = HubPolicy()) -> GateResult:  # noqa: B008
    return examine(*wheel_named(name).build(), "mallory", HubView(public=public), policy)


SQUATTED = [
    "sympy",
    "torch",
    "requests",
    "transformers",
    "math-verify",
    "reasoning-gym",
    "pillow",
    "datasets",
    "verifiers",
]


@pytest.mark.parametrize("name", SQUATTED)
def test_a_name_of_the_public_index_is_refused(name: str) -> None:
    """By the filter, by a look-up, and in a guarded hub without either; other names pass where something is known."""
    known = NameFilter.of(SQUATTED, "2026-11-22")
    assert [refusal.code for refusal in judged(name, PublicNames(names=known)).refusals] == ["name.public"]
    assert [refusal.code for refusal in judged(name, PublicNames(guarded=True)).refusals] == ["name.public"]
    assert judged(f"{name}-in-a-maze", PublicNames(names=known, guarded=True)).passed
    assert [r.code for r in judged(f"{name}-in-a-maze", PublicNames(guarded=True)).refusals] == ["name.public"]


def test_a_look_up_decides_by_the_digest() -> None:
    """A project that lists this very wheel is the publisher's; another one, and an index that fails, are refused."""
    digest = examine(*wheel_named("sympy").build(), "x").sha256
    with public_index({"sympy": ["0" * 64, digest], "torch": ["0" * 64], "empty": []}) as url:
        index = PublicNames(PublicIndex(url), guarded=True)
        assert judged("sympy", index).passed
        assert judged("never-there", index).passed
        for name in ("torch", "empty"):
            (refusal,) = judged(name, index).refusals
            assert "does not list this wheel" in refusal.message
    with public_index({}, status=503) as url:
        (refusal,) = judged("sympy", PublicNames(PublicIndex(url))).refusals
        assert "answers 503" in refusal.message
    (refusal,) = judged("sympy", PublicNames(PublicIndex("http://127.0.0.1:9/simple"))).refusals
    assert "cannot be looked up" in refusal.message


def test_the_operator_may_accept_a_name() -> None:
    """A false alarm of the filter is overruled in the policy."""
    policy = HubPolicy(accepted={"sympy": {"name.public": "a false alarm"}})
    assert judged("sympy", PublicNames(names=NameFilter.of(["sympy"], "2026-11-22")), policy).passed


def test_a_hub_with_a_filter_uses_it(tmp_path: Path) -> None:
    """The file in the hub's folder, and the policy beside it, count for publishing."""
    hub = tmp_path / "hub"
    hub.mkdir()
    (hub / "releases").mkdir()
    wheel = wheel_named("rare-sympathy").write(tmp_path / "dist")
    arguments = [str(wheel), "--hub", str(hub), "--no-check", "--dry-run"]
    assert CliRunner().invoke(publish_command, arguments).exit_code == 0
    (hub / "policy.json").write_text('{"guarded": true}', encoding="utf-8")
    assert "may be a project of the public index" in CliRunner().invoke(publish_command, arguments).output
    (hub / FILE_NAME).write_bytes(NameFilter.of(["rare-sympathy"], "2026-11-22").to_bytes())
    refused = CliRunner().invoke(publish_command, arguments)
    assert (refused.exit_code, "as of 2026-11-22" in refused.output) == (1, True)
    with public_index({"other": []}) as url:
        assert CliRunner().invoke(publish_command, [*arguments, "--public-index", url]).exit_code == 0


@pytest.mark.parametrize("name", [*SQUATTED[:6], "yaml", "cv2", "sklearn", "pil", "bs4", "gymnasium", "verl"])
def test_a_hub_guards_well_known_names_without_any_setting(tmp_path: Path, name: str) -> None:
    """Projects that everybody installs, and what libraries are imported as, are refused with the line that lifts it."""
    public = PublicNames.of(Store(tmp_path), guarded=False)
    (refusal,) = [one for one in judged(name, public).refusals if one.code == "name.public"]
    assert f'"accepted": {{"{name}": {{"name.public": "REASON"}}}} to policy.json' in refusal.message
    assert "name.public" not in {one.code for one in judged(f"{name}-quest", public).refusals}


def test_well_known_names_are_few_enough_to_leave_others_alone() -> None:
    """The filter takes next to no other name for one of its own, and does not know those of this project."""
    known = well_known_names()
    assert known.names > 15_000
    assert sum(f"quest-number-{number}" in known for number in range(20_000)) < 20
    assert [name for name in ("my-envs", "toy-envs", "treasure-envs") if name in known] == []


def test_the_index_for_other_names_is_asked(tmp_path: Path) -> None:
    """A hub that sends installers to another index for unknown names takes none of that index's names."""
    with public_index({"rare-sympathy": ["0" * 64]}) as url:
        (tmp_path / "hub.json").write_text(json.dumps({"format": 1, "fallback": f"{url}/"}), encoding="utf-8")
        public = PublicNames.of(Store(tmp_path), guarded=False)
        assert "does not list this wheel" in public.objection("rare-sympathy", "1" * 64)
        assert public.objection("never-there", "1" * 64) == ""


def test_a_well_known_import_is_refused_under_any_name_and_policy() -> None:
    """A package whose name is its own may not bring yaml/, also where its import name was accepted."""
    wheel = Wheel().named("rare-sympathy", "yaml", "1.0")
    policy = HubPolicy(accepted={"rare-sympathy": {"content.import-name": "it is known"}})
    assert "content.foreign" in {one.code for one in examine(*wheel.build(), "x", HubView(), policy).refusals}


def test_what_is_installed_here_is_not_another_package(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A module of this machine's installation is refused, unless the package itself brought it."""
    site = tmp_path / "site-packages"
    (site / "rare_sympathy").mkdir(parents=True)
    (site / "rare_sympathy/__init__.py").touch()
    monkeypatch.syspath_prepend(str(site))
    (refusal,) = judged("rare-sympathy", PublicNames()).refusals
    assert refusal.code == "content.installed"
    info = site / "rare_sympathy-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: rare-sympathy\nVersion: 1.0\n", encoding="utf-8")
    assert judged("rare-sympathy", PublicNames()).passed


@pytest.mark.parametrize(
    ("line", "header", "codes"),
    [
        ('hub_requires = ["base-envs"]', "Requires-Dist: base-envs>=0.1", []),
        ('hub_requires = ["Base_Envs"]', "Requires-Dist: base-envs>=0.1", []),
        ('hub_requires = ["base-envs"]', "Requires-Dist: other", ["manifest.hub-requires"]),
        ('hub_requires = ["not-there"]', "Requires-Dist: not-there", ["manifest.hub-requires"]),
        ('hub_requires = "base-envs"', "Requires-Dist: base-envs", ["manifest.invalid"]),
    ],
)
def test_a_package_declares_what_it_needs_from_the_hub(line: str, header: str, codes: list[str]) -> None:
    """The declaration names packages of the hub that are required; the record carries it."""
    wheel = Wheel().with_files({"toy_envs/environments.toml": MANIFEST.replace("schema = 1", f"schema = 1\n{line}", 1)})
    wheel = Wheel(files=wheel.files, headers=(*wheel.headers, header))
    verdict = examine(*wheel.build(), "someone", HubView(packages={"base-envs"}))
    assert [refusal.code for refusal in verdict.refusals] == codes
    if not codes:
        assert verdict.release("someone").hub_requires == ["base-envs"]


class TestResolver:
    """Where dependencies come from."""

    @pytest.fixture
    def store(self, tmp_path: Path) -> Store:
        """A hub in which mallory has published what others need from the public index."""
        store = Store(tmp_path / "hub")
        publish_wheel(store, make_wheel(tmp_path, "requests", "99.0.0", ("evil:Thing-v0",), metadata=()), "mallory")
        return store

    def publish(self, store: Store, folder: Path, declared: list[str]) -> None:
        wheel = make_wheel(folder, "uses-requests", "1.0", ("use:Thing-v0",), metadata=("Requires-Dist: requests>=2",))
        release, metadata = record_of(wheel)
        store.publish(release.model_copy(update={"hub_requires": declared}), wheel, metadata)

    def resolved(self, store: Store, *names: str) -> Resolution:
        return resolve([requirement(name) for name in names], PackageIndex([hub_at(str(store.folder))]), "0.1.0")

    def test_a_dependency_that_was_not_declared_comes_from_no_hub(self, store: Store, tmp_path: Path) -> None:
        """The squatter's higher version in the hub does not count."""
        self.publish(store, tmp_path, [])
        found = self.resolved(store, "uses-requests")
        assert [choice.release.name for choice in found.choices] == ["uses-requests"]
        assert found.others == ("requests>=2",)

    def test_a_declared_dependency_comes_from_the_hub_alone(self, store: Store, tmp_path: Path) -> None:
        """A declared package is taken from the hub; it is an error if the hub does not have it."""
        self.publish(store, tmp_path, ["requests"])
        assert [choice.release.name for choice in self.resolved(store, "uses-requests").choices] == [
            "uses-requests",
            "requests",
        ]
        wheel = make_wheel(tmp_path, "lost-envs", "1.0", ("lost:Thing-v0",), metadata=("Requires-Dist: nowhere",))
        release, metadata = record_of(wheel)
        store.publish(release.model_copy(update={"hub_requires": ["nowhere"]}), wheel, metadata)
        with pytest.raises(HubError, match=r"lost-envs 1\.0 needs nowhere from .*, which has no such package"):
            self.resolved(store, "lost-envs")

    def test_a_declared_dependency_comes_from_no_other_hub(self, store: Store, tmp_path: Path) -> None:
        """A package of the same name in a hub that is searched first does not take the place of the declared one."""
        own = Store(tmp_path / "own")
        publish_wheel(own, make_wheel(tmp_path / "own-base", "requests", "3.0", ("own:Base-v0",), metadata=()))
        self.publish(own, tmp_path, ["requests"])
        hubs = [hub_at(str(store.folder)), hub_at(str(own.folder))]
        with pytest.raises(HubError, match="has another package of that name; install it from one hub"):
            resolve([requirement("uses-requests")], PackageIndex(hubs), "0.1.0")
        assert len(resolve([requirement("uses-requests")], PackageIndex(hubs[1:]), "0.1.0").choices) == 2

    def test_a_declared_package_without_environments_is_no_package_of_a_hub(self, store: Store, tmp_path: Path) -> None:
        """Libraries come from the public index; a hub's library is not taken even if it is declared."""
        wheel = make_wheel(tmp_path, "plain-lib", "1.0", ("lib:Thing-v0",), metadata=())
        release, metadata = record_of(wheel)
        store.publish(release.model_copy(update={"environments": []}), wheel, metadata)
        wheel = make_wheel(tmp_path, "user-envs", "1.0", ("user:Thing-v0",), metadata=("Requires-Dist: plain-lib",))
        release, metadata = record_of(wheel)
        store.publish(release.model_copy(update={"hub_requires": ["plain-lib"]}), wheel, metadata)
        with pytest.raises(HubError, match="has no environments"):
            self.resolved(store, "user-envs")
