"""ETH at the address of a payment: found without an event, credited to nobody, brought in when an operator says so."""

from __future__ import annotations

import io
from datetime import timedelta

import pytest
from django.contrib.auth.models import Permission
from django.core.management import CommandError, call_command
from django.test import Client
from django.urls import reverse
from django.utils import timezone
from pytest_django.fixtures import Settings

from merchants.ledger.balances import balance
from merchants.ledger.chart import AccountKind
from merchants.ledger.posting import AccountRef
from merchants.models import User
from payments import tasks
from payments.chains import registry
from payments.chains.simulated import control
from payments.deposits.models import ScanCursor
from payments.models import Payment
from payments.transfers.models import Transfer
from payments.transfers.services import freeze_wallet, thaw_wallet
from payments.treasury import native_deposits
from payments.treasury.models import NativeCoin, Sweep
from tests.payments.scenes import (
    BLOCKS_UNTIL_FINAL,
    ETHEREUM,
    POLYGON,
    SANDBOX,
    STELLAR,
    assert_all_is_well,
    books,
    end_window,
    make_payment,
    mine,
    mine_and_watch,
    now,
    pay_and_confirm,
    watch,
)
from tests.transfers.scenes import drive, the_wallet

pytestmark = pytest.mark.django_db

ETHER = 10**18


def send_native(payment: Payment, amount: int = ETHER, network: str = "") -> None:
    control.fund_native(network or payment.network, address=payment.deposit_address, amount=amount)
    mine(network or payment.network)


def look(network: str = ETHEREUM) -> int:
    """A new round, at once."""
    watch()
    ScanCursor.objects.filter(network=network).update(native_round_at=None)
    return native_deposits.look_for_some(SANDBOX, network)


def held(payment: Payment) -> dict[str, int]:
    return {coin.network: coin.held for coin in payment.native_coins.all()}


def bring_in(network: str = ETHEREUM) -> None:
    """What the worker does once an operator has asked."""
    tasks.sweep()
    drive(network, 2)
    mine_and_watch(network, BLOCKS_UNTIL_FINAL[network])
    drive(network)
    tasks.sweep()


def in_books(kind: AccountKind, network: str = ETHEREUM, code: str = "ETH") -> int:
    return balance(AccountRef(network, code, kind), environment=SANDBOX)


def command(*words: str, network: str = ETHEREUM) -> str:
    said = io.StringIO()
    call_command("sweep_native", "--env", SANDBOX, "--network", network, *words, "--yes", stdout=said)
    return said.getvalue()


class TestLooking:
    def test_it_is_found_and_counts_for_no_payment(self) -> None:
        payment = make_payment()
        send_native(payment)
        assert look() == 1
        assert held(payment) == {ETHEREUM: ETHER}
        assert (now(payment).status, now(payment).received, books(payment)) == ("created", 0, {})
        assert_all_is_well()

    def test_it_is_found_on_every_network_that_has_the_address(self) -> None:
        payment = make_payment(ETHEREUM)
        send_native(payment, 7, network=POLYGON)
        assert (look(), look(POLYGON)) == (0, 1)
        assert held(payment) == {POLYGON: 7}

    def test_what_comes_later_or_goes_is_seen_by_the_next_round(self) -> None:
        payment = make_payment()
        send_native(payment, 5)
        look()
        send_native(payment, 6)
        look()
        assert held(payment) == {ETHEREUM: 11}
        control.drain_native(ETHEREUM, address=payment.deposit_address)
        mine(ETHEREUM)
        assert look() == 0
        assert held(payment) == {ETHEREUM: 0}

    def test_a_round_goes_through_all_payments_in_pieces_and_pauses(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(native_deposits, "ADDRESSES_AT_ONCE", 2)
        payments = [make_payment() for _ in range(3)]
        for payment in payments:
            send_native(payment, 1)
        watch()
        assert [native_deposits.look_for_some(SANDBOX, ETHEREUM) for _ in range(3)] == [2, 1, 0]
        assert NativeCoin.objects.count() == 3
        began = timezone.now() - native_deposits.ROUND
        ScanCursor.objects.filter(network=ETHEREUM).update(native_round_at=began)
        assert native_deposits.look_for_some(SANDBOX, ETHEREUM) == 2

    def test_payments_are_looked_at_for_a_month_after_their_end(self) -> None:
        payment = end_window(make_payment())
        send_native(payment)
        Payment.objects.filter(pk=payment.pk).update(closes_at=timezone.now() - timedelta(days=30, minutes=1))
        assert look() == 0
        Payment.objects.filter(pk=payment.pk).update(closes_at=timezone.now() - timedelta(days=29))
        assert look() == 1

    def test_a_network_that_does_not_answer_loses_nothing(self) -> None:
        payment = make_payment()
        send_native(payment)
        watch()
        control.outage(ETHEREUM, 60)
        tasks.look_for_native_coin()
        assert held(payment) == {}
        control.outage(ETHEREUM, 0)
        tasks.look_for_native_coin()
        assert held(payment) == {ETHEREUM: ETHER}

    def test_where_deposits_share_an_account_there_is_nothing_to_look_for(self) -> None:
        make_payment(STELLAR)
        watch()
        assert native_deposits.look_for_some(SANDBOX, STELLAR) == 0


class TestBringingIn:
    @pytest.fixture
    def payment(self) -> Payment:
        payment = make_payment()
        send_native(payment)
        look()
        return payment

    def test_nothing_moves_before_an_operator_asks(self, payment: Payment) -> None:
        bring_in()
        assert not Transfer.objects.exists()
        assert held(payment) == {ETHEREUM: ETHER}

    def test_it_becomes_the_treasurys_and_pays_fees(self, payment: Payment) -> None:
        other = make_payment()
        send_native(other, 3)
        look()
        assert native_deposits.ask_for(list(NativeCoin.objects.all()), asked_by="Ada") == ETHER + 3
        bring_in()
        [sweep] = Sweep.objects.all()
        assert (sweep.asset, sweep.expected, sweep.moved) == ("ETH", ETHER + 3, ETHER + 3)
        fee = int(Transfer.objects.get().fee_units)
        # The fee of the sweep itself is booked before what it brought is.
        assert in_books(AccountKind.GAS) == ETHER + 3
        assert in_books(AccountKind.TREASURY) == ETHER + 3 + fee
        assert in_books(AccountKind.FEE_NETWORK) == fee
        coins = NativeCoin.objects.order_by("pk")
        assert [(coin.held, coin.brought, coin.sweep, coin.asked_at) for coin in coins] == [
            (0, ETHER, sweep, None),
            (0, 3, sweep, None),
        ]
        assert look() == 0
        assert_all_is_well()

        send_native(payment, 9)
        look()
        assert command().startswith(f"{payment.public_id}  0.000000000000000009 ETH")

    @pytest.mark.django_db(transaction=True)
    def test_the_books_agree_with_the_wallet_at_every_step(self, payment: Payment) -> None:
        call_command("book_treasury", "--env", SANDBOX, "--network", ETHEREUM, "--asset", "ETH", "--yes")
        native_deposits.ask_for([payment.native_coins.get()], asked_by="Ada")
        assert_all_is_well()
        tasks.sweep()
        drive(ETHEREUM, 2)
        assert_all_is_well()
        mine_and_watch(ETHEREUM, BLOCKS_UNTIL_FINAL[ETHEREUM])
        assert_all_is_well()
        drive(ETHEREUM)
        assert_all_is_well()
        tasks.sweep()
        assert payment.native_coins.get().brought == ETHER
        assert_all_is_well()

    def test_what_arrives_after_signing_is_booked_as_well(self, payment: Payment) -> None:
        native_deposits.ask_for([payment.native_coins.get()], asked_by="Ada")
        tasks.sweep()
        send_native(payment, 5)
        bring_in()
        [sweep] = Sweep.objects.all()
        assert (sweep.expected, sweep.moved, payment.native_coins.get().brought) == (ETHER, ETHER + 5, ETHER + 5)
        assert_all_is_well()

    def test_a_sweep_that_waits_too_long_is_replaced(self, payment: Payment) -> None:
        native_deposits.ask_for([payment.native_coins.get()], asked_by="Ada")
        tasks.sweep()
        control.set_fee_level(ETHEREUM, 3)
        drive(ETHEREUM)
        mine(ETHEREUM)
        transfer = Transfer.objects.get()
        transfer.envelopes.update(signed_at=timezone.now() - timedelta(hours=1))
        Transfer.objects.update(next_step_at=timezone.now())
        drive(ETHEREUM)
        assert transfer.envelopes.count() == 2
        bring_in()
        assert payment.native_coins.get().brought == ETHER
        assert_all_is_well()

    def test_it_is_not_asked_for_twice(self, payment: Payment) -> None:
        coin = payment.native_coins.get()
        native_deposits.ask_for([coin], asked_by="Ada")
        tasks.sweep()
        with pytest.raises(native_deposits.NothingToBringIn):
            native_deposits.ask_for([coin], asked_by="Grace")
        tasks.sweep()
        assert Transfer.objects.count() == 1

    def test_nothing_is_asked_for_when_part_of_it_is_gone(self, payment: Payment) -> None:
        other = make_payment()
        send_native(other)
        look()
        control.drain_native(ETHEREUM, address=other.deposit_address)
        mine(ETHEREUM)
        look()
        with pytest.raises(native_deposits.NothingToBringIn):
            native_deposits.ask_for(list(NativeCoin.objects.all()), asked_by="Ada")
        with pytest.raises(native_deposits.NothingToBringIn):
            native_deposits.ask_for([], asked_by="Ada")
        assert not NativeCoin.objects.filter(asked_at__isnull=False).exists()

    def test_it_waits_while_the_wallet_is_frozen(self, payment: Payment) -> None:
        pay_and_confirm(make_payment(amount="3"))
        tasks.sweep()
        wallet = the_wallet(ETHEREUM)
        freeze_wallet(wallet, reason="to look")
        native_deposits.ask_for([payment.native_coins.get()], asked_by="Ada")
        tasks.sweep()
        assert payment.native_coins.get().sweep is None
        thaw_wallet(wallet, {"": wallet.next_sequence}, thawed_by="Ada")
        tasks.sweep()
        assert payment.native_coins.get().sweep is not None

    def test_a_sweep_that_comes_to_nothing_leaves_it_to_be_asked_for_again(self, payment: Payment) -> None:
        native_deposits.ask_for([payment.native_coins.get()], asked_by="Ada")
        tasks.sweep()
        control.drain_native(ETHEREUM, address=payment.deposit_address)
        mine(ETHEREUM)
        bring_in()
        assert [(each.moved, each.booked_at is not None) for each in Sweep.objects.all()] == [(0, True)]
        assert held(payment) == {ETHEREUM: 0}
        send_native(payment, 4)
        look()
        assert native_deposits.ask_for([payment.native_coins.get()], asked_by="Ada") == 4

    def test_only_so_many_addresses_are_emptied_at_once(self, payment: Payment, settings: Settings) -> None:
        chain = registry.chain(SANDBOX, ETHEREUM)
        costs, most = chain.hot_wallet.costs(), chain.profile.sweeps_per_transfer
        coins = [payment.native_coins.get()] * (most + 1)
        assert native_deposits.cost_of(chain, coins) == costs.of_sweep(first_time=most) + costs.of_sweep(first_time=1)
        assert native_deposits.cost_of(chain, []) == 0


class TestTheCommand:
    def test_it_lists_and_asks_only_when_told_to(self) -> None:
        payment = make_payment()
        send_native(payment, 2 * ETHER)
        look()
        said = command()
        assert f"{payment.public_id}  2.000000000000000000 ETH at {payment.deposit_address}\n" in said
        assert "2.000000000000000000 ETH in all; bringing it in costs about 0.0" in said
        assert payment.native_coins.get().asked_at is None
        assert "Asked for." in command("--all", "--by", "Ada")
        assert payment.native_coins.get().asked_by == "Ada"
        assert "asked for by Ada" in command()

    def test_it_looks_at_the_payment_that_is_named(self) -> None:
        payment, other = make_payment(), make_payment()
        send_native(payment)
        send_native(other)
        assert "Asked for." in command("--payment", payment.public_id)
        assert [coin.payment for coin in NativeCoin.objects.exclude(asked_at=None)] == [payment]

    def test_it_says_when_there_is_nothing(self) -> None:
        make_payment()
        assert command("--all").startswith("0.000000000000000000 ETH in all")

    def test_it_refuses_a_loss_that_nobody_wants(self) -> None:
        payment = make_payment()
        send_native(payment, 1)
        with pytest.raises(CommandError, match="costs more than it brings"):
            command("--payment", payment.public_id)
        assert payment.native_coins.get().asked_at is None
        assert "Asked for." in command("--payment", payment.public_id, "--at-a-loss")

    def test_all_of_it_is_all_that_is_worth_its_share_of_the_cost(self) -> None:
        payment, dusty = make_payment(), make_payment()
        send_native(payment)
        send_native(dusty, 5)
        look()
        assert dusty.public_id in command()
        assert dusty.public_id not in command("--all")
        assert [coin.payment for coin in NativeCoin.objects.exclude(asked_at=None)] == [payment]
        command("--all", "--at-a-loss")
        assert NativeCoin.objects.exclude(asked_at=None).count() == 2

    @pytest.mark.parametrize(
        ("words", "network", "said"),
        [
            (("--payment", "pay_0"), ETHEREUM, "There is no pay_0 in sandbox"),
            (("--all",), STELLAR, "arrive at the hot wallet itself"),
            (("--all",), "solana", "not available in sandbox"),
        ],
    )
    def test_what_cannot_be_is_refused(self, words: tuple[str, ...], network: str, said: str) -> None:
        with pytest.raises(CommandError, match=said):
            command(*words, network=network)


def test_an_operator_brings_it_in_from_the_admin_and_notes_what_became_of_it(client: Client) -> None:
    payment = make_payment()
    send_native(payment)
    look()
    operator = User.objects.create_user("ada@ballast.example", "correct horse battery", is_staff=True)
    names = ("view_nativecoin", "change_nativecoin")
    operator.user_permissions.set(Permission.objects.filter(codename__in=names))
    client.force_login(operator)
    coin = payment.native_coins.get()
    page = reverse("admin:payments_nativecoin_changelist")
    assert "1.00 ETH" in client.get(page).text
    chosen = {"action": "bring_in", "_selected_action": [coin.pk]}
    assert b"belongs to the treasury" in client.post(page, chosen).content
    assert payment.native_coins.get().asked_at is None
    client.post(page, {**chosen, "confirmed": "yes", "note": "Fees"})
    assert payment.native_coins.get().asked_by == "ada@ballast.example"
    form = reverse("admin:payments_nativecoin_change", args=[coin.pk])
    client.post(form, {"note": "given back: 0xabc", "held": "5"})
    changed = payment.native_coins.get()
    assert (changed.note, changed.held) == ("given back: 0xabc", ETHER)
