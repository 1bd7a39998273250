# pragma version 0.4.3
# pragma evm-version paris
"""
@title A token that keeps to ERC-20, as USDC and DAI do
"""
import Books as books

initializes: books
exports: (
    books.name,
    books.symbol,
    books.decimals,
    books.totalSupply,
    books.balanceOf,
    books.allowance,
    books.blocked,
    books.paused,
    books.mint,
    books.set_blocked,
    books.set_paused,
    books.destroy,
)


@deploy
def __init__(name: String[32], symbol: String[8], decimals: uint8):
    books.__init__(name, symbol, decimals)


@external
def transfer(receiver: address, amount: uint256) -> bool:
    books._move(msg.sender, receiver, amount)
    return True


@external
def transferFrom(sender: address, receiver: address, amount: uint256) -> bool:
    books._spend(sender, msg.sender, amount)
    books._move(sender, receiver, amount)
    return True


@external
def approve(spender: address, amount: uint256) -> bool:
    books._approve(msg.sender, spender, amount)
    return True
