"""A gateway for tests, whose model is a script; and the programs and models of these tests, importable beside them."""

from __future__ import annotations

import sys
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from gem_eval.clients import Completion, Sampling, ScriptedClient
from gem_gateway import CallBudget, ClientAnswerer, Gateway
from gem_gateway.dialects.base import CallSettings
from gem_gateway.limits import ExchangeLimits
from gem_gateway.sessions import GatewaySession

sys.path.append(str(Path(__file__).parent))


class ListeningClient(ScriptedClient):
    """A scripted client that keeps what it was asked.

    Attributes:
        asked: tools, sampling and response_format of each chat.
    """

    def __init__(self, answers: Any) -> None:
        super().__init__(answers)
        self.asked: list[dict[str, Any]] = []

    async def chat(
        self,
        messages: list[dict[str, Any]],
        *,
        tools: list[dict[str, Any]] | None = None,
        sampling: Sampling | None = None,
        response_format: dict[str, Any] | None = None,
    ) -> Completion:
        self.asked.append({"tools": tools, "sampling": sampling, "response_format": response_format})
        return await super().chat(messages)

    async def complete(self, prompt: str | list[int], *, sampling: Sampling | None = None) -> Completion:
        self.asked.append({"sampling": sampling})
        return await super().complete(prompt)


@dataclass
class Playing:
    """A gateway with one session, and the client behind it."""

    gateway: Gateway
    session: GatewaySession
    client: ListeningClient

    def url(self, path: str) -> str:
        """Return the address of a path of the session, such as ``/v1/chat/completions``."""
        return f"{self.gateway.origin}/s/{self.session.id}{path}"

    @property
    def headers(self) -> dict[str, str]:
        """What opens the session."""
        return {"Authorization": f"Bearer {self.session.api_key}"}


Play = Callable[..., AbstractAsyncContextManager[Playing]]


@pytest.fixture
def play() -> Play:
    """Return a function that opens a gateway with one session: answers, budget, settings, limits → Playing."""

    @asynccontextmanager
    async def opened(
        answers: Any,
        budget: CallBudget | None = None,
        settings: CallSettings | None = None,
        limits: ExchangeLimits | None = None,
        sampling: Sampling | None = None,
    ) -> AsyncIterator[Playing]:
        async with Gateway(limits=limits) as gateway:
            client = ListeningClient(answers)
            session = gateway.open(
                ClientAnswerer(client), sampling=sampling, budget=budget, settings=settings, name="episode"
            )
            yield Playing(gateway, session, client)
            await session.close()

    return opened
