"""The hot wallets, the channels that lend them sequences, and the lock of each: one process at a time signs for it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager
from datetime import timedelta

from django.utils import timezone

from config.database.advisory_locks import LockClass, advisory_lock
from merchants.ledger.models import Stop
from merchants.ledger.stops import ELSEWHERE, Listed
from payments.chains.protocol.chain import Chain
from payments.transfers.models import Channel, Wallet
from payments.transfers.states import OPEN_TRANSFERS

STOPPED_FOR = timedelta(minutes=15)
"""Time a signer's report of being stopped is shown: several times the time until the next request to it."""


def wallet_of(environment: str, network: str, chain: Chain) -> Wallet:
    """The wallet payouts of a network leave from.

    A new one that has moved money before, by its chain, begins frozen: the database may have been restored from a
    backup, and what the wallet sent may be what still waits to be sent.
    """
    address = chain.payout_address()
    return Wallet.objects.get_or_create(environment=environment, network=network, address=address)[0]


def wallet_addresses(environment: str, network: str) -> set[str]:
    here = Wallet.objects.filter(environment=environment, network=network)
    return set(here.values_list("address", flat=True))


def freeze_of(wallet: Wallet) -> Stop | None:
    here = Stop.objects.freezing().of_network(wallet.environment, wallet.network)
    return here.filter(address=wallet.address).first()


def replaced_wallets(wallet: Wallet) -> list[Wallet]:
    """Hot wallets that this one has replaced and that still have transfers on their way."""
    here = Wallet.objects.filter(environment=wallet.environment, network=wallet.network).exclude(pk=wallet.pk)
    return list(here.filter(transfers__status__in=OPEN_TRANSFERS).distinct().order_by("pk"))


def signing_channels(wallet: Wallet, chain: Chain) -> list[str]:
    """The channels that payouts are signed for now, by address; empty for the wallet itself."""
    return [wallet.channel_at(account) for account in chain.channels()]


def expected_sequences(wallet: Wallet, chain: Chain) -> dict[str, int]:
    """The next nonces that the network expects of the wallet and of each channel that it uses or has used. Queries the
    network."""
    used = Channel.objects.filter(
        wallet__environment=wallet.environment, wallet__network=wallet.network, wallet__address=wallet.address
    ).order_by("pk")
    in_use = signing_channels(wallet, chain) if wallet.address == chain.payout_address() else []
    every = dict.fromkeys(["", *in_use, *used.values_list("address", flat=True)])
    return {channel: chain.hot_wallet.next_sequence(wallet.account_of(channel)) for channel in every}


def hold(wallet: Wallet) -> AbstractContextManager[bool]:
    """Hold the lock of a wallet inside the block; yields False when another process has it."""
    return advisory_lock(LockClass.WALLET, wallet.pk)


def _stopped() -> Iterator[Listed]:
    """Wallets whose signer has reported at the last request that somebody stopped it."""
    lately = Wallet.objects.filter(is_refused=True, not_signed_at__gte=timezone.now() - STOPPED_FOR)
    for wallet in lately.filter(not_signed_reason__startswith="The signer refuses (stopped)").order_by("pk"):
        who, how = "whoever has the machine of the signer", "There: manage.py signer --go-on."
        yield Listed(f"signer of {wallet}", wallet.not_signed_reason, wallet.not_signed_at, who, how)


ELSEWHERE.append(_stopped)
