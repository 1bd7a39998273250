"""What somebody sent from a hot wallet without Ballast: two people say what it was, and it is booked for ever.

It becomes a withdrawal whose payout has left already, in a transfer of its own: so its sequence, its coins and its fee
are known from then on, and no comparison of ledger and network finds it again.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import structlog

from config import ids
from config.errors import DomainError, InvalidParameter
from config.installation.services import require_resumed
from config.money import Asset, format_crypto
from merchants.four_eyes.models import Proposal, ProposalKind
from merchants.four_eyes.services import propose, register
from merchants.ledger.posting import lock_accounts
from merchants.models import User
from payments.chains import registry
from payments.chains.base import Chain, OutgoingTransfer
from payments.transfers import services
from payments.transfers.hashes import signed_as
from payments.transfers.models import Payout, Wallet
from payments.transfers.postings import fee_accounts, hot_account, moving_account, payout_account
from payments.transfers.recovery import as_signed
from payments.transfers.wallets import wallet_of
from payments.treasury.house import postings
from payments.treasury.house.models import AllowedAddress, Withdrawal
from payments.treasury.house.own import house_balance
from payments.treasury.house.withdrawals import agreeing, end_withdrawal, reserve_payout
from payments.treasury.models import ColdWallet

logger = structlog.get_logger(__name__)


class NotSentByHand(InvalidParameter):
    """There is nothing of this on-chain transaction to be booked."""

    code = "not_sent_by_hand"


class SequenceTaken(DomainError):
    code = "sequence_taken"
    message = (
        "A transfer of Ballast's own has the same sequence and is not known to be dead yet. The money worker finds out "
        "within minutes; agree again then."
    )


@dataclass(frozen=True, slots=True)
class SentByHand:
    """An on-chain transaction in a final block, which moved coins out of a hot wallet and is not in our rows."""

    wallet: Wallet
    moves: tuple[OutgoingTransfer, ...]
    mined: services.Mined

    @property
    def sequence(self) -> int:
        sequence = self.moves[0].sequence
        assert sequence is not None  # noqa: S101 - narrowed where it is made
        return sequence


def find_sent(environment: str, network: str, transaction_hash: str) -> SentByHand:
    """Ask a network what an on-chain transaction moved out of our hot wallets.

    NotSentByHand says why there is nothing to book.
    """
    chain = registry.chain(environment, network)
    wallet_of(environment, network, chain)
    head = chain.head()
    found = chain.find_transaction(transaction_hash.strip())
    if found is None or found.height is None:
        raise NotSentByHand(f"{network} has no such transaction in a block.", param="transaction_hash")
    if found.height > head.finalized_height:
        raise NotSentByHand("Its block is not final yet: try again later.", param="transaction_hash")
    names = {found.transaction_hash, transaction_hash.strip()}
    if signed_as(names):
        raise NotSentByHand("This is in the ledger already.", param="transaction_hash")
    wallets = {each.address: each for each in Wallet.objects.filter(environment=environment, network=network)}
    for wallet in wallets.values():
        left = chain.outgoing(wallet.address, first_height=found.height, last_height=found.height)
        moves = tuple(each for each in left if each.transaction_hash in names and each.recipient not in wallets)
        if moves:
            return _sent(wallet, chain, moves)
    raise NotSentByHand(
        "It moved no accepted coin out of a hot wallet of yours to anybody else. If it only used a sequence, or moved "
        "coins between your hot wallets, manage.py thaw_wallet takes it over.",
        param="transaction_hash",
    )


def _sent(wallet: Wallet, chain: Chain, moves: tuple[OutgoingTransfer, ...]) -> SentByHand:
    if any(each.sequence is None for each in moves):
        raise NotSentByHand(
            "Somebody else's transaction moved these coins, not one of the hot wallet: find out who was allowed to.",
            param="transaction_hash",
        )
    first = moves[0]
    signed = as_signed(wallet, first.transaction_hash, first.channel, first.sequence or 0, [])
    status = chain.transfer_status(signed)
    mined = services.Mined(first.transaction_hash, first.height, status.fee_units, chain.profile.native, status.said_by)
    return SentByHand(wallet, moves, mined)


def propose_booking(sent: SentByHand, *, is_lost: bool, reason: str, by: User) -> Proposal:
    """Propose what it was: the house took the coins, or they are lost. Or agree, when another has proposed the same."""
    if not reason.strip():
        raise InvalidParameter("Say what this was: it is kept with the booking.", param="reason")
    facts = {
        "wallet": sent.wallet.pk,
        "hash": sent.mined.transaction_hash,
        "height": sent.mined.height,
        "fee": str(sent.mined.fee),
        "saidBy": list(sent.mined.said_by),
        "sequence": sent.sequence,
        "channel": sent.moves[0].channel,
        "moves": [_fact(sent.wallet, move) for move in sent.moves],
        "lost": is_lost,
        "reason": reason.strip(),
    }
    return propose(
        ProposalKind.BY_HAND,
        environment=sent.wallet.environment,
        subject=sent.mined.transaction_hash[:80],
        before={},
        after=facts,
        told=_told(sent.wallet, facts),
        by=by,
    )


def _fact(wallet: Wallet, move: OutgoingTransfer) -> dict[str, Any]:
    coins = registry.profile(wallet.environment, wallet.network).assets.values()
    [code] = [coin.code for coin in coins if coin.contract == move.contract]
    return {
        "asset": code,
        "amount": str(move.amount),
        "recipient": move.recipient,
        "memo": move.memo or "",
        "claimableBalance": move.claimable_balance,
    }


def _told(wallet: Wallet, facts: Mapping[str, Any]) -> str:
    """What those who decide read."""
    what = "the coins are lost, and the house bears it" if facts["lost"] else "the house took the coins for itself"
    moves = "; ".join(
        f"{format_crypto(int(move['amount']), _asset(wallet, move).decimals)} {move['asset']} to "
        + " memo ".join(filter(None, [move["recipient"], move["memo"]]))
        for move in facts["moves"]
    )
    where = f"{facts['hash']} on {wallet.network} ({wallet.environment}), block {facts['height']}"
    return f"Sent by hand from {wallet.address}: {moves}; {where}. Booked as: {what}. Why: {facts['reason']}"


def _asset(wallet: Wallet, move: Mapping[str, Any]) -> Asset:
    return registry.asset(wallet.environment, wallet.network, move["asset"])


def _book_as_agreed(proposal: Proposal, people: str) -> bool:
    require_resumed()
    facts = proposal.after
    wallet = Wallet.objects.select_for_update().get(pk=facts["wallet"])
    if signed_as([facts["hash"]]) or _told(wallet, facts) != proposal.told:
        return False
    native = registry.profile(wallet.environment, wallet.network).native
    withdrawals = [_withdrawal(proposal, wallet, move) for move in facts["moves"]]
    _lock_accounts(withdrawals, native)
    for each in withdrawals:
        _reserve(each)
    mined = services.Mined(facts["hash"], facts["height"], int(facts["fee"]), native, tuple(facts["saidBy"]))
    balances = [move["claimableBalance"] for move in facts["moves"]]
    signed = as_signed(wallet, facts["hash"], facts["channel"], facts["sequence"], balances)
    transfer = services.record_found(wallet, signed, payout_ids=[each.pk for each in withdrawals])
    if transfer is None:
        raise SequenceTaken
    services.record_final(transfer, mined, arrived={each.pk: int(each.amount) for each in withdrawals})
    for each in withdrawals:
        each.payout.refresh_from_db()
        end_withdrawal(each, each.payout)
    logger.warning("sent by hand booked", wallet=str(wallet), transaction_hash=facts["hash"], by=people)
    return True


register(ProposalKind.BY_HAND, _book_as_agreed, permission="house.add_withdrawal")


def _withdrawal(proposal: Proposal, wallet: Wallet, move: Mapping[str, Any]) -> Withdrawal:
    asset, key = _asset(wallet, move), ids.new_uuid()
    return Withdrawal(
        id=key,
        environment=wallet.environment,
        network=asset.network,
        asset=asset.code,
        decimals=asset.decimals,
        amount=int(move["amount"]),
        recipient=move["recipient"],
        memo=move["memo"],
        is_lost=proposal.after["lost"],
        reason=proposal.after["reason"],
        proposed_by=proposal.proposed_by,
        agreed_by=agreeing(proposal),
        payout_id=key,
    )


def attribute(wallet: Wallet, sent: OutgoingTransfer, asset: Asset, mined: services.Mined) -> Payout | None:
    """The payout of what a hot wallet sent to a cold wallet of ours, or to an address that the house may be paid at,
    of which a restored database has no row: made anew, as a skim or a withdrawal. None for anybody else."""
    place = {"environment": wallet.environment, "network": wallet.network, "address": sent.recipient}
    is_skim = ColdWallet.objects.filter(**place).exists()
    listed = (
        AllowedAddress.objects.filter(**place, memo=sent.memo or "", allowed_at__isnull=False).order_by("-pk").first()
    )
    if not is_skim and listed is None:
        return None
    key = ids.new_uuid()
    withdrawal = Withdrawal(
        id=key,
        environment=wallet.environment,
        network=asset.network,
        asset=asset.code,
        decimals=asset.decimals,
        amount=sent.amount,
        recipient=sent.recipient,
        memo=sent.memo or "",
        is_skim=is_skim,
        reason=f"Found after a restore: sent in block {mined.height} by {mined.transaction_hash}.",
        payout_id=key,
    )
    _lock_accounts([withdrawal], mined.native)
    _reserve(withdrawal)
    return withdrawal.payout


def _lock_accounts(withdrawals: Sequence[Withdrawal], native: Asset) -> None:
    """Every account that booking them touches, all at once."""
    wanted = fee_accounts(native)
    for each in withdrawals:
        wanted |= {*postings.house_accounts(each.network, each.asset), hot_account(each.network, each.asset)}
        wanted |= {payout_account(each.network, each.asset, each.pk), moving_account(each.network, each.asset)}
    lock_accounts(wanted, environment=withdrawals[0].environment)


def _reserve(withdrawal: Withdrawal) -> None:
    """Reserve what has left already, whether or not the house had as much, and create its payout."""
    asset = registry.asset(withdrawal.environment, withdrawal.network, withdrawal.asset)
    balance, amount = house_balance(withdrawal.environment, asset), int(withdrawal.amount)
    withdrawal.own = balance.own
    withdrawal.of_stock = (
        0 if withdrawal.is_lost or withdrawal.is_skim else min(balance.stock, balance.of_stock(amount))
    )
    reserve_payout(withdrawal, asset)
