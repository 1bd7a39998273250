"""Payments that leave coin and network to their payer: what may be asked for, what choosing changes, and whose money is
found whatever was chosen before or since."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import nullcontext
from decimal import Decimal
from threading import Event as Signal
from typing import Any

import pytest
from django.utils import timezone

from config.errors import DomainError, InvalidParameter
from merchants.ledger import stops
from merchants.models import Merchant
from payments import services, tasks
from payments.chains import registry
from payments.chains.errors import NetworkUnavailable
from payments.checkout.forms import ClaimForm
from payments.deposits import addresses
from payments.models import BalanceChange, OfferedAddress, Payment
from payments.services import ChoiceIsOver, cancel_payment, choose
from payments.states import PaymentStatus
from payments.suspense.acceptance import accept_discrepancy
from payments.suspense.recipient_checks import known_as_ours
from payments.terms import WalletNotAllowed, terms_of
from payments.treasury import native_deposits
from tests.factories import api_client, make_key, make_merchant
from tests.payments.choosing import make_open
from tests.payments.claiming import said
from tests.payments.creating import assert_refused, create
from tests.payments.scenes import (
    BLOCKS_UNTIL_FINAL,
    ETHEREUM,
    POLYGON,
    SANDBOX,
    STELLAR,
    WALLETS,
    assert_all_is_well,
    assert_events_tell_the_records,
    discrepancies,
    discrepancy,
    end_window,
    events,
    make_merchant_who,
    mine_and_watch,
    now,
    pay,
    pay_and_confirm,
    watch,
)
from tests.payments.test_races import race, without_row_locks
from tests.stopping import halt
from webhooks.models import Event

pytestmark = pytest.mark.django_db


def place(payment: Payment) -> tuple[str, str]:
    return payment.deposit_address, payment.memo


# What may be asked for


FIXED = {"cryptocurrency": "USDC", "network": POLYGON, "merchantWallet": WALLETS[POLYGON]}


def ask(merchant: Merchant | None = None, **fields: Any) -> Any:
    body = {"amount": 19.99, "currency": "USD", **fields}
    return api_client(make_key(merchant or make_merchant())).call("POST", "/payments", json_body=body)


def test_the_payer_chooses_among_what_the_request_names() -> None:
    wallets = {network: WALLETS[network] for network in (ETHEREUM, STELLAR)}
    reply = ask(merchantWallets=wallets, cryptocurrencies=["USDC", "DAI"])
    assert reply.status_code == 201, reply.content
    record = reply.json()
    assert (record["network"], record["cryptocurrency"], record["chosenAt"]) == (STELLAR, "USDC", None)
    assert record["choices"] == [
        {"cryptocurrency": coin, "network": network, "merchantWallet": WALLETS[network]}
        for network in (STELLAR, ETHEREUM)  # the cheapest first
        for coin in ("USDC", "DAI")
    ]
    assert record["memo"]


def test_a_request_that_names_none_offers_every_coin_on_the_networks_of_the_merchants_own_wallets() -> None:
    record = ask().json()
    assert {each["network"] for each in record["choices"]} == {ETHEREUM, POLYGON}  # the sandbox's sample, an evm wallet
    assert {each["cryptocurrency"] for each in record["choices"]} == {"USDC", "USDT", "DAI"}


def test_a_single_offer_is_no_choice() -> None:
    record = ask(merchantWallets={POLYGON: WALLETS[POLYGON]}, cryptocurrencies=["DAI"]).json()
    assert (record["network"], record["cryptocurrency"], record["choices"]) == (POLYGON, "DAI", [])


@pytest.mark.parametrize(
    ("fields", "code", "param"),
    [
        ({"merchantWallets": {POLYGON: WALLETS[POLYGON]}}, "invalid_parameter", "merchantWallets"),
        ({"cryptocurrencies": ["USDC"]}, "invalid_parameter", "cryptocurrencies"),
    ],
)
def test_mixed_forms_are_refused(fields: dict[str, Any], code: str, param: str) -> None:
    assert_refused(create(**fields), code=code, param=param)


@pytest.mark.parametrize(
    ("fields", "code", "param"),
    [
        ({"network": POLYGON}, "missing_parameter", "cryptocurrency"),
        ({"cryptocurrency": "USDC", "merchantWallet": WALLETS[POLYGON]}, "missing_parameter", "network"),
        ({**FIXED, "network": None}, "invalid_parameter", "network"),
        ({"merchantWallets": {}}, "invalid_parameter", "merchantWallets"),
        ({"merchantWallets": {POLYGON: "0x1"}}, "invalid_parameter", "merchantWallets.polygon"),
        ({"merchantWallets": {"base": WALLETS[POLYGON]}}, "unknown_parameter", "merchantWallets.base"),
        ({"cryptocurrencies": []}, "invalid_parameter", "cryptocurrencies"),
    ],
)
def test_a_request_that_leaves_it_open_wrongly_is_refused(fields: dict[str, Any], code: str, param: str) -> None:
    assert_refused(ask(**fields), code=code, param=param)


def test_every_wallet_of_an_open_payment_is_checked() -> None:
    merchant = make_merchant_who(wallet_allow_list=[WALLETS[STELLAR]])
    wallets = {network: WALLETS[network] for network in (STELLAR, POLYGON)}
    assert_refused(ask(merchant, merchantWallets=wallets), code="wallet_not_allowed", param="merchantWallets.polygon")


# What choosing changes


def test_choosing_asks_for_it_anew_and_tells_the_merchant() -> None:
    payment = make_open()
    assert (payment.network, payment.chosen_at) == (STELLAR, None)
    chosen = choose(payment, network=ETHEREUM, coin="DAI")
    assert (chosen.network, chosen.cryptocurrency, chosen.decimals) == (ETHEREUM, "DAI", 18)
    assert (chosen.due, chosen.merchant_wallet, chosen.memo) == (100 * 10**18, WALLETS[ETHEREUM], "")
    assert chosen.deposit_address == registry.chain(SANDBOX, ETHEREUM).deposit_address(payment.sequence).address
    assert (chosen.required_confirmations, chosen.version) == (3, 2)
    assert (chosen.expires_at, chosen.sequence) == (payment.expires_at, payment.sequence)
    assert events(payment) == ["payment.created", "payment.updated"]
    assert_events_tell_the_records()
    first, second = Event.objects.filter(object_id=payment.pk).order_by("id")
    assert first.payload["qrCode"] != second.payload["qrCode"] is not None


def test_the_same_choice_again_changes_nothing() -> None:
    payment = choose(make_open(), network=POLYGON, coin="USDC")
    assert choose(payment, network=POLYGON, coin="USDC").version == payment.version == 2
    assert events(payment) == ["payment.created", "payment.updated"]


def test_choosing_what_was_offered_first_keeps_its_quote() -> None:
    payment = make_open()
    chosen = choose(payment, network=payment.network, coin=payment.cryptocurrency)
    assert (chosen.due, place(chosen), chosen.rate_quoted_at) == (payment.due, place(payment), payment.rate_quoted_at)
    assert chosen.chosen_at is not None


def test_the_same_coin_keeps_its_rate_on_another_network() -> None:
    payment = make_open()
    Payment.objects.filter(pk=payment.pk).update(rate=Decimal("0.5"))
    assert choose(payment, network=POLYGON, coin="USDC").due == 200 * 10**6
    assert choose(payment, network=POLYGON, coin="USDT").due == 100 * 10**6


def halted(payment: Payment) -> None:
    halt(POLYGON)


def with_its_coin_stopped(payment: Payment) -> None:
    stops.stop(environment=SANDBOX, network=POLYGON, asset="USDC", reason="for the test")


def without_its_wallet(payment: Payment) -> None:
    settings = payment.merchant.settings.get(environment=SANDBOX)
    settings.wallet_allow_list = [WALLETS[STELLAR]]
    settings.save()


def seen(payment: Payment) -> None:
    pay(payment, "1")
    mine_and_watch(payment.network)


def over(payment: Payment) -> None:
    Payment.objects.filter(pk=payment.pk).update(expires_at=timezone.now())


@pytest.mark.parametrize(
    ("happens", "network", "coin", "refusal"),
    [
        (halted, POLYGON, "USDC", NetworkUnavailable),
        (with_its_coin_stopped, POLYGON, "USDC", NetworkUnavailable),
        (without_its_wallet, POLYGON, "USDC", WalletNotAllowed),
        (seen, POLYGON, "USDC", ChoiceIsOver),
        (over, POLYGON, "USDC", ChoiceIsOver),
        (cancel_payment, POLYGON, "USDC", ChoiceIsOver),
        (lambda payment: None, "base", "USDC", InvalidParameter),
    ],
)
def test_what_cannot_be_chosen_is_refused_and_nothing_changes(
    happens: Callable[[Payment], Any], network: str, coin: str, refusal: type[DomainError]
) -> None:
    payment = make_open()
    happens(payment)
    before = now(payment)
    with pytest.raises(refusal):
        choose(payment, network=network, coin=coin)
    after = now(payment)
    assert (after.version, place(after), after.chosen_at) == (before.version, place(payment), None)


def test_a_network_that_cannot_be_paid_on_is_passed_over_at_the_beginning() -> None:
    stops.stop(environment=SANDBOX, network=STELLAR, asset="USDC", reason="for the test")
    payment = make_open(STELLAR, POLYGON, coins=("USDC",))
    assert (payment.network, len(payment.choices)) == (POLYGON, 2)
    stops.stop(environment=SANDBOX, network=POLYGON, asset="USDC", reason="for the test")
    with pytest.raises(NetworkUnavailable):
        make_open(STELLAR, POLYGON, coins=("USDC",))


# Whose money is found


def test_a_payment_that_nobody_has_chosen_for_is_paid_by_what_it_asks_for() -> None:
    assert pay_and_confirm(make_open()).status == PaymentStatus.COMPLETED
    assert_all_is_well()


def test_what_was_chosen_completes_the_payment() -> None:
    for network, coin in ((ETHEREUM, "USDT"), (POLYGON, "DAI"), (STELLAR, "USDC")):
        payment = choose(make_open(), network=network, coin=coin)
        assert pay_and_confirm(payment).status == PaymentStatus.COMPLETED
    assert_all_is_well()


@pytest.mark.parametrize("before", [ETHEREUM, STELLAR])
def test_money_by_a_choice_of_before_is_found_held_and_settled_where_it_is(before: str) -> None:
    after = STELLAR if before == ETHEREUM else ETHEREUM
    earlier = choose(make_open(), network=before, coin="USDC")
    payment = choose(earlier, network=after, coin="USDC")
    assert place(payment) != place(earlier)
    pay(earlier)
    mine_and_watch(before, BLOCKS_UNTIL_FINAL[before])
    tasks.assess_due()
    assert discrepancies(payment) == [("wrong_network", earlier.due)]
    assert now(payment).status == PaymentStatus.CREATED
    accept_discrepancy(discrepancy(payment), resolved_by="test")
    change = BalanceChange.objects.get(payment=payment)
    assert (change.network, change.wallet) == (before, WALLETS[before])
    assert pay_and_confirm(payment).status == PaymentStatus.COMPLETED
    assert_all_is_well()


@pytest.mark.parametrize("before", [ETHEREUM, STELLAR])
def test_a_claim_finds_what_came_by_a_choice_of_before(before: str) -> None:
    after = STELLAR if before == ETHEREUM else ETHEREUM
    earlier = choose(make_open(), network=before, coin="USDC")
    payment = choose(earlier, network=after, coin="USDC")
    transaction_hash = pay(earlier)
    mine_and_watch(before, BLOCKS_UNTIL_FINAL[before])
    form = ClaimForm({"hash": transaction_hash}, payment=payment)
    assert form.is_valid(), form.errors
    assert said(payment, form.cleaned_data["hash"]) == ("wrong_network", [("wrong_network", False)])


def test_choosing_back_and_forth_ends_at_the_first_address() -> None:
    first = choose(make_open(), network=ETHEREUM, coin="USDC")
    payment = choose(choose(first, network=STELLAR, coin="USDC"), network=ETHEREUM, coin="USDC")
    assert place(payment) == place(first)
    assert OfferedAddress.objects.filter(payment=payment).count() == 2
    assert pay_and_confirm(payment).status == PaymentStatus.COMPLETED
    assert_all_is_well()


def test_money_on_the_network_of_before_at_the_same_address_is_held() -> None:
    payment = choose(choose(make_open(), network=ETHEREUM, coin="USDC"), network=POLYGON, coin="USDC")
    pay(payment, "100", network=ETHEREUM)
    mine_and_watch(ETHEREUM, BLOCKS_UNTIL_FINAL[ETHEREUM])
    tasks.assess_due()
    assert discrepancies(payment) == [("wrong_network", 100 * 10**6)]
    assert_all_is_well()


def test_every_address_of_an_open_payment_is_ours_and_watched() -> None:
    payment = make_open()
    other = registry.chain(SANDBOX, ETHEREUM).deposit_address(payment.sequence).address
    for network in (ETHEREUM, POLYGON):
        watched = addresses.PaymentAddresses(SANDBOX, network)
        assert other in watched.matching({other})
        assert other in (watched.addresses(100_000) or ())
    assert known_as_ours([other]) == {other}
    assert native_deposits.look_at(SANDBOX, ETHEREUM, [payment]) == []


def test_a_payment_of_one_family_has_one_address() -> None:
    make_open(ETHEREUM, POLYGON)
    assert not OfferedAddress.objects.exists()


def test_a_choice_that_comes_after_the_window_was_ended_by_the_chain_is_over() -> None:
    payment = end_window(make_open())
    with pytest.raises(ChoiceIsOver):
        choose(payment, network=POLYGON, coin="USDC")


# Meanwhile


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("is_guarded", [True, False])
def test_a_choice_while_money_is_credited_waits_for_it(is_guarded: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """The payer's choice has looked at the payment when its money is counted: only the lock makes one wait."""
    payment = choose(make_open(), network=STELLAR, coin="USDC")
    pay(payment)
    looked, credited, real = Signal(), Signal(), terms_of

    def slowly(*args: Any, **options: Any) -> Any:
        looked.set()
        credited.wait(1 if is_guarded else 10)  # behind the lock it does not come
        return real(*args, **options)

    def credit() -> None:
        assert looked.wait(10)
        mine_and_watch(STELLAR)
        tasks.assess_due()
        credited.set()

    monkeypatch.setattr(services, "terms_of", slowly)
    with nullcontext() if is_guarded else without_row_locks():
        race(lambda: choose(payment, network=POLYGON, coin="USDC"), credit)
    watch()
    tasks.assess_due()
    # The choice was first: what came by the one before waits for a decision, and nobody was told that it is paid.
    assert ("payment.completed" in events(payment)) is not is_guarded
    if is_guarded:
        assert (now(payment).network, now(payment).status) == (POLYGON, "created")
        assert discrepancies(payment) == [("wrong_network", payment.due)]
        assert_all_is_well()
