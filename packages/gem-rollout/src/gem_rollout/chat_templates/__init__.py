"""Chat templates as files, and what a stack of wrappers makes of them: the library behind ``gem check-template``."""
