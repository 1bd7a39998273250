"""The present price of sending, by providers' answers. None of them alone drives it up or down."""

from __future__ import annotations

from dataclasses import dataclass

from payments.chains.errors import ChainUnavailable
from payments.chains.evm.fees import believable_tip, with_margin
from payments.chains.evm.nodes import questions
from payments.chains.evm.nodes.providers import Providers

TIP_BLOCKS = 20
"""The number of last blocks from which the paid tips are taken."""


@dataclass(frozen=True, slots=True)
class Prices:
    """Of a unit of gas, in base units of the native coin."""

    base_fee: int
    usual_tip: int


def prices(providers: Providers) -> Prices:
    """Those of the newest block. The tip is at most a few times what was paid in the last blocks, whatever providers
    report."""
    height = providers.head().height
    newest = providers.agree_on(questions.header(height))
    if newest is None:
        raise ChainUnavailable(f"The newest block of {providers.network} is not there any more.")
    reported = providers.middle(questions.usual_tip())
    paid = providers.middle(questions.paid_tip(height, TIP_BLOCKS))
    return Prices(newest.base_fee, believable_tip(reported=reported, paid=paid))


def gas_limit(
    providers: Providers, sender: str, to: str, call: bytes, *, least: int, unestimated: int, most: int
) -> int:
    """A limit within these bounds for what a call takes; `unestimated` where too few providers can estimate it, as
    when it would fail now and succeed later. A limit costs nothing that is not used."""
    try:
        estimated = with_margin(providers.upper_middle(questions.gas(sender, to, call)))
    except ChainUnavailable:
        estimated = unestimated
    return min(max(estimated, least), most)
