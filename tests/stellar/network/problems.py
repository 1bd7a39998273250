"""Horizon's errors: `application/problem+json`, worded as it words them."""

from __future__ import annotations

from typing import Any

_ERRORS = "https://stellar.org/horizon-errors/"


class Problem(Exception):
    """A question that cannot be answered."""

    def __init__(self, status: int, kind: str, title: str, detail: str, **extras: Any) -> None:
        super().__init__(title)
        self.status = status
        self.body: dict[str, Any] = {"type": _ERRORS + kind, "title": title, "status": status, "detail": detail}
        if extras:
            self.body["extras"] = extras


def bad_request(field: str, reason: str) -> Problem:
    return Problem(
        400,
        "bad_request",
        "Bad Request",
        "The request you sent was invalid in some way.",
        invalid_field=field,
        reason=reason,
    )


def not_found() -> Problem:
    return Problem(
        404,
        "not_found",
        "Resource Missing",
        "The resource at the url requested was not found.  This usually occurs for one of two reasons:  The url "
        "requested is not valid, or no data in our database could be found with the parameters provided.",
    )


def before_history() -> Problem:
    return Problem(
        410,
        "before_history",
        "Data Requested Is Before Recorded History",
        "This horizon instance is configured to only track a portion of the stellar network's latest history. This "
        "request is asking for results prior to the recorded history known to this horizon instance.",
    )


def malformed(envelope_xdr: str) -> Problem:
    return Problem(
        400,
        "transaction_malformed",
        "Transaction Malformed",
        "Horizon could not decode the transaction envelope in this request. A transaction should be an XDR "
        "TransactionEnvelope struct encoded using base64.  The envelope read from this request is echoed in the "
        "`extras.envelope_xdr` field of this response for your convenience.",
        envelope_xdr=envelope_xdr,
    )


def failed(envelope_xdr: str, result_xdr: str, codes: dict[str, Any]) -> Problem:
    return Problem(
        400,
        "transaction_failed",
        "Transaction Failed",
        "The transaction failed when submitted to the stellar network. The `extras.result_codes` field on this "
        "response contains further details.  Descriptions of each code can be found at: "
        "https://developers.stellar.org/api/errors/http-status-codes/horizon-specific/transaction-failed/",
        envelope_xdr=envelope_xdr,
        result_codes=codes,
        result_xdr=result_xdr,
    )


def submission_timeout(envelope_xdr: str, digest: str) -> Problem:
    return Problem(
        504,
        "transaction_submission_timeout",
        "Transaction Submission Timeout",
        "Your transaction submission request has timed out. This does not necessarily mean the submission has failed. "
        "Before resubmitting, please use the transaction hash provided in `extras.hash` to poll the GET "
        "/transactions endpoint to check whether it was included in a ledger.",
        envelope_xdr=envelope_xdr,
        hash=digest,
    )


def unsupported_media_type() -> Problem:
    return Problem(
        415,
        "unsupported_media_type",
        "Unsupported Media Type",
        "The request has an unsupported content type. Presently, the only supported content type is "
        "application/x-www-form-urlencoded.",
    )


_FAULTS = {
    429: ("rate_limit_exceeded", "Rate Limit Exceeded", "The rate limit for the requesting IP address is over."),
    503: ("stale_history", "Historical DB Is Too Stale", "The history is lagging too far behind the network."),
    504: ("timeout", "Timeout", "Your request timed out before completing.  Please try your request again."),
}


def fault(status: int) -> Problem:
    """What Horizon says when it is too busy (429), behind (503) or too slow (504); an internal error for others."""
    kind, title, detail = _FAULTS.get(
        status, ("server_error", "Internal Server Error", "An error occurred while processing this request.")
    )
    return Problem(status, kind, title, detail)
