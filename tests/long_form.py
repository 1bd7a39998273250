"""Whether this run takes what is long by nature in full: `LONG=1`, as before a release and each night."""

from __future__ import annotations

import os

IS_LONG = bool(os.environ.get("LONG"))


def examples(count: int) -> int:
    """The examples of a property that is asked of an adapter: all in the long form, else a third, always the same."""
    return count if IS_LONG else count // 3
