"""The first steps of a merchant, each read from what has really happened, and the page that leads through them."""

from __future__ import annotations

from dataclasses import dataclass

from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.translation import gettext as _
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_POST, require_safe

from config.environments import Environment
from merchants.access.log_in.sessions import MemberRequest, member_required
from merchants.counting import total
from merchants.models import ApiKey, Member
from merchants.people.second_factors import who_has_any
from merchants.roles import Action, Permission
from payments.merchant_wallets.models import MerchantWallet
from payments.merchant_wallets.states import WalletStatus
from payments.models import PAYMENTS
from payments.states import PaymentStatus
from webhooks.models import Delivery, Endpoint
from webhooks.states import DeliveryStatus

DELIVERIES_LOOKED_AT = 500
"""Of the newest: among so many an acknowledged one is found, or the webhook does not work."""

PAID = (PaymentStatus.COMPLETED, PaymentStatus.PARTIALLY_REFUNDED, PaymentStatus.REFUNDED)


@dataclass(frozen=True)
class Step:
    """One step, whether it is done, what is missing, and the page where that is done.

    `is_offered`: the member may do it there.
    """

    title: str
    words: str
    is_done: bool
    url: str
    label: str
    is_offered: bool = True


OF_A_BUSINESS = (
    Permission.TAKE_PAYMENTS, Permission.MANAGE_KEYS, Permission.MANAGE_WEBHOOKS, Permission.MANAGE_SETTINGS,
)  # fmt: skip
"""Permissions of the steps, but for the second factor, which is a person's own."""


@dataclass(frozen=True)
class FirstSteps:
    """All of them, for one member in the environment in view."""

    steps: list[Step]

    @property
    def done(self) -> int:
        return sum(step.is_done for step in self.steps)


def first_steps_of(request: MemberRequest) -> FirstSteps:
    """A payment by link first: it needs no code. Read by six short queries that cost the same however much happened."""
    return FirstSteps([_payment(request), _wallet(request), _key(request), _webhook(request), _factor(request)])


def are_offered(member: Member) -> bool:
    """True if the overview points to them: somebody who may do none of them, or has put them away, is spared."""
    return not member.hides_first_steps and any(member.may[each] for each in OF_A_BUSINESS)


@never_cache
@require_safe
@member_required
def show_first_steps(request: MemberRequest) -> HttpResponse:
    context = {"section": "dashboard", "first_steps": first_steps_of(request)}
    return render(request, "dashboard/first_steps/page.html", context)


@never_cache
@require_POST
@member_required(action=Action.HIDE_FIRST_STEPS)
def hide(request: MemberRequest) -> HttpResponse:
    """Take the first steps off this member's overview, or put them back with `show`."""
    hides = "show" not in request.POST
    before = {"hides_first_steps": request.member.hides_first_steps}
    Member.objects.filter(pk=request.member.pk).update(hides_first_steps=hides)
    request.action.done(request.member, before=before, after={"hides_first_steps": hides})
    if hides:
        messages.success(
            request,
            _("The first steps are hidden from your overview. You still find them in the menu of your account."),
        )
        return redirect("dashboard")
    messages.success(request, _("The first steps are on your overview again."))
    return redirect("dashboard_first_steps")


# --- the steps ---------------------------------------------------------------------------------------


def _key(request: MemberRequest) -> Step:
    live = ApiKey.objects.of(request.merchant, request.environment).live()
    used = list(live.values_list("last_used_at", flat=True))
    words = _("Your systems send it with every request. The secret key is shown once.")
    if used:
        words = _("You have a key pair, but no request has used it yet.")
    return Step(
        title=_("Create a key pair and use it"),
        words=words,
        is_done=any(used),
        url=reverse("dashboard_keys" if used else "dashboard_generate_key"),
        label=_("Your key pairs") if used else _("Create a key pair"),
        is_offered=bool(used) or request.member.may[Permission.MANAGE_KEYS],
    )


def _payment(request: MemberRequest) -> Step:
    is_sandbox = request.environment == Environment.SANDBOX
    paid = total(PAYMENTS, merchant_id=request.merchant.pk, environment=request.environment, statuses=PAID)
    return Step(
        title=_("Complete a test payment") if is_sandbox else _("Receive your first payment"),
        words=_(
            "Create a payment link and open it as a payer would. Then pay with a button on the payment’s page here."
        )
        if is_sandbox
        else _("Create a payment link and send it to a payer."),
        is_done=bool(paid),
        url=reverse("dashboard_make_link"),
        label=_("Create a payment link"),
        is_offered=request.member.may[Permission.TAKE_PAYMENTS],
    )


def _webhook(request: MemberRequest) -> Step:
    registered = Endpoint.objects.of(request.merchant, request.environment).registered()
    own = set(registered.values_list("pk", flat=True))
    newest = (
        Delivery.objects.of(request.merchant, request.environment).order_by("-id") if own else Delivery.objects.none()
    )
    rows = newest.values_list("status", "endpoint_id")[:DELIVERIES_LOOKED_AT]
    return Step(
        title=_("Add a webhook that acknowledges a delivery"),
        words=_("Your webhook has not acknowledged a delivery yet. Send it a test from its page.")
        if own
        else _("It tells your systems about every payment as it happens."),
        is_done=any(status == DeliveryStatus.DELIVERED and endpoint in own for status, endpoint in rows),
        url=reverse("dashboard_webhooks" if own else "dashboard_add_webhook"),
        label=_("Your webhooks") if own else _("Add a webhook"),
        is_offered=bool(own) or request.member.may[Permission.MANAGE_WEBHOOKS],
    )


def _wallet(request: MemberRequest) -> Step:
    in_use = MerchantWallet.objects.of(request.merchant, request.environment).filter(status=WalletStatus.IN_USE)
    proofs = list(in_use.values_list("proof", flat=True))
    return Step(
        title=_("Add your wallet and prove that it is yours"),
        words=_("You have added a wallet, but not yet proven that it is yours.")
        if proofs
        else _("Where your money is settled to."),
        is_done=any(proofs),
        url=reverse("dashboard_wallets"),
        label=_("Your wallets"),
    )


def _factor(request: MemberRequest) -> Step:
    return Step(
        title=_("Turn on a second factor"),
        words=_("Add an authenticator app or a passkey, so that a stolen password alone is not enough to log in."),
        is_done=request.user.pk in who_has_any([request.user]),
        url=reverse("account"),
        label=_("Your account settings"),
    )
