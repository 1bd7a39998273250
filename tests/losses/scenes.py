"""Coins that vanish from deposit addresses, in words the tests of missing coins share."""

from __future__ import annotations

from datetime import datetime

from django.utils import timezone

from config import ids
from merchants.ledger.checking import Finding, Scope, registered
from merchants.models import User
from payments import tasks
from payments.chains import registry
from payments.chains.simulated import control
from payments.chains.simulated.models import SimulatedTransfer
from payments.deposits.models import ScanCursor
from payments.models import Payment
from payments.treasury.losses.models import Bearer, MissingCoins, MissingStatus
from payments.treasury.losses.services import propose_loss
from settlements.plans.facts import unsettled
from tests.factories import make_user
from tests.payments.scenes import BLOCKS_UNTIL_FINAL, ETHEREUM, SANDBOX, mine_and_watch, units
from tests.transfers.scenes import drive


def destroy(payment: Payment, amount: str) -> None:
    """The issuer destroys coins at the payment's address, and that becomes final."""
    control.destroy(
        payment.network,
        address=payment.deposit_address,
        code=payment.cryptocurrency,
        amount=units(payment, amount),
    )
    mine_and_watch(payment.network, BLOCKS_UNTIL_FINAL[payment.network])


def send_unread(payment: Payment, amount: str) -> None:
    """Coins come to the payment's address in a final block, which the watcher has passed over."""
    network, code = payment.network, payment.cryptocurrency
    control.fund(network, address=payment.deposit_address, code=code, amount=units(payment, amount))
    control.mine(network, BLOCKS_UNTIL_FINAL[network])
    height = registry.chain(SANDBOX, network).reading.head().finalized_height
    unread = registry.chain(SANDBOX, network).reading.cursor_at(height)
    ScanCursor.objects.filter(network=network).update(cursor=unread)
    mine_and_watch(network)


def bring_back(payment: Payment) -> None:
    """What was destroyed at the payment's address is there again, by the balance alone: no transfer tells of it."""
    SimulatedTransfer.objects.filter(source=payment.deposit_address).delete()


def look(*, since: datetime | None = None) -> list[Finding]:
    """What the check finds; what follows from it is written, as reconcile does once its snapshot is closed."""
    [check] = [known for known in registered() if known.code == "I12d"]
    scope = Scope(since=since)
    found = list(check.check(scope))
    scope.do_what_is_left()
    return found


def open_missing(payment: Payment) -> MissingCoins:
    return MissingCoins.objects.get(payment=payment, status=MissingStatus.OPEN)


def lose(payment: Payment, bearer: Bearer) -> MissingCoins:
    """Two operators decide who bears what is missing."""
    missing = open_missing(payment)
    for name in ("Ada", "Grace"):
        propose_loss(missing, bearer=bearer, reason="Destroyed by the issuer.", by=person(name))
    missing.refresh_from_db()
    return missing


def person(name: str) -> User:
    """An operator of this name, the same each time."""
    known = User.objects.filter(email=f"{name.lower()}@example.com").first()
    return known or make_user(email=f"{name.lower()}@example.com", is_staff=True, is_superuser=True)


def settleable(payment: Payment) -> int:
    """What the merchant of a payment may have settled, in base units."""
    return sum(pot.total for pot in unsettled(payment.merchant_id, SANDBOX, before=ids.first_uuid_at(timezone.now())))


def sweep() -> None:
    """Sign what is due, send it, let it become final, and book it."""
    tasks.sweep()
    drive(ETHEREUM, 2)
    mine_and_watch(ETHEREUM, BLOCKS_UNTIL_FINAL[ETHEREUM])
    drive(ETHEREUM)
    tasks.sweep()
