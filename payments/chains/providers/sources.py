"""The providers that were believed about a row, as its column `said_by` keeps them, in words. Pure."""

from __future__ import annotations

from collections.abc import Sequence


def in_words(said_by: Sequence[str] | None) -> str:
    """For a page: their names, or why there are none."""
    if said_by is None:
        return "not recorded"
    return ", ".join(said_by) or "nobody is asked on a simulated network"


def another_provider(said_by: Sequence[str] | None) -> str:
    """The provider for a second opinion on the answer of these."""
    return f"another provider than {', '.join(said_by)}, who said it" if said_by else "a second provider"
