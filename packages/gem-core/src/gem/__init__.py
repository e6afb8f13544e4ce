r"""GEM, the General Experience Maker: environments for language-model agents.

::

    import gem

    env = gem.make("game:Sudoku-v0-easy")
    observation, info = env.reset(seed=7)
    observation, reward, terminated, truncated, info = env.step("\\boxed{1 2 3}")

Everything here loads on first use (PEP 562); importing ``gem`` costs next to nothing.
"""

from gem import migration
from gem.lazy import loaded_on_use

__version__ = "0.1.0"

__getattr__, __dir__ = loaded_on_use(globals())

migration.install()
