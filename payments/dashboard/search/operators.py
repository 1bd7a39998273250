"""The operators' search over everything: `/admin/search`."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

from django.contrib import admin
from django.core.exceptions import PermissionDenied
from django.db.models import Q
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils.translation import override
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods

from config.admin.search import MOST_SHOWN, NEWEST, Group, Hit, Typed, find_records, title_of
from config.admin.values import page_of
from config.database.replica import reads_from_replica
from config.pages.wording import fiat
from payments.chains import registry
from payments.chains.errors import InvalidAddress
from payments.chains.recipients import person_of
from payments.claims.lookup import is_hash, look_up
from payments.dashboard.search.everywhere import find_payments
from payments.models import Deposit, Payment

LONGEST_TEXT = 200
SHORTEST_TEXT = 2

READ_AGAIN = "payments.change_scancursor"
"""The permission to have networks read again."""


@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
@admin.site.admin_view
@reads_from_replica
def search(request: HttpRequest) -> HttpResponse:
    """What was found, by kind, and of a hash that is on no record what networks know. A POST has them read again what
    came to us and was never seen."""
    if request.method == "POST" and not request.user.has_perm(READ_AGAIN):
        raise PermissionDenied
    typed_text = (request.POST if request.method == "POST" else request.GET).get("q", "")
    text = " ".join(typed_text.replace("\0", " ").split())[:LONGEST_TEXT]
    shown: dict[str, Any] = {"title": "Search", "q": text}
    if len(text) >= SHORTEST_TEXT:
        typed = Typed(text, _spellings(text))
        groups = find_records(admin.site, request, typed, also=_of_money(typed))
        if admin.site.get_model_admin(Payment).has_view_permission(request):
            first = request.GET.get("from", "")
            found = find_payments(typed, first=int(first) if first.isdecimal() and len(first) < 7 else 0)
            groups = _with_payments(groups, [_hit(*each) for each in found.payments])
            shown["following"] = found.following
            shown |= _from_networks(request, text, is_on_record=bool(groups))
        shown |= {"groups": list(groups.values()), "most_shown": MOST_SHOWN, "newest": NEWEST}
    return render(request, "admin/search.html", {**admin.site.each_context(request), **shown})


def _from_networks(request: HttpRequest, text: str, *, is_on_record: bool) -> dict[str, Any]:
    """What networks know of a hash: when it is on no record, or when somebody asks."""
    if not is_hash(text):
        return {}
    reads_again = request.method == "POST"
    if is_on_record and not reads_again and "ask" not in request.GET:
        return {"may_ask": True}
    with override("en"):
        replies = list(look_up(text, reads_again=reads_again))
    is_unread = any(reply.is_unread for reply in replies)
    return {"replies": replies, "may_read_again": is_unread and not reads_again and request.user.has_perm(READ_AGAIN)}


def _spellings(text: str) -> set[str]:
    """How an address, a hash or an id can be stored."""
    found = {text, text.lower()}
    if is_hash(text):
        bare = text.lower().removeprefix("0x")
        found |= {bare, f"0x{bare}"}
    for environment, network in registry.places_in_use():
        with suppress(InvalidAddress):
            found.add(registry.chain(environment, network).parse_address(text))
    return found


def _of_money(typed: Typed) -> dict[str, list[tuple[str, Q]]]:
    """Conditions for a whole hash, address or memo of deposits and payments, each with an index of its own."""
    deposits, payments = Deposit.objects.all(), Payment.objects.all()
    found = [("deposit_address", Q(pk__in=payments.paid_at(typed.spellings).values("pk")))]
    if is_hash(typed.text):
        places = registry.places_in_use()
        within = {"environment__in": {each for each, _ in places}, "network__in": {each for _, each in places}}
        by_hash = [
            ("transaction_hash", Q(transaction_hash__in=typed.spellings, **within)),
            ("inner_hash", Q(inner_hash__in=typed.spellings) & ~Q(inner_hash="")),
        ]
        found += [(column, Q(pk__in=deposits.filter(each).values("payment"))) for column, each in by_hash]
        return {"payments.Deposit": by_hash, "payments.Payment": found}
    shared = [
        registry.chain(*place).payout_address()
        for place in registry.places_in_use()
        if registry.profile(*place).shares_account
    ]
    if shared:
        memos = [person_of(typed.text) or typed.text]
        found.append(("memo", Q(pk__in=payments.paid_at(shared, memos).values("pk"))))
    found.append(("sender", Q(pk__in=deposits.filter(sender__in=typed.spellings).values("payment"))))
    return {"payments.Payment": found}


def _hit(payment: Payment, match: Any) -> Hit:
    matched = (match.label, match.before, match.part, match.after) if match else _price(payment)
    return Hit(payment.pk, payment.public_id, page_of(Payment, payment.pk), *matched)


def _price(payment: Payment) -> tuple[str, str, str, str]:
    return ("price", "", fiat(payment.fiat_amount, payment.currency), "")


def _with_payments(groups: dict[str, Group], hits: list[Hit]) -> dict[str, Group]:
    """Payments first, each once, the newest first."""
    label = Payment._meta.label
    own = groups.pop(label).hits if label in groups else []
    every = {hit.key: hit for hit in (*hits, *own)}
    if not every:
        return groups
    newest = sorted(every.values(), key=lambda hit: hit.key, reverse=True)[:MOST_SHOWN]
    return {label: Group(title_of(Payment), newest), **groups}
