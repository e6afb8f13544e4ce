"""An issuer of identity tokens on this machine: TLS with a certificate of its own, a discovery document, keys, tokens.

It also answers as GitHub's runner does to a job that asks for an identity token.
"""

from __future__ import annotations

import base64
import datetime
import ipaddress
import json
import ssl
import threading
import time
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import jwt
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from cryptography.x509.oid import NameOID

RUNNER_SECRET = "secret-of-the-job"

GITHUB_CLAIMS = {
    "sub": "repo:ada/my-envs:environment:release",
    "repository": "ada/my-envs",
    "repository_id": "7401",
    "repository_owner": "ada",
    "repository_owner_id": "6501",
    "job_workflow_ref": "ada/my-envs/.github/workflows/ci.yml@refs/tags/v0.1.0",
    "workflow_ref": "ada/my-envs/.github/workflows/ci.yml@refs/tags/v0.1.0",
    "ref": "refs/tags/v0.1.0",
    "sha": "9f2c",
    "event_name": "push",
    "environment": "release",
    "actor": "ada",
}
"""The claims of a job on GitHub that releases ada/my-envs."""

GITLAB_CLAIMS = {
    "sub": "project_path:lab/envs/mine:ref_type:tag:ref:v0.1.0",
    "project_path": "lab/envs/mine",
    "project_id": "318",
    "namespace_path": "lab/envs",
    "namespace_id": "72",
    "ref_path": "refs/tags/v0.1.0",
    "sha": "77ab",
    "pipeline_source": "push",
    "environment": "release",
}
"""The claims of a job on GitLab that releases lab/envs/mine; ``ci_config_ref_uri`` depends on the instance."""


def certificate(folder: Path) -> tuple[Path, Path]:
    """Write a certificate for 127.0.0.1 and localhost that signs itself, and its key; return both paths."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "tests of gem")])
    now = datetime.datetime.now(datetime.timezone.utc)
    names = [x509.DNSName("localhost"), x509.IPAddress(ipaddress.ip_address("127.0.0.1"))]
    built = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - datetime.timedelta(days=1))
        .not_valid_after(now + datetime.timedelta(days=2))
        .add_extension(x509.SubjectAlternativeName(names), critical=False)
        .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
        .sign(key, hashes.SHA256())
    )
    folder.mkdir(parents=True, exist_ok=True)
    cert_file, key_file = folder / "cert.pem", folder / "key.pem"
    cert_file.write_bytes(built.public_bytes(serialization.Encoding.PEM))
    key_file.write_bytes(
        key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    )
    return cert_file, key_file


def jwk(key: rsa.RSAPrivateKey, kid: str, **more: Any) -> dict[str, Any]:
    """Return the public part of a key as RFC 7517 has it."""
    public: dict[str, Any] = jwt.algorithms.RSAAlgorithm.to_jwk(key.public_key(), as_dict=True)
    return {**public, "kid": kid, "use": "sig", "alg": "RS256", **more}


@dataclass
class LocalIssuer:
    """A running issuer; its answers may be changed at any time."""

    url: str
    key: rsa.RSAPrivateKey
    kid: str = "key-1"
    key_set: Any = None
    """The document at its ``jwks_uri``: bytes, or a value that becomes JSON; None for its own key."""
    discovery: Any = None
    """Its discovery document; None for the right one."""
    redirect: str = ""
    """An address to which requests for keys are sent."""
    runner_claims: dict[str, Any] = field(default_factory=lambda: dict(GITHUB_CLAIMS))
    """The claims of the tokens that a job gets."""
    requests: list[str] = field(default_factory=list)

    def claims(self, audience: str, base: dict[str, Any] = GITHUB_CLAIMS, **changes: Any) -> dict[str, Any]:
        """Return the claims of a good token; a change to None leaves a claim out."""
        now = int(time.time())
        times = {"iss": self.url, "aud": audience, "iat": now, "nbf": now, "exp": now + 300, "jti": str(uuid.uuid4())}
        return {name: value for name, value in {**base, **times, **changes}.items() if value is not None}

    def token(self, audience: str, base: dict[str, Any] = GITHUB_CLAIMS, **changes: Any) -> str:
        """Return a signed token."""
        return self.sign(self.claims(audience, base, **changes))

    def sign(self, claims: dict[str, Any], **header: Any) -> str:
        """Sign claims with the issuer's key."""
        return jwt.encode(claims, self.key, algorithm="RS256", headers={"kid": self.kid, **header})

    def answer(self, path: str, bearer: str) -> tuple[int, bytes, dict[str, str]]:
        """Return status, body and header fields for a GET request."""
        parts = urlsplit(path)
        self.requests.append(parts.path)
        if parts.path == "/.well-known/openid-configuration":
            right = {"issuer": self.url, "jwks_uri": f"{self.url}/keys"}
            return 200, _document(right if self.discovery is None else self.discovery), {}
        if parts.path == "/keys":
            if self.redirect:
                return 302, b"", {"Location": self.redirect}
            own = {"keys": [jwk(self.key, self.kid)]}
            return 200, _document(own if self.key_set is None else self.key_set), {}
        if parts.path == "/token" and bearer.lower() == f"bearer {RUNNER_SECRET}":
            (audience,) = parse_qs(parts.query)["audience"]
            return 200, _document({"value": self.token(audience, self.runner_claims)}), {}
        return 404, b"", {}


def _document(value: Any) -> bytes:
    return value if isinstance(value, bytes) else json.dumps(value).encode()


@contextmanager
def tls_server(
    answer: Callable[[str, str], tuple[int, bytes, dict[str, str]]], cert_file: Path, key_file: Path
) -> Iterator[str]:
    """Answer GET requests over TLS by a function of path and ``Authorization``; yield the origin."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            status, body, fields = answer(self.path, self.headers.get("Authorization", ""))
            self.send_response(status)
            for name, value in {"Content-Length": str(len(body)), **fields}.items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *arguments: object) -> None:
            """Say nothing."""

    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(cert_file, key_file)
    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        server.socket = context.wrap_socket(server.socket, server_side=True)
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
        thread.start()
        try:
            yield f"https://127.0.0.1:{server.server_address[1]}"
        finally:
            server.shutdown()
            thread.join()


@contextmanager
def local_issuer(key: rsa.RSAPrivateKey, cert_file: Path, key_file: Path) -> Iterator[LocalIssuer]:
    """Run an issuer."""
    issuer = LocalIssuer("", key)
    with tls_server(issuer.answer, cert_file, key_file) as origin:
        issuer.url = origin
        yield issuer


def segment(value: Any) -> str:
    """Return a segment of a JSON web token."""
    return base64.urlsafe_b64encode(_document(value)).rstrip(b"=").decode()
