"""The version of a policy's weights that sampled each token: :func:`token_versions`."""

from __future__ import annotations

from collections.abc import Sequence

from gem.errors import TrajectoryError

__all__ = ["Version", "token_versions"]

Version = int | str | None


def token_versions(version: Version, spans: Sequence[Sequence[int | str]] | None, count: int) -> list[Version]:
    """Return the version of each of an answer's tokens.

    Args:
        version: of all of them, where there are no spans; None if it is not known.
        spans: the versions in order, each with how many tokens it sampled, as in :class:`gem.policies.Act`.
        count: of the tokens.

    Raises:
        TrajectoryError: if the spans are no such pairs, or of more or fewer tokens.
    """
    if spans is None:
        return [version] * count
    found: list[Version] = []
    for span in spans:
        name, number = span if isinstance(span, (list, tuple)) and len(span) == 2 else (None, None)
        if type(name) not in (int, str) or type(number) is not int or not 0 <= number <= count:
            raise TrajectoryError(f"version_spans must be pairs of a version and a number of tokens, got {span!r:.80}")
        found += [name] * number
    if len(found) != count:
        raise TrajectoryError(f"version_spans are of {len(found)} tokens, and {count} were sampled")
    return found
