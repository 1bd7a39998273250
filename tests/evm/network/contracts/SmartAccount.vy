# pragma version 0.4.3
# pragma evm-version paris
"""
@title An account that is a contract: what its owner signs counts as signed by it (EIP-1271)
"""

ACCEPTED: constant(bytes4) = 0x1626ba7e

owner: address


@deploy
def __init__(owner: address):
    self.owner = owner


@external
@view
def isValidSignature(digest: bytes32, signature: Bytes[65]) -> bytes4:
    assert len(signature) == 65, "one owner, one signature"
    r: bytes32 = extract32(signature, 0)
    s: bytes32 = extract32(signature, 32)
    v: uint256 = convert(slice(signature, 64, 1), uint256)
    if ecrecover(digest, v, convert(r, uint256), convert(s, uint256)) == self.owner:
        return ACCEPTED
    return 0xffffffff
