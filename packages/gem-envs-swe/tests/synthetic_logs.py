"""Synthetic logs of test runners, seeded, with what real logs hold: blanks, brackets, colours, output in between."""

from __future__ import annotations

import random
from collections.abc import Callable

__all__ = ["WRITERS", "synthetic_log"]

_WORDS = (
    "parse",
    "url",
    "empty",
    "nested",
    "unicode é",
    "two words",
    "x > y",
    "a.b",
    "shift",
    "λ",
    "ok",
    "FAIL",
    "100%",
)
_NOISE = (
    "DeprecationWarning: use of x is deprecated",
    "Traceback (most recent call last):",
    '  File "/testbed/lib/core.py", line 12, in run',
    "    assert a == b",
    "",
    "\t \t",
    "INFO 12:00:01 listening on port 80 ... done",
    "{'status': 'PASSED'}",
    "okay, let us begin",
    "warning: unused variable: `x`",
    "=========== captured stdout ===========",
    "\x1b[31mred\x1b[0m text",
    "progress 12/50 (24%)\rprogress 13/50 (26%)",
)


def _identifier(rng: random.Random) -> str:
    return "test_" + rng.choice("abcdefgh") + str(rng.randrange(60))


def _parameter(rng: random.Random) -> str:
    return rng.choice(
        ("", "", "", "[a]", "[a b]", "[/home/x/data.txt]", "[//x]", "[1m]", "[é-λ]", "[a - b]", "[x[0]]", "[log(p")
    )


def _noise(rng: random.Random, lines: list[str]) -> list[str]:
    done: list[str] = []
    for line in lines:
        while rng.random() < 0.15:
            done.append(rng.choice(_NOISE))
        done.append(line)
    return done


def _pytest(rng: random.Random) -> list[str]:
    order = ("PASSED", "SKIPPED", "XFAIL", "ERROR", "FAILED")
    names = list(
        dict.fromkeys(
            f"tests/{rng.choice('xyz')}.py::{_identifier(rng)}{_parameter(rng)}" for _ in range(rng.randrange(1, 25))
        )
    )
    results = {name: rng.choices(order, (6, 1, 1, 1, 2))[0] for name in names}
    lines = ["============ test session starts ============", f"collected {len(names)} items", ""]
    lines = _noise(rng, [*lines, f"tests/x.py {'.' * len(names)}  [100%]", "", "======= FAILURES ======="])
    lines.append("=========================== short test summary info ============================")
    for outcome in order:
        for name, result in results.items():
            if result != outcome:
                continue
            if outcome == "SKIPPED":
                lines.append(f"SKIPPED [1] {name.partition('::')[0]}:12: no network")
            elif outcome in ("FAILED", "ERROR"):
                lines.append(f"{outcome} {name}" + rng.choice(("", " - AssertionError: a - b", " - assert 1 == 2")))
            else:
                lines.append(f"{outcome} {name}")
    counts = {outcome: list(results.values()).count(outcome) for outcome in order}
    words = {"FAILED": "failed", "PASSED": "passed", "SKIPPED": "skipped", "XFAIL": "xfailed", "ERROR": "errors"}
    said = ", ".join(f"{counts[outcome]} {words[outcome]}" for outcome in order if counts[outcome])
    lines.append(f"==================== {said} in 1.23s ====================")
    return lines


def _pytest_old(rng: random.Random) -> list[str]:
    lines = [
        f"tests/a.py::{_identifier(rng)}{_parameter(rng)} {rng.choice(('PASSED', 'FAILED', 'SKIPPED', 'ERROR'))}"
        for _ in range(rng.randrange(1, 25))
    ]
    return _noise(rng, lines)


def _seaborn(rng: random.Random) -> list[str]:
    lines = []
    for _ in range(rng.randrange(1, 25)):
        name = f"tests/a.py::{_identifier(rng)}"
        lines.append(
            rng.choice((f"{name} PASSED [ 12%]", f"PASSED {name}", f"FAILED {name} - assert 0", f"{name} FAILED [ 9%]"))
        )
    return _noise(rng, lines)


def _django(rng: random.Random) -> list[str]:
    lines = []
    for number in range(rng.randrange(1, 25)):
        name = f"{_identifier(rng)}{number} (app.tests.{rng.choice(('Case', 'Other'))})"
        if rng.random() < 0.2:
            name = rng.choice(("Strings are kept", "Two words (with brackets)", "a - b")) + f", part {number}."
        ending = rng.choice(("ok", "ok", "ok", "FAIL", "ERROR", "skipped 'no database'", "expected failure"))
        if rng.random() < 0.1:
            lines += [
                f"{name} ... Testing against Django installed in '/x' with 2 processes",
                "System check (0 silenced).",
                "ok",
            ]
        elif rng.random() < 0.1:
            lines += [f"{name} ... System check identified no issues (0 silenced).", "ok"]
        else:
            lines.append(f"{name} ... {ending}")
        if ending == "FAIL" and rng.random() < 0.4:
            lines.append(f"FAIL: {name}")
    noise = [line for line in _NOISE if not line.startswith("okay") and " ... " not in line]
    return [
        part
        for line in lines
        for part in ((rng.choice(noise), line) if rng.random() < 0.05 and line != "ok" else (line,))
    ]


def _sympy(rng: random.Random) -> list[str]:
    lines = ["============= test process starts =============", "sympy/core/tests/test_a.py[12]"]
    names = list(dict.fromkeys(_identifier(rng) for _ in range(rng.randrange(1, 20))))
    lines += [f"{name} {rng.choice(('ok', 'ok', 'F', 'E', 'f', 's'))}" for name in names]
    lines += ["", "_" * 80, f"_______ sympy/core/tests/test_a.py:{names[0]} _______", "AssertionError"]
    return lines


def _jest(rng: random.Random) -> list[str]:
    lines = [rng.choice(("PASS", "FAIL")) + f" src/{_identifier(rng)}.js"]
    for _ in range(rng.randrange(1, 20)):
        name = f"{rng.choice(_WORDS)} {_identifier(rng)}"
        lines.append("    " + rng.choice("✓✕○") + f" {name}" + rng.choice(("", " (5 ms)", " (12ms)", " (2 s)")))
    return _noise(rng, [*lines, "Tests:       1 failed, 2 passed, 3 total"])


def _vitest(rng: random.Random) -> list[str]:
    lines = [
        " "
        + rng.choice("✓×↓")
        + f" src/a.spec.ts > {rng.choice(_WORDS)} > {_identifier(rng)}"
        + rng.choice(("", " 5ms", " 2", " [skipped]"))
        for _ in range(rng.randrange(1, 20))
    ]
    return _noise(rng, lines)


def _jest_json(rng: random.Random) -> list[str]:
    return _noise(
        rng, [f"[{rng.choice(('PASSED', 'FAILED'))}] {rng.choice(_WORDS)} {_identifier(rng)}" for _ in range(20)]
    )


def _tap(rng: random.Random) -> list[str]:
    lines = ["TAP version 13"]
    lines += [
        f"{rng.choice(('ok', 'not ok'))} {number} - {rng.choice(_WORDS)} {_identifier(rng)}" for number in range(1, 20)
    ]
    return _noise(rng, [*lines, "1..19", "# tests 19"])


def _karma(rng: random.Random) -> list[str]:
    lines = ["INFO [launcher]: Starting browser ChromeHeadless", "", "  render"]
    for _ in range(rng.randrange(1, 12)):
        lines.append("    " + rng.choice("✔✖") + f" {_identifier(rng)}")
        if rng.random() < 0.2:
            lines.append(f"      deeper {_identifier(rng)}")
    return [*lines, "SUMMARY:", "✔ 4 tests completed"]


def _suite_files(rng: random.Random) -> list[str]:
    return _noise(
        rng,
        [
            f"{rng.choice(('PASS', 'FAIL'))} src/{_identifier(rng)}.js"
            + rng.choice(("", " (5.1 s)", " (12ms)", " (3.2s)"))
            for _ in range(20)
        ],
    )


def _calypso(rng: random.Random) -> list[str]:
    lines = ["+ ./node_modules/.bin/jest --verbose a", f"PASS client/{_identifier(rng)}.js", "  suite one"]
    for _ in range(12):
        lines.append(
            "    " + rng.choice("✓✕") + f" {rng.choice(_WORDS)} {_identifier(rng)}" + rng.choice(("", " (5ms)"))
        )
        if rng.random() < 0.2:
            lines.append(f"  suite {rng.choice(_WORDS)}")
        if rng.random() < 0.1:
            lines.append(f"    inner {_identifier(rng)}")
    return [*lines, "Test Suites: 1 passed"]


def _marked(rng: random.Random) -> list[str]:
    return _noise(
        rng, [f"{number}) spec {rng.choice(_WORDS)} {_identifier(rng)}" for number in range(1, rng.randrange(2, 9))]
    )


def _chart_js(rng: random.Random) -> list[str]:
    return [
        f"Chrome 98.0.4758.102 (Linux x86_64) {rng.choice(_WORDS)} {_identifier(rng)} FAILED"
        for _ in range(rng.randrange(1, 9))
    ]


def _highlightjs(rng: random.Random) -> list[str]:
    lines = ["", "  hljs"]
    for number in range(1, 12):
        mark = rng.choice(("✓", "✔", f"{number})"))
        lines.append(f"    {mark} {rng.choice(_WORDS)} {_identifier(rng)}" + rng.choice(("", " (64ms)")))
        if rng.random() < 0.2:
            lines.append(f"  heading {_identifier(rng)}")
    return [*lines, "", "  9 passing (2s)", "  1 failing", "", "  1) hljs", "       at /x.js:1:2"]


def _gotest(rng: random.Random) -> list[str]:
    lines = []
    for _ in range(rng.randrange(1, 20)):
        name = f"TestA/{_identifier(rng)}_(x)"
        lines += [
            f"=== RUN   {name}",
            f"    --- {rng.choice(('PASS', 'FAIL', 'SKIP'))}: {name} (0.0{rng.randrange(9)}s)",
        ]
    return _noise(rng, lines)


def _cargo(rng: random.Random) -> list[str]:
    return _noise(
        rng,
        [
            "running 20 tests",
            *(f"test core::{_identifier(rng)} ... {rng.choice(('ok', 'FAILED', 'ignored'))}" for _ in range(20)),
        ],
    )


def _maven(rng: random.Random) -> list[str]:
    lines = []
    for _ in range(rng.randrange(1, 9)):
        lines += [
            f"+ mvn test -B -Dtest=com.x.{_identifier(rng)}#a -pl core",
            "[INFO] Scanning",
            f"[INFO] BUILD {rng.choice(('SUCCESS', 'FAILURE'))}",
        ]
    if rng.random() < 0.3:
        lines.append("[INFO] BUILD SUCCESS")
    return _noise(rng, lines)


def _ant(rng: random.Random) -> list[str]:
    return _noise(
        rng,
        [
            f"    [junit] [{rng.choice(('PASS', 'FAIL', 'ERR'))}] {rng.choice(_WORDS)}.{_identifier(rng)}"
            for _ in range(20)
        ],
    )


def _gradle(rng: random.Random) -> list[str]:
    lines = []
    for _ in range(rng.randrange(1, 20)):
        name, outcome = f"org.x.TestA > {_identifier(rng)}", rng.choice(("PASSED", "FAILED"))
        lines += [name, "warning: something", outcome] if rng.random() < 0.2 else [f"{name} {outcome}"]
    return ["> Task :core:test", *lines]


def _googletest(rng: random.Random) -> list[str]:
    lines = []
    for _ in range(12):
        name = f"format_test.{_identifier(rng)}"
        lines += [
            f"[ RUN      ] {name}",
            f"{rng.choice(('1: ', ''))}[{rng.choice(('       OK', '  FAILED '))} ] {name} ({rng.randrange(9)} ms)",
        ]
    return _noise(rng, lines)


def _redis(rng: random.Random) -> list[str]:
    return _noise(
        rng,
        [
            rng.choice(
                (
                    f"[ok]: {rng.choice(_WORDS)} ({rng.randrange(99)} ms)",
                    f"[err]: {_identifier(rng)} in tests/unit/a.tcl",
                    f"[skip]: {_identifier(rng)}",
                    f"[ignore]: {_identifier(rng)}: large",
                )
            )
            for _ in range(20)
        ],
    )


def _jq(rng: random.Random) -> list[str]:
    return _noise(rng, [f"{rng.choice(('PASS', 'FAIL'))}: tests/{_identifier(rng)}" for _ in range(9)])


def _micropython(rng: random.Random) -> list[str]:
    return _noise(rng, [f"{rng.choice(('pass', 'FAIL', 'skip'))}  basics/{_identifier(rng)}.py" for _ in range(9)])


def _doctest(rng: random.Random) -> list[str]:
    cases = []
    for _ in range(9):
        expression = f'<Expression success="{rng.choice(("true", "false"))}"/>'
        part = f'<SubCase name="{_identifier(rng)}">{expression}</SubCase>'
        cases.append(f'<TestCase name="{_identifier(rng)}">{part}</TestCase>')
    return ["building", f"<doctest binary='x'>{''.join(cases)}</doctest>", "done"]


def _phpunit(rng: random.Random) -> list[str]:
    lines = []
    for _ in range(4):
        lines.append(f"Suite {_identifier(rng)} (Tests\\{_identifier(rng)})")
        lines += [f" {rng.choice('✔✘↩')} {rng.choice(_WORDS)} {_identifier(rng)}" for _ in range(5)]
    return lines


def _minitest(rng: random.Random) -> list[str]:
    lines = []
    for _ in range(20):
        name = f"{rng.choice(_WORDS)} {_identifier(rng)}"
        lines.append(f"TestX#test_: {name}.  = 0.0{rng.randrange(9)} s = {rng.choice('.FE')}")
    return _noise(rng, lines)


def _cucumber(rng: random.Random) -> list[str]:
    return [
        f"{rng.choice(('As a hacker', 'I want'))} {_identifier(rng)} {'.' * rng.randrange(2, 9)}{rng.choice(('', 'F'))}"
        for _ in range(9)
    ]


def _ruby_unit(rng: random.Random) -> list[str]:
    return _noise(
        rng,
        [
            f"  {rng.choice(('test: ', ''))}{rng.choice(_WORDS)} {_identifier(rng)}:\t{rng.choice('.EFO')}: (0.01)"
            for _ in range(20)
        ],
    )


def _rspec(rng: random.Random) -> list[str]:
    return _noise(
        rng, [f"{rng.choice(_WORDS)} - {_identifier(rng)} - {rng.choice(('passed', 'failed'))}" for _ in range(20)]
    )


WRITERS: dict[str, Callable[[random.Random], list[str]]] = {
    "pytest": _pytest,
    "pytest_options": _pytest,
    "pytest_v2": _pytest,
    "matplotlib": _pytest,
    "seaborn": _seaborn,
    "django": _django,
    "sympy": _sympy,
    "jest": _jest,
    "vitest": _vitest,
    "jest_json": _jest_json,
    "tap": _tap,
    "karma": _karma,
    "carbon": _suite_files,
    "grommet": _suite_files,
    "calypso": _calypso,
    "marked": _marked,
    "chart_js": _chart_js,
    "highlightjs": _highlightjs,
    "gotest": _gotest,
    "cargo": _cargo,
    "maven": _maven,
    "ant": _ant,
    "gradle_custom": _gradle,
    "googletest": _googletest,
    "redis": _redis,
    "jq": _jq,
    "micropython_test": _micropython,
    "doctest": _doctest,
    "phpunit": _phpunit,
    "minitest": _minitest,
    "cucumber": _cucumber,
    "ruby_unit": _ruby_unit,
    "rspec_transformed_json": _rspec,
}
"""The parsers of the package swebench, without ``parse_log_``, → a writer of such logs."""


def synthetic_log(form: str, seed: int) -> str:
    """Return a log of a form, also cut, with Windows' line ends, or with lines of two runs interleaved."""
    rng = random.Random(f"{form} {seed}")
    writer = _pytest_old if form == "pytest_v2" and seed % 5 == 4 else WRITERS[form]
    lines = writer(rng)
    if seed % 7 == 3:
        lines = lines[: rng.randrange(len(lines) + 1)]
    log = "\n".join(lines) + rng.choice(("", "\n"))
    return log.replace("\n", "\r\n") if seed % 11 == 5 and form in _WINDOWS else log


_WINDOWS = frozenset(("pytest", "jest", "gotest", "cargo", "redis", "ruby_unit", "sympy"))
