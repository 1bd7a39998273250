"""Files of refunds, as merchants write them."""

from __future__ import annotations

from payments.models import Payment
from refunds.batches.files import read_file
from refunds.batches.services import preview_file
from refunds.models import RefundBatch
from tests.payments.scenes import SANDBOX

UPLOADER = "jo@example.com"


def file_of(*lines: str, heading: str = "payment,amount,currency,destination,memo,reason") -> bytes:
    return "\r\n".join([heading, *lines, ""]).encode()


def preview(*payments: Payment, amount: str = "") -> RefundBatch:
    """The preview of a file that refunds all of these payments of one merchant, or this much of each."""
    content = file_of(*(f"{payment.public_id},{amount}" for payment in payments), heading="payment,amount")
    found = preview_file(read_file(content), merchant=payments[0].merchant, environment=SANDBOX, uploaded_by=UPLOADER)
    assert isinstance(found, RefundBatch), found
    return found
