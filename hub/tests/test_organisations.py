"""Organisations of a registry: each role and each act, invitations, and the owner who is always left."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import cache
from http import HTTPStatus
from itertools import count
from pathlib import Path

import pytest
from manual_clock import ManualClock
from registry_server import Answer, RegistryClient, RunningRegistry, join, running_registry, toy_wheel

from gem_hub.policy import FILE_NAME
from gem_hub.registry.organisations.organisations import INVITATION_SECONDS, Organisations
from gem_hub.registry.organisations.roles import ACTS, ROLES, may
from gem_hub.registry.problems import Problem

ORG = "/api/v1/organisations/acme"
PACKAGE = "/api/v1/packages/acme-envs"


@pytest.fixture(scope="module")
def registry(tmp_path_factory: pytest.TempPathFactory, new_database: Callable[[], str]) -> Iterator[RunningRegistry]:
    """The organisation acme owns acme-envs 0.1.0; niels owns another organisation, and sven nothing at all."""
    folder = tmp_path_factory.mktemp("organisations")
    (folder / "hub").mkdir()
    (folder / "hub" / FILE_NAME).write_text(json.dumps({"operators": ["olivia"]}))
    with running_registry(folder / "hub", database=new_database()) as running:
        for name, owner in (("acme", "olga"), ("neighbours", "niels")):
            made = running.account(owner).send("POST", "/api/v1/organisations", {"name": name})
            assert made.status == 201, made.text
        for account, role in (("oleg", "owner"), ("mona", "maintainer"), ("milo", "member")):
            join(running, "acme", account, role, "olga")
        olga = running.account("olga")
        assert olga.upload(toy_wheel(folder / "dist", "acme-envs")).status == 200
        assert olga.send("PUT", f"{PACKAGE}/owners/acme").status == 200
        assert olga.send("DELETE", f"{PACKAGE}/owners/olga").status == 200
        yield running


NUMBERS = count(1)


@cache
def _client(registry: RunningRegistry, name: str) -> RegistryClient:
    return registry.account(name) if name else registry.stranger


def publish(registry: RunningRegistry, client: RegistryClient, folder: Path) -> Answer:
    return client.upload(toy_wheel(folder, "acme-envs", f"0.2.{next(NUMBERS)}"))


def invite(registry: RunningRegistry, client: RegistryClient, folder: Path) -> Answer:
    account = f"guest-{next(NUMBERS)}"
    registry.account(account)
    return client.send("PUT", f"{ORG}/members/{account}", {"role": "member"})


def remove(registry: RunningRegistry, client: RegistryClient, folder: Path) -> Answer:
    account = f"leaver-{next(NUMBERS)}"
    join(registry, "acme", account, "member", "olga")
    return client.send("DELETE", f"{ORG}/members/{account}")


def sends(method: str, path: str, body: object = None) -> Callable[[RunningRegistry, RegistryClient, Path], Answer]:
    return lambda registry, client, folder: client.send(method, path, body)


WHY = {"reason": "a reason"}
PUBLISHER = {"issuer": "github", "repository": "acme/acme-envs", "workflow": "publish.yml"}
ACTIONS: dict[str, Callable[[RunningRegistry, RegistryClient, Path], Answer]] = {
    "see members": sends("GET", ORG),
    "publish": publish,
    "yank": sends("PUT", f"{PACKAGE}/0.1.0/yank", WHY),
    "unyank": sends("DELETE", f"{PACKAGE}/0.1.0/yank"),
    "deprecate": sends("PUT", f"{PACKAGE}/deprecation", WHY),
    "undeprecate": sends("DELETE", f"{PACKAGE}/deprecation"),
    "add an owner": sends("PUT", f"{PACKAGE}/owners/acme"),
    "remove the owner": sends("DELETE", f"{PACKAGE}/owners/sven"),
    "see publishers": sends("GET", f"{PACKAGE}/publishers"),
    "invite": invite,
    "change a role": sends("PUT", f"{ORG}/members/milo", {"role": "member"}),
    "remove": remove,
    "quarantine": sends("PUT", f"{PACKAGE}/quarantine", WHY),
}
MAIN = ("see members", "publish", "yank", "add an owner", "invite", "change a role")
"""One act for each line of the table of roles, which the main tier tests."""

COLUMNS = ("olga", "oleg", "mona", "milo", "niels", "sven", "")
"""Two owners, the maintainer, the member, the owner of another organisation, an account, and nobody."""
ALLOWED: dict[str, tuple[int, ...]] = {
    "see members": (200, 200, 200, 200, 404, 404, 401),
    "publish": (200, 200, 200, 403, 403, 403, 401),
    "yank": (200, 200, 200, 403, 403, 403, 401),
    "unyank": (200, 200, 200, 403, 403, 403, 401),
    "deprecate": (200, 200, 200, 403, 403, 403, 401),
    "undeprecate": (200, 200, 200, 403, 403, 403, 401),
    "add an owner": (200, 200, 403, 403, 403, 403, 401),
    "remove the owner": (409, 409, 403, 403, 403, 403, 401),  # sven is none: the right is there, and nothing to remove
    "see publishers": (200, 200, 403, 403, 403, 403, 401),
    "invite": (200, 200, 403, 403, 404, 404, 401),
    "change a role": (200, 200, 403, 403, 404, 404, 401),
    "remove": (200, 200, 403, 403, 404, 404, 401),
    "quarantine": (403, 403, 403, 403, 403, 403, 401),
}


@pytest.mark.parametrize(
    "action",
    [
        name if name in MAIN else pytest.param(name, marks=pytest.mark.nightly(reason="the other acts"))
        for name in ACTIONS
    ],
)
def test_each_role_may_do_what_the_table_says(registry: RunningRegistry, tmp_path: Path, action: str) -> None:
    """Each role, the neighbour, the stranger and nobody get the status of the table for each act."""
    got = []
    for name in COLUMNS:
        client = _client(registry, name)
        got.append(ACTIONS[action](registry, client, tmp_path / (name or "nobody")).status)
    assert dict(zip(COLUMNS, got, strict=True)) == dict(zip(COLUMNS, ALLOWED[action], strict=True))


def test_every_act_has_owners_and_no_unknown_role() -> None:
    """An owner may do everything, a role may do no more than the one above it, and nobody may do nothing."""
    assert ROLES == ("owner", "maintainer", "member")
    for act, roles in ACTS.items():
        assert [role for role in ROLES if may(role, act)] == list(ROLES[: len(roles)])
        assert roles
        assert not may(None, act)


@pytest.mark.nightly(reason="a publication and a rebuild")
def test_what_a_member_does_is_the_organisations(registry: RunningRegistry, tmp_path: Path) -> None:
    """Release and event name the organisation, the audit log the member, and a rebuild admits all of it."""
    version = f"0.3.{next(NUMBERS)}"
    assert registry.account("mona").upload(toy_wheel(tmp_path, "acme-envs", version)).status == 200
    assert registry.account("mona").send("PUT", f"{PACKAGE}/{version}/yank", WHY).status == 200
    package = registry.services.store.existing("acme-envs")
    assert package.owners == ["acme"]
    assert next(one for one in package.records if one.version == version).publisher == "acme"
    assert package.events[-1].by == "acme"
    lines = registry.services.audit.lines(None, 10, "acme-envs")
    upload, yank = (
        next(one for one in reversed(lines) if one["action"] == action) for action in ("upload", "package.yank")
    )
    assert upload["detail"]["origin"] == "member:mona"
    assert yank["account"] == "mona"
    assert not registry.services.store.rebuild(check=True)


def test_an_organisations_name_is_nobody_elses(registry: RunningRegistry) -> None:
    """Accounts, owners of packages and organisations share one set of names, and an organisation invites none."""
    create = registry.account("sven").send
    for name, status in (("acme", 409), ("mona", 409), ("olivia", 409), ("root", 409), ("A b", 400), ("x", 400)):
        assert create("POST", "/api/v1/organisations", {"name": name}).status == status, name
    assert registry.stranger.send("POST", "/api/v1/accounts", {"name": "acme"}).status == 409
    assert registry.account("olga").send("PUT", f"{ORG}/members/neighbours", {"role": "member"}).status == 404
    assert registry.account("olga").send("PUT", f"{ORG}/members/no-one", {"role": "member"}).status == 404
    for role in ("admin", "", None, "OWNER"):
        assert registry.account("olga").send("PUT", f"{ORG}/members/milo", {"role": role}).status == 400


def test_limited_tokens_have_no_say(registry: RunningRegistry) -> None:
    """A token for some packages, without the scope, or of a trusted publisher changes no organisation."""
    for limits in ({"packages": ["acme-envs"]}, {"scopes": ["publish"]}, {"origin": "github:acme/acme-envs"}):
        client = registry.account("olga", **limits)
        assert client.send("GET", ORG).status == 403
        assert client.send("PUT", f"{ORG}/members/milo", {"role": "owner"}).status == 403
        assert client.send("POST", "/api/v1/organisations", {"name": "new-org"}).status == 403


@pytest.mark.nightly(reason="three more publications")
def test_a_disabled_organisation_or_member_does_nothing(registry: RunningRegistry, tmp_path: Path) -> None:
    """Whoever is disabled loses the rights at once; another member keeps them."""
    join(registry, "acme", "dora", "owner", "olga")
    dora = registry.account("dora")
    registry.services.accounts.disable("acme")
    assert publish(registry, dora, tmp_path).status == 403
    assert dora.send("GET", ORG).status == 404
    registry.services.accounts.disable("acme", disabled=False)
    registry.services.accounts.disable("dora")
    assert publish(registry, dora, tmp_path).status == 401
    assert publish(registry, registry.account("mona"), tmp_path).status == 200


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock(1_000_000.0)


@pytest.fixture
def club(tmp_path: Path, clock: ManualClock, new_database: Callable[[], str]) -> Iterator[Organisations]:
    """The organisation club of ann, beside the accounts ben and cleo, without a server."""
    from gem_hub.registry.accounts import Accounts
    from gem_hub.registry.database import Database

    database = Database(new_database() or f"sqlite:///{tmp_path / 'registry.db'}")
    accounts = Accounts(database, clock)
    numbers = {name: accounts.create(name) for name in ("ann", "ben", "cleo")}
    made = Organisations(database, accounts, clock)
    made.create("club", numbers["ann"], ())
    yield made
    database.close()


def refused(status: HTTPStatus, act: Callable[..., object], *arguments: object) -> None:
    with pytest.raises(Problem) as caught:
        act(*arguments)
    assert caught.value.status is status


def test_an_organisation_is_founded_whole_or_not_at_all(club: Organisations) -> None:
    """Where its first owner cannot be written down, its name stays free for the next attempt."""
    refused(HTTPStatus.CONFLICT, club.create, "other-club", 999_999, ())
    founder = club._accounts.find("ann")
    assert founder is not None
    club.create("other-club", founder.id, ())
    assert club.role("other-club", "ann") == "owner"


@pytest.mark.parametrize(("seconds", "accepted"), [(INVITATION_SECONDS - 1, True), (INVITATION_SECONDS, False)])
def test_an_invitation_ends(club: Organisations, clock: ManualClock, seconds: int, accepted: bool) -> None:
    """It can be accepted up to its last second, and neither it nor its end can be seen afterwards."""
    assert club.invite("club", "ben", "maintainer", "ann") == "invited"
    clock.now += seconds
    assert bool(club.of("ben")["invitations"]) is accepted
    assert bool(club.members("club", "ann")["invitations"]) is accepted
    if accepted:
        assert club.accept("club", "ben") == "maintainer"
        refused(HTTPStatus.NOT_FOUND, club.accept, "club", "ben")
    else:
        refused(HTTPStatus.NOT_FOUND, club.accept, "club", "ben")
        assert club.role("club", "ben") is None
        assert club.invite("club", "ben", "member", "ann") == "invited"
        assert club.accept("club", "ben") == "member"


def test_an_invitation_is_for_one_account_and_its_last_role(club: Organisations) -> None:
    """Another account cannot use it, the newest role counts, and who declines or is uninvited stays out."""
    club.invite("club", "ben", "owner", "ann")
    assert club.invite("club", "ben", "member", "ann") == "invited"
    refused(HTTPStatus.NOT_FOUND, club.accept, "club", "cleo")
    assert club.accept("club", "ben") == "member"
    for by in ("cleo", "ann"):
        club.invite("club", "cleo", "owner", "ann")
        club.remove("club", "cleo", by)
        refused(HTTPStatus.NOT_FOUND, club.accept, "club", "cleo")
    refused(HTTPStatus.NOT_FOUND, club.remove, "club", "cleo", "cleo")
    refused(HTTPStatus.NOT_FOUND, club.remove, "no-club", "cleo", "cleo")


def test_who_may_no_longer_invite_has_not_invited(club: Organisations) -> None:
    """An invitation of an owner who was demoted or removed brings nobody in."""
    club.invite("club", "ben", "owner", "ann")
    club.accept("club", "ben")
    club.invite("club", "cleo", "owner", "ben")
    assert club.invite("club", "ben", "maintainer", "ann") == "changed"
    refused(HTTPStatus.NOT_FOUND, club.accept, "club", "cleo")


def test_one_owner_is_always_left(club: Organisations) -> None:
    """The last owner neither leaves nor is demoted, whoever else is a member; with a second owner either may."""
    for account, role in (("ben", "maintainer"), ("cleo", "member")):
        club.invite("club", account, role, "ann")  # type: ignore[arg-type]
        club.accept("club", account)
    refused(HTTPStatus.CONFLICT, club.remove, "club", "ann", "ann")
    for role in ("maintainer", "member"):
        refused(HTTPStatus.CONFLICT, club.invite, "club", "ann", role, "ann")
    assert club.invite("club", "ann", "owner", "ann") == "unchanged"
    assert club.invite("club", "cleo", "owner", "ann") == "changed"
    club.remove("club", "ann", "ann")
    assert club.role("club", "ann") is None
    refused(HTTPStatus.CONFLICT, club.remove, "club", "cleo", "cleo")


@pytest.mark.nightly(reason="a race, again and again")
def test_two_owners_cannot_leave_at_once(club: Organisations) -> None:
    """Of two owners who leave in the same moment one stays, again and again."""
    club.invite("club", "ben", "owner", "ann")
    club.accept("club", "ben")
    for _ in range(2):
        outcomes: list[str] = []
        barrier = threading.Barrier(2)

        def leave(account: str, barrier: threading.Barrier = barrier, outcomes: list[str] = outcomes) -> None:
            barrier.wait()
            with suppress(Problem):
                club.remove("club", account, account)
                outcomes.append(account)

        threads = [threading.Thread(target=leave, args=(name,)) for name in ("ann", "ben")]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        (gone,) = outcomes
        left = "ben" if gone == "ann" else "ann"
        assert club.role("club", left) == "owner"
        club.invite("club", gone, "owner", left)
        club.accept("club", gone)


@pytest.mark.nightly(reason="a server and seven commands; the routes are tested above")
def test_the_commands_lead_from_an_empty_organisation_to_a_member(
    registry: RunningRegistry, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each command asks for what its help says, and prints it."""
    from click.testing import CliRunner

    from gem_hub_client.cli.group import hub_command
    from gem_hub_client.registry.credentials import Login, remember

    address = f"http://127.0.0.1:{registry.port}/"

    def run(account: str, *arguments: str) -> str:
        monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / account))
        remember(address, Login(_client(registry, account).token, account))
        done = CliRunner().invoke(hub_command, ["org", *arguments, "--hub", address])
        assert done.exit_code == 0, done.output
        return done.output

    assert "is yours" in run("sven", "new", "svens-club")
    assert "joins with: gem hub org join svens-club" in run(
        "sven", "invite", "svens-club", "milo", "--role", "maintainer"
    )
    assert "invited, until" in run("milo", "list")
    assert "You are maintainer of svens-club now" in run("milo", "join", "svens-club")
    assert "milo is member of svens-club now" in run("sven", "invite", "svens-club", "milo", "--role", "member")
    assert json.loads(run("milo", "members", "svens-club", "--json"))["members"][0]["account"] == "milo"
    assert "no member of svens-club any more" in run("milo", "remove", "svens-club", "milo")
