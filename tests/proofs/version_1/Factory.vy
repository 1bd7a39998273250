# pragma version 0.4.3
# pragma evm-version paris
"""
@title The deposit addresses of one payment service
@notice Money sent to a deposit address can leave it in two ways: the operator sweeps it to the treasury, or the owner
        refunds it. The operator's key therefore moves money to one place only, which the owner alone can change.
@dev Deployed through a deterministic deployer with the same code and arguments on every network, so that a payment's
     deposit address is the same on all of them. A clone is created by the first sweep that needs it: until then
     its address is only a number that money can be sent to.
"""

interface Forwarder:
    def pay(token: address, recipient: address, amount: uint256): nonpayable


event SweepFailed:
    token: indexed(address)  # the zero address stands for the network's own coin
    forwarder: indexed(address)


event TreasuryChanged:
    treasury: indexed(address)


event OperatorChanged:
    operator: indexed(address)


event OwnershipOffered:
    owner: indexed(address)
    pending_owner: indexed(address)


event OwnershipTransferred:
    previous_owner: indexed(address)
    owner: indexed(address)


MOST_SALTS: constant(uint256) = 200
# What EIP-1167 puts around the address of the shared code.
CLONE_PREFIX: constant(Bytes[19]) = x"602d3d8160093d39f3363d3d373d3d3d363d73"
CLONE_SUFFIX: constant(Bytes[15]) = x"5af43d82803e903d91602b57fd5bf3"

FORWARDER: public(immutable(address))
owner: public(address)
pending_owner: public(address)
operator: public(address)
treasury: public(address)


@deploy
def __init__(forwarder_code: Bytes[2048], owner: address, operator: address, treasury: address):
    assert owner != empty(address), "no owner"
    FORWARDER = raw_create(forwarder_code)
    self.owner = owner
    log OwnershipTransferred(previous_owner=empty(address), owner=owner)
    self._set_operator(operator)
    self._set_treasury(treasury)


@external
@view
def address_of(salt: uint256) -> address:
    """
    @notice The deposit address of this number, whether something is there yet or not.
    """
    return self._address_of(salt)


@external
def sweep(salts: DynArray[uint256, MOST_SALTS], token: address):
    """
    @notice Sends all of a token at these deposit addresses to the treasury. Operator only.
    @dev An address the token refuses is named in SweepFailed and does not stop the others.
    """
    assert msg.sender == self.operator, "operator only"
    call: Bytes[68] = abi_encode(token, self.treasury, method_id=method_id("flush(address,address)"))
    for salt: uint256 in salts:
        self._flush(salt, call, token)


@external
def sweep_native(salts: DynArray[uint256, MOST_SALTS]):
    """
    @notice Sends all of the network's own coin at these deposit addresses to the treasury. Operator only.
    """
    assert msg.sender == self.operator, "operator only"
    call: Bytes[68] = abi_encode(self.treasury, method_id=method_id("flush_native(address)"))
    for salt: uint256 in salts:
        self._flush(salt, call, empty(address))


@external
def refund(salt: uint256, token: address, recipient: address, amount: uint256):
    """
    @notice Sends some of a token from a deposit address to anyone. Owner only.
    """
    assert msg.sender == self.owner, "owner only"
    extcall Forwarder(self._ensure(salt)).pay(token, recipient, amount)


@external
def set_treasury(treasury: address):
    """
    @notice Changes where sweeps go. Owner only.
    """
    assert msg.sender == self.owner, "owner only"
    self._set_treasury(treasury)


@external
def set_operator(operator: address):
    """
    @notice Changes who sweeps. Owner only.
    """
    assert msg.sender == self.owner, "owner only"
    self._set_operator(operator)


@external
def transfer_ownership(new_owner: address):
    """
    @notice Offers the ownership to an address, which must accept it; the zero address withdraws an offer. Owner only.
    """
    assert msg.sender == self.owner, "owner only"
    self.pending_owner = new_owner
    log OwnershipOffered(owner=msg.sender, pending_owner=new_owner)


@external
def accept_ownership():
    """
    @notice Takes the ownership that was offered. Only whom it was offered to.
    """
    assert msg.sender == self.pending_owner, "pending owner only"
    log OwnershipTransferred(previous_owner=self.owner, owner=msg.sender)
    self.owner = msg.sender
    self.pending_owner = empty(address)


@internal
@view
def _address_of(salt: uint256) -> address:
    code_hash: bytes32 = keccak256(concat(CLONE_PREFIX, convert(FORWARDER, bytes20), CLONE_SUFFIX))
    digest: bytes32 = keccak256(concat(x"ff", convert(self, bytes20), convert(salt, bytes32), code_hash))
    return convert(convert(digest, uint256) & convert(max_value(uint160), uint256), address)


@internal
def _ensure(salt: uint256) -> address:
    forwarder: address = self._address_of(salt)
    if not forwarder.is_contract:
        assert create_minimal_proxy_to(FORWARDER, salt=convert(salt, bytes32)) == forwarder, "another address"
    return forwarder


@internal
def _flush(salt: uint256, call: Bytes[68], token: address):
    forwarder: address = self._ensure(salt)
    if not raw_call(forwarder, call, revert_on_failure=False):
        log SweepFailed(token=token, forwarder=forwarder)


@internal
def _set_treasury(treasury: address):
    assert treasury != empty(address), "no treasury"
    self.treasury = treasury
    log TreasuryChanged(treasury=treasury)


@internal
def _set_operator(operator: address):
    assert operator != empty(address), "no operator"
    self.operator = operator
    log OperatorChanged(operator=operator)
