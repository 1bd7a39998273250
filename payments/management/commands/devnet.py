"""`manage.py devnet`: a local ethereum and a local polygon with tokens, factory and a payer, until Ctrl-C."""

from __future__ import annotations

import signal
import threading
from contextlib import ExitStack
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from payments.chains.evm.development import devnet
from payments.chains.evm.development.node import LocalNode, NodeMissing
from payments.chains.evm.rpc import Rpc


class Command(BaseCommand):
    help = "Starts a local node for ethereum and one for polygon, with everything on them, and prints the settings."
    requires_system_checks = ()

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--network", choices=[*devnet.PORTS], help="Only this one; default both.")
        parser.add_argument("--block-seconds", type=float, default=devnet.BLOCK_SECONDS, help="Default: 2.")

    def handle(self, *, network: str | None, block_seconds: float, **options: Any) -> None:
        ended = threading.Event()
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, lambda *_: ended.set())
        with ExitStack() as nodes:
            try:
                self._start([network] if network else [*devnet.PORTS], block_seconds, nodes)
            except (NodeMissing, RuntimeError) as error:
                raise CommandError(str(error)) from error
            ended.wait()

    def _start(self, networks: list[str], block_seconds: float, nodes: ExitStack) -> None:
        for name in networks:
            node = nodes.enter_context(
                LocalNode(
                    chain_id=devnet.CHAIN_IDS[name],
                    epoch_blocks=devnet.EPOCH_BLOCKS,
                    block_seconds=block_seconds,
                    port=devnet.PORTS[name],
                )
            )
            tokens = devnet.prepare(Rpc(node.url, chain_id=node.chain_id))
            self.stdout.write(f"{name:9} {node.url}  chain id {node.chain_id}")
        for code, contract in tokens.items():
            self.stdout.write(f"{code:9} {contract}")
        self.stdout.write(f"factory   {devnet.DEPLOYMENT.factory}")
        self.stdout.write(f"payer     {devnet.PAYER}, with a million of each coin; its key, which everybody knows:")
        self.stdout.write(f"          0x{devnet.PAYER_KEY}")
        self.stdout.write("To use it in the sandbox: SANDBOX_CHAIN=devnet make run. Running until Ctrl-C.")
        self.stdout.flush()
