"""The language of a page: that of `?lang=`, else what was chosen before, the browser's, or for payers the merchant's.

The dashboard itself is in the language that a member chose (merchants.preferences).
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator

from django.conf import settings
from django.http import HttpRequest
from django.http.response import HttpResponseBase
from django.utils import translation
from django.utils.cache import patch_vary_headers
from django.utils.translation.trans_real import parse_accept_lang_header

PARAMETER = "lang"
_PAYERS_PATHS = ("/pay/", "/link/", "/refund/", "/return/", "/receipts/")
_MEMBERS_PATHS = ("/login", "/signup", "/password", "/account", "/invitation/", "/mailbox", "/dashboard")
_IS_KNOWN = "language_is_known"


class LanguageMiddleware:
    """Answers requests for pages in the language of who looks. The API and the admin are English.

    `?lang=` is kept in a cookie, so that the pages that follow are in the same language.
    """

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponseBase]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        if not (languages := _languages_at(request.path_info)):
            return self.get_response(request)
        chosen = _supported(request.GET.get(PARAMETER, ""), languages)
        found = chosen or next(filter(None, (_supported(each, languages) for each in _preferred(request))), None)
        setattr(request, _IS_KNOWN, found is not None)
        with translation.override(found or settings.LANGUAGE_CODE):
            response = self.get_response(request)
            response.headers["Content-Language"] = translation.get_language() or settings.LANGUAGE_CODE
        patch_vary_headers(response, ["Accept-Language", "Cookie"])
        if chosen:
            response.set_cookie(
                settings.LANGUAGE_COOKIE_NAME,
                chosen,
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


def _languages_at(path: str) -> Collection[str]:
    """The languages that a page is in; none of what is English alone."""
    if path.startswith(_PAYERS_PATHS):
        return dict(settings.LANGUAGES).keys()
    return dict(settings.DASHBOARD_LANGUAGES).keys() if path.startswith(_MEMBERS_PATHS) else ()


def _supported(language: str, languages: Collection[str]) -> str | None:
    """`pt-br` of `pt-PT`; None where there are no pages in the language."""
    try:
        found = translation.get_supported_language_variant(language)
    except LookupError:
        return None
    return found if found in languages else None
