# pragma version 0.4.3
"""
@title What every token of the tests has: balances, what issuers can do to them, and money for anyone who asks
@dev A module; each token adds transfers of its own kind. Anyone may act as the issuer.
"""

event Transfer:
    sender: indexed(address)
    receiver: indexed(address)
    amount: uint256


event Destroyed:
    account: indexed(address)
    amount: uint256


event Approval:
    owner: indexed(address)
    spender: indexed(address)
    amount: uint256


name: public(String[32])
symbol: public(String[8])
decimals: public(uint8)
totalSupply: public(uint256)
balanceOf: public(HashMap[address, uint256])
allowance: public(HashMap[address, HashMap[address, uint256]])
blocked: public(HashMap[address, bool])
paused: public(bool)


@deploy
def __init__(name: String[32], symbol: String[8], decimals: uint8):
    self.name = name
    self.symbol = symbol
    self.decimals = decimals


@external
def mint(receiver: address, amount: uint256):
    self.totalSupply += amount
    self.balanceOf[receiver] += amount
    log Transfer(sender=empty(address), receiver=receiver, amount=amount)


@external
def set_blocked(account: address, blocked: bool):
    self.blocked[account] = blocked


@external
def set_paused(paused: bool):
    self.paused = paused


@external
def destroy(account: address):
    """
    @notice Takes all that a blocked account holds out of the world.
    @dev Says so in an event of its own and in no Transfer, as USDT's destroyBlackFunds does.
    """
    assert self.blocked[account], "not blocked"
    amount: uint256 = self.balanceOf[account]
    self.balanceOf[account] = 0
    self.totalSupply -= amount
    log Destroyed(account=account, amount=amount)


@internal
def _move(sender: address, receiver: address, amount: uint256):
    assert not self.paused, "paused"
    assert not self.blocked[sender] and not self.blocked[receiver], "blocked"
    self.balanceOf[sender] -= amount
    self.balanceOf[receiver] += amount
    log Transfer(sender=sender, receiver=receiver, amount=amount)


@internal
def _spend(owner: address, spender: address, amount: uint256):
    self.allowance[owner][spender] -= amount


@internal
def _approve(owner: address, spender: address, amount: uint256):
    self.allowance[owner][spender] = amount
    log Approval(owner=owner, spender=spender, amount=amount)
