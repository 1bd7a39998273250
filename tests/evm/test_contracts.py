"""The contracts on a real node: where money can go, and at whose word."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from payments.chains.evm import abi
from payments.chains.evm.addresses import ZERO_ADDRESS, clone_address, encode, parse
from payments.chains.evm.deposit_addresses.artifacts import artifact
from payments.chains.evm.deposit_addresses.deployment import appointment, with_owner
from tests.evm.node import ETHEREUM_ID, Receipt, TestNode, running_node

SWEEP, SWEEP_NATIVE = "sweep(uint256[],address)", "sweep_native(uint256[])"
REFUND = "refund(uint256,address,address,uint256)"


@dataclass(frozen=True)
class Deposits:
    """A factory with its people, and tokens of every kind."""

    node: TestNode
    owner: str
    operator: str
    treasury: str
    stranger: str
    factory: str
    forwarder: str

    def address(self, salt: int) -> str:
        return clone_address(factory=self.factory, implementation=self.forwarder, salt=salt)

    def sweep(self, token: str, *salts: int) -> Receipt:
        return self.node.succeed(self.operator, self.factory, abi.call(SWEEP, list(salts), token))

    def refused(self, sender: str, data: bytes, to: str | None = None) -> str:
        """Why a transaction failed."""
        receipt = self.node.transact(sender, to or self.factory, data)
        assert receipt["status"] == "0x0"
        assert receipt["logs"] == []
        trace = self.node.rpc.call("debug_traceTransaction", receipt["transactionHash"], {"tracer": "callTracer"})
        return abi.reason(bytes.fromhex(trace.get("output", "0x")[2:]))

    def read(self, signature: str) -> str:
        return abi.address(self.node.ask(self.factory, abi.call(signature)))


@pytest.fixture
def deposits(node: TestNode) -> Deposits:
    owner, operator, treasury, stranger = (parse(account) for account in node.accounts[:4])
    factory = parse(node.deploy(with_owner(owner).creation))
    node.succeed(owner, factory, appointment(operator, treasury))
    forwarder = abi.address(node.ask(factory, abi.call("FORWARDER()")))
    return Deposits(node, owner, operator, treasury, stranger, factory, forwarder)


@pytest.fixture(params=[("StandardToken", 6), ("SilentToken", 6), ("StandardToken", 18)], ids=["usdc", "usdt", "dai"])
def token(node: TestNode, request: pytest.FixtureRequest) -> str:
    kind, decimals = request.param
    return node.deploy_token(kind, "COIN", decimals)


def failures(receipt: Receipt) -> list[str]:
    """The deposit addresses named in SweepFailed."""
    name = abi.topic("SweepFailed(address,address)")
    return [parse("0x" + log["topics"][2][-40:]) for log in receipt["logs"] if log["topics"][0] == name]


class TestAddresses:
    def test_the_factory_and_we_agree_on_every_address(self, deposits: Deposits) -> None:
        for salt in (0, 1, 2**63, 2**256 - 1):
            asked = abi.address(deposits.node.ask(deposits.factory, abi.call("address_of(uint256)", salt)))
            assert asked == deposits.address(salt)

    def test_a_sweep_puts_the_clone_where_the_money_is(self, deposits: Deposits, token: str) -> None:
        address = deposits.address(7)
        assert deposits.node.rpc.call("eth_getCode", address, "latest") == "0x"
        deposits.sweep(token, 7)
        code = deposits.node.rpc.call("eth_getCode", address, "latest")
        assert deposits.forwarder[2:].lower() in code

    @settings(max_examples=25, deadline=None)
    @given(salt=st.integers(0, 2**256 - 1), factory=st.binary(min_size=20, max_size=20).filter(any))
    def test_addresses_agree_with_any_factory(self, salt: int, factory: bytes) -> None:
        node = running_node(ETHEREUM_ID)
        implementation = node.accounts[5]
        code = artifact("Factory").runtime + bytes.fromhex(implementation[2:]).rjust(32, b"\0")
        with node.put_back():
            node.rpc.call("anvil_setCode", encode(factory), "0x" + code.hex())
            asked = abi.address(node.ask(encode(factory), abi.call("address_of(uint256)", salt)))
        assert asked == clone_address(factory=encode(factory), implementation=implementation, salt=salt)


class TestSweeping:
    def test_everything_arrives_at_the_treasury(self, deposits: Deposits, token: str) -> None:
        for salt, amount in ((1, 10), (2, 0), (3, 10**24)):
            deposits.node.mint(token, deposits.address(salt), amount)
        receipt = deposits.sweep(token, 1, 2, 3)
        assert deposits.node.held(token, deposits.treasury) == 10**24 + 10
        assert [deposits.node.held(token, deposits.address(salt)) for salt in (1, 2, 3)] == [0, 0, 0]
        assert len(receipt["logs"]) == 2  # the token's own; the factory has nothing to add

    def test_an_address_is_swept_again_and_again(self, deposits: Deposits, token: str) -> None:
        for _ in range(3):
            deposits.node.mint(token, deposits.address(1), 5)
            deposits.sweep(token, 1)
        assert deposits.node.held(token, deposits.treasury) == 15

    def test_naming_an_address_twice_is_harmless(self, deposits: Deposits, token: str) -> None:
        deposits.node.mint(token, deposits.address(1), 5)
        assert failures(deposits.sweep(token, 1, 1)) == []
        assert deposits.node.held(token, deposits.treasury) == 5

    def test_a_blocked_address_does_not_stop_the_others(self, deposits: Deposits, token: str) -> None:
        for salt in (1, 2, 3):
            deposits.node.mint(token, deposits.address(salt), 5)
        block = abi.call("set_blocked(address,bool)", deposits.address(2), 1)
        deposits.node.succeed(deposits.stranger, token, block)
        assert failures(deposits.sweep(token, 1, 2, 3)) == [deposits.address(2)]
        assert deposits.node.held(token, deposits.treasury) == 10
        assert deposits.node.held(token, deposits.address(2)) == 5

    @pytest.mark.parametrize("broken", ["stranger", "factory"])
    def test_what_is_no_token_fails_for_each_address_and_moves_nothing(self, deposits: Deposits, broken: str) -> None:
        receipt = deposits.sweep(getattr(deposits, broken), 1, 2)
        assert failures(receipt) == [deposits.address(1), deposits.address(2)]

    def test_a_token_that_keeps_a_fee_is_swept_to_the_last_unit(self, deposits: Deposits) -> None:
        token = deposits.node.deploy_token("FeeToken", "FEE", 6)
        deposits.node.mint(token, deposits.address(1), 1_000)
        assert failures(deposits.sweep(token, 1)) == []
        assert (deposits.node.held(token, deposits.address(1)), deposits.node.held(token, deposits.treasury)) == (
            0,
            990,
        )

    def test_the_networks_own_coin_is_swept_too(self, deposits: Deposits) -> None:
        node, call = deposits.node, abi.call(SWEEP_NATIVE, [1, 2, 3])
        for salt in (1, 2):
            node.succeed(deposits.stranger, deposits.address(salt), units=10**18)
        before = int(node.rpc.call("eth_getBalance", deposits.treasury, "latest"), 16)
        assert failures(node.succeed(deposits.operator, deposits.factory, call)) == []
        node.succeed(deposits.stranger, deposits.address(1), units=5)  # there is a contract now, and it takes money
        node.succeed(deposits.operator, deposits.factory, call)
        assert int(node.rpc.call("eth_getBalance", deposits.treasury, "latest"), 16) == before + 2 * 10**18 + 5

    def test_a_treasury_that_takes_no_coin_stops_nothing(self, deposits: Deposits, token: str) -> None:
        node = deposits.node
        node.succeed(deposits.owner, deposits.factory, abi.call("set_treasury(address)", token))
        node.succeed(deposits.stranger, deposits.address(1), units=5)
        receipt = node.succeed(deposits.operator, deposits.factory, abi.call(SWEEP_NATIVE, [1]))
        assert failures(receipt) == [deposits.address(1)]
        assert int(node.rpc.call("eth_getBalance", deposits.address(1), "latest"), 16) == 5

    def test_two_hundred_fit_into_one_transaction_and_no_more(self, deposits: Deposits, token: str) -> None:
        for salt in range(200):
            deposits.node.send(deposits.stranger, token, abi.call("mint(address,uint256)", deposits.address(salt), 1))
            if salt % 50 == 49:
                deposits.node.mine()
        deposits.sweep(token, *range(200))
        assert deposits.node.held(token, deposits.treasury) == 200
        deposits.refused(deposits.operator, abi.call(SWEEP, list(range(201)), token))


class TestRefunding:
    def test_the_owner_pays_back_from_the_deposit_itself(self, deposits: Deposits, token: str) -> None:
        deposits.node.mint(token, deposits.address(1), 10)
        payer = parse("0x" + "ab" * 20)
        deposits.node.succeed(deposits.owner, deposits.factory, abi.call(REFUND, 1, token, payer, 4))
        assert deposits.node.held(token, payer) == 4
        assert deposits.node.held(token, deposits.address(1)) == 6

    def test_more_than_there_is_moves_nothing(self, deposits: Deposits, token: str) -> None:
        deposits.node.mint(token, deposits.address(1), 10)
        deposits.refused(deposits.owner, abi.call(REFUND, 1, token, deposits.stranger, 11))
        assert deposits.node.held(token, deposits.address(1)) == 10


class TestPowers:
    @pytest.mark.parametrize(
        ("call", "who", "said"),
        [
            (abi.call(SWEEP, [1], ZERO_ADDRESS), "operator", "operator only"),
            (abi.call(SWEEP_NATIVE, [1]), "operator", "operator only"),
            (abi.call(REFUND, 1, ZERO_ADDRESS, ZERO_ADDRESS, 1), "owner", "owner only"),
            (abi.call("appoint(address,address)", "0x" + "11" * 20, "0x" + "22" * 20), "owner", "owner only"),
            (abi.call("set_treasury(address)", "0x" + "11" * 20), "owner", "owner only"),
            (abi.call("set_operator(address)", "0x" + "11" * 20), "owner", "owner only"),
            (abi.call("transfer_ownership(address)", "0x" + "11" * 20), "owner", "owner only"),
            (abi.call("accept_ownership()"), "", "pending owner only"),
        ],
    )
    def test_each_function_obeys_one_key_alone(self, deposits: Deposits, call: bytes, who: str, said: str) -> None:
        for other in ("owner", "operator", "treasury", "stranger"):
            if other != who:
                assert deposits.refused(getattr(deposits, other), call) == said

    @pytest.mark.parametrize(
        "call",
        [
            abi.call("flush(address,address)", "0x" + "11" * 20, "0x" + "22" * 20),
            abi.call("flush_native(address)", "0x" + "22" * 20),
            abi.call("pay(address,address,uint256)", "0x" + "11" * 20, "0x" + "22" * 20, 1),
        ],
    )
    def test_a_deposit_address_obeys_the_factory_alone(self, deposits: Deposits, token: str, call: bytes) -> None:
        deposits.node.mint(token, deposits.address(1), 10)
        deposits.sweep(token, 1)
        for who in ("owner", "operator", "treasury", "stranger"):
            for place in (deposits.address(1), deposits.forwarder):
                assert deposits.refused(getattr(deposits, who), call, place) == "factory only"

    def test_ownership_moves_in_two_steps(self, deposits: Deposits) -> None:
        node, factory = deposits.node, deposits.factory
        node.succeed(deposits.owner, factory, abi.call("transfer_ownership(address)", deposits.stranger))
        assert deposits.read("owner()") == deposits.owner
        deposits.refused(deposits.treasury, abi.call("accept_ownership()"))
        node.succeed(deposits.stranger, factory, abi.call("accept_ownership()"))
        assert (deposits.read("owner()"), deposits.read("pending_owner()")) == (deposits.stranger, ZERO_ADDRESS)
        deposits.refused(deposits.owner, abi.call("set_treasury(address)", deposits.owner))

    def test_an_offer_can_be_withdrawn(self, deposits: Deposits) -> None:
        node, factory = deposits.node, deposits.factory
        for offered in (deposits.stranger, ZERO_ADDRESS):
            node.succeed(deposits.owner, factory, abi.call("transfer_ownership(address)", offered))
        assert deposits.refused(deposits.stranger, abi.call("accept_ownership()")) == "pending owner only"
        assert deposits.read("owner()") == deposits.owner

    def test_treasury_and_operator_change_at_the_owners_word(self, deposits: Deposits, token: str) -> None:
        node, factory = deposits.node, deposits.factory
        node.succeed(deposits.owner, factory, abi.call("set_treasury(address)", deposits.stranger))
        node.succeed(deposits.owner, factory, abi.call("set_operator(address)", deposits.treasury))
        node.mint(token, deposits.address(1), 5)
        assert deposits.refused(deposits.operator, abi.call(SWEEP, [1], token)) == "operator only"
        node.succeed(deposits.treasury, factory, abi.call(SWEEP, [1], token))
        assert node.held(token, deposits.stranger) == 5

    def test_a_factory_begins_without_operator_and_treasury(self, deposits: Deposits, token: str) -> None:
        fresh = parse(deposits.node.deploy(with_owner(deposits.owner).creation))
        for who in ("owner", "operator", "treasury", "stranger"):
            sweep = abi.call(SWEEP, [1], token)
            assert deposits.refused(getattr(deposits, who), sweep, fresh) == "operator only"
        assert abi.address(deposits.node.ask(fresh, abi.call("treasury()"))) == ZERO_ADDRESS

    @pytest.mark.parametrize("name", ["set_treasury", "set_operator"])
    def test_nobody_is_no_treasury_and_no_operator(self, deposits: Deposits, name: str) -> None:
        assert deposits.refused(deposits.owner, abi.call(f"{name}(address)", ZERO_ADDRESS)).startswith("no ")

    def test_the_factory_takes_no_coin(self, deposits: Deposits) -> None:
        assert deposits.node.transact(deposits.stranger, deposits.factory, units=1)["status"] == "0x0"


@pytest.mark.parametrize(
    ("people", "first", "again"),
    [(1, 92_700, 51_500), (10, 55_700, 15_500), (50, 52_400, 12_900), (200, 51_800, 12_400)],
)
def test_what_a_sweep_costs_for_each_deposit(
    deposits: Deposits, people: int, first: int, again: int, record_property: Callable[[str, object], None]
) -> None:
    token = deposits.node.deploy_token("StandardToken", "USDC", 6)
    deposits.node.mint(token, deposits.treasury, 1)
    spent = []
    for _ in range(2):
        for salt in range(people):
            deposits.node.send(deposits.stranger, token, abi.call("mint(address,uint256)", deposits.address(salt), 9))
        deposits.node.mine()
        spent.append(int(deposits.sweep(token, *range(people))["gasUsed"], 16) // people)
    record_property("gas", spent)
    print(f"{people} deposits: {spent[0]} gas for each at first, {spent[1]} again")  # noqa: T201 - for `pytest -s`
    assert spent[0] < first
    assert spent[1] < again
