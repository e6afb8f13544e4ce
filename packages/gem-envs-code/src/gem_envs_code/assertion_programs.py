"""The programs of :mod:`gem_envs_code.assertions` that run in the sandbox: that of the agent, and the assertions.

Both read one JSON object from standard input, write one to standard output, and know how values go as JSON. The program
of the assertions brings what tests import besides the standard library: the module ``solution`` with the functions
under test, and of ``pytest`` the names ``raises``, ``approx``, ``mark``, ``param``, ``fixture`` and ``fail``. A test
that calls ``share_with_program()`` at the top of its module shares files, environment, input and output with the
program, and gets ``tmp_path``, ``monkeypatch`` and ``capsys`` from ``pytest_fixture(name)``.
"""

from __future__ import annotations

__all__ = ["ASSERTIONS", "CODEC", "PROGRAM", "SHARING"]

SHARING = "share_with_program()"
"""What a test calls at the top of its module to share more with the program than results."""

# Values as JSON: what JSON has, and the other types of Python by a tag. Objects of classes of the setup, such as the
# nodes of trees, go by the names of their attributes.
CODEC = """
import builtins, collections, json, sys
sys.setrecursionlimit(20_000)
if hasattr(sys, "set_int_max_str_digits"):
    sys.set_int_max_str_digits(0)
_ROOT, _MARK = None, "\\0shared\\0"  # the folder that the two processes share, and what stands for its path
_TAGS = {"tuple": tuple, "set": set, "frozenset": frozenset, "deque": collections.deque, "iterator": iter}

class _Opaque:
    def __init__(self, text):
        self.text = text
    def __repr__(self):
        return self.text

def _encode(value):
    kind = type(value)
    if kind is str:
        return value if _ROOT is None else value.replace(_ROOT, _MARK)
    if value is None or kind in (bool, int, float):
        return value
    if isinstance(value, (bool, int, float, str)):
        return _encode([base for base in (bool, int, float, str) if isinstance(value, base)][0](value))
    if isinstance(value, list):
        return [_encode(item) for item in value]
    if isinstance(value, dict):
        return {"dict": [[_encode(key), _encode(item)] for key, item in value.items()]}
    for tag in ("tuple", "set", "frozenset", "deque"):
        if isinstance(value, _TAGS[tag]):
            return {tag: [_encode(item) for item in value]}
    if isinstance(value, complex):
        return {"complex": [value.real, value.imag]}
    if isinstance(value, (bytes, bytearray)):
        return {"bytes": list(value)}
    if isinstance(value, type) and value.__module__ == "builtins":
        return {"type": value.__name__}
    if isinstance(value, range):
        return {"range": [value.start, value.stop, value.step]}
    if kind.__module__.partition(".")[0] == "pathlib":
        return {"path": _encode(str(value))}
    if kind.__name__ in _CLASSES:
        return {"object": [kind.__name__, [[name, _encode(item)] for name, item in vars(value).items()]]}
    if hasattr(value, "__next__") or kind.__name__ in ("dict_keys", "dict_values", "dict_items"):
        return {"iterator": [_encode(item) for _, item in zip(range(100_000), value)]}
    return {"opaque": repr(value)[:200]}

def _decode(value):
    if isinstance(value, list):
        return [_decode(item) for item in value]
    if isinstance(value, str) and _ROOT is not None:
        return value.replace(_MARK, _ROOT)
    if not isinstance(value, dict):
        return value
    (tag, content), = value.items()
    if tag in _TAGS:
        return _TAGS[tag]([_decode(item) for item in content])
    if tag == "dict":
        return {_decode(key): _decode(item) for key, item in content}
    if tag == "complex":
        return complex(*content)
    if tag == "bytes":
        return bytes(content)
    if tag == "range":
        return range(*content)
    if tag == "path":
        import pathlib
        return pathlib.Path(_decode(content))
    if tag == "type" and isinstance(getattr(builtins, content, None), type):
        return getattr(builtins, content)
    if tag == "object" and content[0] in _CLASSES:
        made = object.__new__(_CLASSES[content[0]])
        made.__dict__.update({name: _decode(item) for name, item in content[1]})
        return made
    return _Opaque(str(content))

def _classes(names):
    return {name: value for name, value in names.items() if isinstance(value, type) and value.__module__ == "solution"}
"""

# The program's own prints are discarded, as in gem_envs_code.judge.
_READ_QUIETLY = (
    CODEC
    + """
import os
_given = json.loads(sys.stdin.read())
_out = os.dup(1)
os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
"""
)

# What calls change besides what they return, for tests that share it with the program: the files of one folder, which
# is the working folder and has those for temporary files; the environment; what is printed and read. It goes before
# each call from the process of the assertions to that of the program, and back after it. No folder that the program
# writes in stays on the path of imports.
_WORLD = """
import base64, io

def _share():
    global _ROOT
    import tempfile
    here = os.getcwd()
    sys.path[:] = [path for path in sys.path if os.path.isabs(path) and not (path + "/").startswith(here + "/")]
    _ROOT = os.path.join(here, "shared")
    os.makedirs(os.path.join(_ROOT, "tmp", "test"))
    os.chdir(_ROOT)
    tempfile.tempdir = os.path.join(_ROOT, "tmp")
    tempfile._name_sequence = iter([f"file{number}" for number in range(10_000)])
    _environment.update(os.environ)

_environment = {}

def _files():
    found = {}
    for folder, folders, names in os.walk(_ROOT):
        within = "" if folder == _ROOT else os.path.relpath(folder, _ROOT) + "/"
        found[within] = None
        for name in names:
            path = os.path.join(folder, name)
            if os.path.isfile(path) and not os.path.islink(path):
                mode = os.stat(path).st_mode & 0o777
                os.chmod(path, mode | 0o600)
                with open(path, "rb") as file:
                    found[within + name] = [mode, base64.b64encode(file.read()).decode()]
                os.chmod(path, mode)
    return found

def _world():
    changed = {name: _encode(value) for name, value in os.environ.items() if _environment.get(name) != value}
    gone = sorted(name for name in _environment if name not in os.environ)
    return {"files": _files(), "folder": os.path.relpath(os.getcwd(), _ROOT), "changed": changed, "gone": gone}

def _become(world):
    files, present = world["files"], _files()
    if any(".." in path.split("/") or os.path.isabs(path) for path in [*files, world["folder"]]):
        raise ValueError("a path outside of the shared folder")
    for path in sorted(present.keys() - files.keys(), reverse=True):
        (os.rmdir if path.endswith("/") else os.remove)(os.path.join(_ROOT, path))
    for path in sorted(files):
        whole, content = os.path.join(_ROOT, path), files[path]
        if content is None:
            os.makedirs(whole, exist_ok=True)
        elif content != present.get(path):
            # In place, for those who have the file open.
            if path in present:
                os.chmod(whole, 0o600)
            with open(whole, "r+b" if path in present else "wb") as file:
                file.write(base64.b64decode(content[1]))
                file.truncate()
            os.chmod(whole, content[0])
    os.chdir(os.path.join(_ROOT, world["folder"]))
    wanted = {name: value for name, value in _environment.items() if name not in world["gone"]}
    wanted.update({name: _decode(value) for name, value in world["changed"].items()})
    for name in os.environ.keys() - wanted.keys():
        del os.environ[name]
    for name, value in wanted.items():
        if os.environ.get(name) != value:
            os.environ[name] = value
"""

PROGRAM = (
    _READ_QUIETLY
    + _WORLD
    + """
if any(len(_call) > 3 for _call in _given["calls"]):
    _share()
_names = {"__name__": "solution", "__builtins__": __builtins__}
exec(_given["imports"], _names)
exec(compile(_given["setup"], "setup.py", "exec"), _names)
_CLASSES = _classes(_names)
_before = {name: _names.get(name) for name in _given["names"]}
exec(compile(_given["source"], "solution.py", "exec"), _names)
def _function(name):
    found = _names.get(name)
    if (found is None or found is _before[name]) and "Solution" in _names:
        found = getattr(_names["Solution"](), name, found)
    if found is None:
        raise NameError("there is no function " + name)
    return found
def _known_classes(error):
    # The classes that the assertions can know; of the program's own, what they inherit.
    own = list(_CLASSES.values())
    return [
        [cls.__module__, cls.__name__]
        for cls in type(error).__mro__
        if cls in own or cls.__module__ not in ("solution", "__main__")
    ]
class _Asked(BaseException):
    pass

class _Console:
    # Standard input and output of one call, and what the test gives in place of the function input.
    def __init__(self, read, answers):
        self.streams = sys.stdin, sys.stdout, sys.stderr
        self.answers, self.asked, self.input = list(answers or ()), None, builtins.input
        sys.stdin, sys.stdout, sys.stderr = io.StringIO(_decode(read or "")), io.StringIO(), io.StringIO()
        self.read, self.out, self.err = sys.stdin, sys.stdout, sys.stderr
        if answers is not None:
            builtins.input = self.ask
    def ask(self, *prompt):
        if self.asked is not None or not self.answers:
            self.asked = self.asked or list(prompt)
            raise _Asked
        text, error = self.answers.pop(0)
        if error is not None:
            raise getattr(builtins, error)(_decode(text))
        return _decode(text)
    def ended(self, result):
        sys.stdin, sys.stdout, sys.stderr = self.streams
        builtins.input = self.input
        left = 0 if self.read.closed else len(self.read.read())
        texts = ["" if text.closed else _encode(text.getvalue()) for text in (self.out, self.err)]
        world = {**_world(), "output": texts, "unread": left}
        return [["asked", _encode(self.asked)] if self.asked is not None else result, world]

_results = []
for _name, _arguments, _keywords, *_shared in _given["calls"]:
    _arguments, _keywords = _decode(_arguments), {key: _decode(item) for key, item in _keywords.items()}
    _called = _function(_name)
    if _shared:
        _become(_shared[0])
        _console = _Console(_shared[0]["stdin"], _shared[0]["answers"])
    try:
        _result = ["returned", _encode(_called(*_arguments, **_keywords))]
    except MemoryError:
        raise
    except Exception as _error:
        _result = ["raised", _known_classes(_error), _encode(list(_error.args)), _encode(str(_error)[:10_000])]
    except _Asked:
        _result = []
    _results.append(_console.ended(_result) if _shared else _result)
sys.stdout.flush()
with os.fdopen(_out, "w") as _out:
    json.dump(_results, _out)
"""
)

ASSERTIONS = (
    _READ_QUIETLY
    + _WORLD
    + """
import ast, random, re, types

class _New(BaseException):
    pass

class _Unknown:
    # What stands for a result: any use of it goes on, so that the calls after it are noted as well.
    def _more(self, *_, **__):
        return _Unknown()
    __call__ = __getattr__ = __getitem__ = __abs__ = __neg__ = __round__ = _more
    __add__ = __radd__ = __sub__ = __rsub__ = __mul__ = __rmul__ = __truediv__ = __rtruediv__ = _more
    __floordiv__ = __mod__ = __pow__ = __and__ = __or__ = __xor__ = __rmod__ = _more
    def __iter__(self):
        return iter(())
    def __len__(self):
        return 0
    def __eq__(self, other):
        return True
    __lt__ = __le__ = __gt__ = __ge__ = __contains__ = __eq__
    def __hash__(self):
        return 0

class _Lenient(ast.NodeTransformer):
    # An assertion becomes an expression whose errors do not matter.
    def visit_Assert(self, node):
        handler = ast.ExceptHandler(ast.Name("Exception", ast.Load()), None, [ast.Pass()])
        return ast.Try([ast.Expr(node.test)], [handler], [], [])

def _has_unknown(value):
    if isinstance(value, _Unknown):
        return True
    if isinstance(value, dict):
        return any(_has_unknown(item) for pair in value.items() for item in pair)
    return isinstance(value, (list, tuple, set, frozenset)) and any(map(_has_unknown, value))

_known, _calls, _noting, _open = _given["known"], [], _given["noting"], False

def _new():
    # The test may swallow what is raised here, with a bare "except".
    global _open
    _open = True
    raise _New

def _raise(classes, arguments, text):
    for module, name in classes:
        found = _CLASSES.get(name) if module == "solution" else getattr(sys.modules.get(module), name, None)
        if isinstance(found, type) and issubclass(found, Exception):
            try:
                error = found(*arguments)
            except Exception:
                error = found.__new__(found)
                error.args = tuple(arguments)
            if str(error) != text:
                found = type(found.__name__, (found,), {"__str__": lambda self: text})
                error = found.__new__(found)
            raise error
    raise Exception(text)

def _result(outcome, *result):
    if outcome == "returned":
        return _decode(result[0])
    _raise(result[0], _decode(result[1]), _decode(result[2]))

def _shared_call(call):
    # A call in the world as the test has it; where the program asks for input that the test gives, it begins again with
    # the answer. What an unknown call would change is unknown too, so the test goes no further.
    read, given = sys.stdin, [] if builtins.input is not _input else None
    read = read.getvalue()[read.tell() :] if isinstance(read, io.StringIO) else None
    world = {**_world(), "stdin": read if read is None else _encode(read)}
    while True:
        number, asked = len(_calls), [*call, {**world, "answers": None if given is None else list(given)}]
        _calls.append(asked)
        if number >= len(_known) or _known[number][0] != asked:
            _new()
        (outcome, *result), after = _known[number][1]
        if outcome != "asked":
            break
        try:
            given.append([_encode(str(builtins.input(*_decode(result[0])))), None])
        except Exception as error:
            builtin = next(cls for cls in type(error).__mro__ if cls.__module__ == "builtins")
            given.append([_encode(str(error)), builtin.__name__])
    _become(after)
    if read is not None:
        sys.stdin.seek(len(sys.stdin.getvalue()) - after["unread"])
    for stream, text in zip((sys.stdout, sys.stderr), after["output"]):
        stream.write(_decode(text))
    return _result(outcome, *result)

_input = builtins.input

class _MonkeyPatch:
    # pytest's own, for what both processes share.
    def __init__(self):
        self._undone = []
    def setattr(self, target, name, *value, raising=True):
        if isinstance(target, str):
            (module, _, attribute), value = target.rpartition("."), name
            target, name = sys.modules[module], attribute
        else:
            (value,) = value
        self._undone.append((setattr, target, name, getattr(target, name)))
        setattr(target, name, value)
    def setitem(self, target, name, value):
        self._undone.append((type(target).__setitem__, target, name, target[name]) if name in target
                            else (type(target).pop, target, name, None))
        target[name] = value
    def delitem(self, target, name, raising=True):
        if name in target:
            self._undone.append((type(target).__setitem__, target, name, target[name]))
            del target[name]
        elif raising:
            raise KeyError(name)
    def setenv(self, name, value, prepend=None):
        old = os.environ.get(name)
        self.setitem(os.environ, name, str(value) + prepend + old if prepend and old else str(value))
    def delenv(self, name, raising=True):
        self.delitem(os.environ, name, raising)
    def chdir(self, path):
        self._undone.append((lambda _, folder, __: os.chdir(folder), None, os.getcwd(), None))
        os.chdir(path)
    def undo(self):
        while self._undone:
            change, *given = self._undone.pop()
            change(*given)
    def context(self):
        import contextlib
        return contextlib.contextmanager(lambda: (yield self))()

class _Captured:
    # pytest's own capsys: what the test and the calls of the program print.
    _both = collections.namedtuple("CaptureResult", ["out", "err"])
    def __init__(self):
        sys.stdout, sys.stderr = io.StringIO(), io.StringIO()
        self._streams = sys.stdout, sys.stderr
    def readouterr(self):
        texts = [stream.getvalue() for stream in self._streams]
        for stream in self._streams:
            stream.seek(0)
            stream.truncate()
        return self._both(*texts)
    def disabled(self):
        import contextlib
        return contextlib.nullcontext()

def pytest_fixture(name):
    if name == "tmp_path":
        import pathlib
        return pathlib.Path(_ROOT, "tmp", "test")
    return {"monkeypatch": _MonkeyPatch, "capsys": _Captured}[name]()

def share_with_program():
    # A test that has this call in its module shares files, environment, input and output with the program.
    pass

def _shares(node):
    return isinstance(node, ast.Expr) and ast.unparse(node.value) == "share_with_program()"

def _caller(name):
    def candidate(*arguments, **keywords):
        number = len(_calls)
        if _has_unknown([arguments, keywords]):
            _new()
        call = [name, _encode(list(arguments)), {key: _encode(item) for key, item in keywords.items()}]
        if _ROOT is not None:
            return _shared_call(call)
        _calls.append(call)
        if number < len(_known) and _known[number][0] == call:
            return _result(*_known[number][1])
        if _noting:
            return _Unknown()
        _new()
    candidate.__name__ = name
    return candidate

class _Raises:
    # The context of pytest.raises and, while calls are noted, of all assertions of unittest.
    exception = value = type = _Unknown()
    def __init__(self, expected, match=None):
        self.expected, self.match = expected, match
    def __enter__(self):
        return self
    def __exit__(self, kind, error, trace):
        if _noting:
            return error is None or isinstance(error, Exception)
        if error is None:
            raise AssertionError("nothing was raised")
        if not isinstance(error, self.expected):
            return False
        self.value, self.type = error, type(error)
        if self.match is not None and not re.search(self.match, str(error)):
            raise AssertionError("another text: " + str(error))
        return True

def _raises(expected, function=None, *arguments, match=None, **keywords):
    context = _Raises(expected, match)
    if function is None:
        return context
    with context:
        function(*arguments, **keywords)
    return context

class _Approx:
    def __init__(self, expected, rel=None, abs=None, nan_ok=False):
        self.expected, self.rel, self.abs, self.nan_ok = expected, rel, abs, nan_ok
    def __eq__(self, other):
        return isinstance(other, _Unknown) or self._near(self.expected, other)
    __hash__ = None
    def _near(self, wanted, found):
        if isinstance(wanted, dict):
            return isinstance(found, dict) and wanted.keys() == found.keys() and all(
                self._near(wanted[key], found[key]) for key in wanted)
        if isinstance(wanted, (list, tuple)):
            alike = isinstance(found, (list, tuple)) and len(wanted) == len(found)
            return alike and all(map(self._near, wanted, found))
        if isinstance(wanted, bool) or not isinstance(wanted, (int, float, complex)):
            return wanted == found
        if not isinstance(found, (int, float, complex)) or isinstance(found, bool):
            return False
        if wanted != wanted:
            return self.nan_ok and found != found
        # The tolerances of pytest: 1e-6 of the expected value or 1e-12, whichever is larger.
        near = 1e-12 if self.abs is None else self.abs
        if self.abs is None or self.rel is not None:
            near = max(near, (1e-6 if self.rel is None else self.rel) * abs(wanted))
        return found == wanted or abs(found - wanted) <= near

class _Mark:
    def __getattr__(self, name):
        return lambda *given, **_: given[0] if len(given) == 1 and callable(given[0]) else lambda test: test
    def parametrize(self, names, values, **_):
        if isinstance(names, str):
            names = [name.strip() for name in names.split(",")]
        def around(test):
            def run(*given, **known):
                for value in values:
                    row = value.values if isinstance(value, _Row) else [value] if len(names) == 1 else value
                    test(*given, **known, **dict(zip(names, row)))
            run.__name__ = test.__name__
            return run
        return around

def _fixture(made=None, **_):
    # The values of fixtures are made and passed by the source of a test.
    return (lambda function: function) if made is None else made

class _Row:
    def __init__(self, *values, **_):
        self.values = values

def _fail(reason="", *_, **__):
    if not _noting:
        raise AssertionError(reason)

def _module(name, **content):
    sys.modules[name] = made = types.ModuleType(name)
    vars(made).update(content)

def run_unittest(case, method):
    test = case(method)
    if _noting:
        for name in dir(test):
            if name.startswith("assert") or name == "fail":
                setattr(test, name, _noted_assertion)
    case.setUpClass()
    test.setUp()
    try:
        getattr(test, method)()
    finally:
        test.tearDown()
        case.tearDownClass()

def _noted_assertion(*given, **keywords):
    # assertRaises(Error, f, x) and assertRaisesRegex(Error, text, f, x) call f; other arguments are noted by now.
    place = next((place for place in (1, 2) if len(given) > place and callable(given[place])), None)
    if place is not None:
        with _Raises(Exception):
            given[place](*given[place + 1 :], **keywords)
    return _Raises(Exception)

_names = {"__name__": "solution", "__builtins__": __builtins__, "run_unittest": run_unittest}
_names.update(pytest_fixture=pytest_fixture, share_with_program=share_with_program)
random.seed(0)
_callers = {name: _caller(name) for name in _given["names"]}
_module("solution", __all__=list(_callers), **_callers)
_module("pytest", raises=_raises, approx=_Approx, mark=_Mark(), param=_Row, fail=_fail, fixture=_fixture)
exec(compile(_given["setup"], "setup.py", "exec"), _names)
_CLASSES = _classes(_names)
_names.update(_callers)
_names["candidate"] = _callers[_given["names"][0]]
_tree = ast.parse(_given["test"])
if any(map(_shares, _tree.body)):
    _share()
if _noting:
    _tree = ast.fix_missing_locations(_Lenient().visit(_tree))
try:
    exec(compile(_tree, "test.py", "exec"), _names)
    _status = "passed"
except _New:
    _status = "new"
except AssertionError:
    _status = "failed"
except Exception:
    _status = "broken"
if _open:
    _status = "new"
os.write(_out, json.dumps({"status": _status, "calls": _calls}).encode())
"""
)
