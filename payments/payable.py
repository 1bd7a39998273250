"""Which addresses nobody can be paid at: a token's contract, what is ours, and what payments are made to."""

from __future__ import annotations

from payments.chains.base import Chain
from payments.chains.errors import RecipientRefused
from payments.chains.recipients import account_of, payable_account
from payments.models import Payment
from payments.transfers.models import Wallet

OURS = "Payments are made to this address here, or from it: it belongs to the payment service. Name another."

IS_OURS = """
    EXISTS (SELECT FROM payments_payment WHERE deposit_address = %(account)s)
        OR EXISTS (SELECT FROM transfers_wallet WHERE address = %(account)s)
"""
"""Whether the database knows an account as ours, as part of another query."""


def refusal_of_account(chain: Chain, address: str) -> str | None:
    """Why nobody can be paid at an address, told from the address alone; None when nothing speaks against it."""
    try:
        payable_account(chain.profile, address, own=chain.own_accounts())
    except RecipientRefused as refusal:
        return str(refusal)
    return None


def refusal_of(chain: Chain, address: str) -> str | None:
    """The same, with the deposit addresses and hot wallets that the database knows."""
    if problem := refusal_of_account(chain, address):
        return problem
    account, _ = account_of(chain.profile, address)
    is_ours = (
        Payment.objects.filter(deposit_address=account).exists() or Wallet.objects.filter(address=account).exists()
    )
    return OURS if is_ours else None
