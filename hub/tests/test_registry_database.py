"""What the registry keeps in its database, in SQLite and in PostgreSQL alike."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from importlib.util import find_spec
from pathlib import Path

import pytest
from manual_clock import ManualClock
from registry_server import running_registry, toy_wheel
from sqlalchemy import insert, select, update
from sqlalchemy.exc import DBAPIError

from gem_hub.errors import HubRefusal
from gem_hub.networks import network_of
from gem_hub.registry.accounts import Accounts
from gem_hub.registry.audit_log import AuditLog
from gem_hub.registry.database import Database
from gem_hub.registry.problems import Problem
from gem_hub.registry.queue import LEASE_SECONDS, RETRY_SECONDS, ConformanceQueue
from gem_hub.registry.quotas import UsageCounters
from gem_hub.registry.settings import RegistrySettings
from gem_hub.registry.tables import accounts, audit_log, state
from gem_hub.registry.tokens import Tokens, digest_of

pytestmark = pytest.mark.xdist_group("postgresql")


@pytest.fixture
def database(database_url: str) -> Iterator[Database]:
    opened = Database(database_url)
    yield opened
    opened.close()


def together(number: int, work: Callable[[int], object]) -> list[object]:
    """Return the results of work that threads begin at the same moment; errors are results too."""
    barrier = threading.Barrier(number)

    def one(index: int) -> object:
        barrier.wait()
        try:
            return work(index)
        except Problem as problem:
            return problem.status.value

    with ThreadPoolExecutor(number) as pool:
        return list(pool.map(one, range(number)))


def test_one_name_becomes_one_account(database: Database) -> None:
    """Of 16 registrations of one name at once, one succeeds and 15 are conflicts."""
    registry = Accounts(database)
    results = together(16, lambda _: registry.register("ann", "127.0.0.1") and 201)
    assert sorted(map(str, results)) == ["201"] + ["409"] * 15
    assert registry.names() == ["ann"]


def test_one_invite_creates_one_account(database: Database) -> None:
    """Of 8 registrations with one invite at once, one succeeds, and the others leave no account."""
    registry = Accounts(database)
    code = registry.invite("operator", 1000)
    results = together(8, lambda n: registry.register(f"ann{n}", "", (), code, invited=True) and 201)
    assert sorted(map(str, results)) == ["201"] + ["403"] * 7
    assert len(registry.names()) == 1


def test_counters_lose_nothing(database: Database) -> None:
    """Of 40 requests at once with a limit of 25, exactly 25 pass; the next period has its own 25."""
    clock = ManualClock(1_000_000.0)
    counters = UsageCounters(database, clock)
    spend = lambda _: counters.spend("upload", "ann", 25, 60, "uploads a minute") or 200  # noqa: E731
    results = together(40, spend)
    assert (results.count(200), results.count(429)) == (25, 15)
    clock.now += 60
    assert together(2, spend) == [200, 200]


def test_every_release_of_the_queue_is_taken_once(database: Database) -> None:
    """8 workers at once share 40 releases, each of which has one worker."""
    queues = [ConformanceQueue(database, owner=f"machine/{n}/x") for n in range(8)]
    for number in range(40):
        queues[0].confirm("toy-envs", f"0.{number}", digest_of(str(number)))

    def work(index: int) -> list[str]:
        taken = []
        while (check := queues[index].take()) is not None:
            taken.append(check.version)
            assert queues[index].finish(check, "done")
        return taken

    shares = together(8, work)
    assert sorted(version for share in shares for version in share) == sorted(f"0.{n}" for n in range(40))  # type: ignore[attr-defined]
    assert queues[0].counts() == {"done": 40}


def test_the_work_of_a_silent_worker_goes_to_another(database: Database) -> None:
    """A lease ends when nobody renews it; the first worker's result then counts for nothing."""
    clock = ManualClock(1_000_000.0)
    first, second = (ConformanceQueue(database, clock, f"machine{n}/1/x") for n in range(2))
    first.confirm("toy-envs", "0.1", digest_of("x"))
    held = first.take()
    assert held is not None
    assert second.take() is None
    clock.now += LEASE_SECONDS - 1
    assert first.renew(held)
    clock.now += LEASE_SECONDS - 1
    assert second.take() is None
    clock.now += 1
    taken = second.take()
    assert taken is not None
    assert taken.attempts == 2
    assert not first.renew(held)
    assert not first.finish(held, "failed", "late")
    assert second.finish(taken, "done")
    assert second.state_of(digest_of("x")) == {"state": "done", "message": "", "attempts": 2}


def test_another_attempt_waits_longer_each_time(database: Database) -> None:
    """A release that goes back into the queue is not taken before its time."""
    clock = ManualClock(1_000_000.0)
    queue = ConformanceQueue(database, clock)
    queue.confirm("toy-envs", "0.1", digest_of("x"))
    for attempt in (1, 2):
        check = queue.take()
        assert check is not None
        queue.finish(check, "queued", "no network")
        clock.now += RETRY_SECONDS * 2**attempt - 1
        assert queue.take() is None
        clock.now += 1


def test_a_dead_process_of_this_machine_gives_back_at_once(database: Database) -> None:
    """A process that begins takes over what its predecessors held, but not what other machines or processes hold."""
    owners = {"a": "here/1/old", "b": "here/2/x", "c": "there/1/x", "d": "here/3/x"}
    for name, owner in owners.items():
        queue = ConformanceQueue(database, owner=owner)
        queue.confirm("toy-envs", name, digest_of(name))
        assert queue.take() is not None
    new = ConformanceQueue(database, owner="here/3/new")
    assert new.release_own_machine(lambda number: number == 2) == 2
    taken = [new.take(), new.take(), new.take()]
    assert [check and check.version for check in taken] == ["a", "d", None]


def test_an_interrupted_upload_is_completed_or_forgotten(database: Database) -> None:
    """Announcements become work if the release exists; those of uploads that go on are left alone."""
    clock = ManualClock(1_000_000.0)
    queue = ConformanceQueue(database, clock)
    for name in ("published", "lost"):
        queue.announce(name, "0.1", digest_of(name))
    clock.now += 1000
    queue.announce("recent", "0.1", digest_of("recent"))
    assert queue.recover(lambda name, version, sha256: name == "published") == 2
    assert queue.counts() == {"announced": 1, "queued": 1}
    assert queue.recover(lambda *key: False, everything=True) == 1
    queue.confirm("published", "0.1", digest_of("published"))
    assert queue.counts() == {"queued": 1}


def test_a_refused_upload_takes_nothing_from_one_that_succeeds(database: Database) -> None:
    """Two uploads of one file, of which the second is refused in between, leave the release in the queue."""
    queue = ConformanceQueue(database)
    queue.announce("toy-envs", "0.1", digest_of("x"))
    queue.withdraw(digest_of("x"))
    queue.confirm("toy-envs", "0.1", digest_of("x"))
    assert queue.counts() == {"queued": 1}
    queue.withdraw(digest_of("x"))
    assert queue.counts() == {"queued": 1}


def test_the_audit_log_is_append_only(database: Database) -> None:
    """Neither an UPDATE, nor a DELETE, nor emptying the table is possible."""
    log = AuditLog(database)
    log.add("upload", "toy-envs 0.1", "ann", 1, "127.0.0.1", sha256="x")
    statements = ["UPDATE audit_log SET action = 'x'", "DELETE FROM audit_log"]
    if database.engine.dialect.name == "postgresql":
        statements.append("TRUNCATE audit_log")
    for statement in statements:
        with pytest.raises(DBAPIError, match="append-only"), database.change() as connection:
            connection.exec_driver_sql(statement)
    assert [line["detail"] for line in log.lines()] == [{"sha256": "x"}]
    log.add("upload", "toy_envs 0.1")
    assert len(log.lines(subject="toy-envs")) == 1
    assert log.lines(subject="toy%") == []


def test_a_line_of_the_log_belongs_to_its_transaction(database: Database) -> None:
    """What is rolled back leaves no line."""
    log = AuditLog(database)
    with database.engine.connect() as connection:
        connection.execute(insert(accounts).values(name="ann", created=1))
        log.add("account.create", "ann", connection=connection)
        connection.rollback()
    assert log.lines() == []


def test_tokens_end_with_their_time_their_account_and_their_revocation(database: Database) -> None:
    """Each of the three, and a token that was never minted, stands for nothing."""
    clock = ManualClock(1_000_000.0)
    tokens, registry = Tokens(database, clock), Accounts(database, clock)
    number = registry.create("ann")
    token, token_number = tokens.mint(number, "x", ["publish"], ["b", "a"], 100, "github:x/y")
    found = tokens.find(token)
    assert found is not None
    assert (found.account, found.scopes, found.packages) == ("ann", {"publish"}, {"a", "b"})
    assert (found.origin, found.covers("a"), found.covers("c")) == ("github:x/y", True, False)
    registry.disable("ann")
    assert tokens.find(token) is None
    registry.disable("ann", disabled=False)
    assert tokens.find(token) is not None
    clock.now += 100
    assert tokens.find(token) is None
    endless, other = tokens.mint(number, "y", ["manage"])
    assert tokens.find(endless) is not None
    assert not tokens.revoke(other, number + 1)
    assert tokens.revoke(other, number)
    assert tokens.find(endless) is None
    assert tokens.of(number) == []
    assert token_number != other


def test_tables_of_another_version_are_refused(database_url: str) -> None:
    """A registry does not guess what a newer one has written."""
    database = Database(database_url)
    with database.change() as connection:
        connection.execute(update(state).values(value="99"))
    database.close()
    with pytest.raises(HubRefusal, match="version 99"):
        Database(database_url)


def test_many_processes_may_begin_at_once(database_url: str) -> None:
    """The tables are created once, whoever comes first."""
    databases = together(8, lambda _: Database(database_url))
    for database in databases:
        assert isinstance(database, Database)
        with database.read() as connection:
            assert connection.execute(select(audit_log)).all() == []
        database.close()


@pytest.mark.parametrize(
    ("url", "told"),
    [
        ("sqlite://", "must be sqlite"),
        ("sqlite:///:memory:", "must be sqlite"),
        ("mysql://x/y", "must be sqlite|invalid|driver"),
        ("nonsense", "invalid"),
        pytest.param(
            "postgresql+psycopg://gem:secret@/nothing?host=/nonexistent",
            "cannot be used",
            marks=pytest.mark.skipif(find_spec("psycopg") is None, reason="psycopg comes with gem-hub[postgres]"),
        ),
        ("sqlite:////proc/nothing/registry.db", "cannot be made"),
    ],
)
def test_impossible_databases_are_refused_in_a_sentence(url: str, told: str) -> None:
    """The message says what to write, and never shows a password."""
    with pytest.raises(HubRefusal, match=told) as caught:
        Database(url)
    assert "secret" not in str(caught.value)


@pytest.mark.skipif(os.name == "nt", reason="modes are those of POSIX")
def test_the_database_file_is_its_owners_alone(tmp_path: Path) -> None:
    """Other accounts of the machine read no digests of tokens."""
    Database(f"sqlite:///{tmp_path / 'registry.db'}").close()
    assert (tmp_path / "registry.db").stat().st_mode & 0o077 == 0


@pytest.mark.parametrize(
    ("address", "network"),
    [
        ("203.0.113.7", "203.0.113.7"),
        ("2001:db8:1:2:3:4:5:6", "2001:db8:1:2::/64"),
        ("::ffff:203.0.113.7", "203.0.113.7"),
        ("testclient", "testclient"),
    ],
)
def test_a_client_of_ipv6_counts_as_its_network(address: str, network: str) -> None:
    """Whoever has a /64 network has no more attempts than one address."""
    assert network_of(address) == network


def test_an_upload_over_http_works_with_either(database_url: str, tmp_path: Path) -> None:
    """Account, token, upload, retry, yank and the log, end to end."""
    settings = RegistrySettings(database=database_url, conformance=False, registration="open")
    with running_registry(tmp_path / "hub", settings) as registry:
        client = registry.account("alice")
        wheel = toy_wheel(tmp_path, "alpha-envs")
        assert [client.upload(wheel).json["state"] for _ in range(2)] == ["published", "already published"]
        assert client.send("PUT", "/api/v1/packages/alpha-envs/0.1.0/yank", {"reason": "bad"}).status == 200
        assert registry.services.queue.counts() == {"queued": 1}
        assert [line["action"] for line in registry.services.audit.lines()] == ["upload", "upload", "package.yank"]


def test_the_newest_lines_of_the_audit_log_come_last(database: Database) -> None:
    """Without a number to begin after, the newest are shown, still in their order."""
    log = AuditLog(database)
    for number in range(5):
        log.add("upload", f"alpha {number}")
    assert [line["subject"] for line in log.lines(None, 2)] == ["alpha 3", "alpha 4"]
    assert [line["subject"] for line in log.lines(0, 2)] == ["alpha 0", "alpha 1"]


def test_accounts_take_turns_in_the_queue(database: Database) -> None:
    """One that has queued much, or whose runs hang, holds up nobody who comes later."""
    now = [1000.0]
    queue = ConformanceQueue(database, clock=lambda: now[0])
    for number in range(4):
        queue.confirm("flood", f"0.{number}", f"f{number}", "mallory")
    queue.confirm("honest", "0.1", "h1", "alice")
    queue.confirm("late", "0.1", "l1", "bob")
    order = []
    while (check := queue.take()) is not None:
        order.append(check.name)
        now[0] += 10
        if check.sha256 != "f1":  # its run hangs, and another worker goes on
            queue.finish(check, "done")
    assert order == ["flood", "honest", "late", "flood", "flood", "flood"]


def test_a_database_of_an_earlier_version_gets_the_new_column(tmp_path: Path) -> None:
    """What was queued before goes on."""
    url = f"sqlite:///{tmp_path / 'registry.db'}"
    database = Database(url)
    ConformanceQueue(database).confirm("alpha", "0.1", "a", "alice")
    with database.change() as connection:
        connection.exec_driver_sql("ALTER TABLE conformance_queue DROP COLUMN account")
    database.close()
    again = Database(url)
    taken = ConformanceQueue(again).take()
    again.close()
    assert taken is not None
    assert taken.name == "alpha"
