"""Authorization of a remote server by a client's own credentials (OAuth 2.1, grant ``client_credentials``)."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import httpx2
    from mcp.shared.auth import OAuthClientInformationFull, OAuthToken

__all__ = ["OAuthClient", "authorization"]


@dataclass(frozen=True)
class OAuthClient:
    """The credentials of a client."""

    client_id: str
    client_secret: str = field(repr=False)
    issuer: str
    """The authorization server, the only one that gets the credentials, wherever the server of the tools may point."""


class _SessionTokens:
    """The tokens of one session."""

    def __init__(self) -> None:
        self._tokens: OAuthToken | None = None

    async def get_tokens(self) -> OAuthToken | None:
        return self._tokens

    async def set_tokens(self, tokens: OAuthToken) -> None:
        self._tokens = tokens

    async def get_client_info(self) -> OAuthClientInformationFull | None:
        return None  # the credentials are known, so the client registers nowhere

    async def set_client_info(self, client_info: OAuthClientInformationFull) -> None:
        """Keep nothing."""


def authorization(url: str, client: OAuthClient) -> httpx2.Auth:
    """Return what asks for a token when the server at a URL wants one, and sends it with each request.

    The token has the scope that the server names.
    """
    from mcp.client.auth.extensions.client_credentials import ClientCredentialsOAuthProvider

    return ClientCredentialsOAuthProvider(
        url, _SessionTokens(), client.client_id, client.client_secret, issuer=client.issuer
    )
