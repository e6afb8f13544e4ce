from gem_processes import *
