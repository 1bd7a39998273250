"""Decides about several sums at once: each in a database transaction of its own, and only as its page has shown it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from django.contrib import messages
from django.forms import BoundField
from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.utils.functional import Promise
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods

from config import ids
from config.coins import USD_SCALE, usd_worth
from config.errors import DomainError
from config.pages import wording
from config.periodic.containment import contained
from merchants.access.log_in.sessions import MemberRequest, member_required
from merchants.access.log_in.single_use import close_form, open_form
from merchants.audit.recording import OngoingAction
from merchants.roles import Action
from payments.chains import registry
from payments.dashboard.decisions import pages
from payments.dashboard.decisions.rows import DecisionRow, decision_row
from payments.dashboard.forms import SeveralForm
from payments.models import Discrepancy
from payments.states import DiscrepancyStatus


@dataclass(frozen=True, slots=True)
class Sent:
    """What a form says of one sum: the fingerprint that its page showed, and why."""

    shown: str
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Choice:
    """What is done to all that is ticked. `why_not` says of a sum why it is left out. `decide` does it to one, under
    the lock of its payment, and tells its action.
    """

    title: str | Promise
    label: str | Promise
    done: str | Promise
    note: str | Promise
    words: Callable[[DecisionRow], str]
    is_possible: Callable[[DecisionRow], bool]
    why_not: Callable[[DecisionRow], str]
    decide: Callable[[MemberRequest, OngoingAction, Discrepancy, Sent], None]
    previews: bool
    asks_why: bool


@dataclass(frozen=True, slots=True)
class Case:
    """A ticked sum, with what is to be done to it, or why it is left out; afterwards, with what was done."""

    row: DecisionRow
    words: str
    is_possible: bool = True
    reason: BoundField | None = None
    is_done: bool | None = None


@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
@member_required(action=Action.ACCEPT_MONEY, several=True)
def accept_several(request: MemberRequest) -> HttpResponse:
    return decide_several(request, ACCEPTING)


def decide_several(request: MemberRequest, choice: Choice) -> HttpResponse:
    """Says what a choice does to each sum that is ticked, and to all of them together; then does it, one by one."""
    if request.method == "POST":
        shown = dict(each.split(" ", 1) for each in request.POST.getlist("shown") if " " in each)
        found = _named(request, shown)
        form = _form(request, found, choice)
        if form.is_valid() and not close_form(request):
            messages.warning(request, str(pages.USED_FORM))
            return redirect(pages.SECTION)
        if found and form.is_valid():
            done = [_decide(request, choice, each, shown, form.cleaned_data) for each in found]
            return render(request, "dashboard/decisions/several_done.html", _context(done, choice))
    else:
        found = [each for each in _named(request, request.GET.getlist("case")) if _is_open(each)]
        form = _form(request, found, choice)
    cases = [_case(each, choice, form) for each in found]
    context = _context(cases, choice) | {
        "form": form,
        "form_id": open_form(request),
        "totals": _totals([each.row for each in cases if each.is_possible]),
        "is_possible": any(each.is_possible for each in cases),
    }
    return render(request, "dashboard/decisions/several.html", context, status=400 if form.errors else 200)


def _context(cases: Sequence[Case], choice: Choice) -> dict[str, Any]:
    return {"section": pages.SECTION, "choice": choice, "cases": cases}


def _named(request: MemberRequest, names: Sequence[str] | dict[str, str]) -> list[Discrepancy]:
    """Money of the merchant by these public ids, decided or not, oldest first; as many as a page lists."""
    keys = [key for name in list(names)[: pages.PAGE_SIZE] if (key := ids.DISCREPANCY.decode(name))]
    return list(pages.own_discrepancies(request).filter(pk__in=keys).order_by("pk"))


def _is_open(discrepancy: Discrepancy) -> bool:
    return discrepancy.status == DiscrepancyStatus.OPEN


def _form(request: MemberRequest, found: Sequence[Discrepancy], choice: Choice) -> SeveralForm:
    """Asks for one reason, and for one of each sum that is worth as much as the merchant says, or more."""
    limit = request.merchant.settings.get(environment=request.environment).one_reason_below * 10**USD_SCALE
    alone = [
        each.public_id
        for each in found
        if choice.asks_why and usd_worth(each.asset, int(each.amount), each.decimals) >= limit
    ]
    data = request.POST if request.method == "POST" else None
    return SeveralForm(data, alone=alone, shares=len(alone) < len(found), is_required=choice.asks_why)


def _case(discrepancy: Discrepancy, choice: Choice, form: SeveralForm) -> Case:
    row = decision_row(discrepancy, previews=choice.previews)
    name = discrepancy.public_id
    if not (_is_open(discrepancy) and choice.is_possible(row)):
        return Case(row, choice.why_not(row) or choice.words(row), is_possible=False)
    return Case(row, choice.words(row), reason=form[name] if name in form.fields else None)


def _decide(
    request: MemberRequest, choice: Choice, discrepancy: Discrepancy, shown: dict[str, str], reasons: dict[str, str]
) -> Case:
    """Decides about one sum in a database transaction of its own. What is refused, or fails, is done to none of it."""
    name = discrepancy.public_id
    sent = Sent(shown[name], reasons.get(name, reasons.get("reason", "")))
    row = decision_row(discrepancy, previews=False)
    case = Case(row, _("Nothing was done, because of a fault. Try it by itself."), is_done=False)
    with contained("money could not be decided about", discrepancy=name):
        try:
            with request.action.alone() as action:
                choice.decide(request, action, discrepancy, sent)
            case = replace(case, words=str(choice.done), is_done=True)
        except DomainError as refusal:
            case = replace(case, words=refusal.message)
    return case


def _totals(rows: Sequence[DecisionRow]) -> list[str]:
    """What all of it comes to: of each coin on each network, and its worth, where all of it was quoted."""
    coins: Counter[tuple[str, str, str, int]] = Counter()
    worth: Counter[str] = Counter()
    for row in rows:
        each = row.discrepancy
        coins[each.environment, each.network, each.asset, each.decimals] += int(row.giving_back.amount)
        if row.giving_back.fiat is not None:
            worth[row.payment.currency] += row.giving_back.fiat
    told = [
        _("%(coin)s on %(network)s")
        % {
            "coin": wording.coins(units, decimals, coin),
            "network": registry.known_profile(environment, network).name,
        }
        for (environment, network, coin, decimals), units in sorted(coins.items())
    ]
    if any(row.giving_back.fiat is None for row in rows):
        return told
    return [*told, *(wording.fiat(minor, currency) for currency, minor in sorted(worth.items()))]


def _accept_one(request: MemberRequest, action: OngoingAction, discrepancy: Discrepancy, case: Sent) -> None:
    pages.accept_shown(action, discrepancy, shown=case.shown, reason=case.reason, by=request.user.email)


ACCEPTING = Choice(
    title=gettext_lazy("Accept together"),
    label=gettext_lazy("Accept all of them"),
    done=gettext_lazy("The money is accepted and in your balance."),
    note=gettext_lazy("You can still refund it later, from your balance. You cannot undo the decision itself."),
    words=lambda row: row.if_accepted,
    is_possible=lambda row: row.acceptance is not None,
    why_not=lambda row: _(
        "We are checking the network of this payment, so we cannot show yet what accepting would do. Come back in a "
        "few minutes."
    ),
    decide=_accept_one,
    previews=True,
    asks_why=True,
)
