"""The product's settings, with the twins beside it in the same process image."""

from __future__ import annotations

from config.settings import *  # noqa: F403
from config.settings import INSTALLED_APPS as PRODUCT_APPS
from config.settings import VAR_DIR

INSTALLED_APPS = [*PRODUCT_APPS, "tests.bench"]
ROOT_URLCONF = "tests.bench.urls"
STATIC_ROOT = VAR_DIR / "static"
