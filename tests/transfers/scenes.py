"""Payouts without what they are for: the operator's own coins leave, in words the tests of transfers share."""

from __future__ import annotations

import io
from typing import Any

from django.core.management import call_command
from django.db import connection, transaction
from django.utils import timezone

from config import ids
from config.environments import Environment
from merchants.ledger.balances import balance
from merchants.ledger.chart import AccountKind
from merchants.ledger.posting import AccountRef, Line, post
from merchants.models import Merchant, User
from payments.chains import registry
from payments.chains.simulated import control
from payments.chains.simulated.networks import address_named
from payments.transfers.execution import executor
from payments.transfers.models import Payout, Transfer, Wallet
from payments.transfers.payouts import request_payout
from payments.transfers.postings import hot_account, payout_account
from payments.transfers.states import OPEN_TRANSFERS, PayoutStatus
from payments.transfers.wallets import freeze_of
from tests.agreeing import agree_to_what_waits
from tests.factories import make_merchant, make_user
from tests.networks import ETHEREUM, POLYGON, STELLAR

__all__ = ["ETHEREUM", "POLYGON", "STELLAR"]

SANDBOX = Environment.SANDBOX
COIN = 10**6


def treasury(network: str, coin: str = "USDC") -> AccountRef:
    return AccountRef(network, coin, AccountKind.TREASURY)


def stock(network: str, amount: int, coin: str = "USDC") -> None:
    """The operator puts coins into the hot wallet, in base units: on the chain and in the ledger."""
    chain = registry.chain(SANDBOX, network)
    control.fund(network, address=chain.payout_address(), code=coin, amount=amount)
    control.mine(network)
    with transaction.atomic():
        lines = [Line(hot_account(network, coin), amount), Line(treasury(network, coin), -amount)]
        post(height=1, environment=SANDBOX, kind="treasury_in", reference=str(ids.new_uuid()), lines=lines)


def somebody(network: str, name: str = "somebody") -> str:
    return address_named(network, name)


def ask(
    network: str,
    amount: int = COIN,
    *,
    coin: str = "USDC",
    to: str = "",
    memo: str = "",
    memo_type: str = "",
    merchant: Merchant | None = None,
) -> Payout:
    """A payout with its money reserved, as a refund or a settlement would ask for it."""
    key = ids.new_uuid()
    asset = registry.asset(SANDBOX, network, coin)
    with transaction.atomic():
        lines = [Line(treasury(network, coin), amount), Line(payout_account(network, coin, key), -amount)]
        post(height=1, environment=SANDBOX, kind="reserved", reference=str(key), lines=lines)
        return request_payout(
            id=key,
            environment=SANDBOX,
            merchant_id=(merchant or make_merchant()).pk,
            reference=ids.REFUND.encode(key),
            asset=asset,
            amount=amount,
            recipient=to or somebody(network),
            memo=memo,
            memo_type=memo_type,
        )


def drive(network: str, rounds: int = 1) -> bool:
    """So many rounds of its wallet; True when one of them got something done."""
    moved = [executor.run_round(SANDBOX, network) for _ in range(rounds)]
    return any(moved)


def finish(network: str, rounds: int = 3) -> None:
    """Drive and mine until what is on its way is final, or so many rounds have not been enough."""
    for _ in range(rounds):
        drive(network)
        if not _is_on_its_way(network):
            return
        control.mine(network, control.deepest_reorg(network) + 1)
    drive(network)


def _is_on_its_way(network: str) -> bool:
    """True if a further round may do something: most of a test's time would go to rounds that find nothing."""
    due, _ = executor.due_rows(timezone.now())
    transfers = Transfer.objects.filter(wallet__network=network, status__in=OPEN_TRANSFERS)
    return transfers.exists() or due.filter(network=network).exists()


def fresh(payout: Payout) -> Payout:
    return Payout.objects.get(pk=payout.pk)


def the_transfer() -> Transfer:
    return Transfer.objects.get()


def the_wallet(network: str) -> Wallet:
    return Wallet.objects.get(environment=SANDBOX, network=network)


def why_frozen(network: str) -> str:
    """Why the wallet is frozen; empty while it signs."""
    frozen = freeze_of(the_wallet(network))
    return frozen.reason if frozen else ""


def set_back(payout: Payout) -> None:
    """Have a payout that has ended wait again, as an older backup does, or a superuser of the database."""
    row = Payout.objects.filter(pk=payout.pk)
    with connection.cursor() as cursor:
        cursor.execute("SET LOCAL session_replication_role = replica")
        row.update(status=PayoutStatus.READY, transfer=None, finished_at=None, next_attempt_at=timezone.now())
        cursor.execute("SET LOCAL session_replication_role = origin")


def reserved(payout: Payout) -> int:
    """What still waits for it in the ledger."""
    return balance(payout_account(payout.network, payout.asset, payout.id), environment=SANDBOX)


def hot(network: str, coin: str = "USDC") -> int:
    return balance(hot_account(network, coin), environment=SANDBOX)


def on_chain(network: str, address: str, coin: str = "USDC") -> int:
    """What an address holds on the chain."""
    return registry.chain(SANDBOX, network).reading.balance(address, registry.asset(SANDBOX, network, coin))


def wait_no_longer() -> None:
    """Whatever waits for a time is due now."""
    Payout.objects.filter(next_attempt_at__isnull=False).update(next_attempt_at=timezone.now())
    Transfer.objects.filter(next_step_at__isnull=False).update(next_step_at=timezone.now())


def thaw_by_two(*, env: str = SANDBOX, **options: Any) -> str:
    """What `thaw_wallet` prints for one operator, and what becomes of it once another has agreed in the admin."""
    out = io.StringIO()
    ada, bob = (
        User.objects.filter(email=email).first() or make_user(email, is_staff=True, is_superuser=True)
        for email in ("ada@example.com", "bob@example.com")
    )
    call_command("thaw_wallet", env=env, by=ada.email, stdout=out, **options)
    return out.getvalue() + "".join(f"{each.get_status_display()}\n" for each in agree_to_what_waits(bob))
