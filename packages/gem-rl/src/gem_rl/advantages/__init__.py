"""Advantages: how much better a turn was than expected, by the estimators of the field.

Each function takes a :class:`gem_rl.TurnBatch` and returns a float64 array with a value for each turn, ``(N,)``. Turns
of invalid episodes get 0. So do all turns of a batch or group of constant return: it teaches nothing, and rounding
errors divided by a tiny standard deviation would otherwise move the weights.
"""
