"""The hot wallet of an evm network without its key: whom it can pay, what it sent, and the cost of sending."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace
from typing import Any

from config.money import Asset
from payments.chains import recipients
from payments.chains.errors import NotSetUp, TokenChanged
from payments.chains.evm import addresses
from payments.chains.evm.deposit_addresses.derivation import Derivations
from payments.chains.evm.deposit_addresses.new_addresses import NewAddresses
from payments.chains.evm.fees import FeeRules
from payments.chains.evm.nodes import questions
from payments.chains.evm.nodes.prices import prices
from payments.chains.evm.nodes.providers import Providers
from payments.chains.evm.nodes.questions import QUESTIONS_PER_BATCH, Receipt
from payments.chains.evm.nodes.rpc import RpcError
from payments.chains.evm.readiness_checks import SetUp
from payments.chains.evm.reading import Reading
from payments.chains.evm.simulation import TransferSimulation
from payments.chains.profiles import NetworkProfile
from payments.chains.protocol.payouts import Costs, PayoutInstruction
from payments.chains.protocol.transfers import Identity, SentTransaction

# What it usually takes, as measured (docs/contracts.md): to show what sending costs, and to recognise what is not worth
# it.
PAYOUT_GAS_USUAL = 65_000
_SWEEP_GAS_USUAL, _AGAIN_GAS_USUAL = 39_000, 12_100

# EIP-7702: the account of a person that lets a contract act for it is still the account of a person.
_DELEGATION = bytes.fromhex("ef0100")


class HotWallet:
    def __init__(
        self,
        profile: NetworkProfile,
        providers: Providers,
        *,
        derivations: Derivations,
        wallet: str,
        rules: FeeRules,
        reading: Reading,
        simulation: TransferSimulation,
        set_up: SetUp,
        new_addresses: NewAddresses | None = None,
    ) -> None:
        self._profile, self._providers = profile, providers
        self._derivations, self._wallet = derivations, wallet
        self._rules, self._reading = rules, reading
        self._simulation, self._set_up = simulation, set_up
        self._new_addresses = new_addresses or NewAddresses()

    def own_accounts(self) -> frozenset[str]:
        factories = self._derivations.factories
        return frozenset({self._wallet, *factories, *map(addresses.forwarder_of, factories)})

    def check_recipient(self, payout: PayoutInstruction) -> None:
        account = recipients.payable_account(self._profile, payout.recipient, own=self.own_accounts())
        self._simulation.require_payable(payout.asset, account)

    def check_sending(self, asset: Asset) -> None:
        try:
            self._set_up.check_decimals(asset)
        except NotSetUp as error:
            raise TokenChanged(str(error)) from error
        self._simulation.require_sendable(asset)

    def pay_back_address(self, identity: Identity, sender: str) -> str | None:
        found = self._providers.agree_on(questions.code(sender))
        is_contract = bool(found) and not found.startswith(_DELEGATION)
        return None if is_contract else sender

    def next_sequence(self, sender: str) -> int:
        return self._providers.agree_on(questions.nonce(sender, self._providers.head().height))

    def sent_by(
        self, account: str, *, first_height: int, last_height: int, first_sequence: int, hashes: Collection[str]
    ) -> tuple[SentTransaction, ...]:
        """As of `HotWallet`. Unknown ones are found by the nonces of blocks, as nodes forget the hashes of old ones."""
        self._reading.reached(last_height)
        heights = range(first_height, last_height + 1)
        last = heights[-1]
        named = self._each_of([questions.sent(each) for each in sorted(hashes)])
        sent = {each.nonce: each for each in named if each and each.sender == account and each.height in heights}
        for number in reversed(range(first_sequence, self._providers.agree_on(questions.nonce(account, last)))):
            if number not in sent and (found := self._sent_with(account, number, up_to=last)) is not None:
                sent[number] = found
            last = sent[number].height or last if number in sent else last
        hashes = {each.transaction_hash for each in sent.values() if each.height in heights}
        receipts = self._each_of([questions.receipt(each, up_to=heights[-1]) for each in sorted(hashes)])
        nonces = {each.transaction_hash: number for number, each in sent.items()}
        sent_there = [
            SentTransaction(
                transaction_hash=each.transaction_hash,
                sequence=nonces[each.transaction_hash],
                height=each.height,
                succeeded=each.succeeded,
                fee_units=each.fee_units,
                said_by=each.said_by,
            )
            for each in receipts
            if each is not None
        ]
        return tuple(sorted(sent_there, key=lambda each: each.sequence))

    def _sent_with(self, account: str, number: int, *, up_to: int) -> questions.SentTransaction | None:
        """The transaction of an account with this nonce; None where nodes no longer know the nonces of that time."""
        try:
            height = self.height_of_use(account, number, up_to)
            sent = self._providers.agree_on(questions.transactions(height, account))
        except RpcError:
            return None
        return next((each for each in sent or () if each.nonce == number), None)

    def height_of_use(self, account: str, sequence: int, head: int) -> int:
        """The block that used the sequence: searched backwards in growing steps, as it is usually a recent one."""

        def is_used(height: int) -> bool:
            return self._providers.agree_on(questions.nonce(account, height)) > sequence

        used, step = head, 1
        while is_used(unused := max(0, used - step)):
            if not unused:
                return 0
            used, step = unused, 2 * step
        while used - unused > 1:
            middle = (used + unused) // 2
            if is_used(middle):
                used = middle
            else:
                unused = middle
        return used

    def costs(self) -> Costs:
        now = prices(self._providers)
        price = self._rules.price(base_fee=now.base_fee, usual_tip=now.usual_tip)
        return Costs(
            payout=PAYOUT_GAS_USUAL * price,
            sweep=_SWEEP_GAS_USUAL * price,
            first_time=self.new_address_gas() * price,
            again=_AGAIN_GAS_USUAL * price,
        )

    def new_address_gas(self) -> int:
        """What a sweep takes for an address that nothing has emptied before; queried once an hour."""
        coin = next(iter(self._profile.assets.values())).contract
        factory = self._derivations.present.factory
        return self._new_addresses.gas(self._providers, operator=self._wallet, factory=factory, coin=coin)

    @property
    def known_new_address_gas(self) -> int:
        """The same as last known, without a query."""
        return self._new_addresses.known_gas

    def _each_of(self, wanted: Sequence[questions.Question[Any]]) -> list[Any]:
        """The answers that two providers give alike, a batch at a time; receipts with who gave them."""
        answers: list[Any] = []
        for start in range(0, len(wanted), QUESTIONS_PER_BATCH):
            believed = self._providers.believe(*wanted[start : start + QUESTIONS_PER_BATCH])
            answers += [
                replace(each, said_by=believed.by) if isinstance(each, Receipt) else each for each in believed.answer
            ]
        return answers
