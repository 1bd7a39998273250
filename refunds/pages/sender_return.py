"""The page on which the sender of money that belongs to no payment requests its return: the address first, then a
message that the key of the sending address signs. For anybody with its link, without a log-in.
"""

from __future__ import annotations

from django import forms
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.template.loader import render_to_string
from django.utils import timezone
from django.utils.translation import gettext, gettext_lazy
from django.views.decorators.http import require_http_methods

from config.environments import Environment
from config.errors import DomainError
from config.pages import wording as amounts
from merchants.pages.forms import LookMixin
from payments.chains import registry
from payments.checkout.payer import State
from payments.deposits.models import PayerReturn
from payments.models import Deposit
from payments.states import ReturnStatus
from payments.suspense.destinations import family_of, parse_destination
from payments.suspense.payer_proofs import (
    LONGEST_SIGNATURE,
    ProofExpired,
    challenge_of,
    deposit_of_link,
    is_returnable,
    new_challenge,
    prove_sender,
    simulate_proof,
)
from refunds import wording
from refunds.pages.destination import PRIVATE_HEADERS
from refunds.pages.forms import DestinationForm


class SignatureForm(LookMixin):
    """The signature that the sender's wallet shows once it has signed."""

    token = forms.CharField(widget=forms.HiddenInput)
    signature = forms.CharField(
        label=gettext_lazy("Signature"),
        max_length=LONGEST_SIGNATURE,
        required=False,
        widget=forms.TextInput(attrs={"autocomplete": "off", "spellcheck": "false"}),
    )


@require_http_methods(["GET", "HEAD", "POST"])
def show_return(request: HttpRequest, token: str) -> HttpResponse:
    """Show the form for the address, then for the signature, and after that the progress."""
    deposit = deposit_of_link(token)
    if deposit is None:
        raise Http404
    returned = deposit.returns.exclude(status=ReturnStatus.REPLACED).order_by("-pk").first()
    may_request = is_returnable(deposit) and (returned is None or returned.status == ReturnStatus.FAILED)
    if not may_request:
        return redirect(request.path) if request.method == "POST" else _page(request, deposit, returned, {})
    if "token" in request.POST:
        return _take_signature(request, deposit)
    form = DestinationForm(request.POST or None, families=[family_of(deposit.environment, deposit.network)])
    form.fields["destination"].label = gettext("Your address on %(network)s") % {"network": _network(deposit)}
    if request.method != "POST" or not form.is_valid():
        return _page(request, deposit, returned, {"form": form})
    try:
        destination = parse_destination(
            environment=deposit.environment,
            network=deposit.network,
            address=form.cleaned_data["destination"],
            memo=form.cleaned_data.get("memo", ""),
            memo_type=form.memo_type,
        )
    except DomainError as refusal:
        form.add_refusal(refusal)
        return _page(request, deposit, returned, {"form": form})
    challenge = new_challenge(deposit, destination, now=timezone.now())
    context = {"challenge": challenge.text, "proof": SignatureForm(initial={"token": challenge.token})}
    return _page(request, deposit, returned, context)


def _take_signature(request: HttpRequest, deposit: Deposit) -> HttpResponse:
    form = SignatureForm(request.POST)
    token = request.POST["token"]
    try:
        _, text = challenge_of(deposit, token, now=timezone.now())
    except ProofExpired:  # it begins again with the address
        return redirect(request.path)
    try:
        if form.is_valid() and "simulate" in request.POST:
            simulate_proof(deposit, token=token)
        elif form.is_valid():
            prove_sender(deposit, token=token, signature=form.cleaned_data["signature"])
    except DomainError as refusal:
        form.add_refusal(refusal)
    if form.is_valid():
        return redirect(request.path)
    return _page(request, deposit, None, {"challenge": text, "proof": form})


def _page(
    request: HttpRequest, deposit: Deposit, returned: PayerReturn | None, steps: dict[str, object]
) -> HttpResponse:
    is_sandbox = deposit.environment == Environment.SANDBOX
    context = {
        "amount": amounts.coins_held(deposit.amount, deposit.decimals),
        "coin": deposit.asset,
        "network": _network(deposit),
        "family": family_of(deposit.environment, deposit.network),
        "sender": deposit.sender,
        "sender_in_fours": wording.in_fours(deposit.sender),
        "transaction_hash": deposit.transaction_hash,
        "sandbox": is_sandbox,
        "can_simulate": is_sandbox and registry.is_simulated(deposit.environment),
        "state": _state(deposit, returned, is_open=bool(steps)),
        "returned": returned,
        "recipient_in_fours": wording.in_fours(returned.recipient) if returned else (),
        **steps,
    }
    return HttpResponse(render_to_string("refunds/return.html", context, request), headers=PRIVATE_HEADERS)


def _state(deposit: Deposit, returned: PayerReturn | None, *, is_open: bool) -> State:
    if is_open:
        detail = gettext(
            "It does not belong to any payment. Whoever controls the address it was sent from can get it back."
        )
        if returned:  # an earlier one has failed
            detail = gettext("It could not be sent to the address you entered. Enter another one.")
        return State(gettext("Get your money back"), detail, "accent", "wallet")
    match returned.status if returned else None:
        case ReturnStatus.PROVEN:
            detail = gettext("You have proved that you sent it. Two people check it before it is sent back.")
            return State(gettext("We are checking your request"), detail, "accent", "clock", waiting=True)
        case ReturnStatus.PENDING:
            detail = gettext("It will be sent soon or is on its way. You do not need to wait.")
            return State(gettext("Your money is on its way"), detail, "accent", "blocks", waiting=True)
        case ReturnStatus.COMPLETED:
            detail = gettext("It is final on the network. You can close this page.")
            return State(gettext("Your money has been sent"), detail, "good", "check")
    detail = gettext("This money has already been dealt with. Contact the shop you wanted to pay.")
    return State(gettext("This money cannot be requested here"), detail, "calm", "clock")


def _network(deposit: Deposit) -> str:
    return registry.known_profile(deposit.environment, deposit.network).name
