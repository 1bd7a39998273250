"""Text in the cells of CSV files. Pure."""

from __future__ import annotations

_FORMULA_STARTS = ("=", "+", "-", "@", "\t", "\r", "\n")


def text_cell(text: str) -> str:
    """Text that no spreadsheet reads as a formula. Amounts are numbers and may begin with a minus."""
    return f"'{text}" if text.startswith(_FORMULA_STARTS) else text
