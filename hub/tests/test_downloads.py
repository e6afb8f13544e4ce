"""Counts of downloads: what counts, what does not, and that nothing about a client is kept."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st
from manual_clock import ManualClock
from registry_server import GENEROUS, running_registry, toy_wheel

from gem_hub.registry.database import Database
from gem_hub.registry.downloads import DAY, DownloadCounter, shown
from gem_hub.registry.settings import RegistrySettings
from gem_hub_client.cli.group import hub_command

WHEEL = f"/files/00/{'0' * 64}/toy_envs-0.1.0-py3-none-any.whl"
OTHER = f"/files/00/{'0' * 64}/toy_envs-0.2.0-py3-none-any.whl"


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock(1_000.0 * DAY)


@pytest.fixture
def counter(tmp_path: Path, clock: ManualClock, new_database: Callable[[], str]) -> Iterator[DownloadCounter]:
    """A counter with a database of its own."""
    database = Database(new_database() or f"sqlite:///{tmp_path / 'registry.db'}")
    yield DownloadCounter(database, clock)
    database.close()


def fetch(counter: DownloadCounter, count: int, first: int = 0, path: str = WHEEL, agent: str = "pip/26.0") -> None:
    """Let some clients fetch a file, each from a network of its own."""
    for number in range(first, first + count):
        counter.saw(path, 200, agent, f"10.0.{number // 256}.{number % 256}")


def counted(counter: DownloadCounter, clock: ManualClock) -> dict[tuple[str, str], int]:
    """Return (day, version) → count, as shown on the day after."""
    clock.now += DAY
    return {(one["day"], one["version"]): one["downloads"] for one in counter.of("toy-envs")}


def test_releases_are_counted_by_day(counter: DownloadCounter, clock: ManualClock) -> None:
    """Each release and day has its own count, and the running day is not shown."""
    fetch(counter, 20)
    fetch(counter, 10, path=OTHER)
    assert counter.of("toy-envs") == []
    clock.now += DAY
    fetch(counter, 30)
    assert counted(counter, clock) == {
        ("1972-09-28", "0.1.0"): 30,
        ("1972-09-27", "0.1.0"): 20,
        ("1972-09-27", "0.2.0"): 10,
    }
    assert counter.of("other-envs") == []


@pytest.mark.parametrize(("amount", "told"), [(0, 0), (9, 0), (10, 10), (19, 10), (20, 20), (12_345, 12_340)])
def test_small_counts_are_held_back_and_others_rounded(amount: int, told: int) -> None:
    """One more client changes what is shown at most at every tenth."""
    assert shown(amount) == told


def test_one_client_counts_once_a_day(counter: DownloadCounter, clock: ManualClock) -> None:
    """Repeated fetches of one network are one, until the next day begins; another file is another download."""
    for _ in range(5):
        fetch(counter, 10)
    fetch(counter, 10, path=OTHER)
    clock.now += DAY - 1
    fetch(counter, 10)
    clock.now += 1
    fetch(counter, 10)
    assert counted(counter, clock) == {
        ("1972-09-28", "0.1.0"): 10,
        ("1972-09-27", "0.1.0"): 10,
        ("1972-09-27", "0.2.0"): 10,
    }


@pytest.mark.parametrize(
    ("path", "status", "agent"),
    [
        (WHEEL, 206, "pip/26.0"),
        (WHEEL, 304, "pip/26.0"),
        (WHEEL, 404, "pip/26.0"),
        (f"{WHEEL}.metadata", 200, "pip/26.0"),
        (WHEEL.replace("/files", "/private/acme/files"), 200, "pip/26.0"),
        (f"{WHEEL}?x=1", 200, "pip/26.0"),
        ("/simple/toy-envs/", 200, "pip/26.0"),
        (WHEEL.replace("-0.1.0-py3-none-any", ""), 200, "pip/26.0"),
        (WHEEL, 200, ""),
        (WHEEL, 200, "Mozilla/5.0 (compatible; Googlebot/2.1)"),
        (WHEEL, 200, "curl/8.9 pip/26.0"),
        (WHEEL, 200, "bandersnatch/6.5"),
        (WHEEL, 200, "pipx"),
    ],
)
def test_only_whole_wheels_for_installers_count(
    counter: DownloadCounter, clock: ManualClock, path: str, status: int, agent: str
) -> None:
    """Parts, pages, metadata, robots, browsers and mirrors do not count."""
    for number in range(30):
        counter.saw(path, status, agent, f"10.0.0.{number}")
    assert counted(counter, clock) == {}


@pytest.mark.parametrize("agent", ["pip/26.0", "uv/0.9.1", "poetry/2.0", "pdm/2.20", "gem-hub-client/0.1.0"])
def test_installers_count(counter: DownloadCounter, clock: ManualClock, agent: str) -> None:
    """Each known installer counts."""
    fetch(counter, 10, agent=agent)
    assert list(counted(counter, clock).values()) == [10]


def test_nothing_about_a_client_is_kept(counter: DownloadCounter, clock: ManualClock, tmp_path: Path) -> None:
    """No file has an address or a hash of one, and at the end of the day the memory has forgotten the clients."""
    for number in range(10):
        counter.saw(WHEEL, 200, "pip/26.0", f"203.0.113.{number}")
    counter.flush()
    hashes, key = set(counter._seen), counter._key
    written = b"".join(path.read_bytes() for path in tmp_path.rglob("*") if path.is_file())
    assert b"203.0.113" not in written
    assert not any(one in written or one.hex().encode() in written for one in (*hashes, key))
    clock.now += DAY
    fetch(counter, 1)
    assert not counter._seen & hashes
    assert counter._key != key


def test_a_full_memory_counts_no_more(
    counter: DownloadCounter, clock: ManualClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Counts are lower bounds: whoever comes after the last place of a day is not counted, rather than twice."""
    monkeypatch.setattr("gem_hub.registry.downloads._MOST_CLIENTS", 10)
    fetch(counter, 25)
    fetch(counter, 25)
    assert list(counted(counter, clock).values()) == [10]


@given(st.text(max_size=80), st.text(max_size=30))
def test_no_request_breaks_the_counter(target: str, agent: str) -> None:
    """Whatever a client sends is counted or passed over; this counter has no database, so that it counts nothing."""
    counter = DownloadCounter(None)  # type: ignore[arg-type]
    counter.saw(f"/files/{target}", 200, f"pip/1{agent}", "10.0.0.1")
    counter.saw(f"/files/00/{'0' * 64}/{target}.whl", 200, f"pip/1{agent}", "10.0.0.1")


@pytest.mark.nightly(reason="two servers; what they count is tested above")
@pytest.mark.parametrize("counts", [True, False])
def test_a_registry_counts_and_shows(tmp_path: Path, clock: ManualClock, counts: bool) -> None:
    """The command shows what clients have fetched over HTTP, with the switch off nothing; HEAD does not count."""
    settings = RegistrySettings(quotas=GENEROUS, conformance=False, registration="open", downloads=counts)
    with running_registry(tmp_path / "hub", settings, clock=clock) as registry:
        registry.account("ada").upload(toy_wheel(tmp_path, "toy-envs"))
        (release,) = registry.services.store.existing("toy-envs").records
        path = f"/{release.url.removeprefix('../../')}"
        registry.stranger.send("HEAD", path, User_Agent="pip/26.0")
        for _ in range(2):
            assert registry.stranger.send("GET", path, User_Agent="pip/26.0").status == 200
        fetch(registry.services.downloads, 10 if counts else 0, path=path)
        clock.now += DAY
        answer = registry.stranger.send("GET", "/api/v1/packages/toy-envs/downloads").json
        assert [one["downloads"] for one in answer["days"]] == ([10] if counts else [])
        done = CliRunner().invoke(hub_command, ["downloads", "toy-envs", "--hub", f"http://127.0.0.1:{registry.port}/"])
        assert (done.exit_code, ("0.1.0: 10" if counts else "counts no downloads") in done.output) == (0, True)
        with registry.services.database.read() as connection:
            from sqlalchemy import text

            amounts = connection.execute(text("SELECT amount FROM downloads")).scalars().all()
        assert amounts == ([11] if counts else [])
