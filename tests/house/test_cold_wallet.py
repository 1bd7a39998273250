"""Coins move between the hot and the cold wallet: never lost from the ledger, and reconcile is clean at every step."""

from __future__ import annotations

import io

import pytest
from django.core.management import call_command
from django.test import Client
from django.urls import reverse
from pytest_django.fixtures import Settings

from merchants.four_eyes.services import agree
from merchants.ledger.chart import AccountKind
from merchants.services import change_fee
from payments import tasks as payment_tasks
from payments.chains import registry
from payments.chains.simulated import actions, control
from payments.chains.simulated.blocks import next_sequences
from payments.chains.simulated.clock import locked
from payments.monitoring.models import Alarm
from payments.monitoring.states import AlarmKind
from payments.monitoring.tasks import raise_alarms
from payments.transfers.models import Payout, PayoutPolicy
from payments.transfers.owners import follow_payouts
from payments.transfers.payouts import policy_of
from payments.transfers.states import HoldReason, PayoutStatus
from payments.transfers.wallets import wallet_of
from payments.treasury.cold import cold_wallet_of
from payments.treasury.house.cold.moves import follow_cold, propose_explanation
from payments.treasury.house.cold.skims import MoreThanFree, propose_skim
from payments.treasury.house.models import Withdrawal
from payments.treasury.house.withdrawals import cancel_withdrawal
from payments.treasury.models import ColdMove, Sweep
from payments.treasury.wallet_balances import NothingToBook, book_treasury, treasury_balance
from tests.factories import make_merchant
from tests.house.scenes import COIN, FEE, People, earn_fee, held_in, house, its_address, leave, unit
from tests.payments.scenes import (
    BLOCKS_UNTIL_FINAL,
    assert_all_is_well,
    findings,
    make_payment,
    mine_and_watch,
    pay_and_confirm,
)
from tests.settlements.scenes import advance, settle_one
from tests.transfers.scenes import (
    ETHEREUM,
    SANDBOX,
    STELLAR,
    ask,
    drive,
    finish,
    fresh,
    on_chain,
    somebody,
    stock,
    wait_no_longer,
)

pytestmark = pytest.mark.django_db

HOT, COLD, MOVING = AccountKind.CHAIN_HOT, AccountKind.CHAIN_COLD, AccountKind.CHAIN_MOVING


def wallets(network: str = ETHEREUM) -> tuple[str, str]:
    chain = registry.chain(SANDBOX, network)
    return chain.payout_address(), chain.cold_wallet()


def stock_final(coins: int, network: str = ETHEREUM) -> None:
    stock(network, coins * unit(network))
    mine_and_watch(network, BLOCKS_UNTIL_FINAL[network])


def skim(coins: int, people: People, network: str = ETHEREUM) -> Withdrawal:
    asset = registry.asset(SANDBOX, network, "USDC")
    proposal = propose_skim(SANDBOX, asset, amount=coins * unit(network), reason="the day's", by=people[0])
    agree(proposal, by=people[1])
    return Withdrawal.objects.latest("pk")


def keepers_send(coins: int, to: str, network: str = ETHEREUM) -> None:
    """The keepers of the cold wallet send coins, outside Ballast; the blocks become final."""
    contract, sender = registry.asset(SANDBOX, network, "USDC").contract, wallets(network)[1]
    with locked(network) as row:
        moved = actions.movement(network, contract=contract, amount=coins * unit(network), recipient=to)
        sequence = next_sequences(network, [sender], pending=True)[sender]
        actions.submit(row, sender=sender, sequence=sequence, movements=[moved])
    mine_and_watch(network, BLOCKS_UNTIL_FINAL[network])


def held(network: str = ETHEREUM) -> tuple[int, int, int]:
    """Whole coins by the ledger: hot, cold, to be moved."""
    return tuple(held_in(kind, network) // unit(network) for kind in (HOT, COLD, MOVING))  # type: ignore[return-value]  # three


def open_alarms() -> set[str]:
    raise_alarms()
    return set(Alarm.objects.open().values_list("kind", flat=True))


@pytest.mark.parametrize("network", [ETHEREUM, STELLAR])
def test_a_skim_is_followed_to_the_cold_wallet_and_takes_nothing_out(network: str, people: People) -> None:
    stock_final(100, network)
    own = house(network).own
    moved = skim(60, people, network)
    assert held(network) == (100, 0, 60)
    assert_all_is_well()
    drive(network)
    assert_all_is_well()
    finish(network, rounds=1)
    assert fresh(moved.payout).status == PayoutStatus.PAID
    assert held(network) == (40, 0, 60)
    assert_all_is_well()  # it is there, and not booked as arrived yet
    follow_payouts()
    assert held(network) == (40, 60, 0)
    assert (on_chain(network, wallets(network)[1]), house(network).own) == (60 * unit(network), own)
    assert held_in(AccountKind.WITHDRAWN, network) == 0
    assert_all_is_well()


def test_what_payouts_wait_for_stays_and_what_is_called_back_is_hot_again(people: People) -> None:
    stock_final(100)
    ask(ETHEREUM, 30 * COIN)
    with pytest.raises(MoreThanFree, match=r"holds 70\.00 USDC that no payout waits for"):
        skim(71, people)
    moved = skim(70, people)
    with pytest.raises(MoreThanFree):
        skim(1, people)
    cancel_withdrawal(moved, by=people[0])
    assert held() == (100, 0, 0)
    assert_all_is_well()


def test_limits_are_for_what_leaves_us(people: People) -> None:
    stock_final(100)
    policy_of(SANDBOX)
    PayoutPolicy.objects.filter(environment=SANDBOX).update(transfer_limit=10, daily_limit=10)
    skim(50, people)
    payout = ask(ETHEREUM, 10 * COIN)
    leave()
    assert held() == (40, 50, 0)
    assert fresh(payout).status == PayoutStatus.PAID, "a skim uses up no limit"


def test_sweeps_go_to_the_cold_wallet_and_payouts_wait_for_a_refill(settings: Settings) -> None:
    settings.SIMULATED_SWEEPS_TO = "cold"
    merchant = make_merchant()
    change_fee(merchant=merchant, fee_bps=1000)
    payment = pay_and_confirm(make_payment(ETHEREUM, amount="100", merchant=merchant))
    mine_and_watch(ETHEREUM, BLOCKS_UNTIL_FINAL[payment.network])
    settlement = advance(settle_one(merchant))
    leave()
    assert Sweep.objects.get().cold_wallet == cold_wallet_of(SANDBOX, ETHEREUM)
    assert held() == (0, 100, 0)
    assert_all_is_well()

    payout = settlement.payout
    assert payout is not None
    wait_no_longer()
    drive(ETHEREUM)
    assert (fresh(payout).status, fresh(payout).hold_reason) == (PayoutStatus.HELD, HoldReason.REFILL)
    assert open_alarms() == {AlarmKind.REFILL_NEEDED}
    said = io.StringIO()
    call_command("refill", env=SANDBOX, stdout=said)
    hot, cold = wallets()
    assert f"send 90.00 USDC\n  from      {cold}\n  to        {hot}" in said.getvalue()

    keepers_send(90, hot)
    assert held() == (0, 100, 0)
    assert_all_is_well()  # final, and not booked yet
    assert follow_cold() == 1
    assert held() == (90, 10, 0)
    assert_all_is_well()
    finish(ETHEREUM, rounds=1)
    assert (fresh(payout).status, open_alarms()) == (PayoutStatus.PAID, set())
    assert (held(), follow_cold()) == ((0, 10, 0), 0)
    assert_all_is_well()


def test_a_refill_on_stellar_comes_as_a_deposit_and_is_known_by_its_sender(people: People) -> None:
    stock_final(100, STELLAR)
    skim(60, people, STELLAR)
    leave(STELLAR)
    own = house(STELLAR).own
    make_payment(STELLAR)  # payers pay to the hot wallet, so it is watched
    keepers_send(20, wallets(STELLAR)[0], STELLAR)
    assert_all_is_well()
    assert follow_cold() == 1
    assert (held(STELLAR), house(STELLAR).own) == ((60, 40, 0), own)
    assert_all_is_well()


def test_the_house_takes_its_earnings_from_the_cold_wallet(people: People, settings: Settings) -> None:
    earn_fee()
    bank = its_address(people)
    skim(FEE, people)
    leave()
    keepers_send(FEE, bank.address)
    assert_all_is_well()
    assert follow_cold() == 1
    assert (held(), held_in(AccountKind.WITHDRAWN), house().own) == ((0, 0, 0), FEE * COIN, 0)
    assert_all_is_well()


def test_what_leaves_for_nobody_we_know_is_an_alarm_until_two_have_said_what_it_was(people: People) -> None:
    stock_final(100)
    skim(60, people)
    leave()
    keepers_send(25, somebody(ETHEREUM, "a stranger"))
    follow_cold()
    [found] = findings()["I12w"]
    assert (found.subject.startswith("cold wallet sandbox ethereum USDC"), found.delta) == (True, -25 * COIN)
    assert AlarmKind.COLD_WALLET_MOVED in open_alarms()
    move = ColdMove.objects.get()
    for person in people:
        propose_explanation(move, is_lost=True, reason="a phished keeper", by=person)
    move.refresh_from_db()
    assert (move.kind, move.note) == ("lost", "a phished keeper (ada@example.com, bob@example.com)")
    assert (held(), held_in(AccountKind.LOSS)) == ((40, 35, 0), 25 * COIN)
    assert AlarmKind.COLD_WALLET_MOVED not in open_alarms()
    assert_all_is_well()


@pytest.mark.django_db(transaction=True)
def test_a_refill_with_coins_that_the_ledger_did_not_know_is_booked_once(people: People) -> None:
    hot, cold = wallets()
    cold_wallet_of(SANDBOX, ETHEREUM)
    wallet_of(SANDBOX, ETHEREUM, registry.chain(SANDBOX, ETHEREUM))
    part = control.Part(registry.asset(SANDBOX, ETHEREUM, "USDC").contract, 80 * COIN, cold)
    control.pay_together(ETHEREUM, [part], sender=somebody(ETHEREUM, "the bank"))
    mine_and_watch(ETHEREUM, BLOCKS_UNTIL_FINAL[ETHEREUM])
    keepers_send(50, hot)
    follow_cold()
    assert (ColdMove.objects.get().kind, held()) == ("unknown", (0, 0, 0))
    found, times = treasury_balance(SANDBOX, ETHEREUM, "USDC")
    with pytest.raises(NothingToBook):  # it would be booked again as a refill
        book_treasury(found, times=times, amount=50 * COIN)
    found, times = treasury_balance(SANDBOX, ETHEREUM, "USDC", is_cold=True)
    book_treasury(found, times=times, amount=80 * COIN)
    for person in people:
        propose_explanation(ColdMove.objects.get(), is_lost=False, reason="a refill", by=person)
    assert (ColdMove.objects.get().kind, held(), house().own) == ("refill", (50, 30, 0), 80 * COIN)
    assert_all_is_well()


def test_a_sweep_on_its_way_is_booked_where_it_went(people: People, settings: Settings) -> None:
    settings.SIMULATED_SWEEPS_TO = "cold"
    payment = pay_and_confirm(make_payment(ETHEREUM, amount="100"))
    mine_and_watch(ETHEREUM, BLOCKS_UNTIL_FINAL[payment.network])
    payment_tasks.sweep()
    settings.SIMULATED_SWEEPS_TO = "hot"  # the owner appoints another treasury before it is mined
    leave()
    assert (Sweep.objects.get().cold_wallet, held()) == (None, (100, 0, 0))
    assert_all_is_well()
    assert not Payout.objects.exists()


def test_the_pages_show_both_wallets_propose_a_skim_and_explain_a_move(people: People, settings: Settings) -> None:
    settings.HOT_WALLET_FLOAT = 30
    stock_final(100)
    ada, bob = Client(), Client()
    ada.force_login(people[0])
    bob.force_login(people[1])
    wallets_page, skim_page = (reverse(f"admin:payments_coldwallet_{name}") for name in ("changelist", "add"))
    assert "Skim up to 70.00 USDC" in ada.get(wallets_page).text
    form = {"place": "sandbox:ethereum:USDC", "amount": "90", "reason": "the day's"}
    assert "holds 100.00 USDC that no payout waits for" in ada.post(skim_page, {**form, "amount": "101"}).text
    assert "another operator must agree" in ada.post(skim_page, form, follow=True).text
    assert "Skim 90.00 USDC" in bob.get(wallets_page).text
    bob.post(skim_page, form)
    leave()
    assert held() == (10, 90, 0)
    page = ada.get(wallets_page).text
    assert "Refill: the keepers of the cold wallet send" in page
    assert 'amount: <code class="whole">20.00 USDC</code>' in page

    keepers_send(5, somebody(ETHEREUM, "a stranger"))
    follow_cold()
    assert "nobody has said what it was" in ada.get(wallets_page).text
    explain = reverse("admin:payments_coldmove_explain")
    said = {"move": ColdMove.objects.get().pk, "what": "lost", "reason": "phished"}
    assert "another operator must agree" in ada.post(explain, said, follow=True).text
    bob.post(explain, said)
    assert "phished (ada@example.com, bob@example.com)" in ada.get(reverse("admin:payments_coldmove_changelist")).text
