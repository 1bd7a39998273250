"""Payouts on real nodes while broadcasts vanish, fees jump and the worker dies; `make gauntlet SCENARIO=evm` is longer.

Here the worker dies by an exception that nobody catches, and time passes as fast as it is told to.
"""

from __future__ import annotations

import threading
from collections import Counter, deque
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from datetime import datetime, timedelta

import pytest
from django.db import connection
from django.db.models import F
from django.utils import timezone
from pytest_django.fixtures import Settings

from payments.transfers import services
from payments.transfers import tasks as transfer_tasks
from payments.transfers.execution import executor
from payments.transfers.models import Envelope, Payout, Transfer
from payments.transfers.owners import follow_payouts
from payments.transfers.states import OPEN_TRANSFERS, PayoutStatus, TransferStatus
from refunds.models import Refund
from refunds.states import RefundStatus
from tests.evm.mainnet import Mainnet, prepared_mainnet, settings_for_production_alone
from tests.evm.network import devnet
from tests.evm.node import ETHEREUM_ID, POLYGON_ID
from tests.evm.shop import RATE_SOURCES, Shop
from tests.evm.storm import DROPPED, Server, Storm
from tests.gauntlet import failpoints
from tests.gauntlet.failpoints import SIDES, Failpoint
from tests.journeys.test_paid import reconcile

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.slow]

CHAIN_IDS = {"ethereum": ETHEREUM_ID, "polygon": POLYGON_ID}
STEPS = ("transfer.sign", "transfer.commit", "transfer.send", "transfer.sent", "transfer.replace", "transfer.final")
DEATHS = [f"{step}:{side}" for step in STEPS for side in SIDES]
ROUNDS_MAX = 150
CALM_ROUNDS_MAX = 50
PARTS = 10
"""Refunds of each payment to begin with."""


class Killed(BaseException):
    """What a worker hears last."""


@pytest.fixture
def mainnets() -> Iterator[dict[str, Mainnet]]:
    found = {network: prepared_mainnet(network) for network in CHAIN_IDS}
    with ExitStack() as stack:
        for mainnet in found.values():
            stack.enter_context(mainnet.node.put_back())
        yield found


@pytest.fixture
def shop(mainnets: dict[str, Mainnet], settings: Settings) -> Shop:
    settings.RATE_SOURCES = RATE_SOURCES
    use_providers(settings, {network: [mainnet.node.url] for network, mainnet in mainnets.items()})
    return Shop(mainnets)


def use_providers(settings: Settings, urls: Mapping[str, list[str]]) -> None:
    for name, value in settings_for_production_alone(urls).items():
        setattr(settings, name, value)


@contextmanager
def bad_weather(shop: Shop, settings: Settings, dropped: Mapping[str, float] = DROPPED) -> Iterator[dict[str, Storm]]:
    """From now on the providers are what stands between us and the nodes."""
    with ExitStack() as stack:
        storms, urls = {}, {}
        for network, mainnet in shop.mainnets.items():
            storms[network] = Storm(mainnet.node.url, CHAIN_IDS[network], seed=7, dropped=dropped)
            server = stack.enter_context(Server(storms[network]))
            threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True).start()
            stack.callback(server.shutdown)
            urls[network] = server.urls
            storms[network].mine()  # what fees are read from
        use_providers(settings, urls)
        yield storms


def test_every_payout_is_on_the_chain_once_whatever_happens(
    shop: Shop, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    payments = shop.earn(2)
    parts = PARTS
    shop.give_back(payments, parts)
    untried = deque(DEATHS)

    def die() -> None:
        if armed.name in untried:
            untried.remove(armed.name)
        raise Killed

    def told() -> Counter[str]:
        return sum((storm.told for storm in storms.values()), Counter[str]())

    def was_a_storm() -> bool:
        """Deaths at nearly every step, lost broadcasts of both kinds, and fees that had to be raised."""
        dropped = min(told()["forgotten"], told()["unanswered"])
        return len(untried) <= 3 and dropped >= 3 and was_raised()

    with bad_weather(shop, settings) as storms:
        for turn in range(ROUNDS_MAX):
            armed = Failpoint(untried[0] if untried else DEATHS[turn % len(DEATHS)], visit=1)
            untried.rotate(-1)
            with monkeypatch.context() as patches:
                failpoints.arm(armed, die=die, replace=patches.setattr)
                try:
                    work()
                except Killed:
                    connection.close()
            if parts > PARTS and not was_raised():
                for storm in storms.values():
                    storm.surge()
            let_time_pass(storms)
            if is_over():
                if was_a_storm():
                    break
                shop.give_back(payments, 1, before=parts)  # chance has been kind: there is more to pay
                parts += 1
        for _ in range(CALM_ROUNDS_MAX):  # nobody dies any more: what was asked for at last is paid too
            if is_over():
                break
            work()
            let_time_pass(storms)
        assert is_over()
        assert was_a_storm(), (untried, told())
        assert "Clean: 0 errors, 0 warnings" in reconcile()
    assert shop.left() == shop.asked
    assert shop.asked.total() == 4 * parts >= 4 * PARTS
    for network, mainnet in shop.mainnets.items():
        used = Transfer.objects.filter(network=network, status=TransferStatus.FINAL).values_list("sequence", flat=True)
        assert sorted(used) == list(range(mainnet.used_nonces(devnet.HOT_WALLET)))
    assert not Refund.objects.exclude(status=RefundStatus.COMPLETED).exists()
    shop.assert_books_are_the_chain()


@pytest.mark.parametrize("is_careful", [True, False], ids=["careful", "careless"])
def test_what_nobody_answered_for_is_paid_once_by_us_and_twice_by_who_signs_it_anew(
    shop: Shop, settings: Settings, monkeypatch: pytest.MonkeyPatch, is_careful: bool
) -> None:
    shop.give_back(shop.earn(1), 2)
    record_sent = services.record_sent

    def take_for_lost(transfer: Transfer, *, next_step_at: datetime, error: str = "") -> None:
        record_sent(transfer, next_step_at=next_step_at, error=error)
        if error:
            storms[transfer.network].mine()
            services.record_dead(transfer)

    if not is_careful:
        monkeypatch.setattr(services, "record_sent", take_for_lost)
        monkeypatch.setattr(executor, "ROUNDS_MAX", 2)
    with bad_weather(shop, settings, {"unanswered": 1.0}) as storms:
        for _ in range(4):
            work()
            let_time_pass(storms)
    if is_careful:
        assert shop.left() == shop.asked
    else:
        assert (shop.left() - shop.asked).total() >= 4  # each of them at least once


def work() -> None:
    transfer_tasks.drive()
    follow_payouts()


def let_time_pass(storms: Mapping[str, Storm]) -> None:
    """Two blocks, and a quarter of the time after which more is offered."""
    for storm in storms.values():
        storm.mine()
        storm.mine()
    moving = Transfer.objects.filter(status__in=OPEN_TRANSFERS)
    moving.update(next_step_at=timezone.now())
    Envelope.objects.filter(transfer__in=moving).update(signed_at=F("signed_at") - timedelta(seconds=15))
    waiting = Payout.objects.filter(status__in=[PayoutStatus.READY, PayoutStatus.HELD])
    waiting.update(next_attempt_at=timezone.now())


def was_raised() -> bool:
    """Whether more was offered for some transfer than at first."""
    return Envelope.objects.count() > Transfer.objects.count()


def is_over() -> bool:
    is_moving = Transfer.objects.filter(status__in=OPEN_TRANSFERS).exists()
    return not is_moving and not Refund.objects.exclude(status=RefundStatus.COMPLETED).exists()
