from gem_eval.runs.episode_row import EpisodeRow as EpisodeRow
from gem_eval.runs.episode_row import Prices as Prices
from gem_eval.runs.errors import ConfigChangedError as ConfigChangedError
from gem_eval.runs.errors import EvaluationConfigError as EvaluationConfigError
from gem_eval.runs.errors import RunFolderError as RunFolderError
from gem_eval.runs.errors import RunInUseError as RunInUseError
from gem_eval.runs.evaluation import evaluate as evaluate
from gem_eval.runs.evaluation import evaluate_sync as evaluate_sync
from gem_eval.runs.evaluation_config import EvaluationConfig as EvaluationConfig
from gem_eval.runs.evaluation_config import EvaluationEnvironment as EvaluationEnvironment
from gem_eval.runs.folder import RunFolder as RunFolder
from gem_eval.runs.progress import EvaluationProgress as EvaluationProgress
from gem_eval.runs.run_config import RunConfig as RunConfig
from gem_eval.runs.run_config import RunEnvironment as RunEnvironment
from gem_eval.runs.validation import EnvironmentValidation as EnvironmentValidation
from gem_eval.runs.validation import validate as validate
from gem_eval.statistics.run_comparison import compare_runs as compare_runs
from gem_eval.statistics.run_summary import summarize_run as summarize_run

__version__: str
