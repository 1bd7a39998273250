"""Putting the factory of deposit addresses on a network, and making sure that it is ours."""

from __future__ import annotations

from dataclasses import dataclass

from payments.chains.errors import ChainError
from payments.chains.evm import abi, addresses
from payments.chains.evm.addresses import forwarder_of, keccak256
from payments.chains.evm.deposit_addresses.artifacts import artifact
from payments.chains.evm.fees import FeeRules, with_margin
from payments.chains.evm.keys.signing import Purpose, Signature, Signer, Transaction
from payments.chains.evm.nodes import questions
from payments.chains.evm.nodes.prices import prices
from payments.chains.evm.nodes.providers import Providers
from payments.chains.evm.nodes.questions import code
from payments.chains.evm.nodes.rpc import RpcError

DEPLOYER = "0x4e59b44847b379578588920cA78FbF26c0B4956C"
"""The deterministic deployer: its bytes are a salt and creation code, and the same bytes give the same address."""

SALT = 0

_FACTORY_1 = bytes.fromhex("525f18bed2dc81cdc0b11dae8b9486065e1dfaf6b5f25db950c7716389ece4a8")
"""The Keccak-256 of the code of a factory of version 1, without the immutable word at its end."""
_LAST_WITH_VERSION_1 = "6b4a5a9"
_WORD = 32


class NotDeployed(ChainError):
    """There is nothing, or something else than our factory, where it should stand."""


@dataclass(frozen=True, slots=True)
class People:
    """Who may do what with a factory."""

    owner: str
    operator: str
    treasury: str


@dataclass(frozen=True, slots=True)
class Deployment:
    """The creation code of a factory with its arguments. It decides the factory's address, and with it every deposit
    address."""

    creation: bytes

    @property
    def factory(self) -> str:
        return addresses.create2_address(deployer=DEPLOYER, salt=SALT, creation_code_hash=keccak256(self.creation))

    @property
    def data(self) -> bytes:
        """What anyone may send to the deployer."""
        return SALT.to_bytes(32, "big") + self.creation


def with_owner(owner: str) -> Deployment:
    """A factory, which begins without operator and treasury."""
    return Deployment(artifact("Factory").creation + abi.encode(artifact("Forwarder").creation, owner))


def deposit_address(factory: str, salt: int) -> str:
    return addresses.clone_address(factory=factory, implementation=forwarder_of(factory), salt=salt)


def has_deployer(providers: Providers) -> bool:
    return bool(providers.agree_on(code(DEPLOYER)))


def is_deployed(providers: Providers, factory: str) -> bool:
    return bool(providers.agree_on(code(factory)))


def sign_deployment(
    deployment: Deployment, providers: Providers, *, chain_id: int, rules: FeeRules, signer: Signer
) -> Signature:
    """The transaction that puts the factory there, from the signer's next nonce."""
    head = providers.head()
    try:
        gas = providers.agree_on(questions.gas(signer.address, DEPLOYER, deployment.data))
    except RpcError as error:
        raise NotDeployed(f"{signer.address} cannot deploy on {providers.network}: {error}") from error
    price = prices(providers)
    offer = rules.offer(base_fee=price.base_fee, usual_tip=price.usual_tip)
    return signer.sign(
        Transaction(
            chain_id=chain_id,
            nonce=providers.agree_on(questions.nonce(signer.address, head.height)),
            to=DEPLOYER,
            data=deployment.data,
            gas=with_margin(gas),
            max_fee=offer.max_fee,
            tip=offer.tip,
        ),
        Purpose(prepares="factory"),
    )


def check(providers: Providers, factory: str) -> None:
    """NotDeployed unless the factory's code is ours and it means the same addresses as we do."""
    forwarder = forwarder_of(factory)
    if not (found := providers.agree_on(code(factory))):
        raise NotDeployed(f"There is no contract at {factory} on {providers.network}.")
    if keccak256(found[:-_WORD]) == _FACTORY_1:
        raise NotDeployed(
            f"The factory at {factory} on {providers.network} is of version 1, which commit {_LAST_WITH_VERSION_1} was "
            "the last to know. Go over to another factory with that commit first: docs/replacing-keys.md says how."
        )
    if found != artifact("Factory").runtime + abi.encode(forwarder):
        raise NotDeployed(f"The contract at {factory} on {providers.network} is not our factory.")
    if providers.agree_on(code(forwarder)) != artifact("Forwarder").runtime + abi.encode(factory):
        raise NotDeployed(f"The contract at {forwarder} on {providers.network} is not the forwarder of our factory.")
    for salt in (0, 1, 2**64):
        derived = providers.agree_on(questions.account(factory, "address_of(uint256)", salt))
        if derived != deposit_address(factory, salt):
            raise NotDeployed(
                f"The factory on {providers.network} reports {derived} as the address of salt {salt}: not so."
            )


def people(providers: Providers, factory: str) -> People:
    """Who may do what at present."""
    roles = [questions.account(factory, f"{role}()") for role in ("owner", "operator", "treasury")]
    return People(*providers.agree(*roles))


def appointment(operator: str, treasury: str) -> bytes:
    """Call data with which the owner appoints an operator and a treasury of the factory."""
    return abi.call("appoint(address,address)", operator, treasury)


def offer_of_ownership(to: str) -> bytes:
    """Call data with which the owner offers the factory to another account, which must accept it."""
    return abi.call("transfer_ownership(address)", to)


def acceptance_of_ownership() -> bytes:
    """Call data with which the other account accepts and becomes the owner."""
    return abi.call("accept_ownership()")
