"""The pages of the documentation: made once in a process, the same for everybody, and compressed."""

from __future__ import annotations

import hashlib
import mimetypes
from functools import cache
from typing import Any, NamedTuple

from django.conf import settings
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.template.loader import render_to_string
from django.utils.translation import override
from django.views.decorators.gzip import gzip_page
from django.views.decorators.http import condition, require_safe

from config.docs import library
from config.docs.search import MOST_LETTERS, search
from config.process.release import RELEASE

LANGUAGE = "en"
"""The language of docs/: that of its pages, whatever the browser asks for."""

_FOR_MACHINES = "llms.txt"


class Page(NamedTuple):
    content: bytes
    kind: str
    etag: str


def _etag(request: HttpRequest, path: str = "") -> str | None:
    found = _page(path, settings.PUBLIC_URL)
    return found and found.etag


@require_safe
@gzip_page
@condition(etag_func=_etag)
def show_docs(request: HttpRequest, path: str = "") -> HttpResponse:
    """A page, or a file of docs/ as it is: an image, the Markdown of a page, `llms.txt`."""
    found = _page(path, settings.PUBLIC_URL)
    if found is None:
        if path.rstrip("/") in library.slugs():
            return redirect("docs_page", path.rstrip("/"))
        raise Http404
    return HttpResponse(found.content, content_type=found.kind, headers={"Cache-Control": "public, no-cache"})


@require_safe
def search_docs(request: HttpRequest) -> HttpResponse:
    query = " ".join(request.GET.get("q", "").replace("\0", "").split())[:MOST_LETTERS]
    results = search(query, settings.PUBLIC_URL)
    with override(LANGUAGE):
        return render(request, "docs/search.html", {"query": query, "results": results, **_side("")})


def _page(path: str, public_url: str) -> Page | None:
    """What has this end of its address, if there is one."""
    if path in library.slugs() or path == _FOR_MACHINES or path in library.names():
        return _made(path, public_url)
    return None


@cache
def _made(path: str, public_url: str) -> Page:
    if name := library.slugs().get(path):
        content, kind = _html(name).encode(), "text/html; charset=utf-8"
    elif path == _FOR_MACHINES:
        context = {"readers": library.readers(), "home": f"{public_url}{library.HOME}", "release": RELEASE}
        content, kind = render_to_string("docs/llms.txt", context).encode(), "text/plain; charset=utf-8"
    else:
        content = (library.folder() / path).read_bytes()
        kind = (
            "text/markdown; charset=utf-8" if path.endswith(".md") else (mimetypes.guess_type(path)[0] or "text/plain")
        )
    return Page(content, kind, f'"{hashlib.sha256(content).hexdigest()[:32]}"')


def _html(name: str) -> str:
    sections = library.sections(name)
    context = {
        "title": sections[0].title,
        "anchor": sections[0].anchor,
        "html": library.html(name),
        "contents": [section for section in sections if section.level in {2, 3}],
        **_side(name),
    }
    with override(LANGUAGE):
        return render_to_string("docs/page.html", context)


def _side(name: str) -> dict[str, Any]:
    """What the contents beside a page are made of; the first reader for whom the page is has the list open."""
    readers = library.readers()
    opened = next((each for each in readers if name in {link.name for link in each.links}), None)
    return {"name": name, "readers": readers, "opened": opened, "release": RELEASE}
