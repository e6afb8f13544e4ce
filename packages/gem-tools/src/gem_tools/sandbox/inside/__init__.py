"""Modules of the other side: of the fork servers and of the processes that execute code.

A bare interpreter loads these modules (:func:`gem_processes.fork_server.bare_python`), so they import the standard
library, each other, and modules of :mod:`gem_processes` that do the same.
"""
