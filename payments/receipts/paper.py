"""A receipt as a PDF, with the signed JSON attached to it."""

from __future__ import annotations

from django.utils.translation import get_language, gettext, override

from config.api.renderers import render_json
from config.environments import Environment
from config.pages.pdf import Column, Paper, Table, Text, pdf_of
from payments.receipts.documents import lines_of, signed_by, title_of
from payments.receipts.verify import Envelope

WITHOUT_LETTERS = {"ar", "hi", "ja", "ko", "th", "zh-hans"}
"""Languages of payers whose letters Typst does not bring and a machine may lack: their PDF files are in English."""


def receipt_pdf(receipt: Envelope) -> bytes:
    """The receipt as a file, in the language of the request."""
    language = get_language() or "en"
    with override("en" if language in WITHOUT_LETTERS else language):
        return pdf_of(_paper(receipt))


def _paper(receipt: Envelope) -> Paper:
    payload = receipt["payload"]
    subtitle = [payload["merchant"]]
    if payload["environment"] == Environment.SANDBOX:
        subtitle.append(gettext("Test payment: no real money"))
    blocks: list[Text | Table] = [
        Table([Column("", is_date=True), Column("")], lines_of(payload)),
        Text([signed_by(receipt), gettext("The JSON file is attached to this PDF.")]),
    ]
    attached = {"receipt.json": render_json(receipt, indented=True).decode()}
    return Paper(title_of(payload), subtitle, blocks, get_language() or "en", gettext("Page"), attached)
