"""Facts about settlements as ledger postings. Pure: builds drafts, writes nothing.

The money of a settlement waits in the `payout` account of its own id, which becomes the id of its payout.
"""

from __future__ import annotations

import uuid
from collections.abc import Iterable, Mapping

from merchants.ledger.chart import AccountKind
from merchants.ledger.posting import AccountRef, Line, PostingDraft
from payments.transfers.postings import payout_account
from settlements.models import Settlement
from settlements.planning import CoinPart

RESERVED, CONVERTED, VOIDED = "settlement_reserved", "settlement_converted", "settlement_voided"


def available_account(network: str, coin: str, merchant_id: uuid.UUID) -> AccountRef:
    return AccountRef(network, coin, AccountKind.MERCHANT_AVAILABLE, str(merchant_id))


def treasury_account(network: str, coin: str) -> AccountRef:
    """The operator's own coins: they take in what is converted, and give the settlement currency for it."""
    return AccountRef(network, coin, AccountKind.TREASURY)


def reserved(settlement: Settlement, parts: Iterable[CoinPart]) -> PostingDraft:
    """The merchant's money is set apart, and the fee is earned."""
    network, lines = settlement.network, []
    for part in parts:
        lines.append(Line(available_account(network, part.coin, settlement.merchant_id), part.net + part.fee))
        lines.append(Line(payout_account(network, part.coin, settlement.id), -part.net))
        if part.fee:
            lines.append(Line(AccountRef(network, part.coin, AccountKind.FEE_SERVICE), -part.fee))
    return PostingDraft(RESERVED, settlement.public_id, tuple(lines))


def conversion(settlement: Settlement, parts: Iterable[CoinPart]) -> PostingDraft | None:
    """Other coins go into the treasury and the settlement currency comes out of it; None when there are no others."""
    network, lines, bought = settlement.network, [], 0
    for part in parts:
        if part.coin == settlement.currency:
            continue
        lines.append(Line(payout_account(network, part.coin, settlement.id), part.net))
        lines.append(Line(treasury_account(network, part.coin), -part.net))
        bought += part.worth(part.net, settlement.decimals)
    if not lines:
        return None
    if bought:
        lines.append(Line(treasury_account(network, settlement.currency), bought))
        lines.append(Line(payout_account(network, settlement.currency, settlement.id), -bought))
    return PostingDraft(CONVERTED, settlement.public_id, tuple(lines))


def voided(settlement: Settlement, reserved: Mapping[str, int]) -> PostingDraft:
    """What is still reserved, by coin, is the merchant's again."""
    network, lines = settlement.network, []
    for coin, amount in sorted(reserved.items()):
        lines.append(Line(payout_account(network, coin, settlement.id), amount))
        lines.append(Line(available_account(network, coin, settlement.merchant_id), -amount))
    return PostingDraft(VOIDED, settlement.public_id, tuple(lines))
