"""Stylesheet and logo of a merchant's look: public, of our own origin, and kept by browsers for ever."""

from __future__ import annotations

from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404
from django.views.decorators.http import require_safe

from merchants.models import Branding, BrandLogo
from merchants.pages.branding import stylesheet

_FOR_EVER = {"Cache-Control": "public, max-age=31536000, immutable"}


@require_safe
def show_stylesheet(request: HttpRequest, version: str) -> HttpResponse:
    branding = get_object_or_404(Branding, version=version)
    return HttpResponse(stylesheet(branding.accent), content_type="text/css; charset=utf-8", headers=_FOR_EVER)


@require_safe
def show_logo(request: HttpRequest, version: str) -> HttpResponse:
    logo = get_object_or_404(BrandLogo, branding__version=version)
    return HttpResponse(bytes(logo.png), content_type="image/png", headers=_FOR_EVER)
