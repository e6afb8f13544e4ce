from gem_questions.generated import GeneratedRows as GeneratedRows
from gem_questions.pass_rates import PassRate as PassRate
from gem_questions.pass_rates import PassRateLog as PassRateLog
from gem_questions.pass_rates import learnability as learnability
from gem_questions.permutation import Permutation as Permutation
from gem_questions.question import Grade as Grade
from gem_questions.question import OraclePolicy as OraclePolicy
from gem_questions.question import QuestionEnv as QuestionEnv
from gem_questions.rows import open_dataset as open_dataset
from gem_questions.rows import open_rows as open_rows
from gem_questions.stream import RowStream as RowStream
from gem_questions.tables import Rows as Rows

__version__: str
