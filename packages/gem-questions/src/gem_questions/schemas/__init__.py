r"""Rows of published data sets, recognised by their shape.

::

    from gem_questions.schemas import read_row, recognise

    row = {"question": "What is 2 + 3?", "answer": "2 and 3 are 5.\n#### 5"}
    recognise(row, "math").name       # "GSM8K"
    read_row(row, "math").gold        # "5"

A row of a known shape with a gold answer that no grader can use (None, NaN, an object of unknown form) is a
:class:`gem.errors.DatasetError` that names the row. ``gem data check`` shows what this package makes of a data set.
"""

from __future__ import annotations

from gem.lazy import loaded_on_use

__getattr__, __dir__ = loaded_on_use(globals())
