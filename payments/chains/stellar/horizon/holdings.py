"""What an account held after a ledger. Horizon knows balances of now alone: what came and went since is taken back."""

from __future__ import annotations

from payments.chains.providers.servers import ProviderFailed
from payments.chains.stellar.horizon import records
from payments.chains.stellar.horizon.client import Horizon, NotKnown
from payments.chains.stellar.horizon.effects import changes_by, effect
from payments.chains.stellar.horizon.pages import in_order
from payments.chains.stellar.horizon.records import AccountRecord, TransactionRecord
from payments.chains.stellar.horizon.values import NATIVE


def account(horizon: Horizon, address: str) -> AccountRecord | None:
    """The account as this Horizon knows it now; None when there is none."""
    try:
        found = horizon.query(records.account, f"/accounts/{address}")
    except NotKnown:
        return None
    if found.address != address:
        raise ProviderFailed(f"{horizon.name} answered for the account {address} with another one")
    return found


def holding(horizon: Horizon, address: str, asset: str, height: int) -> int:
    """Stroops of CODE:ISSUER or `native` that an account held after the ledger with this number.

    The account names the ledger in which a balance last changed: what happened up to that one is in it, and nothing
    else.
    """
    found = account(horizon, address)
    if found is None:
        return 0
    if asset == NATIVE:
        units, changed_at = found.native_balance, found.last_modified_ledger
    elif (line := found.trustlines.get(asset)) is not None:
        units, changed_at = line.balance, line.last_modified_ledger
    else:  # a trustline that is not there any more was empty when it went
        units, changed_at = 0, horizon.query(records.root, "/").latest_ledger
    if changed_at <= height:
        return units
    effects = in_order(
        horizon, f"/accounts/{address}/effects", effect, lambda found: found.place, after=height, up_to=changed_at
    )
    units -= sum(amount for _, (changed, amount) in changes_by(effects) if changed == asset)
    if asset == NATIVE:
        units += _fees(horizon, address, height, changed_at)
    if units < 0:
        raise ProviderFailed(f"{horizon.name} reports changes that the balance of {address} does not come from")
    return units


def _fees(horizon: Horizon, address: str, after: int, up_to: int) -> int:
    """Stroops that an account paid for on-chain transactions, those that failed among them."""

    def place(found: TransactionRecord) -> tuple[int]:
        return (found.paging_token,)

    sent = in_order(
        horizon,
        f"/accounts/{address}/transactions",
        records.transaction,
        place,
        after=after,
        up_to=up_to,
        include_failed="true",
    )
    return sum(each.fee_charged for each in sent if each.fee_account == address)
