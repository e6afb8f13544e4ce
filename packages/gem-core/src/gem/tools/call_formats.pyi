from gem_tools.call_formats import *
