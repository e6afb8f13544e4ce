from gem_envs_swe.env import SweEnv as SweEnv
from gem_envs_swe.published.grading import RowVerdict as RowVerdict
from gem_envs_swe.published.grading import grade_log as grade_log
from gem_envs_swe.published.published_row import PublishedRow as PublishedRow
from gem_envs_swe.published.shapes import read_published as read_published
from gem_envs_swe.row import SweRow as SweRow

__version__: str
