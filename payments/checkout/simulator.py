"""The sandbox's payer: simulates on the simulated chain what payers and networks do."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import ClassVar

from django.conf import settings
from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _

from config.environments import Environment
from config.errors import DomainError, NotFound
from payments.chains import registry
from payments.chains.simulated import control
from payments.chains.simulated.networks import address_named
from payments.models import Payment
from payments.services import end_window
from payments.states import DepositStatus, PaymentStatus

OUTAGE_SECONDS = 15


class ScenarioNotPossible(DomainError):
    code: ClassVar[str] = "scenario_not_possible"
    message = "This scenario is not possible on this network."


@dataclass(frozen=True, slots=True)
class Scenario:
    """A scenario for a payment. `description` has the expected result for developers."""

    description: str | Promise
    act: Callable[[Payment], str]
    is_for_any: bool = False
    """True if it can also happen to a payment that has ended."""
    needs_memo: bool | None = None
    """True if it happens on networks with memos alone, False without them alone; None: on any."""


def simulate_payment(payment: Payment, scenario: str) -> str:
    """Simulate a scenario for a sandbox payment; returns the hash of the (first) on-chain transaction.

    The rest follows with the next blocks, as on a real network.
    """
    if payment.environment != Environment.SANDBOX or settings.SANDBOX_CHAIN != "simulated":
        raise NotFound("Payments can be simulated on the sandbox's simulated networks only.")
    if scenario not in (possible := possible_scenarios(payment)):
        raise ScenarioNotPossible(
            f"This payment is {payment.status}: {scenario} cannot happen to it, only {', '.join(possible)}.",
            param="scenario",
        )
    return SCENARIOS[scenario].act(payment)


def possible_scenarios(payment: Payment) -> dict[str, Scenario]:
    """Scenarios of a payment as it stands: for an ended one only money that comes again, late or sent wrongly."""
    return {name: known for name, known in SCENARIOS.items() if known.is_for_any or not _is_over(payment)}


def offered_scenarios(payment: Payment) -> dict[str, Scenario]:
    """Scenarios among them that can happen on its network, for its page."""
    has_memo = bool(payment.memo)
    return {name: each for name, each in possible_scenarios(payment).items() if each.needs_memo in (None, has_memo)}


def _is_over(payment: Payment) -> bool:
    is_open = payment.status in (PaymentStatus.CREATED, PaymentStatus.PENDING, PaymentStatus.UNDERPAID)
    return not is_open or payment.closed_at is not None


def _missing(payment: Payment) -> int:
    """Amount still to be paid; the full price when nothing is."""
    seen = payment.deposits.filter(network=payment.network, asset=payment.cryptocurrency)
    paid = sum(int(deposit.amount) for deposit in seen.exclude(status=DepositStatus.ORPHANED))
    due = int(payment.due)
    return due - paid if paid < due else due


def _part(payment: Payment, amount: int, *, coin: str = "") -> control.Part:
    asset = registry.asset(payment.environment, payment.network, coin or payment.cryptocurrency)
    return control.Part(asset.contract, amount, payment.muxed_address or payment.deposit_address)


def _pay(payment: Payment, amount: int) -> str:
    return control.pay_together(payment.network, [_part(payment, amount)])


def _halves(amount: int) -> tuple[int, int]:
    if amount < 2:
        raise ScenarioNotPossible("The amount is too small to be divided.")
    return amount // 2, amount - amount // 2


def _exact(payment: Payment) -> str:
    return _pay(payment, _missing(payment))


def _underpaid(payment: Payment) -> str:
    return _pay(payment, _halves(_missing(payment))[0])


def _overpaid(payment: Payment) -> str:
    missing = _missing(payment)
    return _pay(payment, missing + max(1, missing // 4))


def _two_parts(payment: Payment) -> str:
    first, second = _halves(_missing(payment))
    control.schedule(payment.network, "pay", after_blocks=3, parts=[_part(payment, second)])
    return _pay(payment, first)


def _late(payment: Payment) -> str:
    if payment.status in (PaymentStatus.CREATED, PaymentStatus.UNDERPAID):
        end_window(payment)
    return _exact(payment)


def _wrong_token(payment: Payment) -> str:
    coins = registry.profile(payment.environment, payment.network).assets
    other = next(asset for code, asset in coins.items() if code != payment.cryptocurrency)
    scale = 10 ** abs(other.decimals - payment.decimals)
    missing = _missing(payment)
    amount = missing * scale if other.decimals > payment.decimals else max(1, missing // scale)
    return control.pay_together(payment.network, [_part(payment, amount, coin=other.code)])


def _wrong_network(payment: Payment) -> str:
    own = registry.profile(payment.environment, payment.network)
    for network in registry.networks(payment.environment):
        profile = registry.profile(payment.environment, network)
        if network != own.network and profile.shares_addresses_with(own):
            asset = profile.assets[payment.cryptocurrency]
            part = control.Part(asset.contract, _missing(payment), payment.deposit_address)
            return control.pay_together(network, [part])
    raise ScenarioNotPossible(f"No other network shares the addresses of {own.name}.", param="scenario")


def _missing_memo(payment: Payment) -> str:
    if not payment.memo:
        raise ScenarioNotPossible("Payments on this network need no memo.", param="scenario")
    asset = registry.asset(payment.environment, payment.network, payment.cryptocurrency)
    part = control.Part(asset.contract, _missing(payment), payment.deposit_address)
    return control.pay_together(payment.network, [part])


def _from_exchange(payment: Payment) -> str:
    if not payment.memo:
        raise ScenarioNotPossible("Payments on this network need no memo.", param="scenario")
    exchange = address_named(payment.network, "exchange")
    control.describe_account(payment.network, exchange, refuses="memo_required")
    part = replace(_part(payment, _missing(payment)), recipient=payment.deposit_address, memo=payment.memo)
    return control.pay_together(payment.network, [part], sender=exchange)


def _memo_conflict(payment: Payment) -> str:
    if not payment.memo:
        raise ScenarioNotPossible("Payments on this network need no memo.", param="scenario")
    part = replace(_part(payment, _missing(payment)), memo=str(int(payment.memo) + 1))
    return control.pay_together(payment.network, [part])


def _two_transfers(payment: Payment) -> str:
    return control.pay_together(payment.network, [_part(payment, half) for half in _halves(_missing(payment))])


def _reorg(payment: Payment) -> str:
    depth = control.deepest_reorg(payment.network)
    if depth < 1:
        raise ScenarioNotPossible("Every block of this network is final at once.", param="scenario")
    transaction_hash = _exact(payment)
    control.schedule(payment.network, "reorg", after_blocks=depth, depth=depth, only=[transaction_hash])
    return transaction_hash


def _outage(payment: Payment) -> str:
    transaction_hash = _exact(payment)
    control.outage(payment.network, OUTAGE_SECONDS)
    return transaction_hash


SCENARIOS: Mapping[str, Scenario] = MappingProxyType(
    {
        "exact": Scenario(_("The payer sends exactly what is due or still missing."), _exact, is_for_any=True),
        "underpaid": Scenario(_("The payer sends half of what is due."), _underpaid),
        "overpaid": Scenario(_("The payer sends a quarter too much; the surplus waits for a decision."), _overpaid),
        "two_parts": Scenario(_("The payer sends half now and the rest a few blocks later."), _two_parts),
        "late": Scenario(_("The time to pay ends now, and the money arrives after it."), _late, is_for_any=True),
        "wrong_token": Scenario(_("The payer sends the wrong coin."), _wrong_token, is_for_any=True),
        "wrong_network": Scenario(
            _("The payer sends on the wrong EVM network."), _wrong_network, is_for_any=True, needs_memo=False
        ),
        "two_transfers": Scenario(
            _("Two transfers inside one on-chain transaction make up the amount."), _two_transfers
        ),
        "reorg": Scenario(
            _("A reorganisation undoes the transfer; it comes back in a later block."), _reorg, needs_memo=False
        ),
        "outage": Scenario(_("The network does not answer for 15 seconds while money arrives."), _outage),
        "missing_memo": Scenario(
            _("On stellar, the payer forgets the memo."), _missing_memo, is_for_any=True, needs_memo=True
        ),
        "from_exchange": Scenario(
            _("On stellar, the payer sends from an exchange, with the memo; a refund then needs an address."),
            _from_exchange,
            needs_memo=True,
        ),
        "memo_conflict": Scenario(
            _("On stellar, memo and muxed address name different payments; the muxed address counts."),
            _memo_conflict,
            needs_memo=True,
        ),
    }
)

PAYER_SCENARIOS: Mapping[str, Promise] = MappingProxyType(
    {
        "exact": _("Pay exactly"),
        "underpaid": _("Pay half"),
        "overpaid": _("Pay too much"),
        "two_parts": _("Pay in two parts"),
        "late": _("Pay too late"),
        "wrong_token": _("Pay with another coin"),
        "wrong_network": _("Pay on another network"),
        "missing_memo": _("Pay without the memo"),
        "from_exchange": _("Pay from an exchange"),
    }
)
"""Scenarios that a payer can play: offered on the payment's page. The others happen to a network, which many share."""


def payer_scenarios(payment: Payment) -> dict[str, Promise]:
    """Scenarios on the page of a simulated payment, with the words of its button; empty for any other payment."""
    if payment.environment != Environment.SANDBOX or settings.SANDBOX_CHAIN != "simulated":
        return {}
    return {name: PAYER_SCENARIOS[name] for name in offered_scenarios(payment) if name in PAYER_SCENARIOS}
