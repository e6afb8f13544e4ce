"""The JSON of which digests are made is that of Python's own encoder, whoever writes it."""

from __future__ import annotations

import json
import math
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from gem_rollout.lineages import sorted_json
from gem_rollout.lineages.sorted_json import sorted_json as written

FLOATS = st.one_of(
    st.floats(allow_nan=False, allow_infinity=False),
    st.floats(-1e-3, 1e-3),
    st.builds(math.ldexp, st.floats(-1, 1), st.integers(-60, 70)),
)
TEXTS = st.one_of(st.text(), st.text('ab-e1.0\x7f\u2028é\ud800"\\\n\x01'))
VALUES: st.SearchStrategy[Any] = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), st.integers(-(2**70), 2**70), FLOATS, TEXTS),
    lambda inner: st.one_of(st.lists(inner, max_size=4), st.dictionaries(TEXTS, inner, max_size=4)),
    max_leaves=8,
)
RECORDS = st.dictionaries(
    st.one_of(st.sampled_from(["added_ids", "logprobs", "messages", "usage"]), TEXTS), VALUES, max_size=4
)


@given(RECORDS)
@example({"logprobs": [-0.1, -1e-05, 0.0], "messages": [{"role": "user", "content": "1e-5, x\x7f"}], "answer": {}})
@example({"seconds": 0.00005})
@example({"seconds": 1.5e-07})
@example({"seconds": 1e22})
@example({"logprobs": [5e-324, 1e16], "added_ids": []})
def test_it_is_python_s_own_to_the_letter(record: dict[str, Any]) -> None:
    """Floats of every size, texts that need escapes or are no UTF-8, numbers beyond 64 bits, keys in any order."""
    assert written(record) == json.dumps(record, sort_keys=True, separators=(",", ":"))


def test_most_records_are_written_by_the_fast_encoder(monkeypatch: pytest.MonkeyPatch) -> None:
    """Text with hyphens and numbers is no reason to do without it."""
    pytest.importorskip("orjson")

    class Refused:
        def encode(self, value: Any) -> str:
            raise AssertionError(value)

    monkeypatch.setattr(sorted_json, "_ENCODER", Refused())
    messages = [{"role": "user", "content": "Re-read line-by-line: version 1.0 - 2026-11-30, e-mail."}]
    record = {"messages": messages, "logprobs": [-0.25, 0.0], "seconds": 0.015, "token_ids": [1, 2], "turn": 0}
    assert written(record) == json.dumps(record, sort_keys=True, separators=(",", ":"))
