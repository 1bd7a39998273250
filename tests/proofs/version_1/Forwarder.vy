# pragma version 0.4.3
# pragma evm-version paris
"""
@title One deposit address
@notice Every deposit address is an EIP-1167 clone of this contract, put in place by the factory. It holds what payers
        send until the factory takes it out. Nobody else can make it do anything, and it cannot be changed.
"""
from ethereum.ercs import IERC20

# Part of the code, not of the storage, so that all clones share it.
FACTORY: immutable(address)


@deploy
def __init__():
    FACTORY = msg.sender


@external
@payable
def __default__():
    """
    @notice Takes the network's own coin, which nobody is asked for but somebody will send.
    """
    pass


@external
def flush(token: IERC20, recipient: address):
    """
    @notice Sends all of a token to the recipient. Reverts where the token refuses.
    """
    assert msg.sender == FACTORY, "factory only"
    held: uint256 = staticcall token.balanceOf(self)
    if held > 0:
        # Some tokens, USDT among them, return nothing; what does return must say true.
        assert extcall token.transfer(recipient, held, default_return_value=True), "refused"


@external
def flush_native(recipient: address):
    """
    @notice Sends all of the network's own coin to the recipient. Reverts where the recipient refuses.
    """
    assert msg.sender == FACTORY, "factory only"
    raw_call(recipient, b"", value=self.balance)


@external
def pay(token: IERC20, recipient: address, amount: uint256):
    """
    @notice Sends some of a token to the recipient. Reverts where the token refuses.
    """
    assert msg.sender == FACTORY, "factory only"
    assert extcall token.transfer(recipient, amount, default_return_value=True), "refused"
