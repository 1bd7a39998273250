"""The product's WSGI entry point with two more handlers in the same workers: under `/thin` the bare twins without any
middleware, and under `/unlogged` the product without its log of requests."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, Final

from config import wsgi

from django.conf import settings  # isort: skip - the entry point makes the settings usable
from django.core.handlers.wsgi import WSGIHandler  # isort: skip
from django.test.utils import override_settings  # isort: skip

LOG: Final = "merchants.request_log.middleware.RequestLogMiddleware"


def _handler(**middleware: Any) -> WSGIHandler:
    with override_settings(**middleware):
        return WSGIHandler()


_handlers: Final = {
    "/thin": _handler(MIDDLEWARE=[]),
    "/unlogged": _handler(API_MIDDLEWARE=[each for each in settings.API_MIDDLEWARE if each != LOG]),
    "": wsgi.answer,
}


def _answer(environ: dict[str, Any], start_response: Callable[..., Any]) -> Iterable[bytes]:
    path: str = environ["PATH_INFO"]
    prefix = next(each for each in _handlers if path.startswith(each))
    environ["PATH_INFO"] = path.removeprefix(prefix)
    response: Iterable[bytes] = _handlers[prefix](environ, start_response)
    return response


wsgi.answer = _answer  # type: ignore[assignment]  # it is called as a handler is
application = wsgi.application
