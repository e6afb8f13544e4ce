from gem_questions import *
