"""Programs that forge: no id in a row that was not sampled or shown, and none from a call that is not continued."""

from __future__ import annotations

import asyncio

import pytest
from difficult_programs import PairCodec
from forgeries import FORGERIES
from hostile_programs import HostileProgram
from test_lineages import TEMPLATES, check

from gem_eval.clients.base import Message

NAMING = TEMPLATES["growing"].replace("<|{{ message.role }}|>", "<|{{ message.role }}|>{{ message.tool_call_id }}")
"""Shows the id of the call that a result is of, as Mistral's templates do."""


@pytest.mark.parametrize(
    "template",
    [
        NAMING,
        *(pytest.param(TEMPLATES[name], marks=pytest.mark.nightly) for name in ("growing", "trimming", "forgetful")),
    ],
    ids=["naming", "growing", "trimming", "forgetful"],
)
@pytest.mark.parametrize("exact", [True, False], ids=["exact", "rendered by the server"])
@pytest.mark.parametrize("name", FORGERIES)
def test_a_forged_conversation_continues_nothing(name: str, exact: bool, template: str) -> None:
    """Each request that is forged begins a lineage; each that truly continues a call does so, before and after."""
    codec = PairCodec(template)
    own, other = HostileProgram(codec, exact=exact), HostileProgram(codec, exact=exact)
    asyncio.run(FORGERIES[name](own, other))
    for program in (own, other):
        tree = program.recorder.tree
        check(program, program.model, tree)  # type: ignore[arg-type]
        for index, (call, true) in enumerate(zip(tree.calls, program.truth, strict=True)):
            expected = None if index in program.unmatched else true
            assert (index, call.parent) == (index, expected), call.began
            assert call.exact or call.parent is None or not exact
            assert written(tree.messages(index)) == written(program.sent[index])


def written(talk: list[Message]) -> list[tuple[str, object]]:
    """Return who wrote each message of a conversation, and what a program wrote, whatever it calls the calls."""
    return [(one["role"], None if one["role"] == "assistant" else one["content"]) for one in talk]
