"""The pages of the API reference and of its guides: made once in a process, the same for everybody, and compressed."""

from __future__ import annotations

import hashlib
from functools import cache
from typing import NamedTuple

from django.conf import settings
from django.http import Http404, HttpRequest, HttpResponse
from django.template.loader import render_to_string
from django.urls import reverse
from django.utils.translation import get_language
from django.views.decorators.gzip import gzip_page
from django.views.decorators.http import condition, require_safe

from config.api.reference.document import Reference, read_reference
from config.api.renderers import read_json
from config.api.views import openapi_document
from config.docs import library

START, EVENTS, FAULTS = "", "webhook-events", "errors"
"""The pages that are no resource's."""

GUIDES = "api/"
"""The folder of docs/ whose pages stand beside the reference, at addresses below its own."""

DOCUMENT = "/v1/openapi.json"
_KEYS = "export BALLAST_PUBLIC_KEY=pk_test_…\nexport BALLAST_SECRET_KEY=sk_test_…"


class RenderedPage(NamedTuple):
    content: bytes
    etag: str


def _etag(request: HttpRequest, page: str = START) -> str | None:
    found = _page(page, settings.PUBLIC_URL, get_language())
    return found and found.etag


@require_safe
@gzip_page
@condition(etag_func=_etag)
def show_reference(request: HttpRequest, page: str = START) -> HttpResponse:
    """A page of the reference. It loads nothing from elsewhere and needs no exception from the CSP."""
    found = _page(page, settings.PUBLIC_URL, get_language())
    if found is None:
        raise Http404
    return HttpResponse(found.content, headers={"Cache-Control": "public, no-cache"})


@cache
def reference(public_url: str) -> Reference:
    """What all of the pages are made of."""
    home = reverse("api_reference")
    return read_reference(read_json(openapi_document().decode()), public_url=public_url, home=home)


@cache
def guides() -> tuple[library.Link, ...]:
    """The pages that explain what all operations have in common, in the order of the index."""
    linked = dict.fromkeys(link for reader in library.readers() for link in reader.links)
    return tuple(link for link in linked if link.name.startswith(GUIDES) and link.name.endswith(".md"))


def _page(page: str, public_url: str, language: str) -> RenderedPage | None:
    """The page with this end of its address, if there is one."""
    read = reference(public_url)
    known = {
        START: "start",
        EVENTS: "events",
        FAULTS: "errors",
        **{each.slug: "resource" for each in read.resources},
        **{each.address.rpartition("/")[2]: "guide" for each in guides()},
    }
    return _rendered(known[page], page, public_url, language) if page in known else None


@cache
def _rendered(template: str, page: str, public_url: str, language: str) -> RenderedPage:
    """Made once for each language, which is the one that is active."""
    read = reference(public_url)
    resource = next((each for each in read.resources if each.slug == page), None)
    context = {
        "reference": read,
        "guides": guides(),
        "page": page,
        "here": reverse("api_reference_page", args=[page]) if page else reverse("api_reference"),
        "resource": resource,
        "document": DOCUMENT,
        "environment": f"export BALLAST_URL={public_url}\n{_KEYS}",
    }
    if template == "guide":
        name = f"{GUIDES}{page}.md"
        context |= {"guide": library.sections(name)[0], "html": library.html(name)}
    content = render_to_string(f"api/{template}.html", context).encode()
    return RenderedPage(content, f'"{hashlib.sha256(content).hexdigest()[:32]}"')
