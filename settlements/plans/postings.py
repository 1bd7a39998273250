"""Facts about settlements as ledger postings. Pure: builds drafts, writes nothing.

The money of a settlement is reserved in the `payout` account of its own id, which becomes the id of its payout.
"""

from __future__ import annotations

import uuid
from collections.abc import Iterable, Mapping

from merchants.ledger.chart import AccountKind
from merchants.ledger.posting import AccountRef, Line, PostingDraft
from payments.transfers.postings import payout_account
from settlements.models import DebtDecision, DebtEnding, DebtOffset, Settlement
from settlements.plans.planning import CoinPart

RESERVED, CONVERTED, VOIDED = "settlement_reserved", "settlement_converted", "settlement_voided"
OFFSET = "debt_offset"
ENDS = {
    DebtEnding.WRITTEN_OFF: (AccountKind.DEBT_WRITTEN_OFF, "debt_written_off"),
    DebtEnding.COLLECTED: (AccountKind.DEBT_COLLECTED, "debt_collected"),
}
"""The account that a debt ends in, and the kind of the posting."""
OWED_AGAIN = "debt_owed_again"


def available_account(network: str, coin: str, merchant_id: uuid.UUID) -> AccountRef:
    return AccountRef(network, coin, AccountKind.MERCHANT_AVAILABLE, str(merchant_id))


def treasury_account(network: str, coin: str) -> AccountRef:
    """Coins of the operator, which are exchanged when a settlement is converted."""
    return AccountRef(network, coin, AccountKind.TREASURY)


def reserved(settlement: Settlement, parts: Iterable[CoinPart]) -> PostingDraft:
    """Reserves the merchant's money and books the fee; one below zero is given back."""
    network, lines = settlement.network, []
    for part in parts:
        if taken := part.net + part.fee:
            lines.append(Line(available_account(network, part.coin, settlement.merchant_id), taken))
        lines.append(Line(payout_account(network, part.coin, settlement.id), -part.net))
        if part.fee:
            lines.append(Line(AccountRef(network, part.coin, AccountKind.FEE_SERVICE), -part.fee))
    return PostingDraft(RESERVED, settlement.public_id, tuple(lines))


def paid_ahead(settlement: Settlement, *, available: int) -> PostingDraft:
    """Reserves what a settlement has paid that was found on the network: of what is `available`; the rest is owed."""
    network, coin, amount = settlement.network, settlement.currency, int(settlement.amount)
    there, owner = max(0, min(amount, available)), str(settlement.merchant_id)
    lines = (
        Line(available_account(network, coin, settlement.merchant_id), there),
        Line(AccountRef(network, coin, AccountKind.MERCHANT_RECEIVABLE, owner), amount - there),
        Line(payout_account(network, coin, settlement.id), -amount),
    )
    return PostingDraft(RESERVED, settlement.public_id, tuple(line for line in lines if line.amount))


def offset(made: DebtOffset) -> PostingDraft:
    """Takes of the merchant's balance in one coin, and repays with it a debt in another or on another network.

    The coins stay where they are: the house has gained those taken, and has borne those owed.
    """
    owner, taken, repaid = str(made.merchant_id), int(made.amount), int(made.repaid)
    lines = [
        Line(available_account(made.network, made.asset, made.merchant_id), taken),
        Line(AccountRef(made.network, made.asset, AccountKind.DEBT_OFFSET), -taken),
        Line(AccountRef(made.debt_network, made.debt_asset, AccountKind.DEBT_OFFSET), repaid + int(made.rounding)),
        Line(AccountRef(made.debt_network, made.debt_asset, AccountKind.MERCHANT_RECEIVABLE, owner), -repaid),
    ]
    if made.rounding:
        lines.append(Line(AccountRef(made.debt_network, made.debt_asset, AccountKind.ROUNDING), -int(made.rounding)))
    return PostingDraft(OFFSET, str(made.id), tuple(lines))


def debt_account(decision: DebtDecision) -> AccountRef:
    """The account of the merchant's debt in the coin of a decision."""
    return AccountRef(decision.network, decision.asset, AccountKind.MERCHANT_RECEIVABLE, str(decision.merchant_id))


def debt_end_account(decision: DebtDecision) -> AccountRef:
    """The house's account that a debt ends in."""
    return AccountRef(decision.network, decision.asset, ENDS[DebtEnding(decision.ending)][0])


def debt_ended(decision: DebtDecision) -> PostingDraft:
    """A merchant need not repay a debt here: the house bears it, or has been paid elsewhere."""
    amount = int(decision.amount)
    lines = (Line(debt_end_account(decision), amount), Line(debt_account(decision), -amount))
    return PostingDraft(ENDS[DebtEnding(decision.ending)][1], str(decision.id), lines)


def debt_owed_again(decision: DebtDecision, *, available: int) -> PostingDraft:
    """The end of a debt is taken back: it comes off what is `available` to the merchant, and the rest is owed."""
    amount = int(decision.amount)
    there = min(amount, available)
    lines = (
        Line(available_account(decision.network, decision.asset, decision.merchant_id), there),
        Line(debt_account(decision), amount - there),
        Line(debt_end_account(decision), -amount),
    )
    return PostingDraft(OWED_AGAIN, str(decision.id), tuple(line for line in lines if line.amount))


def conversion(settlement: Settlement, parts: Iterable[CoinPart]) -> PostingDraft | None:
    """Other coins go into the treasury and the settlement currency comes out of it; None when there are no others.

    What rounding to whole millionths leaves of their worth is the house's, and in an account of its own; so is what the
    house gains or loses where another rate was agreed than that of the moment.
    """
    network, lines, bought, rounding, spread = settlement.network, [], 0, 0, 0
    for part in parts:
        if part.coin == settlement.currency:
            continue
        lines.append(Line(payout_account(network, part.coin, settlement.id), part.net))
        lines.append(Line(treasury_account(network, part.coin), -part.net))
        bought += part.worth(part.net, settlement.decimals)
        rounding += part.rounded_off(settlement.decimals)
        spread += part.spread(settlement.decimals)
    if not lines:
        return None
    if bought or rounding:
        lines.append(Line(treasury_account(network, settlement.currency), bought + rounding))
    if bought:
        lines.append(Line(payout_account(network, settlement.currency, settlement.id), -bought))
    if rounding:
        lines.append(Line(AccountRef(network, settlement.currency, AccountKind.ROUNDING), -rounding))
    if spread:
        lines.append(Line(AccountRef(network, settlement.currency, AccountKind.SPREAD), -spread))
        lines.append(Line(AccountRef(network, settlement.currency, AccountKind.SPREAD_STOCK), spread))
    return PostingDraft(CONVERTED, settlement.public_id, tuple(lines))


def voided(settlement: Settlement, reserved: Mapping[str, int]) -> PostingDraft:
    """Returns what is still reserved, by coin, to the merchant."""
    network, lines = settlement.network, []
    for coin, amount in sorted(reserved.items()):
        lines.append(Line(payout_account(network, coin, settlement.id), amount))
        lines.append(Line(available_account(network, coin, settlement.merchant_id), -amount))
    return PostingDraft(VOIDED, settlement.public_id, tuple(lines))
