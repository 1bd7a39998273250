# pragma version 0.4.3
# pragma evm-version paris
"""
@title A token that keeps a hundredth of what is sent, and says in its log what was asked for instead of what arrived
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
    books.balanceOf[receiver] -= amount // 100
    books.totalSupply -= amount // 100
    return True
