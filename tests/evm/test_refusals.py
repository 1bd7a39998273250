"""Whose trouble a refusal is: the token's, our wallet's, a provider's or the recipient's."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from decimal import Decimal
from io import StringIO
from typing import Any

import pytest
from django.core.management import call_command
from django.utils import timezone
from pytest_django.fixtures import Settings

from config.money import Asset
from payments.chains.errors import ChainUnavailable, RecipientRefused, SendingBlocked
from payments.chains.evm import abi
from payments.chains.evm.addresses import encode
from payments.chains.evm.nodes.providers import Providers
from payments.chains.evm.simulation import ANYBODY, TransferSimulation
from payments.chains.networks import NETWORKS
from payments.models import Payment
from payments.monitoring import tasks as operation_tasks
from payments.monitoring.models import Alarm
from payments.transfers import tasks as transfer_tasks
from payments.transfers.models import Payout, Transfer
from payments.transfers.owners import follow_payouts
from refunds.models import Refund
from refunds.plans.planning import NewRefund
from refunds.services import create_refund
from tests.evm.fakes import FakeProvider, Refusal
from tests.evm.mainnet import Mainnet, prepared_mainnet, settings_for_production_alone
from tests.evm.network import devnet
from tests.evm.shop import RATE_SOURCES, Shop
from tests.networks import POLYGON

RECIPIENT = "0x70997970C51812dc3A010C7d01b50e0d17dc79C8"
WALLET = devnet.HOT_WALLET
USDC = NETWORKS[POLYGON].real.assets["USDC"]


class Counter:
    """A shop on polygon with a paid payment in each coin, and what the issuers of the coins do."""

    def __init__(self, mainnet: Mainnet) -> None:
        self.mainnet, self.node = mainnet, mainnet.node
        self.shop = Shop({POLYGON: mainnet})
        self.payments = {payment.cryptocurrency: payment for payment in self.shop.earn(3)}

    def issuer(self, coin: str, signature: str, *arguments: Any) -> None:
        self.node.succeed(self.node.accounts[9], self.mainnet.tokens[coin], abi.call(signature, *arguments))

    def refund(self, payment: Payment, to: str = RECIPIENT) -> Refund:
        asked = NewRefund(amount=Decimal("1.25"), destination=to)
        return create_refund(payment=payment, request=asked, requested_by="a test")

    def work(self) -> None:
        """What the workers do, as if all pauses were over."""
        for _ in range(2):
            Payout.objects.filter(next_attempt_at__isnull=False).update(next_attempt_at=timezone.now())
            Transfer.objects.filter(next_step_at__isnull=False).update(next_step_at=timezone.now())
            transfer_tasks.drive()
            self.node.mine(13)
        transfer_tasks.drive()
        follow_payouts()
        operation_tasks.measure_networks()
        operation_tasks.raise_alarms()


@pytest.fixture
def counter(settings: Settings) -> Iterator[Counter]:
    mainnet = prepared_mainnet(POLYGON)
    settings.RATE_SOURCES = RATE_SOURCES
    for name, value in settings_for_production_alone({POLYGON: [mainnet.node.url]}).items():
        setattr(settings, name, value)
    with mainnet.node.put_back():
        yield Counter(mainnet)


def outcome(refund: Refund) -> tuple[str, str, str]:
    found = Refund.objects.select_related("payout").get(pk=refund.pk)
    assert found.payout is not None
    return found.status, found.failure_code, found.payout.hold_reason


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("coin", ["USDC", "USDT"])
@pytest.mark.parametrize(
    ("reason", "begin", "end"),
    [
        ("coin_paused", ("set_paused(bool)", 1), ("set_paused(bool)", 0)),
        ("hot_wallet_blocked", ("set_blocked(address,bool)", WALLET, 1), ("set_blocked(address,bool)", WALLET, 0)),
    ],
)
def test_what_passes_holds_refunds_with_its_reason_and_they_go_on_by_themselves(
    counter: Counter, coin: str, reason: str, begin: tuple[Any, ...], end: tuple[Any, ...]
) -> None:
    counter.issuer(coin, *begin)
    held = [counter.refund(counter.payments[coin]) for _ in range(2)]
    other = counter.refund(counter.payments["DAI"])
    counter.work()
    assert [outcome(refund) for refund in held] == [("pending", "", reason)] * 2
    assert outcome(other) == ("completed", "", "")
    [alarm] = Alarm.objects.filter(cleared_at__isnull=True, kind__in=["coin_paused", "hot_wallet_blocked"])
    assert (alarm.kind, alarm.subject, alarm.network) == (reason, coin, POLYGON)

    counter.issuer(coin, *end)
    counter.work()
    assert [outcome(refund) for refund in held] == [("completed", "", "")] * 2
    assert not Alarm.objects.filter(cleared_at__isnull=True, kind=reason).exists()
    assert counter.mainnet.held(coin, [RECIPIENT])[RECIPIENT] == 2_500_000
    counter.shop.assert_books_are_the_chain()
    assert "Clean: 0 errors" in reconcile()


@pytest.mark.django_db(transaction=True)
def test_what_concerns_the_recipient_alone_fails_with_the_true_reason(counter: Counter) -> None:
    counter.issuer("USDC", "set_blocked(address,bool)", RECIPIENT, 1)
    frozen = counter.refund(counter.payments["USDC"])
    healthy = counter.refund(counter.payments["USDC"], to=encode(b"\x11" * 20))
    counter.work()
    assert outcome(frozen) == ("failed", "destination_refused", "")
    assert outcome(healthy) == ("completed", "", "")
    assert not Alarm.objects.filter(cleared_at__isnull=True, kind__in=["coin_paused", "hot_wallet_blocked"]).exists()


def reconcile() -> str:
    said = StringIO()
    call_command("reconcile", "--full", stdout=said)
    return said.getvalue()


# What providers say of three transfers: to the recipient, to somebody else, and between two others.

PASSES, REVERTS, CRASHES = "passes", "reverts", "crashes"
Answers = dict[tuple[str, str], str]


def token(recipient: str = PASSES, wallet: str = PASSES, everybody: str = PASSES) -> Callable[..., str]:
    """How a provider answers for a token that says this."""

    def answer(asked: dict[str, str], block: str) -> str:
        sender, receiver = asked["from"], "0x" + asked["data"][10:74][-40:]
        is_from_us = sender == WALLET
        said = everybody if not is_from_us else wallet if receiver.lower() == ANYBODY.lower() else recipient
        if said == REVERTS:
            raise Refusal("execution reverted", 3)
        if said == CRASHES:
            raise Refusal("the method is not available on this plan")
        return "0x" + "0" * 63 + ("0" if said == "false" else "1")

    return answer


REFUSED, PAUSED = token(REVERTS), token(REVERTS, REVERTS, REVERTS)
BLOCKED, WELL, BROKEN = token(REVERTS, REVERTS), token(), token(CRASHES, CRASHES, CRASHES)


@pytest.mark.parametrize(
    ("first", "second", "outcome"),
    [
        (WELL, WELL, None),
        (WELL, REFUSED, None),
        (REFUSED, REFUSED, RecipientRefused),
        (token("false"), token("false"), RecipientRefused),
        (REFUSED, WELL, ChainUnavailable),
        (REFUSED, PAUSED, ChainUnavailable),
        (REFUSED, BROKEN, ChainUnavailable),
        (BROKEN, REFUSED, ChainUnavailable),
        (BROKEN, BROKEN, ChainUnavailable),
        (PAUSED, PAUSED, SendingBlocked),
        (BLOCKED, BLOCKED, SendingBlocked),
        (BLOCKED, PAUSED, ChainUnavailable),
    ],
)
def test_no_payout_fails_by_an_answer_that_stands_alone(
    first: Callable[..., str], second: Callable[..., str], outcome: type[Exception] | None
) -> None:
    providers = [FakeProvider(name) for name in ("one.example", "two.example")]
    for provider, answers in zip(providers, (first, second), strict=True):
        provider.answers["eth_call"] = answers
    agreed = Providers([provider.rpc for provider in providers], network=POLYGON, block_seconds=2)
    asset = Asset(POLYGON, "USDC", 6, USDC.contract)
    trials = TransferSimulation(agreed, wallet=WALLET)
    if outcome is None:
        trials.require_payable(asset, RECIPIENT)
    else:
        with pytest.raises(outcome):
            trials.require_payable(asset, RECIPIENT)
