"""The conformance kit on a data set of each kind of scorer; ``gem check rg`` runs it on all."""

from __future__ import annotations

from gem.testing import EnvConformance


class TestConformance(EnvConformance):
    """Inherited, text, one number, cells; in the worker: literal, arithmetic, formula, moves, JSON; several."""

    environments = (
        "rg:arc_1d",
        "rg:word_ladder",
        "rg:chain_sum",
        "rg:mini_sudoku",
        "rg:n_queens",
        "rg:countdown",
        "rg:simple_integration",
        "rg:rush_hour",
        "rg:codeio",
        "rg:composite",
    )
