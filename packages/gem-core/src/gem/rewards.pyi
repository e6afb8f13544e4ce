from gem_questions.rewards import *
