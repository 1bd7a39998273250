"""The WSGI entry point: `granian --interface wsgi config.wsgi:application`."""

from __future__ import annotations

import os

from django.core.wsgi import get_wsgi_application

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")

application = get_wsgi_application()

from django.db import connection  # noqa: E402 - needs the settings

from config.installation.checks import warn_at_start  # noqa: E402 - likewise

warn_at_start()
connection.close()  # requests are served by another thread
