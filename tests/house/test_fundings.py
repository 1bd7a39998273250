"""What the house puts in is booked once it is seen, as two people have said before or afterwards."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.db import transaction
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from merchants.four_eyes.models import Proposal
from merchants.four_eyes.services import agree
from merchants.ledger.chart import AccountKind
from merchants.models import User
from payments.chains import registry
from payments.chains.simulated import control
from payments.deposits.models import ReadingRequest
from payments.deposits.unattributed import book_unattributed
from payments.models import Discrepancy
from payments.treasury.house.fundings import FundingDecided, book_fundings, cancel_funding, propose_funding
from payments.treasury.house.models import Funding
from tests.house.scenes import COIN, People, held_in, house, reconcile, run, unit
from tests.payments.scenes import make_payment, mine, pay_without_memo, watch
from tests.transfers.scenes import ETHEREUM, POLYGON, SANDBOX, STELLAR

pytestmark = pytest.mark.django_db(transaction=True)


def expect(network: str, coins: int, people: People, code: str = "USDC") -> Funding:
    """Proposed by one and agreed to by the other."""
    asset = registry.asset(SANDBOX, network, code)
    proposal = propose_funding(SANDBOX, asset, amount=coins * unit(network), reason="stock", by=people[0])
    assert not Funding.objects.filter(status="expected", amount=coins * unit(network)).exists(), "not by one alone"
    agree(proposal, by=people[1])
    return Funding.objects.latest("pk")


def send(network: str, coins: int, *, memo: str = "") -> None:
    """The operator's own wallet pays the hot wallet; final, and read."""
    chain = registry.chain(SANDBOX, network)
    asset = registry.asset(SANDBOX, network, "USDC")
    part = control.Part(asset.contract, coins * unit(network), chain.payout_address(), memo or None)
    control.pay_together(network, [part])
    mine(network, control.deepest_reorg(network) + 1)
    watch()


@pytest.mark.parametrize("order", ["said before", "said afterwards"])
@pytest.mark.parametrize("network", [ETHEREUM, POLYGON])
def test_coins_are_booked_once(network: str, order: str, people: People) -> None:
    if order == "said afterwards":
        send(network, 30)
    funding = expect(network, 20, people)
    if order == "said before":
        assert book_fundings() == 0
        send(network, 30)
    assert (book_fundings(), book_fundings()) == (1, 0)
    funding.refresh_from_db()
    assert (funding.status, funding.posting.kind if funding.posting else "") == ("booked", "treasury_in")
    assert (held_in(AccountKind.TREASURY, network), house(network).withdrawable) == (20 * COIN, 20 * COIN)
    expect(network, 10, people)
    assert book_fundings() == 1
    assert reconcile() == 0


def test_where_deposits_arrive_at_the_wallet_the_memo_tells_them_apart(people: People) -> None:
    payment = make_payment(STELLAR)
    funding = expect(STELLAR, 20, people)
    pay_without_memo(payment, "20")
    mine(STELLAR, control.deepest_reorg(STELLAR) + 1)
    watch()
    assert book_fundings() == 0, "a payer's money that lacks its memo is not the house's"
    send(STELLAR, 20, memo=funding.memo)
    assert book_fundings() == 1
    funding.refresh_from_db()
    assert funding.status == "booked"
    left = Discrepancy.objects.order_by("pk").values_list("deposit__memo", "status")
    assert list(left) == [("", "open"), (funding.memo, "accepted")]
    assert held_in(AccountKind.TREASURY, STELLAR) == 20 * unit(STELLAR)
    assert held_in(AccountKind.CHAIN_HOT, STELLAR) == 40 * unit(STELLAR)


def test_before_the_first_payment_of_a_network_they_are_told_apart_as_well(people: People) -> None:
    watch()
    funding = expect(STELLAR, 20, people)
    aside = {"environment": SANDBOX, "network": STELLAR, "transaction_hash": "ab" * 32, "content": "unread"}
    ReadingRequest.objects.create(**aside, due_at=timezone.now() + timedelta(days=1))
    send(STELLAR, 20, memo=funding.memo)
    book_unattributed(SANDBOX, STELLAR)
    assert book_fundings() == 1
    assert Discrepancy.objects.get(deposit__memo=funding.memo).status == "accepted"
    make_payment(STELLAR)
    watch()
    assert held_in(AccountKind.CHAIN_HOT, STELLAR) == 20 * unit(STELLAR)


def test_what_is_not_waited_for_any_more_is_not_booked(people: People) -> None:
    funding = expect(ETHEREUM, 20, people)
    cancel_funding(funding, by=people[0])
    send(ETHEREUM, 20)
    assert book_fundings() == 0
    with pytest.raises(FundingDecided):
        cancel_funding(funding, by=people[0])
    assert held_in(AccountKind.TREASURY) == 0


def test_in_the_admin_and_by_the_command(people: People) -> None:
    client, page = Client(), reverse("admin:house_funding_add")
    client.force_login(people[0])
    assert registry.chain(SANDBOX, ETHEREUM).payout_address() in client.get(page).text
    form = {"place": "sandbox:ethereum:USDC", "amount": "12.5", "reason": "stock"}
    assert "digits after the point" in client.post(page, {**form, "amount": "0.0000001"}).text
    assert "above zero" in client.post(page, {**form, "amount": "0"}).text
    assert "another operator must agree" in client.post(page, form, follow=True).text
    asked = {"env": SANDBOX, "network": ETHEREUM, "asset": "usdc", "amount": "12.5", "reason": "stock"}
    command = [part for name, value in asked.items() for part in (f"--{name}", value)]
    assert "is no operator" in run("fund", *command, "--by", "eve@example.com")[1]
    assert "agree in the admin" in run("fund", *command, "--by", "bob@example.com")[1]
    agree(Proposal.objects.get(status="waiting"), by=User.objects.get(email="bob@example.com"))
    listing = reverse("admin:house_funding_changelist")
    assert "12.50 USDC" in client.get(listing).text
    with transaction.atomic():
        [funding] = Funding.objects.all()
    client.post(
        listing, {"action": "cancel", "_selected_action": [funding.pk], "confirmed": "yes", "note": "Sent elsewhere"}
    )
    funding.refresh_from_db()
    assert (funding.status, Proposal.objects.get().status) == ("cancelled", "done")
