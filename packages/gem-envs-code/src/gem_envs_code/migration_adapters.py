"""The original GEM's code environment; only :mod:`gem.migration` refers to this module."""

from __future__ import annotations

from gem.migration_adapters import TakesOldArguments
from gem_envs_code import code_env

__all__ = ["CodeEnv"]


class CodeEnv(TakesOldArguments, code_env.CodeEnv):
    """The original's environment, with the method that its subclasses call."""

    def _check_correct(self, model_code: str) -> bool:
        """Return whether a program passes the tests of this episode's problem."""
        return self.judge(model_code, self._suite_of(self.row)).accepted
