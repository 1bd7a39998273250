"""What somebody sent from a hot wallet without Ballast: two people say what it was, and it is booked for ever.

It becomes a withdrawal whose payout has left already, in a transfer of its own: so its sequence, its coins and its fee
are known from then on, and no comparison of ledger and network finds it again.
"""

from __future__ import annotations

import uuid
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import structlog
from django.db import connection, transaction

from config import ids
from config.containment import contained
from config.errors import DomainError, InvalidParameter
from config.installation.services import require_resumed
from config.money import Asset, format_crypto
from merchants.four_eyes.models import Proposal, ProposalKind
from merchants.four_eyes.services import propose, register
from merchants.ledger.chart import AccountKind
from merchants.ledger.posting import lock_accounts, post_draft
from merchants.models import User
from payments.chains import registry
from payments.chains.base import Chain, OutgoingTransfer
from payments.transfers import services
from payments.transfers.hashes import signed_as
from payments.transfers.models import Payout, Transfer, Wallet
from payments.transfers.payouts import attribute_payout, found_payouts
from payments.transfers.postings import fee_accounts, hot_account, moving_account, payout_account
from payments.transfers.recovery import SequenceTaken, as_signed
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


@dataclass(frozen=True, slots=True)
class SentByHand:
    """An on-chain transaction in a final block, which moved coins out of a hot wallet; nobody knows for whom."""

    wallet: Wallet
    moves: tuple[OutgoingTransfer, ...]
    mined: services.Mined
    is_recorded: bool = False
    """Its payouts were found: only whose they were is not known."""
    payout: str = ""
    """Reference of the one that is meant; empty for all."""

    @property
    def sequence(self) -> int:
        sequence = self.moves[0].sequence
        assert sequence is not None  # noqa: S101 - narrowed where it is made
        return sequence


def find_sent(environment: str, network: str, transaction_hash: str, *, payout: str = "") -> SentByHand:
    """Ask a network what an on-chain transaction moved out of our hot wallets. Of one that is in our rows, the found
    payouts that nobody has said the owner of; or the one of this reference.

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
    transfer = next(iter(signed_as(names).values()), None)
    found_again = list(found_payouts(environment, network).filter(transfer=transfer)) if transfer else []
    found_again = [each for each in found_again if payout in ("", each.reference)]
    if transfer is not None and not found_again:
        raise NotSentByHand("This is in the ledger already.", param="transaction_hash")
    wallets = {each.address: each for each in Wallet.objects.filter(environment=environment, network=network)}
    for wallet in wallets.values():
        left = chain.outgoing(wallet.address, first_height=found.height, last_height=found.height)
        moves = tuple(each for each in left if each.transaction_hash in names and each.recipient not in wallets)
        if transfer is not None:
            open_now = Counter((each.asset, int(each.amount), each.recipient, each.memo) for each in found_again)
            moves = tuple(each for each in moves if _is_taken_out(open_now, _fact(wallet, each)))
        if moves:
            return replace(_sent(wallet, chain, moves), is_recorded=transfer is not None, payout=payout)
    raise NotSentByHand(
        "It moved no accepted coin out of a hot wallet of yours to anybody else. If it only used a sequence, or moved "
        "coins between your hot wallets, manage.py thaw_wallet takes it over.",
        param="transaction_hash",
    )


def _is_taken_out(found: Counter[tuple[str, int, str, str]], move: Mapping[str, Any]) -> bool:
    """Whether the found payouts have one like this; it is taken out of them."""
    key = (move["asset"], int(move["amount"]), move["recipient"], move["memo"])
    found[key] -= 1
    return found[key] >= 0


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


def propose_booking(sent: SentByHand, *, is_lost: bool, reason: str, by: User, owner: str = "") -> Proposal:
    """Propose what it was: the house took the coins, or they are lost, or they were for an `owner`, by public id: the
    settlement of a merchant, a refund of a payment. Or agree, when another has proposed the same."""
    if not reason.strip():
        raise InvalidParameter("Say what this was: it is kept with the booking.", param="reason")
    if owner and (is_lost or owner.partition("_")[0] not in _OWNERS):
        known = ", ".join(f"{prefix}_…" for prefix in _OWNERS)
        raise InvalidParameter(f"Name whose it was by one of {known}, and nothing else.", param="owner")
    if not sent.is_recorded and (owner or not _may_record()):
        raise NotSentByHand(_NOT_RECORDED, param="owner" if owner else "transaction_hash")
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
        "owner": owner,
        "reason": reason.strip(),
    }
    return propose(
        ProposalKind.BY_HAND,
        environment=sent.wallet.environment,
        subject=sent.payout or sent.mined.transaction_hash[:80],
        before={},
        after=facts,
        told=_told(sent.wallet, facts),
        by=by,
    )


_NOT_RECORDED = "Run manage.py thaw_wallet first, which takes this over; then say whose it was."


def _may_record() -> bool:
    """Whether this process may write down what was sent: the role of the web may not."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT has_table_privilege('transfers_transfer', 'INSERT')")
        return bool((cursor.fetchone() or (False,))[0])


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
    if owner := facts.get("owner"):
        what = f"paid for {owner}"
    moves = "; ".join(
        f"{format_crypto(int(move['amount']), _asset(wallet, move).decimals)} {move['asset']} to "
        + " memo ".join(filter(None, [move["recipient"], move["memo"]]))
        for move in facts["moves"]
    )
    where = f"{facts['hash']} on {wallet.network} ({wallet.environment}), block {facts['height']}"
    how = "Found on the network, sent from" if facts.get("owner") else "Sent by hand from"
    return f"{how} {wallet.address}: {moves}; {where}. Booked as: {what}. Why: {facts['reason']}"


def _asset(wallet: Wallet, move: Mapping[str, Any]) -> Asset:
    return registry.asset(wallet.environment, wallet.network, move["asset"])


def _book_as_agreed(proposal: Proposal, people: str) -> bool:
    require_resumed()
    facts = proposal.after
    wallet = Wallet.objects.select_for_update().get(pk=facts["wallet"])
    if _told(wallet, facts) != proposal.told:
        return False
    if known := signed_as([facts["hash"]]):
        return _attribute_as_agreed(proposal, wallet, next(iter(known.values())), people)
    if not _may_record():
        raise NotSentByHand(_NOT_RECORDED, param="transaction_hash")
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


def _attribute_as_agreed(proposal: Proposal, wallet: Wallet, transfer: Transfer, people: str) -> bool:
    """Say whose found payouts were; False when somebody has said it of one of them before."""
    waiting = found_payouts(wallet.environment, wallet.network).filter(transfer=transfer).select_related("transfer")
    said: dict[uuid.UUID, tuple[Payout, Mapping[str, Any]]] = {}
    for move in proposal.after["moves"]:
        same = {"asset": move["asset"], "amount": move["amount"], "recipient": move["recipient"], "memo": move["memo"]}
        payout = waiting.filter(**same).exclude(pk__in=list(said)).order_by("pk").first()
        if payout is None:
            return False
        said[payout.pk] = payout, move
    for payout, move in said.values():
        if owner := proposal.after.get("owner"):
            _take(payout, owner)
            continue
        withdrawal = _withdrawal(proposal, wallet, move)
        withdrawal.id, withdrawal.payout = payout.pk, payout
        _lock_accounts([withdrawal], registry.profile(wallet.environment, wallet.network).native)
        _set_parts(withdrawal, borne=int(payout.amount))
        post_draft(postings.withdrawal_reserved(withdrawal), environment=wallet.environment)
        withdrawal.save(force_insert=True)
        reserved = payout_account(payout.network, payout.asset, payout.pk)
        attribute_payout(payout, reference=withdrawal.public_id, merchant_id=None, reserved=reserved)
        end_withdrawal(withdrawal, payout)
    logger.warning(
        "found payouts attributed", wallet=str(wallet), transaction_hash=transfer.transaction_hash, by=people
    )
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
    reserve_payout(withdrawal, _set_parts(withdrawal))


def _set_parts(withdrawal: Withdrawal, *, borne: int = 0) -> Asset:
    """Set what the house has of its own, and how much comes out of the stock. `borne` is a loss of it until now."""
    asset = registry.asset(withdrawal.environment, withdrawal.network, withdrawal.asset)
    balance, amount = house_balance(withdrawal.environment, asset), int(withdrawal.amount)
    if borne:
        loss = balance.accounts.get(AccountKind.LOSS, 0) - borne
        balance = replace(balance, accounts={**balance.accounts, AccountKind.LOSS: loss})
    withdrawal.own = balance.own
    withdrawal.of_stock = (
        0 if withdrawal.is_lost or withdrawal.is_skim else min(balance.stock, balance.of_stock(amount))
    )
    return asset


# --- whose it was -------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Owners:
    """What found payouts can have been for, such as the settlements of merchants. Names are public ids.

    `possible` are those that each may have been for, by the payouts' keys. `take` makes the record of one, with the
    payout, inside the caller's database transaction.
    """

    possible: Callable[[Sequence[Payout]], Mapping[uuid.UUID, Collection[str]]]
    take: Callable[[Payout, str], None]


_OWNERS: dict[str, Owners] = {}


def register_owners(prefix: str, owners: Owners) -> None:
    """Say what takes found payouts for owners whose public ids begin like this."""
    _OWNERS[prefix] = owners


def attribute_found(environment: str, network: str) -> None:
    """Attribute each found payout of a network that only one owner can have had; the others wait for two people."""
    payouts = list(found_payouts(environment, network).select_related("transfer").order_by("pk"))
    possible: defaultdict[uuid.UUID, set[str]] = defaultdict(set)
    for possible_of in {owners.possible for owners in _OWNERS.values()}:
        for key, names in possible_of(payouts).items():
            possible[key].update(names)
    for payout in payouts:
        if len(possible[payout.pk]) == 1:
            with (
                contained("payout not attributed", expected=(DomainError,), payout=payout.reference),
                transaction.atomic(),
            ):
                _take(payout, possible[payout.pk].pop())


def _take(payout: Payout, owner: str) -> None:
    _OWNERS[owner.partition("_")[0]].take(payout, owner)
