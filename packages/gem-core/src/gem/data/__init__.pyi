from gem.data.generated import GeneratedRows as GeneratedRows
from gem.data.permutation import Permutation as Permutation
from gem.data.question import Grade as Grade
from gem.data.question import OraclePolicy as OraclePolicy
from gem.data.question import QuestionEnv as QuestionEnv
from gem.data.rows import open_rows as open_rows
from gem.data.stream import RowStream as RowStream
from gem.data.tables import Rows as Rows
