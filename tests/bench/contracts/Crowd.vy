# pragma version 0.4.3
# pragma evm-version paris
"""
@title A token that tells of transfers and keeps no balances: a busy network at the price of its events
"""

event Transfer:
    sender: indexed(address)
    receiver: indexed(address)
    amount: uint256

decimals: public(uint8)


@external
def tell(receivers: DynArray[address, 400], amount: uint256):
    for receiver: address in receivers:
        log Transfer(sender=msg.sender, receiver=receiver, amount=amount)
