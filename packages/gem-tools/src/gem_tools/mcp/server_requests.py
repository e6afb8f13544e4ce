"""Requests of a server to this client, while it works on others: :class:`ServerRequests`."""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import TYPE_CHECKING, Any, TypeVar

import anyio
import mcp_types

from gem_tools.mcp.pending import PendingRequest
from gem_tools.mcp.results import chat_messages
from gem_tools.mcp.sampled_model import BudgetSpentError, SamplingRequest
from gem_tools.mcp.simulated_user import Elicitation

if TYPE_CHECKING:
    from mcp.client.session import ClientRequestContext

    from gem_tools.mcp.session_group import SessionGroup

__all__ = ["ServerRequests"]

T = TypeVar("T")

_MOST = 10
"""The largest number of questions to the user, and of completions, during one request."""
_MOST_ANSWERERS = 8
"""The largest number of threads in which the user and the model of one session think."""
_LONGEST_MESSAGE = 1 << 20
"""The number of characters of a message that a model sees."""
_MOST_STOPS = 16
"""The number of texts that may stop an answer; others are ignored."""
_REFUSED = -1
"""The code of the protocol for a completion that the user of the client has refused."""


class ServerRequests:
    """Answers a server's questions to the user and its requests for completions.

    Any of the requests in progress may have led to one; it counts for all of them.

    Args:
        server: the server's name.
        group: has the user and the model; None for neither.
        pending: the requests in progress.
        end: ends the session.
    """

    def __init__(
        self, server: str, group: SessionGroup | None, pending: Collection[PendingRequest], end: Callable[[], None]
    ) -> None:
        self.user = None if group is None else group.user
        self.model = None if group is None else group.model
        self._server = server
        self._pending = pending
        self._end = end
        self._answerers = anyio.CapacityLimiter(_MOST_ANSWERERS)

    async def question(
        self, context: ClientRequestContext, params: mcp_types.ElicitRequestParams
    ) -> mcp_types.ElicitResult | mcp_types.ErrorData:
        """Answer a question to the user."""
        assert self.user is not None
        waiting = list(self._pending)
        refusal = self._counted("questions", "asked its user more than", waiting)
        if refusal is not None:
            return refusal
        if isinstance(params, mcp_types.ElicitRequestFormParams):
            asked = Elicitation(self._server, params.message, params.requested_schema)
        else:
            asked = Elicitation(self._server, params.message, None, params.url)
        try:
            fields = await self._thought(self.user.answer, asked, waiting)
        except TimeoutError:
            return mcp_types.ElicitResult(action="cancel")
        except Exception as error:
            self._give_up(f"asked its user, who failed: {type(error).__name__}: {str(error)[:500]}", waiting)
            return mcp_types.ElicitResult(action="decline")
        if fields is None:
            return mcp_types.ElicitResult(action="decline")
        return mcp_types.ElicitResult(action="accept", content=None if asked.schema is None else dict(fields))

    async def completion(
        self, context: ClientRequestContext, params: mcp_types.CreateMessageRequestParams
    ) -> mcp_types.CreateMessageResult | mcp_types.ErrorData:
        """Let the model complete messages."""
        assert self.model is not None
        waiting = list(self._pending)
        refusal = self._counted("completions", "asked for more than", waiting)
        if refusal is not None:
            return refusal
        if params.tools or params.tool_choice is not None:
            return _refused("this client's model calls no tools of servers")
        if params.max_tokens < 1:
            return _refused(f"maxTokens must be at least 1, got {params.max_tokens}")
        try:
            answer = await self._thought(self.model.complete, self._request(params), waiting)
        except TimeoutError:
            return _refused("the model took too long")
        except BudgetSpentError as error:
            return _refused(str(error))
        except Exception as error:
            self._give_up(f"asked the model, which failed: {type(error).__name__}: {str(error)[:500]}", waiting)
            return _refused("the model failed")
        if answer is None:
            return mcp_types.ErrorData(code=_REFUSED, message="the client refuses this completion")
        content = mcp_types.TextContent(type="text", text=answer)
        return mcp_types.CreateMessageResult(role="assistant", content=content, model="model", stop_reason="endTurn")

    def _request(self, params: mcp_types.CreateMessageRequestParams) -> SamplingRequest:
        assert self.model is not None
        blocks = [(message.role, message.content_as_list) for message in params.messages]
        messages = chat_messages(blocks, _LONGEST_MESSAGE)
        if params.system_prompt:
            messages.insert(0, {"role": "system", "content": params.system_prompt[:_LONGEST_MESSAGE]})
        most = min(params.max_tokens, self.model.budget.max_tokens)
        stop = tuple((params.stop_sequences or ())[:_MOST_STOPS])
        size = len(str([message["content"] for message in messages]))
        return SamplingRequest(self._server, messages, most, params.temperature, stop, size)

    def _counted(self, what: str, does: str, waiting: Collection[PendingRequest]) -> mcp_types.ErrorData | None:
        """Count a request for all that wait; return why it is refused, with the end of a session that does not stop."""
        if not waiting:
            return _refused("no request is in progress")
        for pending in waiting:
            pending.asked[what] += 1
            pending.extend()
        if all(pending.asked[what] <= _MOST * len(waiting) for pending in waiting):
            return None
        self._give_up(f"{does} {_MOST} {what} during one request", waiting)
        self._end()
        return _refused(f"too many {what}")

    async def _thought(self, work: Callable[[Any], T], asked: object, waiting: Collection[PendingRequest]) -> T:
        """Return what work returns in a thread.

        Raises:
            TimeoutError: if the time of the requests that wait for it is over.
            Exception: what the work raises.
        """
        with anyio.CancelScope(deadline=max(pending.scope.deadline for pending in waiting)) as scope:
            answer = await anyio.to_thread.run_sync(work, asked, abandon_on_cancel=True, limiter=self._answerers)
        if scope.cancelled_caught:
            raise TimeoutError
        for pending in waiting:
            pending.extend()
        return answer

    def _give_up(self, fault: str, waiting: Collection[PendingRequest]) -> None:
        for pending in waiting:
            pending.give_up(fault)


def _refused(why: str) -> mcp_types.ErrorData:
    return mcp_types.ErrorData(code=mcp_types.INVALID_REQUEST, message=why)
