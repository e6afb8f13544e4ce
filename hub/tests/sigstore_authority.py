"""A certificate authority, a log of certificates and a log of signatures, in the forms that sigstore reads."""

from __future__ import annotations

import base64
import hashlib
import json
import struct
from collections.abc import Mapping
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any

from cryptography import x509
from cryptography.hazmat.primitives.asymmetric.ec import ECDSA, SECP256R1, EllipticCurvePrivateKey, generate_private_key
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

SHA = ECDSA(SHA256())
FULCIO = "1.3.6.1.4.1.57264.1."
SCT_LIST = x509.ObjectIdentifier("1.3.6.1.4.1.11129.2.4.2")
ORIGIN = "log.test"
DIGITAL_SIGNATURE, SIGNING_AUTHORITY = (True, False), (False, True)


class SigstoreAuthority:
    """Issues certificates for workflows of GitHub, and attestations that they sign."""

    def __init__(self) -> None:
        self.now = datetime.now(timezone.utc).replace(microsecond=0)
        self.key, self.certificates_key, self.log_key = (generate_private_key(SECP256R1()) for _ in range(3))
        name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "authority.test")])
        builder = self._builder(name, name, self.key, self.key, 3650, SIGNING_AUTHORITY)
        self.certificate = builder.add_extension(x509.BasicConstraints(True, 0), True).sign(self.key, SHA256())

    def trusted_root(self, path: Path) -> Path:
        """Write the trusted root of this authority."""
        start = (self.now - timedelta(days=1)).strftime("%Y-%m-%dT%H:%M:%SZ")

        def log(key: EllipticCurvePrivateKey) -> dict[str, Any]:
            public = {"rawBytes": text(spki(key)), "keyDetails": "PKIX_ECDSA_P256_SHA_256"}
            return {
                "baseUrl": "https://log.test", "hashAlgorithm": "SHA2_256",
                "publicKey": {**public, "validFor": {"start": start}},
                "logId": {"keyId": text(digest(spki(key)))},
            }  # fmt: skip

        authority = {
            "subject": {"organization": "test", "commonName": "authority.test"}, "uri": "https://authority.test",
            "certChain": {"certificates": [{"rawBytes": text(self.certificate.public_bytes(Encoding.DER))}]},
            "validFor": {"start": start},
        }  # fmt: skip
        document = {
            "mediaType": "application/vnd.dev.sigstore.trustedroot+json;version=0.1", "tlogs": [log(self.log_key)],
            "certificateAuthorities": [authority], "ctlogs": [log(self.certificates_key)], "timestampAuthorities": [],
        }  # fmt: skip
        path.write_text(json.dumps(document))
        return path

    def attest(
        self, filename: str, sha256: str, repository: str = "alice/toys", workflow: str = "release.yml", **changes: Any
    ) -> dict[str, Any]:
        """Return an attestation of a wheel by a workflow.

        Args:
            filename: the name of the wheel.
            sha256: its digest.
            repository: owner and name on GitHub.
            workflow: the file of the workflow.
            changes: keys of the statement that are other than usual.
        """
        from pypi_attestations import AttestationType

        statement = {
            "_type": "https://in-toto.io/Statement/v1", "subject": [{"name": filename, "digest": {"sha256": sha256}}],
            "predicateType": AttestationType.PYPI_PUBLISH_V1.value, "predicate": None, **changes,
        }  # fmt: skip
        payload = json.dumps(statement).encode()
        key = generate_private_key(SECP256R1())
        certificate = self._issue(key, repository, workflow)
        kind = b"application/vnd.in-toto+json"
        signature = key.sign(b"DSSEv1 %d %b %d %b" % (len(kind), kind, len(payload), payload), SHA)
        return {
            "version": 1,
            "verification_material": {
                "certificate": text(certificate.public_bytes(Encoding.DER)),
                "transparency_entries": [self._entry(payload, signature, certificate)],
            },
            "envelope": {"statement": text(payload), "signature": text(signature)},
        }

    def _issue(self, key: EllipticCurvePrivateKey, repository: str, workflow: str) -> x509.Certificate:
        """Return a certificate with an embedded timestamp of the log of certificates (RFC 6962)."""
        uri, ref = f"https://github.com/{repository}", "refs/tags/v1"
        config = f"{uri}/.github/workflows/{workflow}@{ref}"
        builder = self._builder(x509.Name([]), self.certificate.subject, key, self.key, 1, DIGITAL_SIGNATURE)
        builder = builder.add_extension(x509.ExtendedKeyUsage([ExtendedKeyUsageOID.CODE_SIGNING]), False)
        builder = builder.add_extension(x509.SubjectAlternativeName([x509.UniformResourceIdentifier(config)]), True)
        issuer = "https://token.actions.githubusercontent.com"
        for number, value in ((8, issuer), (12, uri), (13, "0" * 40), (14, ref), (18, config)):
            content = value.encode()
            size = bytes([len(content)]) if len(content) < 128 else bytes([0x81, len(content)])
            extension = x509.UnrecognizedExtension(x509.ObjectIdentifier(f"{FULCIO}{number}"), b"\x0c" + size + content)
            builder = builder.add_extension(extension, False)
        tbs = builder.sign(self.key, SHA256()).tbs_certificate_bytes
        moment = int(self.now.timestamp() * 1000)
        entry = digest(spki(self.key)) + len(tbs).to_bytes(3, "big") + tbs
        signed = self.certificates_key.sign(struct.pack(">BBQH", 0, 0, moment, 1) + entry + b"\0\0", SHA)
        sct = b"\0" + digest(spki(self.certificates_key)) + struct.pack(">QH", moment, 0) + b"\4\3"
        sct += struct.pack(">H", len(signed)) + signed
        listed = struct.pack(">HH", len(sct) + 2, len(sct)) + sct
        wrapped = b"\x04" + (bytes([len(listed)]) if len(listed) < 128 else bytes([0x81, len(listed)])) + listed
        return builder.add_extension(x509.UnrecognizedExtension(SCT_LIST, wrapped), False).sign(self.key, SHA256())

    def _entry(self, payload: bytes, signature: bytes, certificate: x509.Certificate) -> dict[str, Any]:
        """Return the entry of a signature in a log that has no other, with its checkpoint and its promise."""
        hashed = {"algorithm": "sha256", "value": hashlib.sha256(payload).hexdigest()}
        verifier = text(certificate.public_bytes(Encoding.PEM))
        spec = {
            "envelopeHash": hashed, "payloadHash": hashed,
            "signatures": [{"signature": text(signature), "verifier": verifier}],
        }  # fmt: skip
        body = canonical({"apiVersion": "0.0.1", "kind": "dsse", "spec": spec})
        identity = digest(spki(self.log_key))
        root = hashlib.sha256(b"\0" + body).digest()
        note = f"{ORIGIN}\n1\n{text(root)}\n"
        signed_note = text(identity[:4] + self.log_key.sign(note.encode(), SHA))
        moment = int(self.now.timestamp())
        promised = {"body": text(body), "integratedTime": moment, "logID": identity.hex(), "logIndex": 0}
        return {
            "logIndex": "0", "logId": {"keyId": text(identity)}, "kindVersion": {"kind": "dsse", "version": "0.0.1"},
            "integratedTime": str(moment),
            "inclusionPromise": {"signedEntryTimestamp": text(self.log_key.sign(canonical(promised), SHA))},
            "inclusionProof": {
                "logIndex": "0", "rootHash": text(root), "treeSize": "1", "hashes": [],
                "checkpoint": {"envelope": f"{note}\n— {ORIGIN} {signed_note}\n"},
            },
            "canonicalizedBody": text(body),
        }  # fmt: skip

    def _builder(
        self, subject: x509.Name, issuer: x509.Name, key: EllipticCurvePrivateKey, signer: EllipticCurvePrivateKey,
        days: int, usage: tuple[bool, bool],
    ) -> x509.CertificateBuilder:  # fmt: skip
        signs, certifies = usage
        key_usage = x509.KeyUsage(signs, False, False, False, False, certifies, certifies, False, False)
        builder = x509.CertificateBuilder(issuer, subject, key.public_key(), x509.random_serial_number())
        builder = builder.not_valid_before(self.now - timedelta(minutes=5)).not_valid_after(self.now + timedelta(days))
        builder = builder.add_extension(x509.SubjectKeyIdentifier.from_public_key(key.public_key()), False)
        authority = x509.AuthorityKeyIdentifier.from_issuer_public_key(signer.public_key())
        return builder.add_extension(authority, False).add_extension(key_usage, True)


def spki(key: EllipticCurvePrivateKey) -> bytes:
    return key.public_key().public_bytes(Encoding.DER, PublicFormat.SubjectPublicKeyInfo)


def digest(content: bytes) -> bytes:
    return hashlib.sha256(content).digest()


def text(content: bytes) -> str:
    return base64.b64encode(content).decode()


def canonical(value: Mapping[str, Any]) -> bytes:
    return json.dumps(value, sort_keys=True, separators=(",", ":")).encode()
