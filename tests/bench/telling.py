"""How long it takes from a block that confirms a payment to the merchant's receiver, through the real processes."""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from decimal import Decimal
from statistics import median

from django.db import transaction
from django.test import override_settings

from config.celery import app
from config.environments import Environment
from merchants.models import Merchant
from merchants.services import open_merchant
from payments.chains.evm import abi
from payments.chains.evm.nodes.rpc import Rpc
from payments.chains.network_table import DEVNET
from payments.deposits.models import ScanCursor
from payments.models import Payment
from payments.services import NewPayment, create_payment
from tests.bench.background import PORTS_VARIABLE
from tests.bench.receiver import HOST, receiver
from tests.bench.report import Line
from tests.bench.server import ROOT
from tests.evm.network import devnet
from tests.evm.network.node import LocalNode, NodeMissing
from tests.networks import ETHEREUM, LOCAL_IDS
from webhooks.events.catalogue import PAYMENT_COMPLETED
from webhooks.services import register_endpoint

PAYMENTS = 12
GOAL = 1.5
"""Times the pause between two polls; half of one is waited for the next on average."""

START_SECONDS, TELL_SECONDS = 60.0, 30.0
WALLET = "0x8626f6940E2eb28930eFb4CeF49B2d1F2C9C1199"


def lines() -> list[Line]:
    try:
        nodes = {
            network: LocalNode(chain_id=chain_id, epoch_blocks=devnet.EPOCH_BLOCKS)
            for network, chain_id in LOCAL_IDS.items()
        }
    except NodeMissing as missing:
        return [Line("block to webhook", f"skipped. {missing}")]
    with ExitStack() as stack:
        port, answered = stack.enter_context(receiver())
        for node in nodes.values():
            stack.enter_context(node)
            devnet.prepare(Rpc(node.url, chain_id=node.chain_id))
        stack.enter_context(override_settings(SANDBOX_CHAIN=DEVNET))
        ScanCursor.objects.filter(environment=Environment.SANDBOX).delete()
        stack.enter_context(_background(nodes))
        read = ScanCursor.objects.filter(
            environment=Environment.SANDBOX, network=ETHEREUM, polled_at__isnull=False, fault=""
        )
        _wait_for(read.exists, START_SECONDS)
        merchant = open_merchant(name="Told", email="told@example.com")
        register_endpoint(
            merchant=merchant,
            environment=Environment.SANDBOX,
            url=f"http://{HOST}:{port}/hook/told",
            events=[PAYMENT_COMPLETED],
        )
        rpc = Rpc(nodes[ETHEREUM].url, chain_id=nodes[ETHEREUM].chain_id)
        waits = [_told_after(rpc, merchant, lambda: answered.value) for _ in range(PAYMENTS + 1)][1:]
    return [_line(waits)]


def _line(waits: list[float]) -> Line:
    pause = float(app.conf.beat_schedule["payments.watch_networks"]["schedule"])
    ratio = median(waits) / pause
    return Line(
        "confirming block to webhook",
        f"{median(waits):.2f} s, slowest of {len(waits)} {max(waits):.2f} s",
        f"{pause:g} s between two polls",
        f"{ratio:.2f}x",
        f"<= {GOAL:.2f}x",
        ratio <= GOAL,
    )


def _told_after(rpc: Rpc, merchant: Merchant, answered: Callable[[], int]) -> float:
    """Seconds from the blocks that hold and confirm a deposit to the arrival of the webhook."""
    payment = _payment(merchant)
    call = abi.call("transfer(address,uint256)", payment.deposit_address, int(payment.due))
    rpc.call(
        "eth_sendTransaction",
        {"from": devnet.PAYER, "to": devnet.token("USDC"), "data": "0x" + call.hex(), "gas": hex(200_000)},
    )
    time.sleep(random.random())  # so that the blocks appear at any time between two polls
    before = answered()
    started = time.perf_counter()
    rpc.call("anvil_mine", hex(payment.required_confirmations))
    _wait_for(lambda: answered() > before, TELL_SECONDS)
    return time.perf_counter() - started


def _payment(merchant: Merchant) -> Payment:
    request = NewPayment(
        amount=Decimal(25), currency="USD", cryptocurrency="USDC", network=ETHEREUM, merchant_wallet=WALLET
    )
    with transaction.atomic():
        payment, _ = create_payment(merchant=merchant, environment=Environment.SANDBOX, request=request)
    return payment


@contextmanager
def _background(nodes: Mapping[str, LocalNode]) -> Iterator[None]:
    """Worker and beat as `make run` starts them, with these nodes as the sandbox's networks."""
    ports = {network: int(node.url.rpartition(":")[2]) for network, node in nodes.items()}
    environment = {
        **os.environ,
        "SANDBOX_CHAIN": DEVNET,
        "SWEEP_THRESHOLD": "1000000",  # nobody makes the blocks that a sweep would wait for
        "LOG_LEVEL": "ERROR",
        PORTS_VARIABLE: json.dumps(ports),
    }
    process = subprocess.Popen(
        [sys.executable, "-m", "tests.bench.background"], cwd=ROOT, env=environment, start_new_session=True
    )
    try:
        yield
    finally:
        process.terminate()
        try:
            process.wait(timeout=20)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def _wait_for(is_so: Callable[[], bool], seconds: float) -> None:
    deadline = time.monotonic() + seconds
    while not is_so():
        if time.monotonic() > deadline:
            raise RuntimeError(f"nothing happened within {seconds:g} s")
        time.sleep(0.002)
