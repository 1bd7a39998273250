"""What leaves an evm network's hot wallet: signing it, sending it, and reporting its outcome."""

from __future__ import annotations

from collections.abc import Callable, Collection

from config.money import Asset
from payments.chains.errors import ChainUnavailable, TransferRefused
from payments.chains.evm import abi
from payments.chains.evm.deposit_addresses.derivation import Derivations
from payments.chains.evm.fees import FeeRules, Offer
from payments.chains.evm.hot_wallet import PAYOUT_GAS_USUAL, HotWallet
from payments.chains.evm.keys.signing import Purpose, Signer, Transaction, read_signed
from payments.chains.evm.nodes import questions
from payments.chains.evm.nodes.prices import gas_limit, prices
from payments.chains.evm.nodes.providers import Providers
from payments.chains.evm.nodes.questions import Receipt
from payments.chains.evm.nodes.rpc import RpcError
from payments.chains.evm.readiness_checks import SetUp
from payments.chains.profiles import NetworkProfile
from payments.chains.protocol.payouts import PayoutInstruction, SignedTransfer, TransactionStatus
from payments.chains.protocol.scans import Head

# When a node answers that a transfer would fail now, it may still succeed later, as when its money is on the way.
# A limit costs nothing that is not used.
_PAYOUT_GAS_UNESTIMATED = 300_000
# A sweep succeeds even when an address in it runs out of gas, so that a node's estimate can be too low: this is enough
# for a first sweep of an address that holds a token behind a proxy, with what a new address takes for each.
_SWEEP_GAS_LEAST, _PROXY_GAS = 100_000, 78_500
_MOST_GAS = 16_777_216
"""What ethereum allows one transaction (EIP-7825)."""

MOST_TIMES_UNESTIMATED = 8
"""An estimate is believed up to so many times the limit that is used where there is none: a network may price gas anew.
EIP-8037 is expected to make a new address cost about five times as much."""


class Sending:
    """The hot wallet on one network."""

    def __init__(
        self,
        profile: NetworkProfile,
        providers: Providers,
        *,
        derivations: Derivations,
        wallet: str,
        rules: FeeRules,
        signer: Callable[[], Signer],
        hot_wallet: HotWallet,
        set_up: SetUp,
    ) -> None:
        self._profile = profile
        self._network = profile.network
        self._assets = {asset.contract for asset in profile.assets.values()}
        self._providers = providers
        self._derivations = derivations
        self._wallet = wallet
        self._rules = rules
        self._signer = signer
        self._hot_wallet, self._set_up = hot_wallet, set_up

    @property
    def most_swept(self) -> int:
        """The number of deposit addresses that one transaction can empty for the first time, without a query."""
        return min(self._profile.sweeps_per_transfer, (_MOST_GAS - _SWEEP_GAS_LEAST) // self._gas_per_deposit)

    def sign(
        self,
        payouts: tuple[PayoutInstruction, ...],
        *,
        sender: str,
        sequence: int,
        replacing: Collection[SignedTransfer] = (),
    ) -> SignedTransfer:
        if len(payouts) != 1:
            raise ValueError(f"a transfer on {self._network} carries 1 to 1 payouts")
        (payout,) = payouts
        if payout.asset.contract not in self._assets:
            raise ValueError("only accepted coins are paid out")
        call = abi.call("transfer(address,uint256)", payout.recipient, payout.amount)
        gas = self._gas(payout.asset.contract, call, least=PAYOUT_GAS_USUAL, unestimated=_PAYOUT_GAS_UNESTIMATED)
        purpose = Purpose(payouts=payouts)
        return self._signed(payout.asset.contract, call, gas, purpose, sender, sequence, replacing)

    def sign_sweep(
        self,
        asset: Asset,
        deposits: tuple[int, ...],
        *,
        sender: str,
        sequence: int,
        replacing: Collection[SignedTransfer],
    ) -> SignedTransfer:
        call, least = self._sweep(asset, deposits, is_replacing=bool(replacing))
        factory = self._derivations.of(deposits[0]).factory
        gas = self._gas(factory, call, least=least, unestimated=least)
        return self._signed(factory, call, gas, Purpose(sweeps=asset.code), sender, sequence, replacing)

    def broadcast(self, transfer: SignedTransfer) -> None:
        if not transfer.payouts:  # a sweep goes to whoever is the treasury when it is mined
            self._set_up.require_people_now(read_signed(transfer.raw).to)
        responses = self._providers.submit(questions.broadcast(transfer.raw))
        refusals = [each for each in responses if isinstance(each, RpcError) and not each.knows_already]
        if len(refusals) < len(responses):
            return
        # In a block already, nodes call its nonce too low.
        head = self._providers.head()
        if self._providers.anyone(questions.receipt(transfer.transaction_hash, up_to=head.height)) is None:
            raise TransferRefused(refusals[0].message)

    def status(self, transfer: SignedTransfer) -> TransactionStatus:
        head = self._providers.head()
        believed = self._providers.believe(
            questions.receipt(transfer.transaction_hash, up_to=head.height),
            questions.nonce(transfer.sender, head.height),
        )
        receipt, used = believed.answer
        if isinstance(receipt, Receipt):
            return TransactionStatus(
                state="included" if receipt.succeeded else "failed",
                height=receipt.height,
                block_hash=receipt.block_hash,
                confirmations=head.height - receipt.height + 1,
                final=receipt.height <= head.finalized_height,
                fee_units=receipt.fee_units,
                error=None if receipt.succeeded else "The contract of the coin refused the transfer.",
                said_by=believed.by,
            )
        if used > transfer.sequence:
            return self._replaced(transfer, head)
        waits = self._providers.anyone(questions.sent(transfer.transaction_hash))
        return TransactionStatus("unknown" if waits is None else "pending", said_by=believed.by)

    def _replaced(self, transfer: SignedTransfer, head: Head) -> TransactionStatus:
        """Proof that another transaction used the sequence: that transaction itself, in its block.

        Without it nothing is reported: a node that has not indexed a receipt yet must not let us pay a second time.
        """
        height = self._hot_wallet.height_of_use(transfer.sender, transfer.sequence, head.height)
        believed = self._providers.believe(questions.header(height), questions.transactions(height, transfer.sender))
        block, sent = believed.answer
        same = [each for each in sent or () if each.nonce == transfer.sequence]
        if block is None or not same or same[0].transaction_hash == transfer.transaction_hash:
            raise ChainUnavailable(f"{self._network} does not report yet who used sequence {transfer.sequence}.")
        return TransactionStatus(
            state="replaced",
            height=height,
            block_hash=block.block_hash,
            confirmations=head.height - height + 1,
            final=height <= head.finalized_height,
            said_by=believed.by,
        )

    def _sweep(self, asset: Asset, deposits: tuple[int, ...], *, is_replacing: bool) -> tuple[bytes, int]:
        """The call data for the factory, and the least gas that is enough for every address."""
        most = self._profile.sweeps_per_transfer
        if not deposits or (len(deposits) > most and not is_replacing):  # earlier versions may have been of more
            raise ValueError(f"a sweep on {self._network} empties 1 to {most} deposit addresses")
        if self._derivations.together(deposits) != deposits:
            raise ValueError("one factory cannot sweep the addresses of another")
        salts = [self._derivations.of(number).salt(number) for number in deposits]
        self._hot_wallet.new_address_gas()
        least = _SWEEP_GAS_LEAST + self._gas_per_deposit * len(deposits)
        if asset == self._profile.native:
            return abi.call("sweep_native(uint256[])", salts), least
        if asset.contract not in self._assets:
            raise ValueError("only accepted coins and the network's own are swept")
        return abi.call("sweep(uint256[],address)", salts, asset.contract), least

    @property
    def _gas_per_deposit(self) -> int:
        return self._hot_wallet.known_new_address_gas + _PROXY_GAS

    def _signed(
        self,
        to: str,
        call: bytes,
        gas: int,
        purpose: Purpose,
        sender: str,
        sequence: int,
        replacing: Collection[SignedTransfer],
    ) -> SignedTransfer:
        signer = self._signer()
        if sender != self._wallet or signer.address != self._wallet:
            raise ValueError(f"payouts on {self._network} leave from {self._wallet} alone")
        replaced = [read_signed(earlier.raw) for earlier in replacing]
        price = prices(self._providers)
        offer = self._rules.offer(
            base_fee=price.base_fee,
            usual_tip=price.usual_tip,
            replacing=[Offer(earlier.max_fee, earlier.tip) for earlier in replaced],
        )
        transaction = Transaction(
            chain_id=self._profile.evm_chain_id,
            nonce=sequence,
            to=to,
            data=call,
            gas=max([gas, *(earlier.gas for earlier in replaced)]),
            max_fee=offer.max_fee,
            tip=offer.tip,
        )
        signature = signer.sign(transaction, purpose)
        return SignedTransfer(
            raw=signature.raw,
            transaction_hash=signature.transaction_hash,
            sender=sender,
            sequence=sequence,
            valid_until=None,
            payouts=purpose.payouts,
            fee_limit_units=transaction.fee_limit_units,
        )

    def _gas(self, to: str, call: bytes, *, least: int, unestimated: int) -> int:
        most = min(_MOST_GAS, MOST_TIMES_UNESTIMATED * unestimated)
        return gas_limit(self._providers, self._wallet, to, call, least=least, unestimated=unestimated, most=most)
