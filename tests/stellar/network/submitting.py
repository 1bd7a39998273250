"""Handing transactions to the network: `/transactions`, which waits for the ledger, and `/transactions_async`."""

from __future__ import annotations

import time
from typing import Any

from tests.stellar.network import records
from tests.stellar.network.envelopes import Envelope
from tests.stellar.network.history import AppliedTransaction
from tests.stellar.network.links import Links
from tests.stellar.network.network import Answer, Status
from tests.stellar.network.problems import failed, malformed, submission_timeout
from tests.stellar.network.results import Outcome
from tests.stellar.network.view import View

_HTTP = {Status.PENDING: 201, Status.DUPLICATE: 409, Status.ERROR: 400, Status.TRY_AGAIN_LATER: 503}


class Submitting:
    def __init__(self, view: View, links: Links) -> None:
        self.view = view
        self.links = links

    def submit(self, xdr: str, *, refused: bool, seconds: float) -> dict[str, Any]:
        """The record of the transaction once this Horizon has ingested it; Problem when it fails or that takes longer.

        One that the network does not take at the moment is waited for as well: whoever asks is not told. `refused`
        means that it does not take this one.
        """
        envelope, network = self._parsed(xdr), self.view.network
        with network.lock:
            if (found := self.view.transaction(envelope.digest)) is not None:
                return self._result(found, xdr)
            answer = Answer(Status.TRY_AGAIN_LATER) if refused else network.take(envelope)
            if answer.outcome is not None:
                raise failed(xdr, answer.outcome.to_xdr(), answer.outcome.codes())
            deadline = time.monotonic() + seconds
            while (found := self.view.transaction(envelope.digest)) is None:
                if (left := deadline - time.monotonic()) <= 0:
                    raise submission_timeout(xdr, envelope.digest)
                network.closed.wait(left)
            return self._result(found, xdr)

    def submit_async(self, xdr: str, *, refused: bool) -> tuple[int, dict[str, Any]]:
        """The network's own answer with its HTTP status. It knows what waits, and nothing of earlier ledgers."""
        envelope = self._parsed(xdr)
        answer = Answer(Status.TRY_AGAIN_LATER) if refused else self.view.network.take(envelope)
        said: dict[str, Any] = {"tx_status": answer.status.value, "hash": envelope.digest}
        if answer.outcome is not None:
            said["error_result_xdr"] = answer.outcome.to_xdr()
        return _HTTP[answer.status], said

    def _parsed(self, xdr: str) -> Envelope:
        try:
            return self.view.network.parse(xdr)
        except Exception as error:  # whatever the library makes of bytes that are no envelope
            raise malformed(xdr) from error

    def _result(self, found: AppliedTransaction, xdr: str) -> dict[str, Any]:
        outcome: Outcome = found.outcome
        if not outcome.successful:
            raise failed(xdr, found.result_xdr, outcome.codes())
        return records.transaction(found, self.links)
