from __future__ import annotations

import pytest
from mutate_wheels import examined


@pytest.mark.parametrize("count", [300, pytest.param(500_000, marks=pytest.mark.nightly)])
def test_every_mutant_of_a_wheel_gets_a_right_answer(count: int) -> None:
    """The gate answers each with printable reasons, or lets it pass with files that others read alike."""
    result = examined(count, 17)
    assert result["wrong"] == []
    assert result["answers"]["passed"] >= count // 200
    assert len(result["answers"]) >= 20
