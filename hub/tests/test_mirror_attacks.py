"""What a mirror without any key can make of a signed hub: nothing but what the hub said, or a refusal."""

from __future__ import annotations

import gzip
import hashlib
import json
import shutil
import tempfile
from collections.abc import Callable, Iterator
from functools import partial
from importlib.metadata import distributions
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from hub_mirror import (
    PLACES,
    TAMPERINGS,
    URL,
    Mirror,
    fail,
    foreign_release,
    mirrored,
    replay,
    signed_history,
    without_yanks,
)
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, precondition, rule, run_state_machine_as_test

from gem_hub_client.audit import audit
from gem_hub_client.cli.group import hub_command
from gem_hub_client.config import hub_at
from gem_hub_client.errors import HubError
from gem_hub_client.federated_search import search_hubs
from gem_hub_client.install import plan
from gem_hub_client.installed import InstalledPackage
from gem_hub_client.lock import lockable
from gem_hub_client.pages import find_page
from gem_hub_client.state import State
from gem_hub_client.verify import verify

HUB = hub_at(URL)
NAMES = ("toy-envs", "toy-envs==0.2.0", "toy-maze", "toy-quest")


@pytest.fixture(scope="module")
def states(tmp_path_factory: pytest.TempPathFactory) -> list[dict[str, bytes]]:
    """The hub after each of its changes."""
    folder = tmp_path_factory.mktemp("history")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("os.fsync", lambda number: None)
        patch.delenv("GEM_HUB_ONLINE_KEY", raising=False)
        return signed_history(folder)


@pytest.fixture
def mirror(states: list[dict[str, bytes]], tmp_path: Path) -> Iterator[Mirror]:
    """A mirror of the hub, whose key a client has pinned at the first state."""
    with mirrored(states, tmp_path) as mirror:
        find_page("toy-quest", [HUB])
        yield mirror


def planned(name: str) -> Any:
    """Return what would be installed, with all that decides over it."""
    return [
        (str(item.release), item.release.url, item.release.sha256, item.release.yanked, item.warnings)
        for item in plan([name], [HUB]).items
    ]


def locked(name: str) -> Any:
    return [(str(choice.release), choice.release.sha256) for choice in lockable([name], [HUB]).choices]


def shown(name: str) -> Any:
    found = find_page(name.partition("=")[0], [HUB])
    return (found.record, found.page)


def audited(name: str) -> Any:
    """Return what an audit says of this package where it is installed."""
    package, _, version = name.partition("==")
    installed = [InstalledPackage(package, version or "0.1.0")]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("gem_hub_client.audit.announcing", lambda: installed)
        report = audit([HUB])
    kinds = [finding.kind for found in report.packages for finding in found.findings]
    if "unproved" in kinds:
        assert not report.sound
        raise HubError("unproved")
    return kinds


def verified(name: str) -> Any:
    """Return the serial of a hub of which everything is in order."""
    found = verify(HUB)
    if found.problems:
        raise HubError(found.problems[0])
    return found.serial


def searched(name: str) -> Any:
    found = search_hubs(name.partition("=")[0])
    return [hit.hit.record for hit in found.hits]


READERS: dict[str, Callable[[str], Any]] = {
    "plan": planned,
    "lock": locked,
    "info": shown,
    "audit": audited,
    "verify": verified,
    "search": searched,  # the last, as it reads what the others have loaded
}


def outcome(reader: str, name: str) -> Any:
    """Return what a command makes of the hub; the kind of the refusal if it is the hub's own."""
    try:
        return READERS[reader](name)
    except HubError as error:
        return (
            "quarantined"
            if "is quarantined by" in str(error)
            else "no release"
            if "has no release of" in str(error)
            else None
        )


@pytest.fixture(scope="module")
def honest(states: list[dict[str, bytes]], tmp_path_factory: pytest.TempPathFactory) -> dict[tuple[int, str, str], Any]:
    """State, reader and package → what an honest hub leads to."""
    known: dict[tuple[int, str, str], Any] = {}
    with mirrored(states, tmp_path_factory.mktemp("honest")) as mirror:
        for mirror.now in range(len(states)):
            known |= {(mirror.now, reader, name): outcome(reader, name) for reader in READERS for name in NAMES}
    return known


def test_an_honest_hub_says_different_things_at_different_times(honest: dict[tuple[int, str, str], Any]) -> None:
    """The history holds what an attack could hide: a yank, a quarantine, a new release with a new requirement."""
    plans = [honest[number, "plan", "toy-envs"] for number in range(6)]
    assert [[item[0] for item in items] for items in plans] == [
        ["toy-envs 0.1.0"],
        ["toy-envs 0.2.0"],
        ["toy-envs 0.1.0"],
        ["toy-envs 0.1.0"],
        ["toy-envs 0.3.0", "toy-quest 0.1.0"],
        ["toy-envs 0.3.0", "toy-quest 0.1.0"],
    ]
    assert honest[2, "plan", "toy-maze"] != honest[3, "plan", "toy-maze"] == "quarantined"
    assert None not in honest.values()


@pytest.mark.sampled(4)
@pytest.mark.slow(reason="a hundred and fifty hubs, half a second each")
@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("how", TAMPERINGS)
def test_one_kind_of_file_in_another_form(
    mirror: Mirror, honest: dict[tuple[int, str, str], Any], place: str, how: str
) -> None:
    """What is planned or found in order is that of a moment of the hub, and of none before the last one seen."""
    mirror.now = 3
    outcome("plan", "toy-envs")
    mirror.now = 5
    mirror.tampering[place] = TAMPERINGS[how]
    for reader in ("plan", "audit", "verify"):
        for name in ("toy-envs", "toy-maze"):
            mirror.shown.clear()
            found = outcome(reader, name)
            assert found in [None, *(honest[number, reader, name] for number in (3, 4, 5))]
            assert reader != "verify" or found is None or mirror.shows(found)
    mirror.tampering.clear()
    assert outcome("plan", "toy-envs") == honest[5, "plan", "toy-envs"]


class TestCommands:
    """The attack that once installed a foreign wheel: another page, and 500 for the record that would contradict it."""

    @pytest.fixture(autouse=True)
    def attack(self, mirror: Mirror) -> None:
        mirror.now = 3
        mirror.tampering.update({"envs/": foreign_release, "releases/": fail})

    @pytest.mark.parametrize(
        "arguments",
        [
            ["install", "toy-envs"],
            ["install", "toy-envs", "--dry-run"],
            ["install", "toy-envs==9.0"],
            ["install", "toy-maze"],
            ["lock", "toy-envs"],
            ["info", "toy-envs"],
            ["verify"],
        ],
        ids=" ".join,
    )
    def test_it_is_refused(self, arguments: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        """Each command fails with the page that is another one, and nothing of the foreign release is shown."""
        monkeypatch.chdir(tmp_path)
        done = CliRunner().invoke(hub_command, arguments)
        assert done.exit_code == 1
        said = done.output + str(done.exception)
        assert "the catalogue promises" in said
        assert "evil.example" not in said
        assert not list(tmp_path.glob("pylock*"))

    def test_an_audit_does_not_find_it_in_order(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        """A package that the hub can prove nothing about makes the audit fail, off line as well."""
        info = tmp_path / "site" / "toy_envs-0.2.0.dist-info"
        info.mkdir(parents=True)
        (info / "METADATA").write_text("Metadata-Version: 2.1\nName: toy-envs\nVersion: 0.2.0\n", encoding="utf-8")
        (info / "entry_points.txt").write_text("[gem.envs]\ntoy = toy_envs\n", encoding="utf-8")
        monkeypatch.setattr("importlib.metadata.distributions", partial(distributions, path=[str(tmp_path / "site")]))
        for options in ([], ["--offline"]):
            done = CliRunner().invoke(hub_command, ["audit", *options])
            assert (done.exit_code, "in order" in done.output) == (1, False)
            assert "unproved" in done.output


def test_an_unreadable_record_refuses(mirror: Mirror) -> None:
    """On a signed hub nothing is planned that cannot be found in its log, whoever is to blame."""
    mirror.tampering["releases/"] = fail
    with pytest.raises(HubError, match=r"record of toy-envs 0\.1\.0 cannot be checked, so it was not used.*500"):
        plan(["toy-envs"], [HUB])
    with pytest.raises(HubError, match="cannot be checked"):
        lockable(["toy-envs"], [HUB])


def test_a_yank_is_not_hidden_by_a_raised_serial(mirror: Mirror) -> None:
    """A page that calls itself newer than the signed catalogue is refused, not preferred."""
    mirror.now = 3
    mirror.tampering["envs/"] = without_yanks
    with pytest.raises(HubError, match="has serial 1000000, and the catalogue has"):
        plan(["toy-envs"], [HUB])
    with pytest.raises(HubError, match="is not what the catalogue promises"):
        plan(["toy-maze"], [HUB])


def test_what_was_loaded_before_the_hub_was_signed_does_not_stay(
    states: list[dict[str, bytes]], tmp_path: Path
) -> None:
    """Lines that a mirror added while it hid the keys are gone when the keys appear."""
    with mirrored(states, tmp_path) as mirror:
        evil = foreign_release(states[0]["envs/toy-quest.json"], "", [])
        assert evil is not None
        mirror.states = [_with_page(states[0], "toy-quest", evil)]
        mirror.tampering["trust/"] = TAMPERINGS["drop"]
        assert "9.0" in {str(item.release.version) for item in plan(["toy-quest==9.0"], [HUB]).items}
        mirror.states, mirror.tampering = states, {}
        assert [str(item.release) for item in plan(["toy-quest"], [HUB]).items] == ["toy-quest 0.1.0"]


def _with_page(files: dict[str, bytes], name: str, page: bytes) -> dict[str, bytes]:
    """Return a hub with another page, consistently, whose catalogue is cut into other files than the honest one."""
    root = json.loads(files["root.json"])
    lines: dict[str, Any] = {}
    for part in (root["snapshot"], *root["segments"]):
        lines |= {(line := json.loads(text))["name"]: line for text in gzip.decompress(files[part["url"]]).splitlines()}
    content = json.dumps({**json.loads(page), "serial": lines[name]["serial"]}).encode()
    lines[name].update(version="9.0", page_sha256=hashlib.sha256(content).hexdigest())
    packed = gzip.compress(b"".join(json.dumps(line).encode() + b"\n" for line in lines.values()))
    part = {"url": "catalog/evil.jsonl.gz", "sha256": hashlib.sha256(packed).hexdigest(), "size": len(packed)}
    serial = root["serial"]
    root["snapshot"] = {**part, "serial": serial - 1}
    root["segments"] = [{**part, "from": serial, "to": serial}]
    more = {"root.json": json.dumps(root).encode(), "catalog/evil.jsonl.gz": packed, f"envs/{name}.json": content}
    return {**files, **more}


class MirrorMachine(RuleBasedStateMachine):
    """A hub that goes on, a mirror that shows any mixture of its states, and a client between commands.

    Whatever a command answers, it is what the honest hub answered at one moment, not before the last that was seen.
    """

    states: list[dict[str, bytes]]
    honest: dict[tuple[int, str, str], Any]

    @initialize()
    def begin(self) -> None:
        self.home = Path(tempfile.mkdtemp())
        self.context = mirrored(self.states, self.home)
        self.mirror = self.context.__enter__()
        self.serials = [self._serial(number) for number in range(len(self.states))]
        assert outcome("info", "toy-quest") is not None

    def _serial(self, number: int) -> int:
        return int(json.loads(self.states[number]["root.json"])["serial"])

    def teardown(self) -> None:
        if hasattr(self, "context"):
            self.context.__exit__(None, None, None)
            shutil.rmtree(self.home)

    @precondition(lambda self: self.mirror.now + 1 < len(self.states))
    @rule()
    def change(self) -> None:
        """The hub goes on."""
        self.mirror.now += 1

    @rule(place=st.sampled_from(PLACES), how=st.sampled_from(sorted(TAMPERINGS)))
    def tamper(self, place: str, how: str) -> None:
        """The mirror treats one more kind of file in its own way."""
        self.mirror.tampering[place] = TAMPERINGS[how]

    @rule(age=st.integers(1, 5))
    def freeze(self, age: int) -> None:
        """The mirror shows an earlier state as a whole."""
        self.mirror.tampering = {"": replay(age)}

    @rule()
    def relent(self) -> None:
        """The mirror shows what the hub has."""
        self.mirror.tampering.clear()

    @rule()
    def share_the_cache(self) -> None:
        """Somebody else edits a page in the cache."""
        for kept in HUB.cache.glob("envs/*.json"):
            kept.write_bytes(foreign_release(kept.read_bytes(), "", []) or b"")

    @rule(reader=st.sampled_from(sorted(READERS)), name=st.sampled_from(NAMES))
    def ask(self, reader: str, name: str) -> None:
        """A command reads the hub."""
        seen = self.serials.index(State.read(HUB.cache).serial)
        self.mirror.shown.clear()
        found = outcome(reader, name)
        moments = range(seen, self.mirror.now + 1)
        assert found in [None, *(self.honest[number, reader, name] for number in moments)]
        if not self.mirror.tampering and reader != "search":  # a search asks again after some minutes
            assert found == self.honest[self.mirror.now, reader, name]
        assert reader != "verify" or found is None or self.mirror.shows(found)


def run_machine(states: list[dict[str, bytes]], honest: dict[tuple[int, str, str], Any], examples: int) -> None:
    machine = type("Machine", (MirrorMachine,), {"states": states, "honest": honest})
    run_state_machine_as_test(
        machine, settings=settings(max_examples=examples, stateful_step_count=12, deadline=None, database=None)
    )


@pytest.mark.slow(reason="a hundred updates with signatures")
def test_no_mixture_of_states_leads_anywhere_else(
    states: list[dict[str, bytes]], honest: dict[tuple[int, str, str], Any]
) -> None:
    """Some mirrors that drop, replay, mix, truncate, delay and edit files as chance has it."""
    run_machine(states, honest, 12)


@pytest.mark.nightly(reason="the same with a thousand mirrors")
def test_a_thousand_mixtures_lead_nowhere_else(
    states: list[dict[str, bytes]], honest: dict[tuple[int, str, str], Any]
) -> None:
    """The same for longer."""
    run_machine(states, honest, 1000)


def test_audit_is_sound_with_an_honest_mirror(mirror: Mirror) -> None:
    """Without an attack nothing is called unproved."""
    assert "unproved" not in {finding.kind for package in audit([HUB]).packages for finding in package.findings}
