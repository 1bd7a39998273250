"""Making the calls of a recorded scenario by the library's own client, and noting the answers as the recordings do."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from typing import Any

import requests
from stellar_sdk import (
    Account,
    Asset,
    FeeBumpTransactionEnvelope,
    Keypair,
    Memo,
    MuxedAccount,
    Server,
    TransactionBuilder,
    TransactionEnvelope,
)
from stellar_sdk.exceptions import BaseHorizonError
from stellar_sdk.operation import Operation, Payment

from tests.stellar.network.horizon import LocalHorizon

Envelope = TransactionEnvelope | FeeBumpTransactionEnvelope


class Scenario:
    """Named accounts, and what Horizon answered to each call by its name."""

    def __init__(self, horizon: LocalHorizon, names: Iterable[str]) -> None:
        self.horizon = horizon
        self.server = Server(horizon.url)
        self.keys = {name: Keypair.random() for name in names} | {"root": horizon.root}
        self.answers: dict[str, Any] = {}
        self.kept: dict[str, Envelope] = {}
        self.usdc = Asset("USDC", self.address("issuer"))

    def address(self, name: str) -> str:
        return self.keys[name].public_key

    def muxed(self, name: str, identifier: int) -> str:
        return MuxedAccount(self.address(name), identifier).account_muxed or ""

    def pay(self, to: str, amount: str, asset: Asset | None = None, **options: Any) -> Payment:
        """To a named account or an address."""
        return Payment(self.address(to) if to in self.keys else to, asset or self.usdc, amount, **options)

    def built(
        self,
        source: str,
        *operations: Operation,
        memo: Memo | None = None,
        sequence: int | None = None,
        fee: int = 100,
        bounds: tuple[int, int] | None = None,
        signers: Iterable[str] = (),
    ) -> TransactionEnvelope:
        """A signed transaction; without `sequence`, the next one by what Horizon says."""
        key = self.keys[source]
        account = self.server.load_account(key.public_key) if sequence is None else Account(key.public_key, sequence)
        builder = TransactionBuilder(account, self.horizon.network.passphrase, base_fee=fee)
        for each in operations:
            builder.append_operation(each)
        if memo is not None:
            builder.add_memo(memo)
        found = (builder.add_time_bounds(*bounds) if bounds else builder.set_timeout(300)).build()
        for name in signers or (source,):
            found.sign(self.keys[name])
        return found

    def bumped(self, payer: str, fee: int, inner: TransactionEnvelope) -> FeeBumpTransactionEnvelope:
        network = self.horizon.network.passphrase
        found = TransactionBuilder.build_fee_bump_transaction(self.keys[payer], fee, inner, network)
        found.sign(self.keys[payer])
        return found

    def submit(self, label: str, envelope: Envelope) -> None:
        """By `/transactions`."""
        self.note(label, lambda: self.server.submit_transaction(envelope, skip_memo_required_check=True))

    def submit_async(self, label: str, envelope: Envelope) -> None:
        self.note(label, lambda: self.server.submit_transaction_async(envelope), status=201)

    def post(self, label: str, form: dict[str, str]) -> None:
        said = requests.post(f"{self.horizon.url}/transactions", data=form, timeout=60)
        self.answers[label] = {"status": said.status_code, "body": said.json()}

    def note(self, label: str, call: Callable[[], Any], status: int = 200) -> None:
        """`status` is what the client hides when all is well."""
        try:
            self.answers[label] = {"status": status, "body": call()}
        except BaseHorizonError as error:
            self.answers[label] = {"status": error.status, "body": json.loads(error.message)}
