"""Statistics of evaluations: intervals that respect groups, pass@k and pass^k, paired comparison, summaries of runs.

A group is all episodes of one seed. Seeds are drawn independently, episodes of one seed are not: they share the task.
So the group is the unit of every interval and test here, and every mean weighs each group the same.
"""

from gem.lazy import loaded_on_use

__getattr__, __dir__ = loaded_on_use(globals())
