# pragma version 0.4.3
# pragma evm-version paris
"""
@title A token that returns nothing, wants an approval set to zero before it is changed, and may begin to keep a fee, as
       USDT does
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

# Of each transfer in hundredths of a percent, and who gets it.
basisPointsRate: public(uint256)
collector: public(address)


@deploy
def __init__(name: String[32], symbol: String[8], decimals: uint8):
    books.__init__(name, symbol, decimals)


@external
def set_fee(rate: uint256, collector: address):
    self.basisPointsRate = rate
    self.collector = collector


@external
def transfer(receiver: address, amount: uint256):
    self._move(msg.sender, receiver, amount)


@external
def transferFrom(sender: address, receiver: address, amount: uint256):
    books._spend(sender, msg.sender, amount)
    self._move(sender, receiver, amount)


@external
def approve(spender: address, amount: uint256):
    assert amount == 0 or books.allowance[msg.sender][spender] == 0, "not zero"
    books._approve(msg.sender, spender, amount)


@internal
def _move(sender: address, receiver: address, amount: uint256):
    fee: uint256 = amount * self.basisPointsRate // 10_000
    if fee > 0:  # Tether's own code tells of the fee first
        books._move(sender, self.collector, fee)
    books._move(sender, receiver, amount - fee)
