from gem_envs_math.algebra import AlgebraEnv as AlgebraEnv
from gem_envs_math.arithmetic import ArithmeticEnv as ArithmeticEnv
from gem_envs_math.geometry import GeometryEnv as GeometryEnv
from gem_envs_math.math_env import MathEnv as MathEnv
from gem_envs_math.math_visual_env import MathVisualEnv as MathVisualEnv
from gem_envs_math.word_problems import WordProblemsEnv as WordProblemsEnv

__version__: str
