"""Executing text like a Python script: as ``__main__``, with tracebacks that show only its own lines."""

from __future__ import annotations

import atexit
import builtins
import gc
import io
import linecache
import os
import sys
import threading
import traceback
import types

from gem_tools.sandbox.inside import notebook

__all__ = ["connect_streams", "execute", "finish", "flush", "new_main", "read_program"]

_STREAMS = (("stdin", "surrogateescape"), ("stdout", "surrogateescape"), ("stderr", "backslashreplace"))
_OWN_FILES = (__file__, notebook.__file__)
_FAILED_FLUSH = 120  # the exit code of the interpreter itself
_FILE = "program.py"
_USES_OF_THE_FILE = ("__file__", "multiprocessing", "concurrent", "runpy")
"""With one of these words a program may read its own file, or have another interpreter read it."""


def read_program(descriptor: int) -> tuple[str, str]:
    """Read the prelude and the code from a descriptor: the length of the prelude in 4 bytes, then both texts."""
    size = os.fstat(descriptor).st_size
    data = b""
    while len(data) < size:
        data += os.pread(descriptor, size - len(data), len(data))  # several executions may share the descriptor
    os.close(descriptor)
    end = 4 + int.from_bytes(data[:4], "little")
    return data[4:end].decode("utf-8", "surrogatepass"), data[end:].decode("utf-8", "surrogatepass")


def connect_streams() -> None:
    """Open Python's standard streams on the descriptors 0, 1 and 2."""
    for descriptor, (name, errors) in enumerate(_STREAMS):
        stream = _stream(descriptor, name, errors)
        setattr(sys, name, stream)
        setattr(sys, f"__{name}__", stream)


def _stream(descriptor: int, name: str, errors: str) -> io.TextIOWrapper:
    raw = io.FileIO(descriptor, "w" if descriptor else "r", closefd=False)
    raw.name = f"<{name}>"
    buffer = io.BufferedWriter(raw) if descriptor else io.BufferedReader(raw)
    return io.TextIOWrapper(buffer, "utf-8", errors, line_buffering=name == "stderr")


def new_main(code: str | None = None) -> types.ModuleType:
    """Install a fresh ``__main__`` and return it.

    Args:
        code: that of a whole program, which then has a file in the current folder, if it can notice.
    """
    main = types.ModuleType("__main__")
    vars(main)["__builtins__"] = builtins
    if code is not None:
        main.__file__ = os.path.join(os.getcwd(), _FILE)
        if any(word in code for word in _USES_OF_THE_FILE):
            with open(main.__file__, "w", encoding="utf-8", errors="surrogatepass") as file:
                file.write(code)
    sys.modules["__main__"] = main
    return main


def execute(main: types.ModuleType, prelude: str, code: str, name: str) -> int:
    """Execute code in a module and return its exit code.

    An error prints a traceback with the code's own frames only. The first line of the prelude may hold options; see
    :mod:`.notebook`.
    """
    options, prelude = notebook.split_options(prelude)
    linecache.cache[name] = (len(code), None, code.splitlines(keepends=True), name)
    try:
        if prelude:
            exec(compile(prelude, "<prelude>", "exec", dont_inherit=True), main.__dict__)  # noqa: S102 - its purpose
        notebook.execute(main, code, name, options)
    except SystemExit as error:
        return _exit_code(error.code)
    except BaseException as error:
        _report(error)
        return 1
    finally:
        if notebook.FIGURES in options:
            flush()
            notebook.print_figures()
    return 0


def finish(main: types.ModuleType | None = None) -> int:
    """Finish the script like the interpreter does; return 0, or an exit code after an error.

    Args:
        main: the module whose objects are finalized.
    """
    exit_code = 0
    try:
        threading._shutdown()  # type: ignore[attr-defined]
        atexit._run_exitfuncs()
        exit_code = flush()
        if main is not None:
            _finalize(main)
    except BaseException as error:
        _report(error)
    return flush() or exit_code


def _finalize(main: types.ModuleType) -> None:
    """Let go of all objects of a module, in the order of the interpreter: names with one underscore go first."""
    names = vars(main)
    has_finalizers = any(isinstance(value, type) and "__del__" in vars(value) for value in names.values())
    for is_private in (True, False):
        for name in list(names):
            if name != "__builtins__" and (name[:1] == "_" != name[1:2]) is is_private:
                names[name] = None
    sys.modules.pop("__main__", None)
    if has_finalizers:  # which may be in circles; a collection takes longer than most programs
        gc.collect()


def flush() -> int:
    """Flush the streams; return 0, or an exit code after an error."""
    exit_code = 0
    for stream in (sys.stdout, sys.stderr):
        try:
            if stream is not None and not stream.closed:
                stream.flush()
        except BaseException:
            exit_code = _FAILED_FLUSH
    return exit_code


def _exit_code(code: object) -> int:
    if code is None:
        return 0
    if isinstance(code, int):
        return code & 0xFF
    try:
        sys.stderr.write(f"{code}\n")
    except BaseException:
        return 1
    return 1


def _report(error: BaseException) -> None:
    own = error.__traceback__
    while own is not None and own.tb_frame.f_code.co_filename in _OWN_FILES:
        own = own.tb_next
    error.__traceback__ = own
    hook = sys.excepthook
    try:
        if sys.stdout is not None and not sys.stdout.closed:
            sys.stdout.flush()
        if hook is not sys.__excepthook__:
            hook(type(error), error, own)
        else:
            traceback.print_exception(type(error), error, own)
    except BaseException:
        # Memory or recursion depth ran out while printing: write at least the last line, without Python's streams.
        try:
            os.write(2, f"{type(error).__name__}: {str(error)[:1000]}\n".encode(errors="backslashreplace"))
        except BaseException:
            return
