"""What leaves an evm network's hot wallet: signing it, sending it, and saying what became of it."""

from __future__ import annotations

from collections.abc import Callable, Collection

from config.money import Asset
from payments.chains.base import Costs, Head, Payout, SignedTransfer, TransferStatus
from payments.chains.errors import ChainUnavailable, TransferRefused
from payments.chains.evm import abi, questions
from payments.chains.evm.fees import FeeRules, Offer, with_margin
from payments.chains.evm.providers import Providers
from payments.chains.evm.questions import Receipt
from payments.chains.evm.rpc import RpcError
from payments.chains.evm.signing import Signer, Transaction, read_signed
from payments.chains.profiles import NetworkProfile

# When a node says that a transfer would fail now, it may still be right later, as when the money for it is on its way.
# A limit costs nothing that is not used.
_PAYOUT_GAS_UNESTIMATED = 300_000
# A sweep succeeds even when an address in it runs out of gas, so that a node's estimate can be too low: this is enough
# for a first sweep of an address that holds a token behind a proxy.
_SWEEP_GAS_LEAST, _SWEEP_GAS_LEAST_PER_DEPOSIT = 100_000, 130_000
# What it usually takes, as measured (docs/contracts.md): to show what sending costs, and to tell what is not worth it.
_PAYOUT_GAS_USUAL = 65_000
_SWEEP_GAS_USUAL, _FIRST_TIME_GAS_USUAL, _AGAIN_GAS_USUAL = 39_000, 51_500, 12_100

_MOST_GAS = 16_777_216
"""What ethereum allows one transaction (EIP-7825)."""


class Sending:
    """The hot wallet on one network."""

    def __init__(
        self,
        profile: NetworkProfile,
        providers: Providers,
        *,
        factory: str,
        wallet: str,
        rules: FeeRules,
        signer: Callable[[], Signer],
    ) -> None:
        self._profile = profile
        self._network = profile.network
        self._assets = {asset.contract for asset in profile.assets.values()}
        self._providers = providers
        self._factory = factory
        self._wallet = wallet
        self._rules = rules
        self._signer = signer

    def next_sequence(self, sender: str) -> int:
        return self._providers.agree_on(questions.nonce(sender, self._providers.head().height))

    def sign(
        self, payouts: tuple[Payout, ...], *, sender: str, sequence: int, replacing: Collection[SignedTransfer]
    ) -> SignedTransfer:
        if len(payouts) != 1:
            raise ValueError(f"a transfer on {self._network} carries 1 to 1 payouts")
        (payout,) = payouts
        if payout.asset.contract not in self._assets:
            raise ValueError("only accepted coins are paid out")
        call = abi.call("transfer(address,uint256)", payout.recipient, payout.amount)
        gas = max(self._gas(payout.asset.contract, call, _PAYOUT_GAS_UNESTIMATED), _PAYOUT_GAS_USUAL)
        return self._signed(payout.asset.contract, call, gas, payouts, sender, sequence, replacing)

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
        gas = min(max(self._gas(self._factory, call, least), least), _MOST_GAS)
        return self._signed(self._factory, call, gas, (), sender, sequence, replacing)

    def costs(self) -> Costs:
        price = self._price()
        return Costs(
            payout=_PAYOUT_GAS_USUAL * price,
            sweep=_SWEEP_GAS_USUAL * price,
            first_time=_FIRST_TIME_GAS_USUAL * price,
            again=_AGAIN_GAS_USUAL * price,
        )

    def broadcast(self, transfer: SignedTransfer) -> None:
        said = self._providers.tell(questions.broadcast(transfer.raw))
        refusals = [each for each in said if isinstance(each, RpcError) and not each.knows_already]
        if len(refusals) < len(said):
            return
        # In a block already, nodes call its nonce too low.
        head = self._providers.head()
        if self._providers.anyone(questions.receipt(transfer.transaction_hash, up_to=head.height)) is None:
            raise TransferRefused(refusals[0].message)

    def status(self, transfer: SignedTransfer) -> TransferStatus:
        head = self._providers.head()
        receipt, used = self._providers.agree(
            questions.receipt(transfer.transaction_hash, up_to=head.height),
            questions.nonce(transfer.sender, head.height),
        )
        if isinstance(receipt, Receipt):
            return TransferStatus(
                state="included" if receipt.succeeded else "failed",
                height=receipt.height,
                block_hash=receipt.block_hash,
                confirmations=head.height - receipt.height + 1,
                final=receipt.height <= head.finalized_height,
                fee_units=receipt.fee_units,
                error=None if receipt.succeeded else "The contract of the coin refused the transfer.",
            )
        if used > transfer.sequence:
            return self._replaced(transfer, head)
        waits = self._providers.anyone(questions.sent(transfer.transaction_hash))
        return TransferStatus("unknown" if waits is None else "pending")

    def _replaced(self, transfer: SignedTransfer, head: Head) -> TransferStatus:
        """Proof that another transaction used the sequence: that transaction itself, in its block.

        Without it nothing is said: a node that has not indexed a receipt yet must not let us pay a second time.
        """
        height = self._height_of_use(transfer, head)
        block, sent = self._providers.agree(questions.header(height), questions.transactions(height))
        same = [each for each in sent or () if (each.sender, each.nonce) == (transfer.sender, transfer.sequence)]
        if block is None or not same or same[0].transaction_hash == transfer.transaction_hash:
            raise ChainUnavailable(f"{self._network} does not say yet who used sequence {transfer.sequence}.")
        return TransferStatus(
            state="replaced",
            height=height,
            block_hash=block.block_hash,
            confirmations=head.height - height + 1,
            final=height <= head.finalized_height,
        )

    def _height_of_use(self, transfer: SignedTransfer, head: Head) -> int:
        """The block that used the sequence: searched backwards in growing steps, as it is usually a recent one."""

        def is_used(height: int) -> bool:
            return self._providers.agree_on(questions.nonce(transfer.sender, height)) > transfer.sequence

        used, step = head.height, 1
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

    def _sweep(self, asset: Asset, deposits: tuple[int, ...], *, is_replacing: bool) -> tuple[bytes, int]:
        """What to say to the factory, and the least gas that is enough for every address."""
        most = self._profile.sweeps_per_transfer
        if not deposits or (len(deposits) > most and not is_replacing):  # earlier versions may have been of more
            raise ValueError(f"a sweep on {self._network} empties 1 to {most} deposit addresses")
        least = _SWEEP_GAS_LEAST + _SWEEP_GAS_LEAST_PER_DEPOSIT * len(deposits)
        if asset == self._profile.native:
            return abi.call("sweep_native(uint256[])", deposits), least
        if asset.contract not in self._assets:
            raise ValueError("only accepted coins and the network's own are swept")
        return abi.call("sweep(uint256[],address)", deposits, asset.contract), least

    def _base_fee(self) -> int:
        newest = self._providers.agree_on(questions.header(self._providers.head().height))
        if newest is None:
            raise ChainUnavailable(f"The newest block of {self._network} is not there any more.")
        return newest.base_fee

    def _price(self) -> int:
        return self._rules.price(base_fee=self._base_fee(), usual_tip=self._providers.middle(questions.usual_tip()))

    def _signed(
        self,
        to: str,
        call: bytes,
        gas: int,
        payouts: tuple[Payout, ...],
        sender: str,
        sequence: int,
        replacing: Collection[SignedTransfer],
    ) -> SignedTransfer:
        signer = self._signer()
        if sender != self._wallet or signer.address != self._wallet:
            raise ValueError(f"payouts on {self._network} leave from {self._wallet} alone")
        if self._profile.chain_id is None:
            raise ValueError(f"{self._network} has no chain id")
        replaced = [read_signed(earlier.raw) for earlier in replacing]
        offer = self._rules.offer(
            base_fee=self._base_fee(),
            usual_tip=self._providers.middle(questions.usual_tip()),
            replacing=[Offer(earlier.max_fee, earlier.tip) for earlier in replaced],
        )
        transaction = Transaction(
            chain_id=self._profile.chain_id,
            nonce=sequence,
            to=to,
            data=call,
            gas=max([gas, *(earlier.gas for earlier in replaced)]),
            max_fee=offer.max_fee,
            tip=offer.tip,
        )
        signature = signer.sign(transaction)
        return SignedTransfer(
            raw=signature.raw,
            transaction_hash=signature.transaction_hash,
            sender=sender,
            sequence=sequence,
            valid_until=None,
            payouts=payouts,
            fee_limit_units=transaction.fee_limit_units,
        )

    def _gas(self, to: str, call: bytes, unestimated: int) -> int:
        try:
            return min(with_margin(self._providers.ask(questions.gas(self._wallet, to, call))), _MOST_GAS)
        except RpcError:
            return unestimated
