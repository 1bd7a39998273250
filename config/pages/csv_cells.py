"""Text in the cells of CSV files. Pure."""

from __future__ import annotations

_FORMULA_STARTS = ("=", "+", "-", "@", "\uff1d", "\uff0b", "\uff0d", "\uff20", "\t", "\r", "\n")
"""The full-width forms too: spreadsheets of East Asia read them alike."""


def text_cell(text: str) -> str:
    """Text that no spreadsheet reads as a formula. Amounts are numbers and may begin with a minus."""
    return f"'{text}" if text.startswith(_FORMULA_STARTS) else text
