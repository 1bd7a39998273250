"""The pages of a merchant's wallets: where it is paid on each network, what waits to change that, and proofs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.utils import timezone
from django.utils.translation import gettext as _
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from config import ids
from config.environments import Environment
from config.errors import DomainError
from merchants import wording as instants
from merchants.access.log_in.sessions import MemberRequest, member_required
from merchants.audit.recording import fields_of
from merchants.pages.dashboard import reporting
from merchants.roles import Action
from payments.chains import registry
from payments.dashboard.wallet_forms import ProofForm, WalletForm
from payments.merchant_wallets.models import MerchantWallet
from payments.merchant_wallets.proving import (
    AccountReply,
    AlreadyProven,
    Challenge,
    ProofExpired,
    challenge_of,
    new_challenge,
    prove_wallet,
    query_account,
    simulate_proof,
)
from payments.merchant_wallets.services import cancel_change, set_wallet, wait_of
from payments.merchant_wallets.states import WalletStatus
from payments.suspense.recipient_checks import query_wallet

SECTION = "dashboard_wallets"
WALLET_FIELDS = ("network", "address", "label", "status")
"""Fields of a wallet in the audit log."""
EARLIER_SHOWN = 20


@dataclass(frozen=True)
class LostRow:
    """A wallet whose key is lost, until another one stands for it."""

    wallet: MerchantWallet
    ends: str
    """The end of its wait, in the merchant's time zone; empty when that is over."""


@dataclass(frozen=True)
class NetworkRow:
    """A network, the wallet that is paid there and the one that waits to be."""

    network: str
    name: str
    zone: str
    now: datetime
    in_use: MerchantWallet | None
    waiting: MerchantWallet | None
    lost: Sequence[LostRow] = ()

    @property
    def takes_effect(self) -> str:
        """Time of the change, in the merchant's time zone; empty when only a proof is missing."""
        if self.waiting is None or self.waiting.takes_effect_at <= self.now:
            return ""
        return instants.with_offset(self.waiting.takes_effect_at, self.zone)

    @property
    def time_left(self) -> str:
        return instants.from_now(self.waiting.takes_effect_at, self.now) if self.waiting else ""


@never_cache
@require_safe
@member_required
def list_wallets(request: MemberRequest) -> HttpResponse:
    chosen = request.merchant.settings.get(environment=request.environment)
    own = MerchantWallet.objects.of(request.merchant, request.environment)
    current = own.filter(status__in=[WalletStatus.IN_USE, WalletStatus.WAITING])
    found = {(each.network, each.status): each for each in current}
    now = timezone.now()
    lost = list(own.filter(status=WalletStatus.LOST).select_related("asked_by").order_by("id"))
    rows = [
        NetworkRow(
            network=network,
            name=registry.profile(request.environment, network).name,
            zone=chosen.settlement_timezone,
            now=now,
            in_use=found.get((network, WalletStatus.IN_USE)),
            waiting=found.get((network, WalletStatus.WAITING)),
            lost=[
                LostRow(each, _moment(each.takes_effect_at, now, chosen.settlement_timezone))
                for each in lost
                if each.network == network
            ],
        )
        for network in registry.networks(request.environment)
    ]
    ended = own.filter(status__in=[WalletStatus.REPLACED, WalletStatus.CANCELLED]).order_by("-ended_at")
    context = {
        "section": SECTION,
        "rows": rows,
        "ended": ended[:EARLIER_SHOWN],
        "wait": _in_words(request.environment),
        "allow_list": chosen.wallet_allow_list,
    }
    return render(request, "dashboard/wallets/list.html", context)


def _moment(at: datetime, now: datetime, zone: str) -> str:
    """The time in words; empty once it is over."""
    return instants.with_offset(at, zone) if at > now else ""


def _query_wallet(request: MemberRequest) -> None:
    """Query the network about the wallet; `set_wallet` uses the stored result."""
    form = WalletForm(request.POST, environment=request.environment)
    if form.is_valid():
        data = form.cleaned_data
        query_wallet(request.environment, data["network"], data["address"], merchant_id=request.merchant.pk)


@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
@member_required(action=Action.SET_WALLET, before_transaction=_query_wallet)
def name_wallet(request: MemberRequest) -> HttpResponse:
    """Names the wallet of a network, or another one in its place."""
    environment = request.environment
    own = MerchantWallet.objects.of(request.merchant, environment).filter(status=WalletStatus.IN_USE)
    if request.method == "POST":
        form = WalletForm(request.POST, environment=environment)
        if form.is_valid() and (wallet := _set(request, form)) is not None:
            if wallet.proof:
                return redirect(SECTION)
            return redirect("dashboard_prove_wallet", wallet.public_id)
    else:
        form = WalletForm(environment=environment, initial={"network": request.GET.get("network", "")})
    context = {"section": SECTION, "form": form, "wait": _in_words(environment), "has_wallets": own.exists()}
    return render(request, "dashboard/wallets/set.html", context, status=400 if form.errors else 200)


def _set(request: MemberRequest, form: WalletForm) -> MerchantWallet | None:
    data = form.cleaned_data
    before = MerchantWallet.objects.of(request.merchant, request.environment).filter(
        network=data["network"], status=WalletStatus.IN_USE
    )
    old = before.first()
    try:
        wallet = set_wallet(merchant=request.merchant, environment=request.environment, by=request.member, **data)
    except DomainError as refusal:
        form.add_refusal(refusal)
        return None
    request.action.done(
        wallet, before=fields_of(old, *WALLET_FIELDS) if old else {}, after=fields_of(wallet, *WALLET_FIELDS)
    )
    if wallet.status == WalletStatus.WAITING:
        words = _("The change waits. Until then, settlements go to your current wallet.")
    else:
        words = _("The wallet is saved.")
    messages.success(request, words)
    return wallet


def _query_account(request: MemberRequest, wallet_id: str) -> AccountReply | None:
    """Verdict on the signature by the contract at the address, if there is one."""
    form = ProofForm(request.POST)
    return query_account(_own_wallet(request, wallet_id), **form.cleaned_data) if form.is_valid() else None


@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
@member_required(action=Action.PROVE_WALLET, before_transaction=_query_account)
def prove(request: MemberRequest, wallet_id: str) -> HttpResponse:
    """Shows a message to sign, and takes its signature; in the sandbox a simulated wallet signs by itself."""
    wallet = _own_wallet(request, wallet_id)
    is_current = wallet.status in (WalletStatus.IN_USE, WalletStatus.WAITING)
    if request.method != "POST" and (wallet.proof or not is_current):
        return redirect(SECTION)
    now, form = timezone.now(), ProofForm()
    can_simulate = request.environment == Environment.SANDBOX and registry.is_simulated(request.environment)
    if request.method == "POST":
        if can_simulate and "simulate" in request.POST:
            with reporting(request, _("The wallet is proven.")):
                proven = simulate_proof(wallet)
                request.action.done(proven, after=fields_of(proven, "address", "proof"))
            return redirect(SECTION)
        form = ProofForm(request.POST)
        if form.is_valid() and _is_proven(request, wallet, form):
            return redirect(SECTION)
    challenge = _challenge(wallet, request.POST.get("token", ""), now)
    profile = registry.profile(request.environment, wallet.network)
    context = {
        "section": SECTION,
        "wallet": wallet,
        "network": profile.name,
        "family": profile.family,
        "form": form,
        "challenge": challenge,
        "can_simulate": can_simulate,
    }
    return render(request, "dashboard/wallets/prove.html", context, status=400 if form.errors else 200)


def _is_proven(request: MemberRequest, wallet: MerchantWallet, form: ProofForm) -> bool:
    """Prove the wallet; False, with the reason in the form, if it is not proven."""
    try:
        reply = request.heard if isinstance(request.heard, AccountReply) else None
        proven = prove_wallet(wallet, reply=reply, **form.cleaned_data)
    except AlreadyProven as refusal:
        messages.info(request, refusal.message)
        request.action.refused()
        return True
    except DomainError as refusal:
        form.add_refusal(refusal)
        return False
    request.action.done(proven, after=fields_of(proven, "address", "proof"))
    messages.success(request, _("The wallet is proven."))
    return True


def _challenge(wallet: MerchantWallet, token: str, now: datetime) -> Challenge:
    """The message that was shown before, as long as it is good; else a new one."""
    try:
        return challenge_of(wallet, token, now=now)
    except ProofExpired:
        return new_challenge(wallet, now=now)


@never_cache
@require_POST
@member_required(action=Action.CANCEL_WALLET)
def cancel(request: MemberRequest, wallet_id: str) -> HttpResponse:
    wallet = _own_wallet(request, wallet_id)
    was_lost = wallet.status == WalletStatus.LOST
    words = (
        _("The wallet is paid again.") if was_lost else _("The change is cancelled. Your current wallet stays in use.")
    )
    with reporting(request, words):
        cancelled = cancel_change(wallet, by=request.user)
        request.action.done(
            cancelled, before=fields_of(wallet, "address", "status"), after=fields_of(cancelled, "status")
        )
    return redirect(SECTION)


def _own_wallet(request: MemberRequest, wallet_id: str) -> MerchantWallet:
    own = MerchantWallet.objects.of(request.merchant, request.environment).select_related("merchant")
    return get_object_or_404(own, pk=ids.MERCHANT_WALLET.decode(wallet_id))


def _in_words(environment: str) -> str:
    """`24 hours`; empty when a change does not wait."""
    hours = round(wait_of(environment).total_seconds() / 3600)
    return _("%(hours)d hours") % {"hours": hours} if hours else ""
