"""A paragraph of the documentation has one thing to say: it is short enough to be read by somebody in a hurry."""

from __future__ import annotations

from itertools import pairwise

from markdown_it import MarkdownIt

from config.docs import library

MOST_WORDS = 80


def paragraphs(name: str) -> list[str]:
    """The paragraphs of a page, also those of lists, as a reader sees them."""
    tokens = MarkdownIt("commonmark").enable("table").parse(library.text(name))
    return [
        "".join(child.content or " " for child in token.children or ())
        for before, token in pairwise(tokens)
        if before.type == "paragraph_open"
    ]


def test_no_paragraph_is_long() -> None:
    pages = [name for name in library.slugs().values() if not name.startswith("adr/")]
    long = [
        f"{name}: {len(words.split())} words: {words[:60].strip()}…"
        for name in pages
        for words in paragraphs(name)
        if len(words.split()) > MOST_WORDS
    ]
    assert long == []
