"""Text of templates goes through translation: none stands there that `makemessages` would not find."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

TEMPLATES = Path(__file__).parents[2] / "templates"

# What is translated already or is no language: programs, and what is copied as it is.
_NOT_READ = re.compile(
    r"\{% comment %\}.*?\{% endcomment %\}|\{% blocktranslate.*?\{% endblocktranslate %\}"
    r"|(?P<tag><(?P<code>style|script|code|pre|kbd)\b[^>]*>).*?</(?P=code)>",
    re.DOTALL,
)
_INCLUDE = re.compile(r"\{%\s*(?:include|with)\b.*?%\}", re.DOTALL)
_GIVEN = re.compile(r'\b(?:label|title|words|heading|caption|what|nouns?|empty|\w+_(?:words|label|title))="([^"]*)"')
_DEFAULT = re.compile(r'\|(?:default|yesno):"([^"]*)"')
_TAG = re.compile(r"\{%.*?%\}|\{\{.*?\}\}", re.DOTALL)
_SPOKEN = re.compile(r'\b(?:aria-label|aria-description|title|placeholder|alt|data-label|data-copy-label)="([^"]*)"')
_HTML = re.compile(r"<[^>]*>", re.DOTALL)
_WORD = re.compile(r"[A-Za-z]{2}")
NAMES = re.compile(
    r"\bBallast\b|\b[ps]k_test_\w*…|\bopenapi\.json\b|\bCSV\b|\bJSON\b|\bPDF\b|\bXero\b|\bQuickBooks\b|https?://|&#?\w+;"
)
"""What is the same in every language."""


def untranslated(template: str) -> Iterator[str]:
    text = _NOT_READ.sub(lambda found: found["tag"] or "", template)
    for tag in _INCLUDE.findall(text):
        yield from _GIVEN.findall(tag)
    yield from _DEFAULT.findall(text)
    text = _TAG.sub("\0", text)
    yield from _SPOKEN.findall(text)
    yield from _HTML.sub("\0", text).split("\0")


@pytest.mark.parametrize(
    ("template", "found"),
    [
        ('<p>{% translate "Paid" %}</p>', []),
        ("<p>Paid</p>", ["Paid"]),
        ("{{ amount }} of {{ whole }}", ["of"]),
        ('<p title="Of today">{{ day }}</p>', ["Of today"]),
        ('{% include "partials/button.html" with label="Save" kind="primary" %}', ["Save"]),
        ('{% include "partials/button.html" with label=_("Save") kind="primary" %}', []),
        ('{{ rate|default:"not known" }}', ["not known"]),
        ("{% blocktranslate %}Paid by {{ name }}{% endblocktranslate %} · Ballast", []),
        ("<code>GET /payments</code>", []),
        ('<pre aria-label="Body">GET /payments</pre>', ["Body"]),
    ],
)
def test_text_that_is_not_translated_is_found(template: str, found: list[str]) -> None:
    assert in_words(template) == found


IN_ENGLISH = {"admin", "docs"}
"""Folders of pages for operators, and of those that show the documentation, which is in English."""


def in_words(template: str) -> list[str]:
    return [" ".join(each.split()) for each in untranslated(template) if _WORD.search(NAMES.sub("", each))]


def test_no_page_has_text_that_cannot_be_translated() -> None:
    pages = [path for path in TEMPLATES.rglob("*.html") if IN_ENGLISH.isdisjoint(path.relative_to(TEMPLATES).parts)]
    assert len(pages) > 200
    found = {str(path.relative_to(TEMPLATES)): in_words(path.read_text()) for path in pages}
    assert {path: words for path, words in found.items() if words} == {}
