"""The hot wallet of a network without its key: its set-up, whom it can pay, what it sent, and the cost of sending."""

from __future__ import annotations

from collections.abc import Collection
from typing import Protocol

from config.money import Asset
from payments.chains.protocol.payouts import Costs, PayoutInstruction
from payments.chains.protocol.transfers import Identity, SentTransaction


class SetUp(Protocol):
    """The check that a network is set up as the settings have it."""

    def require(self, *, signing: bool = False) -> None:
        """Raise NotSetUp unless contracts and coins, and with `signing` the key, agree with the settings.

        Queries the network until one check has passed. ChainUnavailable while it does not answer.
        """
        ...


class HotWallet(Protocol):
    """The part of an adapter that reads what payouts depend on. Every method but the first queries the network."""

    def own_accounts(self) -> frozenset[str]:
        """The accounts and contracts of ours there, deposit addresses left out: nobody can be paid at one."""
        ...

    def next_sequence(self, sender: str) -> int:
        """The sequence (nonce) the chain expects next from this account, counting blocks only.

        It goes back when a reorg undoes a transfer.
        """
        ...

    def check_recipient(self, payout: PayoutInstruction) -> None:
        """Raise RecipientRefused when this payout would fail or be lost because of whom it goes to; SendingBlocked
        while the coin can be sent to nobody. Queries the network; changes nothing."""
        ...

    def check_sending(self, asset: Asset) -> None:
        """Raise SendingBlocked while the hot wallet can send this coin to nobody, TokenChanged when its contract counts
        it otherwise than we do. Queries the network; changes nothing."""
        ...

    def pay_back_address(self, identity: Identity, sender: str) -> str | None:
        """The address that an incoming transfer of this sender can be paid back to without a question to anybody.

        None when it is unknown: the transfer came out of a contract, or out of an account that may be shared by many
        people and was not sent in the name of one of them. Queries the network.
        """
        ...

    def sent_by(
        self, account: str, *, first_height: int, last_height: int, first_sequence: int, hashes: Collection[str]
    ) -> tuple[SentTransaction, ...]:
        """What an account sent in these blocks, in its order: those of these on-chain transactions that are its own,
        and each other one from this sequence on, as far as the network still reports its place."""
        ...

    def costs(self) -> Costs:
        """What sending costs just now."""
        ...
