"""Whether this run takes what is long by nature in full: `LONG=1`, as before a release and each night."""

from __future__ import annotations

import os

IS_LONG = bool(os.environ.get("LONG"))
