"""Offers, and the payments that take one.

A payment takes a part of the cheapest offer that reaches, at the offer's price; what is paid for it is rounded up to a
whole stroop, or is all that is sent. No two offers are matched, none is changed, and liabilities are not kept.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from stellar_sdk import Keypair, Price, xdr
from stellar_sdk.operation import ManageSellOffer, PathPaymentStrictReceive, PathPaymentStrictSend

from tests.stellar.network.entries import Offer, State, amount_text
from tests.stellar.network.moving import (
    Applying,
    Codes,
    Payload,
    asset_fields,
    asset_name,
    credit,
    debit,
    sdk_asset,
    spendable,
    stroops,
    subentry,
)
from tests.stellar.network.results import KINDS, Refused


@dataclass(frozen=True, slots=True)
class Taken:
    """A part of an offer that was taken: `sold` by its seller, `bought` in return."""

    offer: Offer
    sold: int
    bought: int


def pay(applying: Applying, operation: PathPaymentStrictReceive | PathPaymentStrictSend) -> Payload:
    """From one asset to another by an offer, if they differ."""
    state, destination = applying.state, operation.destination.account_id
    receives = isinstance(operation, PathPaymentStrictReceive)
    kind = KINDS[type(operation)]
    codes = {code.name.removeprefix(f"{kind.name.upper()}_"): code for code in kind.codes}
    if destination not in state.accounts:
        raise Refused(codes["NO_DESTINATION"])
    fixed, limit = (
        (operation.dest_amount, operation.send_max)
        if isinstance(operation, PathPaymentStrictReceive)
        else (operation.send_amount, operation.dest_min)
    )
    pays, gets = asset_name(operation.send_asset), asset_name(operation.dest_asset)
    taken, sent, arrived = None, stroops(fixed), stroops(fixed)
    if pays != gets:
        taken = _take(state, gets, pays, stroops(fixed), receives=receives, few=Refused(codes["TOO_FEW_OFFERS"]))
        sent, arrived = taken.bought, taken.sold
    if receives and sent > stroops(limit):
        raise Refused(codes["OVER_SENDMAX"])
    if not receives and arrived < stroops(limit):
        raise Refused(codes["UNDER_DESTMIN"])
    sending = Codes(codes["SRC_NO_TRUST"], codes["SRC_NOT_AUTHORIZED"], codes["UNDERFUNDED"])
    debit(state, applying.source.account_id, pays, sent, sending)
    credit(state, destination, gets, arrived, Codes(codes["NO_TRUST"], codes["NOT_AUTHORIZED"], codes["LINE_FULL"]))
    applying.facts = {"amount": arrived, "source_amount": sent}
    applying.note(operation.destination, "account_credited", **asset_fields(gets), amount=amount_text(arrived))
    applying.note(applying.source, "account_debited", **asset_fields(pays), amount=amount_text(sent))
    if taken is not None:
        _note_trade(applying, applying.source.account_id, taken.offer, (sent, pays), (arrived, gets))
        _note_trade(applying, taken.offer.seller, taken.offer, (arrived, gets), (sent, pays))
    success = getattr(xdr, f"{kind.result.__name__}Success")
    return {"success": success(_atoms(taken), _last(destination, gets, arrived))}


def manage_sell_offer(applying: Applying, operation: ManageSellOffer) -> Payload:
    """Make an offer."""
    codes, state, seller = xdr.ManageSellOfferResultCode, applying.state, applying.source.account_id
    selling, buying = asset_name(operation.selling), asset_name(operation.buying)
    amount, price = stroops(operation.amount), (operation.price.n, operation.price.d)
    if operation.offer_id or not amount:
        raise Refused(codes.MANAGE_SELL_OFFER_MALFORMED)
    if not spendable(state, seller, selling):
        raise Refused(codes.MANAGE_SELL_OFFER_UNDERFUNDED)
    with subentry(applying, codes.MANAGE_SELL_OFFER_LOW_RESERVE):
        state.put_account(replace(applying.account, offers=applying.account.offers + 1))
    state.last_offer += 1
    state.put_offer(Offer(state.last_offer, seller, selling, buying, amount, price))
    entry = xdr.OfferEntry(
        seller_id=Keypair.from_public_key(seller).xdr_account_id(),
        offer_id=xdr.Int64(state.last_offer),
        selling=operation.selling.to_xdr_object(),
        buying=operation.buying.to_xdr_object(),
        amount=xdr.Int64(amount),
        price=Price(*price).to_xdr_object(),
        flags=xdr.Uint32(0),
        ext=xdr.OfferEntryExt(0),
    )
    made = xdr.ManageOfferSuccessResultOffer(xdr.ManageOfferEffect.MANAGE_OFFER_CREATED, entry)
    return {"success": xdr.ManageOfferSuccessResult([], made)}


def _take(state: State, gets: str, pays: str, amount: int, *, receives: bool, few: Refused) -> Taken:
    """Take so much of an offer, or as much as so much buys."""
    open_offers = [each for each in state.offers.values() if (each.selling, each.buying) == (gets, pays)]
    for offer in sorted(open_offers, key=lambda each: each.price[0] / each.price[1]):
        n, d = offer.price
        sold, bought = (amount, -(-amount * n // d)) if receives else (amount * d // n, amount)
        if not 0 < sold <= min(offer.amount, spendable(state, offer.seller, gets)):
            continue
        both = Codes(few.code, few.code, few.code)
        debit(state, offer.seller, gets, sold, both)
        credit(state, offer.seller, pays, bought, both)
        if offer.amount > sold:
            state.put_offer(replace(offer, amount=offer.amount - sold))
        else:
            state.remove_offer(offer.number)
            seller = state.accounts[offer.seller]
            state.put_account(replace(seller, offers=seller.offers - 1))
        return Taken(offer, sold, bought)
    raise few


def _note_trade(applying: Applying, account: str, offer: Offer, gave: tuple[int, str], got: tuple[int, str]) -> None:
    """`account` is one of both who traded."""
    other = offer.seller if account != offer.seller else applying.source.account_id
    sides = {f"sold_{name}": value for name, value in asset_fields(gave[1]).items()}
    sides |= {f"bought_{name}": value for name, value in asset_fields(got[1]).items()}
    applying.note(
        account,
        "trade",
        seller=other,
        offer_id=str(offer.number),
        sold_amount=amount_text(gave[0]),
        bought_amount=amount_text(got[0]),
        **sides,
    )


def _atoms(taken: Taken | None) -> list[xdr.ClaimAtom]:
    if taken is None:
        return []
    atom = xdr.ClaimOfferAtom(
        seller_id=Keypair.from_public_key(taken.offer.seller).xdr_account_id(),
        offer_id=xdr.Int64(taken.offer.number),
        asset_sold=sdk_asset(taken.offer.selling).to_xdr_object(),
        amount_sold=xdr.Int64(taken.sold),
        asset_bought=sdk_asset(taken.offer.buying).to_xdr_object(),
        amount_bought=xdr.Int64(taken.bought),
    )
    return [xdr.ClaimAtom(xdr.ClaimAtomType.CLAIM_ATOM_TYPE_ORDER_BOOK, order_book=atom)]


def _last(receiver: str, asset: str, amount: int) -> xdr.SimplePaymentResult:
    account = Keypair.from_public_key(receiver).xdr_account_id()
    return xdr.SimplePaymentResult(account, sdk_asset(asset).to_xdr_object(), xdr.Int64(amount))
