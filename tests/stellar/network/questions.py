"""What Horizon is asked by GET, and its answers."""

from __future__ import annotations

import base64
import re
from collections.abc import Iterator, Mapping
from itertools import islice
from typing import Any

from stellar_sdk import StrKey

from tests.stellar.network import fees, records
from tests.stellar.network.entries import Account, ClaimableBalance, time_text
from tests.stellar.network.history import AppliedOperation, AppliedTransaction, Rows, Shelf
from tests.stellar.network.links import Links
from tests.stellar.network.operation_records import PAYMENTS, operation
from tests.stellar.network.paging import Page, page_body, page_of
from tests.stellar.network.problems import bad_request, before_history, not_found
from tests.stellar.network.records import Json
from tests.stellar.network.view import View

VERSION = "ballast-local"
_HASH = re.compile(r"[0-9a-f]{64}")
Span = tuple[int, int]
"""Tokens from the first to the one after the last."""


class Questions:
    """Answers for one view of the network. Its caller holds the lock of the network."""

    def __init__(self, view: View, links: Links) -> None:
        self.view = view
        self.links = links

    def answer(self, path: str, query: Mapping[str, str]) -> Json:
        """The body for a path; Problem where there is none."""
        match [part for part in path.split("/") if part]:
            case []:
                return self._root()
            case ["fee_stats"]:
                return fees.fee_stats(self.view)
            case ["accounts", address]:
                return self._account(address)
            case ["accounts", address, "data", name]:
                return self._data(address, name)
            case ["transactions", digest]:
                return records.transaction(self._transaction(digest), self.links, asked=digest)
            case ["ledgers", number]:
                return records.ledger(self.view.network.history.ledgers[self._ledger(number) - 1], self.links)
            case ["operations", token]:
                return operation(self._operation(token), self.links, join=query.get("join") == "transactions")
            case ["claimable_balances", identifier]:
                return self._claimable(identifier)
            case _:
                return self.page(path, query)

    def page(self, path: str, query: Mapping[str, str]) -> Json:
        """A page of whatever the last part of the path names."""
        page = page_of(query, latest=self.view.state.ledger, elder=self.view.elder)
        shelf, span, parts = self._place([part for part in path.split("/") if part])
        match parts:
            case ["ledgers"]:
                rows = self._in_order(self.view.network.history.ledgers, page, span)
                found: Iterator[Json] = (records.ledger(each, self.links) for each in rows)
            case ["transactions"]:
                found = self._transactions(shelf, query, page, span)
            case ["operations" | "payments" as kind]:
                found = self._operations(shelf, query, page, span, payments_only=kind == "payments")
            case ["effects"]:
                effects = self._in_order(shelf.effects, page, span)
                found = (records.effect(each, self.links) for each in effects)
            case ["claimable_balances"]:
                found = self._claimables(query, page)
            case _:
                raise not_found()
        return page_body(self.links, path, query, page, islice(found, page.limit))

    # Where rows come from.

    def _place(self, parts: list[str]) -> tuple[Shelf, Span, list[str]]:
        """The rows that a path is about, the tokens it is limited to, and what is left of it."""
        history = self.view.network.history
        everything: Span = (self.view.elder << 32, self.view.state.ledger + 1 << 32)
        match parts:
            case ["accounts", address, kind]:
                _check_address(address)
                return history.of_account.get(address) or Shelf(), everything, [kind]
            case ["transactions", digest, kind]:
                token = self._transaction(digest).token
                return history.everything, (token, token + (1 << 12)), [kind]
            case ["operations", identifier, kind]:
                token = self._operation(identifier).token
                return history.everything, (token, token + 1), [kind]
            case ["ledgers", number, kind]:
                token = self._ledger(number) << 32
                return history.everything, (token, token + (1 << 32)), [kind]
            case _:
                return history.everything, everything, parts

    def _in_order(self, rows: Rows[Any], page: Page, span: Span) -> Iterator[Any]:
        """The rows of a span that come after the cursor."""
        if page.ascending:
            found = rows.between(max(span[0], page.token), span[1])
        else:
            found = rows.between(span[0], min(span[1], page.token + 1))[::-1]
        return (each for each in found if page.wants(each.token, getattr(each, "position", 0)))

    def _transactions(self, shelf: Shelf, query: Mapping[str, str], page: Page, span: Span) -> Iterator[Json]:
        failed = query.get("include_failed") == "true"
        for each in self._in_order(shelf.transactions, page, span):
            if failed or each.successful:
                yield records.transaction(each, self.links)

    def _operations(
        self, shelf: Shelf, query: Mapping[str, str], page: Page, span: Span, *, payments_only: bool
    ) -> Iterator[Json]:
        failed, join = query.get("include_failed") == "true", query.get("join") == "transactions"
        for each in self._in_order(shelf.operations, page, span):
            wanted = isinstance(each.operation, PAYMENTS) or not payments_only
            if wanted and (failed or each.transaction.successful):
                yield operation(each, self.links, join=join)

    def _claimables(self, query: Mapping[str, str], page: Page) -> Iterator[Json]:
        """Ordered by the ledger that made them, then by id; only the ledger of a cursor is looked at."""
        found = sorted(self.view.state.claimable.values(), key=lambda each: (each.modified, each.id))
        for each in found if page.ascending else reversed(found):
            parties = {account for account, _ in each.claimants}
            asked = (
                query.get("claimant") in (None, *parties),
                query.get("asset") in (None, each.asset),
                query.get("sponsor") in (None, each.sponsor),
                not page.cursor or page.wants(each.modified),
            )
            if all(asked):
                yield self._claimable_record(each)

    # Single things.

    def _root(self) -> Json:
        latest = self.view.latest
        return {
            "_links": self.links.root(),
            "horizon_version": VERSION,
            "core_version": VERSION,
            "ingest_latest_ledger": latest.number,
            "history_latest_ledger": latest.number,
            "history_latest_ledger_closed_at": time_text(latest.closed_at),
            "history_elder_ledger": self.view.elder,
            "core_latest_ledger": self.view.network.state.ledger,
            "network_passphrase": self.view.network.passphrase,
            "current_protocol_version": records.PROTOCOL,
            "supported_protocol_version": records.PROTOCOL,
            "core_supported_protocol_version": records.PROTOCOL,
        }

    def _account(self, address: str) -> Json:
        found = self._found_account(address)
        return records.account(found, self.links, self.view.closed_at(found.modified))

    def _data(self, address: str, name: str) -> Json:
        if (value := self._found_account(address).data.get(name)) is None:
            raise not_found()
        return {"value": base64.b64encode(value).decode()}

    def _found_account(self, address: str) -> Account:
        _check_address(address)
        if (found := self.view.state.accounts.get(address)) is None:
            raise not_found()
        return found

    def _transaction(self, digest: str) -> AppliedTransaction:
        if not _HASH.fullmatch(digest):
            raise bad_request("transaction_id", f"{digest} does not validate as hash")
        if (found := self.view.transaction(digest)) is None:
            raise not_found()
        return found

    def _operation(self, token: str) -> AppliedOperation:
        number = int(token) if token.isdigit() else 0
        found = self.view.network.history.everything.operations.between(number, number + 1)
        if not found or not self.view.elder <= number >> 32 <= self.view.state.ledger:
            raise not_found()
        return found[0]

    def _ledger(self, number: str) -> int:
        if not number.isdigit() or not int(number):
            raise bad_request("ledger_id", "Ledger ID must be an integer higher than 0")
        if int(number) < self.view.elder:
            raise before_history()
        if int(number) > self.view.state.ledger:
            raise not_found()
        return int(number)

    def _claimable(self, identifier: str) -> Json:
        if (found := self.view.state.claimable.get(identifier)) is None:
            raise not_found()
        return self._claimable_record(found)

    def _claimable_record(self, found: ClaimableBalance) -> Json:
        return records.claimable_balance(found, self.links, self.view.closed_at(found.modified))


def _check_address(address: str) -> None:
    if not StrKey.is_valid_ed25519_public_key(address):
        raise bad_request("account_id", "Account ID must start with `G` and contain 56 alphanum characters")
