"""Settings, read from the environment. A bad or missing value refuses to start and names the setting."""

from __future__ import annotations

import secrets
import sys
from datetime import timedelta
from ipaddress import ip_network
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import django_stubs_ext
from csp.constants import NONE, SELF

from config.embedded import postgres
from config.hooks import of_a_checkout
from config.money import FIAT_DIGITS
from config.periodic.redis_servers import RedisAddressInvalid, RedisServers
from config.process import logs, roles
from config.process.exits import ending_in_a_line
from config.process.variables import Variables
from payments.chains.networks import NETWORKS
from payments.chains.settings_parser import read_certificates, read_network_settings

django_stubs_ext.monkeypatch()

BASE_DIR = Path(__file__).resolve().parent.parent

variables = Variables()
variables.read_file(BASE_DIR / ".env")

# How Ballast runs. `production` is the default and takes nothing for granted; `embedded` is `make run`, one machine
# with its data under BALLAST_VAR; `test` is embedded with everything slow turned off.
MODE = variables.choice("BALLAST_MODE", ("production", "embedded", "test"), "production")
IN_PRODUCTION = MODE == "production"
VAR_DIR = Path(variables.text("BALLAST_VAR") or BASE_DIR / "var").resolve()
if not IN_PRODUCTION:
    variables.read_file(VAR_DIR / "secrets.env")
BALLAST_ROLE = variables.role = variables.choice("BALLAST_ROLE", roles.ROLES, roles.ALL)
IS_SIGNER = BALLAST_ROLE == "signer"
"""True if this process holds the keys of hot wallets and does nothing else: it has no database and nobody's pages."""

DEBUG = variables.flag("DEBUG", default=False)
if DEBUG and IN_PRODUCTION:
    variables.refuse("DEBUG", "is true; set it to false, or BALLAST_MODE to embedded")


def secret(name: str, shortest: int) -> str:
    """A secret that must be set in production, where this process uses it; empty where it does not.

    Elsewhere than in production an unset one lasts as long as this process.
    """
    value = variables.secret(name)
    if not roles.uses(variables.role, name):
        return ""
    if IN_PRODUCTION and (len(value) < shortest or len(set(value)) < 5):
        fault = "is too short" if value else "is not set"
        variables.refuse(
            name, f"{fault}; set it to the output of: python3 -c 'import secrets; print(secrets.token_urlsafe(48))'"
        )
    return value or secrets.token_urlsafe(48)


SECRET_KEY = secret("SECRET_KEY", shortest=50)
SECRET_KEY_FALLBACKS = variables.secret_names("SECRET_KEY_FALLBACKS")
SILENCED_SYSTEM_CHECKS = [] if roles.uses(BALLAST_ROLE, "SECRET_KEY") else ["security.W009"]
"""The check for a key that is too short: most processes have none, and `check --deploy` is for each."""
API_KEY_PEPPER = secret("API_KEY_PEPPER", shortest=32)
API_KEY_PEPPER_FALLBACKS = variables.secret_names("API_KEY_PEPPER_FALLBACKS")
WEBHOOK_ENCRYPTION_KEY = secret("WEBHOOK_ENCRYPTION_KEY", shortest=32)
WEBHOOK_ENCRYPTION_KEY_FALLBACKS = variables.secret_names("WEBHOOK_ENCRYPTION_KEY_FALLBACKS")

# Addresses
PUBLIC_URL = variables.text("PUBLIC_URL", "" if IN_PRODUCTION else "http://127.0.0.1:8000").rstrip("/")
"""Address of this service for payers and merchants, without a trailing slash."""
ALLOWED_HOSTS = variables.names("ALLOWED_HOSTS")
if not IN_PRODUCTION:
    ALLOWED_HOSTS += ["localhost", "127.0.0.1", "[::1]", *filter(None, [urlsplit(PUBLIC_URL).hostname])]
TRUSTED_PROXIES = variables.names("TRUSTED_PROXIES")
"""Networks of the reverse proxies whose X-Forwarded-For and X-Forwarded-Proto are believed."""

for network in TRUSTED_PROXIES:
    try:
        ip_network(network)
    except ValueError:
        variables.refuse("TRUSTED_PROXIES", f"has {network!r}; set it to networks like 10.0.0.0/8")

if IN_PRODUCTION and not IS_SIGNER and not (PUBLIC_URL.startswith("https://") and urlsplit(PUBLIC_URL).hostname):
    variables.refuse("PUBLIC_URL", "is not an https address; set it like https://pay.example.com")
if IN_PRODUCTION and not IS_SIGNER and (not ALLOWED_HOSTS or "*" in ALLOWED_HOSTS):
    variables.refuse("ALLOWED_HOSTS", "does not name hosts; set it to those Ballast answers for, as pay.example.com")
CSRF_TRUSTED_ORIGINS = [PUBLIC_URL] if PUBLIC_URL else []

# Database. A connection lives as long as its thread: opening one costs more than a whole request.
DATABASE_STATEMENT_TIMEOUT_SECONDS = variables.number("DATABASE_STATEMENT_TIMEOUT_SECONDS", 30)
database = variables.database("DATABASE_URL")
if database is None:
    if IN_PRODUCTION and not IS_SIGNER:
        variables.refuse("DATABASE_URL", "is not set; set it like postgres://user:password@host:5432/ballast")
    socket_folder = postgres.socket_folder_of(postgres.home_of(VAR_DIR))
    database = {
        "ENGINE": "django.db.backends.postgresql",
        "NAME": postgres.DATABASE,
        "USER": postgres.SUPERUSER,
        "HOST": str(socket_folder),
    }
DATABASE_LIMITS = {
    "statement_timeout": f"{DATABASE_STATEMENT_TIMEOUT_SECONDS:g}s",
    "lock_timeout": "10s",
    "idle_in_transaction_session_timeout": "60s",
    # Compiling a statement that looks large takes a second, and what it saves a few milliseconds.
    "jit": "off",
}
direct = variables.database("DATABASE_DIRECT_URL")
BEHIND_TRANSACTION_POOLER = direct is not None
"""Whether DATABASE_URL is a pooler that lends its sessions for one database transaction each."""


KEEPALIVES = {"keepalives_idle": 10, "keepalives_interval": 5, "keepalives_count": 3, "tcp_user_timeout": 30_000}
"""Each side notices within half a minute that the other has disappeared, not after hours: a process loses its server,
and the server frees what a lost machine has locked."""


def connected_to(database: dict[str, Any], *, is_pooled: bool) -> dict[str, Any]:
    """Django's settings of this database. A pooler of transactions takes no limits at the start of a connection."""
    at_server = {name if name.startswith("tcp") else f"tcp_{name}": value for name, value in KEEPALIVES.items()}
    limits = " ".join(f"-c {name}={value}" for name, value in (DATABASE_LIMITS | at_server).items())
    return {
        **database,
        "ENGINE": "config.database.pooled" if is_pooled else "config.database.postgresql",
        "DISABLE_SERVER_SIDE_CURSORS": is_pooled,
        "CONN_MAX_AGE": None,
        "CONN_HEALTH_CHECKS": True,
        "OPTIONS": {
            "application_name": "ballast",
            "connect_timeout": 3 if is_pooled else 5,
            **KEEPALIVES,
            **({} if is_pooled else {"options": limits}),
            **database.get("OPTIONS", {}),
        },
    }


variables.hand_on("PGTZ", "UTC")
"""Sent while connecting: otherwise Django sets it by a statement for each connection, and a pooler by one more."""
DATABASES: dict[str, dict[str, Any]] = {"default": connected_to(database, is_pooled=BEHIND_TRANSACTION_POOLER)}
DATABASE_DIRECT: dict[str, Any] = connected_to(direct, is_pooled=False) if direct else {}
"""PostgreSQL itself, for what needs a session. Without a name it is the database behind the pooler's name."""
if DATABASE_DIRECT and DATABASE_DIRECT["NAME"] == DATABASES["default"]["NAME"]:
    DATABASE_DIRECT["NAME"] = ""
replica = variables.database("DATABASE_REPLICA_URL", session="standby")
if replica is not None:
    # A page waits for no replica that is gone: it reads from the primary.
    replica["OPTIONS"] = {"connect_timeout": 2, "tcp_user_timeout": 3_000, **replica.get("OPTIONS", {})}
    DATABASES["replica"] = connected_to(replica, is_pooled=BEHIND_TRANSACTION_POOLER)
    if not BEHIND_TRANSACTION_POOLER:  # whose engine does not wait for a server that hangs either
        DATABASES["replica"]["ENGINE"] = "config.database.standby"
    DATABASE_ROUTERS = ["config.database.replica.ReplicaRouter"]
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"

# Redis: broker, rate limiter and cache of more than one process. Without it they live inside the process.
REDIS_URL = variables.text("REDIS_URL")
if IN_PRODUCTION and not IS_SIGNER and not REDIS_URL:
    variables.refuse("REDIS_URL", "is not set; set it like redis://host:6379/0")
WEB_THREADS = variables.integer("WEB_THREADS", 1, minimum=1)
"""Number of requests a web process works on at a time; each has a connection to the database."""
WEB_PROCESSES = variables.integer("WEB_PROCESSES", 1, minimum=1)
"""Number of web processes on this machine, which share a merchant's request budget when Redis does not."""
REDIS_SERVERS: RedisServers | None = None
try:
    if REDIS_URL:
        REDIS_SERVERS = RedisServers.parse(REDIS_URL)
        variables.conceal(REDIS_SERVERS.password or "", *REDIS_SERVERS.sentinel_login.values())
except RedisAddressInvalid as invalid:
    variables.refuse("REDIS_URL", str(invalid))
CACHES: dict[str, dict[str, Any]] = {
    "default": {
        "BACKEND": "django.core.cache.backends.redis.RedisCache",
        "LOCATION": [REDIS_URL],  # as a list: an address may have commas of its own
        "OPTIONS": {
            "pool_class": "config.periodic.redis_servers.CachePool",
            # Django's own choice is pickle, by which whoever writes to Redis could run code here.
            "serializer": "django.core.signing.JSONSerializer",
        },
    }
    if REDIS_URL
    else {"BACKEND": "django.core.cache.backends.locmem.LocMemCache"}
}

INSTALLED_APPS = [
    "config.installation",
    "merchants",
    "merchants.audit",
    "merchants.request_log",
    "merchants.four_eyes",
    "merchants.ledger",
    "allauth",
    "allauth.account",
    "allauth.mfa",
    "merchants.people",
    "webhooks",
    "payments",
    "payments.chains.simulated",
    "payments.merchant_wallets",
    "payments.treasury.house",
    "payments.treasury.losses",
    "payments.monitoring",
    "payments.rates",
    "payments.receipts",
    "payments.screening",
    "payments.transfers",
    "refunds",
    "settlements",
    "settlements.invoices",
    "rest_framework",
    "drf_spectacular",
    "csp",
    "config.admin.apps.OperatorsAdminConfig",
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "django.contrib.sessions",
    "django.contrib.messages",
    "django.contrib.staticfiles",
    "django.contrib.postgres",
]

# Of pages, but for the first, which hands requests to the API over to a handler with the middleware below.
MIDDLEWARE = [
    "config.middleware.ApiMiddleware",
    "config.middleware.RequestIdMiddleware",
    "django.middleware.security.SecurityMiddleware",
    "config.middleware.PageCompressionMiddleware",
    "whitenoise.middleware.WhiteNoiseMiddleware",
    "csp.middleware.CSPMiddleware",
    "config.middleware.ResponseHeadersMiddleware",
    "config.pages.languages.LanguageMiddleware",
    "config.middleware.ApiClientMiddleware",
    "config.middleware.RequestBodyMiddleware",
    "django.contrib.sessions.middleware.SessionMiddleware",
    "django.middleware.common.CommonMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    "merchants.access.log_in.sessions.SessionLimitsMiddleware",
    "allauth.account.middleware.AccountMiddleware",
    "django.contrib.messages.middleware.MessageMiddleware",
    "merchants.access.log_in.viewing.ViewingMiddleware",
    "merchants.access.log_in.operator_proof.OperatorProofMiddleware",
    "django.middleware.clickjacking.XFrameOptionsMiddleware",
]
API_MIDDLEWARE = [
    "config.middleware.RequestIdMiddleware",
    "merchants.request_log.middleware.RequestLogMiddleware",
    "django.middleware.security.SecurityMiddleware",
    "config.middleware.ApiHeadersMiddleware",
    "django.middleware.common.CommonMiddleware",
    "config.middleware.RequestBodyMiddleware",
]

ROOT_URLCONF = "config.urls"
WSGI_APPLICATION = "config.wsgi.application"
APPEND_SLASH = False

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
                "payments.dashboard.decisions.pages.navigation",
            ],
            "builtins": ["config.pages.template_filters"],
        },
    }
]

# The API
DATA_UPLOAD_MAX_MEMORY_SIZE = 256 * 1024
REST_FRAMEWORK = {
    "DEFAULT_PARSER_CLASSES": ["config.api.parsers.StrictJSONParser"],
    "DEFAULT_RENDERER_CLASSES": ["config.api.renderers.JSONRenderer"],
    "DEFAULT_CONTENT_NEGOTIATION_CLASS": "config.api.renderers.JSONOnly",
    "DEFAULT_AUTHENTICATION_CLASSES": [],
    # Nobody is logged in to the API, so this refuses every view that declares no permission.
    "DEFAULT_PERMISSION_CLASSES": ["rest_framework.permissions.IsAuthenticated"],
    "DEFAULT_METADATA_CLASS": None,
    "DEFAULT_SCHEMA_CLASS": "config.api.schema.BallastSchema",
    "DEFAULT_PAGINATION_CLASS": "config.api.pagination.Envelope",
    "EXCEPTION_HANDLER": "config.api.exceptions.handle",
    "TEST_REQUEST_DEFAULT_FORMAT": "json",
    "TEST_REQUEST_RENDERER_CLASSES": ["rest_framework.renderers.JSONRenderer"],
    "URL_FORMAT_OVERRIDE": None,
}
SPECTACULAR_SETTINGS = {
    "TITLE": "Ballast",
    "DESCRIPTION": (
        "Accept stablecoin payments, refund them, and have the rest settled to a wallet of yours. Every request "
        "carries a key pair; test keys act in the sandbox, live keys in production. Amounts in a fiat currency are "
        "JSON numbers, amounts in a coin are decimal strings; instants are UTC. Lists begin with the newest record."
    ),
    "VERSION": "1",
    "OAS_VERSION": "3.1.0",
    "SERVERS": [
        {"url": "/sandbox/v1", "description": "Sandbox"},
        {"url": "/v1", "description": "Production"},
    ],
    "SCHEMA_PATH_PREFIX": "/v1",
    "SCHEMA_PATH_PREFIX_TRIM": True,
    "COMPONENT_SPLIT_REQUEST": True,
    "COMPONENT_SPLIT_PATCH": False,
    "DISABLE_DOCSTRING_DESCRIPTIONS": True,
    "ENUM_GENERATE_CHOICE_DESCRIPTION": False,
    "SORT_OPERATIONS": False,
    "SORT_OPERATION_PARAMETERS": False,
    "PREPROCESSING_HOOKS": ["config.api.schema.production_routes"],
    "POSTPROCESSING_HOOKS": ["webhooks.events.reference.describe_events", "config.api.schema.complete"],
    "LICENSE": {"name": "Apache License 2.0", "identifier": "Apache-2.0"},
    "TAGS": [
        {"name": "Payments", "description": "Request payments, and see what arrived."},
        {"name": "Discrepancies", "description": "Money that waits for your decision, over all payments."},
        {"name": "Quote", "description": "What a price comes to in each coin, without a payment."},
        {"name": "Payment links", "description": "Pages on which payers make payments, as often as you allow."},
        {"name": "Refunds", "description": "Refund payments."},
        {"name": "Settlements", "description": "Payouts to your wallets, with their statements."},
        {"name": "Statements", "description": "What changed your money in a month, settled or not."},
        {"name": "Invoices", "description": "Monthly invoices for fees, and credit notes. They never change."},
        {"name": "Webhooks", "description": "The addresses that receive events, and each event as it is sent."},
        {"name": "Events", "description": "Everything that happened, whether or not a webhook was sent it."},
        {"name": "Deliveries", "description": "Where each event was sent, and the result of each attempt."},
        {"name": "Requests", "description": "What your keys asked the API for, and how it was answered."},
        {"name": "Merchant", "description": "The account and its settings."},
        {"name": "Balance", "description": "Your money, and what waits for a decision."},
    ],
}

# People: passwords and sessions
AUTH_USER_MODEL = "merchants.User"
LOGIN_URL = "login"
LOGIN_REDIRECT_URL = "dashboard"
PASSWORD_HASHERS = [
    "django.contrib.auth.hashers.MD5PasswordHasher"
    if MODE == "test"
    else "django.contrib.auth.hashers.PBKDF2PasswordHasher"
]
AUTH_PASSWORD_VALIDATORS: list[dict[str, Any]] = [
    {"NAME": "django.contrib.auth.password_validation.UserAttributeSimilarityValidator"},
    {"NAME": "django.contrib.auth.password_validation.MinimumLengthValidator", "OPTIONS": {"min_length": 12}},
    {"NAME": "django.contrib.auth.password_validation.CommonPasswordValidator"},
]
# How many operators must agree to what lets more money move: 2, or 1 where there is only one.
OPERATORS_TO_DECIDE = variables.integer("OPERATORS_TO_DECIDE", 2 if IN_PRODUCTION else 1, minimum=1)
SANDBOX_OPERATORS_TO_DECIDE = variables.integer("SANDBOX_OPERATORS_TO_DECIDE", 1, minimum=1)
for name, people in (
    ("OPERATORS_TO_DECIDE", OPERATORS_TO_DECIDE),
    ("SANDBOX_OPERATORS_TO_DECIDE", SANDBOX_OPERATORS_TO_DECIDE),
):
    if people > 2:
        variables.refuse(name, f"is {people}; set it to 2, or to 1 where there is only one operator")
# A header in which the proxy in front names the operator it has let in to the admin, after a second factor.
OPERATOR_PROOF_HEADER = variables.text("OPERATOR_PROOF_HEADER")
if OPERATOR_PROOF_HEADER and not TRUSTED_PROXIES:
    variables.refuse("OPERATOR_PROOF_HEADER", "is set without TRUSTED_PROXIES: name the proxy that sends it")
# If set, the admin is only for operators who have a second factor; with the header the proxy checks it.
OPERATOR_SECOND_FACTOR = variables.flag("OPERATOR_SECOND_FACTOR", default=IN_PRODUCTION)
# How people get an account: by themselves, with an invitation, or by themselves once an operator has agreed.
SIGN_UP = variables.choice("SIGN_UP", ("open", "invitation", "approval"), "invitation" if IN_PRODUCTION else "open")
# The pages for people are ours (merchants/people); allauth keeps e-mail addresses, second factors and the steps of a
# log-in. Attempts are counted in PostgreSQL by merchants/access/attempts.py, so its own limits are off.
ACCOUNT_ADAPTER = "merchants.people.adapter.AccountAdapter"
ACCOUNT_LOGIN_METHODS = {"email"}
ACCOUNT_SIGNUP_FIELDS = ["email*", "password1*"]
ACCOUNT_USER_MODEL_USERNAME_FIELD = None
ACCOUNT_EMAIL_VERIFICATION = "mandatory"
ACCOUNT_EMAIL_CONFIRMATION_EXPIRE_DAYS = 1
ACCOUNT_LOGIN_ON_EMAIL_CONFIRMATION = True
ACCOUNT_CHANGE_EMAIL = True
ACCOUNT_EMAIL_NOTIFICATIONS = True
ACCOUNT_RATE_LIMITS = MFA_RATE_LIMITS = False
ACCOUNT_LOGOUT_REDIRECT_URL = "login"
# Django's own: allauth's writes a row for the address whenever a token is looked at, unconfirmed.
ACCOUNT_PASSWORD_RESET_TOKEN_GENERATOR = "django.contrib.auth.tokens.PasswordResetTokenGenerator"  # noqa: S105 - a class
PASSWORD_RESET_TIMEOUT = 3600
STEP_UP_AFTER = timedelta(minutes=10)
"""Sensitive actions need a new proof of identity when the log-in, or the last such proof, is older than this."""
ACCOUNT_REAUTHENTICATION_TIMEOUT = int(STEP_UP_AFTER.total_seconds())
MFA_ADAPTER = "merchants.people.second_factors.SecondFactorAdapter"
MFA_SUPPORTED_TYPES = ["totp", "webauthn", "recovery_codes"]
MFA_PASSKEY_LOGIN_ENABLED = True
MFA_WEBAUTHN_USER_VERIFICATION = "required"
MFA_RECOVERY_CODES_SHOW_ONCE = True
MFA_TOTP_ISSUER = "Ballast"
SESSION_ENGINE = "merchants.access.log_in.session_store"
SESSION_IDLE = timedelta(minutes=30)
"""A session that was not used for this long ends."""
SESSION_LIFETIME = timedelta(hours=12)
"""Nobody stays logged in longer than this, however busy."""
SESSION_COOKIE_AGE = int(SESSION_LIFETIME.total_seconds())
# A cookie named __Host- is one the browser takes over https only, for this host alone.
SESSION_COOKIE_NAME = "__Host-session" if IN_PRODUCTION else "ballast_session"
CSRF_COOKIE_NAME = "__Host-csrf" if IN_PRODUCTION else "ballast_csrf"
SESSION_COOKIE_SECURE = CSRF_COOKIE_SECURE = IN_PRODUCTION
SESSION_COOKIE_HTTPONLY = CSRF_COOKIE_HTTPONLY = True
SESSION_COOKIE_SAMESITE = CSRF_COOKIE_SAMESITE = "Lax"

# Transport and browser rules
SECURE_SSL_REDIRECT = IN_PRODUCTION
SECURE_REDIRECT_EXEMPT = [r"^health/"]
SECURE_PROXY_SSL_HEADER = ("HTTP_X_FORWARDED_PROTO", "https") if TRUSTED_PROXIES else None
SECURE_HSTS_SECONDS = 31_536_000 if IN_PRODUCTION else 0
SECURE_HSTS_INCLUDE_SUBDOMAINS = SECURE_HSTS_PRELOAD = IN_PRODUCTION
SECURE_REFERRER_POLICY = "strict-origin-when-cross-origin"
X_FRAME_OPTIONS = "DENY"
CONTENT_SECURITY_POLICY = {
    "DIRECTIVES": {
        "default-src": [NONE],
        "script-src": [SELF],
        "style-src": [SELF],
        "img-src": [SELF, "data:"],
        "connect-src": [SELF],
        "font-src": [SELF],
        "form-action": [SELF],
        "base-uri": [NONE],
        "frame-ancestors": [NONE],
        "object-src": [NONE],
    }
}

LANGUAGE_CODE = "en"
# Those of payers' pages, each by its own name. A translation is a folder of `locale` and a line here.
LANGUAGES = [
    ("en", "English"),
    ("de", "Deutsch"),
    ("fr", "Français"),
    ("es", "Español"),
    ("it", "Italiano"),
    ("pt-br", "Português (Brasil)"),
    ("nl", "Nederlands"),
    ("pl", "Polski"),
    ("cs", "Čeština"),
    ("tr", "Türkçe"),
    ("uk", "Українська"),
    ("ar", "العربية"),
    ("he", "עברית"),
    ("hi", "हिन्दी"),
    ("id", "Bahasa Indonesia"),
    ("vi", "Tiếng Việt"),
    ("th", "ไทย"),
    ("zh-hans", "简体中文"),
    ("ja", "日本語"),
    ("ko", "한국어"),
]
# Those that a member can choose for the dashboard.
DASHBOARD_LANGUAGES = [each for each in LANGUAGES if each[0] in {"en", "de", "es"}]
LANGUAGE_COOKIE_NAME = "ballast_language"
LANGUAGE_COOKIE_AGE = 31_536_000
LOCALE_PATHS = [BASE_DIR / "locale"]
TIME_ZONE = "UTC"
USE_TZ = True

# Files. In production `collectstatic` names them by their content and compresses them once, and browsers may keep them
# for ever. Elsewhere they are served from where they lie, so that nothing has to be collected before a first start.
STATIC_URL = "/static/"
STATICFILES_DIRS = [BASE_DIR / "static"]
STATIC_ROOT = BASE_DIR / "staticfiles" if IN_PRODUCTION else None
STATICFILES_FINDERS = [
    "django.contrib.staticfiles.finders.FileSystemFinder",
    "django.contrib.staticfiles.finders.AppDirectoriesFinder",
    "config.pages.stylesheet.StylesheetFinder",
]
STORAGES = {
    "default": {"BACKEND": "django.core.files.storage.FileSystemStorage"},
    "staticfiles": {
        "BACKEND": "whitenoise.storage.CompressedManifestStaticFilesStorage"
        if IN_PRODUCTION
        else "django.contrib.staticfiles.storage.StaticFilesStorage"
    },
}
WHITENOISE_USE_FINDERS = not IN_PRODUCTION
WHITENOISE_AUTOREFRESH = MODE == "test" or DEBUG

# Mail
vars().update(variables.mail("EMAIL_URL", default="consolemail://"))
EMAIL_TIMEOUT = 10
MAILBOX_IS_SHOWN = not IN_PRODUCTION and not variables.text("EMAIL_URL")
"""True if mails go to the page /mailbox, which needs no log-in: in an embedded run without a mail server."""
if MAILBOX_IS_SHOWN:
    EMAIL_BACKEND = "merchants.people.mailing.MailboxBackend"
DEFAULT_FROM_EMAIL = SERVER_EMAIL = variables.text("DEFAULT_FROM_EMAIL", "Ballast <ballast@localhost>")
PAYERS_ARE_MAILED = MAILBOX_IS_SHOWN or (
    bool(variables.text("DEFAULT_FROM_EMAIL"))
    and not (roles.uses(BALLAST_ROLE, "EMAIL_URL") and EMAIL_BACKEND.endswith(".console.EmailBackend"))
)
"""True if payers are offered mails. The web is not given EMAIL_URL: it goes by the sender that the operator named."""
OPERATOR_EMAILS = variables.names("OPERATOR_EMAILS")
"""Recipients of mails about alarms in production."""
if malformed := [address for address in OPERATOR_EMAILS if "@" not in address]:
    variables.refuse("OPERATOR_EMAILS", f"has {', '.join(malformed)}; set it like ada@example.com,grace@example.com")

# Invoices over fees: who issues them, and the tax on them. Without a name none are issued.
INVOICE_ISSUER_NAME = variables.text("INVOICE_ISSUER_NAME")
INVOICE_ISSUER_ADDRESS = variables.text("INVOICE_ISSUER_ADDRESS")
INVOICE_ISSUER_COUNTRY = variables.text("INVOICE_ISSUER_COUNTRY").upper()
INVOICE_ISSUER_TAX_ID = variables.text("INVOICE_ISSUER_TAX_ID")
INVOICE_CURRENCY = variables.choice("INVOICE_CURRENCY", tuple(FIAT_DIGITS), "EUR")
INVOICE_TAX_RATE = str(variables.number("INVOICE_TAX_RATE", 0))
INVOICE_NUMBER_PREFIX = variables.text("INVOICE_NUMBER_PREFIX")
INVOICE_REVERSE_CHARGE_NOTE = variables.text(
    "INVOICE_REVERSE_CHARGE_NOTE", "Reverse charge: the recipient of the service accounts for the tax."
)
INVOICE_OUTSIDE_NOTE = variables.text("INVOICE_OUTSIDE_NOTE", "Not taxable in the country of the issuer.")
if INVOICE_ISSUER_NAME and (not INVOICE_ISSUER_ADDRESS or len(INVOICE_ISSUER_COUNTRY) != 2):
    variables.refuse("INVOICE_ISSUER_NAME", "needs INVOICE_ISSUER_ADDRESS, and INVOICE_ISSUER_COUNTRY of two letters")

# Logs
LOG_LEVEL = variables.choice("LOG_LEVEL", ("DEBUG", "INFO", "WARNING", "ERROR"), "INFO")
LOG_FORMAT = variables.choice("LOG_FORMAT", ("auto", "json", "text"), "auto")
LOGGING = logs.configuration(
    level=LOG_LEVEL, as_json=LOG_FORMAT == "json" or (LOG_FORMAT == "auto" and not sys.stderr.isatty())
)
DEFAULT_EXCEPTION_REPORTER = "config.process.logs.SecretReporter"
DEFAULT_EXCEPTION_REPORTER_FILTER = "config.process.logs.SecretFilter"

# Work in the background. The rows are the queue: a lost message only waits for the next beat.
IN_PROCESS_BROKER = "in-process://"
CELERY_BROKER_URL = REDIS_SERVERS.broker_url if REDIS_SERVERS else IN_PROCESS_BROKER
CELERY_BROKER_USE_SSL: dict[str, Any] | bool = (REDIS_SERVERS and REDIS_SERVERS.broker_tls) or False
# A request that cannot wake a task goes on at once: beat will.
CELERY_BROKER_TRANSPORT_OPTIONS: dict[str, Any] = (
    {
        "socket_connect_timeout": 0.5,
        # Without it a server that accepts and stays silent holds a worker, beat or request for ever.
        "socket_timeout": 2.0,
        "max_retries": 0,
        "connect_retries_timeout": 0.5,
        **REDIS_SERVERS.broker_options,
    }
    if REDIS_SERVERS
    else {}
)
CELERY_BROKER_CONNECTION_RETRY_ON_STARTUP = True
CELERY_TASK_IGNORE_RESULT = True
CELERY_TASK_DEFAULT_QUEUE = "reports"
CELERY_TASK_TIME_LIMIT = 300
CELERY_WORKER_PREFETCH_MULTIPLIER = 1
CELERY_WORKER_HIJACK_ROOT_LOGGER = False
CELERY_WORKER_ENABLE_REMOTE_CONTROL = False
CELERY_TIMEZONE = "UTC"
ALIVE_FILE = variables.text("ALIVE_FILE")
"""A file that a worker, beat or the signer renews every few seconds while all is well; empty for none."""
SENTRY_DSN = variables.text("SENTRY_DSN")
OTEL_EXPORTER_OTLP_ENDPOINT = variables.text("OTEL_EXPORTER_OTLP_ENDPOINT")
"""Where errors and traces go; empty for nowhere."""
variables.conceal(variables.text("OTEL_EXPORTER_OTLP_HEADERS"))
variables.conceal_keys_in(SENTRY_DSN)
METRICS_PORT = variables.integer("METRICS_PORT", 0)
METRICS_ADDRESS = variables.text("METRICS_ADDRESS", "127.0.0.1")
"""Where beat serves /metrics; port 0 for nowhere."""
if METRICS_PORT > 65_535:
    variables.refuse("METRICS_PORT", f"is {METRICS_PORT}; set it to a port, as 9464, or to 0 for no metrics")

# Chains. `simulated` needs nothing from outside, `devnet` the local nodes of `manage.py devnet`, `testnet` providers.
SANDBOX_CHAIN = variables.choice("SANDBOX_CHAIN", ("simulated", "devnet", "testnet"), "simulated")
if SANDBOX_CHAIN == "devnet":
    of_a_checkout("tests.devnet")  # of_a_checkout("tests.devnet") explains in a line where there is none
SIMULATED_BLOCK_SECONDS = variables.number("SIMULATED_BLOCK_SECONDS", 2.0)
SANDBOX_REQUESTS_PER_MINUTE = variables.integer("SANDBOX_REQUESTS_PER_MINUTE", 100, minimum=1)
SIMULATED_SWEEPS_TO = variables.choice("SIMULATED_SWEEPS_TO", ("hot", "cold"), "hot")
PRODUCTION_NETWORKS = variables.choices("PRODUCTION_NETWORKS", list(NETWORKS))
SWEEP_THRESHOLD = variables.integer("SWEEP_THRESHOLD", 0, minimum=0)
"""Whole coins that must wait at deposit addresses before they are brought to the hot wallet for no other reason."""
HOT_WALLET_FLOAT = variables.integer("HOT_WALLET_FLOAT", 0)
"""Whole coins of each coin that each hot wallet should hold beyond what payouts wait for, where there is a cold one."""
BELOW_FINALITY_USD = variables.integer("BELOW_FINALITY_USD", 10_000)
"""Dollars that may be credited on one network in blocks that are not final yet; beyond it payments wait for them."""
NATIVE_COIN_USD = variables.mapping(
    "NATIVE_COIN_USD", values=r"\d{1,9}(\.\d{1,6})?", wanted="a list of prices; set it like ETH=3500,POL=0.25"
)
"""Approximate worth of native coins in dollars, where it is not the one of their network's profile."""
GAS_TANK_RESERVE = variables.mapping(
    "GAS_TANK_RESERVE", values=r"\d+", wanted="a list of numbers; set it like ethereum=2,polygon=5"
)
"""Number of usual sweeps for which a hot wallet holds native coins, where it is not the one of its network's
profile."""
TESTNET_TOKENS = variables.mapping("TESTNET_TOKENS")
"""Contracts of the coins that nobody issues on test networks: ethereum:USDT=0x..., polygon:DAI=0x..."""
NETWORK_SETTINGS = read_network_settings(
    variables,
    in_production=PRODUCTION_NETWORKS,
    on_testnet=SANDBOX_CHAIN == "testnet",
    only_encrypted=IN_PRODUCTION,
)

# A signer of its own has the keys of the hot wallets: docs/signer.md.
SIGNER_LISTEN = variables.text("SIGNER_LISTEN")
SIGNER_FOLDER = variables.text("SIGNER_FOLDER")
SIGNER_URLS = {found.signer_url for found in NETWORK_SETTINGS.values() if found.signer_url}
HAS_SIGNER = IS_SIGNER or bool(SIGNER_URLS)
USES_SIGNER = not IS_SIGNER and roles.uses(BALLAST_ROLE, "SIGNER_SECRET")
SIGNER_CERTIFICATES = read_certificates(variables, {SIGNER_LISTEN} if IS_SIGNER else SIGNER_URLS if USES_SIGNER else ())
"""The certificate this process shows to the other side of tls://, and the one it trusts. None where there is no
such."""

# Vault or AWS KMS, where one has a key of a hot wallet: docs/signer.md.
VAULT_ADDR = next(iter(variables.addresses("VAULT_ADDR", only_encrypted=IN_PRODUCTION)), "")
VAULT_NAMESPACE = variables.text("VAULT_NAMESPACE")
VAULT_CACERT = variables.text("VAULT_CACERT")
VAULT_TOKEN = variables.secret("VAULT_TOKEN")
VAULT_TOKEN_FILE = variables.secret("VAULT_TOKEN_FILE")
for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN"):
    variables.secret(name)  # read by botocore itself, and kept out of logs as every secret


def signer_secret(name: str) -> str:
    """A secret that the processes which use it must have where there is a signer of its own."""
    value = variables.secret(name)
    if HAS_SIGNER and roles.uses(BALLAST_ROLE, name) and (len(value) < 32 or len(set(value)) < 5):
        fault = "is too short" if value else "is not set, but there is a signer of its own"
        variables.refuse(
            name, f"{fault}; set it to the output of: python3 -c 'import secrets; print(secrets.token_urlsafe(48))'"
        )
    return value


SIGNER_SECRET = signer_secret("SIGNER_SECRET")
PAYOUT_INTENT_KEY = signer_secret("PAYOUT_INTENT_KEY")
"""The key that authenticates payout intents, so that the signer recognises others, or changed ones."""

# What the operator keeps of settled money, by plan, in hundredths of a percent. A merchant may have a rate of its own.
FEE_BPS: dict[str, int] = {}
for plan, bps in variables.mapping("FEE_BPS").items():
    if plan not in ("starter", "business", "enterprise") or not bps.isdecimal() or int(bps) >= 10_000:
        variables.refuse("FEE_BPS", f"has {plan}={bps}; set it like starter=50,business=20, below 10000")
    else:
        FEE_BPS[plan] = int(bps)

FEE_ON_REFUNDS = variables.choice("FEE_ON_REFUNDS", ("kept", "returned"), "kept")
"""The fee on a payment that is refunded; `returned`: the next settlement gives it back."""
CONVERSION_RATE = variables.choice("CONVERSION_RATE", ("when_paid", "when_made"), "when_paid")
"""Of which moment the rate is at which a settlement's other coins are converted, and so who bears a move in between."""
OFFSET_DEBTS = variables.flag("OFFSET_DEBTS", default=True)
"""True if a merchant's debt in one coin is repaid from its other coins and networks before those are paid out."""

# The wallets that merchants are paid at
WALLET_CHANGE_WAIT_HOURS = variables.integer("WALLET_CHANGE_WAIT_HOURS", 24)
"""Time another wallet waits in production before it is paid, so that its owners can stop a change that is not
theirs."""
SANDBOX_WALLET_CHANGE_WAIT_HOURS = variables.integer("SANDBOX_WALLET_CHANGE_WAIT_HOURS", 0)
REQUIRE_PROVEN_WALLETS: bool | None = variables.flag("REQUIRE_PROVEN_WALLETS", default=False)
if IN_PRODUCTION and not variables.text("REQUIRE_PROVEN_WALLETS"):
    REQUIRE_PROVEN_WALLETS = None
"""True if settlements are paid only to wallets that merchants have proven to be their own; None: in production, if the
installation began with this rule."""

# Webhooks. Endpoints are called at public addresses only: on port 443 in production, or on one of these as well.
WEBHOOK_PORTS = variables.ports("WEBHOOK_PORTS")
WEBHOOK_ALLOW_LOOPBACK = variables.flag("WEBHOOK_ALLOW_LOOPBACK", default=not IN_PRODUCTION)
"""True if the sandbox may call endpoints on this very machine, for trying webhooks out."""
if IN_PRODUCTION and WEBHOOK_ALLOW_LOOPBACK:
    variables.refuse("WEBHOOK_ALLOW_LOOPBACK", "is true; set it to false: merchants could reach inside")

# Backups
BACKUP_MAX_HOURS = variables.integer("BACKUP_MAX_HOURS", 0) if variables.text("BACKUP_MAX_HOURS") else None
"""Age of the newest backup from which on there is an alarm; 0: none. None: 26 once `manage.py backup` has made one."""

# Retention, in days: what is older is deleted once an hour. Money is never deleted.
EVENTS_KEPT_DAYS = variables.integer("EVENTS_KEPT_DAYS", 365)
"""Events with their deliveries, once none of them is pending. 0: for ever."""
"""Log-in sessions, after they have ended."""
AUDIT_KEPT_DAYS = variables.integer("AUDIT_KEPT_DAYS", 730)
"""Retention of people's actions on the dashboard. 0: for ever. PostgreSQL itself keeps the last 365 days from being
deleted."""
if 0 < AUDIT_KEPT_DAYS < 366:
    variables.refuse("AUDIT_KEPT_DAYS", f"is {AUDIT_KEPT_DAYS}; set it to 366 or more, or to 0 for ever")
REQUESTS_KEPT_DAYS = variables.integer("REQUESTS_KEPT_DAYS", 30)
"""Requests to the API, for merchants to read. 0: none is logged, and those that were are deleted."""

# Exchange rates: reference rates and the exchanges in use, or `bundled` alone, a table to try Ballast out with.
REAL_RATE_SOURCES = ["ecb", "official-pegs", "kraken", "coinbase", "bitstamp", "bitfinex", "gemini"]
RATE_SOURCES = variables.names("RATE_SOURCES", REAL_RATE_SOURCES if IN_PRODUCTION else ["bundled"])
if IN_PRODUCTION and "bundled" in RATE_SOURCES:
    variables.refuse("RATE_SOURCES", f"has `bundled`; leave it unset for {','.join(REAL_RATE_SOURCES)}")
RATE_SOURCE_URLS = variables.mapping("RATE_SOURCE_URLS")
"""Addresses that replace those of the sources: mirrors, or a proxy that lets nothing else out."""
variables.conceal_keys_in(*RATE_SOURCE_URLS.values())
for url in RATE_SOURCE_URLS.values():
    parts = urlsplit(url)
    is_near = not IN_PRODUCTION and parts.scheme == "http" and parts.hostname in ("127.0.0.1", "::1", "localhost")
    if not parts.hostname or not (parts.scheme == "https" or is_near) or parts.query or parts.fragment:
        variables.refuse(
            "RATE_SOURCE_URLS", "has an entry that is no https address; set it like kraken=https://mirror/kraken"
        )
        break

with ending_in_a_line():
    variables.check()
logs.conceal(variables.secrets)
