"""Two machines that compare what a hub has shown them: one history, or the proof that it signed two."""

from __future__ import annotations

import json
import shutil
import time
from dataclasses import replace
from pathlib import Path

import pytest
from click.testing import CliRunner
from hub_command import gem_hub
from toy_hub import make_wheel, publish_wheel

from gem_hub.signing import online, roots
from gem_hub.signing.keys import create_key
from gem_hub.store import Store
from gem_hub_client.cli.group import hub_command
from gem_hub_client.config import Hub, hub_at
from gem_hub_client.errors import HubError, TrustError
from gem_hub_client.trust.access import trusted_hub
from gem_hub_client.trust.checkpoints import SeenLog, compare_logs, log_of, parse_log
from gem_hub_client.trust.pins import Pin

pytestmark = pytest.mark.usefixtures("own_folders")


def publish(store: Store, folder: Path, number: int, readme: str = "A readme.") -> None:
    wheel = make_wheel(folder / "dist", f"toy-{number}", ids=[f"toy{number}:Thing-v0"], metadata=(), readme=readme)
    publish_wheel(store, wheel)


@pytest.fixture
def honest(store: Store, tmp_path: Path) -> Store:
    """A signed hub with three releases."""
    for number in range(3):
        publish(store, tmp_path, number)
    key = create_key(tmp_path / "root.pem")
    root = roots.first_root([key.public_key], 1, online.new_online_key(store.files), 30)
    roots.sign_root(root, [key])
    store.install_root(1, roots.dumped(root))
    return store


@pytest.fixture
def forked(honest: Store, tmp_path: Path) -> Store:
    """The same hub for other users: from the third release on it has another history, signed with the same key."""
    shutil.copytree(honest.folder, tmp_path / "forked")
    forked = Store(tmp_path / "forked")
    publish(honest, tmp_path, 3)
    publish(forked, tmp_path, 3, "Another file for somebody else.")
    return forked


def hub_of(store: Store) -> Hub:
    return hub_at(str(store.folder))


def pin_of(store: Store) -> Pin:
    trusted = trusted_hub(hub_of(store), hub_of(store).source, time.time())
    assert trusted is not None
    return trusted.pin


def seen_in(store: Store) -> SeenLog:
    return log_of(hub_of(store), pin_of(store))


def test_a_checkpoint_survives_json(honest: Store) -> None:
    """What one machine prints another one reads."""
    seen = seen_in(honest)
    assert parse_log(seen.to_json(), "x") == seen
    assert seen.size == 3


@pytest.mark.parametrize("more", [0, 1, pytest.param(70, marks=pytest.mark.slow(reason="seventy publications"))])
def test_a_log_that_goes_on_is_one_history(honest: Store, tmp_path: Path, more: int) -> None:
    """Whichever of the two machines has asked later, over full tiles and partial ones."""
    before, pin = seen_in(honest), pin_of(honest)
    for number in range(3, 3 + more):
        publish(honest, tmp_path, number)
    after = seen_in(honest)
    assert f"{3 + more} entries" in compare_logs(hub_of(honest), pin_of(honest), before)
    assert f"{3 + more} entries" in compare_logs(hub_of(honest), pin, after)


@pytest.mark.parametrize("more", [0, 1, 5])
def test_two_histories_are_shown(honest: Store, forked: Store, tmp_path: Path, more: int) -> None:
    """The hub has signed both, so that nobody else can be to blame; the sizes need not be equal."""
    other = seen_in(forked)
    for number in range(4, 4 + more):
        publish(honest, tmp_path, number)
    with pytest.raises(TrustError, match="HAS SIGNED TWO HISTORIES"):
        compare_logs(hub_of(honest), pin_of(honest), other)


def test_a_machine_that_is_behind_is_no_proof(honest: Store, forked: Store, tmp_path: Path) -> None:
    """Where the hub does not show the longer log here, nothing is claimed, and nothing is called in order."""
    publish(forked, tmp_path, 4)
    with pytest.raises(HubError, match=r"behind here, or it shows two logs|no such file|is another one"):
        compare_logs(hub_of(honest), pin_of(honest), seen_in(forked))


@pytest.mark.parametrize("change", [{"size": 2}, {"tree": "0" * 64}, {"targets": "{}"}], ids=str)
def test_only_what_the_hub_has_signed_counts(honest: Store, change: dict[str, object]) -> None:
    """A made-up checkpoint accuses nobody."""
    other = replace(seen_in(honest), **change)  # type: ignore[arg-type]
    with pytest.raises(HubError) as caught:
        compare_logs(hub_of(honest), pin_of(honest), other)
    assert "TWO HISTORIES" not in str(caught.value)


def test_another_hubs_checkpoint_is_refused(honest: Store, tmp_path: Path) -> None:
    """Signed with other keys, it says nothing about this hub."""
    other = Store(tmp_path / "other")
    publish(other, tmp_path, 7)
    gem_hub("keys", "new", tmp_path / "bob.pem")
    gem_hub("keys", "init", "--hub", other.folder, "--key", tmp_path / "bob.pem")
    with pytest.raises(TrustError, match="0 valid signatures"):
        compare_logs(hub_of(honest), pin_of(honest), seen_in(other))


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"format": 1}', '{"format": 1, "size": "3"}'])
def test_what_is_no_checkpoint_is_one_sentence(text: str) -> None:
    """With the command that makes one."""
    with pytest.raises(HubError, match="gem hub checkpoint --json"):
        parse_log(text, "mine.json")


def test_the_command_prints_and_compares(honest: Store, forked: Store, tmp_path: Path) -> None:
    """Exit code 1 and the word for a split; one sentence for agreement."""
    mine = tmp_path / "mine.json"
    mine.write_text(gem_hub("checkpoint", honest.folder, "--json"), encoding="utf-8")
    assert "have seen the same log" in gem_hub("checkpoint", honest.folder, "--compare", mine)
    split = CliRunner().invoke(hub_command, ["checkpoint", str(forked.folder), "--compare", str(mine)])
    assert (split.exit_code, "TWO HISTORIES" in split.output) == (1, True)
    assert json.loads(mine.read_text())["tree"] in gem_hub("checkpoint", honest.folder)


def test_an_unsigned_hub_has_no_checkpoint(store: Store, tmp_path: Path) -> None:
    """It keeps no log."""
    publish(store, tmp_path, 1)
    refused = CliRunner().invoke(hub_command, ["checkpoint", str(store.folder)])
    assert (refused.exit_code, "is not signed" in refused.output) == (1, True)


def test_verify_asks_a_second_address(honest: Store, forked: Store) -> None:
    """An honest mirror is a note; another history there, and no answer, are problems; none is asked by default."""
    gem_hub("use", honest.folder, "--second-address", honest.folder)
    assert "have seen the same log" in CliRunner().invoke(hub_command, ["verify", str(honest.folder)]).output
    for address, reason in ((forked.folder, "TWO HISTORIES"), ("http://127.0.0.1:9/", "cannot be reached")):
        gem_hub("use", honest.folder, "--second-address", address)
        found = CliRunner().invoke(hub_command, ["verify", str(honest.folder), "--json"])
        assert (found.exit_code, reason in found.stdout) == (1, True)
    gem_hub("use", honest.folder, "--second-address", "")
    assert json.loads(gem_hub("verify", honest.folder, "--json"))["notes"] == []
