"""What the payment page asks for a wallet that only signs: what is built, handed in, refused, and never believed."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from django.test import Client
from pytest_django.fixtures import Settings
from stellar_sdk import IdMemo, TransactionEnvelope

from payments.models import Payment
from tests.dashboard.paying import view_of
from tests.factories import make_merchant
from tests.networks import POLYGON, STELLAR
from tests.payments.scenes import make_payment, now
from tests.stellar.network import keys
from tests.stellar.network.horizon import LocalHorizon
from tests.stellar.place import WALLET, key_of
from tests.stellar.shop import PAYER, read, shop_on_local_stellar, sign

pytestmark = pytest.mark.django_db


@pytest.fixture
def local(settings: Settings, monkeypatch: pytest.MonkeyPatch) -> Iterator[LocalHorizon]:
    with shop_on_local_stellar(settings, monkeypatch) as found:
        yield found


def make() -> Payment:
    merchant = make_merchant()
    return make_payment(STELLAR, amount="48.5", merchant=merchant, merchant_wallet=key_of(5).public_key)


def ask(payment: Payment, account: str = PAYER.public_key, *, units: str = "") -> Any:
    fields = {"account": account, "units": units or str(payment.due)}
    return Client(enforce_csrf_checks=True).post(f"/pay/{payment.public_id}/wallet", fields)


def hand_in(payment: Payment, token: str, envelope: str) -> Any:
    fields = {"token": token, "envelope": envelope}
    return Client(enforce_csrf_checks=True).post(f"/pay/{payment.public_id}/wallet/signed", fields)


def test_what_a_wallet_signs_pays_the_payment(local: LocalHorizon) -> None:
    payment = make()
    reply = ask(payment)
    assert reply.status_code == 200
    assert (reply["Cache-Control"], reply.cookies) == ("no-store", {})
    asked = reply.json()
    shown = TransactionEnvelope.from_xdr(asked["envelope"], keys.PASSPHRASE).transaction
    assert (shown.memo, shown.source.account_id) == (IdMemo(int(payment.memo)), PAYER.public_key)
    handed = hand_in(payment, asked["token"], sign(asked["envelope"], keys.PASSPHRASE))
    assert (handed.status_code, handed.json()["isKnown"]) == (200, True)
    assert now(payment).status == "created"  # nothing is believed
    local.close_ledger()
    read()
    assert now(payment).status == "completed"
    assert payment.deposits.get().transaction_hash == handed.json()["hash"]
    assert ask(payment).status_code == 409


def test_nothing_else_is_handed_in(local: LocalHorizon) -> None:
    payment, other = make(), make()
    asked, of_other = ask(payment).json(), ask(other).json()
    signed = sign(asked["envelope"], keys.PASSPHRASE)
    for token, envelope in (
        (asked["token"], asked["envelope"]),
        (asked["token"], sign(of_other["envelope"], keys.PASSPHRASE)),
        (of_other["token"], signed),
        ("nonsense", signed),
        (asked["token"], "no base64!"),
        (asked["token"], "A" * 5_000),
        (asked["token"], sign(asked["envelope"], keys.PASSPHRASE, key_of(80))),
    ):
        reply = hand_in(payment, token, envelope)
        assert (reply.status_code, "Nothing was sent" in reply.json()["message"]) == (400, True)
    local.close_ledger()
    read()
    assert now(payment).deposit_count == now(other).deposit_count == 0


def test_what_has_changed_or_cannot_be_paid_is_said_and_a_silent_network_too(local: LocalHorizon) -> None:
    payment = make()
    assert ask(payment, units="1").status_code == 409
    assert ask(payment, key_of(81).public_key).json()["message"].startswith("Your account does not exist")
    asked = ask(payment).json()
    signed = sign(asked["envelope"], keys.PASSPHRASE)
    local.drop_after_accept(2)  # it is asked once more, on a fresh connection
    reply = hand_in(payment, asked["token"], signed)
    assert (reply.status_code, reply.json()["isKnown"]) == (200, False)
    local.close_ledger()
    read()
    assert now(payment).status == "completed"  # it had arrived all the same
    another = make()
    local.answer_next(503, 2)
    assert ask(another).status_code == 503


def test_it_is_asked_so_often_and_no_more(local: LocalHorizon) -> None:
    payment = make()
    replies = [ask(payment, "nonsense").status_code for _ in range(12)]
    assert replies == [400] * 10 + [429] * 2


@pytest.mark.parametrize("network", [STELLAR, POLYGON])
def test_where_wallets_build_or_none_can_pay_there_is_nothing_to_ask(network: str) -> None:
    payment = make_payment(network)
    assert ask(payment).status_code == hand_in(payment, "", "").status_code == 404
    how = view_of(payment).how_to_pay
    assert how is not None
    assert how.wallet is None


def test_the_page_says_what_the_wallet_must_know(local: LocalHorizon) -> None:
    payment = make()
    page = Client().get(f"/pay/{payment.public_id}").text
    assert 'data-family="stellar"' in page
    assert f'data-passphrase="{keys.PASSPHRASE}"' in page
    assert f'data-units="{payment.due}"' in page
    assert WALLET.public_key in page
