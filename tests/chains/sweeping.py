"""The contract of every chain adapter: bringing deposits to the hot wallet."""

from __future__ import annotations

import pytest

from config.money import Asset
from payments.chains.errors import ChainUnavailable, TransferRefused
from payments.chains.protocol.chain import sweeps_of
from payments.chains.protocol.payouts import SignedTransfer
from tests.chains.harness import Harness, Outcome, Reader, payout


class Deposits:
    """Some deposit addresses with money on them."""

    def __init__(self, harness: Harness) -> None:
        self.harness = harness
        self.chain = harness.chain
        if self.chain.profile.shares_account:
            pytest.skip("deposits on this network arrive where payouts leave from")
        self.wallet = self.chain.payout_address()
        self.usdc = self.chain.profile.assets["USDC"]
        self.numbers = (1, 2, 3, 4)
        self.addresses = [self.chain.deposit_address(number).address for number in self.numbers]

    def deposit(self, *amounts: int, code: str = "USDC") -> None:
        contract = self.chain.profile.assets[code].contract
        for address, amount in zip(self.addresses, amounts, strict=False):
            if amount:
                self.harness.pay((contract, amount, address, None))
        self.harness.mine()

    def sign(
        self, *replacing: SignedTransfer, sequence: int | None = None, asset: Asset | None = None
    ) -> SignedTransfer:
        number = self.chain.hot_wallet.next_sequence(self.wallet) if sequence is None else sequence
        return sweeps_of(self.chain).sign(
            asset or self.usdc, self.numbers, sender=self.wallet, sequence=number, replacing=replacing
        )

    def send(self) -> SignedTransfer:
        transfer = self.sign()
        self.chain.sending.broadcast(transfer)
        self.harness.mine()
        return transfer

    def held(self, code: str = "USDC") -> list[int]:
        asset = self.chain.profile.assets[code]
        return [self.chain.reading.balance(address, asset) for address in (self.wallet, *self.addresses)]


@pytest.fixture
def deposits(harness: Harness) -> Deposits:
    return Deposits(harness)


class SweepContract:
    def test_everything_is_brought_to_the_hot_wallet(self, deposits: Deposits) -> None:
        deposits.deposit(10, 20, 30, 40)
        transfer = deposits.sign()
        assert transfer.payouts == ()
        assert (transfer.sender, transfer.valid_until) == (deposits.wallet, None)
        assert deposits.held() == [0, 10, 20, 30, 40]
        deposits.chain.sending.broadcast(transfer)
        assert deposits.chain.sending.status(transfer).state == "pending"
        assert deposits.held() == [0, 10, 20, 30, 40]
        deposits.harness.mine()
        status = deposits.chain.sending.status(transfer)
        assert status.state == "included"
        assert 0 < status.fee_units <= transfer.fee_limit_units
        assert deposits.held() == [100, 0, 0, 0, 0]
        assert deposits.chain.hot_wallet.next_sequence(deposits.wallet) == transfer.sequence + 1

    def test_what_moved_is_found_from_whom_and_in_which_place(self, deposits: Deposits) -> None:
        deposits.deposit(10, 0, 30, 40)
        transfer = deposits.send()
        found = deposits.chain.reading.find_transfers(transfer.transaction_hash)
        assert [(moved.ordinal, moved.sender, moved.recipient, moved.amount, moved.asset) for moved in found] == [
            (0, deposits.addresses[0], deposits.wallet, 10, deposits.usdc),
            (1, deposits.addresses[2], deposits.wallet, 30, deposits.usdc),
            (2, deposits.addresses[3], deposits.wallet, 40, deposits.usdc),
        ]

    def test_what_came_after_signing_is_swept_along(self, deposits: Deposits) -> None:
        deposits.deposit(10)
        transfer = deposits.sign()
        deposits.deposit(5, 7)
        deposits.chain.sending.broadcast(transfer)
        deposits.harness.mine()
        assert deposits.held() == [22, 0, 0, 0, 0]
        assert [moved.amount for moved in deposits.chain.reading.find_transfers(transfer.transaction_hash)] == [15, 7]

    def test_empty_addresses_are_no_error(self, deposits: Deposits) -> None:
        transfer = deposits.send()
        assert deposits.chain.sending.status(transfer).state == "included"
        assert deposits.chain.reading.find_transfers(transfer.transaction_hash) == ()
        assert deposits.held() == [0] * 5

    def test_other_coins_stay_where_they_are(self, deposits: Deposits) -> None:
        deposits.deposit(10)
        deposits.deposit(9, code="DAI")
        deposits.send()
        assert deposits.held() == [10, 0, 0, 0, 0]
        assert deposits.held("DAI") == [0, 9, 0, 0, 0]

    def test_a_second_sweep_moves_only_what_is_new(self, deposits: Deposits) -> None:
        deposits.deposit(10, 20)
        deposits.send()
        deposits.deposit(0, 1)
        second = deposits.send()
        (moved,) = deposits.chain.reading.find_transfers(second.transaction_hash)
        assert (moved.ordinal, moved.sender, moved.amount) == (0, deposits.addresses[1], 1)
        assert deposits.held() == [31, 0, 0, 0, 0]

    def test_a_sweep_is_no_deposit(self, deposits: Deposits) -> None:
        reader = Reader(deposits.chain, *deposits.addresses)
        deposits.deposit(10, 20)
        reader.read()
        assert len(reader.known) == 2
        deposits.send()
        reader.read()
        assert len(reader.known) == 2

    def test_a_sweep_that_waits_is_replaced_like_any_transfer(self, deposits: Deposits) -> None:
        deposits.deposit(10, 20)
        first = deposits.sign()
        deposits.harness.raise_fees(3)
        deposits.chain.sending.broadcast(first)
        deposits.harness.mine()
        assert deposits.chain.sending.status(first).state == "pending"
        second = deposits.sign(first, sequence=first.sequence)
        assert second.fee_limit_units * 8 >= first.fee_limit_units * 9
        deposits.chain.sending.broadcast(second)
        deposits.harness.mine()
        states = [deposits.chain.sending.status(version).state for version in (first, second)]
        assert states == ["replaced", "included"]
        assert deposits.held() == [30, 0, 0, 0, 0]
        with pytest.raises(TransferRefused):
            deposits.chain.sending.broadcast(first)

    @pytest.mark.parametrize("outcome", ["moved", "dropped", "replaced"])
    def test_a_reorg_puts_the_money_back(self, deposits: Deposits, outcome: Outcome) -> None:
        deposits.deposit(10, 20)
        deposits.harness.mine()
        transfer = deposits.send()
        deposits.harness.reorg(1, outcome)
        assert deposits.held() == [0, 10, 20, 0, 0]
        assert deposits.chain.reading.find_transfers(transfer.transaction_hash) == ()
        deposits.harness.mine()
        assert deposits.held() == ([30, 0, 0, 0, 0] if outcome == "moved" else [0, 10, 20, 0, 0])
        state = deposits.chain.sending.status(transfer).state
        assert state == {"moved": "included", "dropped": "unknown", "replaced": "replaced"}[outcome]

    def test_only_so_many_and_only_known_coins(self, deposits: Deposits) -> None:
        most = deposits.chain.profile.sweeps_per_transfer
        for numbers in ((), tuple(range(most + 1))):
            with pytest.raises(ValueError, match=f"1 to {most} deposit addresses"):
                sweeps_of(deposits.chain).sign(deposits.usdc, numbers, sender=deposits.wallet, sequence=0)
        assert (
            sweeps_of(deposits.chain)
            .sign(deposits.usdc, tuple(range(most)), sender=deposits.wallet, sequence=0)
            .fee_limit_units
        )
        with pytest.raises(ValueError, match="accepted coins"):
            deposits.sign(asset=Asset(deposits.usdc.network, "USDC", 6, deposits.harness.foreign_contract))

    def test_the_networks_own_coin_is_brought_to_the_hot_wallet(self, deposits: Deposits) -> None:
        chain, native = deposits.chain, deposits.chain.profile.native
        for address, amount in zip(deposits.addresses, (5, 0, 7, 0), strict=True):
            deposits.harness.fund_native(address, amount)
        deposits.deposit(10)
        before = chain.reading.balance(deposits.wallet, native)
        transfer = deposits.sign(asset=native)
        assert (transfer.payouts, transfer.sender) == ((), deposits.wallet)
        chain.sending.broadcast(transfer)
        deposits.harness.mine()
        status = chain.sending.status(transfer)
        assert status.state == "included"
        assert chain.reading.find_transfers(transfer.transaction_hash) == ()
        assert chain.reading.balance(deposits.wallet, native) == before + 12 - status.fee_units
        assert chain.reading.balances(deposits.addresses, native) == {}
        assert deposits.held() == [0, 10, 0, 0, 0]

    @pytest.mark.parametrize("coin", ["native", "token"])
    def test_who_holds_a_coin_is_told_at_any_height(self, deposits: Deposits, coin: str) -> None:
        chain, addresses, harness = deposits.chain, deposits.addresses, deposits.harness
        asset = chain.profile.native if coin == "native" else deposits.usdc

        def fund(address: str, amount: int) -> None:
            if coin == "native":
                harness.fund_native(address, amount)
            else:
                harness.fund(address, asset.code, amount)

        assert chain.reading.balances(addresses, asset) == {}
        fund(addresses[1], 5)
        harness.mine()
        height = chain.reading.head().height
        fund(addresses[1], 2)
        fund(addresses[3], 1)
        harness.mine()
        assert chain.reading.balances(addresses, asset) == {addresses[1]: 7, addresses[3]: 1}
        assert chain.reading.balances(addresses, asset, at_height=height) == {addresses[1]: 5}
        assert chain.reading.balances([], asset) == {}
        with pytest.raises(ChainUnavailable):
            chain.reading.balances(addresses, asset, at_height=chain.reading.head().height + 100)

    def test_what_emptying_addresses_costs_is_known_roughly_without_naming_them(self, deposits: Deposits) -> None:
        costs = deposits.chain.hot_wallet.costs()
        deposits.deposit(10, 20, 30, 40)
        charged = deposits.chain.sending.status(deposits.send()).fee_units
        assert charged / 2 < costs.of_sweep(first_time=4) < charged * 2
        deposits.deposit(10, 20, 30, 40)
        charged = deposits.chain.sending.status(deposits.send()).fee_units
        assert charged / 2 < costs.of_sweep(first_time=0, again=4) < charged * 2
        assert costs.of_sweep(first_time=0) == 0

    def test_a_sweep_and_a_payout_after_it_fit_into_one_block(self, deposits: Deposits) -> None:
        deposits.deposit(10, 20)
        sweep = deposits.sign()
        recipient = deposits.harness.stranger(1)
        transfer = deposits.chain.sending.sign(
            (payout(deposits.chain, recipient, 25),), sender=deposits.wallet, sequence=sweep.sequence + 1
        )
        deposits.chain.sending.broadcast(transfer)
        deposits.chain.sending.broadcast(sweep)
        deposits.harness.mine()
        assert deposits.chain.sending.status(transfer).state == "included"
        assert deposits.held() == [5, 0, 0, 0, 0]
        assert deposits.chain.reading.balance(recipient, deposits.usdc) == 25

    def test_a_network_with_one_account_has_nothing_to_sweep(self, harness: Harness) -> None:
        if not harness.chain.profile.shares_account:
            pytest.skip("every deposit on this network has its own address")
        usdc = harness.chain.profile.assets["USDC"]
        with pytest.raises(ValueError, match="arrive where payouts leave from"):
            sweeps_of(harness.chain).sign(usdc, (1,), sender=harness.chain.payout_address(), sequence=0)
