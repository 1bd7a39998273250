"""Says whether this container is well, for its health check: `python -m config.process.alive` exits with 0 or fails."""

from __future__ import annotations

import os
import time
import urllib.request
from pathlib import Path

OLDEST_SECONDS = 60
WEB = "http://127.0.0.1:8000/health/ready"


def main() -> None:
    """The web by its own page; others by the age of the file that they renew (`ALIVE_FILE`)."""
    if os.environ.get("BALLAST_ROLE", "all") not in ("web", "all"):
        age = time.time() - Path(os.environ["ALIVE_FILE"]).stat().st_mtime
        raise SystemExit(age > OLDEST_SECONDS)
    # Past the check of the host and the redirect to https: the way the proxy asks.
    host = os.environ["ALLOWED_HOSTS"].split(",")[0]
    request = urllib.request.Request(WEB, headers={"Host": host})
    with urllib.request.urlopen(request, timeout=5):  # noqa: S310 - our own page
        pass


if __name__ == "__main__":
    main()
