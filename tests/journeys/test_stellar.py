"""A day of 150 shops on stellar: payments in every way there is to pay, refunds, and one settlement run.

Production's registry, profiles and adapters do all of it, through two Horizons of a local network. At the end the
ledger and the accounts of the network agree to the last stroop.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from decimal import Decimal
from io import StringIO

import pytest
from django.core.management import call_command
from django.utils import timezone
from pytest_django.fixtures import Settings
from stellar_sdk.operation import ChangeTrust, ManageData, ManageSellOffer, PathPaymentStrictReceive

from payments.chains.stellar.addresses import mux
from payments.chains.stellar.horizon import providers
from payments.models import Discrepancy, Payment
from payments.states import DiscrepancyStatus
from payments.transfers.models import Payout, Transfer
from payments.transfers.owners import follow_payouts
from payments.transfers.states import PayoutStatus, TransferStatus
from refunds import tasks as refund_tasks
from refunds.models import Refund
from refunds.plans.planning import NewRefund
from refunds.services import create_refund, give_destination
from refunds.states import NamedBy, RefundStatus
from settlements import tasks as settlement_tasks
from settlements.models import Settlement
from tests.factories import make_merchant
from tests.networks import put_profile
from tests.stellar.network.horizon import LocalHorizon
from tests.stellar.network.keys import HOT_WALLET
from tests.stellar.shops import COIN, Shop, address_of, local_profile, reconcile, settings_for

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.slow]

MERCHANTS, WITHOUT_TRUSTLINE = 150, (7, 77, 149)
MEMO, MUXED, TEXT, PATH, TWO_IN_ONE = 100, 40, 20, 20, 20
"""How many are paid in each way; 200 together."""
ROUNDS_MAX = 30
GIVEN_BACK = 2
"""Whole coins, of each payment that is given back in part."""
FORGOTTEN, UNKNOWN, MISTYPED = 8, 6, 6
"""Whose memo is missing or wrong."""


@pytest.fixture
def shop(settings: Settings, monkeypatch: pytest.MonkeyPatch) -> Iterator[Shop]:
    put_profile(monkeypatch, local_profile())
    monkeypatch.setattr(providers, "LAG_SECONDS", 3600.0)  # ledgers close when told to, however long that takes here
    with LocalHorizon() as horizon, horizon.another() as other:
        for name, value in settings_for([horizon.url, other.url.replace("127.0.0.1", "localhost")]).items():
            setattr(settings, name, value)
        yield Shop(horizon, stock={"USDC": 5_000})


def test_what_is_paid_given_back_and_settled_is_on_the_network_to_the_last_stroop(shop: Shop) -> None:
    wallets = [f"merchant {number}" for number in range(MERCHANTS)]
    trusting = [name for number, name in enumerate(wallets) if number not in WITHOUT_TRUSTLINE]
    shop.move_in("exchange", "person", "maker", "careful", *trusting)
    shop.move_in(*(wallets[number] for number in WITHOUT_TRUSTLINE), codes=())
    merchants = [make_merchant(plan="enterprise") for _ in wallets]
    payments = [
        shop.open(merchants[number % MERCHANTS], address_of(wallets[number % MERCHANTS]), Decimal(10) + number)
        for number in range(MEMO + MUXED + TEXT + PATH + TWO_IN_ONE)
    ]
    pay_in_every_way(shop, payments)
    shop.let_ledgers_close()
    assert Counter(Payment.objects.values_list("status", flat=True)) == {"completed": len(payments)}
    send_without_a_usable_memo(shop, payments)
    shop.let_ledgers_close()
    waiting = Discrepancy.objects.filter(status=DiscrepancyStatus.OPEN, payment=None)
    assert waiting.count() == FORGOTTEN + UNKNOWN + MISTYPED
    shop.assert_ledger_is_the_chain()

    give_back(shop, payments)
    shop.assert_ledger_is_the_chain()

    settle(shop, wallets)
    shop.assert_ledger_is_the_chain()
    assert not Transfer.objects.exclude(status=TransferStatus.FINAL).exists()
    assert not Payout.objects.exclude(status=PayoutStatus.PAID).exists()
    assert reconcile() == 0
    shop.horizon.clawback(HOT_WALLET, "USDC", 1)  # were there a single stroop less, it would be seen
    shop.let_ledgers_close()
    assert reconcile() == 2


# --- what people do ----------------------------------------------------------------------------------


def pay_in_every_way(shop: Shop, payments: list[Payment]) -> None:
    """By the memo, by the muxed address, by the number as text, out of another coin, and two in one envelope."""
    ways = iter(payments)
    by_memo = [next(ways) for _ in range(MEMO)]
    by_muxed = [next(ways) for _ in range(MUXED)]
    by_text = [next(ways) for _ in range(TEXT)]
    by_path = [next(ways) for _ in range(PATH)]
    pairs = [(next(ways), next(ways)) for _ in range(TWO_IN_ONE // 2)]
    usdc, dai = shop.horizon.asset("USDC"), shop.horizon.asset("DAI")
    for code in ("USDC", "DAI"):
        shop.stock_people(code, "exchange", "person", "maker", "careful")
    shop.send("maker", ([ManageSellOffer(usdc, dai, "50000", "0.5")], None))

    shop.send("exchange", *(([shop.paying(each)], int(each.memo)) for each in by_memo))
    halves = {"person": by_muxed[0::2], "careful": by_muxed[1::2]}
    for sender, some in halves.items():
        shop.send(sender, *(([shop.paying(each, to=each.muxed_address)], None) for each in some))
    shop.send("exchange", *(([shop.paying(each)], each.memo) for each in by_text))
    converted = [
        PathPaymentStrictReceive(HOT_WALLET, dai, "1000", usdc, shop.paying(each).amount, []) for each in by_path
    ]
    shop.send("person", *(([one], int(each.memo)) for one, each in zip(converted, by_path, strict=True)))
    shop.send("exchange", *(([shop.paying(each, to=each.muxed_address) for each in pair], None) for pair in pairs))


def send_without_a_usable_memo(shop: Shop, payments: list[Payment]) -> None:
    """The memo is forgotten, is nobody's number, or is no number at all."""
    forgotten: list[str | int | None] = [None] * FORGOTTEN
    unknown = [int(payments[number].memo) + 1 for number in range(UNKNOWN)]
    mistyped = [f"{payments[number].memo[:-1]}O" for number in range(MISTYPED)]
    amount = shop.paying(payments[0], units=12_345_678)
    shop.send("exchange", *(([amount], memo) for memo in (*forgotten, *unknown, *mistyped)))


def give_back(shop: Shop, payments: list[Payment]) -> None:
    """Four go back to who paid by a muxed address, three where the merchant says, three wait for the payer's word."""
    shop.send("careful", ([ManageData("config.memo_required", "1")], None))
    by_muxed = payments[MEMO : MEMO + MUXED]
    to_sender, must_ask = [*by_muxed[0:8:2]], [payments[0], payments[MEMO + MUXED], by_muxed[1]]
    before = {name: shop.held(name) for name in ("person", "exchange", "careful")}
    named = mux(address_of("exchange"), 5)
    refunds = [refund(each) for each in to_sender] + [refund(each, named) for each in payments[1:4]]
    asking = [refund(each) for each in must_ask]
    let_money_move(shop)
    assert statuses(refunds) == {RefundStatus.COMPLETED}
    assert statuses(asking) == {RefundStatus.REQUIRES_ACTION}
    assert shop.held("person") - before["person"] == len(to_sender) * GIVEN_BACK * COIN
    assert shop.held("exchange") - before["exchange"] == 3 * GIVEN_BACK * COIN
    assert shop.held("careful") == before["careful"]

    told = ((address_of("exchange"), "77"), (named, ""), (mux(address_of("careful"), 9), ""))
    for each, (to, memo) in zip(asking, told, strict=True):
        give_destination(each, address=to, memo=memo, named_by=NamedBy.PAYER)
    let_money_move(shop)
    assert statuses(asking) == {RefundStatus.COMPLETED}
    asked = {"order": "desc", "limit": "2", "join": "transactions"}
    page = shop.horizon.questions.answer(f"/accounts/{address_of('exchange')}/payments", asked)
    told_of = {(each.get("to_muxed_id"), each["transaction"].get("memo")) for each in page["_embedded"]["records"]}
    assert told_of == {("5", None), (None, "77")}
    assert shop.held("careful") - before["careful"] == GIVEN_BACK * COIN


def refund(payment: Payment, destination: str = "") -> Refund:
    request = NewRefund(amount=Decimal(GIVEN_BACK), destination=destination)
    return create_refund(payment=payment, request=request, requested_by="a test")


def settle(shop: Shop, wallets: list[str]) -> None:
    """147 merchants in two on-chain transactions; the other three as soon as they trust the coin."""
    before = Transfer.objects.count()
    call_command("run_settlements", "--now", stdout=StringIO())
    let_money_move(shop)
    assert Counter(Settlement.objects.values_list("status", "failure_code")) == {
        ("completed", ""): MERCHANTS - len(WITHOUT_TRUSTLINE),
        ("pending", "no_trustline"): len(WITHOUT_TRUSTLINE),
    }
    assert Transfer.objects.count() == before + 2
    for number in WITHOUT_TRUSTLINE:
        shop.send(wallets[number], ([ChangeTrust(shop.horizon.asset("USDC"))], None))
    Settlement.objects.update(next_step_at=timezone.now())
    let_money_move(shop)
    assert Transfer.objects.count() == before + 3
    paid = {address_of(name): shop.held(name) for name in wallets}
    assert paid == {each.destination: int(each.amount) for each in Settlement.objects.filter(status="completed")}


def statuses(refunds: list[Refund]) -> set[str]:
    return set(Refund.objects.filter(pk__in=[each.pk for each in refunds]).values_list("status", flat=True))


# --- what workers do ---------------------------------------------------------------------------------


def let_money_move(shop: Shop) -> None:
    """What beat asks of the workers, and ledgers between, until nothing is on its way."""
    for _ in range(ROUNDS_MAX):
        # What was put off for some seconds has its turn now.
        Payout.objects.filter(next_attempt_at__isnull=False).update(next_attempt_at=timezone.now())
        refund_tasks.resolve_destinations()
        settlement_tasks.advance_due()
        shop.drive()
        shop.let_ledgers_close()
        shop.drive()
        follow_payouts()
        if not Payout.objects.exclude(status=PayoutStatus.PAID).exists():
            return
    raise AssertionError(f"still on their way: {Payout.objects.exclude(status=PayoutStatus.PAID)}")
