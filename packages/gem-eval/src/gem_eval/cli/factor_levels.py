"""What ``gem compare --factor`` ascribes the difference of two runs to: :class:`FactorLevels`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from gem.errors import ArgumentError

if TYPE_CHECKING:
    from gem_eval.runs import RunConfig
    from gem_eval.runs.run_differences import Factor
    from gem_eval.statistics import ComparedMeans, RunComparison

__all__ = ["FactorLevels"]


@dataclass(frozen=True)
class FactorLevels:
    """The two levels of a factor, such as the names of two harnesses, in which alone two runs differ."""

    factor: Factor
    a: str
    b: str
    model: str

    @classmethod
    def of(cls, a: RunConfig, b: RunConfig, factor: Factor) -> FactorLevels:
        """Return the levels of two runs.

        Raises:
            ArgumentError: if a run has no level, both have the same, or they differ in something else as well.
        """
        from gem_eval.runs.run_differences import besides_factor

        for letter, run in (("A", a), ("B", b)):
            if run.harness is None:
                raise ArgumentError(
                    f"--factor {factor} needs two runs in which agent programs played, and in {letter} {run.agent!r} "
                    "played without one; play it with 'gem eval --harness NAME', or leave out --factor"
                )
        if a.harness == b.harness:
            raise ArgumentError(
                f"--factor {factor} needs two harnesses, and both runs were played with {a.harness!r}; leave it out"
            )
        if besides := besides_factor(a, b, factor):
            raise ArgumentError(
                f"--factor {factor} needs runs that differ in nothing else, but {'; '.join(besides)}. Play one of them "
                "again with the settings of the other, or leave out --factor"
            )
        return cls(factor, str(a.harness), str(b.harness), a.model or a.served_model or "(not named)")

    def check_pairs(self, comparison: RunComparison) -> None:
        """Check that the runs can be compared task by task in every environment that both have.

        Raises:
            ArgumentError: if they cannot.
        """
        if not comparison.environments:
            raise ArgumentError(f"--factor {self.factor} needs an environment that both runs played; there is none")
        for item in comparison.environments:
            if item.result is not None and not item.result.paired:
                raise ArgumentError(
                    f"--factor {self.factor} needs two tasks of {item.env!r} that both runs played, and there are "
                    f"{item.result.common}; give both runs the same --seed"
                )

    def in_words(self, result: ComparedMeans, metric: str) -> str:
        """Return a difference as a sentence about the two levels."""
        from gem_eval.statistics import factor_in_words

        return factor_in_words(result, metric, self.a, self.b, self.model)

    def to_dict(self, comparison: RunComparison) -> dict[str, Any]:
        """Return a JSON-serialisable dict with a sentence for each environment, and one for all of them."""
        each = [item.result and self.in_words(item.result, item.metric) for item in comparison.environments]
        overall = comparison.overall and self.in_words(comparison.overall, "success")
        return {"name": self.factor, "a": self.a, "b": self.b, "model": self.model, "words": each, "overall": overall}
