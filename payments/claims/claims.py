"""Claims of a payment by an on-chain transaction: it is looked up and explained, never credited."""

from __future__ import annotations

import re
import uuid
from collections.abc import Mapping
from typing import Any

import structlog

from config import ids
from config.celery import wake
from config.errors import InvalidParameter
from config.money import format_crypto
from merchants.ledger.models import Stop
from payments.chains import registry
from payments.chains.errors import ChainUnavailable, NetworkUnavailable
from payments.chains.protocol.transfers import FoundTransaction
from payments.claims.explanation import (
    ClaimCode,
    ClaimExplanation,
    ClaimFacts,
    ExplainedTransfer,
    NetworkReply,
    explain,
)
from payments.deposits.addresses import sibling_networks
from payments.deposits.models import ReadingRequest, ScanCursor
from payments.models import Deposit, Discrepancy, OfferedAddress, Payment
from payments.treasury import native_deposits

logger = structlog.get_logger(__name__)

RETRY_AFTER_SECONDS = 15
MOST_TRANSFERS_SHOWN = 100
"""Some transactions pay thousands of people at once."""

Replies = list[tuple[str, FoundTransaction | None]]
"""Replies of the networks about an on-chain transaction."""


def hash_prefixes(payment: Payment) -> list[str]:
    """What hashes begin with on the networks that it can be or could have been paid on, its own network's first."""
    names = dict.fromkeys([payment.network, *(each["network"] for each in payment.choices)])
    return [*dict.fromkeys(registry.known_profile(payment.environment, name).hash_prefix for name in names)]


def parse_transaction_hash(payment: Payment, text: str) -> str:
    """The hash in the one spelling networks use; InvalidParameter when no network has such hashes."""
    prefix, *others = hash_prefixes(payment)
    known = text.strip().lower()
    if not any(re.fullmatch(f"{each}[0-9a-f]{{64}}", known) for each in (prefix, *others)):
        form = f"{prefix and f'{prefix} and '}64 hexadecimal digits"
        raise InvalidParameter(f"A transaction hash on this network is {form}.", param="transactionHash")
    return known


def explain_claim(payment: Payment, transaction_hash: str) -> ClaimExplanation:
    """Explain an on-chain transaction, for this payment. Networks are queried: call it in no database transaction.

    It credits nothing. For money of ours that was never seen, a rescan by the watcher is requested.
    """
    explanation = explain_replies(payment, transaction_hash, _look_up(payment, transaction_hash))
    if explanation.to_be_read_again:
        request_rescan(payment, transaction_hash, explanation)
    _look_for_native_coin(payment, explanation)
    return explanation


def explain_replies(payment: Payment, transaction_hash: str, replies: Replies) -> ClaimExplanation:
    """The same of networks that have replied already; it only reads."""
    return explain(_facts(payment, transaction_hash, replies))


def claim_record(payment: Payment, transaction_hash: str, explanation: ClaimExplanation) -> dict[str, Any]:
    """The answer as the API shows it."""
    chosen, network = explanation.chosen, explanation.network
    # Transfers about this payment first: what is cut off went to strangers.
    shown = sorted(explanation.transfers, key=lambda each: not each.arrived_here)[:MOST_TRANSFERS_SHOWN]
    return {
        "object": "claim",
        "payment": payment.public_id,
        "transactionHash": transaction_hash,
        "network": network.network if network else None,
        "status": explanation.code,
        "message": explanation.message,
        "block": explanation.height,
        "confirmations": chosen.confirmations if chosen and chosen.arrived_here else None,
        "requiredConfirmations": payment.required_confirmations,
        "transferCount": len(explanation.transfers),
        "transfers": [_transfer_record(each) for each in shown],
    }


def _transfer_record(transfer: ExplainedTransfer) -> dict[str, Any]:
    asset = transfer.asset
    return {
        "network": transfer.network,
        "cryptocurrency": asset.code if asset else None,
        "tokenContract": transfer.contract or None,
        "amount": format_crypto(transfer.amount, asset.decimals) if asset else None,
        "from": transfer.sender,
        "to": transfer.recipient,
        "memo": transfer.memo,
        "payment": transfer.payment_id,
        "matched": transfer.matched,
        "code": transfer.code,
        "message": transfer.message,
    }


def _look_up(payment: Payment, transaction_hash: str) -> Replies:
    """Replies of each network on which the payment's address is ours, the payment's own first, or of those of another
    offer whose hashes look like this one.

    One that does not answer is left out if another knows the transaction; else there is no explanation.
    """
    replies: Replies = []
    silent: list[str] = []
    for network in _networks(payment, transaction_hash):
        try:
            replies.append(
                (network, registry.chain(payment.environment, network).reading.find_transaction(transaction_hash))
            )
        except ChainUnavailable as error:
            logger.warning("claim could not be looked up", network=network, error=str(error))
            silent.append(registry.known_profile(payment.environment, network).name)
    if silent and not any(found for _, found in replies):
        raise NetworkUnavailable(
            f"{' and '.join(silent)} cannot be asked right now. Try again shortly.",
            retry_after_seconds=RETRY_AFTER_SECONDS,
        )
    return replies


def _networks(payment: Payment, transaction_hash: str) -> list[str]:
    """The networks of the payment, or of an offer of it, whose hashes look like this one."""
    in_use = registry.networks(payment.environment)
    offered = {each["network"] for each in payment.choices if each["network"] in in_use}
    for network in (payment.network, *sorted(offered)):
        prefix = registry.known_profile(payment.environment, network).hash_prefix
        if len(transaction_hash) == len(prefix) + 64:
            return sibling_networks(payment.environment, network)
    return sibling_networks(payment.environment, payment.network)


def _facts(payment: Payment, transaction_hash: str, replies: Replies) -> ClaimFacts:
    environment = payment.environment
    names = [network for network, _ in replies]
    # Before the deposits: a cursor that has passed a block then has its deposits beside it.
    cursors = {
        cursor.network: cursor for cursor in ScanCursor.objects.filter(environment=environment, network__in=names)
    }
    halted = set(Stop.objects.halting().filter(environment=environment).values_list("network", flat=True))
    # One transaction can have two hashes, of which deposits have the one that the network itself goes by.
    hashes = {transaction_hash, *(found.transaction_hash for _, found in replies if found is not None)}
    deposits = list(Deposit.objects.filter(environment=environment, network__in=names, transaction_hash__in=hashes))
    decisions: Mapping[uuid.UUID, str] = dict(
        Discrepancy.objects.filter(deposit__in=deposits).order_by("id").values_list("deposit_id", "status")
    )
    payment = Payment.objects.select_related("merchant").get(pk=payment.pk)
    return ClaimFacts(
        payment=payment,
        network_name=registry.known_profile(environment, payment.network).name,
        replies=tuple(
            NetworkReply(registry.profile(environment, network), found, cursors.get(network), network in halted)
            for network, found in replies
        ),
        deposits={(deposit.network, deposit.ordinal): deposit for deposit in deposits},
        decisions=decisions,
        own_payments=_own_payments(payment, [found for _, found in replies if found is not None]),
        offered={each.family: (each.address, each.memo) for each in payment.offered_addresses.all()},
    )


def _own_payments(payment: Payment, found: list[FoundTransaction]) -> dict[tuple[str, str], str]:
    """Other payments of the merchant that these transactions may have been for."""
    places = {(each.recipient, each.memo or "") for transaction in found for each in transaction.transfers}
    places |= {(each.recipient, each.memo or "") for transaction in found for each in transaction.idle}
    addresses, memos = {address for address, _ in places}, {memo for _, memo in places}
    others = Payment.objects.of(payment.merchant, payment.environment).exclude(pk=payment.pk)
    paid = others.filter(deposit_address__in=addresses, memo__in=memos)
    offered = OfferedAddress.objects.filter(payment__in=others, address__in=addresses, memo__in=memos)
    rows = (*offered.values_list("address", "memo", "payment"), *paid.values_list("deposit_address", "memo", "pk"))
    return {(address, memo): ids.PAYMENT.encode(key) for address, memo, key in rows}


def _look_for_native_coin(payment: Payment, explanation: ClaimExplanation) -> None:
    """Store native coins at the payment's address at once, not when a round of `native_deposits` reaches it."""
    coins = [each for each in explanation.transfers if each.code == ClaimCode.NATIVE_COIN and each.arrived_here]
    for network in {each.network for each in coins}:
        try:
            native_deposits.look_at(payment.environment, network, [payment])
        except ChainUnavailable as error:
            logger.warning("native coin not looked at", payment=payment.public_id, error=str(error))


def request_rescan(payment: Payment, transaction_hash: str, explanation: ClaimExplanation) -> None:
    """Have the watcher read the transaction on the networks on which money of it was never seen."""
    readings = [(network, transaction_hash) for network in explanation.to_be_read_again]
    ReadingRequest.store(payment.environment, readings)
    wake("payments.watch_networks")
    if any(each.code == ClaimCode.MISSED for each in explanation.transfers):
        logger.error(
            "deposit missed",
            environment=payment.environment,
            networks=explanation.to_be_read_again,
            payment=payment.public_id,
            transaction_hash=transaction_hash,
        )
