"""Clients that nobody here wrote, and encrypted connections: curl, httpx2, aiohttp, the program of ``websockets``."""

from __future__ import annotations

import asyncio
import datetime
import ipaddress
import json
import shutil
import ssl
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

import gem
from gem.errors import ArgumentError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from conftest import RunningServer

pytestmark = pytest.mark.xdist_group("environment server http")

TOKEN = "a-token-of-the-tests-1234"
BEARER = {"Authorization": f"Bearer {TOKEN}"}
COUNTING = "faulty:Counting-v0"


def certificates(folder: Path) -> tuple[Path, Path, Path]:
    """Return the files of a new authority's certificate, and of a certificate for 127.0.0.1 with its key."""
    pytest.importorskip("cryptography", reason="makes the certificates")
    from cryptography import x509
    from cryptography.hazmat.primitives import hashes, serialization
    from cryptography.hazmat.primitives.asymmetric import ec

    now = datetime.datetime.now(datetime.timezone.utc)

    def signed(name: str, key: Any, issuer: str, issuer_key: Any, *extensions: Any) -> x509.Certificate:
        builder = x509.CertificateBuilder(
            x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, issuer)]),
            x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, name)]),
            key.public_key(),
            x509.random_serial_number(),
            now - datetime.timedelta(days=1),
            now + datetime.timedelta(days=2),
        )
        for extension in extensions:
            builder = builder.add_extension(extension, critical=False)
        identifier = x509.AuthorityKeyIdentifier.from_issuer_public_key(issuer_key.public_key())
        return builder.add_extension(identifier, critical=False).sign(issuer_key, hashes.SHA256())

    authority_key, key = ec.generate_private_key(ec.SECP256R1()), ec.generate_private_key(ec.SECP256R1())
    authority = signed(
        "an authority of the tests",
        authority_key,
        "an authority of the tests",
        authority_key,
        x509.BasicConstraints(ca=True, path_length=None),
        x509.SubjectKeyIdentifier.from_public_key(authority_key.public_key()),
        x509.KeyUsage(False, False, False, False, False, True, True, False, False),
    )
    names = x509.SubjectAlternativeName([x509.IPAddress(ipaddress.ip_address("127.0.0.1"))])
    certificate = signed("a server of the tests", key, "an authority of the tests", authority_key, names)
    pem, plain = serialization.Encoding.PEM, serialization.NoEncryption()
    files = folder / "authority.pem", folder / "server.pem", folder / "server.key"
    files[0].write_bytes(authority.public_bytes(pem))
    files[1].write_bytes(certificate.public_bytes(pem))
    files[2].write_bytes(key.private_bytes(pem, serialization.PrivateFormat.PKCS8, plain))
    return files


@pytest.fixture(scope="module")
def authority(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path, Path]:
    """The files of :func:`certificates`, in a folder with a blank and a letter beyond ASCII."""
    folder = tmp_path_factory.mktemp("site") / "a café"
    folder.mkdir()
    return certificates(folder)


@pytest.fixture(scope="module")
def encrypted(serve: Any, faulty_specs: dict[str, str], authority: tuple[Path, Path, Path]) -> Iterator[RunningServer]:
    """A server behind its own certificate, with a token."""
    options = ("--tls-cert", str(authority[1]), "--tls-key", str(authority[2]), "--token", TOKEN)
    with serve("faulty", "--workers", "1", *options, **faulty_specs) as started:
        assert started.url.startswith("https://")
        yield started


@pytest.fixture(scope="module")
def plain(serve: Any, faulty_specs: dict[str, str]) -> Iterator[RunningServer]:
    """A server without a certificate or a token."""
    with serve("faulty", "--workers", "1", **faulty_specs) as started:
        yield started


@pytest.mark.slow
def test_our_client_trusts_the_file_it_is_given(
    encrypted: RunningServer, authority: tuple[Path, Path, Path], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """With the authority's file it plays, also messages of a megabyte; without, or with a wrong one, it says why."""
    url = encrypted.env(COUNTING)
    monkeypatch.setenv("GEM_SERVER_TOKEN", TOKEN)
    with pytest.raises(gem.errors.GemError, match="GEM_SERVER_CA_FILE"):
        gem.make(url)
    monkeypatch.setenv("GEM_SERVER_CA_FILE", str(tmp_path / "missing.pem"))
    with pytest.raises(ArgumentError, match=r"missing\.pem"):
        gem.make(url)
    monkeypatch.setenv("GEM_SERVER_CA_FILE", str(authority[2]))  # a key, where a certificate should be
    with pytest.raises(ArgumentError, match=r"server\.key"):
        gem.make(url)
    monkeypatch.setenv("GEM_SERVER_CA_FILE", str(authority[0]))
    with gem.make_vec(url, num_envs=3, seed=1, mode="server") as envs:
        envs.reset()
        for turn, size in enumerate((1, 70_000, 900_000), 1):
            assert envs.step(["x" * size] * 3)[0] == [f"{turn}: {'x' * size}"] * 3


def test_curl_plays(encrypted: RunningServer, authority: tuple[Path, Path, Path]) -> None:
    """Curl opens a session, plays, repeats a step under its id, and is refused without the token."""
    program = shutil.which("curl")
    if program is None:
        pytest.skip("the program curl is not installed")

    def curl(path: str, *options: str, token: str = TOKEN) -> Any:
        command = [program, "-sS", "--noproxy", "*", "--cacert", str(authority[0]), *options]
        command += ["-H", f"Authorization: Bearer {token}", f"{encrypted.url}{path}"]
        return json.loads(subprocess.run(command, capture_output=True, check=True).stdout)

    def body(**fields: Any) -> tuple[str, ...]:
        return ("-H", "Content-Type: application/json", "-d", json.dumps(fields))

    session = curl("/v1/sessions", *body(env=COUNTING))["session"]
    assert curl(f"/v1/sessions/{session}/reset", *body(seed=3))["observation"].startswith("begin")
    # Above 1024 bytes curl waits for "100 Continue" before it sends the body.
    turn = curl(f"/v1/sessions/{session}/step", "-H", "Expect: 100-continue", *body(action="y" * 5000, step_id=2))
    assert (turn["observation"], turn["step_id"]) == ("1: " + "y" * 5000, 2)
    assert curl(f"/v1/sessions/{session}/step", *body(action="other", step_id=2)) == turn
    assert curl("/v1/environments", token="wrong-token-wrong-token")["error"]["kind"] == "AccessDeniedError"
    assert curl(f"/v1/sessions/{session}", "-X", "DELETE") == {"ok": True}
    untrusted = subprocess.run([program, "-sS", f"{encrypted.url}/health"], capture_output=True, text=True, check=False)
    assert untrusted.returncode == 60  # the certificate cannot be verified


def test_httpx_plays_over_one_connection(encrypted: RunningServer, authority: tuple[Path, Path, Path]) -> None:
    """Requests follow each other on a connection that stays open, also pipelined answers of different sizes."""
    import httpx2

    trusting = ssl.create_default_context(cafile=str(authority[0]))
    with httpx2.Client(base_url=encrypted.url, headers=BEARER, verify=trusting, trust_env=False, timeout=60) as client:
        opened = client.post("/v1/sessions", json={"env": COUNTING, "seed": 4})
        assert opened.status_code == 201
        path = f"/v1/sessions/{opened.json()['session']}"
        assert client.post(f"{path}/reset", json={}).status_code == 200
        for turn, size in enumerate((0, 1, 5, 20_000), 1):
            answer = client.post(f"{path}/step", json={"action": "z" * size, "step_id": turn + 1})
            assert answer.json()["observation"] == f"{turn}: {'z' * size}"
        assert client.head("/health").status_code == 200
        assert client.get("/health").json() == {"status": "ok"}
        assert client.delete(path).json() == {"ok": True}
        metrics = client.get("/metrics").text
    assert "gem_connections_total" in metrics


@pytest.mark.slow
def test_the_websocket_of_aiohttp_plays(plain: RunningServer) -> None:
    """The protocol as documented, with compression offered, pings, and text in several frames."""
    aiohttp = pytest.importorskip("aiohttp")

    async def play() -> None:
        name = "a-session-name-of-aiohttp"
        async with (
            aiohttp.ClientSession() as client,
            client.ws_connect(f"{plain.url}/v1/socket", protocols=["gem.v1"], compress=15, autoping=False) as socket,
        ):
            assert socket.protocol == "gem.v1"
            await socket.ping(b"are you there")
            pong = await socket.receive()
            assert (pong.type, bytes(pong.data)) == (aiohttp.WSMsgType.PONG, b"are you there")
            await socket.send_json([[5, 0, "open", {"session": name, "env": COUNTING}]])
            assert (await socket.receive_json())[0][2]["step_id"] == 0
            await socket.send_json([[5, 1, "reset", {"seed": 1}]])
            assert (await socket.receive_json())[0][:2] == [5, 1]
            for turn, size in enumerate((3, 200, 70_000), 1):
                await socket.send_json([[5, turn + 1, "step", "w" * size]])
                assert (await socket.receive_json())[0][2] == f"{turn}: {'w' * size}"
            await socket.send_json([[5, 5, "close"]])
            assert await socket.receive_json() == [[5, 5, True]]

    asyncio.run(play())


@pytest.mark.slow
def test_the_program_of_websockets_plays(plain: RunningServer) -> None:
    """The interactive client of the library ``websockets``, by hand as it were."""
    program = subprocess.Popen(
        [sys.executable, "-m", "websockets", f"ws://127.0.0.1:{plain.port}/v1/socket"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    try:
        assert program.stdin is not None
        assert program.stdout is not None
        calls = [
            [0, 0, "open", {"session": "a-session-name-by-hand", "env": COUNTING}],
            [0, 1, "reset", {"seed": 1}],
            [0, 2, "step", "typed"],
        ]
        shown = ""
        for call in calls:
            program.stdin.write(json.dumps([call]) + "\n")
            program.stdin.flush()
            while f"[[0,{call[1]}," not in shown:
                part = program.stdout.readline()
                assert part, shown
                shown += part
        assert '[[0,2,"1: typed",1.0,false,false,' in shown
    finally:
        program.kill()
        program.wait()
        for pipe in (program.stdin, program.stdout):
            assert pipe is not None
            pipe.close()
