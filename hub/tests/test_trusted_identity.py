"""Identity tokens for trusted publishing: what is accepted, and how forgeries are refused; a real issuer over TLS."""

from __future__ import annotations

import hashlib
import hmac
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import jwt
import pytest
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import rsa
from local_issuer import GITHUB_CLAIMS, GITLAB_CLAIMS, LocalIssuer, certificate, jwk, local_issuer, segment
from manual_clock import ManualClock

from gem.errors import ArgumentError
from gem_hub.registry.trusted_publishing.errors import IdentityRefused, IssuerUnreachable
from gem_hub.registry.trusted_publishing.identity import VerifiedIdentity, Verifier
from gem_hub.registry.trusted_publishing.issuers import GITHUB, GITLAB, Issuer, Issuers, issuers_of
from gem_hub.registry.trusted_publishing.key_sets import PAUSE, KeySets
from gem_hub.registry.trusted_publishing.publishers import TrustedPublisher, mismatch, pins, read_publisher

AUDIENCE = "hub.example"


@pytest.fixture(scope="module")
def key() -> rsa.RSAPrivateKey:
    """The issuer's key."""
    return rsa.generate_private_key(65537, 2048)


@pytest.fixture(scope="module")
def other_key() -> rsa.RSAPrivateKey:
    """A key that the issuer does not have."""
    return rsa.generate_private_key(65537, 2048)


@pytest.fixture(scope="module")
def tls(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """A certificate and its key."""
    return certificate(tmp_path_factory.mktemp("tls"))


@pytest.fixture
def issuer(key: rsa.RSAPrivateKey, tls: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch) -> Iterator[LocalIssuer]:
    """A running issuer, whose certificate this process trusts as an operator would make it."""
    monkeypatch.setenv("SSL_CERT_FILE", str(tls[0]))
    monkeypatch.setenv("NO_PROXY", "*")
    with local_issuer(key, *tls) as running:
        yield running


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock(1000.0)


@pytest.fixture
def verifier(issuer: LocalIssuer, clock: ManualClock) -> Verifier:
    """A verifier that trusts the running issuer as a GitHub, and the public ones."""
    issuers = Issuers([GITHUB, GITLAB, Issuer("local", issuer.url, "github")])
    return Verifier(issuers, AUDIENCE, KeySets(clock=clock))


def refused(verifier: Verifier, token: object) -> IdentityRefused:
    with pytest.raises(IdentityRefused) as caught:
        verifier.verify(token)
    assert "\n" not in str(caught.value)
    return caught.value


def test_a_good_token_says_who_it_is(issuer: LocalIssuer, verifier: Verifier) -> None:
    """The claims are those that the issuer signed, and the issuer is the configured one."""
    claims = issuer.claims(AUDIENCE)
    identity = verifier.verify(issuer.sign(claims))
    assert identity.claims == claims
    assert identity.issuer.name == "local"
    assert identity.token_id == claims["jti"]
    assert issuer.requests == ["/.well-known/openid-configuration", "/keys"]


def test_keys_are_asked_for_once(issuer: LocalIssuer, verifier: Verifier) -> None:
    """Ten tokens cost two requests to the issuer."""
    for _ in range(10):
        verifier.verify(issuer.token(AUDIENCE))
    assert len(issuer.requests) == 2


Forge = Callable[[LocalIssuer, rsa.RSAPrivateKey], object]


def _unsigned(issuer: LocalIssuer, other: rsa.RSAPrivateKey) -> str:
    return f"{segment({'alg': 'none', 'typ': 'JWT', 'kid': issuer.kid})}.{segment(issuer.claims(AUDIENCE))}."


def _unsigned_spelled(issuer: LocalIssuer, other: rsa.RSAPrivateKey) -> str:
    return f"{segment({'alg': 'nOnE', 'kid': issuer.kid})}.{segment(issuer.claims(AUDIENCE))}.{segment(b'x')}"


def _hmac_with_public_key(issuer: LocalIssuer, other: rsa.RSAPrivateKey) -> str:
    """The classic confusion: the public key, which anybody can read, as the secret of HS256."""
    public = issuer.key.public_key().public_bytes(
        serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo
    )
    text = f"{segment({'alg': 'HS256', 'kid': issuer.kid})}.{segment(issuer.claims(AUDIENCE))}"
    return f"{text}.{segment(hmac.new(public, text.encode(), hashlib.sha256).digest())}"


def _other_payload(issuer: LocalIssuer, other: rsa.RSAPrivateKey) -> str:
    header, _, signature = issuer.token(AUDIENCE).split(".")
    return f"{header}.{segment(issuer.claims(AUDIENCE, repository='ada/other'))}.{signature}"


def _no_signature(issuer: LocalIssuer, other: rsa.RSAPrivateKey) -> str:
    return issuer.token(AUDIENCE).rpartition(".")[0] + "."


def _foreign_key(issuer: LocalIssuer, other: rsa.RSAPrivateKey) -> str:
    return jwt.encode(issuer.claims(AUDIENCE), other, "RS256", headers={"kid": issuer.kid})


def _own_key(name: str) -> Forge:
    def forge(issuer: LocalIssuer, other: rsa.RSAPrivateKey) -> str:
        value = {"jwk": jwk(other, issuer.kid), "x5c": ["MIIB"]}.get(name, f"{issuer.url}/elsewhere")
        return jwt.encode(issuer.claims(AUDIENCE), other, "RS256", headers={"kid": issuer.kid, name: value})

    return forge


def _claims(**changes: Any) -> Forge:
    return lambda issuer, other: issuer.token(AUDIENCE, **changes)


def _at(**offsets: int) -> Forge:
    def forge(issuer: LocalIssuer, other: rsa.RSAPrivateKey) -> str:
        times: dict[str, Any] = {name: int(time.time()) + offset for name, offset in offsets.items()}
        return issuer.token(AUDIENCE, **times)

    return forge


def _header(**fields: Any) -> Forge:
    return lambda issuer, other: issuer.sign(issuer.claims(AUDIENCE), **fields)


def _rs512(issuer: LocalIssuer, other: rsa.RSAPrivateKey) -> str:
    return jwt.encode(issuer.claims(AUDIENCE), issuer.key, "RS512", headers={"kid": issuer.kid})


def _issuer_list(issuer: LocalIssuer, other: rsa.RSAPrivateKey) -> str:
    claims = segment({**issuer.claims(AUDIENCE), "iss": [issuer.url]})
    return f"{segment({'alg': 'RS256', 'kid': issuer.kid})}.{claims}.{segment(b'signature')}"


ATTACKS: dict[str, tuple[Forge, str]] = {
    "alg none": (_unsigned, "algorithm"),
    "alg none in odd case": (_unsigned_spelled, "algorithm"),
    "HS256 with the public key": (_hmac_with_public_key, "algorithm"),
    "RS512": (_rs512, "algorithm"),
    "swapped payload": (_other_payload, "signature"),
    "no signature": (_no_signature, "signature"),
    "signed by another key": (_foreign_key, "signature"),
    "key in the header": (_own_key("jwk"), "token-header"),
    "address of keys in the header": (_own_key("jku"), "token-header"),
    "certificate in the header": (_own_key("x5c"), "token-header"),
    "address of certificates in the header": (_own_key("x5u"), "token-header"),
    "critical extension": (_header(crit=["exp"]), "token-malformed"),
    "another type": (_header(typ="at+jwt"), "token-type"),
    "kid that is a path": (_header(kid="../../../dev/null"), "unknown-key"),
    "kid that is SQL": (_header(kid="x' UNION SELECT 'k"), "key-id"),
    "kid that is a list": (_header(kid="x" * 201), "key-id"),
    "kid that is empty": (_header(kid=""), "key-id"),
    "kid with a line break": (_header(kid="key-1\nkey-2"), "key-id"),
    "expired": (_at(iat=-600, nbf=-600, exp=-60), "token-expired"),
    "issued in the future": (_at(iat=120), "token-from-the-future"),
    "not valid yet": (_at(nbf=120), "token-from-the-future"),
    "valid for years": (_at(exp=10**8), "token-lifetime"),
    "times that are texts": (_claims(exp="soon"), "token-invalid"),
    "infinite life": (_claims(exp=float("inf")), "token-invalid"),
    "life that is no number": (_claims(exp=float("nan")), "token-invalid"),
    "no exp": (_claims(exp=None), "missing-claim"),
    "no iat": (_claims(iat=None), "missing-claim"),
    "no jti": (_claims(jti=None), "missing-claim"),
    "no sub": (_claims(sub=None), "missing-claim"),
    "no aud": (_claims(aud=None), "missing-claim"),
    "jti that is a number": (_claims(jti=7), "token-"),
    "jti that is endless": (_claims(jti="x" * 256), "token-id"),
    "another hub's audience": (_claims(aud="other.example"), "audience"),
    "audience with this hub as a part": (_claims(aud=f"{AUDIENCE}.evil.example"), "audience"),
    "several audiences": (_claims(aud=[AUDIENCE, "other.example"]), "audience"),
    "a list of one audience": (_claims(aud=[AUDIENCE]), "audience"),
    "no issuer": (_claims(iss=None), "unknown-issuer"),
    "an unknown issuer": (_claims(iss="https://evil.example"), "unknown-issuer"),
    "an issuer with a slash more": (
        lambda issuer, other: issuer.token(AUDIENCE, iss=f"{issuer.url}/"),
        "unknown-issuer",
    ),
    "an issuer that is a list": (_issuer_list, "unknown-issuer"),
    "no token": (lambda issuer, other: None, "token-malformed"),
    "an empty token": (lambda issuer, other: "", "token-malformed"),
    "two segments": (lambda issuer, other: "a.b", "token-malformed"),
    "a payload that is a list": (
        lambda issuer, other: f"{segment({'alg': 'RS256'})}.{segment([])}.x",
        "token-malformed",
    ),
    "an endless token": (lambda issuer, other: issuer.token(AUDIENCE, actor="x" * 20_000), "token-malformed"),
    "a token with a blank": (lambda issuer, other: f" {issuer.token(AUDIENCE)}", "token-malformed"),
    "deep nesting": (
        lambda issuer, other: f"{segment(b'[' * 3000)}.{segment({})}.x",
        "token-malformed",
    ),
}


@pytest.mark.parametrize("attack", ATTACKS)
def test_a_forged_token_is_refused(
    attack: str, issuer: LocalIssuer, verifier: Verifier, other_key: rsa.RSAPrivateKey
) -> None:
    """Each forgery is refused for its own reason, and a good token is accepted afterwards."""
    forge, code = ATTACKS[attack]
    assert refused(verifier, forge(issuer, other_key)).code.startswith(code)
    if attack != "kid that is a path":  # the only one that asks the issuer again
        assert len(issuer.requests) <= 2


def test_clocks_may_differ_by_half_a_minute(issuer: LocalIssuer, verifier: Verifier) -> None:
    """A token that was issued in twenty seconds, or expired twenty seconds ago, is accepted."""
    now = int(time.time())
    verifier.verify(issuer.token(AUDIENCE, iat=now + 20, nbf=now + 20, exp=now + 300))
    verifier.verify(issuer.token(AUDIENCE, iat=now - 300, nbf=now - 300, exp=now - 20))


def test_one_issuer_cannot_speak_for_another(
    issuer: LocalIssuer, tls: tuple[Path, Path], other_key: rsa.RSAPrivateKey
) -> None:
    """A token that names the trusted issuer and is signed by another configured one is refused, and the reverse."""
    with local_issuer(other_key, *tls) as second:
        second.kid = issuer.kid
        issuers = Issuers([Issuer("first", issuer.url, "github"), Issuer("second", second.url, "github")])
        both = Verifier(issuers, AUDIENCE)
        assert both.verify(second.token(AUDIENCE)).issuer.name == "second"
        assert refused(both, second.sign(second.claims(AUDIENCE, iss=issuer.url))).code == "signature"
        assert refused(both, issuer.sign(issuer.claims(AUDIENCE, iss=second.url))).code == "signature"


KeySet = Callable[[dict[str, Any], dict[str, Any]], Any]

KEY_SETS: dict[str, tuple[KeySet, str]] = {
    "no JSON": (lambda good, other: b"<html>", "cannot be had"),
    "a list": (lambda good, other: [good], "no key set"),
    "no keys": (lambda good, other: {"keys": []}, "no RSA key"),
    "keys that are texts": (lambda good, other: {"keys": ["key-1"]}, "no key set"),
    "300 kB": (lambda good, other: b'{"keys": ["' + b"x" * 300_000 + b'"]}', "more than 262,144 bytes"),
    "a hundred keys": (lambda good, other: {"keys": [{**good, "kid": str(n)} for n in range(100)]}, "100 keys"),
    "two keys of one name": (lambda good, other: {"keys": [good, {**other, "kid": "key-1"}]}, "two keys"),
    "a key without a name": (lambda good, other: {"keys": [{**good, "kid": None}]}, "no kid"),
    "an endless modulus": (lambda good, other: {"keys": [{**good, "n": "A" * 10_000}]}, "modulus"),
    "no modulus": (lambda good, other: {"keys": [{"kty": "RSA", "kid": "key-1", "e": "AQAB"}]}, "modulus"),
    "a modulus that is no number": (lambda good, other: {"keys": [{**good, "n": "!" * 342}]}, "'key-1'"),
    "an exponent that is no number": (lambda good, other: {"keys": [{**good, "e": 3}]}, "'key-1'"),
    "a private key": (lambda good, other: {"keys": [{**good, "d": "AQAB"}]}, "private key"),
    "a symmetric key": (lambda good, other: {"keys": [{"kty": "oct", "kid": "key-1", "k": "c2Vj"}]}, "no RSA key"),
    "a key for encryption": (lambda good, other: {"keys": [{**good, "use": "enc"}]}, "no RSA key"),
    "a key of another algorithm": (lambda good, other: {"keys": [{**good, "alg": "RS512"}]}, "no RSA key"),
    "deep nesting": (lambda good, other: b"[" * 200_000, "cannot be had"),
}


@pytest.mark.parametrize("document", KEY_SETS)
def test_a_bad_key_set_is_refused(
    document: str, issuer: LocalIssuer, verifier: Verifier, key: rsa.RSAPrivateKey, other_key: rsa.RSAPrivateKey
) -> None:
    """No token passes while the issuer's keys are in doubt, and the reason is said."""
    make, reason = KEY_SETS[document]
    issuer.key_set = make(jwk(key, "key-1"), jwk(other_key, "key-2"))
    error = refused(verifier, issuer.token(AUDIENCE))
    assert isinstance(error, IssuerUnreachable)
    assert reason in str(error)


def test_a_short_key_is_refused(issuer: LocalIssuer, verifier: Verifier) -> None:
    """1024 bits are no longer enough."""
    issuer.key_set = {"keys": [jwk(rsa.generate_private_key(65537, 1024), "key-1")]}  # what is refused
    assert "1024 bits" in str(refused(verifier, issuer.token(AUDIENCE)))


def test_the_keys_of_another_kid_do_not_help(
    issuer: LocalIssuer, verifier: Verifier, key: rsa.RSAPrivateKey, other_key: rsa.RSAPrivateKey
) -> None:
    """A signature is checked with the key that the token names, not with any key of the issuer."""
    issuer.key_set = {"keys": [jwk(key, "key-1"), jwk(other_key, "key-2")]}
    verifier.verify(issuer.token(AUDIENCE))
    assert refused(verifier, issuer.sign(issuer.claims(AUDIENCE), kid="key-2")).code == "signature"
    assert refused(verifier, issuer.sign(issuer.claims(AUDIENCE), kid="key-3")).code == "unknown-key"


@pytest.mark.parametrize("target", ["/keys", "http://127.0.0.1:9/keys", "file:///etc/passwd"])
def test_a_redirect_to_keys_is_not_followed(target: str, issuer: LocalIssuer, verifier: Verifier) -> None:
    """Keys come from the configured address alone."""
    issuer.redirect = target
    error = refused(verifier, issuer.token(AUDIENCE))
    assert isinstance(error, IssuerUnreachable)
    assert "redirects" in str(error)
    assert issuer.requests.count("/keys") == 1


@pytest.mark.parametrize(
    "address",
    ["https://evil.example/keys", "http://127.0.0.1/keys", "//evil.example/keys", "file:///etc/passwd", None, 7],
)
def test_a_discovery_document_cannot_name_another_origin(
    address: object, issuer: LocalIssuer, verifier: Verifier
) -> None:
    """Keys elsewhere take the operator's word."""
    issuer.discovery = {"issuer": issuer.url, "jwks_uri": address}
    assert "another origin" in str(refused(verifier, issuer.token(AUDIENCE)))


def test_keys_are_not_fetched_unencrypted(issuer: LocalIssuer, verifier: Verifier) -> None:
    """The same host and port without TLS is another origin."""
    issuer.discovery = {"issuer": issuer.url, "jwks_uri": issuer.url.replace("https://", "http://") + "/keys"}
    assert "another origin" in str(refused(verifier, issuer.token(AUDIENCE)))


def test_a_discovery_document_speaks_of_its_own_issuer(issuer: LocalIssuer, verifier: Verifier) -> None:
    """A document about another issuer is refused (OpenID Connect Discovery 1.0, section 4.3)."""
    issuer.discovery = {"issuer": "https://evil.example", "jwks_uri": f"{issuer.url}/keys"}
    assert "another issuer" in str(refused(verifier, issuer.token(AUDIENCE)))


def test_an_untrusted_certificate_stops_everything(
    issuer: LocalIssuer, verifier: Verifier, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Without the operator's trust in the certificate no key is read."""
    empty = tmp_path / "none.pem"
    empty.touch()
    monkeypatch.setenv("SSL_CERT_FILE", str(empty))
    monkeypatch.setenv("SSL_CERT_DIR", str(tmp_path))
    assert isinstance(refused(verifier, issuer.token(AUDIENCE)), IssuerUnreachable)
    assert issuer.requests == []


def test_unknown_keys_do_not_make_the_hub_ask_and_ask(
    issuer: LocalIssuer, verifier: Verifier, clock: ManualClock, other_key: rsa.RSAPrivateKey
) -> None:
    """However many tokens name unknown keys, the issuer is asked once in half a minute; a new key is then found."""
    verifier.verify(issuer.token(AUDIENCE))
    for number in range(20):
        assert refused(verifier, issuer.sign(issuer.claims(AUDIENCE), kid=f"key-{number + 2}")).code == "unknown-key"
    assert issuer.requests.count("/keys") == 1
    issuer.key, issuer.kid = other_key, "key-2"
    assert refused(verifier, issuer.token(AUDIENCE)).code == "unknown-key"
    clock.now += PAUSE
    verifier.verify(issuer.token(AUDIENCE))
    assert issuer.requests.count("/keys") == 2


def test_a_withdrawn_key_dies_within_ten_minutes(
    issuer: LocalIssuer, verifier: Verifier, clock: ManualClock, other_key: rsa.RSAPrivateKey
) -> None:
    """A key that the issuer has withdrawn is refused after the keys were kept for their time."""
    verifier.verify(issuer.token(AUDIENCE))
    issuer.key_set = {"keys": [jwk(other_key, "key-2")]}
    clock.now += 601
    assert refused(verifier, issuer.token(AUDIENCE)).code == "unknown-key"


def test_an_issuer_that_fails_is_left_alone_for_a_while(
    issuer: LocalIssuer, verifier: Verifier, clock: ManualClock
) -> None:
    """While it fails it is asked once in half a minute, and the known keys serve until their time is over."""
    verifier.verify(issuer.token(AUDIENCE))
    issuer.key_set = b"out of order"
    clock.now += 590
    verifier.verify(issuer.token(AUDIENCE))
    clock.now += 11
    for _ in range(5):
        assert isinstance(refused(verifier, issuer.token(AUDIENCE)), IssuerUnreachable)
    assert issuer.requests.count("/keys") == 2
    issuer.key_set = None
    clock.now += PAUSE
    verifier.verify(issuer.token(AUDIENCE))


# Publishers.

GITHUB_PUBLISHER = {"repository": "Ada/My-Envs", "workflow": "ci.yml", "environment": "Release"}
GITLAB_PUBLISHER = {"project": "lab/envs/mine", "workflow": ".gitlab-ci.yml", "environment": "release"}
FORGE = Issuer("forge", "https://forge.example:8443", "gitlab")
CI = Issuer("ci", "https://ci.example", "claims")


def github(**changes: Any) -> VerifiedIdentity:
    return VerifiedIdentity(GITHUB, {k: v for k, v in {**GITHUB_CLAIMS, **changes}.items() if v is not None})


def gitlab(issuer: Issuer = GITLAB, /, **changes: Any) -> VerifiedIdentity:
    config = f"{issuer.host}/lab/envs/mine//.gitlab-ci.yml@refs/tags/v0.1.0"
    claims = {**GITLAB_CLAIMS, "ci_config_ref_uri": config, **changes}
    return VerifiedIdentity(issuer, {name: value for name, value in claims.items() if value is not None})


def bound(publisher: TrustedPublisher, identity: VerifiedIdentity) -> TrustedPublisher:
    """Return a publisher after its first use."""
    return TrustedPublisher(publisher.issuer, publisher.provider, publisher.fields, {}, pins(publisher, identity))


def test_the_configured_workflow_may_publish() -> None:
    """GitHub's and GitLab's claims match their publishers before and after binding, whatever the case of a name."""
    for issuer, fields, identity in ((GITHUB, GITHUB_PUBLISHER, github()), (FORGE, GITLAB_PUBLISHER, gitlab(FORGE))):
        publisher = read_publisher(fields, issuer)
        assert mismatch(publisher, identity) == ""
        assert mismatch(bound(publisher, identity), identity) == ""
    assert pins(read_publisher(GITHUB_PUBLISHER, GITHUB), github()) == {
        "repository_id": "7401",
        "repository_owner_id": "6501",
    }


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"repository": "ada/my-envs2"}, "the repository is ada/my-envs2"),
        ({"repository": "eve/my-envs"}, "the repository is eve/my-envs"),
        ({"repository": "x-ada/my-envs"}, "the repository is"),
        ({"repository_owner": "eve"}, "contradict each other"),
        ({"job_workflow_ref": "ada/my-envs/.github/workflows/other.yml@refs/tags/v0.1.0"}, "the job's workflow is"),
        ({"job_workflow_ref": "ada/my-envs/.github/workflows/ci.yml@refs/heads/evil"}, "the job's workflow is"),
        ({"job_workflow_ref": "eve/shared/.github/workflows/ci.yml@refs/tags/v0.1.0"}, "the job's workflow is"),
        ({"job_workflow_ref": "eve/x/ada/my-envs/.github/workflows/ci.yml@refs/tags/v0.1.0"}, "the job's workflow is"),
        ({"job_workflow_ref": "ada/my-envs/.github/workflows/ci.yml"}, "the job's workflow is"),
        ({"job_workflow_ref": "ada/my-envs/.github/workflows/ci.yml@"}, "the job's workflow is"),
        ({"environment": "staging"}, "the environment is staging, not release"),
        ({"environment": None}, "the environment is absent, not release"),
        ({"environment": ["release"]}, "the environment is"),
    ],
    ids=lambda value: next(iter(value)) if isinstance(value, dict) else None,
)
def test_another_job_on_github_may_not_publish(changes: dict[str, Any], reason: str) -> None:
    """Another repository, owner, workflow file, reference, called workflow or environment is named as the reason."""
    assert reason in mismatch(read_publisher(GITHUB_PUBLISHER, GITHUB), github(**changes))


def test_a_called_workflow_at_the_same_commit_may_publish() -> None:
    """A workflow that another file of the same repository calls is pinned by its commit."""
    path = "ada/my-envs/.github/workflows/ci.yml"
    assert mismatch(read_publisher(GITHUB_PUBLISHER, GITHUB), github(job_workflow_ref=f"{path}@9f2c")) == ""


def test_without_an_environment_any_environment_will_do() -> None:
    """Only a configured environment is compared."""
    publisher = read_publisher({"repository": "ada/my-envs", "workflow": "ci.yml"}, GITHUB)
    assert mismatch(publisher, github(environment=None)) == mismatch(publisher, github(environment="any")) == ""


@pytest.mark.parametrize("name", ["repository_id", "repository_owner_id"])
def test_a_resurrected_repository_on_github_may_not_publish(name: str) -> None:
    """A repository of the same name with another id is refused, bound by its first use or by its configuration."""
    publisher = read_publisher(GITHUB_PUBLISHER, GITHUB)
    used = bound(publisher, github())
    assert mismatch(used, github()) == ""
    configured = read_publisher({**GITHUB_PUBLISHER, name: 7401 if name == "repository_id" else "6501"}, GITHUB)
    for one in (used, configured):
        assert mismatch(one, github()) == ""
        assert "another repository has the same name now" in mismatch(one, github(**{name: "9999"}))


@pytest.mark.parametrize("name", ["project_id", "namespace_id"])
def test_a_resurrected_project_on_gitlab_may_not_publish(name: str) -> None:
    """A project of the same path with another id is refused."""
    used = bound(read_publisher(GITLAB_PUBLISHER, GITLAB), gitlab())
    assert mismatch(used, gitlab()) == ""
    assert "is bound to" in mismatch(used, gitlab(**{name: "9999"}))


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"project_path": "eve/mine"}, "the project is eve/mine"),
        ({"ci_config_ref_uri": "gitlab.com/lab/envs/mine//evil.yml@refs/tags/v0.1.0"}, "configuration is"),
        ({"ci_config_ref_uri": "gitlab.com/eve/shared//.gitlab-ci.yml@refs/tags/v0.1.0"}, "configuration is"),
        ({"ci_config_ref_uri": "evil.example/lab/envs/mine//.gitlab-ci.yml@refs/tags/v0.1.0"}, "configuration is"),
        ({"ci_config_ref_uri": "gitlab.com/lab/envs/mine//.gitlab-ci.yml@refs/heads/evil"}, "configuration is"),
        ({"environment": "Release"}, "the environment is Release"),
    ],
    ids=["project", "file", "included", "host", "reference", "environment"],
)
def test_another_job_on_gitlab_may_not_publish(changes: dict[str, Any], reason: str) -> None:
    """Another project, file, instance, reference or environment is named as the reason."""
    assert reason in mismatch(read_publisher(GITLAB_PUBLISHER, GITLAB), gitlab(**changes))


@pytest.mark.parametrize("event", ["pull_request_target"])
def test_pull_request_target_never_publishes(event: str) -> None:
    """Such a workflow runs with the repository's identity and may run a stranger's code."""
    with pytest.raises(IdentityRefused, match="code of strangers"):
        mismatch(read_publisher(GITHUB_PUBLISHER, GITHUB), github(event_name=event))


@pytest.mark.parametrize("source", ["merge_request_event", "external_pull_request_event"])
def test_merge_requests_never_publish(source: str) -> None:
    """GitLab can run a fork's merge request in the parent project."""
    with pytest.raises(IdentityRefused, match="code of strangers"):
        mismatch(read_publisher(GITLAB_PUBLISHER, GITLAB), gitlab(pipeline_source=source))


GITHUB_NEEDED = (
    "repository", "repository_id", "repository_owner", "repository_owner_id", "job_workflow_ref", "ref", "sha",
    "event_name",
)  # fmt: skip
GITLAB_NEEDED = (
    "project_path",
    "project_id",
    "namespace_id",
    "ci_config_ref_uri",
    "ref_path",
    "sha",
    "pipeline_source",
)


@pytest.mark.parametrize("value", [None, "", 0, True, [], {}], ids=repr)
@pytest.mark.parametrize("name", [*GITHUB_NEEDED, *GITLAB_NEEDED[:-2], "pipeline_source"])
def test_a_claim_that_is_needed_cannot_be_left_out(name: str, value: object) -> None:
    """An absent, empty or ill-typed claim is refused, never taken for a match."""
    if name in GITHUB_NEEDED and name not in GITLAB_NEEDED:
        publisher, identity = read_publisher(GITHUB_PUBLISHER, GITHUB), github(**{name: value})
    else:
        publisher, identity = read_publisher(GITLAB_PUBLISHER, GITLAB), gitlab(**{name: value})
    with pytest.raises(IdentityRefused) as caught:
        mismatch(publisher, identity)
    assert caught.value.code == "missing-claim"
    assert name in str(caught.value)


def test_an_operators_issuer_compares_the_listed_claims() -> None:
    """An issuer of another product is matched by its subject and by the claims that the publisher lists, exactly."""
    publisher = read_publisher({"subject": "job:7", "claims": {"branch": "main"}}, CI)
    good = {"sub": "job:7", "branch": "main"}
    assert mismatch(publisher, VerifiedIdentity(CI, good)) == ""
    for name, value in {"sub": "job:77", "branch": "main2"}.items():
        assert mismatch(publisher, VerifiedIdentity(CI, {**good, name: value})).startswith(f"the claim {name}")
    assert "absent" in mismatch(publisher, VerifiedIdentity(CI, {"sub": "job:7"}))


@pytest.mark.parametrize(
    ("issuer", "fields", "reason"),
    [
        (GITHUB, {}, "repository is missing"),
        (GITHUB, [], "repository is missing"),
        (GITHUB, {"repository": "ada/my-envs"}, "workflow is missing"),
        (GITHUB, {**GITHUB_PUBLISHER, "repository": "ada"}, "OWNER/NAME"),
        (GITHUB, {**GITHUB_PUBLISHER, "repository": "ada/my-envs\n"}, "OWNER/NAME"),
        (GITHUB, {**GITHUB_PUBLISHER, "repository": "ada/x/y"}, "OWNER/NAME"),
        (GITHUB, {**GITHUB_PUBLISHER, "workflow": "../ci.yml"}, "ci.yml"),
        (GITHUB, {**GITHUB_PUBLISHER, "workflow": "ci.yml@refs/heads/x.yml"}, "ci.yml"),
        (GITHUB, {**GITHUB_PUBLISHER, "workflow": 7}, "ci.yml"),
        (GITHUB, {**GITHUB_PUBLISHER, "repository_id": "0x7"}, "number"),
        (GITHUB, {**GITHUB_PUBLISHER, "repository_id": True}, "number"),
        (GITHUB, {**GITHUB_PUBLISHER, "environment": "a\nb"}, "one line"),
        (GITHUB, {**GITHUB_PUBLISHER, "enviroment": "x"}, "no field 'enviroment'"),
        (GITLAB, {**GITLAB_PUBLISHER, "project": "mine"}, "GROUP/NAME"),
        (GITLAB, {**GITLAB_PUBLISHER, "project": "lab/../mine"}, "GROUP/NAME"),
        (GITLAB, {**GITLAB_PUBLISHER, "workflow": "/ci.yml"}, ".gitlab-ci.yml"),
        (CI, {"claims": {"sub": "x"}}, "subject is missing"),
        (CI, {"subject": "x", "claims": {"Sub": "x"}}, "lower case"),
        (CI, {"subject": "x", "claims": {"a": 1}}, "text"),
        (CI, {"subject": "x", "claims": [1]}, "object"),
    ],
    ids=range(20),
)
def test_a_publisher_is_checked_when_it_is_configured(issuer: Issuer, fields: Any, reason: str) -> None:
    """A publisher that could never match, or match too much, is refused in one sentence."""
    with pytest.raises(IdentityRefused) as caught:
        read_publisher(fields, issuer)
    assert reason in str(caught.value)
    assert caught.value.code == "publisher-invalid"


def test_an_operators_issuers_replace_the_defaults() -> None:
    """Names of the public ones stand for themselves; an issuer is found by the exact text of its address."""
    own = {"name": "forge", "url": "https://forge.example", "provider": "gitlab", "jwks_url": "https://keys.example/k"}
    issuers = issuers_of(["github", own])
    assert [one.name for one in issuers] == ["github", "forge"]
    assert issuers.at("https://forge.example") == Issuer(**own)  # type: ignore[arg-type]
    assert issuers.at("https://gitlab.com") is issuers.at("https://forge.example/") is issuers.at(None) is None


@pytest.mark.parametrize(
    "issuers",
    [
        ["sourcehut"],
        [{"name": "x", "url": "http://x.example", "provider": "github"}],
        [{"name": "x", "url": "https://x.example", "provider": "sourcehut"}],
        [{"name": "x", "url": "https://x.example", "provider": "github", "jwks_url": "file:///etc/keys"}],
        [{"name": "x", "url": "https://me:pw@x.example", "provider": "github"}],
        [{"name": "x", "url": "https://x.example?a=b", "provider": "github"}],
        [{"name": "x", "provider": "github"}],
        [{"name": "x", "url": "https://x.example", "provider": "github", "colour": "red"}],
        ["github", {"name": "github", "url": "https://x.example", "provider": "github"}],
        ["github", {"name": "x", "url": "https://token.actions.githubusercontent.com", "provider": "claims"}],
    ],
    ids=range(10),
)
def test_an_issuer_that_cannot_be_trusted_is_refused(issuers: Any) -> None:
    """Every mistake is one sentence that names the issuer."""
    with pytest.raises(ArgumentError, match=r"^issuer "):
        issuers_of(issuers)


def test_keys_at_an_address_of_the_operator_need_no_discovery(issuer: LocalIssuer) -> None:
    """With jwks_url nothing else is asked."""
    chosen = Issuer("local", issuer.url, "github", f"{issuer.url}/keys")
    Verifier(Issuers([chosen]), AUDIENCE).verify(issuer.token(AUDIENCE))
    assert issuer.requests == ["/keys"]
