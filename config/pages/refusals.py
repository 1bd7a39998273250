"""Pages that refuse."""

from __future__ import annotations

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render


def too_many(request: HttpRequest, wait: int) -> HttpResponse:
    """The page with status 429: `wait` is in seconds."""
    page = render(request, "429.html", {"wait": wait}, status=429)
    page.headers["Retry-After"] = str(wait)
    return page
