"""Two of four providers lie, drip, fall silent or disagree, alike or each in its own way, while money comes and goes.

The node is real and production's registry and adapter do the work. Each round some payments are paid and refunds are
sent while the two have a mood; now and then a day passes, so that whoever was put aside is asked again. The control arm
believes one. Then three are listed, and payments are timed while one of them has a mood (`provider_delays`).
"""

from __future__ import annotations

import logging
import os
import random
from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from typing import Any

from django.conf import settings

from config.environments import Environment
from payments import tasks as payment_tasks
from payments.chains import registry
from payments.chains.evm.adapter import EvmChain
from payments.chains.providers import pool
from payments.deposits.models import ScanCursor
from payments.models import Deposit, Payment
from payments.monitoring.models import Alarm
from payments.states import PaymentStatus
from payments.transfers.models import Transfer
from payments.transfers.owners import follow_payouts
from payments.transfers.states import OPEN_TRANSFERS
from tests.evm import liars as lying
from tests.evm.liars import Provider, providers_of
from tests.evm.mainnet import Mainnet, environment_for, settings_for
from tests.evm.network.node import LocalNode
from tests.evm.node import EPOCH_BLOCKS, HISTORY, POLYGON_ID, TestNode
from tests.evm.shop import RATE_SOURCES, Shop
from tests.gauntlet import provider_delays
from tests.gauntlet.installation import Installation
from tests.gauntlet.report import Check, Progress
from tests.networks import POLYGON, use_settings
from webhooks.sending.fan_out import fan_out

PROVIDERS, LIARS = 4, 2
ROUNDS, ROUNDS_OF_A_DAY = 20, 10
ROUND_SECONDS, DAY_SECONDS = 20.0, 90_000.0
PAYMENTS_OF_A_ROUND = 2
CALL_SECONDS = 1.5
"""In place of ten: a reply that drips in takes all of it."""
LAST_LOOKS = 20
MILLION = 1_000_000 * 10**6

TIMED_PAYMENTS, BLOCK_SECONDS = 5, 1.0
LIMIT = 1.3
"""So many times as long as with all of them well it may take at most."""
TIMED_AT_EACH_PLACE = True
ARE_PUT_ASIDE = True
SHORT: dict[str, Any] = {
    "ROUNDS": 7, "CALL_SECONDS": 0.6, "LAST_LOOKS": 6, "ARE_PUT_ASIDE": False,
    "TIMED_PAYMENTS": 3, "BLOCK_SECONDS": 0.5, "LIMIT": 1.6, "TIMED_AT_EACH_PLACE": False,
}  # fmt: skip

Mood = Callable[["Street", Provider, Payment], None]


def run(installation: Installation, chance: random.Random) -> list[Check]:
    progress = Progress()
    for name in (pool.__name__, "payments.deposits.watching", "payments.monitoring.services"):
        logging.getLogger(name).setLevel(logging.CRITICAL)  # several lines for each lie
    with ExitStack() as stack:
        node = stack.enter_context(
            LocalNode(chain_id=POLYGON_ID, epoch_blocks=EPOCH_BLOCKS[POLYGON_ID], history=HISTORY)
        )
        providers = stack.enter_context(providers_of(node.url, PROVIDERS))
        _use(providers)
        street = Street(Mainnet(POLYGON, TestNode(node)), providers, chance)
        checks = _play(installation, street, progress)
        checks += _time(street, progress)
        return [*checks, _believe_one(street)]


def _use(providers: Sequence[Provider]) -> None:
    """In this process and all that it starts."""
    urls = {POLYGON: [each.url for each in providers]}
    use_settings(settings_for(urls))
    settings.RATE_SOURCES = RATE_SOURCES
    os.environ |= environment_for(urls)


class Street:
    """A shop on polygon, its providers, and the clock of their pool."""

    def __init__(self, mainnet: Mainnet, providers: Sequence[Provider], chance: random.Random) -> None:
        self.mainnet, self.providers, self.chance = mainnet, providers, chance
        self.liars = chance.sample(list(providers), LIARS)
        self.now = 1_000.0
        self.old_block = mainnet.node.rpc.call("eth_getBlockByNumber", "0x1", False)
        self.keep_time()
        self.shop = Shop({POLYGON: mainnet})
        self.moods = Counter[str]()
        self.deck = list[Mood]()
        self.block: dict[str, Any] = {}
        self.cheated: list[Payment] = []

    def keep_time(self) -> None:
        chain = registry.chain(Environment.PRODUCTION, POLYGON)
        assert isinstance(chain, EvmChain)
        self.pool = chain.providers
        self.pool._clock = lambda: self.now
        for provider in self.pool._providers:
            provider.server._wire._seconds = CALL_SECONDS

    def aside(self) -> set[str]:
        """Whom the pool asks nothing now."""
        return {each.name for each in self.pool._providers if self.pool._is_aside(each)}

    def take_moods(self, wanted: Payment, *, alike: bool) -> None:
        """Both the same, or each its own; none comes again before all have."""
        both = self._next_mood() if alike else None
        for provider in self.liars:
            mood = both or self._next_mood()
            self.heal(provider)
            mood(self, provider, wanted)
            self.moods[mood.__name__] += 1

    def _next_mood(self) -> Mood:
        self.deck = self.deck or self.chance.sample(MOODS, len(MOODS))
        return self.deck.pop()

    def heal(self, provider: Provider) -> None:
        provider.lie, provider.is_silent, provider.drips = None, False, False
        provider.is_answering.set()

    def open(self, count: int) -> list[Payment]:
        return [self.shop._open(POLYGON, number) for number in range(count)]

    def look(self) -> None:
        """Blocks, a reading, and a step of every transfer."""
        self.shop.let_blocks_pass()
        self.shop.drive()
        payment_tasks.sweep()
        follow_payouts()
        fan_out()


# --- moods -------------------------------------------------------------------------------------------


def invents(street: Street, provider: Provider, wanted: Payment) -> None:
    """A million arrived at somebody's payment."""
    if not street.cheated or street.cheated[-1] is not wanted:
        street.cheated.append(wanted)
        street.block = street.mainnet.node.rpc.call("eth_getBlockByNumber", "latest", False)
    contract = street.mainnet.tokens["USDC"]
    provider.lie = lying.inventing(
        contract=contract, recipient=wanted.deposit_address, amount=MILLION, block=street.block
    )


def denies(street: Street, provider: Provider, wanted: Payment) -> None:
    def lie(question: dict[str, Any], truth: Any) -> Any:
        return None if question["method"] == "eth_getTransactionReceipt" else truth

    provider.lie = lie


def calls_failed(street: Street, provider: Provider, wanted: Payment) -> None:
    provider.lie = lying.calling_all_failed


def leaves_out(street: Street, provider: Provider, wanted: Payment) -> None:
    provider.lie = lying.leaving_out_events


def counts_otherwise(street: Street, provider: Provider, wanted: Payment) -> None:
    def lie(question: dict[str, Any], truth: Any) -> Any:
        return hex(int(truth, 16) + 1) if question["method"] == "eth_getTransactionCount" else truth

    provider.lie = lie


def stays_behind(street: Street, provider: Provider, wanted: Payment) -> None:
    def lie(question: dict[str, Any], truth: Any) -> Any:
        is_of_head = question["params"][:1] in (["latest"], ["finalized"])
        return street.old_block if question["method"] == "eth_getBlockByNumber" and is_of_head else truth

    provider.lie = lie


def is_elsewhere(street: Street, provider: Provider, wanted: Payment) -> None:
    def lie(question: dict[str, Any], truth: Any) -> Any:
        return "0x1" if question["method"] == "eth_chainId" else truth

    provider.lie = lie


def drips(street: Street, provider: Provider, wanted: Payment) -> None:
    provider.drips = True


def is_silent(street: Street, provider: Provider, wanted: Payment) -> None:
    provider.is_silent = True


def hangs(street: Street, provider: Provider, wanted: Payment) -> None:
    """It takes every question and answers none."""
    provider.is_answering.clear()


MOODS: Sequence[Mood] = (
    invents,
    denies,
    calls_failed,
    leaves_out,
    counts_otherwise,
    stays_behind,
    is_elsewhere,
    drips,
    is_silent,
    hangs,
)

# --- the play ----------------------------------------------------------------------------------------


def _play(installation: Installation, street: Street, progress: Progress) -> list[Check]:
    earned = street.shop.earn(-(-ROUNDS // 10))
    paid, stopped, asked_aside = list(earned), 0, 0
    for number in range(ROUNDS):
        street.now += DAY_SECONDS if number % ROUNDS_OF_A_DAY == 0 else ROUND_SECONDS
        fresh, wanted = street.open(PAYMENTS_OF_A_ROUND), street.open(1)[0]
        street.take_moods(wanted, alike=number % 2 == 1)
        street.mainnet.pay([(each.cryptocurrency, each.deposit_address, int(each.due)) for each in fresh])
        paid += fresh
        if number % 10 == 2:
            street.shop.give_back([earned[number // 10]], 3)
        before = street.aside(), {each.name: each.asked for each in street.liars}
        street.look()
        asked_aside += sum(
            each.asked - before[1][each.name] for each in street.liars if each.name in before[0] & street.aside()
        )
        cursor = ScanCursor.objects.get(environment=Environment.PRODUCTION, network=POLYGON)
        stopped += cursor.failing_since is not None
        progress.say(f"{number + 1} rounds, {len(paid)} payments paid, {Deposit.objects.count()} deposits")
    for provider in street.liars:
        street.heal(provider)
    street.now += DAY_SECONDS
    for _ in range(LAST_LOOKS):
        street.look()
    return _checks(installation, street, paid, stopped=stopped, asked_aside=asked_aside)


def _checks(
    installation: Installation, street: Street, paid: Sequence[Payment], *, stopped: int, asked_aside: int
) -> list[Check]:
    exit_code, said = installation.manage("reconcile", "--full")
    if exit_code:
        print(said)  # noqa: T201 - what it found
    credited = Counter({str(each.payment_id): int(each.amount) for each in Deposit.objects.all()})
    expected = Counter({str(each.pk): int(each.due) for each in paid})
    completed = Payment.objects.filter(pk__in=expected, status=PaymentStatus.COMPLETED).count()
    refunded = Payment.objects.filter(pk__in=expected, status=PaymentStatus.PARTIALLY_REFUNDED).count()
    left, asked = street.shop.left(), street.shop.asked
    aside = Alarm.objects.filter(kind="provider_put_aside")
    aside_names, liars = {each.subject for each in aside}, {each.name for each in street.liars}
    told = Counter(
        each.partition("The last time: ")[2].split(" ")[0] for each in aside.values_list("message", flat=True)
    )
    return [
        Check(
            "every mood was played",
            f"{sum(street.moods.values())} in {ROUNDS} rounds, {len(street.moods)} kinds",
            len(street.moods) == len(MOODS),
        ),
        Check(
            "nothing is credited that was not paid",
            f"{(credited - expected).total()} base units, {len(street.cheated)} inventions of a million",
            not credited - expected and bool(street.cheated),
        ),
        Check(
            "everything that was paid is credited",
            f"{completed + refunded} of {len(expected)}",
            not expected - credited and completed + refunded == len(expected),
        ),
        Check("every payout is on the chain", f"{(asked & left).total()} of {asked.total()}", not asked - left),
        Check("none is there twice, nor anything nobody asked for", f"{(left - asked).total()}", not left - asked),
        Check("no transfer is left open", "", not Transfer.objects.filter(status__in=OPEN_TRANSFERS).exists()),
        Check(
            "both liars were put aside, and no honest one" if ARE_PUT_ASIDE else "no honest one was put aside",
            f"{aside.count()} times, by {dict(told)}",
            aside_names == liars if ARE_PUT_ASIDE else aside_names <= liars,
        ),
        Check("whoever is put aside is asked nothing", f"{asked_aside} questions", not asked_aside),
        Check(
            "while the two lie alike the network waits, and only then",
            f"{stopped} of {ROUNDS} rounds",
            0 < stopped < ROUNDS,
        ),
        Check("books and balanceOf agree to the base unit", *_agree(street.shop)),
        Check("reconcile --full finds nothing", f"exit {exit_code}", exit_code == 0),
    ]


def _time(street: Street, progress: Progress) -> list[Check]:
    """With three of them, of which one hangs, drips or lies while payments are on their way."""
    three = street.providers[: provider_delays.PROVIDERS]
    _use(three)
    track = provider_delays.Track(street.mainnet, street.open, block_seconds=BLOCK_SECONDS)
    [elsewhere] = street.open(1)

    def case(mood: Mood, place: int) -> provider_delays.Case:
        return provider_delays.Case(
            f"provider {place + 1} of {len(three)} {mood.__name__.replace('_', ' ')}",
            lambda: mood(street, three[place], elsewhere),
            lambda: street.heal(three[place]),
        )

    places = street.chance.sample(range(len(three)), len(three))
    if TIMED_AT_EACH_PLACE:
        cases = [case(mood, place) for mood in (hangs, drips) for place in sorted(places)]
        cases += [case(mood, street.chance.choice(places)) for mood in MOODS if mood not in (hangs, drips)]
    else:
        lies = (invents, denies, calls_failed, leaves_out, stays_behind, is_elsewhere)
        moods = (hangs, drips, street.chance.choice(lies))
        cases = [case(mood, place) for mood, place in zip(moods, places, strict=True)]
    return [*provider_delays.measured(track, cases, case(hangs, 0), progress, payments=TIMED_PAYMENTS, limit=LIMIT)]


def _agree(shop: Shop) -> tuple[str, bool]:
    try:
        shop.assert_books_are_the_chain()
    except AssertionError:
        return "no", False
    return "yes", True


def _believe_one(street: Street) -> Check:
    """The guard that is off: one provider is listed, and may decide."""
    [liar, *_] = street.liars
    _use([liar])
    street.keep_time()
    [payment] = street.open(1)
    street.shop.let_blocks_pass()
    invents(street, liar, payment)
    street.shop.let_blocks_pass()
    got = sum(int(each.amount) for each in Deposit.objects.filter(payment=payment))
    return Check("control arm: who believes one is cheated", f"{got / 10**6:,.0f} USDC credited", got >= MILLION)
