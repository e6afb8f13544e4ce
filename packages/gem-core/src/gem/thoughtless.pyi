from gem_questions.thoughtless import *
