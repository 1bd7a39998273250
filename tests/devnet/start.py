"""`manage.py devnet`: local networks with coins, a hot wallet and a payer, until Ctrl-C."""

from __future__ import annotations

import signal
import threading
from contextlib import ExitStack
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from payments.chains.evm.nodes.rpc import Rpc
from payments.chains.networks import NETWORKS
from tests.evm.network import devnet
from tests.evm.network.node import LocalNode, NodeMissing
from tests.stellar.network import keys

STELLAR = tuple(name for name, each in NETWORKS.items() if each.real.family == "stellar")


HOT_WALLET_HAS = 100_000
"""Whole coins of each kind, of which `stock_sandbox` makes the treasury that settlements are converted with."""


class Command(BaseCommand):
    help = "Starts every network on this machine, with everything on it, and prints who is who."
    requires_system_checks = ()

    def add_arguments(self, parser: CommandParser) -> None:
        names = [name for name in NETWORKS if name in STELLAR or name in devnet.networks()]
        parser.add_argument("--network", choices=names, help="Only this one; default all.")
        parser.add_argument("--block-seconds", type=float, default=devnet.BLOCK_SECONDS, help="Default: 2.")

    def handle(self, *, network: str | None, block_seconds: float, **options: Any) -> None:
        ended = threading.Event()
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, lambda *_: ended.set())
        wanted = (network,) if network else (*STELLAR, *devnet.networks())
        with ExitStack() as running:
            try:
                if any(name in STELLAR for name in wanted):
                    self._start_stellar(block_seconds, running)
                self._start_evm([name for name in wanted if name not in STELLAR], block_seconds, running)
            except NodeMissing as error:
                if network:
                    raise CommandError(str(error)) from error
                self.stderr.write(f"Only stellar runs. {error}")
            except (OSError, RuntimeError) as error:
                raise CommandError(str(error)) from error
            self.stdout.write("To use it in the sandbox: SANDBOX_CHAIN=devnet make run. Running until Ctrl-C.")
            self.stdout.flush()
            ended.wait()

    def _start_stellar(self, ledger_seconds: float, running: ExitStack) -> None:
        # Imported here: other commands, and whoever lists them, need not wait for the library of the network.
        from tests.stellar.network.horizon import LocalHorizon
        from tests.stellar.network.preparing import prepare

        try:
            horizon = LocalHorizon(ledger_seconds=ledger_seconds, port=keys.PORT)
        except OSError as error:
            raise CommandError(f"The local Horizon cannot listen on port {keys.PORT}: {error.strerror}.") from error
        prepare(running.enter_context(horizon), hot_wallet_has=HOT_WALLET_HAS)
        self.stdout.write(f"stellar   {horizon.url}  {keys.PASSPHRASE}")
        for code, issuer in keys.ISSUERS.items():
            self.stdout.write(f"{code:9} {issuer}")
        self.stdout.write(f"payer     {keys.PAYER}, with a million of each coin; its key, which everybody knows:")
        self.stdout.write(f"          {keys.PAYER_KEY}")

    def _start_evm(self, networks: list[str], block_seconds: float, running: ExitStack) -> None:
        tokens: dict[str, str] = {}
        for name in networks:
            place = devnet.PLACES[name]
            node = running.enter_context(
                LocalNode(
                    chain_id=place.chain_id,
                    epoch_blocks=devnet.EPOCH_BLOCKS,
                    block_seconds=block_seconds,
                    port=place.port,
                )
            )
            rpc = Rpc(node.url, chain_id=node.chain_id)
            tokens = devnet.prepare(rpc, devnet.profile(name).decimals, hot_wallet_has=HOT_WALLET_HAS)
            self.stdout.write(f"{name:9} {node.url}  chain id {node.chain_id}")
        if tokens:
            for code, contract in tokens.items():
                self.stdout.write(f"{code:9} {contract}")
            self.stdout.write(f"factory   {devnet.DEPLOYMENT.factory}")
            self.stdout.write(f"payer     {devnet.PAYER}, with a million of each coin; its key, which everybody knows:")
            self.stdout.write(f"          0x{devnet.PAYER_KEY}")
