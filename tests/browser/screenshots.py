"""`make screenshots`: every page there is, at 360 and 1280 pixels, light and dark, into var/screenshots.

It is the walk through every page that the tests take, with a camera: it brings its own database, server and data.
Words given as arguments limit it to pages with one of them in their name. The pictures of the README are cut out of
those that were made, into docs/images.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest
from PIL import Image

ROOT = Path(__file__).resolve().parents[2]
OUTPUT = ROOT / "var" / "screenshots"

PICTURES = {
    "dashboard": ("home-1280-light", 960),
    "payment": ("payment-completed-1280-light", 960),
    "payment-page": ("pay-created-360-light", 1000),
    "payment-page-arabic": ("pay-created_with_memo-in-ar", 1000),
}
"""Of the README: the screenshot that each is the top of, and how many pixels of it."""


def main() -> int:
    os.environ["SCREENSHOTS"] = str(OUTPUT)
    os.environ["SCREENSHOTS_ONLY"] = " ".join(sys.argv[1:])
    walks = sorted(map(str, Path(__file__).parent.glob("test_every_page*.py")))
    status = pytest.main([*walks, "--quiet", "--no-header", "-p", "no:cacheprovider"])
    if not status:
        _cut_pictures()
    sys.stdout.write(f"in {OUTPUT}\n")
    return int(status)


def _cut_pictures() -> None:
    for name, (page, height) in PICTURES.items():
        if (made := OUTPUT / f"{page}.png").exists():
            with Image.open(made) as whole:
                picture = whole.crop((0, 0, whole.width, min(height, whole.height)))
                picture.quantize(256).save(ROOT / "docs" / "images" / f"{name}.png", optimize=True)


if __name__ == "__main__":
    sys.exit(main())
