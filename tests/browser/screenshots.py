"""`make screenshots`: every page there is, at 360 and 1280 pixels, light and dark, into var/screenshots.

It is the walk through every page that the tests take, with a camera: it brings its own database, server and data.
Words given as arguments limit it to pages with one of them in their name.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

OUTPUT = Path(__file__).resolve().parents[2] / "var" / "screenshots"


def main() -> int:
    os.environ["SCREENSHOTS"] = str(OUTPUT)
    os.environ["SCREENSHOTS_ONLY"] = " ".join(sys.argv[1:])
    walk = Path(__file__).with_name("test_every_page.py")
    status = pytest.main([str(walk), "--quiet", "--no-header", "-p", "no:cacheprovider"])
    sys.stdout.write(f"in {OUTPUT}\n")
    return int(status)


if __name__ == "__main__":
    sys.exit(main())
