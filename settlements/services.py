"""What people request of settlements: a preview, a run now, another try, another wallet, nothing more to a lost one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final

import structlog
from django.db import transaction
from django.utils import timezone

from config import ids
from config.environments import Environment
from config.errors import DomainError, InvalidParameter
from merchants.ledger.posting import lock_accounts, receivable_beside
from merchants.models import Member, Merchant, MerchantSettings
from merchants.wallets import WalletRules, wallet_key
from payments.chains import registry
from payments.chains.errors import InvalidAddress
from payments.merchant_wallets.models import MerchantWallet
from payments.merchant_wallets.routing import routing_of
from payments.merchant_wallets.services import declare_lost
from payments.models import BalanceChange
from payments.suspense.recipient_checks import NEEDS_MEMO, needs_memo, query_wallet, refusal_of
from payments.transfers.payouts import PayoutNotCancellable, cancel_payout, retry_held
from settlements.models import Settlement, SettlementRun
from settlements.payouts.outcome import fail, voided
from settlements.plans.facts import Preview, facts_of
from settlements.plans.periods import RUNS_SHOWN, coming_periods
from settlements.plans.planning import plan
from settlements.plans.schedule import requested_period
from settlements.run_creation import MoneyMoved, run_once
from settlements.states import SettlementProblem, SettlementStatus, Trigger

logger = structlog.get_logger(__name__)

RUN_AGAIN_AFTER_SECONDS: Final = 5


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
        lines = [line for settlement in back for line in voided(settlement).lines]
        accounts = {line.account for line in lines} | set(filter(None, map(receivable_beside, lines)))
        lock_accounts(accounts, environment=environment)  # all at once: each of them posts to some
        for settlement in back:
            fail(settlement, SettlementProblem.WALLET_LOST, str(SettlementProblem.WALLET_LOST.label))
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
    fail(waiting, SettlementProblem.NO_TRUSTLINE, waiting.failure_message)


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
