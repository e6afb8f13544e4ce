"""The reference policies of environments in a model's place, for conversations and for agent programs."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from gem.core import Action
from gem.entry_points import load
from gem.errors import NotSupportedError
from gem_eval.fake_model.conversation import observations, text_of
from gem_eval.fake_model.model_request import ModelAnswer, ModelRequest, SampledCall, UnusableRequest

if TYPE_CHECKING:
    from collections.abc import Callable

    from gem.env_spec import EnvSpec

__all__ = ["EPISODE_OVER", "offered_tool", "reference_answers"]

EPISODE_OVER = "The episode is over."
"""How the last result begins that an agent program gets of its episode."""
_ACT = "act"
"""The tool of an agent program that takes an action as text."""
_SHOWN = 100
"""Characters of an error that a refusal holds."""


def reference_answers(specs: Sequence[EnvSpec]) -> Callable[[ModelRequest], ModelAnswer | Action]:
    """Return the function that answers with the next action of the environments' reference policies.

    Of several policies, the first answers that can read the conversation. Where the request offers the tool by which
    an agent program takes a turn, the action is a call of it.

    Raises:
        NotSupportedError: if an environment has no reference policy that plays from observations.
    """
    makers = {spec.id: _maker(spec) for spec in specs}

    def answer(request: ModelRequest) -> ModelAnswer | Action:
        seen = observations(request.messages)
        if not seen:
            raise UnusableRequest("the conversation holds no message of the user")
        act = offered_tool(_ACT, _names(request.tools))
        if act is not None and EPISODE_OVER in text_of(seen[-1]):
            return "Done."
        action = _first_action(makers, seen)
        if act is None or not isinstance(action, str):
            return action
        return ModelAnswer(None, tool_calls=[SampledCall(act, json.dumps({"action": action}))])

    return answer


def offered_tool(wanted: str, names: Sequence[str]) -> str | None:
    """Return an agent program's name for a tool of its episode, with a prefix if one has it; None if it offers none."""
    prefixed = [name for name in names if re.fullmatch(rf"(mcp_+)?gem_+{re.escape(wanted)}", name)]
    return next(iter(prefixed), wanted if wanted in names else None)


def _maker(spec: EnvSpec) -> Callable[[], Any]:
    if spec.reference_policy is None or spec.reference_sees != "observation":
        lack = "has no reference policy" if spec.reference_policy is None else "plays from the state, not from messages"
        raise NotSupportedError(f"the reference policy of {spec.id} cannot answer as a model: it {lack}")
    made: Callable[[], Any] = load(spec.reference_policy)
    return made


def _names(tools: Sequence[Any]) -> list[str]:
    functions = (tool.get("function") for tool in tools if isinstance(tool, Mapping))
    return [str(function.get("name")) for function in functions if isinstance(function, Mapping)]


def _first_action(makers: Mapping[str, Callable[[], Any]], seen: Sequence[Any]) -> Action:
    failures = []
    for name, make in makers.items():
        policy = make()
        try:
            policy.reset(seen[0], {})
            for observation in seen:
                action: Action = policy.act(observation, {})
        except Exception as error:
            said = " ".join(str(error).split())
            failures.append(f"{name} ({type(error).__name__}{f': {said[:_SHOWN]}' if said else ''})")
        else:
            return action
    raise UnusableRequest(
        f"the conversation is none that --policy names: its reference policy cannot play {', nor '.join(failures)}; "
        "several environments are named as in --policy ID,ID"
    )
