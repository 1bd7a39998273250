"""The language of payers' pages: that of `?lang=`, else what was chosen before, the browser's, or the merchant's."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from django.conf import settings
from django.http import HttpRequest
from django.http.response import HttpResponseBase
from django.utils import translation
from django.utils.cache import patch_vary_headers
from django.utils.translation.trans_real import parse_accept_lang_header

PARAMETER = "lang"
_PAYERS_PATHS = ("/pay/", "/link/", "/refund/", "/return/")
_IS_KNOWN = "language_is_known"


class PayerLanguageMiddleware:
    """Answers requests for payers' pages in their language. Pages of members and operators are left alone.

    `?lang=` is kept in a cookie, so that the pages that follow are in the same language.
    """

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponseBase]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        if not request.path_info.startswith(_PAYERS_PATHS):
            return self.get_response(request)
        asked = _supported(request.GET.get(PARAMETER, ""))
        found = asked or next(filter(None, map(_supported, _preferred(request))), None)
        setattr(request, _IS_KNOWN, found is not None)
        with translation.override(found or settings.LANGUAGE_CODE):
            response = self.get_response(request)
            response.headers["Content-Language"] = translation.get_language() or settings.LANGUAGE_CODE
        patch_vary_headers(response, ["Accept-Language", "Cookie"])
        if asked:
            response.set_cookie(
                settings.LANGUAGE_COOKIE_NAME,
                asked,
                max_age=settings.LANGUAGE_COOKIE_AGE,
                secure=request.is_secure(),
                httponly=True,
                samesite="Lax",
            )
        return response


def use_by_default(request: HttpRequest, language: str) -> None:
    """Goes over to the merchant's language for the rest of the request, where the payer named none that we have."""
    if language and not getattr(request, _IS_KNOWN, True):
        translation.activate(language)


def _preferred(request: HttpRequest) -> Iterator[str]:
    yield request.COOKIES.get(settings.LANGUAGE_COOKIE_NAME, "")
    for language, _weight in parse_accept_lang_header(request.headers.get("Accept-Language", "")):
        yield language


def _supported(language: str) -> str | None:
    """`pt-br` of `pt-PT`; None where there are no pages in the language."""
    try:
        return translation.get_supported_language_variant(language)
    except LookupError:
        return None
