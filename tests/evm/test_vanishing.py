"""An issuer destroys coins at a deposit address, on a real node."""

from __future__ import annotations

import pytest

from merchants.ledger.balances import balance
from payments.chains.evm import abi
from payments.deposits.postings import chain_account
from payments.models import Payment
from payments.treasury.losses.models import Bearer, MissingCoins
from payments.treasury.losses.services import propose_loss
from tests.evm.street import PRODUCTION, Street, now, reconcile
from tests.losses.scenes import person
from tests.networks import POLYGON
from tests.stopping import lift

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.slow]


def destroy(street: Street, payment: Payment) -> None:
    """The issuer freezes the payment's address and destroys what is there."""
    token = street.mainnet.tokens[payment.cryptocurrency]
    for call in (
        abi.call("set_blocked(address,bool)", payment.deposit_address, 1),
        abi.call("destroy(address)", payment.deposit_address),
        abi.call("set_blocked(address,bool)", payment.deposit_address, 0),
    ):
        street.node.succeed(street.node.accounts[9], token, call)
    street.let_blocks_pass()


def assert_ledger_is_the_chain(street: Street, *payments: Payment) -> None:
    """The hot wallet, and the deposit addresses together."""
    street.shop.assert_books_are_the_chain()
    coin = payments[0].cryptocurrency
    at_addresses = sum(street.held(coin, payment.deposit_address) for payment in payments)
    assert balance(chain_account(POLYGON, coin), environment=PRODUCTION) == at_addresses


@pytest.mark.parametrize("coin", ["USDC", "USDT", "DAI"])
@pytest.mark.parametrize("is_swept_first", [False, True], ids=["unswept", "swept too late"])
def test_what_was_destroyed_is_named_held_and_booked(street: Street, coin: str, is_swept_first: bool) -> None:
    payment, other = street.open(coin), street.open(coin)
    street.mainnet.pay([(coin, each.deposit_address, int(each.due)) for each in (payment, other)])
    street.let_blocks_pass()
    assert reconcile() == 0
    destroy(street, payment)
    if is_swept_first:
        street.sweep()
        assert street.held(coin, other.deposit_address) == 0
    assert reconcile() == 2
    missing = MissingCoins.objects.get()
    assert (missing.payment, missing.asset, missing.amount, missing.held) == (payment, coin, payment.due, payment.due)
    assert now(payment).status_reasons == ["coins_missing"]

    for name in ("Ada", "Grace"):
        propose_loss(missing, bearer=Bearer.MERCHANT, reason="Destroyed by the issuer.", by=person(name))
    lift(environment=PRODUCTION, network=POLYGON, by="Ada")
    assert reconcile() == 0
    street.sweep()
    assert reconcile() == 0
    assert_ledger_is_the_chain(street, payment, other)
