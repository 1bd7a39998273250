"""The contracts against whoever calls them with whatever: nothing happens, and no sweep passes money over."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from payments.chains.evm import abi
from payments.chains.evm.addresses import encode, parse
from payments.chains.evm.deposit_addresses.artifacts import artifact
from payments.chains.evm.deposit_addresses.deployment import appointment, with_owner
from payments.chains.evm.nodes.rpc import RpcError
from tests.evm.node import ETHEREUM_ID, TestNode, running_node
from tests.evm.test_contracts import SWEEP, Deposits, failures
from tests.long_form import examples

pytestmark = pytest.mark.slow

MONEY = 10**18
NEW = 2**255
"""A salt whose clone no sweep has created."""

PARTIES = st.sampled_from(["owner", "operator", "treasury", "stranger"])
ADDRESSES = st.binary(min_size=20, max_size=20).filter(any).map(encode)
NUMBERS = st.one_of(st.integers(0, 5), st.integers(0, 2**256 - 1))

OF_ONE = {"sweep(uint256[],address)": "operator", "sweep_native(uint256[])": "operator"}
"""Functions of the factory that the owner may not call either."""


@pytest.fixture(scope="module")
def scene() -> Iterator[Deposits]:
    """A factory whose clones of 1 and 2 stand and hold money; nothing that these tests ask of it changes it."""
    node: TestNode = running_node(ETHEREUM_ID)
    owner, operator, treasury, stranger = (parse(account) for account in node.accounts[:4])
    with node.put_back():
        factory = parse(node.deploy(with_owner(owner).creation))
        node.succeed(owner, factory, appointment(operator, treasury))
        forwarder = abi.address(node.ask(factory, abi.call("FORWARDER()")))
        found = Deposits(node, owner, operator, treasury, stranger, factory, forwarder)
        token = node.deploy_token("StandardToken", "USDC", 6)
        found.sweep(token, 1, 2)
        for salt in (1, 2):
            node.mint(token, found.address(salt), MONEY)
            node.succeed(stranger, found.address(salt), units=MONEY)
        yield found


def is_refused(scene: Deposits, sender: str, to: str, data: bytes) -> bool:
    """Whether a call would revert: then it changes nothing, whoever makes it and whenever."""
    try:
        scene.node.ask(to, data, sender=sender)
    except RpcError as error:
        return error.is_reverted
    return False


def signatures() -> dict[str, str]:
    """The functions of the factory, and whether each only reads."""
    listed = [each for each in artifact("Factory").abi if each["type"] == "function"]
    return {
        f"{each['name']}({','.join(given['type'] for given in each['inputs'])})": each["stateMutability"]
        for each in listed
    }


def arguments(signature: str) -> st.SearchStrategy[list[abi.Argument]]:
    kinds: dict[str, st.SearchStrategy[abi.Argument]] = {
        "uint256": NUMBERS,
        "address": ADDRESSES,
        "uint256[]": st.lists(NUMBERS, max_size=4),
    }
    named = signature.partition("(")[2].rstrip(")")
    return st.tuples(*(kinds[kind] for kind in named.split(",") if kind)).map(list)


CHANGES = [signature for signature, kind in signatures().items() if kind != "view"]
CALLS = st.sampled_from(CHANGES).flatmap(lambda signature: st.tuples(st.just(signature), arguments(signature)))


@pytest.mark.long
@settings(max_examples=examples(200), deadline=None)
@given(who=PARTIES, call=CALLS)
def test_no_caller_but_operator_and_owner_moves_anything(
    scene: Deposits, who: str, call: tuple[str, list[abi.Argument]]
) -> None:
    signature, given_ones = call
    if who != OF_ONE.get(signature, "owner" if signature != "accept_ownership()" else ""):
        assert is_refused(scene, getattr(scene, who), scene.factory, abi.call(signature, *given_ones))


@pytest.mark.long
@settings(max_examples=examples(300), deadline=None)
@given(who=PARTIES, place=st.sampled_from(["factory", "forwarder", "clone"]), data=st.binary(min_size=1, max_size=200))
def test_any_other_selector_does_nothing(scene: Deposits, who: str, place: str, data: bytes) -> None:
    to = scene.address(1) if place == "clone" else getattr(scene, place)
    reads = {abi.selector(signature) for signature, kind in signatures().items() if kind == "view"}
    if place != "factory" or data[:4] not in reads:
        assert is_refused(scene, getattr(scene, who), to, data)


def test_a_deposit_address_consents_to_no_signature(scene: Deposits) -> None:
    data = abi.selector("isValidSignature(bytes32,bytes)") + bytes(32) + (64).to_bytes(32, "big") + bytes(32)
    for to in (scene.address(1), scene.forwarder):
        assert is_refused(scene, scene.stranger, to, data)


@settings(max_examples=15, deadline=None)
@given(
    held=st.lists(st.integers(0, 2**128), min_size=1, max_size=5),
    again=st.booleans(),
    dust=st.integers(0, 10**18),
)
def test_a_sweep_pays_the_treasury_alone_and_to_the_last_unit(
    scene: Deposits, held: list[int], again: bool, dust: int
) -> None:
    node = scene.node
    with node.put_back():
        token = node.deploy_token("StandardToken", "COIN", 18)
        salts = list(range(NEW, NEW + len(held)))
        for salt, amount in zip(salts, held, strict=True):
            node.mint(token, scene.address(salt), amount)
        node.mint(token, scene.address(1), dust)  # not asked for: stays
        receipt = scene.sweep(token, *salts, *salts[: int(again)])
        assert failures(receipt) == []
        assert {log["topics"][2][-40:] for log in receipt["logs"]} <= {scene.treasury[2:].lower()}
        assert node.held(token, scene.treasury) == sum(held)
        assert node.held(token, scene.address(1)) == dust


HUNGRY = "0x" + encode(b"\x77" * 20)[2:]
HUNGRY_CODE = bytes.fromhex(
    "36604414601457"  # what is asked has 68 bytes: a transfer
    "6004355460005260206000f300"  # else the balance, which is kept under the address itself
    "5b62002ee05b60019003806019575060003355600160005260206000f3"
)
"""A token whose transfers count down from 12,000, which takes 312,000 gas, before they empty their sender."""


def hold_hungry(scene: Deposits, *salts: int) -> None:
    scene.node.rpc.call("anvil_setCode", HUNGRY, "0x" + HUNGRY_CODE.hex())
    for salt in salts:
        slot, five = "0x" + abi.encode(scene.address(salt)).hex(), "0x" + abi.encode(5).hex()
        scene.node.rpc.call("anvil_setStorageAt", HUNGRY, slot, five)


def test_no_limit_of_gas_lets_a_sweep_pass_an_address_over(scene: Deposits) -> None:
    """Whatever the limit, an address that runs out of gas makes the whole sweep fail: an estimate, which is the least
    limit that succeeds, is enough for the last address as well."""
    node, outcomes = scene.node, set()
    for limit in range(250_000, 1_250_000, 25_000):
        with node.put_back():
            hold_hungry(scene, 1, 2)
            sent = node.send(scene.operator, scene.factory, abi.call(SWEEP, [1, 2], HUNGRY), gas=limit)
            node.mine()
            receipt = node.rpc.call("eth_getTransactionReceipt", sent)
            outcomes.add((receipt["status"], *(node.held(HUNGRY, scene.address(salt)) for salt in (1, 2))))
    assert outcomes == {("0x0", 5, 5), ("0x1", 0, 0)}


def test_the_address_that_ran_out_of_gas_is_named(scene: Deposits) -> None:
    node = scene.node
    with node.put_back():
        hold_hungry(scene, 1)
        data = "0x" + abi.call(SWEEP, [1], HUNGRY).hex()
        with pytest.raises(RpcError) as error:
            node.rpc.call(
                "eth_call", {"from": scene.operator, "to": scene.factory, "data": data, "gas": hex(300_000)}, "latest"
            )
    said = str(error.value).lower()
    assert abi.selector("OutOfGas(address)").hex() in said
    assert scene.address(1)[2:].lower() in said
