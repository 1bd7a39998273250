"""Changes of a settlement after its run has made it, and runs on request."""

from __future__ import annotations

import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import partial
from typing import Final

import structlog
from django.db import transaction
from django.utils import timezone

from config import ids
from config.environments import Environment
from config.errors import DomainError, InvalidParameter
from config.money import Asset
from merchants.counting import status_changed
from merchants.ledger.posting import InsufficientFunds, PostingDraft, lock_accounts, post_draft, receivable_beside
from merchants.ledger.stops import may_leave, stopped_merchants
from merchants.models import Member, Merchant, MerchantSettings
from merchants.wallets import WalletRules, wallet_key
from payments.chains import registry
from payments.chains.errors import ChainError, InvalidAddress, RecipientRefused, SendingBlocked
from payments.chains.protocol.payouts import PayoutInstruction
from payments.merchant_wallets.models import MerchantWallet
from payments.merchant_wallets.routing import routing_of
from payments.merchant_wallets.services import declare_lost
from payments.models import BalanceChange
from payments.rates.quoting import Quote, RateUnavailable, cross_quote, cross_quotes
from payments.states import BalanceChangeKind
from payments.suspense.recipient_checks import NEEDS_MEMO, needs_memo, note_refusal, query_wallet, refusal_of
from payments.transfers.models import Payout
from payments.transfers.payouts import (
    PayoutNotCancellable,
    cancel_payout,
    request_payout,
    retry_held,
)
from payments.transfers.states import HoldReason, PayoutStatus
from settlements.models import LONGEST_WAIT, SETTLEMENTS, Settlement, SettlementRun
from settlements.plans import postings
from settlements.plans.facts import Preview, facts_of
from settlements.plans.periods import RUNS_SHOWN, coming_periods
from settlements.plans.planning import CoinPart, plan, total_of
from settlements.plans.pricing import agreed_prices
from settlements.plans.schedule import requested_period
from settlements.records import event_of
from settlements.run_creation import MoneyMoved, run_once
from settlements.states import BLOCKING, SETTLEMENT_MOVES, SettlementProblem, SettlementStatus, Trigger
from settlements.wording import how_to_trust
from webhooks.events.recording import record_events

logger = structlog.get_logger(__name__)

RUN_AGAIN_AFTER_SECONDS: Final = 5
WAIT_MIN, WAIT_MAX = timedelta(seconds=5), timedelta(minutes=10)

PROBLEM_OF_HOLD: Final[Mapping[str, SettlementProblem]] = {
    HoldReason.APPROVAL: SettlementProblem.OVER_LIMIT,
    HoldReason.OVER_LIMIT: SettlementProblem.OVER_LIMIT,
    HoldReason.DAILY_LIMIT: SettlementProblem.OVER_LIMIT,
    HoldReason.MERCHANT_LIMIT: SettlementProblem.OVER_LIMIT,
    HoldReason.REVIEW: SettlementProblem.OVER_LIMIT,
    HoldReason.LIQUIDITY: SettlementProblem.INSUFFICIENT_LIQUIDITY,
    HoldReason.REFILL: SettlementProblem.INSUFFICIENT_LIQUIDITY,
    HoldReason.COIN_PAUSED: SettlementProblem.COIN_PAUSED,
    HoldReason.WALLET_BLOCKED: SettlementProblem.HOT_WALLET_BLOCKED,
    HoldReason.NO_TRUSTLINE: SettlementProblem.NO_TRUSTLINE,
    HoldReason.NETWORK: SettlementProblem.NETWORK_UNAVAILABLE,
    HoldReason.SIGNER: SettlementProblem.NETWORK_UNAVAILABLE,
    HoldReason.STOPPED: SettlementProblem.NETWORK_UNAVAILABLE,
    HoldReason.FEES: SettlementProblem.NETWORK_UNAVAILABLE,
}
"""The problem of a settlement whose payout is held, by the reason."""


class SettlementNotFailed(DomainError):
    code = "settlement_not_failed"
    message = "Only a settlement that failed can be paid again."


class NothingToRedirect(DomainError):
    code = "nothing_to_redirect"
    message = "No money is waiting for this wallet."


class WalletWaits(DomainError):
    code = "wallet_waits"
    message = (
        "You have a wallet of your own on this network. Redirect to that one, or add another on the page of your "
        "wallets: it is paid once its waiting time is over."
    )


class MoneyInMotion(DomainError):
    type = "api_error"
    code = "money_in_motion"
    status = 409
    message = "Money moved each time the settlement was planned. Nothing was settled. Try again shortly."


# --- requested by people -----------------------------------------------------------------------------


def preview(merchant: Merchant, chosen: MerchantSettings, now: datetime) -> Preview:
    """The next run's settlements as of now. Changes nothing."""
    facts = facts_of(merchant, chosen, before=ids.first_uuid_at(now), now=now)
    return Preview(coming_periods(chosen, now, RUNS_SHOWN), plan(facts), facts.refusals)


def run_now(*, merchant: Merchant, environment: Environment | str, requested_by: str) -> SettlementRun:
    """Settle everything up to now. Two at once do no harm: the second settles what the first has left.

    MoneyInMotion when money moved during every attempt; with a locked ledger that should not happen, so it is logged.
    """
    period = requested_period(timezone.now())
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
    # None: another request has made the run of the same microsecond.
    return run or SettlementRun.objects.get(merchant=merchant, environment=environment, period_key=period.key)


def retry_failed(settlement: Settlement, *, requested_by: str) -> Settlement:
    """Let the next run pay the wallet again that this settlement, or others with it, could not be paid to.

    One that waits for a trustline goes on at once if the wallet has it now.
    """
    with transaction.atomic():
        failed = Settlement.objects.select_for_update().get(pk=settlement.pk)
        if failed.waits_for_trustline:
            return _look_again(failed)
        _require_failed(failed)
        _unblock(failed)
        logger.info("settlement may be retried", settlement=failed.public_id, by=requested_by)
        return failed


def redirect_failed(settlement: Settlement, *, wallet: str, requested_by: str) -> Settlement:
    """Have the next run pay what waits for the wallet of a failed settlement to another wallet of the merchant.

    That is the money that came back and what arrived for the wallet since. A settlement that waits for a trustline
    fails first; PayoutNotCancellable when it is on its way by now. InvalidParameter when the other wallet is no
    address, or is not on the merchant's allow list; WalletWaits when the merchant has named a wallet for the network
    and this is another; NothingToRedirect when a later settlement has taken it all.
    """
    query_wallet(settlement.environment, settlement.network, wallet, merchant_id=settlement.merchant_id)
    with transaction.atomic():
        chosen = MerchantSettings.objects.select_for_update(no_key=True).get(
            merchant=settlement.merchant_id, environment=settlement.environment
        )
        failed = Settlement.objects.select_for_update().get(pk=settlement.pk)
        wallet = _checked_wallet(failed, wallet, chosen)
        if failed.waits_for_trustline:
            _give_up_waiting(failed)
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


@dataclass(frozen=True, slots=True)
class CalledBack:
    """Result for the pending settlements to a wallet whose key is lost."""

    wallet: MerchantWallet
    back: Sequence[Settlement]
    """Not signed yet: their money is back in the balance."""
    gone: Sequence[Settlement]
    """Signed already: they cannot be called back any more."""


def declare_wallet_lost(*, network: str, address: str, environment: str, by: Member) -> CalledBack:
    """Pay nothing more to a wallet whose key the merchant has lost; `declare_lost` keeps its money for the merchant's
    other wallet. Pending settlements to it that are not signed yet fail at once.
    """
    with transaction.atomic():
        wallet = declare_lost(merchant=by.merchant, environment=environment, network=network, address=address, by=by)
        pending = Settlement.objects.of(by.merchant, environment).filter(
            network=network, status=SettlementStatus.PENDING
        )
        back, gone = [], []
        for settlement in pending.select_for_update(of=("self",)).select_related("payout").order_by("id"):
            if wallet_key(settlement.destination) != wallet_key(wallet.address):
                continue
            try:
                if settlement.payout is not None:
                    cancel_payout(settlement.payout)
            except PayoutNotCancellable:
                gone.append(settlement)
            else:
                back.append(settlement)
        lines = [line for settlement in back for line in _voided(settlement).lines]
        accounts = {line.account for line in lines} | set(filter(None, map(receivable_beside, lines)))
        lock_accounts(accounts, environment=environment)  # all at once: each of them posts to some
        for settlement in back:
            _fail(settlement, SettlementProblem.WALLET_LOST, str(SettlementProblem.WALLET_LOST.label))
        return CalledBack(wallet, back, gone)


def _require_failed(settlement: Settlement) -> None:
    if settlement.status != SettlementStatus.FAILED:
        raise SettlementNotFailed


def _look_again(waiting: Settlement) -> Settlement:
    """Query the network about the wallet of a locked settlement now, before its time has come."""
    if waiting.payout is not None:
        retry_held(waiting.payout)
    else:
        waiting.next_step_at = timezone.now()
        waiting.save(update_fields=["next_step_at"])
    return waiting


def _give_up_waiting(waiting: Settlement) -> None:
    """Fail a locked settlement that waits for a trustline, because its money is to go elsewhere."""
    if waiting.payout is not None:
        cancel_payout(waiting.payout)
    _fail(waiting, SettlementProblem.NO_TRUSTLINE, waiting.failure_message)


def _unblock(failed: Settlement) -> None:
    """Let runs pay the wallet again: marks all its failed settlements."""
    same = Settlement.objects.of(failed.merchant, failed.environment).filter(
        network=failed.network, destination=failed.destination, status=SettlementStatus.FAILED
    )
    same.update(may_retry=True)
    failed.may_retry = True


def _checked_wallet(failed: Settlement, text: str, chosen: MerchantSettings) -> str:
    if not failed.waits_for_trustline:
        _require_failed(failed)
    try:
        wallet = registry.chain(failed.environment, failed.network).parse_address(text)
    except InvalidAddress as error:
        raise InvalidParameter(str(error), param="wallet") from error
    if problem := refusal_of(registry.chain(failed.environment, failed.network), wallet):
        raise InvalidParameter(problem, param="wallet")
    if needs_memo(failed.environment, failed.network, wallet):
        raise InvalidParameter(NEEDS_MEMO, param="wallet")
    if wallet == failed.destination:
        raise InvalidParameter("This is the wallet that could not be paid.", param="wallet")
    if not WalletRules.of(chosen.wallet_allow_list, chosen.wallets_allowed_at).allows(wallet):
        raise InvalidParameter("This wallet is not on the allow list.", param="wallet")
    routing = routing_of(failed.merchant_id, failed.environment)
    if routing.is_lost(failed.network, wallet):
        raise InvalidParameter("You have reported that the key of this wallet is lost.", param="wallet")
    agreed = routing.in_use.get(failed.network)
    if agreed is not None and wallet_key(agreed) != wallet_key(wallet):
        raise WalletWaits(param="wallet")
    return wallet


# --- on its way --------------------------------------------------------------------------------------


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
        _note_problem(settlement, "", "")
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


def follow_payout(settlement: Settlement) -> Settlement:
    """End a settlement when its payout has ended, or note why the payout is held."""
    with transaction.atomic():
        settlement = Settlement.objects.select_for_update().get(pk=settlement.pk)
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


# --- the parts, all with the settlement locked -------------------------------------------------------


def _wait(settlement: Settlement, problem: SettlementProblem, message: str) -> Settlement:
    """Wait: the next try is after a tenth of the settlement's age.

    One that waits for a trustline goes on waiting for it while its network is silent: nothing else is known of it.
    """
    if settlement.waits_for_trustline and problem == SettlementProblem.NETWORK_UNAVAILABLE:
        problem, message = SettlementProblem.NO_TRUSTLINE, settlement.failure_message
    if settlement.failure_code != problem:
        logger.warning("settlement waits", settlement=settlement.public_id, problem=str(problem), reason=message)
    now = timezone.now()
    _note_problem(settlement, problem, message)
    longest = LONGEST_WAIT if problem == SettlementProblem.NO_TRUSTLINE else WAIT_MAX
    settlement.next_step_at = now + min(max((now - settlement.created_at) / 10, WAIT_MIN), longest)
    settlement.save(update_fields=["failure_code", "failure_message", "waits_since", "next_step_at"])
    return settlement


def _note_hold(settlement: Settlement, payout: Payout) -> None:
    problem = PROBLEM_OF_HOLD.get(payout.hold_reason, "") if payout.status == PayoutStatus.HELD else ""
    message = HoldReason(payout.hold_reason).label if problem else ""
    if problem == SettlementProblem.NO_TRUSTLINE:
        message = how_to_trust(registry.asset(settlement.environment, settlement.network, settlement.currency))
    if (settlement.failure_code, settlement.failure_message) != (problem, message):
        _note_problem(settlement, problem, message)
        settlement.save(update_fields=["failure_code", "failure_message", "waits_since"])


def _note_problem(settlement: Settlement, problem: str, message: str) -> None:
    """Sets what keeps a pending settlement back, empty for nothing, and since when something does."""
    settlement.waits_since = (settlement.waits_since or timezone.now()) if problem else None
    settlement.failure_code, settlement.failure_message = problem, message[:300]


def _complete(settlement: Settlement, payout: Payout) -> None:
    settlement.transaction_hash = payout.transfer.transaction_hash if payout.transfer else ""
    settlement.token_fee, settlement.claimable_balance = payout.token_fee, payout.claimable_balance
    _end(settlement, SettlementStatus.COMPLETED)


def _fail(settlement: Settlement, problem: SettlementProblem, message: str) -> None:
    """Fail it: what is reserved goes back, in the coins it is now, and waits for the same wallet."""
    draft = _voided(settlement)
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
        for coin, (decimals, amount) in _reserved(settlement).items()
    )
    _end(settlement, SettlementStatus.FAILED, problem=problem, message=message)


def _voided(settlement: Settlement) -> PostingDraft:
    return postings.voided(settlement, {coin: amount for coin, (_, amount) in _reserved(settlement).items()})


def _reserved(settlement: Settlement) -> dict[str, tuple[int, int]]:
    """The amounts reserved for it now: by coin, its decimals and base units."""
    if settlement.converted_at is not None:
        return {settlement.currency: (settlement.decimals, int(settlement.amount))}
    return {part["coin"]: (part["decimals"], int(part["net"])) for part in settlement.coins}


def _end(
    settlement: Settlement, status: SettlementStatus, *, problem: SettlementProblem | str = "", message: str = ""
) -> None:
    SETTLEMENT_MOVES.check(settlement.status, status)
    old, settlement.status = settlement.status, status
    settlement.version += 1
    settlement.failure_code, settlement.failure_message = problem, message[:300]
    settlement.ended_at, settlement.next_step_at, settlement.waits_since = timezone.now(), None, None
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
    """The problem of a failed payout; both use the same names for problems of wallets."""
    if payout.status == PayoutStatus.CANCELLED:
        return SettlementProblem.REJECTED
    if payout.failure_code in BLOCKING:
        return SettlementProblem(payout.failure_code)
    return SettlementProblem.TRANSFER_FAILED


def _shortfall(error: InsufficientFunds, asset: Asset) -> str:
    return f"The treasury holds too little {error.account.asset} on {asset.network}."
