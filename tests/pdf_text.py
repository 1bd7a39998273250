"""What a reader finds in a PDF file."""

from __future__ import annotations

from io import BytesIO

from pypdf import PdfReader


def pages_in(file: bytes) -> list[str]:
    """The text of each page."""
    return [page.extract_text() for page in PdfReader(BytesIO(file)).pages]


def text_in(file: bytes) -> str:
    """The text of all pages, with single spaces."""
    return " ".join(" ".join(pages_in(file)).split())
