"""The hot wallet's key is replaced amid fifty payouts, stolen, and replaced between a backup and its restore.

The node is real and production's registry and adapter do the work; the operator does what the runbooks of
docs/replacing-keys.md say, by the commands that they name. The treasury is a cold wallet. What the thief would get if
the hot wallet were it, and what nobody would follow to its end without the guard, the control arms show.
"""

from __future__ import annotations

import getpass
import io
import logging
import os
import random
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from decimal import Decimal
from pathlib import Path
from typing import Any
from unittest.mock import patch

from django.conf import settings
from django.core.management import CommandError, call_command
from django.db import connections
from django.utils import timezone

from config.coins import COINS
from config.embedded.postgres import DATABASE
from config.environments import Environment
from config.installation import services as standing
from config.installation import tasks as installation_tasks
from merchants.ledger.balances import balance
from merchants.ledger.models import Stop
from payments import tasks as payment_tasks
from payments.chains import registry
from payments.chains.evm import abi, factory
from payments.chains.evm.adapter import EvmChain
from payments.chains.evm.deposit_addresses import deployment
from payments.chains.evm.keys.signing import Transaction, signer_from_key
from payments.models import Payment
from payments.transfers.execution import executor
from payments.transfers.models import Payout, Transfer
from payments.transfers.owners import follow_payouts
from payments.transfers.postings import cold_account, hot_account
from payments.transfers.states import OPEN_TRANSFERS, HoldReason, PayoutStatus
from payments.treasury.house.cold.moves import follow_cold
from payments.treasury.house.cold.skims import WAITING
from tests import stopping
from tests.agreeing import agree_to_what_waits
from tests.evm.mainnet import Mainnet, environment_for, settings_for
from tests.evm.network import devnet
from tests.evm.network.node import LocalNode
from tests.evm.node import EPOCH_BLOCKS, HISTORY, POLYGON_ID, TestNode
from tests.evm.shop import RATE_SOURCES, Paid, Shop
from tests.factories import PASSWORD, make_user
from tests.gauntlet.installation import Installation
from tests.gauntlet.report import Check, Progress
from tests.networks import POLYGON, use_settings, with_set

PRODUCTION = Environment.PRODUCTION
FACTORY, OWNER = devnet.DEPLOYMENT.factory, devnet.OWNER
COLD, THIEF = "0x15d34AAf54267DB7D7c367839AAf71A00a2C6A65", "0x90F79bf6EB2c4f870365E785982E1f101E93b906"
PAYMENTS, REFUNDS_OF_EACH, WAITING_OF_EACH = 10, 5, 2
"""What waits in the backup is more than one drive of the executor sends."""
FLOAT = 30
"""Whole coins of each coin that the keepers refill."""
LATER = 6
"""Payments at deposit addresses when the key is stolen."""
GAS = 10**18
ROUNDS_MAX = 40

SHORT: dict[str, Any] = {"PAYMENTS": 5, "WAITING_OF_EACH": 4}


def run(installation: Installation, chance: random.Random) -> list[Check]:
    progress = Progress()
    logging.getLogger("payments").setLevel(logging.CRITICAL)  # several lines for each theft
    with ExitStack() as stack:
        node = stack.enter_context(
            LocalNode(chain_id=POLYGON_ID, epoch_blocks=EPOCH_BLOCKS[POLYGON_ID], history=HISTORY)
        )
        use_settings(settings_for({POLYGON: [node.url]}))
        settings.RATE_SOURCES, settings.OPERATORS_TO_DECIDE = RATE_SOURCES, 2
        stack.enter_context(patch.object(getpass, "getpass", return_value=PASSWORD))  # somebody at the terminal
        os.environ |= environment_for({POLYGON: [node.url]})
        house = House(installation, Mainnet(POLYGON, TestNode(node)), chance, progress)
        return [
            *_rotate_amid_payouts(house),
            *_steal(house),
            *_restore(house),
            _follow_nothing(house),
        ]


class House:
    """A shop on polygon whose treasury is a cold wallet, and the people who keep its keys."""

    def __init__(self, installation: Installation, mainnet: Mainnet, chance: random.Random, progress: Progress) -> None:
        self.installation, self.mainnet, self.node, self.chance = installation, mainnet, mainnet.node, chance
        self.progress = progress
        self.key = devnet.HOT_WALLET_KEY
        self.shop = Shop({POLYGON: mainnet})
        self.people = [make_user(f"{name}@example.com", is_staff=True, is_superuser=True) for name in ("ada", "bob")]
        self.wallets = [devnet.HOT_WALLET]
        self.stolen = Counter[Paid]()
        self._set(cold_wallet=COLD)
        self.appoint()
        self.earned = self.shop.earn(PAYMENTS)

    @property
    def hot(self) -> str:
        return self.wallets[-1]

    def _set(self, **fields: str) -> None:
        """In this process and all that it starts, as if all were restarted."""
        use_settings({"NETWORK_SETTINGS": with_set(POLYGON, **fields)})
        os.environ |= {f"EVM_{name.upper()}": value for name, value in fields.items()}
        factory._readiness.cache_clear()

    def appoint(self, treasury: str = COLD) -> None:
        self.node.succeed(OWNER, FACTORY, deployment.appointment(self.hot, treasury))

    def step(self, rounds: int = 1) -> None:
        """What the workers do, and blocks."""
        for _ in range(rounds):
            Payout.objects.filter(status__in=[PayoutStatus.READY, PayoutStatus.HELD]).update(
                next_attempt_at=timezone.now()
            )
            self.shop.let_blocks_pass()
            self.shop.drive()
            payment_tasks.sweep()
            follow_payouts()
            follow_cold()

    def finish(self) -> None:
        for _ in range(ROUNDS_MAX):
            if not Payout.objects.filter(status__in=WAITING).exists():
                break
            self.step()
        self.step(3)

    def refill(self, coins: int = FLOAT) -> None:
        """The keepers of the cold wallet send what the command shows."""
        for code in COINS:
            out = io.StringIO()
            call_command("refill", env=PRODUCTION, network=POLYGON, asset=code, amount=Decimal(coins), stdout=out)
            contract, data = (out.getvalue().partition(f"{name} ")[2].split()[0] for name in ("contract", "data"))
            self.node.succeed(COLD, contract, bytes.fromhex(data[2:]))
        self.step(2)

    def sign(self, to: str, data: bytes) -> str:
        """What somebody with the hot wallet's key sends without Ballast; the hash."""
        signer, rpc = signer_from_key(self.key), self.node.rpc
        transaction = Transaction(
            chain_id=POLYGON_ID,
            nonce=int(rpc.call("eth_getTransactionCount", signer.address, "pending"), 16),
            to=to,
            data=data,
            gas=2_000_000,
            max_fee=200 * 10**9,
            tip=30 * 10**9,
        )
        sent: str = rpc.call("eth_sendRawTransaction", "0x" + signer.sign(transaction).raw.hex())
        self.node.mine()
        return sent

    def take_all(self, goal: str) -> list[str]:
        """Every coin of the hot wallet to an address, with its key; the hashes."""
        sent = []
        for code, token in self.mainnet.tokens.items():
            if held := self.mainnet.held(code, [self.hot])[self.hot]:
                sent.append(self.sign(token, abi.call("transfer(address,uint256)", goal, held)))
        return sent

    def replace_key(self, *, are_coins_there: bool) -> None:
        """The runbook: stop payouts, move the coins, appoint, set, take over what was moved, go on."""
        old = self.hot
        stopping.stop_payouts(environment=PRODUCTION, reason="the key is replaced")
        key = f"0x{self.chance.randbytes(32).hex()}"
        new = signer_from_key(key).address
        if are_coins_there:
            self.node.mine()  # what is on its way comes into a block, and is not final yet
            self.take_all(new)
        self.wallets.append(new)
        self.node.rpc.call("anvil_setBalance", new, hex(GAS))
        self.appoint()
        self.key = key
        self._set(hot_wallet=new, hot_wallet_key=key)
        self.node.mine(40)
        self.step()
        if are_coins_there:
            self.take_over(old)
            self.book(registry.profile(PRODUCTION, POLYGON).native.code)
        stopping.lift(environment=PRODUCTION)

    def take_over(self, wallet: str, *, leave_unknown: bool = False) -> None:
        call_command(
            "thaw_wallet",
            env=PRODUCTION,
            network=POLYGON,
            address=wallet,
            leave_unknown=leave_unknown,
            by=self.people[0].email,
            stdout=io.StringIO(),
        )
        agree_to_what_waits(self.people[1])

    def book(self, code: str) -> None:
        """Coins that the operator has put into the hot wallet."""
        call_command("book_treasury", env=PRODUCTION, network=POLYGON, asset=code, yes=True, stdout=io.StringIO())

    def left(self) -> Counter[Paid]:
        """Everything that ever left a hot wallet for somebody else, by the node, but what the thief took."""
        ours = {*self.wallets, COLD}
        moves = [part for wallet in self.wallets for part in self.mainnet.left(wallet) if part[1] not in ours]
        return Counter((POLYGON, *part) for part in moves) - self.stolen

    def agree(self) -> bool:
        """Ledger and `balanceOf`, of hot and cold wallets, to the base unit."""
        for code in COINS:
            hot = sum(self.mainnet.held(code, self.wallets).values())
            if hot != balance(hot_account(POLYGON, code), environment=PRODUCTION):
                return False
            cold = self.mainnet.held(code, [COLD])[COLD]
            if cold != balance(cold_account(POLYGON, code), environment=PRODUCTION):
                return False
        return True

    def whole(self, account: str) -> int:
        """Whole coins of all kinds at an address."""
        profile = registry.profile(PRODUCTION, POLYGON)
        return sum(self.mainnet.held(code, [account])[account] // 10 ** profile.assets[code].decimals for code in COINS)

    @contextmanager
    def undone(self) -> Iterator[None]:
        """What happens inside is undone on the node."""
        snapshot = self.node.rpc.call("evm_snapshot")
        try:
            yield
        finally:
            assert self.node.rpc.call("evm_revert", snapshot)

    def reconcile(self, what: str) -> Check:
        code, said = self.installation.manage("reconcile", "--full")
        if code:
            print(said)  # noqa: T201 - what it found
        return Check(f"{what}: reconcile --full finds nothing", f"exit {code}", code == 0)

    def checks(self, what: str) -> list[Check]:
        asked, left = self.shop.asked, self.left()
        return [
            Check(
                f"{what}: every payout is on the chain",
                f"{(asked & left).total()} of {asked.total()}",
                not asked - left,
            ),
            Check(f"{what}: none is there twice, nor anything else", f"{(left - asked).total()}", not left - asked),
            Check(f"{what}: ledger and balanceOf agree, hot and cold", "to the base unit", self.agree()),
            self.reconcile(what),
        ]


# --- replaced in the middle of fifty payouts ------------------------------------------------------------


def _rotate_amid_payouts(house: House) -> list[Check]:
    house.shop.give_back(house.earned, REFUNDS_OF_EACH)
    house.step(2)
    waits = Payout.objects.filter(status=PayoutStatus.HELD, hold_reason=HoldReason.REFILL).count()
    first = Check(
        "payouts wait for a refill, with a reason that says so", f"{waits}", waits == house.shop.asked.total()
    )
    house.refill()
    while not _is_in_the_middle():
        house.shop.drive()
        house.node.mine()
    paid, sent = (Payout.objects.filter(status=each).count() for each in (PayoutStatus.PAID, PayoutStatus.SENDING))
    house.replace_key(are_coins_there=True)
    house.finish()
    figure = f"{sent} were on their way, {paid} paid, {house.shop.asked.total() - sent - paid} waited"
    house.progress.say(f"rotation: {figure}", now=True)
    open_now = Transfer.objects.filter(status__in=OPEN_TRANSFERS).count()
    return [
        first,
        Check("the key is replaced in the middle of fifty payouts", figure, sent > 0 and sent + paid < 50),
        Check("rotation: nothing of the old wallet is left open", f"{open_now}", not open_now),
        *house.checks("rotation"),
    ]


def _is_in_the_middle() -> bool:
    begun = Payout.objects.filter(status__in=[PayoutStatus.SENDING, PayoutStatus.PAID]).count()
    return 10 <= begun <= 45 and Payout.objects.filter(status=PayoutStatus.SENDING).exists()


# --- stolen ---------------------------------------------------------------------------------------------


def _steal(house: House) -> list[Check]:
    payments = [house.shop._open(POLYGON, number) for number in range(LATER)]
    house.mainnet.pay([(each.cryptocurrency, each.deposit_address, int(each.due)) for each in payments])
    house.node.mine(40)
    unswept, hot = sum(house.whole(each.deposit_address) for each in payments), house.whole(house.hot)
    taken = []
    for treasury in (COLD, house.hot):
        with house.undone():
            house.appoint(treasury)
            taken.append(_take_what_can_be_had(house, payments))
    house.progress.say(
        f"a thief gets {taken[0]} coins of {hot + unswept}, and {taken[1]} without a cold wallet", now=True
    )
    for _ in range(2):
        payment_tasks.watch_networks()
    hashes = house.take_all(THIEF)
    house.stolen = Counter((POLYGON, *part) for part in house.mainnet.left(house.hot) if part[1] == THIEF)
    house.node.mine(40)
    house.step(2)
    code, _ = house.installation.manage("reconcile", "--full")
    frozen = Stop.objects.freezing().filter(address=house.hot).exists()
    _mend(house, hashes)
    house.shop.give_back(house.earned[:4], 1, before=REFUNDS_OF_EACH)
    house.refill(10)
    house.finish()
    return [
        Check(
            "a thief with the hot key gets what the documents say: the hot wallet",
            f"{taken[0]} of {hot + unswept} coins, {unswept} of them at deposit addresses",
            0 < taken[0] <= hot,
        ),
        Check(
            "control arm: with the hot wallet as treasury he gets every deposit",
            f"{taken[1]} of {hot + unswept} coins",
            taken[1] >= hot + unswept - len(COINS),
        ),
        Check("the theft is found", f"reconcile exit {code}, wallet frozen: {frozen}", code == 2),
        *house.checks("theft, another key, and what was lost put in"),
    ]


def _take_what_can_be_had(house: House, payments: Sequence[Payment]) -> int:
    """Whole coins that he gets by taking, sweeping and taking again, with the hot wallet's key alone."""
    chain = registry.chain(PRODUCTION, POLYGON)
    assert isinstance(chain, EvmChain)
    salts = [chain.derivations.present.salt(each.sequence) for each in payments]
    house.take_all(THIEF)
    for token in house.mainnet.tokens.values():
        house.sign(FACTORY, abi.call("sweep(uint256[],address)", salts, token))
    house.take_all(THIEF)
    for function in ("set_treasury(address)", "transfer_ownership(address)"):
        house.sign(FACTORY, abi.call(function, THIEF))  # reverts
    assert deployment.people(chain.providers, FACTORY).owner == OWNER
    return house.whole(THIEF)


def _mend(house: House, hashes: Sequence[str]) -> None:
    """The runbook: another key, what was stolen is a loss that two have agreed to, the house puts as much in."""
    house.replace_key(are_coins_there=False)
    with suppress(CommandError):  # somebody has to say whose it was
        house.take_over(house.wallets[-2])
    for sent in hashes:
        call_command(
            "book_sent",
            env=PRODUCTION,
            network=POLYGON,
            hash=sent,
            lost=True,
            reason="the key was stolen",
            by=house.people[0].email,
            stdout=io.StringIO(),
        )
        agree_to_what_waits(house.people[1])
    for _, code, _, amount in house.stolen.elements():
        house.mainnet.fund(code, house.hot, amount)
    house.node.mine(40)
    house.take_over(house.wallets[-2])
    for code in {code for _, code, _, _ in house.stolen} | {registry.profile(PRODUCTION, POLYGON).native.code}:
        house.book(code)
    [stop] = Stop.objects.standing()
    call_command("stops", lift=stop.pk, by=house.people[0].email, stdout=io.StringIO())
    agree_to_what_waits(house.people[1])


# --- restored -------------------------------------------------------------------------------------------


def _restore(house: House) -> list[Check]:
    """A backup is made while payouts wait; they are paid, the key is replaced in between, and the backup comes back."""
    installation_tasks.keep_pulse()
    house.shop.give_back(house.earned, WAITING_OF_EACH, before=REFUNDS_OF_EACH + 1)
    waiting = set(Payout.objects.filter(status=PayoutStatus.READY).values_list("pk", flat=True))
    dump = _dump(house.installation)
    installation_tasks.keep_pulse()
    house.shop.drive()
    house.node.mine()
    by_old = Payout.objects.filter(pk__in=waiting).exclude(status__in=[PayoutStatus.READY, PayoutStatus.HELD]).count()
    house.replace_key(are_coins_there=True)
    house.refill(5)
    house.finish()
    paid = Payout.objects.filter(pk__in=waiting, status=PayoutStatus.PAID).count()
    house.node.mine(100)

    _bring_back(house.installation, dump)
    again = Payout.objects.filter(pk__in=waiting, status=PayoutStatus.READY).count()
    sent_before = [house.mainnet.used_nonces(wallet) for wallet in house.wallets]
    installation_tasks.keep_pulse()
    house.step(2)
    stood_still = sent_before == [house.mainnet.used_nonces(wallet) for wallet in house.wallets]
    call_command("resume_after_restore", by="Ada", look_ahead=500, stdout=io.StringIO())
    for wallet in house.wallets[-2:]:
        house.take_over(wallet, leave_unknown=True)
    house.finish()
    figure = f"{by_old} by the key of the backup, {paid - by_old} by the next one"
    house.progress.say(f"restored: {figure}", now=True)
    return [
        Check(
            "payouts that the backup has waiting are paid after it", figure, paid == len(waiting) and 0 < by_old < paid
        ),
        Check(
            "control arm: the restored database would pay them again",
            f"{again} of {len(waiting)}",
            again == len(waiting),
        ),
        Check("until it is resumed nothing is sent", "", stood_still),
        *house.checks("restored"),
    ]


def _dump(installation: Installation) -> Path:
    folder = installation.folder / "backups"
    call_command("backup", to=folder, verbosity=0)
    return max(folder.iterdir(), key=lambda path: path.stat().st_mtime)


def _bring_back(installation: Installation, backup: Path) -> None:
    server = installation.postgres
    assert server is not None
    connections.close_all()
    with server.connect("postgres") as admin:
        admin.execute(f"DROP DATABASE {DATABASE} WITH (FORCE)".encode())
        admin.execute(f"CREATE DATABASE {DATABASE}".encode())
    standing.forget()  # the processes are started again
    call_command("restore", str(backup), stdout=io.StringIO())


# --- the guard that is off ------------------------------------------------------------------------------


def _follow_nothing(house: House) -> Check:
    """Without following what a replaced wallet has on its way, its payouts stay as sent for ever."""
    house.refill(5)
    house.shop.give_back(house.earned[:3], 1, before=REFUNDS_OF_EACH + 3)
    house.shop.drive()
    house.node.mine()
    sent = set(Payout.objects.filter(status=PayoutStatus.SENDING).values_list("pk", flat=True))
    followed: list[Any] = []
    with patch.object(executor, "replaced_wallets", lambda wallet: followed):
        house.replace_key(are_coins_there=True)
        house.finish()
        stay = Payout.objects.filter(pk__in=sent, status=PayoutStatus.SENDING).count()
    house.finish()
    ended = Payout.objects.filter(pk__in=sent, status=PayoutStatus.PAID).count()
    return Check(
        "control arm: what nobody follows stays as sent, though it is paid",
        f"{stay} of {len(sent)}; with the guard {ended} end",
        stay == len(sent) == ended > 0,
    )
