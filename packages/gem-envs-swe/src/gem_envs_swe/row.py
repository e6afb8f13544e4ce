"""One task of software engineering: :class:`SweRow`, with the columns of SWE-bench and those of made tasks.

Column names are those of the published sets (SWE-bench, SWE-Gym, SWE-smith, R2E-Gym, SWE-rebench), so that a made set
is read by their tools, and their rows by ours.
"""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict, Field

__all__ = ["KINDS", "SweRow"]

KINDS = ("bug", "feature", "refactor", "regression", "api-change", "performance", "tests")
"""What the agent is asked for in a made task: to mend a bug, to write a function that is gone, to change code under its
tests, to mend what several changes broke together, to move callers to a new interface, to make code quicker, to write
tests."""


class SweRow(BaseModel):
    """A task: a repository in a state in which some tests fail, a statement of what is wrong, and the proof."""

    model_config = ConfigDict(frozen=True, extra="ignore")

    instance_id: str
    repo: str
    """``owner/name`` of a published row; the name of the package of a made one."""
    base_commit: str = ""
    """The commit that the agent begins at; of a made task the digest of its tree."""
    version: str = ""
    problem_statement: str
    patch: str
    """The solution, as a unified diff against the tree that the agent begins with."""
    test_patch: str = ""
    """The hidden tests, as a unified diff against that tree; they are applied for the verdict alone."""
    FAIL_TO_PASS: tuple[str, ...]
    """Tests that fail before the solution and pass with it."""
    PASS_TO_PASS: tuple[str, ...] = ()
    """Tests that pass before and with it."""

    kind: str = ""
    """One of :data:`KINDS`; empty for published rows."""
    level: int = Field(default=1, ge=1, le=5)
    seed: int = 0
    break_patch: str = ""
    """Of a made task: the diff from the package's own tree to the one that the agent begins with."""
