"""The programs of :mod:`gem_envs_code.assertions` that run in the sandbox: that of the agent, and the assertions.

Both read one JSON object from standard input, write one to standard output, and know how values go as JSON. The program
of the assertions brings what tests import besides the standard library: the module ``solution`` with the functions
under test, and of ``pytest`` the names ``raises``, ``approx``, ``mark``, ``param``, ``fixture`` and ``fail``.
"""

from __future__ import annotations

__all__ = ["ASSERTIONS", "CODEC", "PROGRAM"]

# Values as JSON: what JSON has, and the other types of Python by a tag. Objects of classes of the setup, such as the
# nodes of trees, go by the names of their attributes.
CODEC = """
import builtins, collections, json, sys
sys.setrecursionlimit(20_000)
if hasattr(sys, "set_int_max_str_digits"):
    sys.set_int_max_str_digits(0)
_TAGS = {"tuple": tuple, "set": set, "frozenset": frozenset, "deque": collections.deque, "iterator": iter}

class _Opaque:
    def __init__(self, text):
        self.text = text
    def __repr__(self):
        return self.text

def _encode(value):
    kind = type(value)
    if value is None or kind in (bool, int, float, str):
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
    if kind.__name__ in _CLASSES:
        return {"object": [kind.__name__, [[name, _encode(item)] for name, item in vars(value).items()]]}
    if hasattr(value, "__next__") or kind.__name__ in ("dict_keys", "dict_values", "dict_items"):
        return {"iterator": [_encode(item) for _, item in zip(range(100_000), value)]}
    return {"opaque": repr(value)[:200]}

def _decode(value):
    if isinstance(value, list):
        return [_decode(item) for item in value]
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

PROGRAM = (
    _READ_QUIETLY
    + """
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
_results = []
for _name, _arguments, _keywords in _given["calls"]:
    _arguments, _keywords = _decode(_arguments), {key: _decode(item) for key, item in _keywords.items()}
    _called = _function(_name)
    try:
        _result = ["returned", _encode(_called(*_arguments, **_keywords))]
    except MemoryError:
        raise
    except Exception as _error:
        _result = ["raised", _known_classes(_error), _encode(list(_error.args)), str(_error)[:10_000]]
    _results.append(_result)
sys.stdout.flush()
with os.fdopen(_out, "w") as _out:
    json.dump(_results, _out)
"""
)

ASSERTIONS = (
    _READ_QUIETLY
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

def _caller(name):
    def candidate(*arguments, **keywords):
        number = len(_calls)
        if _has_unknown([arguments, keywords]):
            _new()
        call = [name, _encode(list(arguments)), {key: _encode(item) for key, item in keywords.items()}]
        _calls.append(call)
        if number < len(_known) and _known[number][0] == call:
            outcome, *result = _known[number][1]
            if outcome == "returned":
                return _decode(result[0])
            _raise(result[0], _decode(result[1]), result[2])
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
random.seed(0)
_callers = {name: _caller(name) for name in _given["names"]}
_module("solution", __all__=list(_callers), **_callers)
_module("pytest", raises=_raises, approx=_Approx, mark=_Mark(), param=_Row, fail=_fail, fixture=_fixture)
exec(compile(_given["setup"], "setup.py", "exec"), _names)
_CLASSES = _classes(_names)
_names.update(_callers)
_names["candidate"] = _callers[_given["names"][0]]
_tree = ast.parse(_given["test"])
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
