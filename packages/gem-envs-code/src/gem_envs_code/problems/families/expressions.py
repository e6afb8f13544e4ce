"""Structures on brackets, calculations and small programs."""

from __future__ import annotations

import random
from collections.abc import Iterator

from gem_envs_code.problems.draw import word
from gem_envs_code.problems.structure import structure


def _brackets(rng: random.Random) -> Iterator[tuple[str]]:
    for text in (
        "",
        "(",
        ")",
        "()",
        ")(",
        "(()",
        "())",
        "(())",
        "()()",
        "([)]",
        "([])",
        "{[()]}",
        "}{",
        "((",
        "[]]",
        "(]",
        "(()())",
        "[[[]]]()",
        "{}{}[",
        "((a)b",
        "a(b)c",
    ):
        yield (text,)
    for count in (4, 6, 8, 10, 16):
        for _ in range(2):
            yield (word(rng, count, "()"),)
            yield (word(rng, count, "()[]{}"),)
            yield ("".join(rng.choice(("()", "[]", "(a)", "{[]}", "([])")) for _ in range(count // 2)),)


bracket_facts = structure(
    "medium",
    "A text of up to 1,000 characters contains brackets of the kinds `()`, `[]` and `{}`; other characters count "
    "for nothing. Return $what.",
    code="""
def bracket_facts(text: str) -> int:
    pairs = {")": "(", "]": "[", "}": "{"}
    stack = []
    $start
    for i, c in enumerate(text):
        if c in "([{":
            stack.append((c, i))
            $open
        elif c in pairs:
            if stack and stack[-1][0] == pairs[c]:
                $match
                stack.pop()
            else:
                $error
    return $result
""",
    second="""
def bracket_facts(text):
    import re
    $also
""",
    fields="what start open match error result also",
    variants={
        "error": (
            "the index, from 0, of the first closing bracket that does not close the last open bracket of its kind; "
            "if there is none, the length of the text if some bracket is left open, and -1 if none is",
            "pass",
            "pass",
            "pass",
            "return i",
            "len(text) if stack else -1",
            "for end in range(len(text) + 1):\n    rest = re.sub('[^][(){}]', '', text[:end])\n    while rest != "
            "(rest := re.sub(r'\\(\\)|\\[\\]|\\{\\}', '', rest)):\n        pass\n"
            "    if re.search('[])}]', rest):\n        return end - 1\nreturn len(text) if rest else -1",
        ),
        "depth": (
            "the greatest number of brackets that are open at the same time, or -1 if the brackets are not closed "
            "in the right order by brackets of their kinds, or not all closed",
            "best = 0",
            "best = max(best, len(stack))",
            "pass",
            "return -1",
            "-1 if stack else best",
            "rest, depth = re.sub('[^][(){}]', '', text), 0\nwhile rest:\n    shorter = "
            "re.sub(r'\\(\\)|\\[\\]|\\{\\}', '', rest)\n    if shorter == rest:\n        return -1\n    rest = "
            "shorter\n"
            "brackets = re.sub('[^][(){}]', '', text)\nreturn max((sum(1 if c in '([{' else -1 for c in "
            "brackets[:i]) for i in range(len(brackets) + 1)), default=0)",
        ),
        "pairs": (
            "the number of pairs of an open bracket and the bracket of the same kind that closes it; a closing "
            "bracket that does not fit the last open bracket is ignored, as if it were not there",
            "total = 0",
            "pass",
            "total += 1",
            "pass",
            "total",
            "kept = []\nfor c in text:\n    if c in '([{':\n        kept.append(c)\n    elif c in ')]}' and kept "
            "and kept[-1] + c in ('()', '[]', '{}'):\n        kept.pop()\n"
            "        kept.insert(0, '*')\nreturn kept.count('*')",
        ),
        "widest": (
            "the greatest distance, in characters, between an open bracket and the bracket that closes it, such as "
            "3 in `(ab)`, or 0 if there is no such pair; a closing bracket that does not fit the last open bracket "
            "is ignored",
            "best = 0",
            "pass",
            "best = max(best, i - stack[-1][1])",
            "pass",
            "best",
            "kinds, places, spans = '', [], [0]\nfor i, c in enumerate(text):\n    if c in '([{':\n        kinds, "
            "places = kinds + c, places + [i]\n"
            "    elif (kinds[-1:] + c) in ('()', '[]', '{}'):\n        kinds = kinds[:-1]\n        spans.append(i - "
            "places.pop())\nreturn sorted(spans)[-1]",
        ),
        "repair": (
            "the smallest number of brackets that must be removed so that all brackets are closed in the right "
            "order, if only the round brackets `()` count and all other characters, `[]` and `{}` included, mean "
            "nothing",
            "errors = 0",
            "stack if c == '(' else stack.pop()",
            "pass",
            "errors += c == ')'",
            "errors + len(stack)",
            "low = now = 0\nfor c in text:\n    now += (c == '(') - (c == ')')\n    low = min(low, now)\nreturn now "
            "- 2 * low",
        ),
    },
    examples=[("(a[b]c)",), ("([)]",), ("((x)",)],
    own_examples={"pairs": [("[](",)]},
    tests=_brackets,
    wrong=[
        ('"]": "[", ', "", "repair"),
        ("stack and stack[-1][0] == pairs[c]", "stack"),
        ("len(text) if stack else -1", "-1"),
        ("-1 if stack else best", "best"),
        ("                stack.pop()\n", "                pass\n"),
        ("errors + len(stack)", "errors"),
        ("i - stack[-1][1]", "i - stack[0][1]"),
        ("return -1\n    return", "pass\n    return"),
    ],
    split="test",
)


def _chains(rng: random.Random) -> Iterator[tuple[str]]:
    for text in (
        "7",
        "1 + 2",
        "2 * 3 + 4",
        "2 + 3 * 4",
        "10 - 3 - 2",
        "8 - 2 * 3",
        "2 * 3 * 4",
        "1 - 1 + 1",
        "0 * 5 - 2",
        "5 - 8",
        "2 - 3 * 4 + 5 * 6",
        "9 * 9 - 9 + 9 * 0",
        "1 + 2 - 3 * 4",
        "6 - 2 + 1",
    ):
        yield (text,)
    for count in (2, 3, 4, 5, 8, 12):
        for _ in range(2):
            text = str(rng.randint(0, 9))
            for _ in range(count):
                text += f" {rng.choice('+-*')} {rng.randint(0, 9)}"
            yield (text,)


chain_value = structure(
    "hard",
    "A calculation is a text of whole numbers from 0 to 999 and the signs `+`, `-` and `*` between them, with "
    "single blanks around each sign, such as `2 + 3 * 4`. Return its value $what. The text has up to 300 characters.",
    code="""
def chain_value(text: str) -> int:
    parts = text.split()
    numbers, signs = [int(part) for part in parts[::2]], parts[1::2]
    for level in $levels:
        i = $first
        while $inside:
            if signs[i] in level:
                a, b = numbers[i], numbers.pop(i + 1)
                sign = signs.pop(i)
                numbers[i] = a + b if sign == "+" else a - b if sign == "-" else a * b
                $after_hit
            else:
                $after_miss
    return numbers[0]
""",
    second="""
def chain_value(text):
    import re
    $also
""",
    fields="what levels first inside after_hit after_miss also",
    variants={
        "usual": (
            "by the usual rules: products come before sums and differences, which are calculated from left to right",
            '("*", "+-")',
            "0",
            "i < len(signs)",
            "pass",
            "i += 1",
            "total = 0\nfor sign, term in re.findall(r'([+-]?) ?(\\d+(?: \\* \\d+)*)', text):\n    product = 1\n    "
            "for factor in term.split(' * '):\n        product *= int(factor)\n"
            "    total += -product if sign == '-' else product\nreturn total",
        ),
        "left": (
            "strictly from left to right, without precedence: `2 + 3 * 4` is 20",
            '("+-*",)',
            "0",
            "i < len(signs)",
            "pass",
            "i += 1",
            "total = 0\nfor sign, n in re.findall(r'([+*-]?) ?(\\d+)', text):\n    total = total * int(n) if sign "
            "== '*' else total - int(n) if sign == '-' else total + int(n)\nreturn total",
        ),
        "right": (
            "strictly from right to left, without precedence: `5 - 2 * 3 + 1` is 5 - (2 * (3 + 1)) = -3",
            '("+-*",)',
            "len(signs) - 1",
            "i >= 0",
            "i -= 1",
            "i -= 1",
            "def value(rest):\n    n, _, tail = rest.partition(' ')\n    if not tail:\n        return int(n)\n    "
            "right = value(tail[2:])\n"
            "    return int(n) + right if tail[0] == '+' else int(n) - right if tail[0] == '-' else int(n) * "
            "right\nreturn value(text)",
        ),
        "sums-first": (
            "by unusual rules: sums and differences are calculated first, from left to right, and then the products "
            "of the results; `2 * 3 + 4` is 14",
            '("+-", "*")',
            "0",
            "i < len(signs)",
            "pass",
            "i += 1",
            "product = 1\nfor factor in text.split(' * '):\n    product *= sum(int(n) for n in "
            "re.findall(r'-?\\d+', factor.replace('- ', '-')))\nreturn product",
        ),
        "minus-first": (
            "by unusual rules: differences are calculated first, then products and then sums, each from left to "
            "right; `2 * 7 - 3 + 1` is 9",
            '("-", "*", "+")',
            "0",
            "i < len(signs)",
            "pass",
            "i += 1",
            "total = 0\nfor term in text.split(' + '):\n    product = 1\n    for factor in term.split(' * '):\n     "
            "   first, *rest = map(int, factor.split(' - '))\n        product *= first - sum(rest)\n"
            "    total += product\nreturn total",
        ),
    },
    examples=[("2 + 3 * 4 - 1",), ("10 - 2 * 3 + 1",)],
    tests=_chains,
    wrong=[
        ("a - b if", "b - a if"),
        ("parts[::2]", "parts[::2][::-1]", ""),
        ("return numbers[0]", "return abs(numbers[0])"),
        ('("*", "+-")', '("*", "+", "-")'),
        ('("+-", "*")', '("+", "-", "*")'),
        ('("-", "*", "+")', '("*", "-", "+")'),
        ("i += 1", "i += 2", "left"),
    ],
)


def _postfix(rng: random.Random) -> Iterator[tuple[str]]:
    for text in (
        "5",
        "2 3 +",
        "2 3 -",
        "3 dup *",
        "1 2 swap -",
        "4 drop 7",
        "2 3 4 * +",
        "1 2 3 drop",
        "+",
        "1 +",
        "1 2",
        "dup",
        "swap 1",
        "9 9 * 9 *",
        "0 1 -",
        "7 3 over - -",
        "1 2 over + *",
        "5 over",
        "drop",
        "1 2 3 over over",
    ):
        yield (text,)
    for count in (3, 5, 7, 9, 12, 15):
        for _ in range(2):
            parts, size = [], 0
            for _ in range(count):
                options = (
                    ["n", "n"] + ["dup"] * (size > 0) + [*"+-*", "swap", "over"] * (size > 1) + ["drop"] * (size > 2)
                )
                pick = rng.choice(options)
                size += {"n": 1, "dup": 1, "over": 1, "swap": 0}.get(pick, -1)
                parts.append(str(rng.randint(0, 9)) if pick == "n" else pick)
            yield (" ".join(parts),)


stack_program = structure(
    "hard",
    "A program for a stack is a text of words separated by single blanks. A whole number from 0 to 999 is put on "
    "the stack. `+`, `-` and `*` replace the two topmost numbers by their sum, difference (the lower one minus the "
    "upper one) or product; `dup` puts a copy of the "
    "topmost number on the stack, `drop` removes the topmost number, `swap` exchanges the two topmost ones, and "
    "`over` puts a copy of the second number from the top on the stack. $what The program has 1 to 100 words.",
    code="""
def stack_program(program: str) -> $type:
    stack = []
    sizes = []
    for word in program.split():
        needed = 0 if word.isdigit() else 1 if word in ("dup", "drop") else 2
        if len(stack) < needed:
            $short
        if word.isdigit():
            stack.append(int(word))
        elif word == "dup":
            stack.append(stack[-1])
        elif word == "drop":
            stack.pop()
        elif word == "over":
            stack.append(stack[-2])
        else:
            b, a = stack.pop(), stack.pop()
            stack += [b, a] if word == "swap" else [a + b if word == "+" else a - b if word == "-" else a * b]
        sizes.append(len(stack))
    return $result
""",
    second="""
def stack_program(program):
    actions = {
        "+": (2, lambda a, b: (a + b,)), "-": (2, lambda a, b: (a - b,)), "*": (2, lambda a, b: (a * b,)),
        "dup": (1, lambda a: (a, a)),
        "drop": (1, lambda a: ()), "swap": (2, lambda a, b: (b, a)), "over": (2, lambda a, b: (a, b, a)),
    }
    stack, high, failed = (), 0, -1
    for place, name in enumerate(program.split(" ")):
        count, action = actions.get(name, (0, lambda name=name: (int(name),)))
        if len(stack) < count:
            failed = place
            $otherwise
        rest = len(stack) - count
        stack = stack[:rest] + action(*stack[rest:])
        high = max(high, len(stack))
    return $also
""",
    fields="what type short result otherwise also",
    variants={
        "final": (
            "Return the list of the numbers on the stack at the end, from the bottom to the top. A word that needs "
            "more numbers than there are on the stack ends the program before it does anything.",
            "list[int]",
            "break",
            "stack",
            "break",
            "list(stack)",
        ),
        "skip": (
            "Return the list of the numbers on the stack at the end, from the bottom to the top. A word that needs "
            "more numbers than there are on the stack is skipped.",
            "list[int]",
            "continue",
            "stack",
            "continue",
            "list(stack)",
        ),
        "failing": (
            "Return the index, from 0, of the first word that needs more numbers than there are on the stack, or -1 "
            "if there is none.",
            "int",
            "return len(sizes)",
            "-1",
            "break",
            "failed",
        ),
        "highest": (
            "Return the greatest number of numbers that are on the stack at any time, 0 for an empty one. A word "
            "that needs more numbers than there are on the stack empties the stack and does nothing else.",
            "int",
            "stack.clear()\ncontinue",
            "max(sizes, default=0)",
            "stack = ()\ncontinue",
            "high",
        ),
        "zeros": (
            "Return the number on the top of the stack at the end, or 0 if the stack is empty. If a word needs more "
            "numbers than there are on the stack, the missing ones are zeros, which lie below the numbers that are "
            "there.",
            "int",
            "stack = [0] * (needed - len(stack)) + stack",
            "(stack or [0])[-1]",
            "stack = (0,) * (count - len(stack)) + stack",
            "stack[-1] if stack else 0",
        ),
    },
    examples=[("2 3 dup * +",), ("7 swap 5 - 4",), ("9 4 over",)],
    own_examples={"failing": [("drop",)], "highest": [("1 2 3 4",)]},
    tests=_postfix,
    wrong=[
        ("a - b if", "b - a if", "failing highest"),
        ("else 2\n", "else 1\n", "zeros"),
        ("[b, a] if", "[a, b] if", "failing highest"),
        ("stack[-2]", "stack[0]", "failing highest"),
        ("return len(sizes)", "return len(sizes) + 1"),
        ("max(sizes", "sum(sizes[-1:]) or max(sizes[:0]"),
        (" + stack", ""),
        ("stack.append(stack[-1])", "pass", ""),
    ],
)
