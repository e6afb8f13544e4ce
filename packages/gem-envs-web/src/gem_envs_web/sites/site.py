"""What a generated site does: :class:`Site`, the server's side of one episode."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import NamedTuple

from gem.errors import ArgumentError
from gem_envs_web.sites.page import SitePage

__all__ = ["Site", "SiteChange"]


class SiteChange(NamedTuple):
    """A command that was sent to a site, with the values of the page's fields."""

    address: str
    command: str
    values: dict[str, str]


class Site(ABC):
    """The pages of one episode and all that an agent has changed there.

    A site is a function of its task and of the commands sent to it. ``changes`` lists those, and replaying them on a
    new site leads to the same state.
    """

    start: str
    """The address of the first page."""

    def __init__(self) -> None:
        self.changes: list[SiteChange] = []

    def send(self, address: str, command: str, values: Mapping[str, str]) -> str:
        """Press a button of a page; return the address of the page that follows.

        Args:
            address: the page.
            command: the command of one of its buttons.
            values: values by the names of fields; those that are missing are taken as "".

        Raises:
            ArgumentError, LookupError: if there is no such page, or it has no such button.
        """
        page = self.page(address)
        if not any(getattr(piece, "command", None) == command for piece in page.pieces()):
            raise ArgumentError(f"the page {address!r:.80} has no button that sends {command!r:.80}")
        sent = {}
        for name, field in page.fields().items():
            value = values.get(name, "")
            sent[name] = value if field.accepts(value) else ""
        self.changes.append(SiteChange(address, command, sent))
        return self._carry_out(address, command, sent)

    def search_address(self, words: str) -> str:
        """Return the address of the results of a search.

        Raises:
            ArgumentError: if the site has no search.
        """
        raise ArgumentError("this site has no search")

    @abstractmethod
    def page(self, address: str) -> SitePage:
        """Return a page.

        Raises:
            ArgumentError, LookupError: if there is none at this address.
        """

    @abstractmethod
    def _carry_out(self, address: str, command: str, values: dict[str, str]) -> str:
        """Do what a button of a page does; return the address of the page that follows."""

    @abstractmethod
    def result(self) -> float | None:
        """Return the reward, or None as long as the task is not decided."""

    def answered(self, answer: str) -> float:
        """Return the reward of ending with an answer.

        Raises:
            ArgumentError: if the task of this site ends in another way.
        """
        raise ArgumentError("this site takes no answer")
