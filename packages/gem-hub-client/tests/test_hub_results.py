"""Results in the client alone: without gem-eval it says what is missing, and signatures need no library to verify."""

from __future__ import annotations

import pytest

from gem_hub_client.errors import HubError
from gem_hub_client.optional import load_optional
from gem_hub_client.results.envelope import open_envelope
from gem_hub_client.results.record import ResultError


def test_a_distribution_that_is_missing_is_named() -> None:
    """Whoever lacks gem-eval learns which line installs it, and no traceback."""
    with pytest.raises(HubError, match="comparing results needs gem-eval; run: pip install gem-eval"):
        load_optional("no_such_distribution.results:leaderboards", "gem-eval", "comparing results")
    assert load_optional("gem_hub_client.names:is_name", "gem-hub-client", "a test")("a-name")


def test_a_fault_inside_a_distribution_is_not_its_absence() -> None:
    """What is installed and lacks something itself is not called missing."""
    with pytest.raises(AttributeError):
        load_optional("gem_hub_client.names:no_such_name", "gem-hub-client", "a test")


@pytest.mark.parametrize("envelope", [None, 7, [], {}, {"payload": None}, {"payload": "é"}, {"payload": "e30"}])
def test_what_is_no_envelope_is_refused(envelope: object) -> None:
    """Any JSON value may come from a hub."""
    with pytest.raises(ResultError, match=r"no (envelope|result)"):
        open_envelope(envelope)
