"""Every change of a settlement once its run has made it, and the runs that somebody asks for."""

from __future__ import annotations

import uuid
from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Final

import structlog
from django.db import transaction
from django.utils import timezone

from config.environments import Environment
from config.errors import DomainError, InvalidParameter
from config.money import Asset
from merchants.counting import status_changed
from merchants.ledger.posting import InsufficientFunds, post_draft
from merchants.models import Merchant, MerchantSettings
from merchants.wallets import WalletRules
from payments.chains import registry
from payments.chains.base import Payout as ChainPayout
from payments.chains.errors import ChainError, InvalidAddress, RecipientRefused, SendingBlocked
from payments.models import BalanceChange
from payments.payable import refusal_of
from payments.rates.quoting import RateUnavailable
from payments.states import BalanceChangeKind
from payments.transfers.models import Payout
from payments.transfers.payouts import may_leave, policy_of, request_payout
from payments.transfers.states import HoldReason, PayoutStatus
from settlements import postings
from settlements.events import event_of
from settlements.making import MoneyMoved, run_once
from settlements.models import SETTLEMENTS, Settlement, SettlementRun
from settlements.planning import CoinPart, Price, total_of
from settlements.pricing import price_of
from settlements.proposals import Preview, propose
from settlements.schedule import asked_period, next_period
from settlements.states import BLOCKING, SETTLEMENT_MOVES, SettlementProblem, SettlementStatus, Trigger
from webhooks.recording import record_events

logger = structlog.get_logger(__name__)

RUN_AGAIN_AFTER_SECONDS: Final = 5
WAIT_MIN, WAIT_MAX = timedelta(seconds=5), timedelta(minutes=10)

PROBLEM_OF_HOLD: Final[Mapping[str, SettlementProblem]] = {
    HoldReason.APPROVAL: SettlementProblem.OVER_LIMIT,
    HoldReason.OVER_LIMIT: SettlementProblem.OVER_LIMIT,
    HoldReason.DAILY_LIMIT: SettlementProblem.OVER_LIMIT,
    HoldReason.MERCHANT_LIMIT: SettlementProblem.OVER_LIMIT,
    HoldReason.LIQUIDITY: SettlementProblem.INSUFFICIENT_LIQUIDITY,
    HoldReason.COIN_PAUSED: SettlementProblem.COIN_PAUSED,
    HoldReason.WALLET_BLOCKED: SettlementProblem.HOT_WALLET_BLOCKED,
    HoldReason.NETWORK: SettlementProblem.NETWORK_UNAVAILABLE,
    HoldReason.FEES: SettlementProblem.NETWORK_UNAVAILABLE,
}
"""What a held payout means for its settlement."""


class SettlementNotFailed(DomainError):
    code = "settlement_not_failed"
    message = "Only a settlement that failed can be paid again."


class NothingToRedirect(DomainError):
    code = "nothing_to_redirect"
    message = "No money waits for this wallet any more."


class MoneyInMotion(DomainError):
    type = "api_error"
    code = "money_in_motion"
    status = 409
    message = "Money moved each time the settlement was planned. Nothing was settled. Try again shortly."


# --- asked for by people -----------------------------------------------------------------------------


def preview(merchant: Merchant, environment: str, now: datetime) -> Preview:
    """What the next run would settle as of now. Changes nothing."""
    chosen = MerchantSettings.objects.get(merchant=merchant, environment=environment)
    return Preview(next_period(chosen, now), propose(merchant, chosen, until=now, now=now))


def run_now(*, merchant: Merchant, environment: Environment | str, requested_by: str) -> SettlementRun:
    """Settle everything up to now. Two at once are harmless: the second finds what the first has left.

    MoneyInMotion when no plan holds; as the books hold still for all but the first, the log asks for a look.
    """
    period = asked_period(timezone.now())
    try:
        run = run_once(
            merchant_id=merchant.pk,
            environment=environment,
            period=period,
            trigger=Trigger.PERSON,
            requested_by=requested_by,
        )
    except MoneyMoved as moved:
        logger.exception("settlement run does not hold", merchant=str(merchant.pk), environment=str(environment))
        raise MoneyInMotion(retry_after_seconds=RUN_AGAIN_AFTER_SECONDS) from moved
    # None: somebody asked in the very same microsecond, and that run is as good.
    return run or SettlementRun.objects.get(merchant=merchant, environment=environment, period_key=period.key)


def retry_failed(settlement: Settlement, *, requested_by: str) -> Settlement:
    """Let the next run pay the wallet again that this settlement, or others with it, could not be paid to."""
    with transaction.atomic():
        failed = _locked_failed(settlement)
        _unblock(failed)
        logger.info("settlement may be retried", settlement=failed.public_id, by=requested_by)
        return failed


def redirect_failed(settlement: Settlement, *, wallet: str, requested_by: str) -> Settlement:
    """Have the next run pay what waits for the wallet of a failed settlement to another wallet of the merchant.

    Besides the money that came back this is what arrived for the wallet since. InvalidParameter when the other one is
    no address, or is not on the merchant's allow list; NothingToRedirect when a later settlement has taken it all.
    """
    with transaction.atomic():
        chosen = MerchantSettings.objects.select_for_update(no_key=True).get(
            merchant=settlement.merchant_id, environment=settlement.environment
        )
        failed = _locked_failed(settlement)
        wallet = _checked_wallet(failed, wallet, chosen)
        waiting = BalanceChange.objects.filter(
            merchant=failed.merchant_id,
            environment=failed.environment,
            network=failed.network,
            wallet=failed.destination,
            settlement__isnull=True,
        )
        if not waiting.update(wallet=wallet):
            raise NothingToRedirect
        _unblock(failed)
        logger.info("settlement redirected", settlement=failed.public_id, wallet=wallet, by=requested_by)
        return failed


def _locked_failed(settlement: Settlement) -> Settlement:
    failed = Settlement.objects.select_for_update().get(pk=settlement.pk)
    if failed.status != SettlementStatus.FAILED:
        raise SettlementNotFailed
    return failed


def _unblock(failed: Settlement) -> None:
    """What blocks the wallet is any of its settlements that failed."""
    same = Settlement.objects.of(failed.merchant, failed.environment).filter(
        network=failed.network, destination=failed.destination, status=SettlementStatus.FAILED
    )
    same.update(may_retry=True)
    failed.may_retry = True


def _checked_wallet(failed: Settlement, text: str, chosen: MerchantSettings) -> str:
    try:
        wallet = registry.chain(failed.environment, failed.network).parse_address(text)
    except InvalidAddress as error:
        raise InvalidParameter(str(error), param="wallet") from error
    if problem := refusal_of(registry.chain(failed.environment, failed.network), wallet):
        raise InvalidParameter(problem, param="wallet")
    if wallet == failed.destination:
        raise InvalidParameter("This is the wallet that could not be paid.", param="wallet")
    if not WalletRules.of(chosen.wallet_allow_list, chosen.wallets_allowed_at).allows(wallet):
        raise InvalidParameter("This wallet is not on the allow list.", param="wallet")
    return wallet


# --- on its way --------------------------------------------------------------------------------------


def advance(settlement_id: uuid.UUID) -> Settlement:
    """Take a settlement as far as it can go now. Doing it again changes nothing.

    Asks the network about the wallet, so it must not be called while rows are locked.
    """
    settlement = Settlement.objects.get(pk=settlement_id)
    if settlement.status != SettlementStatus.PENDING:
        return settlement
    if settlement.payout_id is not None:
        return follow_payout(settlement_id)
    try:
        asset = _asset_to_pay(settlement)
        _require_payouts(settlement)
        _check_recipient(settlement, asset)
        prices = _prices(settlement, asset.code)
    except RecipientRefused as refused:
        return fail_unpaid(settlement_id, problem=SettlementProblem(refused.problem), message=str(refused))
    except _Waits as reason:
        return wait_for(settlement_id, problem=reason.problem, message=str(reason))
    return hand_over(settlement_id, asset=asset, prices=prices)


def hand_over(settlement_id: uuid.UUID, *, asset: Asset, prices: Mapping[str, Price]) -> Settlement:
    """Convert what is of another coin, at these prices, and have the wallet paid; wait while the treasury has too
    little."""
    with transaction.atomic():
        settlement = Settlement.objects.select_for_update().get(pk=settlement_id)
        if settlement.status != SettlementStatus.PENDING or settlement.payout_id is not None:
            return settlement
        settlement.currency, settlement.decimals = asset.code, asset.decimals
        parts = [CoinPart.of_record(record, price=prices.get(record["coin"])) for record in settlement.coins]
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
        settlement.amount = totals.amount
        settlement.converted_at = settlement.next_step_at = timezone.now()
        settlement.failure_code = settlement.failure_message = ""
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


def follow_payout(settlement_id: uuid.UUID) -> Settlement:
    """End a settlement as its payout has ended, or note why that is held."""
    with transaction.atomic():
        settlement = Settlement.objects.select_for_update().get(pk=settlement_id)
        if settlement.status != SettlementStatus.PENDING or settlement.payout_id is None:
            return settlement
        payout = Payout.objects.select_related("transfer").get(pk=settlement.payout_id)
        match payout.status:
            case PayoutStatus.PAID:
                _complete(settlement, payout)
            case PayoutStatus.FAILED | PayoutStatus.CANCELLED:
                _fail(settlement, _problem_of(payout), payout.failure_message)
            case _:
                _note_hold(settlement, payout)
        return settlement


def fail_unpaid(settlement_id: uuid.UUID, *, problem: SettlementProblem, message: str) -> Settlement:
    """Give up a settlement that was never handed over; its money is the merchant's again."""
    with transaction.atomic():
        settlement = Settlement.objects.select_for_update().get(pk=settlement_id)
        if settlement.status == SettlementStatus.PENDING and settlement.payout_id is None:
            _fail(settlement, problem, message)
        return settlement


# --- what is asked before money is converted ---------------------------------------------------------


class _Waits(Exception):
    """It cannot be handed over just now."""

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


def _require_payouts(settlement: Settlement) -> None:
    """Nothing is converted that would then wait for as long as payouts are stopped."""
    if not may_leave(policy_of(settlement.environment), settlement.network):
        raise _Waits(SettlementProblem.NETWORK_UNAVAILABLE, f"Payouts are stopped on {settlement.network}.")


def _check_recipient(settlement: Settlement, asset: Asset) -> None:
    chain = registry.chain(settlement.environment, settlement.network)
    try:
        chain.check_recipient(ChainPayout(asset, settlement.amount, settlement.destination))
    except RecipientRefused:
        raise
    except SendingBlocked as error:
        raise _Waits(SettlementProblem(error.problem), str(error)) from error
    except ChainError as error:
        logger.warning("network did not answer", settlement=settlement.public_id, error=str(error))
        message = f"{settlement.network} could not be reached."
        raise _Waits(SettlementProblem.NETWORK_UNAVAILABLE, message) from error


def _prices(settlement: Settlement, currency: str) -> dict[str, Price]:
    coins = [record["coin"] for record in settlement.coins if record["coin"] != currency]
    try:
        return {coin: price_of(coin, currency, environment=settlement.environment) for coin in coins}
    except RateUnavailable as error:
        raise _Waits(SettlementProblem.RATE_UNAVAILABLE, error.message) from error


# --- the parts, all with the settlement locked -------------------------------------------------------


def _wait(settlement: Settlement, problem: SettlementProblem, message: str) -> Settlement:
    """The longer it has waited, the longer until the next look: a tenth of its age."""
    if settlement.failure_code != problem:
        logger.warning("settlement waits", settlement=settlement.public_id, problem=str(problem), reason=message)
    now = timezone.now()
    settlement.failure_code, settlement.failure_message = problem, message[:300]
    settlement.next_step_at = now + min(max((now - settlement.created_at) / 10, WAIT_MIN), WAIT_MAX)
    settlement.save(update_fields=["failure_code", "failure_message", "next_step_at"])
    return settlement


def _note_hold(settlement: Settlement, payout: Payout) -> None:
    problem = PROBLEM_OF_HOLD.get(payout.hold_reason, "") if payout.status == PayoutStatus.HELD else ""
    message = HoldReason(payout.hold_reason).label if problem else ""
    if (settlement.failure_code, settlement.failure_message) != (problem, message):
        settlement.failure_code, settlement.failure_message = problem, message
        settlement.save(update_fields=["failure_code", "failure_message"])


def _complete(settlement: Settlement, payout: Payout) -> None:
    settlement.transaction_hash = payout.transfer.transaction_hash if payout.transfer else ""
    settlement.token_fee = payout.token_fee
    _end(settlement, SettlementStatus.COMPLETED)


def _fail(settlement: Settlement, problem: SettlementProblem, message: str) -> None:
    """What is reserved goes back, in whatever coins it is by now, and waits for the same wallet."""
    if settlement.converted_at is not None:
        reserved = {settlement.currency: (settlement.decimals, int(settlement.amount))}
    else:
        reserved = {part["coin"]: (part["decimals"], int(part["net"])) for part in settlement.coins}
    draft = postings.voided(settlement, {coin: amount for coin, (_, amount) in reserved.items()})
    post_draft(draft, environment=settlement.environment)
    BalanceChange.objects.bulk_create(
        BalanceChange(
            merchant_id=settlement.merchant_id,
            environment=settlement.environment,
            kind=BalanceChangeKind.SETTLEMENT_FAILED,
            reference=settlement.public_id,
            network=settlement.network,
            asset=coin,
            decimals=decimals,
            wallet=settlement.destination,
            amount=amount,
            posting_kind=draft.kind,
            posting_reference=draft.reference,
        )
        for coin, (decimals, amount) in reserved.items()
    )
    _end(settlement, SettlementStatus.FAILED, problem=problem, message=message)


def _end(
    settlement: Settlement, status: SettlementStatus, *, problem: SettlementProblem | str = "", message: str = ""
) -> None:
    SETTLEMENT_MOVES.check(settlement.status, status)
    old, settlement.status = settlement.status, status
    settlement.version += 1
    settlement.failure_code, settlement.failure_message = problem, message[:300]
    settlement.ended_at, settlement.next_step_at = timezone.now(), None
    settlement.completed_at = settlement.ended_at if status == SettlementStatus.COMPLETED else None
    settlement.save()
    status_changed(
        SETTLEMENTS,
        merchant_id=settlement.merchant_id,
        environment=settlement.environment,
        key=settlement.id,
        old=old,
        new=status,
    )
    record_events([event_of(settlement)])
    logger.info("settlement ended", settlement=settlement.public_id, status=str(status), problem=str(problem))


def _problem_of(payout: Payout) -> SettlementProblem:
    """Payouts and settlements call what is wrong with a wallet by the same names."""
    if payout.status == PayoutStatus.CANCELLED:
        return SettlementProblem.REJECTED
    if payout.failure_code in BLOCKING:
        return SettlementProblem(payout.failure_code)
    return SettlementProblem.TRANSFER_FAILED


def _shortfall(error: InsufficientFunds, asset: Asset) -> str:
    return f"The treasury holds too little {error.account.asset} on {asset.network}."
