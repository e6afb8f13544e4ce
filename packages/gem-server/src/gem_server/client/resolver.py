"""From an address to a spec: :func:`resolve`, which ``gem.make`` calls for ids that begin with ``http``."""

from __future__ import annotations

import http.client
import json
import ssl
from contextlib import closing
from typing import Any

from gem.arguments import nearest
from gem.env_spec import EnvSpec
from gem.errors import UnknownEnvironmentError
from gem_server.client.address import EnvAddress, parse_address, token_from_surroundings
from gem_server.client.tls import client_tls
from gem_server.errors import AccessDeniedError, ServiceRefusedError, ServiceUnavailableError

__all__ = ["resolve"]

_TIMEOUT = 10.0  # seconds
_MOST = 64 << 20  # bytes of a list of environments


def resolve(url: str) -> EnvSpec:
    """Return the spec of an environment behind a server, with what the server says about it.

    Args:
        url: such as ``http://localhost:8080/game:Sudoku-v0``.

    Raises:
        ArgumentError: if it is no address of an environment.
        ServiceUnavailableError: if no server answers there.
        AccessDeniedError: if the server wants another token than that of ``GEM_SERVER_TOKEN``.
        UnknownEnvironmentError: if the server does not serve the id.
    """
    address = parse_address(url)
    served = {record["id"]: record for record in _ask(address, "/v1/environments")["environments"]}
    record = served.get(address.env_id)
    if record is None:
        hint = nearest(address.env_id, served)
        raise UnknownEnvironmentError(
            f"{address.server} does not serve {address.env_id!r}; "
            + (f"did you mean {hint!r}?" if hint else f"it serves {', '.join(sorted(served)[:10])}")
        )
    low_high = record.get("reward_range")
    return EnvSpec(
        id=url,
        entry_point="gem_server.client.remote_env:RemoteEnv",
        kwargs={"url": url},
        description=record.get("description", ""),
        tags=tuple(record.get("tags", ())),
        turns=record.get("turns", "multi"),
        modality=tuple(record.get("modality", ())),
        reward_range=None if low_high is None else (low_high[0], low_high[1]),
        distribution=record.get("distribution"),
        version=record.get("version"),
    )


def _ask(address: EnvAddress, path: str) -> Any:
    if address.scheme == "https":
        connection: http.client.HTTPConnection = http.client.HTTPSConnection(
            address.host, address.port, timeout=_TIMEOUT, context=client_tls()
        )
    else:
        connection = http.client.HTTPConnection(address.host, address.port, timeout=_TIMEOUT)
    token = token_from_surroundings()
    with closing(connection):
        try:
            connection.request(
                "GET", address.prefix + path, headers={} if token is None else {"Authorization": f"Bearer {token}"}
            )
            response = connection.getresponse()
            body = response.read(_MOST)
            if response.status in (401, 403):
                raise AccessDeniedError(
                    f"{address.server} wants another token; set GEM_SERVER_TOKEN (it said {response.status})"
                )
            if response.status != 200:
                raise ServiceRefusedError(f"{address.server}{path} answers {response.status}: {body[:200]!r}")
            answer = json.loads(body)
            if not isinstance(answer, dict) or not isinstance(answer.get("environments"), list):
                raise ValueError("another service is there")
            return answer
        except (OSError, http.client.HTTPException, ValueError) as error:
            if isinstance(error, (ServiceUnavailableError, AccessDeniedError)):
                raise
            if isinstance(error, ssl.SSLCertVerificationError):
                raise ServiceUnavailableError(
                    f"the certificate of {address.server} is not trusted: {error.verify_message}; if its authority is "
                    "your own, name the file of its certificate in GEM_SERVER_CA_FILE"
                ) from error
            raise ServiceUnavailableError(
                f"no GEM server answers at {address.server}: {error}; start one: gem serve {address.env_id}"
            ) from error
