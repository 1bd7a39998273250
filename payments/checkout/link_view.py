"""A payer's view of a payment link, and the words for why it takes no payments."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from django.utils.translation import gettext as _

from config.pages import wording
from payments.checkout.payer import State
from payments.choices import Choice, choices_among
from payments.links.models import PaymentLink
from payments.links.states import LinkState
from payments.links.uses import holding_a_use


@dataclass(frozen=True, slots=True)
class LinkView:
    """All that the page of a link may show: payers see no other field of it."""

    code: str
    sandbox: bool
    payee: str
    purpose: str
    price: str
    """Empty where the payer enters it."""
    currency: str
    limits: str
    choices: tuple[Choice, ...]
    time_to_pay: str
    closed: State | None
    """The reason no payment can be made of it now; None when one can."""


def view_link(link: PaymentLink, now: datetime) -> LinkView:
    """The link as a payer sees it now."""
    state = link.state(taken=holding_a_use(link) if link.max_uses is not None else 0, now=now)
    choices = choices_among(link.environment, link.wallets, link.coins)
    return LinkView(
        code=link.code,
        sandbox=link.environment == "sandbox",
        payee=link.merchant.payee,
        purpose=link.description,
        price="" if link.amount is None else wording.fiat(link.amount, link.currency),
        currency=link.currency,
        limits=_limits(link),
        choices=tuple(choices),
        time_to_pay=wording.duration(link.seconds_to_pay),
        closed=closed_state(state if choices else LinkState.DISABLED, link.merchant.payee),
    )


def _limits(link: PaymentLink) -> str:
    if link.least is None or link.most is None:
        return ""
    least, most = wording.fiat(link.least, link.currency), wording.fiat(link.most, link.currency)
    return _("From %(least)s to %(most)s.") % {"least": least, "most": most}


def closed_state(state: LinkState, payee: str) -> State | None:
    """Words for a payer about a link that takes no payments."""
    remedy = _("Contact %(payee)s if you still want to pay. Do not send money to the address of an earlier payment.")
    match state:
        case LinkState.ACTIVE:
            return None
        case LinkState.USED_UP:
            title, icon = _("Nothing left right now"), "cross"
            detail = _("Every available payment has been taken. One becomes free again if somebody does not pay.")
            return State(title, detail, "calm", icon)
        case LinkState.EXPIRED:
            title, icon = _("This payment link has expired"), "clock"
        case LinkState.DISABLED:
            title, icon = _("This payment link is switched off"), "cross"
    return State(title, remedy % {"payee": payee}, "calm", icon)
