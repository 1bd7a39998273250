"""Every setting, read from the environment. A bad or missing value refuses to start and says what to set."""

from __future__ import annotations

from pathlib import Path

import django_stubs_ext
import environ

django_stubs_ext.monkeypatch()

BASE_DIR = Path(__file__).resolve().parent.parent

env = environ.Env()
environ.Env.read_env(BASE_DIR / ".env")

VAR_DIR = Path(env.str("BALLAST_VAR", default=str(BASE_DIR / "var"))).resolve()
DEBUG = env.bool("DEBUG", default=False)
SECRET_KEY = env.str("SECRET_KEY", default="insecure-development-key")
API_KEY_PEPPER = env.str("API_KEY_PEPPER", default="insecure-development-pepper")
ALLOWED_HOSTS = env.list("ALLOWED_HOSTS", default=["localhost", "127.0.0.1", "[::1]"])
TRUSTED_PROXIES = env.list("TRUSTED_PROXIES", default=[])
"""IP networks of the reverse proxies whose X-Forwarded-For is believed; empty: nobody's."""
PUBLIC_URL = env.str("PUBLIC_URL", default="http://127.0.0.1:8000").rstrip("/")
"""Where payers and merchants reach this service, without a trailing slash."""

DATABASES = {"default": env.db("DATABASE_URL", default="postgres://postgres@127.0.0.1:5433/ballast")}
DATABASES["default"].update(CONN_MAX_AGE=None, CONN_HEALTH_CHECKS=True)
REDIS_URL = env.str("REDIS_URL", default="")

INSTALLED_APPS = [
    "merchants",
    "merchants.ledger",
    "webhooks",
    "payments",
    "payments.chains.simulated",
    "payments.rates",
    "refunds",
    "settlements",
    "rest_framework",
    "drf_spectacular",
    "drf_spectacular_sidecar",
    "django.contrib.admin",
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "django.contrib.sessions",
    "django.contrib.messages",
    "django.contrib.staticfiles",
    "django.contrib.postgres",
]

MIDDLEWARE = [
    "django.middleware.security.SecurityMiddleware",
    "whitenoise.middleware.WhiteNoiseMiddleware",
    "django.contrib.sessions.middleware.SessionMiddleware",
    "django.middleware.common.CommonMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    "django.contrib.messages.middleware.MessageMiddleware",
    "django.middleware.clickjacking.XFrameOptionsMiddleware",
]

ROOT_URLCONF = "config.urls"
WSGI_APPLICATION = "config.wsgi.application"
AUTH_USER_MODEL = "merchants.User"
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"
LOGIN_URL = "login"
LOGIN_REDIRECT_URL = "dashboard"

TEMPLATES = [
    {
        "BACKEND": "django.template.backends.django.DjangoTemplates",
        "DIRS": [BASE_DIR / "templates"],
        "APP_DIRS": True,
        "OPTIONS": {
            "context_processors": [
                "django.template.context_processors.request",
                "django.contrib.auth.context_processors.auth",
                "django.contrib.messages.context_processors.messages",
            ]
        },
    }
]

LANGUAGE_CODE = "en"
TIME_ZONE = "UTC"
USE_TZ = True
STATIC_URL = "/static/"
STATICFILES_DIRS = [BASE_DIR / "static"]
STATIC_ROOT = BASE_DIR / "staticfiles"

# Chains. `simulated` is the only adapter that needs nothing from outside.
SANDBOX_CHAIN = env.str("SANDBOX_CHAIN", default="simulated")
SIMULATED_BLOCK_SECONDS = env.float("SIMULATED_BLOCK_SECONDS", default=2.0)
"""The pace of the simulated networks; 0 stops their clocks, and blocks appear only when asked for."""
PRODUCTION_NETWORKS = env.list("PRODUCTION_NETWORKS", default=[])
STELLAR_ISSUERS = env.dict("STELLAR_ISSUERS", default={})
"""Issuers of USDT and DAI on stellar that the operator trusts: `USDT=G...,DAI=G...`; without one a coin is refused."""

# Exchange rates: official reference rates and the exchanges to ask, or `bundled` alone, a table to try Ballast out with.
RATE_SOURCES = env.list("RATE_SOURCES", default=["bundled"])
