"""A signer of its own that runs in a thread, with the keys of the local networks and a clock that tests set."""

from __future__ import annotations

import shutil
import tempfile
import threading
from contextlib import ExitStack
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from payments.chains.evm.deposit_addresses.deployment import DEPLOYER
from payments.chains.evm.fees import GWEI, FeeRules
from payments.chains.evm.keys.signing import signer_from_key
from payments.chains.evm.keys.signing_rules import EvmWallet
from payments.chains.signer.client import SignerClient
from payments.chains.signer.connection import Certificates
from payments.chains.signer.messages import Intent, intent_mac
from payments.chains.signer.policy import Place, read_policy
from payments.chains.signer.record import Record
from payments.chains.signer.server import listening
from payments.chains.signer.service import Service, WalletSigner
from payments.chains.stellar.keys.wallet_keys import Keys
from payments.chains.stellar.signing_rules import StellarWallet
from tests.evm.network import devnet
from tests.stellar.network import devnet as stellar_devnet
from tests.stellar.network import keys as stellar_keys

SECRET = "the secret that executor and signer share in tests"
INTENT_KEY = "the key of those who may ask for payouts in tests"
POLYGON: Place = ("production", "polygon")
STELLAR: Place = ("sandbox", "stellar")
PROFILES = {POLYGON: devnet.profile("polygon"), STELLAR: stellar_devnet.profile("stellar")}

POLICY = """
signatures_per_minute = 1000
[production.polygon]
fees_per_day = "100"
[production.polygon.USDC]
transfer = "100"
day = "250"
[sandbox.stellar]
fees_per_day = "10"
[sandbox.stellar.USDC]
transfer = "100"
day = "250"
"""


class OwnSigner:
    """`now` is what its clock says; None is the time of the machine. Stopped and started it goes on with its record."""

    def __init__(self, *, policy: str = POLICY, now: datetime | None = None, channels: int = 1) -> None:
        self.folder = Path(tempfile.mkdtemp(prefix="signer"))  # a socket's path must be short
        self.policy, self.now = policy, now
        stellar = Keys(stellar_keys.HOT_WALLET_KEY, channels=channels)
        self.wallets: dict[Place, WalletSigner] = {
            POLYGON: EvmWallet(
                PROFILES[POLYGON],
                signer_from_key(devnet.HOT_WALLET_KEY),
                factories=[devnet.DEPLOYMENT.factory],
                rules=FeeRules(cap=2_000 * GWEI),
                deployments=[(DEPLOYER, devnet.DEPLOYMENT.data)],
            ),
            STELLAR: StellarWallet(PROFILES[STELLAR], stellar, cap=100_000, clock=self.clock),
        }
        self.url = f"unix://{self.folder}/s"
        self.certificates: Certificates | None = None
        self._stack = ExitStack()
        self.start()

    def clock(self) -> datetime:
        return self.now or datetime.now(UTC)

    def start(self) -> None:
        path = self.folder / "policy.toml"
        path.write_text(self.policy)
        self.record = Record(self.folder / "record.jsonl", self.clock)
        self._stack.callback(self.record.close)
        self.service = Service(
            self.wallets,
            read_policy(path, PROFILES),
            self.record,
            intent_key=INTENT_KEY,
            stop=self.folder / "stop",
        )
        server = self._stack.enter_context(listening(self.url, SECRET, self.service, self.certificates))
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        self._stack.callback(thread.join)
        self._stack.callback(server.shutdown)

    def stop(self) -> None:
        self._stack.close()

    def end(self) -> None:
        self.stop()
        shutil.rmtree(self.folder)

    def client(self, place: Place, secret: str = SECRET) -> SignerClient:
        environment, network = place
        return SignerClient(self.url, secret, environment=environment, network=network)

    def lines(self) -> list[str]:
        return (self.folder / "record.jsonl").read_text().splitlines()

    def let_pass(self, time: timedelta) -> None:
        self.now = self.clock() + time


def intent(place: Place, payout_id: str, amount: int, recipient: str) -> Intent:
    """A payout that was asked for."""
    environment, network = place
    said: dict[str, Any] = {"payout_id": payout_id, "coin": "USDC", "amount": amount, "recipient": recipient}
    mac = intent_mac(INTENT_KEY, environment=environment, network=network, **said)
    return Intent(**said, mac=mac)
