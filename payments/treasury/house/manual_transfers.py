"""Transfers sent from a hot wallet without Ballast: two people agree on what each was, and it is booked for ever.

thaw_wallet or a resume has taken it over, as a transfer with found payouts: its sequence, its coins and its fee are
known from then on. Here the payouts get a withdrawal of the house, or whose they were.
"""

from __future__ import annotations

import uuid
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import structlog

from config import ids
from config.errors import InvalidParameter
from config.installation.services import require_resumed
from config.money import Asset
from config.pages import wording
from merchants.four_eyes.models import Proposal, ProposalKind
from merchants.four_eyes.services import propose, register
from merchants.ledger.chart import AccountKind
from merchants.ledger.posting import lock_accounts, post_draft
from merchants.models import User
from payments.chains import registry
from payments.chains.protocol.transfers import OutgoingTransfer
from payments.transfers.execution.hashes import signed_as
from payments.transfers.models import Payout, Transfer, Wallet
from payments.transfers.owners import attribute_payout, found_payouts, owner_prefixes, take_found
from payments.transfers.postings import fee_accounts, hot_account, moving_account, payout_account
from payments.transfers.services import Mined
from payments.treasury.house import postings
from payments.treasury.house.house_balance import house_balance
from payments.treasury.house.models import AllowedAddress, Withdrawal
from payments.treasury.house.withdrawals import agreeing, end_withdrawal, reserve_payout
from payments.treasury.models import ColdWallet

logger = structlog.get_logger(__name__)


class NotSentByHand(InvalidParameter):
    """There is nothing of this on-chain transaction to be booked."""

    code = "not_sent_by_hand"


@dataclass(frozen=True, slots=True)
class SentByHand:
    """An on-chain transaction that thaw_wallet or a resume has taken over, and its payouts that nobody owns."""

    transfer: Transfer
    payouts: tuple[Payout, ...]
    payout: str = ""
    """Reference of the one that is meant; empty for all."""


def find_sent(environment: str, network: str, transaction_hash: str, *, payout: str = "") -> SentByHand:
    """The found payouts of an on-chain transaction that are not attributed; or the one of this reference.

    NotSentByHand has the reason there is nothing to book.
    """
    seen = registry.chain(environment, network).reading.find_transaction(transaction_hash.strip())
    if seen is None or seen.height is None:
        raise NotSentByHand(f"{network} has no such transaction in a block.", param="transaction_hash")
    transfer = next(iter(signed_as({seen.transaction_hash, transaction_hash.strip()}).values()), None)
    if transfer is None:
        raise NotSentByHand(_NOT_RECORDED, param="transaction_hash")
    found = found_payouts(environment, network).filter(transfer=transfer).order_by("lines__place")
    payouts = tuple(each for each in found if payout in ("", each.reference))
    if not payouts:
        raise NotSentByHand("This is in the ledger already.", param="transaction_hash")
    return SentByHand(transfer, payouts, payout)


_NOT_RECORDED = "Run manage.py thaw_wallet first, which takes over what a wallet has sent; then say whose it was."


def propose_booking(sent: SentByHand, *, is_lost: bool, reason: str, by: User, owner: str = "") -> Proposal:
    """Propose what it was: the house took the coins, or they are lost, or they were for an `owner`, by public id: the
    settlement of a merchant, a refund of a payment. Or agree, when another has proposed the same."""
    if not reason.strip():
        raise InvalidParameter("Enter what this was: it is saved with the booking.", param="reason")
    if owner and (is_lost or owner.partition("_")[0] not in owner_prefixes()):
        known = ", ".join(f"{prefix}_…" for prefix in owner_prefixes())
        raise InvalidParameter(f"Name whose it was by one of {known}, and nothing else.", param="owner")
    wallet, transaction_hash = sent.transfer.wallet, sent.transfer.transaction_hash
    facts = {
        "wallet": wallet.pk,
        "hash": transaction_hash,
        "height": sent.transfer.height,
        "moves": [
            {"asset": each.asset, "amount": str(each.amount), "recipient": each.recipient, "memo": each.memo}
            for each in sent.payouts
        ],
        "lost": is_lost,
        "owner": owner,
        "reason": reason.strip(),
    }
    return propose(
        ProposalKind.BY_HAND,
        environment=wallet.environment,
        subject=sent.payout or transaction_hash[:80],
        before={},
        after=facts,
        by=by,
    )


def _summary_of(proposal: Proposal) -> str:
    facts = proposal.after
    wallet = Wallet.objects.get(pk=facts["wallet"])
    what = "the coins are lost, and the house bears it" if facts["lost"] else "the house took the coins for itself"
    if owner := facts.get("owner"):
        what = f"paid for {owner}"
    moves = "; ".join(
        f"{wording.coins(int(move['amount']), _asset(wallet, move).decimals, move['asset'])} to "
        + " memo ".join(filter(None, [move["recipient"], move["memo"]]))
        for move in facts["moves"]
    )
    where = f"{facts['hash']} on {wallet.network} ({wallet.environment}), block {facts['height']}"
    how = "Found on the network, sent from" if facts.get("owner") else "Sent by hand from"
    return f"{how} {wallet.address}: {moves}; {where}. Booked as: {what}. Why: {facts['reason']}"


def _asset(wallet: Wallet, move: Mapping[str, Any]) -> Asset:
    return registry.asset(wallet.environment, wallet.network, move["asset"])


def _book_as_agreed(proposal: Proposal, people: str) -> bool:
    """Attribute the found payouts; False when one of them was attributed before."""
    require_resumed()
    facts = proposal.after
    wallet = Wallet.objects.select_for_update().get(pk=facts["wallet"])
    transfer = signed_as([facts["hash"]]).get(facts["hash"])
    if transfer is None:
        raise NotSentByHand(_NOT_RECORDED, param="transaction_hash")
    waiting = found_payouts(wallet.environment, wallet.network).filter(transfer=transfer).select_related("transfer")
    attributed: dict[uuid.UUID, Payout] = {}
    for move in facts["moves"]:
        same = {"asset": move["asset"], "amount": move["amount"], "recipient": move["recipient"], "memo": move["memo"]}
        payout = waiting.filter(**same).exclude(pk__in=list(attributed)).order_by("pk").first()
        if payout is None:
            return False
        attributed[payout.pk] = payout
    for payout in attributed.values():
        if owner := facts.get("owner"):
            take_found(payout, owner)
        else:
            _take_for_house(payout, proposal)
    logger.warning(
        "found payouts attributed", wallet=str(wallet), transaction_hash=transfer.transaction_hash, by=people
    )
    return True


register(ProposalKind.BY_HAND, _book_as_agreed, permission="house.add_withdrawal", summarize=_summary_of)


def _take_for_house(payout: Payout, proposal: Proposal) -> None:
    asset = registry.asset(payout.environment, payout.network, payout.asset)
    withdrawal = _withdrawal(payout.pk, payout.environment, asset, payout)
    withdrawal.payout, withdrawal.is_lost, withdrawal.reason = payout, proposal.after["lost"], proposal.after["reason"]
    withdrawal.proposed_by, withdrawal.agreed_by = proposal.proposed_by, agreeing(proposal)
    _lock_accounts(withdrawal, registry.profile(payout.environment, payout.network).native)
    _set_parts(withdrawal, asset, borne=int(payout.amount))
    post_draft(postings.withdrawal_reserved(withdrawal), environment=payout.environment)
    withdrawal.save(force_insert=True)
    reserved = payout_account(payout.network, payout.asset, payout.pk)
    attribute_payout(payout, reference=withdrawal.public_id, merchant_id=None, reserved=reserved)
    end_withdrawal(withdrawal, payout)


def _withdrawal(key: uuid.UUID, environment: str, asset: Asset, left: Payout | OutgoingTransfer) -> Withdrawal:
    return Withdrawal(
        id=key,
        environment=environment,
        network=asset.network,
        asset=asset.code,
        decimals=asset.decimals,
        amount=int(left.amount),
        recipient=left.recipient,
        memo=left.memo or "",
        payout_id=key,
    )


def attribute(wallet: Wallet, sent: OutgoingTransfer, asset: Asset, mined: Mined) -> Payout | None:
    """The payout of what a hot wallet sent to a cold wallet of ours, or to an address that the house may be paid at,
    of which a restored database has no row: made anew, as a skim or a withdrawal. None for anybody else."""
    place = {"environment": wallet.environment, "network": wallet.network, "address": sent.recipient}
    is_skim = ColdWallet.objects.filter(**place).exists()
    listed = (
        AllowedAddress.objects.filter(**place, memo=sent.memo or "", allowed_at__isnull=False).order_by("-pk").first()
    )
    if not is_skim and listed is None:
        return None
    withdrawal = _withdrawal(ids.new_uuid(), wallet.environment, asset, sent)
    withdrawal.is_skim = is_skim
    withdrawal.reason = f"Found after a restore: sent in block {mined.height} by {mined.transaction_hash}."
    _lock_accounts(withdrawal, mined.native)
    _set_parts(withdrawal, asset)
    reserve_payout(withdrawal, asset)  # whether or not the house had as much
    return withdrawal.payout


def _lock_accounts(withdrawal: Withdrawal, native: Asset) -> None:
    """Every account that booking it touches, all at once."""
    place = withdrawal.network, withdrawal.asset
    wanted = fee_accounts(native) | {*postings.house_accounts(*place), hot_account(*place), moving_account(*place)}
    lock_accounts(wanted | {payout_account(*place, withdrawal.pk)}, environment=withdrawal.environment)


def _set_parts(withdrawal: Withdrawal, asset: Asset, *, borne: int = 0) -> None:
    """Set what the house has of its own, and how much comes out of the stock. `borne` is a loss of it until now."""
    balance, amount = house_balance(withdrawal.environment, asset), int(withdrawal.amount)
    if borne:
        loss = balance.accounts.get(AccountKind.LOSS, 0) - borne
        balance = replace(balance, accounts={**balance.accounts, AccountKind.LOSS: loss})
    withdrawal.own = balance.own
    withdrawal.of_stock = (
        0 if withdrawal.is_lost or withdrawal.is_skim else min(balance.stock, balance.of_stock(amount))
    )
