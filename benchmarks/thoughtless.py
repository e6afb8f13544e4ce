"""What can be earned without thought: constants, copies and numbers of the question, in every environment of one turn.

    python benchmarks/thoughtless.py math qa logic code rg --questions 1000

Prints a line for each environment that needs nothing outside its package: the declared limit, what the best rule earns
of the highest reward, that rule, and what the best constant answer of each kind earns; gem.thoughtless has the rules.
The conformance kit holds every environment to its limit on a small sample; this measures what the manifests declare.
"""

from __future__ import annotations

import argparse
import math

import gem
from gem.registry import all_specs
from gem_questions.thoughtless import THOUGHTLESS_SHARE, thoughtless_shares


def main() -> None:
    """Measure the environments of the given namespaces."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("namespaces", nargs="+")
    parser.add_argument("--questions", type=int, default=1000)
    parser.add_argument("--seconds", type=float, default=math.inf, help="for the questions of each environment")
    wanted = parser.parse_args()
    print(f"{'environment':36} {'limit':>6} {'share':>6} {'constant':>8} {'questions':>9}  best rule")
    for spec in all_specs():
        if spec.namespace not in wanted.namespaces or spec.turns != "single" or spec.requires:
            continue
        if spec.reference_policy is None:
            continue
        with gem.make(spec) as env:
            found = thoughtless_shares(env, questions=wanted.questions, seconds=wanted.seconds)
        limit = THOUGHTLESS_SHARE if spec.thoughtless_share is None else spec.thoughtless_share
        constant = found.shares["constant"]
        figures = f"{limit:6.2f} {found.share:6.3f} {constant:8.3f} {found.questions:9}"
        print(f"{spec.id:36} {figures}  {found.rule}", flush=True)


if __name__ == "__main__":
    main()
