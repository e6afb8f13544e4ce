"""What a client remembers of a hub, and what it then refuses: changed files, old or expired roots, leaps ahead."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

import pytest
from click.testing import CliRunner

from gem_hub_client.cli.update import update_command
from gem_hub_client.config import Hub, hub_at
from gem_hub_client.errors import HubError
from gem_hub_client.federated_search import search_hubs
from gem_hub_client.package_index import PackageIndex
from gem_hub_client.pages import find_page
from gem_hub_client.state import utc
from gem_hub_client.sync import update

if TYPE_CHECKING:
    from conftest import HubFolder, HubServer

DAY = 86400.0


def served(hub: HubServer) -> Hub:
    return hub_at(hub.url)


def issued(folder: HubFolder, age: float, days: float = 7) -> None:
    """Write the root as a hub does that issued it so many seconds ago, valid for so many days."""
    moment = time.time() - age
    folder.root.update(issued=utc(moment), expires=utc(moment + days * DAY))
    folder.write_root()


def page_of(hub: Hub, name: str) -> dict[str, Any]:
    return find_page(name, [hub]).page


class TestDigests:
    """A release that was seen once."""

    @pytest.fixture
    def hub(self, hub_folder: HubFolder, hub_server: HubServer) -> Hub:
        """A hub whose page of mazes was read."""
        hub_folder.page(hub_folder.line("mazes", 2))
        hub = served(hub_server)
        update(hub)
        page_of(hub, "mazes")
        return hub

    def changed(self, folder: HubFolder, serial: int = 4) -> None:
        """Make the hub anew with another file for the same version, consistently and with a higher serial."""
        line = folder.line("mazes", serial, sha256="e" * 64)
        folder.append(line)
        folder.page(line)

    def test_another_file_for_a_version_is_refused(self, hub_folder: HubFolder, hub: Hub) -> None:
        """Whatever the hub says besides, the page is not used; the package is not installed from it."""
        self.changed(hub_folder)
        update(hub)
        with pytest.raises(HubError, match=r"another file for mazes .* than this machine has seen"):
            page_of(hub, "mazes")
        with pytest.raises(HubError, match="releases never change"):
            PackageIndex([hub]).package("mazes")

    def test_digests_survive_a_lost_catalogue(self, hub_folder: HubFolder, hub: Hub) -> None:
        """They do not lie with the catalogue, which any command may discard and load again."""
        self.changed(hub_folder)
        for path in sorted(hub.cache.rglob("*"), reverse=True):
            path.unlink() if path.is_file() else path.rmdir()
        with pytest.raises(HubError, match="releases never change"):
            page_of(hub, "mazes")

    def test_only_a_reset_forgets_them(self, hub_folder: HubFolder, hub: Hub) -> None:
        """After `gem hub update --reset` the hub is as new."""
        self.changed(hub_folder)
        update(hub, reset=True)
        assert page_of(hub, "mazes")["releases"][0]["sha256"] == "e" * 64

    def test_another_hub_may_have_another_file(self, hub_folder: HubFolder, hub: Hub) -> None:
        """Digests belong to one hub."""
        self.changed(hub_folder)
        assert page_of(hub_at(str(hub_folder.folder)), "mazes")["releases"][0]["sha256"] == "e" * 64


class TestExpiry:
    """A hub that says until when it is valid."""

    def test_an_expired_hub_is_searched_and_not_installed_from(
        self, hub_folder: HubFolder, hub_server: HubServer
    ) -> None:
        """Search finds packages and says what may be missing; `gem hub update` and installing refuse."""
        hub_folder.page(hub_folder.line("mazes", 2))
        issued(hub_folder, 8 * DAY)
        results = search_hubs("mazes", 5)
        assert [hit.record["name"] for hit in (found.hit for found in results.hits)][:1] == ["mazes"]
        assert any("was valid until" in status.note for status in search_hubs("mazes", 5).statuses)
        with pytest.raises(HubError, match="nothing is installed from it"):
            PackageIndex([served(hub_server)]).package("mazes")
        updated = CliRunner().invoke(update_command, [])
        assert (updated.exit_code, "was valid until" in updated.output) == (1, True)

    def test_a_hub_that_is_held_back_expires(
        self, hub_folder: HubFolder, hub_server: HubServer, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """A mirror that serves the same files for ever is no longer installed from when they have expired."""
        issued(hub_folder, 0)
        hub = served(hub_server)
        assert PackageIndex([hub]).package("never-there") is None
        later, now = 8 * DAY, time.time
        monkeypatch.setattr("time.time", lambda: now() + later)
        for _ in range(2):  # the server says that nothing has changed, and then the client does not ask
            with pytest.raises(HubError, match="nothing is installed from it"):
                PackageIndex([hub]).package("never-there")
        issued(hub_folder, 0)
        update(hub)
        assert PackageIndex([hub]).package("never-there") is None

    @pytest.mark.parametrize("serial", [3, 4])
    def test_a_hub_that_gave_its_times_keeps_giving_them(
        self, hub_folder: HubFolder, hub_server: HubServer, serial: int
    ) -> None:
        """Without them an old root could be kept for ever."""
        issued(hub_folder, 0)
        update(served(hub_server))
        del hub_folder.root["issued"], hub_folder.root["expires"]
        hub_folder.root["created"] = "2026-11-22T08:00:00Z"
        if serial == 4:
            hub_folder.append(hub_folder.line("new-one", 4))
        hub_folder.write_root()
        with pytest.raises(HubError, match="no longer says until when it is valid"):
            update(served(hub_server))

    def test_an_older_root_is_refused_also_with_the_same_serial(
        self, hub_folder: HubFolder, hub_server: HubServer
    ) -> None:
        """A root that was kept back is recognised by the time of its issue."""
        issued(hub_folder, DAY)
        update(served(hub_server))
        issued(hub_folder, 2 * DAY)
        with pytest.raises(HubError, match="is older"):
            update(served(hub_server))

    @pytest.mark.parametrize(
        "times",
        [
            {"issued": "2026-01-01T00:00:00Z"},
            {"expires": "2026-01-01T00:00:00Z"},
            {"issued": "2026-01-02T00:00:00Z", "expires": "2026-01-01T00:00:00Z"},
            {"issued": 3, "expires": 4},
            {"issued": "yesterday", "expires": "tomorrow"},
            {"issued": "2999-01-01T00:00:00Z", "expires": "2999-02-01T00:00:00Z"},
        ],
    )
    def test_times_that_cannot_be_are_refused(
        self, hub_folder: HubFolder, hub_server: HubServer, times: dict[str, Any]
    ) -> None:
        """Half of the times, times in another form, and a root from the future are not used."""
        hub_folder.root.update(times)
        hub_folder.write_root()
        with pytest.raises(HubError, match=r"issued|expires"):
            update(served(hub_server))


class TestLeaps:
    """Serials that make clients refuse the honest hub afterwards."""

    def leap(self, folder: HubFolder, by: int) -> dict[str, Any]:
        """Serve a root that is far ahead; return the honest one."""
        honest = {**folder.root, "segments": list(folder.root["segments"])}
        serial = folder.root["serial"] + by
        line = folder.line("mazes", serial)
        times = {key: folder.root[key] for key in ("issued", "expires") if key in folder.root}
        folder.begin([line], serial)
        folder.root.update(times)
        folder.write_root()
        return honest

    @pytest.mark.parametrize("by", [10_000_000, 9007199254740000])
    def test_a_leap_is_refused(self, hub_folder: HubFolder, hub_server: HubServer, by: int) -> None:
        """A root millions of changes ahead is not used, and the honest hub goes on."""
        update(served(hub_server))
        honest = self.leap(hub_folder, by)
        with pytest.raises(HubError, match=r"changes ahead|no serial"):
            update(served(hub_server))
        hub_folder.root = honest
        hub_folder.append(hub_folder.line("new-one", 4))
        assert update(served(hub_server)).serial == 4

    def test_a_new_client_is_not_led_ahead_either(self, hub_folder: HubFolder, hub_server: HubServer) -> None:
        """A serial that no hub reaches is refused at the first contact."""
        self.leap(hub_folder, 9007199254740000)
        with pytest.raises(HubError, match="no serial"):
            update(served(hub_server))

    def test_the_honest_hub_heals_a_client_that_was_led_ahead(
        self, hub_folder: HubFolder, hub_server: HubServer
    ) -> None:
        """With times, the next root of the honest hub is accepted without a reset, though its serial is lower."""
        issued(hub_folder, 3 * DAY)
        update(served(hub_server))
        issued(hub_folder, 2 * DAY)
        honest = self.leap(hub_folder, 500_000)
        assert update(served(hub_server)).serial == 500_003
        hub_folder.root = honest
        issued(hub_folder, DAY)
        assert update(served(hub_server)).serial == 3
        assert {found.hit.record["name"] for found in search_hubs("word", 5).hits} == {"word-games"}
        hub_folder.append(hub_folder.line("new-one", 4))
        issued(hub_folder, 0)
        assert update(served(hub_server)).serial == 4
