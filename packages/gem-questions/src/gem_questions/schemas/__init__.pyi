from gem_questions.schemas.content import KINDS as KINDS
from gem_questions.schemas.content import Kind as Kind
from gem_questions.schemas.content import RowContent as RowContent
from gem_questions.schemas.content import RowSchema as RowSchema
from gem_questions.schemas.golds import math_gold as math_gold
from gem_questions.schemas.golds import qa_golds as qa_golds
from gem_questions.schemas.recognition import read_row as read_row
from gem_questions.schemas.recognition import recognise as recognise
