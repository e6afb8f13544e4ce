"""School algebra with answers in LaTeX: ``math:Algebra-v0``.

If a question contains an expression that equals the answer (an expansion, a root to simplify), it asks for a result
that a repetition of the question does not give: a coefficient, a pair of numbers, a value.
"""

from __future__ import annotations

from gem_envs_math.algebra.counting import (
    arithmetic_sequence,
    balls,
    binomial_coefficient,
    committee,
    congruence,
    dice,
    geometric_sequence,
    geometric_series,
    inverse_modulo,
    lattice_paths,
    letters,
    multiples,
    recursion,
    two_congruences,
)
from gem_envs_math.algebra.equations import (
    absolute_value,
    cubic,
    exponential,
    linear_equation,
    linear_inequality,
    logarithmic,
    nonlinear_system,
    quadratic,
    quadratic_inequality,
    radical,
    rational,
    system_of_three,
    system_of_two,
    vieta,
)
from gem_envs_math.algebra.expressions import (
    complex_division,
    complex_power,
    complex_product,
    composition,
    distance_surd,
    division,
    evaluate,
    expand,
    factor,
    function_values,
    inverse,
    log_value,
    radical_product,
    radical_sum,
    rationalise,
    remainder_theorem,
    vertex,
)
from gem_envs_math.generated import GeneratedEnv
from gem_envs_math.problem import Kinds

__all__ = ["KINDS", "AlgebraEnv"]

KINDS: Kinds = {
    "easy": (
        linear_equation, linear_inequality, evaluate, expand, composition, arithmetic_sequence, system_of_two,
        distance_surd, multiples,
    ),
    "medium": (
        quadratic, rational, absolute_value, factor, division, vertex, radical_sum, radical_product, exponential,
        log_value, complex_product, geometric_sequence, recursion, letters, dice, congruence, function_values, inverse,
    ),
    "hard": (
        system_of_three, quadratic_inequality, vieta, cubic, nonlinear_system, radical, logarithmic, rationalise,
        remainder_theorem, complex_division, complex_power, geometric_series, two_congruences, inverse_modulo,
        committee, binomial_coefficient, lattice_paths, balls,
    ),
}  # fmt: skip


class AlgebraEnv(GeneratedEnv):
    """Algebra problems; the arguments are those of :class:`gem_envs_math.generated.GeneratedEnv`."""

    name = "Algebra"
    kinds = KINDS
