"""The web server: granian, with its own arguments. `python -m config.web --interface wsgi … config.wsgi:application`.

It forks its workers. What is loaded before is in memory once, however many of them there are.
"""

from __future__ import annotations

import gc
import os

from granian.cli import entrypoint

from config.process.arenas import share_arenas
from config.process.exits import ending_in_a_line


def load() -> None:
    """Load the product and its pages. It opens no connection and starts no thread: a fork would not take them along."""
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")
    gc.disable()  # looking for garbage would write to every page of what is shared
    with ending_in_a_line():
        from django.core.wsgi import get_wsgi_application

        get_wsgi_application()
        from django.template import engines
        from django.urls import get_resolver

        engines.all()
        _ = get_resolver().url_patterns
    gc.freeze()


def serve() -> None:
    """Load, and be granian until it is ended."""
    share_arenas()
    load()
    entrypoint()  # type: ignore[no-untyped-call]  # granian has no types here


if __name__ == "__main__":
    serve()
