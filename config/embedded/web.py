"""The web process of an embedded run: that of any other, which takes requests once the run is prepared."""

from __future__ import annotations

import gc
import os
from pathlib import Path

from config.embedded import preparing

var = Path(os.environ["BALLAST_VAR"])
preparing.wait_until_loading(var)
gc.disable()  # nothing that is loaded becomes garbage, and looking for it takes a fifth of the time

from django.urls import get_resolver  # noqa: E402 - see above

from config.wsgi import application  # noqa: E402 - see above

_ = get_resolver().url_patterns  # loads the pages, for which the first request would wait
gc.freeze()
gc.enable()
preparing.wait_until_done(var)

__all__ = ["application"]
