"""Numbers of rows in paths: those that a database can hold; paths with other numbers are not found."""

from __future__ import annotations

from starlette.convertors import IntegerConvertor, register_url_convertor

__all__ = ["ROW_NUMBER"]

ROW_NUMBER = "{number:row}"
"""A path's parameter ``number`` below 10**18: the drivers of databases raise for one of more than 63 bits."""


class _RowNumber(IntegerConvertor):
    regex = "[0-9]{1,18}"


register_url_convertor("row", _RowNumber())
