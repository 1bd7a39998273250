"""The cold wallets: their rows, what leaves them as the networks show it, and what of it is not in the ledger yet."""

from __future__ import annotations

from collections.abc import Collection, Iterator

from django.db.models import QuerySet

from payments.chains import registry
from payments.chains.protocol.chain import Chain
from payments.chains.protocol.transfers import OutgoingTransfer
from payments.treasury.models import ColdMove, ColdWallet

BLOCKS_AT_A_TIME = 10_000


def cold_wallet_of(environment: str, network: str, *, first_height: int | None = None) -> ColdWallet | None:
    """The cold wallet of the settings; None where there is none. Queries the network when it is used for the first
    time: earlier transfers are not ours to know. After a restore that was at `first_height` at the earliest."""
    chain = registry.chain(environment, network)
    if not (address := chain.cold_wallet()):
        return None
    place = {"environment": environment, "network": network, "address": address}
    known = ColdWallet.objects.filter(**place).first()
    if known is not None:
        return known
    height = chain.reading.head().finalized_height if first_height is None else first_height
    return ColdWallet.objects.get_or_create(**place, defaults={"first_height": height, "read_to": height})[0]


def sweeps_go_to(environment: str, chain: Chain) -> ColdWallet | None:
    """The cold wallet, where sweeps go to it by the settings."""
    return cold_wallet_of(environment, chain.profile.network) if chain.treasury() == chain.cold_wallet() else None


def cold_wallets(environment: str, network: str) -> list[ColdWallet]:
    """Every cold wallet that was ever used there."""
    return list(ColdWallet.objects.filter(environment=environment, network=network).order_by("pk"))


def left(chain: Chain, wallet: ColdWallet, *, until: int) -> Iterator[tuple[int, list[OutgoingTransfer]]]:
    """Outgoing transfers of a cold wallet since it was last read, some blocks at a time: the last of them, and the
    transfers."""
    for first in range(wallet.read_to + 1, until + 1, BLOCKS_AT_A_TIME):
        last = min(until, first + BLOCKS_AT_A_TIME - 1)
        yield last, list(chain.reading.outgoing(wallet.address, first_height=first, last_height=last))


def not_booked_yet(
    chain: Chain, wallets: Collection[ColdWallet], *, until: int
) -> Iterator[tuple[ColdWallet, OutgoingTransfer]]:
    """Outgoing transfers of cold wallets up to a height that are not booked yet: the money worker does within a
    minute."""
    for wallet in wallets:
        for _, moves in left(chain, wallet, until=until):
            known = ColdMove.objects.filter(
                wallet=wallet, transaction_hash__in=[each.transaction_hash for each in moves]
            )
            booked = set(known.values_list("transaction_hash", "ordinal"))
            yield from ((wallet, each) for each in moves if (each.transaction_hash, each.ordinal) not in booked)


def unknown_moves(environment: str, network: str) -> QuerySet[ColdMove]:
    """Unexplained outgoing transfers of cold wallets."""
    moves = ColdMove.objects.filter(wallet__environment=environment, wallet__network=network)
    return moves.filter(kind=ColdMove.Kind.UNKNOWN).select_related("wallet").order_by("pk")
