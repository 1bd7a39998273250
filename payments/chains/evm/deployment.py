"""Putting the factory of deposit addresses on a network, and making sure that it is ours."""

from __future__ import annotations

from dataclasses import dataclass

from payments.chains.errors import ChainError
from payments.chains.evm import abi, addresses, questions
from payments.chains.evm.addresses import keccak256
from payments.chains.evm.artifacts import artifact
from payments.chains.evm.fees import FeeRules, with_margin
from payments.chains.evm.providers import Providers
from payments.chains.evm.questions import code
from payments.chains.evm.rpc import RpcError
from payments.chains.evm.signing import Signature, Signer, Transaction

DEPLOYER = "0x4e59b44847b379578588920cA78FbF26c0B4956C"
"""The deterministic deployer: its bytes are a salt and creation code, and the same bytes give the same address."""

SALT = 0


class NotDeployed(ChainError):
    """There is nothing, or something else than our factory, where it should stand."""


@dataclass(frozen=True, slots=True)
class Deployment:
    """The people of a first deployment. They decide the factory's address, and with it every deposit address."""

    owner: str
    operator: str
    treasury: str

    @property
    def creation(self) -> bytes:
        forwarder = artifact("Forwarder").creation
        return artifact("Factory").creation + abi.encode(forwarder, self.owner, self.operator, self.treasury)

    @property
    def factory(self) -> str:
        return addresses.create2_address(deployer=DEPLOYER, salt=SALT, creation_code_hash=keccak256(self.creation))

    @property
    def data(self) -> bytes:
        """What anyone may send to the deployer."""
        return SALT.to_bytes(32, "big") + self.creation


def forwarder_of(factory: str) -> str:
    """The code that a factory's deposit addresses share: the first contract it creates (RLP of its address and 1)."""
    return addresses.encode(keccak256(b"\xd6\x94" + addresses.decode(factory) + b"\x01")[12:])


def deposit_address(factory: str, number: int) -> str:
    return addresses.clone_address(factory=factory, implementation=forwarder_of(factory), salt=number)


def has_deployer(providers: Providers) -> bool:
    return bool(providers.agree_on(code(DEPLOYER)))


def is_deployed(providers: Providers, factory: str) -> bool:
    return bool(providers.agree_on(code(factory)))


def sign_deployment(
    deployment: Deployment, providers: Providers, *, chain_id: int, rules: FeeRules, signer: Signer
) -> Signature:
    """The transaction that puts the factory there, from the signer's next nonce."""
    head = providers.head()
    newest = providers.agree_on(questions.header(head.height))
    if newest is None:
        raise NotDeployed(f"{providers.network} has no block {head.height} any more; try again.")
    try:
        gas = providers.ask(questions.gas(signer.address, DEPLOYER, deployment.data))
    except RpcError as error:
        raise NotDeployed(f"{signer.address} cannot deploy on {providers.network}: {error}") from error
    offer = rules.offer(base_fee=newest.base_fee, usual_tip=providers.middle(questions.usual_tip()))
    return signer.sign(
        Transaction(
            chain_id=chain_id,
            nonce=providers.agree_on(questions.nonce(signer.address, head.height)),
            to=DEPLOYER,
            data=deployment.data,
            gas=with_margin(gas),
            max_fee=offer.max_fee,
            tip=offer.tip,
        )
    )


def check(providers: Providers, factory: str) -> None:
    """NotDeployed unless the factory's code is ours and it means the same addresses as we do."""
    forwarder = forwarder_of(factory)
    if not (found := providers.agree_on(code(factory))):
        raise NotDeployed(f"There is no contract at {factory} on {providers.network}.")
    if found != artifact("Factory").runtime + abi.encode(forwarder):
        raise NotDeployed(f"The contract at {factory} on {providers.network} is not the factory of this version.")
    if providers.agree_on(code(forwarder)) != artifact("Forwarder").runtime + abi.encode(factory):
        raise NotDeployed(f"The contract at {forwarder} on {providers.network} is not the forwarder of this version.")
    for number in (0, 1, 2**64):
        asked = providers.agree_on(questions.account(factory, "address_of(uint256)", number))
        if asked != deposit_address(factory, number):
            raise NotDeployed(f"The factory on {providers.network} says {asked} is deposit address {number}: not so.")


def people(providers: Providers, factory: str) -> Deployment:
    """Who may do what at present."""
    asked = [questions.account(factory, f"{role}()") for role in ("owner", "operator", "treasury")]
    return Deployment(*providers.agree(*asked))
