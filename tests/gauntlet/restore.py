"""A busy shop on three networks is restored from the backup of noon, after an afternoon in which money moved.

Ethereum and polygon are real nodes, stellar is a Horizon and its network in this process; production's registry and
adapters do the work. The backup is made and restored by the product's commands. What the adoption of sweeps is for, the
control arm shows: without it coins that are in the hot wallet are called missing, and merchants are told so.
"""

from __future__ import annotations

import getpass
import logging
import random
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import replace
from decimal import Decimal
from io import StringIO
from typing import Any
from unittest.mock import patch

from django.core.management import call_command
from stellar_sdk import Asset, ChangeTrust, Keypair

from config.coins import COINS
from config.environments import Environment
from payments.chains import registry
from payments.chains.evm import abi
from payments.chains.evm.deposit_addresses import deployment
from payments.chains.networks import NETWORKS
from payments.chains.protocol.chain import Chain
from payments.chains.protocol.transfers import IncomingTransfer
from payments.chains.stellar.adapter import StellarChain
from payments.models import Payment
from payments.restore import adoption
from payments.treasury import lost_sweeps
from payments.treasury.losses.models import MissingCoins
from payments.treasury.models import Sweep
from tests.evm.mainnet import Mainnet
from tests.evm.mainnet import settings_for as evm_settings
from tests.evm.network import devnet
from tests.evm.network.node import LocalNode
from tests.evm.node import EPOCH_BLOCKS, ETHEREUM_ID, HISTORY, POLYGON_ID, TestNode
from tests.evm.shop import price_coins_at_a_dollar, somebody
from tests.factories import PASSWORD
from tests.gauntlet.installation import Installation
from tests.gauntlet.keys import COLD, _bring_back, _dump
from tests.gauntlet.report import Check, Progress
from tests.installation.busy_shop import NETWORKS as BUSY_NETWORKS
from tests.installation.busy_shop import BusyShop
from tests.networks import ETHEREUM, POLYGON, STELLAR, use_settings, with_set
from tests.stellar.network.horizon import LocalHorizon
from tests.stellar.network.keys import HOT_WALLET, HOT_WALLET_KEY, PAYER, PAYER_KEY
from tests.stellar.network.preparing import prepare
from tests.stellar.shops import COIN, address_of, key_of, local_profile
from tests.stellar.shops import settings_for as stellar_settings
from webhooks.events.catalogue import PAYMENT_COINS_MISSING
from webhooks.models import Event

EACH = 60
"""Payments of each kind on each network."""
MOVEMENTS = 0
"""What the resume is to find again at least, where it is said: a refund on each network for each three of them."""
LOOK_AHEAD = 2_000
RESUME_SECONDS_MAX = 600
BLOCKS_UNTIL_FINAL = 40

SHORT: dict[str, Any] = {"EACH": 2, "BLOCKS_UNTIL_FINAL": 16}


def run(installation: Installation, chance: random.Random) -> list[Check]:
    progress = Progress()
    logging.getLogger("payments").setLevel(logging.CRITICAL)
    NETWORKS[STELLAR] = replace(NETWORKS[STELLAR], real=local_profile())
    with ExitStack() as stack:
        stack.enter_context(patch.object(getpass, "getpass", return_value=PASSWORD))  # somebody at the terminal
        chain_ids = {ETHEREUM: ETHEREUM_ID, POLYGON: POLYGON_ID}
        nodes = {
            network: stack.enter_context(LocalNode(chain_id=one, epoch_blocks=EPOCH_BLOCKS[one], history=HISTORY))
            for network, one in chain_ids.items()
        }
        horizon = stack.enter_context(LocalHorizon())
        use_settings(evm_settings({network: [node.url] for network, node in nodes.items()}))
        use_settings(stellar_settings([horizon.url]))
        use_settings({"PRODUCTION_NETWORKS": [*chain_ids, STELLAR], "OPERATORS_TO_DECIDE": 2, "SWEEP_THRESHOLD": 10**6})
        for network, cold in ((POLYGON, COLD), (STELLAR, address_of("cold wallet"))):
            use_settings({"NETWORK_SETTINGS": with_set(network, cold_wallet=cold)})
        ground = Real({network: Mainnet(network, TestNode(node)) for network, node in nodes.items()}, horizon)
        return _drill(installation, progress, BusyShop(ground))


class Real:
    """Two nodes and a Horizon, in production; polygon's sweeps go to its cold wallet."""

    environment = Environment.PRODUCTION

    def __init__(self, mainnets: Mapping[str, Mainnet], horizon: LocalHorizon) -> None:
        self.mainnets, self.horizon = mainnets, horizon
        prepare(horizon)
        horizon.fund_native(PAYER, 10**6 * COIN)
        appointed = deployment.appointment(devnet.HOT_WALLET, COLD)
        mainnets[POLYGON].node.succeed(devnet.OWNER, devnet.DEPLOYMENT.factory, appointed)
        price_coins_at_a_dollar()
        self.somebody(STELLAR, "cold wallet")

    def somebody(self, network: str, name: str) -> str:
        if network != STELLAR:
            return somebody(name)
        address = address_of(name)
        if address not in self.horizon.network.state.accounts:
            self.horizon.fund_native(address, 100 * COIN)
            for code in COINS:
                self.horizon.trust(key_of(name), code)
        return address

    def pay(self, network: str, payments: Sequence[Payment]) -> None:
        if network != STELLAR:
            self.mainnets[network].pay(
                [(each.cryptocurrency, each.deposit_address, int(each.due)) for each in payments]
            )
            return
        for each in payments:
            coin, memo = each.cryptocurrency, int(each.memo)
            self.horizon.pay(PAYER_KEY, each.deposit_address, coin, int(each.due), memo=memo)

    def put_in(self, network: str, code: str, units: int, memo: str) -> None:
        if network == STELLAR:
            self.horizon.pay(PAYER_KEY, HOT_WALLET, code, units, memo=int(memo))
        elif code in COINS:
            self.mainnets[network].fund(code, devnet.HOT_WALLET, units)
        else:
            held = self.mainnets[network].native_held(devnet.HOT_WALLET)
            self.mainnets[network].node.rpc.call("anvil_setBalance", devnet.HOT_WALLET, hex(held + units))

    def keepers_send(self, network: str, code: str, units: int) -> None:
        if network == STELLAR:
            self.horizon.pay(key_of("cold wallet"), HOT_WALLET, code, units)
        else:
            mainnet = self.mainnets[network]
            moved = abi.call("transfer(address,uint256)", devnet.HOT_WALLET, units)
            mainnet.node.succeed(COLD, mainnet.tokens[code], moved)

    def set_up(self, network: str) -> None:
        if network != STELLAR:
            another = deployment.with_owner(somebody("another owner"))
            self.mainnets[network].node.succeed(devnet.HOT_WALLET, deployment.DEPLOYER, another.data)
            return
        wallet, issuer = Keypair.from_secret(HOT_WALLET_KEY), self.somebody(STELLAR, "issuer of another coin")
        self.horizon.act(wallet, ChangeTrust(Asset("OTHER", issuer)))
        use_settings({"NETWORK_SETTINGS": with_set(STELLAR, channels=2)})
        chain = registry.chain(self.environment, STELLAR)
        assert isinstance(chain, StellarChain)
        preparation = chain.preparation()
        chain.sending.broadcast(preparation.sign(preparation.plan()))

    def pass_time(self) -> None:
        for mainnet in self.mainnets.values():
            mainnet.node.mine(BLOCKS_UNTIL_FINAL)
        self.horizon.close_ledger(max(1, time.time() - self.horizon.network.state.closed_at))

    def held(self, network: str, code: str, address: str) -> int:
        if network == STELLAR:
            return self.horizon.balance(address, code)
        return self.mainnets[network].held(code, [address])[address]

    def left(self, network: str) -> Counter[tuple[str, str, int]]:
        if network != STELLAR:
            return Counter(self.mainnets[network].left(devnet.HOT_WALLET))
        found: Counter[tuple[str, str, int]] = Counter()
        asked, records = {"limit": "200", "order": "asc", "cursor": "0"}, True
        while records:
            page = self.horizon.another().questions.answer(f"/accounts/{HOT_WALLET}/payments", asked)
            records = page["_embedded"]["records"]
            for each in records:
                asked["cursor"] = each["paging_token"]
                if each.get("from") == HOT_WALLET and each["type"] == "payment":
                    found[each["asset_code"], each["to"], int(Decimal(each["amount"]) * COIN)] += 1
        return found


def _none_found(environment: str, chain: Chain, **heights: Any) -> Iterator[list[IncomingTransfer]]:
    """The guard that is off: nothing that was swept is looked for."""
    return iter(())


def _drill(installation: Installation, progress: Progress, shop: BusyShop) -> list[Check]:
    shop.until_the_backup(max(EACH, -(-MOVEMENTS // len(BUSY_NETWORKS))))
    dump = _dump(installation)
    sweeps = Sweep.objects.count()
    shop.put_in.clear()
    shop.memos.clear()
    shop.done = Counter({"refunds that the backup has waiting": shop.done["refunds"]})
    for happens in shop.AFTER_THE_BACKUP.values():
        happens(shop)
    shop.work(2)
    before = shop.troubles()
    shop.done["sweeps"] = Sweep.objects.count() - sweeps
    total = shop.done.total()
    movements = ", ".join(f"{number} {what}" for what, number in sorted(shop.done.items()))
    progress.say(f"after the backup: {movements}", now=True)

    _bring_back(installation, dump)
    shop.work()
    said, began = StringIO(), time.monotonic()
    call_command("resume_after_restore", by="Ada", look_ahead=LOOK_AHEAD, stdout=said)
    seconds = time.monotonic() - began
    [speed] = [line for line in said.getvalue().splitlines() if "movements compared" in line]
    progress.say(f"resumed in {seconds:.1f} s: {speed}", now=True)
    shop.work(2)
    progress.say(f"{shop.decide()} refunds that nobody can tell from the network: two operators say whose", now=True)
    shop.work(2)
    shop.say_again()
    found = shop.troubles()
    for what, some in {**before, **found}.items():
        progress.say(f"{what}: {some}", now=True)
    exit_code = shop.reconcile()
    shop.settle()
    shop.work(3)
    later = shop.troubles()

    _bring_back(installation, dump)
    shop.work()
    with (
        patch.object(lost_sweeps, "lost_sweeps", _none_found),
        patch.object(adoption, "lost_sweeps", _none_found),
    ):
        call_command("resume_after_restore", by="Ada", look_ahead=LOOK_AHEAD, stdout=StringIO())
        shop.work()
        shop.reconcile(is_told=False)
    missing, told = MissingCoins.objects.count(), Event.objects.filter(type=PAYMENT_COINS_MISSING).count()
    none = {
        "coins taken for missing": "no coins are called missing",
        "breakers": "no payouts are stopped",
        "payouts held": "no payout is held",
        "frozen wallets": "no wallet stays frozen",
        "paid too often": "nobody is paid twice, nor anything that nobody asked for",
        "never paid": "everybody is paid",
        "books and chain": "books and chains agree to the base unit, hot, cold and at deposit addresses",
        "told": "no webhook that a merchant must not see",
    }
    return [
        Check("money moves after the backup, and nothing is wrong then", f"{total} movements", not before),
        *(Check(claim, f"{len(found.get(what, []))}", what not in found) for what, claim in none.items()),
        Check("reconcile --full finds nothing", f"exit {exit_code}", exit_code == 0),
        Check("what is settled after it is paid once as well", ", ".join(later) or "yes", not later),
        Check("the resume ends within 10 minutes", f"{seconds:.1f} s", seconds < RESUME_SECONDS_MAX),
        Check(
            "control arm: without the adoption of sweeps coins are called missing, and merchants told",
            f"{missing} rows, {told} events",
            missing > 0 and told > 0,
        ),
    ]
