"""What a signer of its own signs for the hot wallet of an evm network: it computes what the bytes do by itself."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

from payments.chains.evm import abi
from payments.chains.evm.fees import FeeRules
from payments.chains.evm.keys.signing import Signer, Transaction
from payments.chains.profiles import NetworkProfile
from payments.chains.signer.messages import SigningRequest
from payments.chains.signer.service import Refused, Signed

MOST_GAS = 16_777_216
"""What ethereum allows one transaction (EIP-7825)."""

SWEEPS = {"sweep(uint256[],address)", "sweep_native(uint256[])"}
"""The calls of the factory. Whatever the addresses are, it pays its treasury alone."""


class EvmWallet:
    """One hot wallet with its key. Factories and caps are those of the signer's own settings. `deployments` are what
    puts such a factory in place: to whom it is sent, and with which data."""

    def __init__(
        self,
        profile: NetworkProfile,
        signer: Signer,
        *,
        factories: Collection[str],
        rules: FeeRules,
        deployments: Collection[tuple[str, bytes]] = (),
    ) -> None:
        self._profile, self._signer = profile, signer
        self._factories, self._rules = frozenset(factories), rules
        self._deployments = frozenset(deployments)

    def most_fee(self, request: SigningRequest) -> int:
        transaction = self._transaction(request)
        if request.account != self._signer.address:
            raise Refused("differs", f"The key here is that of {self._signer.address}.")
        if transaction.chain_id != self._profile.evm_chain_id:
            raise Refused("differs", f"The chain id of {self._profile.network} is {self._profile.evm_chain_id}.")
        if transaction.units:
            raise Refused("differs", "Native coins are paid to nobody.")
        if transaction.gas > MOST_GAS or not transaction.tip <= transaction.max_fee <= self._rules.cap:
            raise Refused("fees", "It offers more gas, or more for it, than the signer's settings allow.")
        if request.sweeps:
            self._check_sweep(request, transaction)
        elif request.prepares:
            self._check_deployment(request, transaction)
        else:
            self._check_payout(request, transaction)
        return transaction.fee_limit_units

    def sign(self, request: SigningRequest) -> Signed:
        signature = self._signer.sign(self._transaction(request))
        return Signed(signature.raw, signature.transaction_hash)

    def _check_payout(self, request: SigningRequest, transaction: Transaction) -> None:
        """It transfers exactly the amount of the one payout to its recipient, in the coin's own contract."""
        if len(request.intents) != 1:
            raise Refused("differs", "A transaction here carries one payout.")
        (intent,) = request.intents
        asset = self._profile.assets.get(intent.coin)
        try:
            call = abi.call("transfer(address,uint256)", intent.recipient, intent.amount)
        except (ValueError, OverflowError) as error:
            raise Refused("differs", f"The payout cannot be written: {error}") from error
        if asset is None or transaction.to != asset.contract or transaction.data != call or intent.set_aside:
            raise Refused("differs", "The transaction does not pay what the payout says.", (intent.payout_id,))

    def _check_sweep(self, request: SigningRequest, transaction: Transaction) -> None:
        """Require a sweep by a factory of the signer's own settings, which pays the treasury alone."""
        calls = {abi.selector(each) for each in SWEEPS}
        if transaction.to not in self._factories or transaction.data[:4] not in calls:
            raise Refused("differs", "The transaction is no sweep by a factory of the signer's settings.")

    def _check_deployment(self, request: SigningRequest, transaction: Transaction) -> None:
        """It puts the factory in place that these settings lead to, with its owner, and nothing else."""
        if request.prepares != "factory" or (transaction.to, transaction.data) not in self._deployments:
            raise Refused("differs", "It does not put the factory of the signer's own settings in place.")

    def _transaction(self, request: SigningRequest) -> Transaction:
        fields: Mapping[str, Any] = request.transaction
        try:
            found = Transaction(
                chain_id=fields["chain_id"],
                nonce=request.sequence,
                to=fields["to"],
                data=bytes.fromhex(fields["data"]),
                gas=fields["gas"],
                max_fee=fields["max_fee"],
                tip=fields["tip"],
                units=fields["units"],
            )
        except (KeyError, TypeError, ValueError) as error:
            raise Refused("differs", "The fields of the transaction are not those of an evm network.") from error
        numbers = (found.chain_id, found.nonce, found.gas, found.max_fee, found.tip, found.units)
        if not all(type(number) is int and 0 <= number < 2**256 for number in numbers) or not isinstance(found.to, str):
            raise Refused("differs", "The fields of the transaction are not those of an evm network.")
        return found
