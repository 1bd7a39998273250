"""The contract of every chain adapter, kept on a real node. A file for each network, so that they run side by side."""

from __future__ import annotations

import pytest

from payments.chains.protocol.chain import Chain, sweeps_of
from tests.chains.contract import AddressContract, CursorContract, ReadingContract, ReorgContract, scene
from tests.chains.fees import FeeContract, ReplacingContract
from tests.chains.harness import Harness, payout
from tests.chains.outgoing import OutgoingContract
from tests.chains.recipients import RecipientContract
from tests.chains.sending import SendingContract, till
from tests.chains.sweeping import SweepContract, deposits

__all__ = ["EvmContract", "deposits", "scene", "till"]


class EvmContract(
    AddressContract,
    ReadingContract,
    CursorContract,
    ReorgContract,
    SendingContract,
    OutgoingContract,
    FeeContract,
    ReplacingContract,
    SweepContract,
    RecipientContract,
):
    def test_it_is_a_chain(self, harness: Harness) -> None:
        assert isinstance(harness.chain, Chain)

    @pytest.mark.parametrize("code", ["USDC", "USDT", "DAI"])
    def test_every_kind_of_token_is_deposited_swept_and_paid_out(self, harness: Harness, code: str) -> None:
        chain, asset = harness.chain, harness.chain.profile.assets[code]
        wallet, amount = chain.payout_address(), 5 * 10**asset.decimals
        for number in (1, 2):
            harness.pay((asset.contract, amount, chain.deposit_address(number).address, None))
        harness.mine()
        sweep = sweeps_of(chain).sign(asset, (1, 2), sender=wallet, sequence=chain.hot_wallet.next_sequence(wallet))
        chain.sending.broadcast(sweep)
        harness.mine()
        recipient = harness.stranger(1)
        wanted = payout(chain, recipient, amount + 1, code=code)
        chain.hot_wallet.check_recipient(wanted)
        sent = chain.sending.sign((wanted,), sender=wallet, sequence=chain.hot_wallet.next_sequence(wallet))
        chain.sending.broadcast(sent)
        harness.mine()
        assert [chain.sending.status(each).state for each in (sweep, sent)] == ["included", "included"]
        assert (chain.reading.balance(wallet, asset), chain.reading.balance(recipient, asset)) == (
            amount - 1,
            amount + 1,
        )
