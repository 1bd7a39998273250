"""Whether what an account sent only prepared it. Only processes that send load this."""

from __future__ import annotations

import base64
from collections.abc import Callable, Collection, Iterator

from stellar_sdk import Asset as LedgerAsset
from stellar_sdk import ChangeTrust, CreateAccount, ManageData, Operation, SetOptions
from stellar_sdk.utils import to_xdr_amount

from payments.chains.profiles import NetworkProfile
from payments.chains.providers.servers import ProviderFailed
from payments.chains.stellar.accounts import MOST_OF_A_CHANNEL
from payments.chains.stellar.horizon import records
from payments.chains.stellar.horizon.client import Horizon
from payments.chains.stellar.horizon.providers import Horizons
from payments.chains.stellar.horizon.records import TransactionRecord
from payments.chains.stellar.keys import envelopes

MOST_PAGES = 50
_SEQUENCE_BITS = 32


class Preparations:
    """Transactions that prepared our accounts, on which enough Horizons agree."""

    def __init__(self, profile: NetworkProfile, horizons: Horizons, *, channels: Callable[[], Collection[str]]) -> None:
        self._passphrase: str = profile.metadata["network_passphrase"]
        self._coins = {asset.contract for asset in profile.assets.values()}
        self._horizons, self._channels = horizons, channels

    def only_set_up(self, account: str, first_sequence: int, last_sequence: int) -> bool:
        return self._horizons.agree(
            lambda horizon: only_set_up(
                horizon,
                account,
                range(first_sequence, last_sequence + 1),
                passphrase=self._passphrase,
                coins=self._coins,
                channels=self._channels(),
            ),
            subject=f"What {account} sent",
        )


def only_set_up(
    horizon: Horizon,
    account: str,
    sequences: range,
    *,
    passphrase: str,
    coins: Collection[str],
    channels: Collection[str],
) -> bool:
    """Whether everything that the account sent with these sequences added trustlines of our coins, data, a home domain
    or our own channels. False where a part of it is no longer, or not yet, in the history of this Horizon.

    An account's first sequence is that of the ledger that created it: those before it never were.
    """
    seen: set[int] = set()
    for sent in _transactions(horizon, account):
        begins_here = _creates(sent, account, passphrase)
        if sent.source_account == account and sent.sequence in sequences:
            seen.add(sent.sequence)
            if sent.successful and not _is_harmless(sent, account, passphrase, coins, channels):
                return False
        is_older = sent.source_account == account and sent.sequence < sequences.start
        if begins_here or is_older:
            first = max(sequences.start, (sent.ledger << _SEQUENCE_BITS) + 1 if begins_here else 0)
            return all(number in seen for number in range(first, sequences.stop))
        if len(seen) == len(sequences):
            return True
    return False


def _transactions(horizon: Horizon, account: str) -> Iterator[TransactionRecord]:
    """All of an account, newest first, failed ones too, as far as a few pages reach."""
    cursor: dict[str, int] = {}
    for _ in range(MOST_PAGES):
        page = horizon.query(
            records.page(records.transaction),
            f"/accounts/{account}/transactions",
            order="desc",
            limit=records.PAGE,
            include_failed="true",
            **cursor,
        )
        yield from page
        if len(page) < records.PAGE:
            return
        cursor = {"cursor": page[-1].paging_token}


def _operations(sent: TransactionRecord, passphrase: str) -> list[Operation]:
    """The operations that were signed: what stands in the envelope with this hash, whatever a Horizon makes of it."""
    try:
        raw = base64.b64decode(sent.envelope_xdr, validate=True)
        if not sent.goes_by(envelopes.read(raw, passphrase=passphrase).inner_hash):
            raise ValueError("another envelope")
        return envelopes.operations_of(raw, passphrase=passphrase)
    except ValueError as error:
        raise ProviderFailed(f"The envelope of transaction {sent.hash} is not what it should be: {error}") from error


def _creates(sent: TransactionRecord, account: str, passphrase: str) -> bool:
    return sent.successful and any(
        isinstance(each, CreateAccount) and each.destination == account for each in _operations(sent, passphrase)
    )


def _is_harmless(
    sent: TransactionRecord, account: str, passphrase: str, coins: Collection[str], channels: Collection[str]
) -> bool:
    return all(
        (each.source is None or each.source.account_id == account) and _only_prepares(each, coins, channels)
        for each in _operations(sent, passphrase)
    )


def _only_prepares(operation: Operation, coins: Collection[str], channels: Collection[str]) -> bool:
    match operation:
        case ChangeTrust(asset=LedgerAsset() as asset):
            return f"{asset.code}:{asset.issuer}" in coins
        case ManageData():
            return True
        case CreateAccount():
            small = to_xdr_amount(operation.starting_balance) <= MOST_OF_A_CHANNEL
            return operation.destination in channels and small
        case SetOptions():
            return _sets_only_home_domain(operation)
    return False


def _sets_only_home_domain(options: SetOptions) -> bool:
    others = (
        options.inflation_dest,
        options.clear_flags,
        options.set_flags,
        options.master_weight,
        options.low_threshold,
        options.med_threshold,
        options.high_threshold,
        options.signer,
    )
    return all(each is None for each in others)
