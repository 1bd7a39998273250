"""What a signer of its own signs for the hot wallet on stellar: it builds the envelope of the intents by itself."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from functools import partial

from stellar_sdk import Asset as LedgerAsset
from stellar_sdk import ChangeTrust, CreateAccount, ManageData, Operation
from stellar_sdk.utils import to_xdr_amount
from stellar_sdk.xdr import Operation as OperationXdr

from payments.chains.profiles import NetworkProfile
from payments.chains.protocol.payouts import PayoutInstruction
from payments.chains.signer.messages import Intent, SigningRequest
from payments.chains.signer.service import Refused, Signed
from payments.chains.stellar import addresses
from payments.chains.stellar.accounts import IS_REQUIRED, MEMO_REQUIRED, MOST_OF_A_CHANNEL
from payments.chains.stellar.channels import entry_name
from payments.chains.stellar.keys import envelopes
from payments.chains.stellar.keys.wallet_keys import Signer

LONGEST_VALIDITY = timedelta(minutes=15)
"""What is signed can be in a ledger no later than that: three times what the executor requests."""


MOST_OPERATIONS = 100
"""What an envelope carries at most."""


class StellarWallet:
    """One hot wallet with its keys. The cap, in stroops for an operation, is that of the signer's own settings."""

    def __init__(self, profile: NetworkProfile, keys: Signer, *, cap: int, clock: Callable[[], datetime]) -> None:
        self._profile, self._keys, self._cap, self._clock = profile, keys, cap, clock
        self._passphrase: str = profile.metadata["network_passphrase"]

    def most_fee(self, request: SigningRequest) -> int:
        fee, valid_until, raises = _fields(request)
        payouts = self._payouts(request)
        if request.prepares:
            return self._most_fee_to_prepare(request, fee, valid_until)
        if request.sweeps or request.account not in self._keys.channels:
            raise Refused("differs", "The signer pays from its own wallet and channels, and sweeps nothing here.")
        self._check_offer(fee)
        if raises:
            self._check_earlier(raises, payouts, request)
        else:
            self._check_validity(valid_until)
        return fee * (len(payouts) + 1)

    def sign(self, request: SigningRequest) -> Signed:
        fee, valid_until, raises = _fields(request)
        if request.prepares:
            signed = self._keys.sign_operations(
                _operations(request),
                passphrase=self._passphrase,
                sequence=request.sequence,
                fee_per_operation=fee,
                valid_until=valid_until,
            )
            return Signed(signed.raw, signed.transaction_hash)
        payouts = self._payouts(request)
        sign = (
            partial(self._keys.raise_fee, raises)
            if raises
            else partial(self._keys.sign_payouts, valid_until=valid_until)
        )
        try:
            signed = sign(
                payouts,
                passphrase=self._passphrase,
                sender=request.account,
                sequence=request.sequence,
                fee_per_operation=fee,
            )
        except (ValueError, TypeError) as error:
            raise Refused("differs", f"The payouts cannot be written: {error}") from error
        return Signed(signed.raw, signed.transaction_hash)

    def _most_fee_to_prepare(self, request: SigningRequest, fee: int, valid_until: datetime) -> int:
        """Each operation is one that `setup_stellar` makes of these settings. What channels get counts as fees."""
        operations = _operations(request)
        if request.prepares != "wallet" or request.account != self._keys.address or not operations:
            raise Refused("differs", "It does not prepare the signer's own wallet.")
        if not all(each.source is None and self._prepares(each) for each in operations):
            raise Refused("differs", "It does more than to prepare the wallet by the signer's settings.")
        self._check_offer(fee)
        self._check_validity(valid_until)
        handed = sum(to_xdr_amount(each.starting_balance) for each in operations if isinstance(each, CreateAccount))
        return fee * len(operations) + handed

    def _prepares(self, operation: Operation) -> bool:
        channels = [each for each in self._keys.channels if each != self._keys.address]
        match operation:
            case ChangeTrust():
                coins = [LedgerAsset(*each.contract.split(":")) for each in self._profile.assets.values()]
                return operation in map(ChangeTrust, coins)
            case ManageData():
                entries = {entry_name(number): addresses.key_of(each) for number, each in enumerate(channels, 1)}
                return operation in itertools.starmap(ManageData, {**entries, MEMO_REQUIRED: IS_REQUIRED}.items())
            case CreateAccount():
                is_small = to_xdr_amount(operation.starting_balance) <= MOST_OF_A_CHANNEL
                return operation.destination in channels and is_small
        return False

    def _check_offer(self, fee: int) -> None:
        if not 0 < fee <= self._cap:
            raise Refused("fees", "It offers more for an operation than the signer's settings allow.")

    def _check_validity(self, valid_until: datetime) -> None:
        if not self._clock() < valid_until <= self._clock() + LONGEST_VALIDITY:
            raise Refused("differs", "It would be valid for too long, or is not valid any more.")

    def _check_earlier(self, raw: bytes, payouts: tuple[PayoutInstruction, ...], request: SigningRequest) -> None:
        """The envelope whose fee is raised uses this sequence, and makes these payouts and nothing else."""
        try:
            earlier = envelopes.read(raw, passphrase=self._passphrase)
        except ValueError as error:
            raise Refused("differs", "The envelope whose fee is to be raised is none.") from error
        is_same = (earlier.source, earlier.sequence) == (request.account, request.sequence)
        if not is_same or not envelopes.pays(earlier, payouts, wallet=self._keys.address):
            raise Refused("differs", "The envelope whose fee is to be raised does not pay what the payouts say.")

    def _payouts(self, request: SigningRequest) -> tuple[PayoutInstruction, ...]:
        found = tuple(self._payout(each) for each in request.intents)
        if len(found) > self._profile.payouts_per_transfer:
            raise Refused("differs", "There are more payouts than an envelope carries.")
        if len({(each.memo, each.memo_type) for each in found}) > 1:
            raise Refused("differs", "Payouts with different memos cannot share an envelope.")
        return found

    def _payout(self, intent: Intent) -> PayoutInstruction:
        asset = self._profile.assets.get(intent.coin)
        if asset is None:
            raise Refused("differs", f"{intent.coin} is no coin of this network.", (intent.payout_id,))
        return PayoutInstruction(
            asset,
            intent.amount,
            intent.recipient,
            intent.memo or None,
            memo_type=intent.memo_type,
            set_aside=intent.set_aside,
        )


def _operations(request: SigningRequest) -> list[Operation]:
    """The operations that prepare a wallet. `_prepares` decides which these are."""
    try:
        texts = request.transaction["operations"]
        if not isinstance(texts, list) or not len(texts) <= MOST_OPERATIONS:
            raise ValueError("no list")
        return [Operation.from_xdr_object(OperationXdr.from_xdr(each)) for each in texts]
    except Exception as error:  # of whatever kind the library has for what is no operation
        raise Refused("differs", "The operations are none of stellar.") from error


def _fields(request: SigningRequest) -> tuple[int, datetime, bytes]:
    """The fee of an operation, until when it is valid, and the envelope whose fee is raised, if any."""
    fields = request.transaction
    try:
        fee, ends_at, raises = fields["fee_per_operation"], fields["valid_until"], bytes.fromhex(fields["raises"])
        if type(fee) is not int or type(ends_at) is not int or not 0 <= request.sequence < 2**63:
            raise ValueError("numbers")
        return fee, datetime.fromtimestamp(ends_at, UTC), raises
    except (KeyError, TypeError, ValueError, OverflowError, OSError) as error:
        raise Refused("differs", "The fields of the transaction are not those of stellar.") from error
