"""A busy shop on three networks: every kind of movement, what has left the chains for it, and its books beside them."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from decimal import Decimal
from io import StringIO
from typing import Any, ClassVar, Protocol

from django.core.management import call_command
from django.db import transaction
from django.utils import timezone

from config.coins import COINS
from config.environments import Environment
from config.installation import tasks as installation_tasks
from merchants.four_eyes.services import agree
from merchants.ledger.balances import balance
from merchants.ledger.chart import AccountKind
from merchants.ledger.models import Stop
from merchants.ledger.posting import AccountRef
from merchants.models import Merchant
from merchants.services import change_fee
from payments import tasks as payment_tasks
from payments.chains import registry
from payments.models import Discrepancy, Payment
from payments.services import NewPayment, create_payment
from payments.states import DiscrepancyStatus
from payments.suspense.acceptance import take_discrepancy
from payments.transfers import tasks as transfer_tasks
from payments.transfers.models import Payout, PayoutPolicy, Transfer, Wallet
from payments.transfers.owners import FOUND, follow_payouts
from payments.transfers.payouts import policy_of
from payments.transfers.postings import cold_account, hot_account
from payments.transfers.states import PayoutStatus
from payments.treasury.house import tasks as house_tasks
from payments.treasury.house.addresses import add_address
from payments.treasury.house.cold.skims import propose_skim
from payments.treasury.house.fundings import propose_funding
from payments.treasury.house.models import AllowedAddress, Funding
from payments.treasury.house.withdrawals import propose_withdrawal
from payments.treasury.losses.models import MissingCoins
from payments.treasury.sweeping import request_sweep
from payments.treasury.wallet_balances import NothingToBook, book_treasury, treasury_balance
from refunds.plans.planning import NewRefund
from refunds.services import create_refund, give_destination, resolve_destination
from refunds.states import NamedBy
from settlements import due_runs
from settlements.models import Settlement
from settlements.services import run_now
from tests.agreeing import agree_to_what_waits
from tests.factories import make_merchant, make_user
from tests.house.scenes import run
from tests.networks import ETHEREUM, POLYGON, STELLAR
from tests.transfers.scenes import thaw_by_two
from webhooks.models import Event
from webhooks.sending.fan_out import fan_out

SANDBOX = Environment.SANDBOX
NETWORKS = (ETHEREUM, POLYGON, STELLAR)
FEE_BPS = 1000
PRICE = 40
"""Whole coins of each payment."""

STOCK = 10_000
"""Whole coins of each kind, the native one too, that the house puts in at first."""

Paid = tuple[str, str, str, int]
"""Network, code of the coin, recipient, base units."""


class Ground(Protocol):
    """The networks below a shop, and everybody on them who is not the shop."""

    environment: Environment

    def somebody(self, network: str, name: str) -> str:
        """An address that can be paid in every coin."""

    def pay(self, network: str, payments: Sequence[Payment]) -> None:
        """Payers send what is due, to each payment's address; in a block by the next `pass_time`."""

    def put_in(self, network: str, code: str, units: int, memo: str) -> None:
        """The house sends coins of its own, or native ones, to the hot wallet."""

    def keepers_send(self, network: str, code: str, units: int) -> None:
        """The keepers of the cold wallet send coins to the hot wallet."""

    def set_up(self, network: str) -> None:
        """The hot wallet sends what moves no coin: a deploy, or a trustline and a channel account."""

    def pass_time(self) -> None:
        """Let everything that was sent become final."""

    def held(self, network: str, code: str, address: str) -> int: ...

    def left(self, network: str) -> Counter[tuple[str, str, int]]:
        """Code, recipient and units of everything that ever left the hot wallet."""


class BusyShop:
    """Merchants, the house and its two operators, and what each of them has asked for."""

    def __init__(self, ground: Ground, merchants: int = 2) -> None:
        self.ground, self.environment = ground, ground.environment
        self.done: Counter[str] = Counter()
        self.lost: list[Payment] = []
        self.put_in: Counter[tuple[str, str]] = Counter()
        self.memos: set[str] = set()
        self.asked: Counter[Paid] = Counter()
        self.refunded: defaultdict[Paid, list[str]] = defaultdict(list)
        self.people = [make_user(f"{name}@example.com", is_staff=True, is_superuser=True) for name in ("ada", "bob")]
        policy_of(self.environment)
        PayoutPolicy.objects.update(
            approval_above=None, daily_limit=None, merchant_daily_limit=None, transfer_limit=None
        )
        self.merchants = [make_merchant(plan="enterprise") for _ in range(merchants)]
        for merchant in self.merchants:
            change_fee(merchant=merchant, fee_bps=FEE_BPS)
        self.work()
        for network in NETWORKS:
            native = registry.profile(self.environment, network).native.code
            call_command(
                "book_treasury", env=self.environment, network=network, asset=native, yes=True, stdout=StringIO()
            )
            self._allow(network)
            self.fund(network, STOCK)

    @property
    def with_cold(self) -> list[str]:
        """Networks with a cold wallet."""
        return [each for each in NETWORKS if registry.chain(self.environment, each).cold_wallet()]

    # --- what merchants and payers do ----------------------------------------------------------------

    def open(self, network: str, number: int) -> list[Payment]:
        """So many payments, by all merchants in turn and in all coins in turn."""
        return [
            self._open(network, self.merchants[each % len(self.merchants)], [*COINS][each % len(COINS)])
            for each in range(number)
        ]

    def _open(self, network: str, merchant: Merchant, coin: str) -> Payment:
        wanted = NewPayment(
            amount=Decimal(PRICE),
            currency="USD",
            cryptocurrency=coin,
            network=network,
            merchant_wallet=self.ground.somebody(network, f"wallet of {merchant.email}"),
            expires_in=86_400,
        )
        with transaction.atomic():
            return create_payment(merchant=merchant, environment=self.environment, request=wanted)[0]

    def pay(self, payments: Sequence[Payment], what: str = "payments") -> None:
        for network in NETWORKS:
            if here := [each for each in payments if each.network == network]:
                self.ground.pay(network, here)
        self.done[what] += len(payments)

    def refund(self, payment: Payment, amount: str, *, to_sender: bool = False) -> None:
        somebody = self.ground.somebody(payment.network, f"payer of {payment.pk}")
        destination = "" if to_sender else somebody
        asked = create_refund(
            payment=payment, request=NewRefund(Decimal(amount), destination=destination), requested_by="Ada"
        )
        if to_sender:
            asked = resolve_destination(asked)
        if not asked.destination:
            asked = give_destination(asked, address=somebody, named_by=NamedBy.PAYER)
        paid = (payment.network, asked.cryptocurrency, asked.destination, int(asked.amount))
        self._asked(*paid, "refunds")
        self.refunded[paid].append(payment.public_id)

    def settle(self) -> None:
        """What every merchant is owed is on its way to their wallets."""
        for merchant in self.merchants:
            run = run_now(merchant=merchant, environment=self.environment, requested_by="a test")
            for each in run.settlements.all():
                self._asked(each.network, each.currency, each.destination, int(each.amount), "settlements")

    # --- what the house and its keepers do -----------------------------------------------------------

    def _allow(self, network: str) -> None:
        address = self.ground.somebody(network, "the house's bank")
        _, proposal = add_address(
            environment=self.environment, network=network, address=address, label="Bank", by=self.people[0]
        )
        agree(proposal, by=self.people[1])

    def fund(self, network: str, coins: int) -> None:
        """The house puts in so many of each coin, and of the native one; booked as soon as it is seen."""
        profile = registry.profile(self.environment, network)
        for asset in (*profile.assets.values(), profile.native):
            code = asset.code
            units = coins * 10**asset.decimals
            self._agree(propose_funding(self.environment, asset, amount=units, reason="stock", by=self.people[0]))
            memo = Funding.objects.latest("pk").memo
            self.memos.add(memo)
            self.put_in[network, code] += units
            self.ground.put_in(network, code, units, memo)
            self.done["gas fundings" if code not in COINS else "fundings"] += 1
        self.work()

    def skim(self, network: str, code: str, coins: int) -> None:
        asset = registry.asset(self.environment, network, code)
        units = coins * 10**asset.decimals
        self._agree(propose_skim(self.environment, asset, amount=units, reason="the day's", by=self.people[0]))
        self._asked(network, code, registry.chain(self.environment, network).cold_wallet(), units, "skims")

    def withdraw(self, network: str, code: str, coins: int) -> None:
        asset = registry.asset(self.environment, network, code)
        units = coins * 10**asset.decimals
        listed = AllowedAddress.objects.get(environment=self.environment, network=network)
        self._agree(propose_withdrawal(listed, code=code, amount=units, reason="rent", by=self.people[0]))
        self._asked(network, code, listed.address, units, "withdrawals")

    def refill(self, network: str, code: str, coins: int) -> None:
        self.ground.keepers_send(network, code, coins * 10 ** registry.asset(self.environment, network, code).decimals)
        self.done["refills"] += 1

    def _agree(self, proposal: Any) -> Any:
        agree(proposal, by=self.people[1])

    def _asked(self, network: str, code: str, recipient: str, units: int, what: str) -> None:
        self.asked[network, code, recipient, units] += 1
        self.done[what] += 1

    # --- a day, and what comes after its backup -----------------------------------------------------

    def until_the_backup(self, each: int = 6) -> None:
        """Payments that are swept, that are paid and not swept yet, that are open; and refunds that wait."""
        self.earned = [payment for network in NETWORKS for payment in self.open(network, each)]
        self.pay(self.earned)
        self.work(2)
        self.sweep_now()
        self.settle()
        for network in self.with_cold:
            self.skim(network, "USDC", 40)
        self.work(3)
        self.paid = [payment for network in NETWORKS for payment in self.open(network, each)]
        self.pay(self.paid)
        self.ground.pass_time()
        payment_tasks.watch_networks()
        self.open_ones = [payment for network in NETWORKS for payment in self.open(network, each)]
        for payment in self.earned:
            self.refund(payment, "1.00")

    def _waiting_payouts(self) -> None:
        self.work(2)

    def _sweeps(self) -> None:
        self.sweep_now()
        self.pay(self.open_ones[::2], "payments to addresses that the backup has")
        self.work()
        self.sweep_now()
        self.pay(self.open_ones[1::2], "payments to addresses that the backup has")
        self.work()

    def _lost_payments(self) -> None:
        lost = [payment for network in NETWORKS for payment in self.open(network, 3)]
        self.pay(lost, "payments to addresses that the backup lacks")
        self.lost += lost
        self.ground.pass_time()
        payment_tasks.watch_networks()

    def _lost_payments_swept(self) -> None:
        self._lost_payments()
        self.sweep_now()

    def _skims(self) -> None:
        self.work(2)
        for network in self.with_cold:
            self.skim(network, "USDC", 20)
            self.skim(network, "DAI", 20)
        self.work(3)

    def _withdrawals(self) -> None:
        self.work(2)
        for network in NETWORKS:
            self.withdraw(network, "USDC", 10)
        self.work(3)

    def _refills(self) -> None:
        for network in self.with_cold:
            self.refill(network, "USDC", 5)
        self.work(2)

    def _settlements(self) -> None:
        self.work(2)
        self.settle()
        self.work(3)

    def _refunds(self) -> None:
        self.work(2)
        for network in NETWORKS:
            for payment in [each for each in self.paid if each.network == network][:3]:
                self.refund(payment, "2.00")
                self.refund(payment, "3.00", to_sender=True)
        self.work(3)

    def _known_in_part(self) -> None:
        """Refunds that the backup has waiting leave beside settlements that it lacks."""
        self.settle()
        self.work(4)

    def _fundings(self) -> None:
        for network in NETWORKS:
            self.fund(network, 7)

    def _set_ups(self) -> None:
        self.work(2)
        for network in NETWORKS:
            self.ground.set_up(network)
            self.done["set-ups"] += 1
        self.ground.pass_time()

    AFTER_THE_BACKUP: ClassVar[Mapping[str, Callable[[BusyShop], None]]] = {
        "payouts that wait": _waiting_payouts,
        "sweeps": _sweeps,
        "payments that the backup lacks": _lost_payments,
        "sweeps of payments that the backup lacks": _lost_payments_swept,
        "refills": _refills,
        "refunds": _refunds,
        "settlements": _settlements,
        "transactions known in part": _known_in_part,
        "skims": _skims,
        "withdrawals": _withdrawals,
        "fundings": _fundings,
        "set-ups": _set_ups,
    }

    # --- what workers do -------------------------------------------------------------------------------

    def work(self, rounds: int = 1) -> None:
        for _ in range(rounds):
            installation_tasks.keep_pulse()
            now = timezone.now()
            Payout.objects.filter(status__in=[PayoutStatus.READY, PayoutStatus.HELD]).update(next_attempt_at=now)
            Transfer.objects.filter(finished_at__isnull=True).update(next_step_at=now)
            Settlement.objects.filter(next_step_at__isnull=False).update(next_step_at=now)
            due_runs.advance_due()
            transfer_tasks.drive()
            payment_tasks.sweep()
            self.ground.pass_time()
            payment_tasks.watch_networks()
            transfer_tasks.drive()
            payment_tasks.sweep()
            follow_payouts()
            house_tasks.book_fundings()
            house_tasks.follow_cold()
            due_runs.advance_due()

    def sweep_now(self, networks: Sequence[str] = (ETHEREUM, POLYGON)) -> None:
        """Operators have all that waits swept, whatever the threshold."""
        for network in networks:
            for code in COINS:
                request_sweep(environment=self.environment, network=network, asset=code, requested_by="Ada")
        self.work(2)

    def say_again(self) -> None:
        """The operators say once more what the house had put in, and not a unit more: as those who put it in know."""
        for (network, code), units in self.put_in.items():
            with suppress(NothingToBook):  # it was in the ledger already
                found, times = treasury_balance(self.environment, network, code)
                book_treasury(found, times=times, amount=units)
        for each in Discrepancy.objects.filter(payment=None, status=DiscrepancyStatus.OPEN):
            if each.deposit is not None and each.deposit.memo in self.memos:
                take_discrepancy(each, resolved_by="Ada, Bob", note="stock")

    def decide(self) -> int:
        """The operators say whose the found payouts were that nobody can tell from the network, as the merchants know,
        and thaw the wallets; returns of how many they did."""
        done = 0
        for payout in Payout.objects.filter(reference__startswith=FOUND).select_related("transfer"):
            paid = (payout.network, payout.asset, payout.recipient, int(payout.amount))
            assert payout.transfer is not None
            owner = self.refunded[paid].pop()
            asked = {"env": self.environment, "network": payout.network, "hash": payout.transfer.transaction_hash}
            asked |= {"payout": payout.reference, "owner": owner, "reason": "the merchant says so"}
            call_command("book_sent", **asked, by=self.people[0].email, stdout=StringIO())
            agree_to_what_waits(self.people[1])
            done += 1
        for frozen in Stop.objects.freezing():
            thaw_by_two(env=self.environment, network=frozen.network, address=frozen.address)
        return done

    # --- what there is ---------------------------------------------------------------------------------

    def left(self) -> Counter[Paid]:
        """What left the hot wallets, as the networks tell it."""
        return Counter(
            {(network, *part): number for network in NETWORKS for part, number in self.ground.left(network).items()}
        )

    def differences(self) -> Iterator[str]:
        """Where books and chains differ, wallet by wallet and coin by coin, to the base unit."""
        for network in NETWORKS:
            chain, profile = registry.chain(self.environment, network), registry.profile(self.environment, network)
            hot = list(Wallet.objects.filter(environment=self.environment, network=network))
            for code in COINS:
                here = {"hot": (hot_account(network, code), [each.address for each in hot])}
                here["cold"] = (cold_account(network, code), [chain.cold_wallet()] if chain.cold_wallet() else [])
                if not profile.shares_account:
                    known = Payment.objects.filter(environment=self.environment, network=network)
                    addresses = {*known.values_list("deposit_address", flat=True)}
                    addresses |= {each.deposit_address for each in self.lost if each.network == network}
                    deposits = AccountRef(network, code, AccountKind.CHAIN_DEPOSIT)
                    here["deposit addresses"] = (deposits, sorted(addresses))
                for where, (account, places) in here.items():
                    booked = balance(account, environment=self.environment)
                    held = sum(self.ground.held(network, code, each) for each in places)
                    if booked != held:
                        yield f"{network} {code} {where}: booked {booked}, held {held}"

    def reconcile(self, *, is_told: bool = True) -> int:
        """The exit code of `manage.py reconcile --full`, which says what it has found."""
        while fan_out():  # as a worker would have done within the five minutes that reconcile allows
            pass
        code, said = run("reconcile", "--full")
        if code and is_told:
            print(said)  # noqa: T201 - what it found
        return code

    def troubles(self, *, are_payouts_on_their_way: bool = False) -> dict[str, list[str]]:
        """What must not be, neither before nor after a restore."""
        found = {
            "coins taken for missing": [str(each) for each in MissingCoins.objects.all()],
            "stops": [f"{each} {each.reason}" for each in Stop.objects.standing()],
            "payouts held": [f"{each} {each.hold_reason}" for each in Payout.objects.filter(status="held")],
            "paid too often": [str(each) for each in (self.left() - self.asked)],
            "never paid": [] if are_payouts_on_their_way else [str(each) for each in (self.asked - self.left())],
            "books and chain": list(self.differences()),
            "told": [f"{each.type}" for each in Event.objects.filter(type__in=NEVER_TOLD)],
        }
        return {what: some for what, some in found.items() if some}


NEVER_TOLD = (
    "payment.coins_missing",
    "payment.coins_restored",
    "payment.coins_lost",
    "payment.reversed",
    "refund.failed",
    "settlement.failed",
)
"""Events that no merchant may be sent because of a restore."""
