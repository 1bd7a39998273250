"""A small order book, and the payments that go through it.

An offer is taken at its own price, and what is paid for it is rounded up to a whole stroop, or to all that is left to
spend. Offers are limited by what their seller has at that moment; liabilities are not kept.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from enum import IntEnum
from itertools import pairwise

from stellar_sdk import Keypair, Price, xdr
from stellar_sdk.operation import ManageSellOffer, PathPaymentStrictReceive, PathPaymentStrictSend

from tests.stellar.network.entries import NATIVE, Offer, State, Trustline, amount_text, issuer_of
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
from tests.stellar.network.results import Refused


@dataclass(frozen=True, slots=True)
class Taken:
    """A part of an offer that was taken: `sold` by its seller, `bought` in return."""

    offer: Offer
    sold: int
    bought: int


def pay_strict_receive(applying: Applying, operation: PathPaymentStrictReceive) -> Payload:
    codes, state = xdr.PathPaymentStrictReceiveResultCode, applying.state
    amount = stroops(operation.dest_amount)
    if operation.destination.account_id not in state.accounts:
        raise Refused(codes.PATH_PAYMENT_STRICT_RECEIVE_NO_DESTINATION)
    hops = [asset_name(each) for each in (operation.send_asset, *operation.path, operation.dest_asset)]
    receiving = Codes(
        codes.PATH_PAYMENT_STRICT_RECEIVE_NO_TRUST,
        codes.PATH_PAYMENT_STRICT_RECEIVE_NOT_AUTHORIZED,
        codes.PATH_PAYMENT_STRICT_RECEIVE_LINE_FULL,
    )
    sending = Codes(
        codes.PATH_PAYMENT_STRICT_RECEIVE_SRC_NO_TRUST,
        codes.PATH_PAYMENT_STRICT_RECEIVE_SRC_NOT_AUTHORIZED,
        codes.PATH_PAYMENT_STRICT_RECEIVE_UNDERFUNDED,
    )
    credit(state, operation.destination.account_id, hops[-1], amount, receiving)
    needed, taken = amount, list[Taken]()
    for pays, gets in reversed(_pairs(hops)):
        parts = _take(state, gets=gets, pays=pays, wanted=needed, few=_few(codes))
        taken, needed = parts + taken, sum(part.bought for part in parts)
    if needed > stroops(operation.send_max):
        raise Refused(codes.PATH_PAYMENT_STRICT_RECEIVE_OVER_SENDMAX)
    debit(state, applying.source.account_id, hops[0], needed, sending)
    applying.facts = {"amount": amount, "source_amount": needed}
    _note_path(applying, operation, hops, needed, amount, taken)
    return {"success": xdr.PathPaymentStrictReceiveResultSuccess(*_success(operation, hops[-1], amount, taken))}


def pay_strict_send(applying: Applying, operation: PathPaymentStrictSend) -> Payload:
    codes, state = xdr.PathPaymentStrictSendResultCode, applying.state
    amount = stroops(operation.send_amount)
    if operation.destination.account_id not in state.accounts:
        raise Refused(codes.PATH_PAYMENT_STRICT_SEND_NO_DESTINATION)
    hops = [asset_name(each) for each in (operation.send_asset, *operation.path, operation.dest_asset)]
    receiving = Codes(
        codes.PATH_PAYMENT_STRICT_SEND_NO_TRUST,
        codes.PATH_PAYMENT_STRICT_SEND_NOT_AUTHORIZED,
        codes.PATH_PAYMENT_STRICT_SEND_LINE_FULL,
    )
    sending = Codes(
        codes.PATH_PAYMENT_STRICT_SEND_SRC_NO_TRUST,
        codes.PATH_PAYMENT_STRICT_SEND_SRC_NOT_AUTHORIZED,
        codes.PATH_PAYMENT_STRICT_SEND_UNDERFUNDED,
    )
    debit(state, applying.source.account_id, hops[0], amount, sending)
    arriving, taken = amount, list[Taken]()
    for pays, gets in _pairs(hops):
        parts = _take(state, gets=gets, pays=pays, offered=arriving, few=_few(codes))
        taken, arriving = taken + parts, sum(part.sold for part in parts)
    if arriving < stroops(operation.dest_min):
        raise Refused(codes.PATH_PAYMENT_STRICT_SEND_UNDER_DESTMIN)
    credit(state, operation.destination.account_id, hops[-1], arriving, receiving)
    applying.facts = {"amount": arriving, "source_amount": amount}
    _note_path(applying, operation, hops, amount, arriving, taken)
    return {"success": xdr.PathPaymentStrictSendResultSuccess(*_success(operation, hops[-1], arriving, taken))}


def manage_sell_offer(applying: Applying, operation: ManageSellOffer) -> Payload:
    """Make an offer, change one or take it back. A new one is not matched with those that are open."""
    codes, state, seller = xdr.ManageSellOfferResultCode, applying.state, applying.source.account_id
    selling, buying = asset_name(operation.selling), asset_name(operation.buying)
    amount = stroops(operation.amount)
    before = state.offers.get(operation.offer_id)
    if operation.offer_id and (before is None or before.seller != seller):
        raise Refused(codes.MANAGE_SELL_OFFER_NOT_FOUND)
    if not amount:
        if before is None:
            raise Refused(codes.MANAGE_SELL_OFFER_MALFORMED)
        _close(state, before)
        return _offer_payload(xdr.ManageOfferEffect.MANAGE_OFFER_DELETED, None)
    for asset, no_trust, not_authorised in (
        (selling, codes.MANAGE_SELL_OFFER_SELL_NO_TRUST, codes.MANAGE_SELL_OFFER_SELL_NOT_AUTHORIZED),
        (buying, codes.MANAGE_SELL_OFFER_BUY_NO_TRUST, codes.MANAGE_SELL_OFFER_BUY_NOT_AUTHORIZED),
    ):
        if (line := _held(state, seller, asset)) is None:
            raise Refused(no_trust)
        if not line.authorised:
            raise Refused(not_authorised)
    if not spendable(state, seller, selling):
        raise Refused(codes.MANAGE_SELL_OFFER_UNDERFUNDED)
    price = (operation.price.n, operation.price.d)
    if before is not None:
        state.put_offer(replace(before, selling=selling, buying=buying, amount=amount, price=price))
        return _offer_payload(xdr.ManageOfferEffect.MANAGE_OFFER_UPDATED, state.offers[before.number])
    with subentry(applying, codes.MANAGE_SELL_OFFER_LOW_RESERVE):
        state.put_account(replace(applying.account, offers=applying.account.offers + 1))
    state.last_offer += 1
    state.put_offer(Offer(state.last_offer, seller, selling, buying, amount, price))
    return _offer_payload(xdr.ManageOfferEffect.MANAGE_OFFER_CREATED, state.offers[state.last_offer])


def cheapest(state: State, *, gets: str, pays: str) -> list[Offer]:
    """The open offers that sell one asset for another: the best price first, then the oldest."""
    found = (each for each in state.offers.values() if each.selling == gets and each.buying == pays)
    return sorted(found, key=lambda each: (each.price[0] / each.price[1], each.number))


def quote(state: State, *, gets: str, pays: str, amount: int, receiving: bool) -> int:
    """What so much would cost (`receiving`), or what would be had for it; 0 when there are too few offers."""
    mark, few = state.mark(), xdr.PathPaymentStrictReceiveResultCode.PATH_PAYMENT_STRICT_RECEIVE_TOO_FEW_OFFERS
    try:
        wanted, offered = (amount, None) if receiving else (None, amount)
        parts = _take(state, gets=gets, pays=pays, few=few, wanted=wanted, offered=offered)
        return sum(part.bought if receiving else part.sold for part in parts)
    except Refused:
        return 0
    finally:
        state.undo(mark)


def _take(
    state: State,
    *,
    gets: str,
    pays: str,
    few: IntEnum,
    wanted: int | None = None,
    offered: int | None = None,
) -> list[Taken]:
    """Take offers until so much is bought (`wanted`) or spent (`offered`); Refused when there are too few."""
    taken, left = [], wanted if wanted is not None else offered or 0
    for offer in cheapest(state, gets=gets, pays=pays):
        n, d = offer.price
        available = min(offer.amount, spendable(state, offer.seller, gets))
        sold = min(available, left if wanted is not None else left * d // n)
        if not sold:
            continue
        bought = left if wanted is None and sold < available else -(-sold * n // d)
        both = Codes(few, few, few)
        debit(state, offer.seller, gets, sold, both)
        credit(state, offer.seller, pays, bought, both)
        _shrink(state, offer, sold)
        taken.append(Taken(offer, sold, bought))
        left -= sold if wanted is not None else bought
        if left <= 0:
            return taken
    raise Refused(few)


def _few(codes: type[IntEnum]) -> IntEnum:
    return next(code for code in codes if code.name.endswith("TOO_FEW_OFFERS"))


def _pairs(hops: list[str]) -> list[tuple[str, str]]:
    """From each asset on the way to the next one; an asset that follows itself needs no offer."""
    return [(one, next_one) for one, next_one in pairwise(hops) if one != next_one]


def _shrink(state: State, offer: Offer, sold: int) -> None:
    if offer.amount > sold:
        state.put_offer(replace(offer, amount=offer.amount - sold))
    else:
        _close(state, offer)


def _close(state: State, offer: Offer) -> None:
    state.remove_offer(offer.number)
    seller = state.accounts[offer.seller]
    state.put_account(replace(seller, offers=seller.offers - 1))


def _held(state: State, address: str, asset: str) -> Trustline | None:
    """The trustline of an asset; the native coin and an issuer's own asset need none."""
    if asset == NATIVE or issuer_of(asset) == address:
        return Trustline(asset, limit=0)
    return state.accounts[address].lines.get(asset)


def _note_path(
    applying: Applying,
    operation: PathPaymentStrictReceive | PathPaymentStrictSend,
    hops: list[str],
    sent: int,
    arrived: int,
    taken: Iterable[Taken],
) -> None:
    applying.note(operation.destination, "account_credited", **asset_fields(hops[-1]), amount=amount_text(arrived))
    applying.note(applying.source, "account_debited", **asset_fields(hops[0]), amount=amount_text(sent))
    for part in taken:
        ours, theirs = (part.sold, part.offer.selling), (part.bought, part.offer.buying)
        _note_trade(applying, applying.source.account_id, part.offer.seller, part.offer.number, theirs, ours)
        _note_trade(applying, part.offer.seller, applying.source.account_id, part.offer.number, ours, theirs)


def _note_trade(
    applying: Applying, account: str, other: str, number: int, gave: tuple[int, str], got: tuple[int, str]
) -> None:
    sides = {f"sold_{name}": value for name, value in asset_fields(gave[1]).items()}
    sides |= {f"bought_{name}": value for name, value in asset_fields(got[1]).items()}
    applying.note(
        account,
        "trade",
        seller=other,
        offer_id=str(number),
        sold_amount=amount_text(gave[0]),
        bought_amount=amount_text(got[0]),
        **sides,
    )


def _success(
    operation: PathPaymentStrictReceive | PathPaymentStrictSend, asset: str, amount: int, taken: Iterable[Taken]
) -> tuple[list[xdr.ClaimAtom], xdr.SimplePaymentResult]:
    """What a successful path payment says: the offers taken, and what arrived last."""
    atoms = [
        xdr.ClaimAtom(
            xdr.ClaimAtomType.CLAIM_ATOM_TYPE_ORDER_BOOK,
            order_book=xdr.ClaimOfferAtom(
                seller_id=Keypair.from_public_key(part.offer.seller).xdr_account_id(),
                offer_id=xdr.Int64(part.offer.number),
                asset_sold=sdk_asset(part.offer.selling).to_xdr_object(),
                amount_sold=xdr.Int64(part.sold),
                asset_bought=sdk_asset(part.offer.buying).to_xdr_object(),
                amount_bought=xdr.Int64(part.bought),
            ),
        )
        for part in taken
    ]
    receiver = Keypair.from_public_key(operation.destination.account_id).xdr_account_id()
    return atoms, xdr.SimplePaymentResult(receiver, sdk_asset(asset).to_xdr_object(), xdr.Int64(amount))


def _offer_payload(effect: xdr.ManageOfferEffect, offer: Offer | None) -> Payload:
    entry = None
    if offer is not None:
        entry = xdr.OfferEntry(
            seller_id=Keypair.from_public_key(offer.seller).xdr_account_id(),
            offer_id=xdr.Int64(offer.number),
            selling=sdk_asset(offer.selling).to_xdr_object(),
            buying=sdk_asset(offer.buying).to_xdr_object(),
            amount=xdr.Int64(offer.amount),
            price=Price(*offer.price).to_xdr_object(),
            flags=xdr.Uint32(0),
            ext=xdr.OfferEntryExt(0),
        )
    return {"success": xdr.ManageOfferSuccessResult([], xdr.ManageOfferSuccessResultOffer(effect, entry))}
