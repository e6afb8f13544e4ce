r"""Grading a mathematical answer against a gold answer: exact, bounded, safe from any thread.

::

    from gem_envs_math.grader import grade, is_correct

    is_correct(r"\frac{1}{2}", "0.5")               # True
    grade("5 m", r"5\text{ km}")                    # GradeResult(verdict="different", how="exact")

Three outcomes: the answers are the *same*, they are *different*, or one of them is *unreadable*. Different means that
both were read. A formula that this parser does not read (an integral, a sum, a limit) goes to math-verify, whose
verdict counts where its reader has read both sides to their last sign. What is left goes to a judge, if there is one.
An unreadable answer is not right.

Equality follows the answer sheets of MATH (Hendrycks et al. 2021: bare lists in any order, units and
``x =`` may be left out), the normalisation of Minerva (Lewkowycz et al. 2022: thousands separators, ``\text``, dollar
signs), and math-verify (intervals and equivalent inequalities). It is stricter than these wherever they accept
different answers:

- **Numbers** are exact, unless a tolerance is given. ``1/2``, ``0.5``, ``\frac12``, ``50\%``, ``5e-1`` are one number;
  ``0.333`` is not ``1/3`` and ``3.1415926`` not ``\pi``. ``1 1/2`` is a mixed number, ``1 2`` is not ``12``,
  ``1011_2`` is not ``1011``. ``1,234``, ``1{,}234`` and ``1 234`` are one number, ``1, 234`` is two. A value may come
  with its decimals (``\frac97 \approx 1.286``), and a computation with its result (``2 + 3 = 5``) if it is right.
- **Percentages**: ``50\%`` is ``0.5``. The same digits with and without a mark, ``50\%`` and ``50``, are one answer
  if the gold answer has the mark or the question speaks of percent, or if the question is not known.
- **Expressions** are equal if their values agree for all positive values of their variables, with an absolute value
  also for negative ones; the variables' names count, but not those of a function's variable (``f(z) = z``) and, beside
  others, of constants of integration (``e^x + c``).
- **Units**: either side may omit its unit (``5`` is ``5 km``); two units must agree
  (``5 km`` is ``5000 m`` and not ``5 m``). The same holds for degrees and dollars. Everyday units are converted, those
  of some other languages too, and "1 hour 30 minutes" is one quantity. A noun
  for counted objects is a unit of its own, if it is a known one, or the gold answer or the question has it; any other
  word behind a number makes the answer unreadable (``3 tenths``, ``3 factorial``).
- **Several answers** (``1, 2``; ``1 or 2``; ``\pm 1``; ``x = 1, x = 2``) and sets: in any order, all of them and
  no other. **Tuples** and points: in order, and never a set or a bare list; ``(x, y) = (3, 2)`` and ``x = 3, y = 2``
  are the point ``(3, 2)``, and the first of them also ``3, 2``. A pair in brackets is an interval as well, so
  ``[1, 2]`` is not ``(1, 2)``. A list of three or more in square brackets may leave them out, in its order.
- **Sets of real numbers** are compared as sets: ``|x| > 1``, ``x^4 > 1``, ``x < -1 or x > 1``, ``(-\infty,-1) \cup
  (1,\infty)``, ``\{x \mid |x| > 1\}``. "and" is the common part, "or" all; inequalities with commas have both
  conditions, or name several ranges where no number meets all. Unions, intersections and differences of sets are
  worked out.
- **Sequences** with dots are compared term by term, and never with a list without dots. The domain of a parameter
  (``k \in \mathbb{Z}``) may be left out, and its name does not count. ``0.333\ldots`` is a recurring decimal.
- **Functions**: a letter before brackets with a number or a letter alone (``f(0)``, ``P(A)``), and f before any
  brackets, is a function's value and no product. A derivative is one name, ``\frac{dy}{dx}``.
- **Equations**: ``x = 3`` is ``3`` and not ``y = 3``; equations are equal up to order and a factor. What stands before
  ``=`` counts as a name only if it is one: ``|3-ki| = 0`` is not ``0``. ``17 \pmod{20}`` is not ``17``.
- **Notation**: a command of LaTeX and the Unicode sign for it are one (``\alpha`` and ``α``, ``x^2`` and ``x²``);
  environments for layout (``align``) count as nothing; ``3+4j`` is Python's ``3+4i``.
- **Matrices** element by element, in any environment and with any brackets; a tuple is a column. **Ratios and times**
  part by part; a ratio of two numbers is their quotient.
- **Words**: the same words except for case, ``\text`` and marks around them; yes is true, and no is false. A formula of
  a compound counts by its letters and numbers (``\ce{CO2}``). One choice letter, ``B``, ``(B)``,
  ``B.``, ``(B) 5``, in either case where the question lists options or is not known; numbers in words. A sentence that
  contains the right answer is not the right answer.
- An empty answer and ``nan`` equal nothing, not even themselves.
- **The question**, if it is given, makes further demands: see :mod:`gem_envs_math.grader.question`. Whether an answer
  may leave arithmetic to do is declared: see ``done`` of :func:`grade`.

The comparison is symmetric, except that a gold answer may be a list of alternatives, and that ``\cos A = 0.6`` answers
an unknown question for a number.

Exact algebra decides most answers in ten to a hundred microseconds, in time linear in their length and within
early limits (:mod:`gem_envs_math.grader.limits`). Cases that algebra leaves open (functions of
variables, integrals, notation that this parser does not read) go to a worker process with a time limit
(:mod:`gem_processes`): values to sixty digits, then math-verify.
"""

from __future__ import annotations

from gem_envs_math.grader.grading import AnswerJudge, Done, GradeResult, grade, is_correct, workers
from gem_envs_math.grader.reading import read_gold

__all__ = ["AnswerJudge", "Done", "GradeResult", "grade", "is_correct", "read_gold", "workers"]
