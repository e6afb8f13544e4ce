"""The manifest is valid.

This clause has a module of its own because an exemption may name any clause, so it must know all of them.
"""

from __future__ import annotations

from gem.arguments import nearest
from gem.discovery.manifest import parse
from gem.errors import ManifestError
from gem_testing.attacks.families import FAMILIES
from gem_testing.clause import MANIFEST, clauses_of
from gem_testing.clauses import contract, determinism, hostile, info, manifest, residue, reward, speed, state
from gem_testing.env_under_test import EnvUnderTest
from gem_testing.outcomes import Violation
from gem_testing.vocabulary import problem_of_tag

__all__ = ["CLAUSES"]


def schema(under_test: EnvUnderTest) -> None:
    """The manifest is valid to the last key, exempts from clauses that exist, and uses tags of the vocabulary."""
    from gem.discovery.manifest_schema import validate

    assert under_test.manifest is not None  # the clause needs it
    try:
        validate(parse(under_test.manifest), under_test.manifest)
    except ManifestError as error:
        raise Violation(str(error)) from error
    for name in under_test.exemptions:
        if name not in _NAMES:
            hint = nearest(name, _NAMES)
            raise Violation(
                f"exempt names {name!r}, which is neither a clause nor a family of attacks"
                + (f"; did you mean {hint!r}?" if hint else "; remove it")
            )
    for tag in under_test.spec.tags:
        problem = problem_of_tag(tag)
        if problem:
            raise Violation(f"the tag {tag!r} {problem}")


CLAUSES = clauses_of("manifest", schema, plays=False, needs=(MANIFEST,))

_OTHERS = (contract, info, determinism, state, residue, hostile, speed, manifest, reward)
_NAMES = [
    *(clause.name for group in _OTHERS for clause in group.CLAUSES),
    *(clause.name for clause in CLAUSES),
    *(f"attacks.{family}" for family in FAMILIES),
]
