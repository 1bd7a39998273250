"""Addresses that cannot be paid: a token's contract, what is ours or payments are made to, and shared accounts."""

from __future__ import annotations

import uuid
from collections.abc import Collection, Mapping
from contextlib import suppress
from datetime import datetime, timedelta
from typing import Literal

import structlog
from django.db import connection
from django.utils import timezone

from merchants.models import MerchantSettings
from payments.chains import registry
from payments.chains.errors import ChainError, InvalidAddress, RecipientProblem, RecipientRefused
from payments.chains.protocol.chain import Chain
from payments.chains.protocol.payouts import PayoutInstruction
from payments.chains.recipients import account_of, payable_account
from payments.deposits.models import RefusedWallet

logger = structlog.get_logger(__name__)

OURS = "Payments are made to this address here, or from it: it belongs to the payment service. Name another."

IS_OURS = """
    (SELECT deposit_address FROM payments_payment WHERE deposit_address >= %(account)s
        ORDER BY deposit_address LIMIT 1) IS NOT DISTINCT FROM %(account)s
    OR (SELECT address FROM payments_offeredaddress WHERE address >= %(account)s
        ORDER BY address LIMIT 1) IS NOT DISTINCT FROM %(account)s
    OR EXISTS (SELECT FROM transfers_wallet WHERE address = %(account)s)
"""
"""True if the database knows an account as ours, as part of another query. The first address from it on is one step in
an index, whether all payments share one address or each has its own: the plan fits every account."""


def refusal_of_account(chain: Chain, address: str) -> str | None:
    """The reason nobody can be paid at an address, from the address alone; None when nothing speaks against it."""
    try:
        _payable_account(chain, address)
    except RecipientRefused as refusal:
        return str(refusal)
    return None


def _payable_account(chain: Chain, address: str) -> str:
    return payable_account(chain.profile, address, own={*chain.hot_wallet.own_accounts(), chain.cold_wallet()})


def unpayable(wallets: Collection[tuple[str, str]], chains: Mapping[str, Chain]) -> set[tuple[str, str]]:
    """The wallets, each behind its network, that cannot be paid; `chains` are by network.

    Money that arrived on another network than its payment's may be for a wallet that does not exist there; and older
    payments may name one of ours, or a token.
    """
    accounts: dict[tuple[str, str], str] = {}
    for network, wallet in wallets:
        chain = chains[network]
        with suppress(InvalidAddress, RecipientRefused):
            accounts[network, wallet] = _payable_account(chain, chain.parse_address(wallet))
    ours = known_as_ours(set(accounts.values()))
    return {key for key in wallets if key not in accounts or accounts[key] in ours}


def refusal_of(chain: Chain, address: str) -> str | None:
    """The same, with the deposit addresses and hot wallets that the database knows."""
    if problem := refusal_of_account(chain, address):
        return problem
    account, _ = account_of(chain.profile, address)
    return OURS if known_as_ours([account]) else None


def known_as_ours(accounts: Collection[str]) -> set[str]:
    """The accounts among these that the database knows as ours, by one query."""
    if not accounts:
        return set()
    # One account each: joined with a list of them, all payments would be read where most share one deposit address.
    names = {f"account_{number}": account for number, account in enumerate(accounts)}
    each = (f"SELECT %({name})s WHERE {IS_OURS % {'account': f'%({name})s'}}" for name in names)
    with connection.cursor() as cursor:
        cursor.execute(" UNION ALL ".join(each), names)
        return {account for (account,) in cursor.fetchall()}


NEEDS_MEMO = (
    "This account belongs to many people, as those of exchanges do, and asks for a memo, which settlements do not "
    "carry. Name the M address that the service shows, which contains the memo, or a wallet of your own."
)

REPLY_KEPT, SILENCE_KEPT, MOST_REMEMBERED = timedelta(minutes=10), timedelta(seconds=30), 10_000
"""Time a process remembers a network's reply about a wallet, or its silence; and the number of wallets."""

_needs_memo: dict[tuple[str, str, str], tuple[bool, datetime]] = {}
"""By environment, network and wallet: whether it needs a memo, and until when that is believed."""


def needs_a_query(environment: str, network: str, wallet: str) -> bool:
    """True if it is unknown whether a wallet's account requires memos."""
    if network not in registry.networks(environment) or not registry.profile(environment, network).takes_memos:
        return False
    known = _needs_memo.get((environment, network, wallet))
    return known is None or known[1] <= timezone.now()


def query_wallet(environment: str, network: str, wallet: str, *, merchant_id: uuid.UUID) -> None:
    """Query the network whether the merchant's settlement currency can be paid to a wallet, and remember it for a
    while.

    Call it outside of any database transaction. A silent network speaks against nobody: the settlement queries again.
    """
    if needs_a_query(environment, network, wallet):
        chosen = MerchantSettings.objects.values_list("settlement_currency", flat=True)
        coin = chosen.get(merchant=merchant_id, environment=environment)
        problem, kept = _refusal_of(registry.chain(environment, network), wallet, coin)
        if len(_needs_memo) >= MOST_REMEMBERED:
            _needs_memo.clear()
        _needs_memo[environment, network, wallet] = problem == "memo_required", timezone.now() + kept
        if problem is not None:
            note_refusal(environment, network, wallet, coin=coin, problem=problem)


def note_refusal(environment: str, network: str, wallet: str, *, coin: str, problem: str) -> None:
    """Store the reason a network would not pay a coin to a wallet; an empty problem means that it would."""
    if problem:
        RefusedWallet.objects.update_or_create(
            environment=environment,
            network=network,
            wallet=wallet,
            asset=coin,
            defaults={"problem": problem, "asked_at": timezone.now()},
        )
    else:
        RefusedWallet.objects.filter(environment=environment, network=network, wallet=wallet, asset=coin).delete()


def needs_memo(environment: str, network: str, wallet: str) -> bool:
    """True if a wallet's account is known to require memos, which settlements do not carry. Sends no query."""
    known = _needs_memo.get((environment, network, wallet))
    return known is not None and known[0]


def _refusal_of(chain: Chain, wallet: str, coin: str) -> tuple[RecipientProblem | Literal[""] | None, timedelta]:
    """The reason the coin cannot be paid there, empty when it can, None when it is unknown; and how long that is
    remembered."""
    assets = chain.profile.assets
    asset = assets.get(coin) or next(iter(assets.values()))
    try:
        chain.hot_wallet.check_recipient(PayoutInstruction(asset, 1, chain.parse_address(wallet)))
    except RecipientRefused as refusal:
        return (
            refusal.problem if asset.code == coin or refusal.problem == "memo_required" else None,
            REPLY_KEPT,
        )
    except InvalidAddress:
        return None, REPLY_KEPT
    except ChainError as error:
        logger.warning("wallet could not be asked about", network=chain.profile.network, error=str(error))
        return None, SILENCE_KEPT
    return "" if asset.code == coin else None, REPLY_KEPT
