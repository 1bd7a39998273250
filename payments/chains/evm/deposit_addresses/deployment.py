"""Putting the factory of deposit addresses on a network, and making sure that it is ours."""

from __future__ import annotations

from dataclasses import dataclass

from payments.chains.errors import ChainError
from payments.chains.evm import abi, addresses
from payments.chains.evm.addresses import forwarder_of, keccak256
from payments.chains.evm.deposit_addresses.artifacts import CONTRACTS, FORMER_CONTRACTS, artifact
from payments.chains.evm.fees import FeeRules, with_margin
from payments.chains.evm.keys.signing import Purpose, Signature, Signer, Transaction
from payments.chains.evm.nodes import questions
from payments.chains.evm.nodes.providers import Providers
from payments.chains.evm.nodes.questions import code
from payments.chains.evm.nodes.rpc import RpcError
from payments.chains.evm.prices import prices

DEPLOYER = "0x4e59b44847b379578588920cA78FbF26c0B4956C"
"""The deterministic deployer: its bytes are a salt and creation code, and the same bytes give the same address."""

SALT = 0


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
    """A factory of the present version, which begins without operator and treasury."""
    return Deployment(artifact("Factory").creation + abi.encode(artifact("Forwarder").creation, owner))


def of_version_1(first: People) -> Deployment:
    """A factory of the first version, whose address depends on the people that it began with."""
    [folder] = FORMER_CONTRACTS
    forwarder = artifact("Forwarder", folder).creation
    creation = artifact("Factory", folder).creation
    return Deployment(creation + abi.encode(forwarder, first.owner, first.operator, first.treasury))


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
    versions = (CONTRACTS, *FORMER_CONTRACTS)
    folder = next(
        (each for each in versions if found == artifact("Factory", each).runtime + abi.encode(forwarder)), None
    )
    if folder is None:
        raise NotDeployed(f"The contract at {factory} on {providers.network} is not the factory of any version.")
    if providers.agree_on(code(forwarder)) != artifact("Forwarder", folder).runtime + abi.encode(factory):
        raise NotDeployed(f"The contract at {forwarder} on {providers.network} is not the forwarder of that version.")
    for salt in (0, 1, 2**64):
        asked = providers.agree_on(questions.account(factory, "address_of(uint256)", salt))
        if asked != deposit_address(factory, salt):
            raise NotDeployed(f"The factory on {providers.network} says {asked} is the address of salt {salt}: not so.")


def people(providers: Providers, factory: str) -> People:
    """Who may do what at present."""
    asked = [questions.account(factory, f"{role}()") for role in ("owner", "operator", "treasury")]
    return People(*providers.agree(*asked))


def appointment(operator: str, treasury: str) -> bytes:
    """What the owner says to the factory to give it an operator and a treasury. Only from the second version on."""
    return abi.call("appoint(address,address)", operator, treasury)


def offer_of_ownership(to: str) -> bytes:
    """What the owner says to the factory to offer it to another, who must accept it."""
    return abi.call("transfer_ownership(address)", to)


def acceptance_of_ownership() -> bytes:
    """What the other one says to become the owner."""
    return abi.call("accept_ownership()")
