"""``gem hub publish`` and the gate of pull requests, up to the conformance kit."""

from __future__ import annotations

import json
import socketserver
import threading
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result
from toy_hub import synthetic_release
from wheel_builder import MANIFEST, THING, Wheel

from gem_hub.cli.publish import publish_command
from gem_hub.errors import HubRefusal
from gem_hub.events import Quarantine
from gem_hub.gate import HubView, examine
from gem_hub.package import WheelPackage
from gem_hub.policy import HubPolicy
from gem_hub.publishing import Destination, add_record, examine_all
from gem_hub.publishing import publish as publish_all
from gem_hub.pull_request import command, examine_record
from gem_hub.recheck import fetch
from gem_hub.records import Release
from gem_hub.snapshot import snapshot_files
from gem_hub.storage import HubFolder
from gem_hub.store import Store
from gem_hub_client.errors import HubError
from gem_testing import CLAUSES
from gem_testing.record import KIT

SOUND = Wheel()
RIVAL = SOUND.named("rival-toys")
URL = "https://files.example/toy_envs-0.1.0-py3-none-any.whl"


def publish(*arguments: str | Path) -> Result:
    return CliRunner().invoke(publish_command, [*map(str, arguments), "--by", "someone", "--no-check"])


def answer(*arguments: str | Path) -> dict[str, Any]:
    """Return what ``--json`` prints."""
    result: dict[str, Any] = json.loads(publish(*arguments, "--json").stdout)
    return result


def files(folder: Path) -> Mapping[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


@pytest.fixture
def hub(tmp_path: Path) -> Path:
    """A hub that has toy-envs 0.1.0."""
    folder = tmp_path / "hub"
    assert publish(SOUND.write(tmp_path / "dist"), "--hub", folder).exit_code == 0
    return folder


def test_a_wheel_is_published_into_a_new_hub(tmp_path: Path) -> None:
    """The first wheel makes the hub; the record holds what the wheel says, and what comes next is told."""
    result = publish(SOUND.write(tmp_path), "--hub", tmp_path / "hub")
    assert result.exit_code == 0, result.output
    assert "gem hub install toy-envs" in result.output
    assert "not checked" in result.output
    release = Release.model_validate_json((tmp_path / "hub/releases/toy-envs/0.1.0.json").read_bytes())
    assert (release.publisher, release.mode, release.metadata.licence) == ("someone", "host", "MIT")
    assert [environment.id for environment in release.environments] == ["toy:Thing-v0", "toy:Thing-v0-easy"]


def test_the_same_file_again_changes_nothing(hub: Path, tmp_path: Path) -> None:
    """Publishing what is published is no failure, and no byte of the hub changes."""
    before = files(hub)
    result = publish(tmp_path / "dist" / SOUND.filename, "--hub", hub)
    assert (result.exit_code, files(hub)) == (0, before)
    assert "already published" in result.output


@pytest.mark.parametrize(
    ("wheel", "code"),
    [
        (SOUND.with_files({"toy_envs/thing.py": f"{THING}# fixed\n"}), "version.taken"),
        (SOUND.named("toy-env"), "name.similar"),
        (RIVAL, "id.taken"),
        (SOUND.with_files({"evil.pth": "import toy_envs"}), "content.start-up"),
    ],
)
def test_what_is_refused_changes_nothing(hub: Path, tmp_path: Path, wheel: Wheel, code: str) -> None:
    """A refusal says why, exits with 1 and leaves the hub as it was."""
    before = files(hub)
    path = wheel.write(tmp_path / "other")
    result = publish(path, "--hub", hub)
    assert result.exit_code == 1
    assert "Nothing was published" in result.output
    (told,) = answer(path, "--hub", hub)["wheels"]
    assert told["refusals"][0]["code"] == code
    assert files(hub) == before


def test_one_refusal_keeps_all_from_being_published(tmp_path: Path) -> None:
    """Of several wheels none is published if one is refused, and each is told its own reasons."""
    good = SOUND.write(tmp_path)
    bad = RIVAL.with_files({"evil.pth": ""}).write(tmp_path)
    stages = {wheel["filename"]: wheel["stage"] for wheel in answer(good, bad, "--hub", tmp_path / "hub")["wheels"]}
    assert stages == {good.name: "passed", bad.name: "refused"}
    assert not (tmp_path / "hub" / "root.json").exists()


def test_what_was_refused_is_not_published_by_hand(tmp_path: Path) -> None:
    """Whoever calls the function past the command cannot publish what the gate refused."""
    destination = Destination(Store(tmp_path / "hub"), "someone", HubPolicy())
    path = SOUND.with_files({"evil.pth": ""}).write(tmp_path)
    attempts = examine_all([(path.name, path.read_bytes(), path)], destination)
    with pytest.raises(HubRefusal, match="was refused"):
        publish_all(attempts, destination, print)
    with pytest.raises(HubRefusal, match="was refused"):
        add_record(attempts[0], destination)
    assert not (tmp_path / "hub").exists()


def test_wheels_of_one_call_are_compared_with_each_other(tmp_path: Path) -> None:
    """A wheel that takes an id of the one before it is refused as if that one were published already."""
    wheels = [SOUND.write(tmp_path), RIVAL.write(tmp_path)]
    told = answer(*wheels, "--hub", tmp_path / "hub")["wheels"]
    assert [[refusal["code"] for refusal in wheel["refusals"]] for wheel in told] == [[], ["id.taken"]]


def test_only_owners_publish(hub: Path, tmp_path: Path) -> None:
    """A newer version by somebody else is refused, with the command that would make them an owner."""
    newer = SOUND.named("toy-envs", version="0.2.0").write(tmp_path)
    result = CliRunner().invoke(publish_command, [str(newer), "--hub", str(hub), "--by", "else", "--no-check"])
    assert result.exit_code == 1
    assert "gem hub owner add toy-envs else" in result.output
    assert publish(newer, "--hub", hub).exit_code == 0


def test_nothing_is_published_for_what_is_quarantined(hub: Path, tmp_path: Path) -> None:
    """A quarantine keeps newer versions out too."""
    Store(hub).add_event(Quarantine(name="toy-envs", by="someone", reason="steals"))
    newer = SOUND.named("toy-envs", version="0.2.0").write(tmp_path)
    (told,) = answer(newer, "--hub", hub)["wheels"]
    assert [refusal["code"] for refusal in told["refusals"]] == ["name.quarantined"]


def test_a_dry_run_writes_nothing(tmp_path: Path) -> None:
    """With --dry-run all is checked, and not even the hub's folder is made."""
    result = publish(SOUND.write(tmp_path / "dist"), "--hub", tmp_path / "hub", "--dry-run")
    assert result.exit_code == 0
    assert not (tmp_path / "hub").exists()


def test_a_link_keeps_the_file_where_it_is(tmp_path: Path) -> None:
    """With --url the hub pins address and digest, and does not copy the wheel."""
    hub = tmp_path / "hub"
    assert publish(SOUND.write(tmp_path / "dist"), "--hub", hub, "--url", URL).exit_code == 0
    assert json.loads((hub / "envs/toy-envs.json").read_bytes())["releases"][0]["url"] == URL
    assert not list(hub.rglob("*.whl"))


def test_an_address_that_is_not_of_this_file_is_refused(tmp_path: Path) -> None:
    """An address that ends in another name could not be installed."""
    result = publish(SOUND.write(tmp_path / "dist"), "--hub", tmp_path / "hub", "--url", "https://files.example/x.whl")
    assert isinstance(result.exception, HubRefusal)
    assert "must end in" in str(result.exception)


@pytest.mark.parametrize("arguments", [[], ["a.whl", "b.whl", "--url", URL], ["a.whl", "--pull-request"], ["a.whl"]])
def test_wrong_use_is_told(arguments: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What the command needs and was not given is a usage error."""
    monkeypatch.chdir(tmp_path)
    assert publish(*arguments).exit_code == 2


def test_a_folder_that_is_no_hub_stays_untouched(tmp_path: Path) -> None:
    """A mistyped folder with something in it is not made a hub of."""
    path = SOUND.write(tmp_path / "dist")
    assert publish(path, "--hub", tmp_path / "dist").exit_code == 2
    assert list(files(tmp_path / "dist")) == [path.name]


class TestPolicy:
    """What the operator of a hub can decide, and what not."""

    def test_a_look_alike_can_be_accepted(self, hub: Path, tmp_path: Path) -> None:
        """A name that was accepted, with a reason, passes with a warning; other names do not."""
        wheel = SOUND.named("toy-env")
        manifest = MANIFEST.replace("toy_envs", "toy_env").replace("toy:", "more:")
        wheel = replace(wheel, entry_points="[gem.envs]\nmore = toy_env\n")
        wheel = wheel.with_files({"toy_env/environments.toml": manifest})
        path = wheel.write(tmp_path)
        assert publish(path, "--hub", hub).exit_code == 1
        policy = {"accepted": {"toy-env": {"name.similar": "the author of toy-envs has agreed"}}}
        (hub / "policy.json").write_text(json.dumps(policy), encoding="utf-8")
        result = publish(path, "--hub", hub)
        assert result.exit_code == 0, result.output
        assert "accepted by the policy" in result.output

    @pytest.mark.parametrize("code", ["content.start-up", "record.hash", "zip.confusion", "id.taken"])
    def test_safety_cannot_be_given_up(self, code: str, tmp_path: Path) -> None:
        """What protects whoever installs a package is no matter of policy."""
        policy = {"accepted": {"toy-envs": {code: "because"}}}
        (tmp_path / "policy.json").write_text(json.dumps(policy), encoding="utf-8")
        with pytest.raises(HubError, match=code):
            HubPolicy.of(tmp_path)

    def test_a_broken_policy_is_no_policy(self, tmp_path: Path) -> None:
        """A policy that cannot be read stops the command, rather than that nothing is allowed or everything."""
        (tmp_path / "policy.json").write_text("{", encoding="utf-8")
        with pytest.raises(HubError, match=r"policy\.json"):
            HubPolicy.of(tmp_path)


class TestPullRequest:
    """The way into an index that takes pull requests."""

    @pytest.fixture
    def wheel(self, tmp_path: Path) -> Path:
        return (
            SOUND.named("new-toys")
            .with_files(
                {"new_toys/environments.toml": MANIFEST.replace("toy_envs", "new_toys").replace("toy:Thing", "toy:New")}
            )
            .write(tmp_path / "new")
        )

    @pytest.fixture
    def record(self, hub: Path, wheel: Path) -> Path:
        """The record that ``--pull-request`` writes."""
        before = files(hub)
        result = publish(wheel, "--hub", hub, "--pull-request", "--url", f"https://files.example/{wheel.name}")
        assert result.exit_code == 0, result.output
        assert files(hub).keys() - before.keys() == {"releases/new-toys/0.1.0.json"}
        assert {path: content for path, content in files(hub).items() if path in before} == before
        return hub / "releases/new-toys/0.1.0.json"

    def base(self, record: Path) -> Path:
        """Take the record out of the index again, as the branch is that the pull request is for."""
        copy = record.parents[3] / "record.json"
        record.replace(copy)
        record.parent.rmdir()
        return copy

    def edited(self, copy: Path, changes: dict[str, Any]) -> Path:
        """Change values of a record; ``a.b`` is the key ``b`` of the table ``a``."""
        content = json.loads(copy.read_bytes())
        for key, value in changes.items():
            table, _, name = key.rpartition(".")
            (content[table] if table else content)[name] = value
        copy.write_text(json.dumps(content), encoding="utf-8")
        return copy

    def test_a_merged_record_is_numbered_by_a_rebuild(self, hub: Path, record: Path) -> None:
        """After the merge a rebuild, which needs no wheel, puts the package into the catalogue."""
        serial = json.loads((hub / "root.json").read_bytes())["serial"]
        Store(hub).rebuild()
        assert json.loads(record.read_bytes())["serial"] == serial + 1
        assert json.loads((hub / "envs/new-toys.json").read_bytes())["releases"][0]["version"] == "0.1.0"

    def test_an_honest_record_passes(self, hub: Path, record: Path, wheel: Path) -> None:
        """The gate of pull requests lets through what the command has written."""
        copy = self.base(record)
        assert examine_record(hub, copy, "someone", wheel).verdict.passed
        arguments = [str(hub), str(copy), "--author", "someone", "--wheel", str(wheel), "--no-check"]
        assert CliRunner().invoke(command, arguments).exit_code == 0

    @pytest.mark.parametrize(
        ("changes", "message"),
        [
            ({"publisher": "the-project"}, "opened the pull request"),
            ({"serial": 9}, "serial 0"),
            ({"published": "2999-01-01T00:00:00Z"}, "future"),
            ({"sha256": "0" * 64}, "sha256"),
            ({"size": 1}, "size"),
            ({"metadata.summary": "The best toys."}, "metadata"),
            ({"metadata.requires_dist": []}, "metadata"),
            ({"environments": []}, "environments"),
            ({"metadata_sha256": "0" * 64}, "metadata_sha256"),
            ({"extra": 1}, "extra"),
        ],
    )
    def test_a_record_that_lies_is_refused(
        self, hub: Path, record: Path, wheel: Path, changes: dict[str, Any], message: str
    ) -> None:
        """Whatever a record says other than the wheel, or than is true, is refused with the field's name."""
        copy = self.base(record)
        with pytest.raises(HubRefusal, match=message):
            examine_record(hub, self.edited(copy, changes), "someone", wheel)

    def test_another_wheel_than_the_record_is_about_is_refused(self, hub: Path, record: Path, tmp_path: Path) -> None:
        """Other bytes behind the address do not get in."""
        copy = self.base(record)
        other = (
            Wheel()
            .named("new-toys")
            .with_files(
                {
                    "new_toys/environments.toml": MANIFEST.replace("toy_envs", "new_toys").replace(
                        "toy:Thing", "toy:Other"
                    )
                }
            )
        )
        with pytest.raises(HubRefusal, match="sha256"):
            examine_record(hub, copy, "someone", other.write(tmp_path / "other"))

    @pytest.mark.parametrize(("identity", "codes"), [("toy:New-v0", ["id.taken"]), ("toy:Other-v0", [])])
    def test_what_is_not_released_yet_is_taken_too(
        self, hub: Path, record: Path, wheel: Path, tmp_path: Path, identity: str, codes: list[str]
    ) -> None:
        """In an index, packages without a release own their ids, and those of GEM make their owner official."""
        release, _ = synthetic_release("gem-envs-games", "0.1.0", [identity], publisher="gem", mode="source")
        for path, content in snapshot_files([WheelPackage.of(release.name, [release], [])]).items():
            HubFolder(tmp_path / "unreleased").replace(path, content)
        taken = examine_record(hub, self.base(record), "someone", wheel, tmp_path / "unreleased")
        assert [refusal.code for refusal in taken.refusals] == codes
        assert HubView().with_unreleased(tmp_path / "unreleased").official_owners == {"gem"}

    def test_a_checkout_of_an_index_knows_its_ids(self, hub: Path) -> None:
        """Where records lie without anything derived from them, their ids are as taken as in a whole hub."""
        taken = Store(hub).environment_ids()
        assert taken
        (hub / "root.json").unlink()
        assert Store(hub).environment_ids() == taken

    def test_only_https_is_fetched(self, hub: Path, record: Path) -> None:
        """A record cannot make the gate read files of the machine that it runs on."""
        copy = self.edited(self.base(record), {"url": "file:///etc/new_toys-0.1.0-py3-none-any.whl"})
        with pytest.raises(HubRefusal, match="https"):
            examine_record(hub, copy, "someone")


ANSWERS = {
    "no answer of HTTP": b"\x16\x03\x01 hello\r\n\r\n",
    "a line without end": b"HTTP/1.1 200 OK\r\nX: " + b"x" * 100_000,
    "a chunk that is none": b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\nwheel",
    "another way of transport": b"HTTP/1.1 302 Found\r\nLocation: ftp://127.0.0.1/wheel\r\n\r\n",
    "a file of this machine": b"HTTP/1.1 302 Found\r\nLocation: file:///etc/hostname\r\n\r\n",
    "an address that is none": b"HTTP/1.1 302 Found\r\nLocation: http://[::1\r\n\r\n",
}


@pytest.mark.parametrize("answer", ANSWERS.values(), ids=ANSWERS)
def test_the_server_of_a_wheel_ends_no_gate_with_an_error_of_python(answer: bytes) -> None:
    """Whatever lies at the address in a record, the wheel cannot be fetched, and the reason has one sentence."""

    class Server(socketserver.BaseRequestHandler):
        def handle(self) -> None:
            self.request.recv(1 << 16)
            self.request.sendall(answer)

    with socketserver.TCPServer(("127.0.0.1", 0), Server) as server:
        thread = threading.Thread(target=server.handle_request)
        thread.start()
        with pytest.raises(HubError, match=f"^http://127.0.0.1:{server.server_address[1]}/"):
            fetch(f"http://127.0.0.1:{server.server_address[1]}/new_toys-0.1.0-py3-none-any.whl")
        thread.join()


def record_of(wheel: Wheel, folder: Path, gem_core: str) -> Path:
    """Write a record in which every clause holds."""
    verdict = examine(*wheel.build(), "someone")
    assert verdict.wheel is not None
    clauses = [{"clause": c, "outcome": "holds", "message": "", "advice": "", "exempt": False} for c in CLAUSES]
    environments = [
        {"id": spec.id, "spec": spec.to_dict(), "clauses": clauses, "scores": {}, "speed": None, "errors": []}
        for spec in verdict.specs
    ]
    package = {
        "distribution": verdict.wheel.name,
        "version": verdict.wheel.version,
        "import_name": "toy_envs",
        "namespaces": ["toy"],
        "source_digest": verdict.wheel.source_digest("toy_envs"),
        "complete": True,
        "problem": "",
        "environments": environments,
    }
    told = {
        "schema": 1,
        "kit": KIT,
        "gem_core": gem_core,
        "python": "3.12.0",
        "implementation": "CPython",
        "platform": "Linux",
    }
    path = folder / f"record-{gem_core}.json"
    path.write_text(json.dumps({**told, "packages": [package]}), encoding="utf-8")
    return path


def test_what_was_published_unchecked_is_checked_later(hub: Path, tmp_path: Path) -> None:
    """Publishing the same wheel again with a record adds it, one column for each gem-core, and a second time nothing.

    The hub is also as after a kill between the record of a release and that of the kit.
    """
    wheel = SOUND.write(tmp_path / "dist")
    assert json.loads((hub / "envs/toy-envs.json").read_bytes())["releases"][0]["conformance"] == []
    for gem_core in ("0.1.0", "0.2.0", "0.2.0"):
        arguments = [
            str(wheel),
            "--hub",
            str(hub),
            "--by",
            "someone",
            "--report",
            str(record_of(SOUND, tmp_path, gem_core)),
        ]
        result = CliRunner().invoke(publish_command, arguments)
        assert (result.exit_code, "already published" in result.output) == (0, True), result.output
    (release,) = json.loads((hub / "envs/toy-envs.json").read_bytes())["releases"]
    assert [record["gem_core"] for record in release["conformance"]] == ["0.1.0", "0.2.0"]
    assert release["conformance_sources"] == ["author", "author"]
    strangers = [*arguments[:-3], "eve", *arguments[-2:]]
    before = files(hub)
    assert CliRunner().invoke(publish_command, strangers).exit_code == 0
    assert files(hub) == before
