"""Where a refund may go: an address its network can pay, and none where the money would come back or be lost."""

from __future__ import annotations

from dataclasses import dataclass

from config.errors import InvalidParameter
from payments.chains import registry
from payments.chains.base import Chain
from payments.chains.errors import InvalidAddress
from payments.chains.stellar import addresses as stellar_addresses
from payments.payable import refusal_of

MEMO_TEXT_BYTES = 28
"""What a stellar transaction holds as a text memo."""


@dataclass(frozen=True, slots=True)
class Destination:
    """An address in the one spelling its network has for it, and the memo that its owner asks for."""

    address: str
    memo: str = ""


def takes_memos(environment: str, network: str) -> bool:
    return registry.known_profile(environment, network).family == "stellar"


def parse_destination(*, environment: str, network: str, address: str, memo: str = "") -> Destination:
    """What somebody named, checked without asking the network; InvalidParameter says what is wrong with it."""
    chain = registry.chain(environment, network)
    try:
        parsed = chain.parse_address(address.strip())
    except InvalidAddress as error:
        raise InvalidParameter(str(error), param="destination") from None
    if problem := refusal_of(chain, parsed):
        raise InvalidParameter(problem, param="destination")
    return Destination(parsed, _parse_memo(chain, parsed, memo))


def is_own_address(environment: str, network: str, address: str) -> bool:
    """Whether nobody is paid there: one of our own addresses, or a token itself."""
    return refusal_of(registry.chain(environment, network), address) is not None


def _parse_memo(chain: Chain, address: str, text: str) -> str:
    memo = stellar_addresses.normalise_memo(text) or ""
    if not memo:
        return ""
    if chain.profile.family != "stellar":
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
