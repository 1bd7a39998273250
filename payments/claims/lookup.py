"""Explains an on-chain transaction whose payment is not known, for operators: what each network knows of it."""

from __future__ import annotations

import re
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import structlog

from config.pages.wording import coins, whole
from payments.chains import registry
from payments.chains.errors import ChainError
from payments.chains.protocol.transfers import FoundTransaction, IncomingTransfer, NonDeposit
from payments.claims.claims import explain_replies, request_rescan
from payments.claims.explanation import READ_AGAIN
from payments.models import OfferedAddress, Payment
from payments.transfers.models import Wallet

logger = structlog.get_logger(__name__)

LONGEST_SECONDS = 15
"""After so long no further network is queried, because a page waits for the replies."""

MOST_TRANSFERS = 20
"""How many transfers of a transaction are shown: some pay thousands of people at once."""

Moved = IncomingTransfer | NonDeposit

_HASH = re.compile(r"(0x)?[0-9a-f]{64}")


UNREAD = "It came to this payment's address, but no record has it: it was never read."


@dataclass(frozen=True)
class Line:
    """A transfer in words, with the payment that it came to."""

    words: str
    payment: Payment | None = None


@dataclass(frozen=True)
class Reply:
    """What one network knows of a transaction, in a sentence and in its transfers."""

    place: str
    words: str
    lines: Sequence[Line] = ()
    is_unread: bool = False
    """True if it has money of a payment that was never seen."""


def is_hash(text: str) -> bool:
    return _HASH.fullmatch(text.lower()) is not None


def look_up(transaction_hash: str, *, reads_again: bool = False) -> Iterator[Reply]:
    """The replies of all networks in use whose hashes look like this one, production first. Networks are queried: call
    it in no database transaction. With `reads_again` what was never seen is requested from the watcher; else nothing
    is changed."""
    known, until = transaction_hash.lower(), time.monotonic() + LONGEST_SECONDS
    alike = [
        place
        for place in sorted(registry.places_in_use())
        if re.fullmatch(f"{registry.profile(*place).hash_prefix}[0-9a-f]{{64}}", known)
    ]
    for number, (environment, network) in enumerate(alike):
        if number and time.monotonic() >= until:
            name = _name_of(environment, network)
            yield Reply(name, "It was not queried, as the others took too long. Try again shortly.")
        else:
            yield _reply(environment, network, known, reads_again=reads_again)


def _name_of(environment: str, network: str) -> str:
    return f"{registry.profile(environment, network).name}, {environment}"


def _reply(environment: str, network: str, known: str, *, reads_again: bool) -> Reply:
    place = _name_of(environment, network)
    try:
        found = registry.chain(environment, network).reading.find_transaction(known)
    except ChainError as error:
        logger.warning("transaction could not be looked up", network=network, error=str(error))
        return Reply(place, "Its providers did not answer, or not alike: nothing is known. Try again shortly.")
    if found is None:
        return Reply(place, "It knows no transaction with this hash.")
    if found.state == "pending":
        return Reply(place, "It knows the transaction, but in no block yet. Nothing has moved until it is in one.")
    height = whole(found.height or 0)
    if found.state == "failed":
        return Reply(place, f"The transaction failed in block {height}: nothing moved.")
    number = len(found.transfers) + len(found.idle)
    words = f"It is in block {height}." if number else f"It is in block {height}, and moved no coins."
    if number > MOST_TRANSFERS:
        words = f"{words} The first {MOST_TRANSFERS} of its {whole(number)} transfers:"
    return _explained(Reply(place, words), environment, network, found, reads_again=reads_again)


def _explained(reply: Reply, environment: str, network: str, found: FoundTransaction, *, reads_again: bool) -> Reply:
    """The reply with its transfers, each with the payment that it came to, or whose address it is."""
    every: list[Moved] = [*found.transfers, *found.idle]
    moved = every[:MOST_TRANSFERS]
    payments, own = _payments(environment, moved), _own_addresses(environment, network, moved)
    profile, known = registry.profile(environment, network), found.transaction_hash
    explained = {
        payment.pk: (payment, explain_replies(payment, known, [(network, found)])) for payment in payments.values()
    }
    unread = [each for each in explained.values() if each[1].to_be_read_again]
    for payment, explanation in unread if reads_again else ():
        request_rescan(payment, known, explanation)
    assets = {asset.contract: asset for asset in profile.assets.values()} | {"": profile.native}
    lines = []
    for number, each in enumerate(moved):
        asset = assets.get(each.contract)
        what = coins(each.amount, asset.decimals, asset.code) if asset else f"An unknown token ({each.contract})"
        words = f"{what} from {each.sender} to {each.recipient}{f' with memo {each.memo}' if each.memo else ''}."
        why, to = own.get(each.recipient, "It is no address of ours."), payments.get((each.recipient, each.memo or ""))
        if to:  # the explanation lists transfers in the same order
            one = explained[to.pk][1].transfers[number]
            why = UNREAD if one.code in READ_AGAIN and not reads_again else one.message
        lines.append(Line(f"{words} {why}", to))
    return replace(reply, lines=lines, is_unread=bool(unread))


def _payments(environment: str, moved: Sequence[Moved]) -> dict[tuple[str, str], Payment]:
    """Payments that are or could be paid where something moved to, by address and memo."""
    addresses, memos = {each.recipient for each in moved}, {each.memo or "" for each in moved}
    offered = OfferedAddress.objects.filter(payment__environment=environment, address__in=addresses, memo__in=memos)
    own = Payment.objects.filter(environment=environment, deposit_address__in=addresses, memo__in=memos)
    found = {(each.address, each.memo): each.payment for each in offered.select_related("payment")}
    return found | {(each.deposit_address, each.memo): each for each in own.defer("qr_png")}


def _own_addresses(environment: str, network: str, moved: Sequence[Moved]) -> dict[str, str]:
    """Our other addresses among the recipients, each in a sentence."""
    hot = Wallet.objects.filter(
        environment=environment, network=network, address__in={each.recipient for each in moved}
    )
    found = {wallet.address: "That is the hot wallet." for wallet in hot}
    if registry.profile(environment, network).shares_account:
        shared = registry.chain(environment, network).payout_address()
        found[shared] = "That is the account that payments share, but no payment has this memo."
    return found
