"""The web process of an embedded run: that of any other, which takes requests once the run is prepared."""

from __future__ import annotations

import os
from pathlib import Path

from config.embedded import preparing

var = Path(os.environ["BALLAST_VAR"])
preparing.wait_until_loading(var)

from config.wsgi import application  # noqa: E402 - see above

preparing.wait_until_done(var)

__all__ = ["application"]
