"""The page on which a merchant declares the key of a wallet lost: nothing more is paid to it."""

from __future__ import annotations

from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext as _
from django.utils.translation import ngettext
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods

from config.errors import DomainError
from merchants.access.log_in.sessions import MemberRequest, member_required
from merchants.audit.recording import fields_of
from merchants.roles import Action
from payments.merchant_wallets.services import wait_of
from settlements.pages.forms import LostWalletForm
from settlements.plans.reading import wallets_with_money
from settlements.services import CalledBack, declare_wallet_lost

SECTION = "dashboard_wallets"


@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
@member_required(action=Action.LOSE_WALLET)
def lose_wallet(request: MemberRequest) -> HttpResponse:
    """Show the choice of the wallet and the consequences; then keep the money for it from being paid."""
    environment = request.environment
    wallets = wallets_with_money(request.merchant, environment)
    data = request.POST if request.method == "POST" else None
    form = LostWalletForm(data, wallets=wallets, environment=environment)
    if request.method == "POST" and form.is_valid() and (done := _declare(request, form)) is not None:
        messages.success(request, _("Nothing more is paid to the wallet. All members get an e-mail."))
        if done.back:
            words = ngettext(
                "%d settlement to it was called back.", "%d settlements to it were called back.", len(done.back)
            )
            messages.success(request, words % len(done.back))
        if done.gone:
            words = ngettext(
                "%d settlement was sent already and cannot be called back.",
                "%d settlements were sent already and cannot be called back.",
                len(done.gone),
            )
            messages.warning(request, words % len(done.gone))
        return redirect(SECTION)
    hours = round(wait_of(environment).total_seconds() / 3600)
    context = {"section": SECTION, "form": form, "has_wallets": bool(wallets), "hours": hours}
    return render(request, "dashboard/wallets/lost.html", context, status=400 if form.errors else 200)


def _declare(request: MemberRequest, form: LostWalletForm) -> CalledBack | None:
    network, address = form.chosen
    try:
        done = declare_wallet_lost(network=network, address=address, environment=request.environment, by=request.member)
    except DomainError as refusal:
        form.add_refusal(refusal)
        return None
    after = fields_of(done.wallet, "network", "address", "status")
    request.action.done(done.wallet, after={**after, "settlements": [each.public_id for each in done.back]})
    return done
