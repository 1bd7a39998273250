"""Valid destinations of a refund: addresses its network can pay, and where the money would not be lost."""

from __future__ import annotations

from dataclasses import dataclass

from config.environments import Environment
from config.errors import InvalidParameter
from config.pages.samples import SANDBOX_WALLET
from payments.chains import registry
from payments.chains.errors import InvalidAddress
from payments.chains.profiles import Family
from payments.chains.protocol.chain import Chain
from payments.chains.stellar import addresses as stellar_addresses
from payments.suspense.recipient_checks import refusal_of
from payments.transfers.states import MemoType

MEMO_TEXT_BYTES = 28
"""Bytes of a text memo on stellar."""


@dataclass(frozen=True, slots=True)
class Destination:
    """An address in its network's canonical spelling, and the memo that its owner needs."""

    address: str
    memo: str = ""
    memo_type: str = ""
    """Empty without a memo."""

    @property
    def names_person(self) -> bool:
        """True if the address itself names the owner in a shared account (an M address)."""
        return self.address.startswith("M")


def family_of(environment: str, network: str) -> Family:
    """Family of a network, which decides the form of its addresses."""
    return registry.known_profile(environment, network).family


def parse_destination(
    *, environment: str, network: str, address: str, memo: str = "", memo_type: str = ""
) -> Destination:
    """The named destination, checked without a query to the network; InvalidParameter with the fault.

    Without a type of the memo, a number is an id, and anything else text, as are zeros before a number.
    """
    if environment == Environment.PRODUCTION and address.strip().lower() == SANDBOX_WALLET.lower():
        raise InvalidParameter("This is the wallet of the sandbox's examples.", param="destination")
    chain = registry.chain(environment, network)
    try:
        parsed = chain.parse_address(address.strip())
    except InvalidAddress as error:
        raise InvalidParameter(str(error), param="destination") from None
    if problem := refusal_of(chain, parsed):
        raise InvalidParameter(problem, param="destination")
    named = _parse_memo(chain, parsed, memo)
    return Destination(parsed, named, _type_of(named, memo_type) if named else "")


def _type_of(memo: str, chosen: str) -> str:
    if chosen == MemoType.ID and not stellar_addresses.is_id(memo):
        raise InvalidParameter(
            f"A memo of the type id is a whole number up to {stellar_addresses.MAXIMUM_ID}, without zeros before it. "
            "Say text if it is one.",
            param="memoType",
        )
    return chosen or (MemoType.ID if stellar_addresses.is_id(memo) else MemoType.TEXT)


def _parse_memo(chain: Chain, address: str, text: str) -> str:
    memo = text.strip()
    if not memo:
        return ""
    if not chain.profile.takes_memos:
        raise InvalidParameter(f"There are no memos on {chain.profile.network}. Leave it out.", param="memo")
    if stellar_addresses.split(address)[1] is not None:
        raise InvalidParameter(
            "An address that starts with M says already whom the money is for. Leave out the memo.", param="memo"
        )
    if len(memo.encode()) > MEMO_TEXT_BYTES:
        raise InvalidParameter(f"A memo is a number, or a text of at most {MEMO_TEXT_BYTES} bytes.", param="memo")
    if not memo.isprintable():
        raise InvalidParameter("A memo has printable characters only.", param="memo")
    return memo
