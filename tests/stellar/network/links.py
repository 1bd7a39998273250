"""The `_links` of records and pages: where each thing has an address of its own."""

from __future__ import annotations

from typing import Any, TypeAlias
from urllib.parse import urlencode

Link: TypeAlias = dict[str, Any]

_PAGE = "{?cursor,limit,order}"
_RECEIVING = (
    "source_assets,source_account,destination_account,"
    "destination_asset_type,destination_asset_issuer,destination_asset_code,destination_amount"
)
_SENDING = (
    "destination_account,destination_assets,source_asset_type,source_asset_issuer,source_asset_code,source_amount"
)
_BOTH_SIDES = tuple(f"{side}_asset_{part}" for side in ("base", "counter") for part in ("type", "code", "issuer"))
_TRADED = "&".join(f"{name}={{{name}}}" for name in _BOTH_SIDES)
_BOOK = ",".join(f"{side}_asset_{part}" for side in ("selling", "buying") for part in ("type", "code", "issuer"))


class Links:
    """Links of the Horizon that answers at `url`."""

    def __init__(self, url: str) -> None:
        self._url = url

    def root(self) -> Link:
        page = self._page
        return {
            "account": self._template("/accounts/{account_id}"),
            "accounts": self._template("/accounts{?signer,sponsor,asset,liquidity_pool,cursor,limit,order}"),
            "account_transactions": page("/accounts/{account_id}/transactions"),
            "claimable_balances": self._template("/claimable_balances{?asset,sponsor,claimant,cursor,limit,order}"),
            "assets": self._template("/assets{?asset_code,asset_issuer,cursor,limit,order}"),
            "effects": page("/effects"),
            "fee_stats": self._plain("/fee_stats"),
            "ledger": self._template("/ledgers/{sequence}"),
            "ledgers": page("/ledgers"),
            "liquidity_pools": self._template("/liquidity_pools{?reserves,account,cursor,limit,order}"),
            "offer": self._template("/offers/{offer_id}"),
            "offers": self._template("/offers{?selling,buying,seller,sponsor,cursor,limit,order}"),
            "operation": self._template("/operations/{id}"),
            "operations": self._template("/operations{?cursor,limit,order,include_failed}"),
            "order_book": self._template(f"/order_book{{?{_BOOK},limit}}"),
            "payments": self._template("/payments{?cursor,limit,order,include_failed}"),
            "self": self._plain("/"),
            "strict_receive_paths": self._template(f"/paths/strict-receive{{?{_RECEIVING}}}"),
            "strict_send_paths": self._template(f"/paths/strict-send{{?{_SENDING}}}"),
            "trade_aggregations": self._template(f"/trade_aggregations?{_TRADED}"),
            "trades": self._template(f"/trades?{_TRADED}"),
            "transaction": self._template("/transactions/{hash}"),
            "transactions": page("/transactions"),
        }

    def account(self, address: str) -> Link:
        base = f"/accounts/{address}"
        return {
            "self": self._plain(base),
            **{
                name: self._page(f"{base}/{name}")
                for name in ("transactions", "operations", "payments", "effects", "offers", "trades")
            },
            "data": self._template(f"{base}/data/{{key}}"),
        }

    def transaction(self, digest: str, ledger: int, source: str, token: int) -> Link:
        base = f"/transactions/{digest}"
        return {
            "self": self._plain(base),
            "account": self._plain(f"/accounts/{source}"),
            "ledger": self._plain(f"/ledgers/{ledger}"),
            "operations": self._page(f"{base}/operations"),
            "effects": self._page(f"{base}/effects"),
            "precedes": self._plain(f"/transactions?order=asc&cursor={token}"),
            "succeeds": self._plain(f"/transactions?order=desc&cursor={token}"),
            "transaction": self._plain(base),
        }

    def operation(self, token: int, digest: str) -> Link:
        return {
            "self": self._plain(f"/operations/{token}"),
            "transaction": self._plain(f"/transactions/{digest}"),
            "effects": self._plain(f"/operations/{token}/effects"),
            "succeeds": self._plain(f"/effects?order=desc&cursor={token}"),
            "precedes": self._plain(f"/effects?order=asc&cursor={token}"),
        }

    def effect(self, operation: int, token: str) -> Link:
        return {
            "operation": self._plain(f"/operations/{operation}"),
            "succeeds": self._plain(f"/effects?order=desc&cursor={token}"),
            "precedes": self._plain(f"/effects?order=asc&cursor={token}"),
        }

    def ledger(self, number: int) -> Link:
        base = f"/ledgers/{number}"
        kinds = ("transactions", "operations", "payments", "effects")
        return {"self": self._plain(base), **{name: self._page(f"{base}/{name}") for name in kinds}}

    def claimable_balance(self, identifier: str) -> Link:
        base = f"/claimable_balances/{identifier}"
        return {
            "self": self._plain(base),
            **{name: self._page(f"{base}/{name}") for name in ("transactions", "operations")},
        }

    def page(self, path: str, asked: dict[str, str], *, order: str, first: str, last: str) -> Link:
        """The links of a page: itself, the one after its last record, and the one before its first."""
        back = "desc" if order == "asc" else "asc"

        def link(cursor: str, direction: str) -> Link:
            # Parameters stand in the order of the alphabet.
            return self._plain(f"{path}?{urlencode(sorted((asked | {'cursor': cursor, 'order': direction}).items()))}")

        return {"self": link(asked["cursor"], order), "next": link(last, order), "prev": link(first, back)}

    def _plain(self, path: str) -> Link:
        return {"href": self._url + path}

    def _template(self, path: str) -> Link:
        return {"href": self._url + path, "templated": True}

    def _page(self, path: str) -> Link:
        return self._template(path + _PAGE)
