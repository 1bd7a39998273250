"""The handover of a settlement: checks its wallet, converts its coins, and requests its payout."""

from __future__ import annotations

import uuid
from collections.abc import Mapping
from datetime import timedelta
from functools import partial

import structlog
from django.db import transaction
from django.utils import timezone

from config.money import Asset
from merchants.ledger.posting import InsufficientFunds, post_draft
from merchants.ledger.stops import may_leave, stopped_merchants
from merchants.models import MerchantSettings
from payments.chains import registry
from payments.chains.errors import ChainError, RecipientRefused, SendingBlocked
from payments.chains.protocol.payouts import PayoutInstruction
from payments.rates.quoting import Quote, RateUnavailable, cross_quote, cross_quotes
from payments.suspense.recipient_checks import note_refusal
from payments.transfers.payouts import request_payout
from settlements.models import LONGEST_WAIT, Settlement
from settlements.payouts.outcome import fail, note_problem
from settlements.plans import postings
from settlements.plans.planning import CoinPart, total_of
from settlements.plans.pricing import agreed_prices
from settlements.states import SettlementProblem, SettlementStatus
from settlements.wording import how_to_trust

logger = structlog.get_logger(__name__)

WAIT_MIN, WAIT_MAX = timedelta(seconds=5), timedelta(minutes=10)


def advance(settlement_id: uuid.UUID) -> Settlement:
    """Take a settlement as far as it can go now, until it has a payout. Doing it again changes nothing.

    It queries the network about the wallet, so it must not be called while rows are locked.
    """
    settlement = Settlement.objects.get(pk=settlement_id)
    if settlement.status != SettlementStatus.PENDING or settlement.payout_id is not None:
        return settlement
    try:
        asset = _asset_to_pay(settlement)
        _require_payouts(settlement, asset)
        _check_recipient(settlement, asset)
        prices, market = _prices(settlement, asset.code)
    except RecipientRefused as refused:
        if refused.problem == "no_trustline":
            return wait_for(settlement_id, problem=SettlementProblem.NO_TRUSTLINE, message=how_to_trust(asset))
        return fail_unpaid(settlement_id, problem=SettlementProblem(refused.problem), message=str(refused))
    except _Waits as reason:
        return wait_for(settlement_id, problem=reason.problem, message=str(reason))
    return hand_over(settlement_id, asset=asset, prices=prices, market=market)


def hand_over(
    settlement_id: uuid.UUID, *, asset: Asset, prices: Mapping[str, Quote], market: Mapping[str, Quote]
) -> Settlement:
    """Convert other coins at these prices, and create the payout; wait while the treasury has too little.

    `market` has the prices of now, of coins for which others were agreed.
    """
    with transaction.atomic():
        settlement = Settlement.objects.select_for_update().get(pk=settlement_id)
        if settlement.status != SettlementStatus.PENDING or settlement.payout_id is not None:
            return settlement
        settlement.currency, settlement.decimals = asset.code, asset.decimals
        parts = [
            CoinPart.of_record(record, price=prices.get(record["coin"]), market=market.get(record["coin"]))
            for record in settlement.coins
        ]
        totals = total_of(parts, asset.decimals)
        draft = postings.conversion(settlement, parts)
        try:
            if draft is not None:
                post_draft(draft, environment=settlement.environment)
        except InsufficientFunds as error:
            settlement.refresh_from_db()
            return _wait(settlement, SettlementProblem.INSUFFICIENT_LIQUIDITY, _shortfall(error, asset))
        settlement.coins = [part.to_record(asset.decimals) for part in parts]
        settlement.gross, settlement.fee, settlement.refund = totals.gross, totals.fee, totals.refund
        settlement.debt_offset = totals.offset
        settlement.amount = totals.amount
        settlement.converted_at = settlement.next_step_at = timezone.now()
        note_problem(settlement, "", "")
        settlement.payout = request_payout(
            id=settlement.id,
            environment=settlement.environment,
            merchant_id=settlement.merchant_id,
            reference=settlement.public_id,
            asset=asset,
            amount=totals.amount,
            recipient=settlement.destination,
        )
        settlement.save()
        return settlement


def wait_for(settlement_id: uuid.UUID, *, problem: SettlementProblem, message: str) -> Settlement:
    """Note why a settlement cannot be handed over yet, and when to look again."""
    with transaction.atomic():
        settlement = Settlement.objects.select_for_update().get(pk=settlement_id)
        if settlement.status != SettlementStatus.PENDING or settlement.payout_id is not None:
            return settlement
        return _wait(settlement, problem, message)


def fail_unpaid(settlement_id: uuid.UUID, *, problem: SettlementProblem, message: str) -> Settlement:
    """Give up a settlement that was never handed over; its money is the merchant's again."""
    with transaction.atomic():
        settlement = Settlement.objects.select_for_update().get(pk=settlement_id)
        if settlement.status == SettlementStatus.PENDING and settlement.payout_id is None:
            fail(settlement, problem, message)
        return settlement


# --- checked before money is converted ---------------------------------------------------------------


class _Waits(Exception):
    """The settlement cannot be handed over now."""

    def __init__(self, problem: SettlementProblem, message: str) -> None:
        super().__init__(message)
        self.problem = problem


def _asset_to_pay(settlement: Settlement) -> Asset:
    """The settlement currency on its network or, when it is not in use there, what the merchant has chosen since."""
    environment, network = settlement.environment, settlement.network
    try:
        in_use = registry.profile(environment, network).assets
    except registry.UnsupportedNetwork as error:
        raise _Waits(SettlementProblem.NETWORK_UNAVAILABLE, error.message) from error
    if settlement.currency in in_use:
        return in_use[settlement.currency]
    chosen = MerchantSettings.objects.get(merchant=settlement.merchant_id, environment=environment).settlement_currency
    if chosen in in_use:
        return in_use[chosen]
    message = f"{chosen} is not in use on {network}; in use are {', '.join(in_use)}."
    raise _Waits(SettlementProblem.CURRENCY_UNAVAILABLE, message)


def _require_payouts(settlement: Settlement, asset: Asset) -> None:
    """Raises when payouts are stopped, because coins would be converted and then wait."""
    if not may_leave(settlement.environment, settlement.network, {asset.code}):
        raise _Waits(SettlementProblem.NETWORK_UNAVAILABLE, f"Payouts are stopped on {settlement.network}.")
    if settlement.merchant_id in stopped_merchants(settlement.environment):
        raise _Waits(SettlementProblem.NETWORK_UNAVAILABLE, "Payouts of this merchant are stopped.")


def _check_recipient(settlement: Settlement, asset: Asset) -> None:
    chain = registry.chain(settlement.environment, settlement.network)
    note = partial(note_refusal, settlement.environment, settlement.network, settlement.destination, coin=asset.code)
    try:
        chain.hot_wallet.check_recipient(PayoutInstruction(asset, settlement.amount, settlement.destination))
        note(problem="")
    except RecipientRefused as refused:
        note(problem=refused.problem)
        if not refused.may_be_set_aside:  # else the payout waits for the trustline, and is set aside in the end
            raise
    except SendingBlocked as error:
        raise _Waits(SettlementProblem(error.problem), str(error)) from error
    except ChainError as error:
        logger.warning("network did not answer", settlement=settlement.public_id, error=str(error))
        message = f"{settlement.network} could not be reached."
        raise _Waits(SettlementProblem.NETWORK_UNAVAILABLE, message) from error


def _prices(settlement: Settlement, currency: str) -> tuple[dict[str, Quote], dict[str, Quote]]:
    """Conversion prices of the other coins; if they were agreed, also the current prices, if there are any."""
    agreed, environment = agreed_prices(settlement, currency), settlement.environment
    coins = [record["coin"] for record in settlement.coins if record["coin"] not in (currency, *agreed)]
    try:
        prices = agreed | {coin: cross_quote(coin, currency, environment=environment) for coin in coins}
    except RateUnavailable as error:
        raise _Waits(SettlementProblem.RATE_UNAVAILABLE, error.message) from error
    market = cross_quotes(agreed, [currency], environment=environment)
    return prices, {coin: price for (coin, _), price in market.items()}


# --- waiting, with the settlement locked -------------------------------------------------------------


def _wait(settlement: Settlement, problem: SettlementProblem, message: str) -> Settlement:
    """Wait: the next try is after a tenth of the settlement's age.

    One that waits for a trustline goes on waiting for it while its network is silent: nothing else is known of it.
    """
    if settlement.waits_for_trustline and problem == SettlementProblem.NETWORK_UNAVAILABLE:
        problem, message = SettlementProblem.NO_TRUSTLINE, settlement.failure_message
    if settlement.failure_code != problem:
        logger.warning("settlement waits", settlement=settlement.public_id, problem=str(problem), reason=message)
    now = timezone.now()
    note_problem(settlement, problem, message)
    longest = LONGEST_WAIT if problem == SettlementProblem.NO_TRUSTLINE else WAIT_MAX
    settlement.next_step_at = now + min(max((now - settlement.created_at) / 10, WAIT_MIN), longest)
    settlement.save(update_fields=["failure_code", "failure_message", "waits_since", "next_step_at"])
    return settlement


def _shortfall(error: InsufficientFunds, asset: Asset) -> str:
    return f"The treasury holds too little {error.account.asset} on {asset.network}."
