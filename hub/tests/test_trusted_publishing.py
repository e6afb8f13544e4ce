"""Trusted publishing end to end: an issuer over TLS, a registry over TLS, the real uv, and what must not pass."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
import time
import urllib.request
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.error import HTTPError

import pytest
from cryptography.hazmat.primitives.asymmetric import rsa
from local_issuer import GITHUB_CLAIMS, GITLAB_CLAIMS, RUNNER_SECRET, LocalIssuer, local_issuer
from registry_server import GENEROUS, running_registry, toy_wheel, upload_form
from sqlalchemy import func, select

from gem_hub.events import Owner
from gem_hub.registry.app import registry_app
from gem_hub.registry.server import listen, registry_server
from gem_hub.registry.services import RegistryServices
from gem_hub.registry.settings import RegistrySettings
from gem_hub.registry.tokens import SCOPES
from gem_hub.registry.trusted_publishing.tables import used_tokens
from gem_hub.store import Store

PUBLISHER = {"issuer": "local", "repository": "ada/my-envs", "workflow": "ci.yml", "environment": "release"}


class Answer:
    """An answer of the registry."""

    def __init__(self, response: Any) -> None:
        self.status = response.status
        self.body = response.read()
        self.type = response.headers.get_content_type()

    @property
    def json(self) -> Any:
        return json.loads(self.body)


class TrustedRegistry:
    """A registry over TLS, and requests to it."""

    def __init__(self, services: RegistryServices, origin: str) -> None:
        self.services = services
        self.origin = origin
        self.audience = origin.removeprefix("https://")

    def send(self, method: str, path: str, body: Any = None, token: str = "", **fields: str) -> Answer:
        """Send a request with a JSON body, or with bytes."""
        data = body if body is None or isinstance(body, bytes) else json.dumps(body).encode()
        headers = {name.replace("_", "-"): value for name, value in fields.items()}
        if token:
            headers["Authorization"] = f"Bearer {token}"
        request = urllib.request.Request(self.origin + path, data, headers, method=method)
        try:
            with urllib.request.urlopen(request, timeout=60) as response:
                return Answer(response)
        except HTTPError as error:
            with error:
                return Answer(error)

    def account(self, name: str, **token: Any) -> str:
        """Return a token of an account, which is created if necessary."""
        row = self.services.accounts.find(name)
        number = row.id if row is not None else self.services.accounts.create(name)
        return self.services.tokens.mint(number, "tests", **{"scopes": SCOPES, **token})[0]

    def add(self, package: str, token: str, **changes: Any) -> Answer:
        """Configure a publisher; a change to None leaves a field out."""
        body = {key: value for key, value in {**PUBLISHER, **changes}.items() if value is not None}
        return self.send("POST", f"/api/v1/packages/{package}/publishers", body, token)

    def mint(self, identity: object, **more: Any) -> Answer:
        """Exchange an identity token."""
        return self.send("POST", "/_/oidc/mint-token", {"token": identity, **more})

    def upload(self, wheel: Path, token: str) -> Answer:
        """Upload a wheel."""
        body, content_type = upload_form(wheel)
        return self.send("POST", "/upload/", body, token, Content_Type=content_type)


@contextmanager
def trusted_registry(
    hub: Path, issuers: list[Any], tls: tuple[Path, Path], database: str = "", **more: Any
) -> Iterator[TrustedRegistry]:
    """Serve a registry over TLS that trusts issuers."""
    store = Store(hub)
    if not (hub / "root.json").exists():
        store.rebuild()
    listener = listen("127.0.0.1", 0)
    origin = f"https://127.0.0.1:{listener.getsockname()[1]}"
    settings = RegistrySettings(quotas=GENEROUS, conformance=False, address=origin, issuers=issuers, database=database)
    services = RegistryServices(store, settings, **more)
    server = registry_server(registry_app(services), 512, [], str(tls[0]), str(tls[1]))
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]})
    thread.start()
    try:
        yield TrustedRegistry(services, origin)
    finally:
        server.should_exit = True
        thread.join()
        services.close()


@pytest.fixture(scope="module")
def forge(tls: tuple[Path, Path]) -> Iterator[LocalIssuer]:
    """A second issuer, as a GitLab of one's own."""
    with local_issuer(rsa.generate_private_key(65537, 2048), *tls) as running:
        yield running


@pytest.fixture(scope="module")
def registry(
    issuer: LocalIssuer, forge: LocalIssuer, tls: tuple[Path, Path], tmp_path_factory: pytest.TempPathFactory
) -> Iterator[TrustedRegistry]:
    """A registry that trusts both issuers; each test uses names of its own."""
    issuers = [
        {"name": "local", "url": issuer.url, "provider": "github"},
        {"name": "forge", "url": forge.url, "provider": "gitlab"},
        {"name": "twin", "url": f"{forge.url}/twin", "provider": "github", "jwks_url": f"{forge.url}/keys"},
    ]
    with trusted_registry(tmp_path_factory.mktemp("trusted") / "hub", issuers, tls) as running:
        yield running


def refusal(answer: Answer) -> tuple[str, str]:
    """Return code and reason of a refusal, which is problem details (RFC 9457) and what PyPI's clients read."""
    assert answer.status in (422, 503)
    assert answer.type == "application/problem+json"
    document = answer.json
    assert document["status"] == answer.status
    assert document["errors"] == [{"code": document["code"], "description": document["detail"]}]
    assert document["message"] == document["detail"]
    return document["code"], document["detail"]


def actions(registry: TrustedRegistry, subject: str) -> list[str]:
    return [line["action"] for line in registry.services.audit.lines(subject=subject, most=1000)]


def test_uv_publishes_as_a_workflow(
    registry: TrustedRegistry, issuer: LocalIssuer, tls: tuple[Path, Path], tmp_path: Path
) -> None:
    """The real uv, in the environment of a job on GitHub, publishes a package that did not exist, without a secret."""
    ada = registry.account("ada")
    added = registry.add("uv-envs", ada)
    assert added.status == 201
    assert added.json["pending"] is True
    wheel = toy_wheel(tmp_path / "dist", "uv-envs")
    environment = {
        "PATH": os.environ["PATH"],
        "HOME": str(tmp_path),
        "SSL_CERT_FILE": str(tls[0]),
        "NO_PROXY": "*",
        "GITHUB_ACTIONS": "true",
        "ACTIONS_ID_TOKEN_REQUEST_URL": f"{issuer.url}/token?job=1",
        "ACTIONS_ID_TOKEN_REQUEST_TOKEN": RUNNER_SECRET,
    }
    pytest.importorskip("uv", reason="NOT TESTED: uv is not installed")
    command = [str(Path(sys.executable).with_name("uv")), "publish", "--trusted-publishing", "always"]
    url = f"{registry.origin}/upload/"
    done = subprocess.run(
        [*command, "--publish-url", url, str(wheel)],
        env=environment,
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    package = registry.services.store.existing("uv-envs")
    assert package.owners == ["ada"]
    lines = registry.services.audit.lines(most=1000)
    (upload,) = (line for line in lines if line["action"] == "upload" and line["subject"] == "uv-envs 0.1.0")
    assert upload["detail"]["origin"] == "local: ada/my-envs, ci.yml, environment release"
    (mint,) = (line for line in lines if line["action"] == "publisher.mint" and line["subject"] == "uv-envs")
    assert mint["detail"]["claims"]["repository_id"] == "7401"
    assert mint["token_id"] == upload["token_id"]
    (listed,) = registry.send("GET", "/api/v1/packages/uv-envs/publishers", token=ada).json["publishers"]
    assert listed["pending"] is False
    assert listed["repository_owner_id"] == "6501"
    # uv ends its token itself.
    assert "publisher.burn" in [line["action"] for line in lines]


def test_uv_publishes_as_a_job_on_gitlab(
    registry: TrustedRegistry, forge: LocalIssuer, tls: tuple[Path, Path], tmp_path: Path
) -> None:
    """The real uv finds the identity token of a job on GitLab in the variable that is named after the hub's host."""
    body = {"issuer": "forge", "project": "lab/envs/mine", "workflow": ".gitlab-ci.yml"}
    assert registry.send("POST", "/api/v1/packages/uv-lab-envs/publishers", body, registry.account("lab")).status == 201
    config = f"{forge.url.removeprefix('https://')}/lab/envs/mine//.gitlab-ci.yml@refs/tags/v0.1.0"
    token = forge.token(registry.audience, {**GITLAB_CLAIMS, "ci_config_ref_uri": config})
    variable = "".join(character if character.isalnum() else "_" for character in registry.audience.upper())
    environment = {
        "PATH": os.environ["PATH"],
        "HOME": str(tmp_path),
        "SSL_CERT_FILE": str(tls[0]),
        "NO_PROXY": "*",
        "GITLAB_CI": "true",
        f"{variable}_ID_TOKEN": token,
    }
    pytest.importorskip("uv", reason="NOT TESTED: uv is not installed")
    command = [str(Path(sys.executable).with_name("uv")), "publish", "--trusted-publishing", "always"]
    wheel = toy_wheel(tmp_path / "dist", "uv-lab-envs")
    command += ["--publish-url", f"{registry.origin}/upload/", str(wheel)]
    done = subprocess.run(command, env=environment, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert registry.services.store.existing("uv-lab-envs").owners == ["lab"]


def claims_for(name: str, **changes: Any) -> dict[str, Any]:
    """Return the claims of GitHub for a repository of its own, so that tests do not meet."""
    path = f"ada/{name}/.github/workflows/ci.yml@refs/tags/v0.1.0"
    own = {"repository": f"ada/{name}", "job_workflow_ref": path, "workflow_ref": path, "sub": f"repo:ada/{name}"}
    return {**GITHUB_CLAIMS, **own, **changes}


def configured(registry: TrustedRegistry, name: str, **changes: Any) -> str:
    """Configure the publisher of a package, as an account of its own; return the account's token."""
    token = registry.account(f"ada-{name}")
    answer = registry.add(name, token, repository=f"ada/{name}", **changes)
    assert answer.status == 201, answer.body
    return token


def test_a_minted_token_publishes_its_package_and_nothing_else(
    registry: TrustedRegistry, issuer: LocalIssuer, tmp_path: Path
) -> None:
    """It is limited to the package, to publishing and to fifteen minutes, and cannot manage anything."""
    configured(registry, "only-this")
    before = int(time.time())
    answer = registry.mint(issuer.token(registry.audience, claims_for("only-this")))
    assert answer.status == 200
    document = answer.json
    assert document["packages"] == ["only-this"]
    assert before + 900 <= document["expires"] <= int(time.time()) + 900
    token = document["token"]
    assert registry.upload(toy_wheel(tmp_path / "a", "only-this"), token).status == 200
    other = registry.upload(toy_wheel(tmp_path / "b", "other-one"), token)
    assert other.status == 403
    assert registry.services.store.package("other-one") is None
    assert registry.add("only-this", token, workflow="evil.yml").status == 403
    assert registry.send("GET", "/api/v1/packages/only-this/publishers", token=token).status == 403
    assert token not in str(registry.services.audit.lines(most=1000))


def test_an_identity_token_is_exchanged_once(registry: TrustedRegistry, issuer: LocalIssuer) -> None:
    """A replay is refused."""
    configured(registry, "once-only")
    token = issuer.token(registry.audience, claims_for("once-only"))
    assert registry.mint(token).status == 200
    assert refusal(registry.mint(token))[0] == "token-replayed"
    assert actions(registry, "once-only").count("publisher.mint") == 1


def test_requests_at_the_same_time_are_decided_by_the_database(
    issuer: LocalIssuer, tls: tuple[Path, Path], tmp_path: Path, database_url: str
) -> None:
    """Of eight requests with one token, one succeeds; of eight identities with other ids, one binds the publisher."""
    issuers = [{"name": "local", "url": issuer.url, "provider": "github"}]
    with trusted_registry(tmp_path / "hub", issuers, tls, database_url) as registry, ThreadPoolExecutor(8) as pool:
        configured(registry, "once-only")
        token = issuer.token(registry.audience, claims_for("once-only"))
        answers = [*pool.map(registry.mint, [token] * 8)]
        assert sorted(answer.status for answer in answers) == [200, *[422] * 7]
        assert {refusal(answer)[0] for answer in answers if answer.status != 200} == {"token-replayed"}
        configured(registry, "raced-repo")
        claims = claims_for("raced-repo")
        tokens = [issuer.token(registry.audience, claims, repository_id=str(number + 1)) for number in range(8)]
        answers = [*pool.map(registry.mint, tokens)]
        assert sorted(answer.status for answer in answers) == [200, *[422] * 7]


def test_a_used_token_is_remembered_as_long_as_it_would_be_valid(
    issuer: LocalIssuer, tls: tuple[Path, Path], tmp_path: Path
) -> None:
    """The note of its jti goes when it would be refused for its age, leeway included, and not before."""
    now = [time.time()]
    issuers = [{"name": "local", "url": issuer.url, "provider": "github"}]
    with trusted_registry(tmp_path / "hub", issuers, tls, clock=lambda: now[0]) as registry:
        configured(registry, "short-memory")

        def remembered() -> int:
            with registry.services.database.read() as connection:
                return int(connection.execute(select(func.count()).select_from(used_tokens)).scalar_one())

        for _ in range(3):
            assert registry.mint(issuer.token(registry.audience, claims_for("short-memory"))).status == 200
        assert remembered() == 3
        now[0] += 320
        assert registry.mint(issuer.token(registry.audience, claims_for("short-memory"))).status == 200
        assert remembered() == 4
        now[0] += 20
        assert registry.mint(issuer.token(registry.audience, claims_for("short-memory"))).status == 200
        assert remembered() == 1


MISMATCHES: dict[str, tuple[dict[str, Any], str]] = {
    "repository": ({"repository": "ada/elsewhere"}, "no-publisher"),
    "owner": ({"repository_owner": "eve"}, "no-publisher"),
    "workflow": ({"job_workflow_ref": "ada/odd-one/.github/workflows/x.yml@refs/tags/v0.1.0"}, "no-publisher"),
    "reusable workflow": ({"job_workflow_ref": "eve/ci/.github/workflows/ci.yml@refs/heads/main"}, "no-publisher"),
    "environment": ({"environment": "test"}, "no-publisher"),
    "pull_request_target": ({"event_name": "pull_request_target"}, "event"),
    "no repository": ({"repository": None}, "missing-claim"),
    "no repository_id": ({"repository_id": None}, "missing-claim"),
}


@pytest.mark.parametrize("difference", MISMATCHES)
def test_another_workflow_gets_no_token(difference: str, registry: TrustedRegistry, issuer: LocalIssuer) -> None:
    """Any difference is refused with its reason, noted in the audit log, and leaves the publisher as it is."""
    changes, code = MISMATCHES[difference]
    ada = registry.account("ada")
    assert registry.add("odd-one", ada, repository="ada/odd-one").status == 201
    answer = registry.mint(issuer.token(registry.audience, claims_for("odd-one"), **changes))
    assert refusal(answer)[0] == code
    assert registry.services.audit.lines(most=1000)[-1]["detail"]["reason"] == code
    (listed,) = registry.send("GET", "/api/v1/packages/odd-one/publishers", token=ada).json["publishers"]
    assert listed["used"] is None
    assert "repository_id" not in listed


def test_a_resurrected_repository_gets_no_token(registry: TrustedRegistry, issuer: LocalIssuer) -> None:
    """After its first use, a repository of the same name with another id, or of another owner, is refused."""
    configured(registry, "dead-repo")
    assert registry.mint(issuer.token(registry.audience, claims_for("dead-repo"))).status == 200
    for change in ({"repository_id": "9"}, {"repository_owner_id": "9"}):
        code, reason = refusal(registry.mint(issuer.token(registry.audience, claims_for("dead-repo"), **change)))
        assert code == "no-publisher"
        assert "another repository has the same name now" in reason
    assert registry.mint(issuer.token(registry.audience, claims_for("dead-repo"))).status == 200


def test_ids_in_the_configuration_bind_from_the_beginning(registry: TrustedRegistry, issuer: LocalIssuer) -> None:
    """A repository with another id than the configured one is refused at its first try."""
    configured(registry, "bound-repo", repository_id="1")
    assert refusal(registry.mint(issuer.token(registry.audience, claims_for("bound-repo"))))[0] == "no-publisher"
    own = claims_for("bound-repo", repository_id="1")
    assert registry.mint(issuer.token(registry.audience, own)).status == 200


def test_a_forge_of_ones_own_publishes_too(registry: TrustedRegistry, forge: LocalIssuer, tmp_path: Path) -> None:
    """GitLab's claims of a self-hosted instance, with its own host in ci_config_ref_uri."""
    ada = registry.account("ada")
    body = {"issuer": "forge", "project": "lab/envs/mine", "workflow": ".gitlab-ci.yml"}
    assert registry.send("POST", "/api/v1/packages/forged-envs/publishers", body, ada).status == 201
    host = forge.url.removeprefix("https://")
    config = {"ci_config_ref_uri": f"{host}/lab/envs/mine//.gitlab-ci.yml@refs/tags/v0.1.0"}
    answer = registry.mint(forge.token(registry.audience, {**GITLAB_CLAIMS, **config}))
    assert answer.status == 200, answer.body
    assert registry.upload(toy_wheel(tmp_path, "forged-envs"), answer.json["token"]).status == 200


def test_a_self_hosted_issuer_cannot_speak_for_another(
    registry: TrustedRegistry, issuer: LocalIssuer, forge: LocalIssuer
) -> None:
    """An issuer that signs the claims of a repository at another issuer finds no publisher."""
    configured(registry, "two-issuers")
    forge.kid = issuer.kid
    assert refusal(registry.mint(forge.token(registry.audience, claims_for("two-issuers"))))[0] == "missing-claim"
    twin = forge.sign({**forge.claims(registry.audience, claims_for("two-issuers")), "iss": f"{forge.url}/twin"})
    code, reason = refusal(registry.mint(twin))
    assert (code, "none is configured for 'ada/two-issuers' at twin" in reason) == ("no-publisher", True)
    spoken = forge.sign(forge.claims(registry.audience, claims_for("two-issuers"), iss=issuer.url))
    assert refusal(registry.mint(spoken))[0] == "signature"


def test_publishers_of_an_issuer_that_changed_its_kind_are_left_aside(
    issuer: LocalIssuer, tls: tuple[Path, Path], tmp_path: Path
) -> None:
    """After an operator took an issuer for a GitLab by mistake, what was configured then stops nobody."""
    wrong = {"name": "one", "url": issuer.url, "provider": "gitlab"}
    with trusted_registry(tmp_path / "hub", [wrong], tls) as registry:
        body = {"issuer": "one", "project": "ada/kinds", "workflow": "ci.yml"}
        assert (
            registry.send("POST", "/api/v1/packages/kinds-old/publishers", body, registry.account("ada")).status == 201
        )
    with trusted_registry(tmp_path / "hub", [{**wrong, "provider": "github"}], tls) as registry:
        assert registry.add("kinds-new", registry.account("ada"), issuer="one", repository="ada/kinds").status == 201
        minted = registry.mint(issuer.token(registry.audience, claims_for("kinds")))
        assert minted.json["packages"] == ["kinds-new"]


def test_a_token_for_another_hub_is_worth_nothing(registry: TrustedRegistry, issuer: LocalIssuer) -> None:
    """The audience is the operator's address, whatever name the request gives the hub."""
    configured(registry, "other-hub")
    token = issuer.token("evil.example", claims_for("other-hub"))
    answer = registry.send("POST", "/_/oidc/mint-token", {"token": token}, Host="evil.example")
    assert refusal(answer)[0] == "audience"
    assert registry.send("GET", "/_/oidc/audience", Host="evil.example").json == {"audience": registry.audience}


def test_a_pending_publisher_is_worth_nothing_once_the_name_is_taken(
    registry: TrustedRegistry, issuer: LocalIssuer, tmp_path: Path
) -> None:
    """It reserves no name: after somebody else's first release it gets no token, and one from before is over."""
    configured(registry, "wanted-name")
    early = registry.mint(issuer.token(registry.audience, claims_for("wanted-name"))).json["token"]
    assert registry.upload(toy_wheel(tmp_path / "bob", "wanted-name"), registry.account("bob")).status == 200
    assert registry.upload(toy_wheel(tmp_path / "ada", "wanted-name", "0.2.0"), early).status == 403
    code, reason = refusal(registry.mint(issuer.token(registry.audience, claims_for("wanted-name"))))
    assert code == "no-publisher"
    assert "ada-wanted-name, who added the publisher, may not publish it" in reason
    assert registry.services.store.existing("wanted-name").owners == ["bob"]


def test_a_publisher_ends_with_the_ownership_of_who_added_it(
    registry: TrustedRegistry, issuer: LocalIssuer, tmp_path: Path
) -> None:
    """When ada is no owner any more, or her account is disabled, her publisher gets no token."""
    token = configured(registry, "handed-on")
    assert registry.upload(toy_wheel(tmp_path, "handed-on"), token).status == 200
    minted = registry.mint(issuer.token(registry.audience, claims_for("handed-on")))
    assert minted.status == 200
    registry.services.accounts.disable("ada-handed-on")
    try:
        assert registry.upload(toy_wheel(tmp_path, "handed-on", "0.2.0"), minted.json["token"]).status == 403
        assert refusal(registry.mint(issuer.token(registry.audience, claims_for("handed-on"))))[0] == "no-publisher"
    finally:
        registry.services.accounts.disable("ada-handed-on", disabled=False)
    store = registry.services.store
    store.add_event(Owner(name="handed-on", action="add", owner="bob", by="ada-handed-on"))
    store.add_event(Owner(name="handed-on", action="remove", owner="ada-handed-on", by="bob"))
    assert refusal(registry.mint(issuer.token(registry.audience, claims_for("handed-on"))))[0] == "no-publisher"


def test_a_stranger_who_names_my_repository_does_not_get_in_my_way(
    registry: TrustedRegistry, issuer: LocalIssuer, tmp_path: Path
) -> None:
    """Eve lists ada's repository for a package of hers; ada's jobs publish ada's package as ada, and eve's as eve."""
    eve = registry.account("eve")
    assert registry.add("eves-envs", eve, repository="ada/shared-name").status == 201
    ada = registry.account("ada")
    assert registry.add("adas-envs", ada, repository="ada/shared-name").status == 201
    claims = claims_for("shared-name")
    both = registry.mint(issuer.token(registry.audience, claims)).json
    assert both["packages"] == ["adas-envs", "eves-envs"]
    for name, owner in (("adas-envs", "ada"), ("eves-envs", "eve")):
        assert registry.upload(toy_wheel(tmp_path, name), both["token"]).status == 200
        assert registry.services.store.existing(name).owners == [owner]
    assert registry.mint(issuer.token(registry.audience, claims), packages=["Adas_Envs"]).json["packages"] == [
        "adas-envs"
    ]
    # Eve sees none of these tokens, and so can end none.
    for token in (eve, ada):
        assert both["token"] not in str(registry.send("GET", "/api/v1/tokens", token=token).json)
        listed = registry.send("GET", "/api/v1/tokens", token=token).json["tokens"]
        assert {one["origin"] for one in listed} == {"account"}


def test_a_minted_token_has_no_right_but_to_upload(
    registry: TrustedRegistry, issuer: LocalIssuer, tmp_path: Path
) -> None:
    """It acts for nobody elsewhere in the API, and a form that names another package gets nowhere."""
    configured(registry, "narrow-envs")
    token = registry.mint(issuer.token(registry.audience, claims_for("narrow-envs"))).json["token"]
    for method, path, body in (
        ("GET", "/api/v1/tokens", None),
        ("POST", "/api/v1/tokens", {"label": "more"}),
        ("PUT", "/api/v1/packages/narrow-envs/owners/eve", {}),
        ("POST", "/api/v1/packages/narrow-envs/reports", {"kind": "spam", "summary": "x"}),
        ("GET", "/api/v1/audit-log", None),
    ):
        assert registry.send(method, path, body, token).status in (403, 404)
    me = registry.send("GET", "/api/v1/me", token=token).json
    assert (me["scopes"], me["packages"], me["operator"]) == (["publish"], ["narrow-envs"], False)
    wheel = toy_wheel(tmp_path, "broad-envs")
    for name in ("broad-envs", "narrow-envs", None):
        form, content_type = upload_form(wheel, {"name": name})
        answer = registry.send("POST", "/upload/", form, token, Content_Type=content_type)
        assert answer.status in (400, 403)
    assert registry.services.store.package("broad-envs") is None


def test_several_packages_of_one_workflow_share_a_token(registry: TrustedRegistry, issuer: LocalIssuer) -> None:
    """A repository with two packages gets one token for both."""
    ada = registry.account("ada")
    for name in ("mono-one", "mono-two"):
        assert registry.add(name, ada, repository="ada/mono").status == 201
    minted = registry.mint(issuer.token(registry.audience, claims_for("mono"))).json
    assert minted["packages"] == ["mono-one", "mono-two"]


def test_a_removed_publisher_gets_no_token_and_its_tokens_end(
    registry: TrustedRegistry, issuer: LocalIssuer, tmp_path: Path
) -> None:
    """Removing it ends what it has minted; other publishers of the account go on."""
    ada = configured(registry, "cut-off")
    configured(registry, "goes-on")
    cut = registry.mint(issuer.token(registry.audience, claims_for("cut-off"))).json["token"]
    on = registry.mint(issuer.token(registry.audience, claims_for("goes-on"))).json["token"]
    (listed,) = registry.send("GET", "/api/v1/packages/cut-off/publishers", token=ada).json["publishers"]
    path = f"/api/v1/packages/cut-off/publishers/{listed['id']}"
    assert registry.send("DELETE", path, token=registry.account("eve")).status == 404
    assert registry.send("DELETE", path, token=ada).status == 204
    assert registry.send("DELETE", path, token=ada).status == 404
    assert registry.upload(toy_wheel(tmp_path / "a", "cut-off"), cut).status == 403
    assert registry.upload(toy_wheel(tmp_path / "b", "goes-on"), on).status == 200
    assert refusal(registry.mint(issuer.token(registry.audience, claims_for("cut-off"))))[0] == "no-publisher"


def test_a_burnt_token_is_over_and_a_persons_is_not_burnt(
    registry: TrustedRegistry, issuer: LocalIssuer, tmp_path: Path
) -> None:
    """A minted token ends by its own word, in both forms; the answer tells nothing, and accounts' tokens stay."""
    ada = configured(registry, "burns-well")
    minted = [registry.mint(issuer.token(registry.audience, claims_for("burns-well"))).json["token"] for _ in range(2)]
    answers = [
        registry.send("POST", "/_/oidc/burn-token", {"token": minted[0]}),
        registry.send("POST", "/_/oidc/burn-token", token=minted[1]),
        registry.send("POST", "/_/oidc/burn-token", {"token": ada}),
        registry.send("POST", "/_/oidc/burn-token", {"token": "nonsense"}),
        registry.send("POST", "/_/oidc/burn-token"),
    ]
    assert {(answer.status, answer.body) for answer in answers} == {(200, answers[0].body)}
    for token in minted:
        assert registry.upload(toy_wheel(tmp_path, "burns-well"), token).status == 401
    assert registry.upload(toy_wheel(tmp_path, "burns-well"), ada).status == 200


def test_only_owners_see_and_change_publishers(registry: TrustedRegistry, tmp_path: Path) -> None:
    """Strangers, tokens of other packages and tokens that only publish are refused, for an existing package."""
    ada = registry.account("ada")
    assert registry.upload(toy_wheel(tmp_path, "well-kept"), ada).status == 200
    path = "/api/v1/packages/well-kept/publishers"
    assert registry.add("well-kept", registry.account("eve")).status == 403
    assert registry.send("GET", path, token=registry.account("eve")).status == 403
    assert registry.add("well-kept", registry.account("ada", scopes=["publish"])).status == 403
    assert registry.add("well-kept", registry.account("ada", packages=["other"])).status == 403
    assert registry.add("well-kept", "").status == 401
    assert registry.send("GET", path).status == 401
    assert registry.add("well-kept", registry.account("ada", packages=["well-kept"])).status == 201


def test_adding_a_publisher_twice_changes_nothing(registry: TrustedRegistry) -> None:
    """The same configuration is one publisher; other ids for it, or the same by another account, are refused."""
    ada = configured(registry, "said-twice")
    configured(registry, "said-twice")
    configured(registry, "said-twice", workflow="other.yml")
    listed = registry.send("GET", "/api/v1/packages/said-twice/publishers", token=ada).json["publishers"]
    assert [one["workflow"] for one in listed] == ["ci.yml", "other.yml"]
    assert registry.add("said-twice", ada, repository="ada/said-twice", repository_id="5").status == 409
    assert registry.add("said-twice", registry.account("eve"), repository="ada/said-twice").status == 409
    assert registry.send("GET", "/api/v1/packages/said-twice/publishers", token=registry.account("eve")).json == {
        "publishers": []
    }


def test_nobody_collects_publishers(registry: TrustedRegistry) -> None:
    """An account has ten for packages that do not exist, and a package has twenty."""
    hoarder = registry.account("hoarder")
    answers = [registry.add(f"hoard-{number}", hoarder).status for number in range(11)]
    assert answers == [*[201] * 10, 409]
    many = registry.account("many")
    answers = [registry.add("one-name", many, workflow=f"{number}.yml").status for number in range(21)]
    assert answers.count(201) <= 20
    assert answers[-1] == 409


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"issuer": "github"}, "issuer must be one of local, forge, twin"),
        ({"issuer": None}, "issuer must be one of"),
        ({"repository": "x"}, "OWNER/NAME"),
        ({"colour": "red"}, "no field 'colour'"),
    ],
    ids=["unknown issuer", "no issuer", "repository", "field"],
)
def test_a_bad_configuration_is_refused(changes: dict[str, Any], reason: str, registry: TrustedRegistry) -> None:
    """The reason names the field, and nothing is stored."""
    code, said = refusal(registry.add("bad-config", registry.account("ada"), **changes))
    assert code == "publisher-invalid"
    assert reason in said


@pytest.mark.parametrize(
    ("body", "status"),
    [
        (b"", 422),
        (b"[]", 422),
        (b"{", 400),
        (b"[" * 60_000, 400),
        (b'"' + b"x" * 70_000 + b'"', 413),
        (b'{"token": 7}', 422),
        (b'{"token": "a.b.c", "packages": "x"}', 422),
        (b'{"token": "a.b.c", "packages": [1]}', 422),
        (b'{"token": "a.b.c", "features": ["single-use-token"]}', 422),
        (b'\xff{"token": "a.b.c"}', 400),
    ],
    ids=range(10),
)
def test_a_malformed_request_is_answered_in_one_sentence(body: bytes, status: int, registry: TrustedRegistry) -> None:
    """No body makes the registry fail."""
    answer = registry.send("POST", "/_/oidc/mint-token", body)
    assert answer.status == status
    assert "\n" not in answer.json["detail"]


def test_the_endpoints_are_discovered(registry: TrustedRegistry) -> None:
    """PEP 807: the path of uploads leads to the endpoints, any other path to 404."""
    answer = registry.send("GET", "/.well-known/pytp?discover=%2Fupload%2F")
    assert answer.type == "application/vnd.pypi.pytp.v1+json"
    assert answer.json == {
        "audience-endpoint": f"{registry.origin}/_/oidc/audience",
        "token-mint-endpoint": f"{registry.origin}/_/oidc/mint-token",
        "features": ["multi-use-token"],
        "default-features": ["multi-use-token"],
    }
    for path in ("", "?discover=", "?discover=%2Flegacy%2F", "?discover=%2Fupload%2F..%2F"):
        assert registry.send("GET", f"/.well-known/pytp{path}").status == 404


def test_without_an_address_there_is_no_trusted_publishing(tls: tuple[Path, Path], tmp_path: Path) -> None:
    """A registry that does not know its own name binds no token to it, and says what to set."""
    with running_registry(tmp_path / "hub") as registry:
        for method, path in (("GET", "/_/oidc/audience"), ("POST", "/_/oidc/mint-token"), ("GET", "/.well-known/pytp")):
            answer = registry.stranger.send(method, path)
            assert answer.status == 404
            assert "'address'" in answer.json["detail"]


@pytest.mark.parametrize("address", ["http://hub.example", "hub.example", "https://", "https://a@b.c", "https://h/x"])
def test_an_address_must_be_an_https_origin(address: str) -> None:
    """Uploads and tokens need TLS, and uv looks for the endpoints at the root of the host."""
    with pytest.raises(ValueError, match="write https://HOST"):
        RegistrySettings(address=address)
    assert RegistrySettings(address="https://Hub.Example:443/").address == "https://hub.example"
