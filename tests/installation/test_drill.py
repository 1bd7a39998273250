"""The whole way through a restore on a real node: dump, go on, restore, resume. The chain remembers what was lost."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from decimal import Decimal
from io import StringIO

import pytest
from django.core.management import CommandError, call_command
from django.db import transaction
from pytest_django.fixtures import Settings
from pytest_django.plugin import DjangoDbBlocker

from config.embedded.postgres import DATABASE, EmbeddedPostgres
from config.installation import services as standing
from config.installation import tasks as installation_tasks
from config.installation.models import Standstill
from merchants.ledger.balances import balance
from payments.chains import registry
from payments.deposits.postings import available_account
from payments.models import Payment
from payments.monitoring import tasks as operation_tasks
from payments.monitoring.models import Alarm
from payments.services import NewPayment, create_payment
from payments.states import PaymentStatus
from payments.transfers import tasks as transfer_tasks
from payments.transfers.models import Payout, Transfer, Wallet
from payments.transfers.owners import follow_payouts
from refunds.models import Refund
from refunds.plans.planning import NewRefund
from refunds.services import create_refund
from tests.agreeing import agree_to_what_waits
from tests.evm.conftest import nodes_end_with_the_run
from tests.evm.mainnet import Mainnet, settings_for
from tests.evm.node import POLYGON_ID, running_node
from tests.evm.shop import PRODUCTION, RATE_SOURCES, Shop, somebody
from tests.factories import make_user
from tests.installation.servers import Servers, working_on
from tests.transfers.scenes import thaw_by_two

pytestmark = pytest.mark.slow

__all__ = ["nodes_end_with_the_run"]

POLYGON = "polygon"
BLOCKS_UNTIL_FINAL = 300
LOOK_AHEAD = 2_000


@pytest.fixture
def server(django_db_blocker: DjangoDbBlocker) -> Iterator[tuple[Servers, EmbeddedPostgres]]:
    servers = Servers()
    standing.forget()
    with django_db_blocker.unblock():
        try:
            yield servers, servers.new("drill", is_migrated=True)
        finally:
            standing.forget()
            servers.close()


def restore(servers: Servers, server: EmbeddedPostgres, dump: object) -> None:
    """Into a new database of the old name, as one does."""
    with server.connect("postgres") as admin:
        admin.execute(f"DROP DATABASE {DATABASE} WITH (FORCE)".encode())
        admin.execute(f"CREATE DATABASE {DATABASE}".encode())
    servers.restore(server, dump)  # type: ignore[arg-type]


def open_payment(shop: Shop) -> Payment:
    request = NewPayment(Decimal(40), "USD", "USDC", POLYGON, somebody("the merchant"))
    with transaction.atomic():
        return create_payment(merchant=shop.merchant, environment=PRODUCTION, request=request)[0]


def refund(shop: Shop, payment: Payment, amount: str, who: str) -> Refund:
    asked = create_refund(
        payment=payment, request=NewRefund(Decimal(amount), destination=somebody(who)), requested_by="Ada"
    )
    shop.asked[POLYGON, asked.cryptocurrency, somebody(who), int(asked.amount)] += 1
    return asked


def available(payment: Payment) -> int:
    return balance(available_account(payment, POLYGON, "USDC"), environment=PRODUCTION)


def resume(**options: object) -> str:
    said = StringIO()
    call_command("resume_after_restore", by="Ada", look_ahead=LOOK_AHEAD, stdout=said, **options)
    return said.getvalue()


def test_after_a_restore_nobodys_money_goes_to_somebody_else_and_nobody_is_paid_twice(
    server: tuple[Servers, EmbeddedPostgres], settings: Settings
) -> None:
    servers, postgres = server
    node = running_node(POLYGON_ID, "drill")
    settings.RATE_SOURCES = RATE_SOURCES
    for name, value in settings_for({POLYGON: [node.url]}).items():
        setattr(settings, name, value)
    with node.put_back():
        drill(servers, postgres, Mainnet(POLYGON, node))


def drill(servers: Servers, postgres: EmbeddedPostgres, mainnet: Mainnet) -> None:
    with working_on(postgres):
        shop = Shop({POLYGON: mainnet})
        [earned] = shop.earn(1)
        installation_tasks.keep_pulse()
        kept = refund(shop, earned, "1.00", "the payer of a refund that the backup has")
    dump = servers.dump(postgres)

    with working_on(postgres):  # the day goes on: money comes in, and leaves
        installation_tasks.keep_pulse()
        lost = [open_payment(shop), open_payment(shop)]
        lost_refund = refund(shop, earned, "2.00", "the payer of a refund that the backup lacks")
        mainnet.pay([("USDC", each.deposit_address, int(each.due)) for each in lost])
        shop.let_blocks_pass()
        assert {Payment.objects.get(pk=each.pk).status for each in lost} == {PaymentStatus.COMPLETED}
        shop.drive()
        mainnet.node.mine()
        assert shop.left() == shop.asked

    restore(servers, postgres, dump)
    standing.forget()  # the processes were started again
    with working_on(postgres):
        sent = mainnet.used_nonces(Wallet.objects.get().address)
        chain = registry.chain(PRODUCTION, POLYGON)
        assert chain.deposit_address(earned.sequence + 1).address == lost[0].deposit_address  # what would come next
        with pytest.raises(standing.StandsStill):
            open_payment(shop)
        installation_tasks.keep_pulse()
        transfer_tasks.drive()
        assert mainnet.used_nonces(Wallet.objects.get().address) == sent
        assert not Transfer.objects.filter(purpose="payout").exists()
        operation_tasks.raise_alarms()
        assert Alarm.objects.open().filter(environment=PRODUCTION, kind="database_restored").count() == 1

        with pytest.raises(CommandError, match="not final yet"):
            resume()
        assert standing.current_standstill() is not None
        mainnet.node.mine(BLOCKS_UNTIL_FINAL)
        said = resume()

        findings = Standstill.objects.get(was_restored=True).findings
        listed = {(each["number"], each["address"], each["asset"], each["amount"]) for each in findings["deposits"]}
        assert listed == {(each.sequence, each.deposit_address, "USDC", "40.000000") for each in lost}
        assert all(each["transaction"] in said for each in findings["deposits"])
        assert {(each["recipient"], each["paid"]) for each in findings["payouts"]} == {
            (somebody("the payer of a refund that the backup has"), kept.public_id),
            (somebody("the payer of a refund that the backup lacks"), ""),
        }
        follow_payouts()
        assert [(each.pk, each.status) for each in Refund.objects.all()] == [(kept.pk, "completed")]
        assert (lost_refund.public_id in said, Payout.objects.get(reference=kept.public_id).status) == (False, "paid")

        [unknown] = [each["transaction"] for each in findings["payouts"] if not each["paid"]]
        of_network = {"env": PRODUCTION, "network": POLYGON, "stdout": StringIO()}
        people = [make_user(f"{name}@example.com", is_staff=True, is_superuser=True) for name in ("ada", "bob")]
        with pytest.raises(CommandError, match="book_sent"):
            thaw_by_two(env=PRODUCTION, network=POLYGON, leave_unknown=True)
        owner = {"owner": earned.public_id, "reason": "the shop says so", "by": people[0].email}
        call_command("book_sent", hash=unknown, **owner, **of_network)
        agree_to_what_waits(people[1])
        thaw_by_two(env=PRODUCTION, network=POLYGON)
        assert sorted(Refund.objects.values_list("status", flat=True)) == ["completed", "completed"]
        before = available(earned)
        anew = open_payment(shop)
        assert anew.sequence > 1_000_000
        shop.let_blocks_pass()
        assert Payment.objects.get(pk=anew.pk).status == PaymentStatus.CREATED
        mainnet.pay([("USDC", anew.deposit_address, int(anew.due))])
        shop.let_blocks_pass()
        assert (Payment.objects.get(pk=anew.pk).status, available(earned) - before) == ("completed", int(anew.due))
        refund(shop, earned, "3.00", "the payer of a refund after the restore")
        shop.drive()
        shop.let_blocks_pass()
        shop.drive()
        assert shop.left() == shop.asked  # every refund once, whichever database knew of it
        assert Counter(shop.asked.values()) == {1: 3}
