# pragma version 0.4.3
# pragma evm-version paris
"""
@title Somebody who pays several people in one transaction
"""

struct Part:
    token: address
    receiver: address
    amount: uint256


@external
def pay(parts: DynArray[Part, 100]):
    for part: Part in parts:
        raw_call(
            part.token,
            abi_encode(part.receiver, part.amount, method_id=method_id("transfer(address,uint256)")),
        )

