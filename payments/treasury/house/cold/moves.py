"""Books outgoing transfers of cold wallets in final blocks: a refill (to the hot wallet) and a withdrawal (to an
address of the allow list) at once, anything else by a proposal."""

from __future__ import annotations

import structlog
from django.db import transaction

from config.errors import DomainError, InvalidParameter
from config.installation.services import current_standstill, require_resumed
from config.money import Asset
from config.periodic.containment import contained
from merchants.four_eyes.models import Proposal, ProposalKind
from merchants.four_eyes.services import propose, register
from merchants.ledger.posting import InsufficientFunds, lock_accounts, post_draft
from merchants.models import User
from payments.chains import registry
from payments.chains.errors import ChainError
from payments.chains.protocol.transfers import OutgoingTransfer
from payments.models import Deposit, Discrepancy
from payments.states import DiscrepancyStatus
from payments.suspense.acceptance import take_discrepancy
from payments.transfers.models import Wallet
from payments.transfers.payouts import retry_waiting
from payments.transfers.postings import cold_account
from payments.treasury import cold
from payments.treasury.house import postings
from payments.treasury.house.house_balance import lock_house
from payments.treasury.house.models import AllowedAddress
from payments.treasury.models import ColdMove, ColdWallet

logger = structlog.get_logger(__name__)

Kind = ColdMove.Kind
BOOKED = (Kind.REFILL, Kind.TAKEN, Kind.LOST)


class NotSeenAsDeposit(DomainError):
    code = "not_seen_as_deposit"
    message = "The watcher has not read the hot wallet's side of this yet."


class MoveExplained(DomainError):
    code = "move_explained"
    message = "It has already been recorded what this was."


def follow_cold() -> int:
    """Record what has left the cold wallets of networks in use, and book what is known; returns how many moves. While a
    restored database stands still none: what had come to them before is adopted first."""
    done = 0
    if current_standstill() is not None:
        return done
    for wallet in ColdWallet.objects.order_by("pk"):
        if wallet.network in registry.networks(wallet.environment):
            expected = (ChainError, NotSeenAsDeposit)
            with contained("cold wallet not followed", expected=expected, wallet=str(wallet)):
                done += follow(wallet)
    return done


def follow(wallet: ColdWallet, *, until: int | None = None) -> int:
    """The same of one wallet, up to a final height or to the last."""
    chain = registry.chain(wallet.environment, wallet.network)
    coins = {asset.contract: asset for asset in chain.profile.assets.values()}
    done = 0
    for last, moves in cold.left(
        chain, wallet, until=chain.reading.head().finalized_height if until is None else until
    ):
        with transaction.atomic():
            locked = ColdWallet.objects.select_for_update().get(pk=wallet.pk)
            if locked.read_to >= last:
                continue
            for each in moves:
                if each.contract in coins and each.height > locked.read_to:
                    _record(locked, coins[each.contract], each)
                    done += 1
            ColdWallet.objects.filter(pk=locked.pk).update(read_to=last)
    return done


def _record(wallet: ColdWallet, asset: Asset, left: OutgoingTransfer) -> None:
    move = ColdMove(
        wallet=wallet,
        transaction_hash=left.transaction_hash,
        ordinal=left.ordinal,
        height=left.height,
        asset=asset.code,
        decimals=asset.decimals,
        amount=left.amount,
        recipient=left.recipient,
        kind=_kind_of(wallet, left),
    )
    try:
        with transaction.atomic():
            _book(move)
    except InsufficientFunds as error:
        move.kind, move.of_stock, move.posting, move.note = Kind.UNKNOWN, 0, None, str(error)
    move.save()
    logger.warning("cold wallet moved coins", move=str(move), kind=str(move.kind))


def _kind_of(wallet: ColdWallet, left: OutgoingTransfer) -> ColdMove.Kind:
    place = {"environment": wallet.environment, "network": wallet.network, "address": left.recipient}
    if Wallet.objects.filter(**place).exists():
        return Kind.REFILL
    if ColdWallet.objects.filter(**place).exists():
        return Kind.MOVED
    listed = AllowedAddress.objects.filter(**place, memo=left.memo or "")
    is_listed = listed.filter(allowed_at__isnull=False, removed_at__isnull=True).exists()
    return Kind.TAKEN if is_listed else Kind.UNKNOWN


def _book(move: ColdMove) -> None:
    """Post what is known of a move; InsufficientFunds when the ledger has less in the cold wallet."""
    environment, network = move.wallet.environment, move.wallet.network
    if move.kind not in BOOKED:
        return
    came_as_deposit = move.kind == Kind.REFILL and registry.profile(environment, network).shares_account
    if came_as_deposit and not _take_deposit(move):
        move.kind, move.note = Kind.UNKNOWN, "It came to the hot wallet as the money of a payment."
        return
    goal, own = postings.goal_of(move, from_suspense=came_as_deposit), cold_account(network, move.asset)
    if move.kind == Kind.TAKEN:
        balance = lock_house(environment, registry.asset(environment, network, move.asset), own)
        move.of_stock = min(balance.stock, balance.of_stock(int(move.amount)))
    else:
        lock_accounts({goal, own}, environment=environment)
    move.posting = post_draft(postings.left_cold(move, goal=goal), environment=environment)
    if move.kind == Kind.REFILL:
        retry_waiting(environment=environment, network=network, asset=move.asset)


def _take_deposit(move: ColdMove) -> bool:
    """Take a refill off the deposits: where deposits arrive at the hot wallet itself, it looks like money without a
    memo.

    False when it was taken for the money of a payment. NotSeenAsDeposit while it is not in the ledger.
    """
    place = {"environment": move.wallet.environment, "network": move.wallet.network}
    seen = Deposit.objects.filter(**place, transaction_hash=move.transaction_hash, asset=move.asset)
    stray = Discrepancy.objects.filter(
        deposit__in=seen, payment__isnull=True, amount=move.amount, status=DiscrepancyStatus.OPEN
    ).first()
    if stray is not None:
        take_discrepancy(stray, resolved_by="refill from the cold wallet", note=str(move)[:300], is_sent_by_us=True)
        return True
    if seen.exclude(booked_to="").exists():
        return False
    raise NotSeenAsDeposit


# --- what nobody knows --------------------------------------------------------------------------------


def propose_explanation(move: ColdMove, *, is_lost: bool, reason: str, by: User) -> Proposal:
    """Propose what coins were that left the cold wallet for somewhere: the house took them, or they are lost. Or agree
    when another operator has proposed the very same."""
    if not reason.strip():
        raise InvalidParameter("Enter what this was: it is saved with the booking.", param="reason")
    if move.kind != Kind.UNKNOWN:
        raise MoveExplained
    return propose(
        ProposalKind.COLD_MOVE,
        environment=move.wallet.environment,
        subject=move.pk,
        before={"transaction": move.transaction_hash, "amount": str(move.amount), "recipient": move.recipient},
        after={"lost": is_lost, "reason": reason.strip()},
        by=by,
    )


def _summary_of(proposal: Proposal) -> str:
    move = ColdMove.objects.select_related("wallet").get(pk=proposal.subject)
    is_lost, reason = proposal.after["lost"], proposal.after["reason"]
    what = "the coins are lost, and the house bears it" if is_lost else "the house took the coins for itself"
    if _kind_by_people(move, is_lost=is_lost) == Kind.REFILL:
        what = "they are in the hot wallet"
    return f"Left the cold wallet: {move}, by {move.transaction_hash}. Booked as: {what}. Why: {reason}"


def _kind_by_people(move: ColdMove, *, is_lost: bool) -> ColdMove.Kind:
    place = {"environment": move.wallet.environment, "network": move.wallet.network, "address": move.recipient}
    if Wallet.objects.filter(**place).exists():
        return Kind.REFILL
    return Kind.LOST if is_lost else Kind.TAKEN


def _explain_as_agreed(proposal: Proposal, people: str) -> bool:
    require_resumed()
    move = ColdMove.objects.select_for_update(of=("self",)).select_related("wallet").get(pk=proposal.subject)
    is_lost, reason = proposal.after["lost"], proposal.after["reason"]
    if move.kind != Kind.UNKNOWN:
        return False
    move.kind, move.note = _kind_by_people(move, is_lost=is_lost), f"{reason} ({people})"
    _book(move)
    move.save()
    logger.warning("cold move explained", move=str(move), kind=str(move.kind), by=people)
    return True


register(ProposalKind.COLD_MOVE, _explain_as_agreed, permission="house.add_withdrawal", summarize=_summary_of)
