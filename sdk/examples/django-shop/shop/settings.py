"""Settings of the shop. A real one has its own SECRET_KEY, database and server; the rest can stay."""

import os
from pathlib import Path
from urllib.parse import urlsplit

SHOP_URL = os.environ.get("SHOP_URL", f"http://localhost:{os.environ.get('PORT', '3000')}")
BALLAST_URL = os.environ["BALLAST_URL"].rstrip("/")
BALLAST_WEBHOOK_SECRET = os.environ["BALLAST_WEBHOOK_SECRET"]
DATA = Path(os.environ.get("SHOP_DATA", Path(__file__).parents[1] / "data"))
DATA.mkdir(parents=True, exist_ok=True)

SECRET_KEY = os.environ.get("SECRET_KEY", "only-for-this-example")
ALLOWED_HOSTS = [urlsplit(SHOP_URL).hostname, "127.0.0.1", "localhost"]
ROOT_URLCONF = "shop.urls"
INSTALLED_APPS = ["shop"]
MIDDLEWARE = [
    "django.contrib.sessions.middleware.SessionMiddleware",
    "django.middleware.common.CommonMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
    "shop.views.policy",
]
SESSION_ENGINE = "django.contrib.sessions.backends.signed_cookies"  # the cart
TEMPLATES = [{"BACKEND": "django.template.backends.django.DjangoTemplates", "APP_DIRS": True}]
DATABASES = {
    "default": {
        "ENGINE": "django.db.backends.sqlite3",
        "NAME": DATA / "shop.sqlite3",
        # Webhooks and shoppers write at the same time.
        "OPTIONS": {"transaction_mode": "IMMEDIATE", "timeout": 20, "init_command": "PRAGMA journal_mode=WAL"},
    }
}
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"
USE_TZ = True
TIME_ZONE = "UTC"
LOGGING = {
    "version": 1,
    "disable_existing_loggers": False,
    "handlers": {"console": {"class": "logging.StreamHandler"}},
    "root": {"handlers": ["console"], "level": "INFO"},
}
