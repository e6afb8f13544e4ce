"""Mathematics for language-model agents: word problems, algebra, drawn geometry, published data sets, and a grader."""

from __future__ import annotations

from gem.lazy import loaded_on_use

TYPE_CHECKING = False
if TYPE_CHECKING:
    from gem_envs_math.algebra import AlgebraEnv
    from gem_envs_math.arithmetic import ArithmeticEnv
    from gem_envs_math.geometry import GeometryEnv
    from gem_envs_math.math_env import MathEnv
    from gem_envs_math.math_visual_env import MathVisualEnv
    from gem_envs_math.word_problems import WordProblemsEnv

__all__ = ["AlgebraEnv", "ArithmeticEnv", "GeometryEnv", "MathEnv", "MathVisualEnv", "WordProblemsEnv"]

__version__ = "0.1.0"

_HOMES = {
    "AlgebraEnv": "gem_envs_math.algebra",
    "ArithmeticEnv": "gem_envs_math.arithmetic",
    "GeometryEnv": "gem_envs_math.geometry",
    "MathEnv": "gem_envs_math.math_env",
    "MathVisualEnv": "gem_envs_math.math_visual_env",
    "WordProblemsEnv": "gem_envs_math.word_problems",
}

__getattr__, __dir__ = loaded_on_use(globals(), _HOMES)
