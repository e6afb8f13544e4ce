"""The refusals of trusted publishing, each with a code for programs and a sentence for people."""

from __future__ import annotations

from gem_hub.errors import HubRefusal

__all__ = ["IdentityRefused", "IssuerUnreachable"]


class IdentityRefused(HubRefusal):
    """An identity token, or the configuration of a publisher, is refused.

    Attributes:
        code: the reason in one or two words, stable, for example ``"token-replayed"``.
    """

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code = code


class IssuerUnreachable(IdentityRefused):
    """The issuer's keys cannot be had now; the same request may succeed later."""
