"""Private packages: invisible in every way to whoever may not read them, and installable for whoever may."""

from __future__ import annotations

import base64
import itertools
import json
import shutil
import time
from collections.abc import Callable, Iterator
from importlib.metadata import version
from pathlib import Path
from typing import Any

import pytest
from client_machine import Machine
from hub_command import gem_hub
from hypothesis import given
from hypothesis import strategies as st
from manual_clock import ManualClock
from registry_server import GENEROUS, Answer, RegistryClient, RunningRegistry, running_registry, toy_wheel
from sqlalchemy import event
from sqlalchemy import update as update_rows
from toy_hub import make_wheel

from gem_hub.registry.organisations.private_hubs import private_services
from gem_hub.registry.settings import RegistrySettings
from gem_hub.registry.tables import tokens
from gem_hub.signing.renewal import SignatureRenewal
from gem_hub.site.write import write_site
from gem_hub.store import Store
from gem_hub_client.config import hub_at
from gem_hub_client.errors import HubError
from gem_hub_client.pages import verified_page
from gem_hub_client.registry.credentials import Login, reading_login, remember
from gem_hub_client.registry.token_scope import registry_of
from gem_hub_client.sync import update
from gem_hub_client.trust.pins import read_pin

HUB = "/private/acme"
SECRET = "zebra-worlds"
"""The private package, whose name stands nowhere else."""


CLOCK = ManualClock(1_800_000_000.0)


@pytest.fixture(scope="module")
def registry(tmp_path_factory: pytest.TempPathFactory, new_database: Callable[[], str]) -> Iterator[RunningRegistry]:
    """A registry with the public open-envs of olga, and the private zebra-worlds 0.1.0 of acme, published by mona."""
    folder = tmp_path_factory.mktemp("private")
    settings = RegistrySettings(quotas=GENEROUS, conformance=False, registration="open")
    with running_registry(folder / "hub", settings, new_database(), clock=CLOCK) as running:
        for name, owner in (("acme", "olga"), ("neighbours", "niels")):
            assert running.account(owner).send("POST", "/api/v1/organisations", {"name": name}).status == 201
        for account, role in (("mona", "maintainer"), ("milo", "member"), ("former", "owner")):
            client = running.account(account)
            running.account("olga").send("PUT", f"/api/v1/organisations/acme/members/{account}", {"role": role})
            assert client.send("POST", "/api/v1/organisations/acme/membership").status == 200
        running.account("olga").send("DELETE", "/api/v1/organisations/acme/members/former")
        assert running.account("olga").upload(toy_wheel(folder / "dist", "open-envs")).status == 200
        assert upload(running.account("mona"), toy_wheel(folder / "dist", SECRET)).status == 200
        write_site(running.services.store.truth)
        yield running


def upload(client: RegistryClient, wheel: Path, hub: str = HUB) -> Answer:
    """Upload a wheel to a private hub as twine does."""
    from registry_server import upload_form

    body, content_type = upload_form(wheel, {})
    return client.send("POST", f"{hub}/upload/", body, Content_Type=content_type)


PATHS = (
    "/", "/root.json", "/simple/", f"/simple/{SECRET}/", f"/envs/{SECRET}.json", f"/releases/{SECRET}/0.1.0.json",
    f"/api/v1/packages/{SECRET}", "/api/v1/packages/no-such", "/no-such-file", f"/badges/{SECRET}.svg", "/upload/",
    f"/upload/{SECRET}/0.1.0/", "/api/v1/tokens", "", "/../../root.json", "/%2e%2e/root.json",
)  # fmt: skip
CHANGES = (
    ("PUT", f"/api/v1/packages/{SECRET}/0.1.0/yank"),
    ("DELETE", f"/api/v1/packages/{SECRET}/0.1.0/yank"),
    ("PUT", f"/api/v1/packages/{SECRET}/deprecation"),
    ("PUT", f"/api/v1/packages/{SECRET}/owners/niels"),
    ("PUT", f"/api/v1/packages/{SECRET}/quarantine"),
    ("POST", f"/api/v1/packages/{SECRET}/reports"),
    ("POST", "/api/v1/accounts"),
)
OUTSIDERS = (
    "stranger",
    "wrong token",
    "expired",
    "revoked",
    "limited",
    "no scope",
    "niels",
    "former",
    "sven",
    "olivia",
)


@pytest.fixture(scope="module")
def outsiders(registry: RunningRegistry) -> dict[str, RegistryClient]:
    """Everybody who may not read: without a token, with a bad or limited one, and accounts that are no members."""
    limited = registry.account("milo", packages=[SECRET])
    expired, revoked = registry.account("milo", seconds=60), registry.account("milo")
    revoked.send("DELETE", "/api/v1/tokens/current")
    CLOCK.now += 60
    return {
        "stranger": registry.stranger,
        "wrong token": RegistryClient(registry.port, "gem_" + "0" * 49),
        "expired": expired,
        "revoked": revoked,
        "limited": limited,
        "no scope": registry.account("milo", scopes=["publish", "manage"]),
        **{name: registry.account(name) for name in ("niels", "former", "sven", "olivia")},
    }


def shown(answer: Answer, organisation: str) -> tuple[int, bytes, list[tuple[str, str]]]:
    """Return all that a client sees of an answer, but for the date, and for the organisation that it has asked for."""
    fields = [(name, value) for name, value in answer.fields.items() if name.lower() != "date"]
    return answer.status, answer.body.replace(organisation.encode(), b"NAME"), fields


@pytest.mark.parametrize("who", OUTSIDERS)
@pytest.mark.parametrize(
    "some", [5, pytest.param(1, marks=pytest.mark.nightly(reason="every address for everybody"))], ids=["some", "all"]
)
def test_an_outsider_cannot_tell_a_private_hub_from_none(
    registry: RunningRegistry, outsiders: dict[str, RegistryClient], who: str, some: int
) -> None:
    """Every address and change has the answer that it has below an organisation that does not exist: 404."""
    client, first = outsiders[who], OUTSIDERS.index(who) % some
    for path in PATHS[first::some]:
        there, nowhere = client.send("GET", f"{HUB}{path}"), client.send("GET", f"/private/nobodys-lab{path}")
        assert there.status == 404, path
        assert shown(there, "acme") == shown(nowhere, "nobodys-lab"), path
    for method, path in CHANGES[first::some]:
        there, nowhere = (client.send(method, f"{hub}{path}", {"reason": "x"}) for hub in (HUB, "/private/nobodys-lab"))
        assert there.status == 404, path
        assert shown(there, "acme") == shown(nowhere, "nobodys-lab"), path


def test_an_outsiders_request_costs_the_same_whether_there_is_a_private_hub(
    registry: RunningRegistry, outsiders: dict[str, RegistryClient]
) -> None:
    """The database is asked the same questions in the same order, so that the time of the answer tells nothing.

    A token's use is noted once an hour, so each is asked with twice as one not yet used, and twice as a used one.
    """
    asked: list[str] = []

    def listen(connection: object, cursor: object, statement: str, *rest: object) -> None:
        asked.append(statement)

    database = registry.services.database
    event.listen(database.engine, "before_cursor_execute", listen)
    try:
        for who in OUTSIDERS:
            questions = []
            for hub, first_use in itertools.product((HUB, "/private/nobodys-lab"), (True, False)):
                if first_use:
                    with database.change() as connection:
                        connection.execute(update_rows(tokens).values(used=None))
                asked.clear()
                assert outsiders[who].send("GET", f"{hub}/envs/{SECRET}.json").status == 404
                questions.append(asked.copy())
            assert questions[:2] == questions[2:], who
            assert questions[0] or who == "stranger"
    finally:
        event.remove(database.engine, "before_cursor_execute", listen)


def test_members_see_pages_in_a_browser_which_is_asked_for_a_token(
    registry: RunningRegistry, outsiders: dict[str, RegistryClient]
) -> None:
    """A page is read with a token as the password; everybody else is asked for one, at every address alike."""
    milo = registry.account("milo").token
    login = f"Basic {base64.b64encode(f'__token__:{milo}'.encode()).decode()}"
    page = "text/html,application/xhtml+xml"
    for path in ("/", f"/p/{SECRET}/"):
        answer = registry.stranger.send("GET", f"{HUB}{path}", Authorization=login, Accept=page)
        assert (answer.status, SECRET in answer.text) == (200, True), path
        assert answer.fields.get_all("Cache-Control") == ["private, no-cache"]
    for who in OUTSIDERS:
        there, nowhere = (
            outsiders[who].send("GET", f"{hub}/p/{SECRET}/", Accept=page) for hub in (HUB, "/private/nobodys-lab")
        )
        assert there.status == 401, who
        assert there.fields["WWW-Authenticate"] == 'Basic realm="private packages"'
        assert shown(there, "acme") == shown(nowhere, "nobodys-lab"), who
    public = registry.stranger.send("POST", "/upload/", b"").fields["WWW-Authenticate"]
    assert public != 'Basic realm="private packages"', "a browser would send the token there as well"


def test_a_strangers_page_cannot_use_the_token_of_a_browser(registry: RunningRegistry, tmp_path: Path) -> None:
    """A form that another site sends has its origin in it; it changes nothing, and is answered as an outsider is."""
    from registry_server import upload_form

    body, content_type = upload_form(toy_wheel(tmp_path, SECRET, "6.6.7"), {})
    mona = registry.account("mona")
    for origin in ("https://evil.example", "null", f"http://127.0.0.1:{registry.port}"):
        answer = mona.send("POST", f"{HUB}/upload/", body, Content_Type=content_type, Origin=origin)
        assert answer.status == 404, origin
    path = f"{HUB}/api/v1/packages/{SECRET}/deprecation"
    assert mona.send("PUT", path, {"reason": "x"}, Origin="https://evil.example").status == 404
    assert mona.send("GET", f"{HUB}/releases/{SECRET}/6.6.7.json").status == 404


@pytest.mark.nightly(reason="keys, a whole client and a registry of its own")
@pytest.mark.usefixtures("own_folders")
def test_a_private_hub_is_signed_with_keys_of_its_own(tmp_path: Path) -> None:
    """A member's client pins its root, sees each publication, and refuses what was changed on the registry's disk."""
    with running_registry(tmp_path / "hub") as running:
        assert running.account("olga").send("POST", "/api/v1/organisations", {"name": "acme"}).status == 201
        assert upload(running.account("olga"), toy_wheel(tmp_path, SECRET)).status == 200
        (private,) = private_services(running.services)
        gem_hub("keys", "new", tmp_path / "root.pem")
        gem_hub("keys", "init", "--hub", private.store.folder, "--key", tmp_path / "root.pem")
        address = f"http://127.0.0.1:{running.port}/"
        remember(address, Login(running.account("olga").token, "olga"))
        hub = hub_at(f"{address}private/acme/")
        update(hub)
        assert read_pin(hub) is not None
        assert upload(running.account("olga"), toy_wheel(tmp_path, SECRET, "0.2.0")).status == 200
        found = verified_page(hub, SECRET)
        assert found is not None
        assert not Store(tmp_path / "hub").is_signed, "its keys are not those of the public hub"
        clock = ManualClock(time.time() + 3 * 86_400)
        renewal = SignatureRenewal(running.services.store, pytest.fail, others=lambda: [private.store], clock=clock)
        assert renewal.renew()
        assert not renewal.renew(), "they are young now"
        page = private.store.folder / "envs" / f"{SECRET}.json"
        page.write_text(page.read_text().replace("0.2.0", "0.6.6"))
        with pytest.raises(HubError):
            verified_page(hub, SECRET)


@pytest.mark.nightly(reason="ten uploads")
def test_an_outsider_uploads_nothing(
    registry: RunningRegistry, outsiders: dict[str, RegistryClient], tmp_path: Path
) -> None:
    """The answer is that of an organisation that does not exist, and nothing is published anywhere.

    The two outsiders whose tokens could read nothing and publish are members who may not publish by their role.
    """
    wheel = toy_wheel(tmp_path, SECRET, "6.6.6")
    for who in OUTSIDERS:
        assert upload(outsiders[who], wheel).status == 404, who
    assert registry.account("milo").send("GET", f"{HUB}/releases/{SECRET}/6.6.6.json").status == 404


def test_a_private_package_is_in_no_file_that_is_served(registry: RunningRegistry) -> None:
    """No file of the public hub, and so no mirror of it, has its name, its digest or its organisation's in it."""
    milo = registry.account("milo")
    (release,) = milo.send("GET", f"{HUB}/envs/{SECRET}.json").json["releases"]
    words = [SECRET, SECRET.replace("-", "_"), release["sha256"], "acme"]
    store = registry.services.store
    for path in store.files.files(""):
        if path.startswith(".gem-hub/"):
            assert store.files.open_public(path) is None
            continue
        content = store.files.read(path) or b""
        for word in words:
            assert word.encode() not in content, path
            assert word not in path
    for path in (f"/simple/{SECRET}/", f"/envs/{SECRET}.json", f"/api/v1/packages/{SECRET}", f"/p/{SECRET}/"):
        assert registry.stranger.send("GET", path).status == 404
        assert milo.send("GET", path).status == 404, "the public hub does not depend on who asks"


@pytest.mark.nightly(reason="two more publications")
def test_the_same_name_can_be_published_publicly(registry: RunningRegistry, tmp_path: Path) -> None:
    """A refusal would tell that a private package has the name; the two have nothing to do with each other."""
    assert upload(registry.account("mona"), toy_wheel(tmp_path, "yak-worlds")).status == 200
    answer = registry.account("sven").upload(toy_wheel(tmp_path, "yak-worlds", "0.2.0"))
    assert (answer.status, answer.json["state"]) == (200, "published")
    versions = registry.account("milo").send("GET", f"{HUB}/api/v1/packages/yak-worlds").json["releases"]
    assert [one["version"] for one in versions] == ["0.1.0"]


@pytest.mark.parametrize(
    "who",
    [
        pytest.param("olga", marks=pytest.mark.nightly(reason="may do what mona may")),
        pytest.param("mona", marks=pytest.mark.nightly(reason="publishes")),
        "milo",
    ],
)
def test_members_read_and_do_what_their_role_allows(registry: RunningRegistry, tmp_path: Path, who: str) -> None:
    """All members read everything, in answers that no shared cache keeps; the lowest role changes nothing."""
    client, may = registry.account(who), who != "milo"
    for path in ("/root.json", "/simple/", f"/simple/{SECRET}/", f"/envs/{SECRET}.json", f"/api/v1/packages/{SECRET}"):
        answer = client.send("GET", f"{HUB}{path}")
        assert answer.status == 200, path
        assert answer.fields.get_all("Cache-Control") == ["private, no-cache"]
        assert "Authorization" in answer.fields["Vary"]
    assert upload(client, toy_wheel(tmp_path, SECRET, f"0.2.{len(who) + ord(who[0])}")).status == (200 if may else 403)
    for method, path, body in (
        ("PUT", f"{SECRET}/deprecation", {"reason": "x"}),
        ("DELETE", f"{SECRET}/deprecation", None),
        ("PUT", f"{SECRET}/0.1.0/yank", {"reason": "x"}),
        ("DELETE", f"{SECRET}/0.1.0/yank", None),
    ):
        assert client.send(method, f"{HUB}/api/v1/packages/{path}", body).status == (200 if may else 403), path
    for method, path in CHANGES[3:]:
        assert client.send(method, f"{HUB}{path}", {"reason": "x"}).status in (404, 405), path


def test_the_page_of_a_private_package_shows_its_newest_release(registry: RunningRegistry, tmp_path: Path) -> None:
    """It is written when it is read, so that no page is older than what it shows."""
    assert upload(registry.account("mona"), toy_wheel(tmp_path, SECRET, "0.3.77")).status == 200
    assert "0.3.77" in registry.account("milo").send("GET", f"{HUB}/p/{SECRET}/").text


@pytest.mark.nightly(reason="three more uploads")
def test_a_token_that_only_publishes_uploads_and_reads_nothing(registry: RunningRegistry, tmp_path: Path) -> None:
    """What a workflow needs is enough for it; limited to a package, it uploads no other."""
    client = registry.account("mona", scopes=["publish"], packages=[SECRET])
    assert upload(client, toy_wheel(tmp_path, SECRET, "0.1.1")).status == 200
    assert upload(client, toy_wheel(tmp_path, "other-worlds")).status == 403
    assert client.send("GET", f"{HUB}/root.json").status == 404
    assert upload(registry.account("milo", scopes=["publish"]), toy_wheel(tmp_path, SECRET, "0.1.2")).status == 404


def test_the_log_has_the_member_and_the_private_hub(registry: RunningRegistry) -> None:
    """The operator sees who did what, under a subject that is no public package's."""
    lines = registry.services.audit.lines(None, 1000, f"private/acme/{SECRET}")
    assert {one["detail"].get("origin") for one in lines if one["action"] == "upload"} >= {"member:mona"}
    assert registry.services.audit.lines(None, 10, SECRET) == []


def test_who_leaves_reads_nothing_from_the_next_request_on(registry: RunningRegistry) -> None:
    """There is no session that outlives a membership, a token or an account."""
    registry.account("olga").send("PUT", "/api/v1/organisations/acme/members/lea", {"role": "member"})
    lea = registry.account("lea")
    registry.account("olga").send("PUT", "/api/v1/organisations/acme/members/lea", {"role": "member"})
    assert lea.send("GET", f"{HUB}/root.json").status == 404, "an invitation is no membership"
    lea.send("POST", "/api/v1/organisations/acme/membership")
    assert lea.send("GET", f"{HUB}/root.json").status == 200
    lea.send("DELETE", "/api/v1/organisations/acme/members/lea")
    assert lea.send("GET", f"{HUB}/root.json").status == 404


@pytest.mark.nightly(reason="a whole client")
@pytest.mark.usefixtures("own_folders")
def test_the_client_reads_a_private_hub_with_its_login(registry: RunningRegistry) -> None:
    """Reading is that of any hub; without the login there is nothing, and the advice says what is needed."""
    address = f"http://127.0.0.1:{registry.port}/"
    hub = hub_at(f"{address}private/acme/")
    with pytest.raises(HubError, match=r"404.*a token of a member"):
        verified_page(hub, SECRET)
    remember(address, Login(registry.account("milo").token, "milo"))
    found = verified_page(hub, SECRET)
    assert found is not None
    assert verified_page(hub_at(address), SECRET) is None
    assert reading_login(f"{address}root.json") is None


@pytest.mark.parametrize(
    ("address", "registry"),
    [
        ("https://hub.example/private/acme/", "https://hub.example/"),
        ("https://hub.example/gem/private/acme/files/x.whl", "https://hub.example/gem/"),
        ("https://hub.example/private/acme", ""),
        ("https://hub.example/", ""),
        ("https://hub.example/simple/private/", ""),
        ("https://hub.example@evil.example/private/acme/", ""),
        ("https://evil.example/?https://hub.example/private/acme/", ""),
        ("https://evil.example/#/private/acme/", ""),
        ("https://evil.example\\@hub.example/private/acme/", ""),
        ("ftp://hub.example/private/acme/", ""),
    ],
)
def test_a_token_goes_to_private_hubs_of_its_own_registry(address: str, registry: str) -> None:
    """No other address has a registry whose token it could be given."""
    assert registry_of(address) == registry


@given(st.text(alphabet="https://hub.evil?#@\\:private/acme-.", max_size=60))
def test_whatever_an_address_looks_like_its_token_is_for_its_own_host(text: str) -> None:
    """The registry of an address has the host to which a request for the address goes."""
    from urllib.parse import urlsplit

    address = f"https://{text}"
    found = registry_of(address)
    if found:
        assert urlsplit(found).netloc == urlsplit(address).netloc
        assert address.startswith(found)


@pytest.mark.nightly(reason="real installers install into an environment")
@pytest.mark.parametrize("installer", ["pip", "uv"])
def test_a_private_package_is_installed_and_its_token_is_kept_nowhere(
    registry: RunningRegistry, tmp_path: Path, installer: str
) -> None:
    """``gem hub install`` needs the login; afterwards the token stands in no file but the one of the logins."""
    if installer == "uv" and shutil.which("uv") is None:
        pytest.skip("needs uv")
    machine = Machine(tmp_path / "machine", without_pip=installer == "uv")
    address = f"http://127.0.0.1:{registry.port}/"
    hubs, name = (f"{address}private/acme/",), SECRET
    # uv does not see the gem-core that the machine has from elsewhere.
    make_wheel(machine.index, "gem-core", version("gem-core"), ids=("core:Thing-v0",), metadata=())
    assert "404" in machine.refused("hub", "install", name, hubs=hubs)
    token = registry.account("milo").token
    config = Path(machine.environment()["XDG_CONFIG_HOME"], "gem")
    logins: dict[str, Any] = {"format": 1, "hubs": {address: {"token": token, "account": "milo"}}}
    config.mkdir(parents=True, exist_ok=True)
    (config / "credentials.json").write_text(json.dumps(logins))
    (config / "credentials.json").chmod(0o600)
    machine.gem("hub", "install", name, hubs=hubs)
    assert name in machine.installed()
    holders = [
        path
        for path in machine.folder.rglob("*")
        if path.is_file() and not path.is_symlink() and token.encode() in path.read_bytes()
    ]
    assert holders == [config / "credentials.json"]
    assert "is private" in machine.refused("hub", "lock", name, hubs=hubs)
    assert "in order" in machine.run("hub", "audit", hubs=hubs).stdout
