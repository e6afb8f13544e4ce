"""The registry's API for accounts, tokens and packages, over HTTP."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from registry_server import GENEROUS, RegistryClient, RunningRegistry, running_registry, toy_wheel

from gem_hub.policy import FILE_NAME
from gem_hub.registry.settings import Quotas, RegistrySettings

OPERATOR = "olivia"


@pytest.fixture(scope="module")
def registry(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningRegistry]:
    """A registry with an operator, and two packages: alice's ``alpha-envs`` 0.1.0 and bob's ``beta-games`` 0.1.0."""
    folder = tmp_path_factory.mktemp("registry")
    (folder / "hub").mkdir()
    (folder / "hub" / FILE_NAME).write_text(
        json.dumps({"operators": [OPERATOR, "oscar"], "namespaces": {"fenced": ["petra"]}})
    )
    with running_registry(folder / "hub") as running:
        for account, name in (("alice", "alpha-envs"), ("bob", "beta-games")):
            answer = running.account(account).upload(toy_wheel(folder / "dist", name))
            assert answer.status == 200, answer.text
        yield running


@pytest.fixture
def alice(registry: RunningRegistry) -> RegistryClient:
    return registry.account("alice")


def state_of(registry: RunningRegistry, name: str) -> dict[str, Any]:
    answer: dict[str, Any] = registry.stranger.send("GET", f"/api/v1/packages/{name}").json
    return answer


def test_a_stranger_registers_and_publishes_in_two_requests(registry: RunningRegistry, tmp_path: Path) -> None:
    """A new account's token publishes at once, and says whose it is."""
    answer = registry.stranger.send("POST", "/api/v1/accounts", {"name": "newcomer"})
    assert (answer.status, answer.json["account"]) == (201, "newcomer")
    client = RegistryClient(registry.port, answer.json["token"])
    me = client.send("GET", "/api/v1/me").json
    assert (me["account"], me["operator"], me["scopes"], me["packages"]) == (
        "newcomer", False, ["manage", "publish", "read"], None
    )  # fmt: skip
    assert client.upload(toy_wheel(tmp_path, "gamma-worlds")).json["state"] == "published"
    assert state_of(registry, "gamma-worlds")["owners"] == ["newcomer"]


@pytest.mark.parametrize(
    ("name", "status"),
    [
        ("alice", 409), (OPERATOR, 409), ("oscar", 409), ("petra", 409), ("root", 409), ("admin", 409), ("Alice", 400),
        ("аlice", 400), ("a", 400), ("a" * 40, 400), ("a--b", 400), ("-a", 400), ("a b", 400), ("al\r\nice", 400),
        ("../alice", 400), ("", 400), (None, 400), (7, 400), (["x"], 400),
    ],
)  # fmt: skip
def test_names_that_mean_something_or_are_none_are_refused(registry: RunningRegistry, name: Any, status: int) -> None:
    """Nobody becomes an operator, an owner or another account by registering its name."""
    assert registry.stranger.send("POST", "/api/v1/accounts", {"name": name}).status == status


def test_the_owner_of_a_package_from_the_command_line_is_nobody_elses_account(
    registry: RunningRegistry, tmp_path: Path
) -> None:
    """Publishing into the folder makes an owner without an account, whose name strangers cannot register."""
    from toy_hub import publish_wheel

    publish_wheel(registry.services.store, toy_wheel(tmp_path, "delta-tasks"), "carol")
    assert registry.stranger.send("POST", "/api/v1/accounts", {"name": "carol"}).status == 409
    registry.services.accounts.create("carol")
    assert registry.account("carol").upload(toy_wheel(tmp_path, "delta-tasks", "0.2.0")).status == 200


def test_closed_and_invited_registration(tmp_path: Path) -> None:
    """A closed registry creates no account; with invites, each one creates one, and an expired one none."""
    now = [1_000_000.0]
    with running_registry(tmp_path / "a", RegistrySettings(registration="closed", conformance=False)) as closed:
        assert closed.stranger.send("POST", "/api/v1/accounts", {"name": "ann"}).status == 403
    settings = RegistrySettings(registration="invite", conformance=False)
    with running_registry(tmp_path / "b", settings, clock=lambda: now[0]) as registry:
        code = registry.services.accounts.invite("operator", 60)
        late = registry.services.accounts.invite("operator", 60)
        ask = registry.stranger.send
        assert ask("POST", "/api/v1/accounts", {"name": "ann"}).status == 403
        assert ask("POST", "/api/v1/accounts", {"name": "ann", "invite": "gem_invite_x"}).status == 403
        assert ask("POST", "/api/v1/accounts", {"name": "ann", "invite": code}).status == 201
        assert ask("POST", "/api/v1/accounts", {"name": "ben", "invite": code}).status == 403
        now[0] += 61
        assert ask("POST", "/api/v1/accounts", {"name": "ben", "invite": late}).status == 403
        assert registry.services.accounts.find("ben") is None


def test_tokens_are_limited_listed_and_revoked(
    registry: RunningRegistry, alice: RegistryClient, tmp_path: Path
) -> None:
    """A token for one package publishes no other, changes nothing without its scope, and ends with its revocation."""
    made = alice.send("POST", "/api/v1/tokens", {"label": "ci", "scopes": ["publish"], "packages": ["alpha-envs"]})
    assert made.status == 201
    limited = RegistryClient(registry.port, made.json["token"])
    assert limited.upload(toy_wheel(tmp_path, "alpha-envs", "0.1.1")).status == 200
    other = limited.upload(toy_wheel(tmp_path, "epsilon-envs"))
    assert (other.status, other.text) == (403, "this token is for other packages than epsilon-envs; use another one\n")
    assert registry.services.store.package("epsilon-envs") is None
    for method, path, body in (
        ("PUT", "/api/v1/packages/alpha-envs/0.1.1/yank", {"reason": "x"}),
        ("POST", "/api/v1/tokens", {"label": "more"}),
        ("GET", "/api/v1/tokens", None),
    ):
        assert limited.send(method, path, body).status == 403, path
    listed = alice.send("GET", "/api/v1/tokens").json["tokens"]
    assert made.json["id"] in [token["id"] for token in listed]
    assert made.json["token"] not in json.dumps(listed)
    assert registry.account("bob").send("DELETE", f"/api/v1/tokens/{made.json['id']}").status == 404
    assert alice.send("DELETE", f"/api/v1/tokens/{made.json['id']}").status == 200
    assert limited.send("GET", "/api/v1/me").status == 401
    assert limited.upload(toy_wheel(tmp_path, "alpha-envs", "0.1.2")).status == 401


def test_a_token_for_one_package_manages_no_other_tokens(registry: RunningRegistry) -> None:
    """It lists and revokes itself and tokens for its own packages alone; one for all packages may do everything."""
    whole = registry.account("alice")
    limited = registry.account("alice", scopes=["manage"], packages=["alpha-envs"])
    ids = {
        name: whole.send("POST", "/api/v1/tokens", {"label": name, "scopes": ["publish"], **more}).json["id"]
        for name, more in (
            ("all", {}),
            ("same", {"packages": ["alpha-envs"]}),
            ("other", {"packages": ["beta-games"]}),
            ("both", {"packages": ["alpha-envs", "beta-games"]}),
        )
    }
    own = limited.send("GET", "/api/v1/me").json["token"]
    seen = {token["id"] for token in limited.send("GET", "/api/v1/tokens").json["tokens"]}
    assert {own, ids["same"]} <= seen
    assert not seen & {ids["all"], ids["other"], ids["both"], whole.send("GET", "/api/v1/me").json["token"]}
    for name, status in (("all", 404), ("other", 404), ("both", 404), ("same", 200)):
        assert limited.send("DELETE", f"/api/v1/tokens/{ids[name]}").status == status, name
    assert whole.send("DELETE", f"/api/v1/tokens/{own}").status == 200


def test_a_token_makes_none_with_more_rights(registry: RunningRegistry) -> None:
    """Scopes, packages and lifetime of a new token stay within those of the one that asks."""
    client = registry.account("alice", scopes=["manage"], packages=["alpha-envs"], seconds=1000)
    refused = client.send("POST", "/api/v1/tokens", {"label": "x", "scopes": ["publish"]})
    assert refused.status == 403
    wide = {"label": "x", "scopes": ["manage"], "packages": ["alpha-envs", "beta-games"]}
    assert client.send("POST", "/api/v1/tokens", wide).status == 403
    made = client.send("POST", "/api/v1/tokens", {"label": "x", "scopes": ["manage"], "days": 300})
    assert (made.status, made.json["packages"]) == (201, ["alpha-envs"])
    new = RegistryClient(registry.port, made.json["token"]).send("GET", "/api/v1/me").json
    assert new["expires"] <= client.send("GET", "/api/v1/me").json["expires"]
    minted = registry.account("alice", origin="github:someone/something")
    assert minted.send("POST", "/api/v1/tokens", {"label": "x"}).status == 403


def test_a_token_for_one_package_changes_no_other(
    registry: RunningRegistry, alice: RegistryClient, tmp_path: Path
) -> None:
    """A limited token of an owner, and one of an operator, act on the named packages and nowhere else."""
    alice.upload(toy_wheel(tmp_path, "lambda-envs"))
    limited = registry.account("alice", packages=["lambda-envs"])
    body = {"reason": "bad"}
    assert limited.send("PUT", "/api/v1/packages/lambda-envs/0.1.0/yank", body).status == 200
    assert limited.send("PUT", "/api/v1/packages/alpha-envs/0.1.0/yank", body).status == 403
    operator = registry.account(OPERATOR, packages=["lambda-envs"])
    assert operator.send("PUT", "/api/v1/packages/lambda-envs/quarantine", body).status == 403
    assert operator.send("GET", "/api/v1/audit-log").status == 403


def test_only_owners_and_operators_change_a_package(registry: RunningRegistry, alice: RegistryClient) -> None:
    """Bob changes nothing of alice's package in any way, with the reason; alice and an operator do."""
    bob, olivia = registry.account("bob"), registry.account(OPERATOR)
    base = "/api/v1/packages/alpha-envs"
    changes: list[tuple[str, str, Any]] = [
        ("PUT", f"{base}/0.1.0/yank", {"reason": "bad"}),
        ("DELETE", f"{base}/0.1.0/yank", None),
        ("PUT", f"{base}/deprecation", {"reason": "old"}),
        ("DELETE", f"{base}/deprecation", None),
        ("PUT", f"{base}/owners/bob", None),
        ("DELETE", f"{base}/owners/alice", None),
        ("PUT", f"{base}/quarantine", {"reason": "bad"}),
        ("DELETE", f"{base}/quarantine", {"reason": "bad"}),
    ]
    before = state_of(registry, "alpha-envs")
    for method, path, body in changes:
        assert bob.send(method, path, body).status == 403, path
        assert registry.stranger.send(method, path, body).status == 401, path
    assert state_of(registry, "alpha-envs") == before
    for client in (alice, olivia):
        assert client.send("PUT", f"{base}/0.1.0/yank", {"reason": "bad"}).json["changed"] is True
        assert state_of(registry, "alpha-envs")["releases"][-1]["yanked"] == "bad"
        assert client.send("DELETE", f"{base}/0.1.0/yank").json["changed"] is True
        assert client.send("PUT", f"{base}/deprecation", {"reason": "old"}).status == 200
        assert state_of(registry, "alpha-envs")["status"] == "deprecated"
        assert client.send("DELETE", f"{base}/deprecation").status == 200
    assert alice.send("PUT", f"{base}/quarantine", {"reason": "bad"}).status == 403
    assert olivia.send("PUT", f"{base}/quarantine", {"reason": "bad"}).status == 200
    assert state_of(registry, "alpha-envs")["status"] == "quarantined"
    assert olivia.send("DELETE", f"{base}/quarantine").status == 200


def test_owners_are_accounts_and_one_is_always_left(
    registry: RunningRegistry, alice: RegistryClient, tmp_path: Path
) -> None:
    """A name without an account becomes no owner, since a stranger could register it; the last owner stays."""
    alice.upload(toy_wheel(tmp_path, "zeta-envs"))
    base = "/api/v1/packages/zeta-envs/owners"
    assert alice.send("PUT", f"{base}/nobody-yet").status == 404
    bob = registry.account("bob")
    assert bob.upload(toy_wheel(tmp_path, "zeta-envs", "0.2.0")).status == 403
    assert alice.send("PUT", f"{base}/bob").json["changed"] is True
    assert bob.upload(toy_wheel(tmp_path, "zeta-envs", "0.2.0")).status == 200
    assert bob.send("DELETE", f"{base}/alice").status == 200
    assert alice.upload(toy_wheel(tmp_path, "zeta-envs", "0.3.0")).status == 403
    last = bob.send("DELETE", f"{base}/bob")
    assert (last.status, "last owner" in last.json["detail"]) == (409, True)


def test_a_disabled_account_can_do_nothing(registry: RunningRegistry, tmp_path: Path) -> None:
    """All its tokens stop at once, and its name stays taken."""
    client = registry.account("dora")
    assert client.send("GET", "/api/v1/me").status == 200
    registry.services.accounts.disable("dora")
    assert client.send("GET", "/api/v1/me").status == 401
    assert client.upload(toy_wheel(tmp_path, "eta-envs")).status == 401
    assert registry.stranger.send("POST", "/api/v1/accounts", {"name": "dora"}).status == 409


def test_reports_reach_the_operators_alone(registry: RunningRegistry, alice: RegistryClient) -> None:
    """A report needs an account, a known kind and an existing package."""
    path, report = "/api/v1/packages/beta-games/reports", {"kind": "malware", "summary": "It reads keys."}
    assert registry.stranger.send("POST", path, report).status == 401
    assert alice.send("POST", path, {**report, "kind": "ugly"}).status == 400
    assert alice.send("POST", path, {**report, "link": "javascript:alert(1)"}).status == 400
    assert alice.send("POST", "/api/v1/packages/not-there/reports", report).status == 404
    assert alice.send("POST", path, {**report, "link": "https://code.example/x"}).status == 202
    assert alice.send("GET", "/api/v1/reports").status == 403
    (seen,) = registry.account(OPERATOR).send("GET", "/api/v1/reports").json["reports"]
    assert (seen["account"], seen["package"], seen["kind"]) == ("alice", "beta-games", "malware")


def test_a_namespace_that_is_granted_is_closed_to_others(
    registry: RunningRegistry, alice: RegistryClient, tmp_path: Path
) -> None:
    """A second grant, and an upload into somebody else's, are a conflict (PEP 752); everybody may read the grants."""
    olivia, bob = registry.account(OPERATOR), registry.account("bob")
    path = "/api/v1/namespaces/labyrinth"
    assert alice.send("PUT", path, {"account": "alice"}).status == 403
    assert olivia.send("PUT", path, {"account": "nobody-yet"}).status == 404
    assert olivia.send("PUT", path, {"account": "alice"}).json["changed"] is True
    assert olivia.send("PUT", path, {"account": "bob"}).status == 409
    assert olivia.send("PUT", "/api/v1/namespaces/game", {"account": "bob"}).status == 409
    assert olivia.send("PUT", "/api/v1/namespaces/fenced", {"account": "bob"}).status == 409
    assert olivia.send("PUT", "/api/v1/namespaces/beta-games", {"account": "alice"}).status == 409
    refused = bob.upload(toy_wheel(tmp_path, "theta-envs", ids=["labyrinth:Thing-v0"]))
    assert refused.status == 409
    assert "alice" in refused.reason
    assert alice.upload(toy_wheel(tmp_path, "iota-envs", ids=["labyrinth:Thing-v0"])).status == 200
    assert registry.stranger.send("GET", "/namespace/labyrinth").json["owner"] == "alice"
    assert "labyrinth" in [one["name"] for one in registry.stranger.send("GET", "/namespaces").json["namespaces"]]
    assert olivia.send("DELETE", path).status == 200
    assert registry.stranger.send("GET", "/namespace/labyrinth").status == 404
    assert bob.upload(toy_wheel(tmp_path, "theta-envs", ids=["labyrinth:Other-v0"])).status == 200


def test_the_audit_log_tells_who_did_what_and_holds_no_secret(
    registry: RunningRegistry, alice: RegistryClient, tmp_path: Path
) -> None:
    """Uploads, refusals and changes are in it with account and token; nothing changes or removes its lines."""
    from sqlalchemy.exc import DBAPIError

    bob = registry.account("bob")
    alice.upload(toy_wheel(tmp_path, "kappa-envs"))
    bob.upload(toy_wheel(tmp_path, "kappa-envs", "0.2.0"))
    alice.send("PUT", "/api/v1/packages/kappa-envs/0.1.0/yank", {"reason": "bad"})
    assert alice.send("GET", "/api/v1/audit-log").status == 403
    answer = registry.account(OPERATOR).send("GET", "/api/v1/audit-log?package=kappa-envs")
    told = [(line["account"], line["action"]) for line in answer.json["lines"]]
    assert told == [("alice", "upload"), ("bob", "upload.refused"), ("alice", "package.yank")]
    assert all(line["token_id"] for line in answer.json["lines"])
    assert alice.token[4:20] not in answer.text
    for statement in ("UPDATE audit_log SET account = 'x'", "DELETE FROM audit_log"):
        with pytest.raises(DBAPIError, match="append-only"), registry.services.database.change() as connection:
            connection.exec_driver_sql(statement)


@pytest.mark.parametrize(
    ("method", "path", "body", "status"),
    [
        ("GET", "/api/v1/packages/not-there", None, 404),
        ("GET", "/api/v1/packages/..%2F..%2Fetc", None, 404),
        ("GET", "/api/v1/packages/%00", None, 404),
        ("GET", "/api/v1/packages/" + "a" * 3000, None, 404),
        ("GET", "/api/v1/nothing", None, 404),
        ("PUT", "/api/v1/packages/alpha-envs/9.9/yank", {"reason": "x"}, 404),
        ("PUT", "/api/v1/packages/alpha-envs/0.1.0/yank", {"reason": ""}, 400),
        ("PUT", "/api/v1/packages/alpha-envs/0.1.0/yank", {"reason": "a\x1b[2J"}, 400),
        ("PUT", "/api/v1/packages/alpha-envs/0.1.0/yank", {"reason": "x", "more": 1}, 400),
        ("PUT", "/api/v1/packages/alpha-envs/0.1.0/yank", ["x"], 400),
        ("PUT", "/api/v1/packages/alpha-envs/0.1.0/yank", b"{", 400),
        ("PUT", "/api/v1/packages/alpha-envs/0.1.0/yank", b"[" * 60_000, 400),
        ("PUT", "/api/v1/packages/alpha-envs/0.1.0/yank", b"\xff", 400),
        ("PUT", "/api/v1/packages/alpha-envs/0.1.0/yank", b" " * 70_000, 413),
        ("DELETE", "/api/v1/tokens/99999999999999999999", None, 404),
        ("DELETE", "/api/v1/tokens/-1", None, 404),
        ("DELETE", f"/api/v1/tokens/{2**63}", None, 404),
        ("DELETE", f"/api/v1/packages/alpha-envs/webhooks/{2**63}", None, 404),
        ("DELETE", f"/api/v1/packages/alpha-envs/publishers/{2**63}", None, 404),
        ("DELETE", f"/api/v1/webhooks/{10**30}", None, 404),
        ("POST", "/api/v1/tokens", {"label": "x", "packages": ["../x"]}, 400),
        ("POST", "/api/v1/tokens", {"label": "x", "scopes": ["root"]}, 400),
        ("POST", "/api/v1/tokens", {"label": "x", "days": -1}, 400),
        ("PATCH", "/api/v1/me", None, 405),
    ],
)  # fmt: skip
def test_hostile_requests_get_an_answer(
    registry: RunningRegistry, alice: RegistryClient, method: str, path: str, body: Any, status: int
) -> None:
    """Each is refused with a problem that says why."""
    answer = alice.send(method, path, body)
    assert answer.status == status, answer.text
    assert answer.fields.get_content_type() == "application/problem+json"
    assert answer.json["detail"]


def test_tokens_in_addresses_are_refused_and_not_reported(registry: RunningRegistry, alice: RegistryClient) -> None:
    """A token in a path or query is answered with advice, and what the server tells of the request holds none."""
    for path in (f"/simple/?token={alice.token}", f"/{alice.token}/x", f"/x?a=b&{alice.token}"):
        answer = registry.stranger.send("GET", path)
        assert (answer.status, "revoke" in answer.text) == (400, True)
    assert alice.token not in str(registry.answers)


def test_quotas_end_with_a_429_that_says_when_to_try_again(tmp_path: Path) -> None:
    """Accounts and failed logins of an address, uploads and new names of an account; the next period begins anew."""
    now = [86_400.0 * 1000]
    quotas = GENEROUS.model_copy(
        update={"accounts_per_day": 1, "failed_logins_per_hour": 2, "uploads_per_day": 3, "new_packages_per_day": 2}
    )
    settings = RegistrySettings(registration="open", conformance=False, quotas=quotas)
    with running_registry(tmp_path / "hub", settings, clock=lambda: now[0]) as registry:
        assert registry.stranger.send("POST", "/api/v1/accounts", {"name": "ann"}).status == 201
        assert registry.stranger.send("POST", "/api/v1/accounts", {"name": "ben"}).status == 429
        wrong = RegistryClient(registry.port, "gem_" + "0" * 49)
        assert [wrong.send("GET", "/api/v1/me").status for _ in range(3)] == [401, 401, 429]
        client = registry.account("eve")
        states = [client.upload(toy_wheel(tmp_path, f"envs-{name}")) for name in ("one", "two", "three", "four")]
        assert [answer.status for answer in states] == [200, 200, 429, 429]
        assert "2 new packages a day" in states[2].text
        assert "3 uploads a day" in states[3].text
        assert states[3].fields["Retry-After"] == "86400"
        assert registry.services.store.packages() == ["envs-one", "envs-two"]
        now[0] += 86_400
        assert client.upload(toy_wheel(tmp_path, "envs-three")).status == 200
    strict = RegistrySettings(conformance=False, quotas=Quotas(requests_per_minute=2))
    with running_registry(tmp_path / "hub2", strict, clock=lambda: now[0]) as registry:
        asked = [registry.stranger.send("POST", "/api/v1/tokens", {}).status for _ in range(3)]
        assert asked == [401, 401, 429]
        assert registry.stranger.send("GET", "/simple/").status == 200


def test_only_trusted_proxies_name_the_client(tmp_path: Path) -> None:
    """Behind one, each client has its own quota; from others the header changes nothing."""
    for proxies, statuses in ((["127.0.0.1"], [401, 401, 401]), ([], [401, 429, 429])):
        strict = RegistrySettings(conformance=False, quotas=Quotas(requests_per_minute=1), trusted_proxies=proxies)
        with running_registry(tmp_path / str(len(proxies)), strict, clock=lambda: 6_000_000.0) as registry:
            asked = [
                registry.stranger.send("POST", "/api/v1/tokens", {}, X_Forwarded_For=f"203.0.113.{n}").status
                for n in range(3)
            ]
            assert asked == statuses
