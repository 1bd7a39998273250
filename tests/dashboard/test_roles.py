"""What each role may do: every page by every role, and the buttons that pages offer."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from django.test import Client

from merchants.models import Member, Merchant
from merchants.roles import Permission, Role
from tests.dashboard.addresses import DOWNLOADS, FIELDS, READS, WRITES, Records, everything
from tests.dashboard.conftest import browser_of
from tests.factories import make_member

ROOT = Path(__file__).resolve().parent.parent.parent

PEOPLE = "owner admin developer support viewer"
MONEY = "owner admin developer support"
DECIDING = "owner admin support"
TECHNICAL = "owner admin developer"
LEADING = "owner admin"
OWNING = "owner"

SEEN_BY = dict.fromkeys(READS, PEOPLE) | {
    "/dashboard/payments/new": MONEY,
    "/dashboard/payments/{payment}/refund": MONEY,
    "/dashboard/payments/{payment}/close": DECIDING,
    "/dashboard/decisions/accept": DECIDING,
    "/dashboard/decisions/give-back": MONEY,
    "/dashboard/decisions/{discrepancy}/accept": DECIDING,
    "/dashboard/decisions/{discrepancy}/give-back": MONEY,
    "/dashboard/links/new": MONEY,
    "/dashboard/links/{link}/edit": MONEY,
    "/dashboard/refunds/file": MONEY,
    "/dashboard/settlements/now": LEADING,
    "/dashboard/invoices/billing": LEADING,
    "/dashboard/members/invite": LEADING,
    "/dashboard/members/{member}/role": LEADING,
    "/dashboard/members/{member}/remove": LEADING,
    "/dashboard/members/{member}/hand-over": OWNING,
    "/dashboard/wallets/set": LEADING,
    "/dashboard/wallets/lost": LEADING,
    "/dashboard/wallets/{wallet}/prove": LEADING,
    "/dashboard/keys/new": TECHNICAL,
    "/dashboard/keys/{key}/rotate": TECHNICAL,
    "/dashboard/keys/{key}/delete": TECHNICAL,
    "/dashboard/requests": TECHNICAL,
    "/dashboard/requests/{logged}": TECHNICAL,
    "/dashboard/audit": LEADING,
    "/dashboard/audit/export": LEADING,
    "/dashboard/webhooks/bench": TECHNICAL,
    "/dashboard/webhooks/new": TECHNICAL,
    "/dashboard/webhooks/signing-secret": TECHNICAL,
    "/dashboard/webhooks/{webhook}/edit": TECHNICAL,
    "/dashboard/webhooks/{webhook}/rotate": TECHNICAL,
    "/dashboard/webhooks/{webhook}/recover": TECHNICAL,
    "/dashboard/webhooks/{webhook}/disable": TECHNICAL,
    "/dashboard/webhooks/{webhook}/delete": TECHNICAL,
    "/dashboard/connect": TECHNICAL,
}
"""Which roles see each page: those that are not named here are everybody's."""

CHANGED_BY = {
    "/dashboard/environment": PEOPLE,
    "/dashboard/first-steps/hide": PEOPLE,
    "/dashboard/merchant": PEOPLE,
    "/dashboard/payments/exports": PEOPLE,
    "/dashboard/payments/views": PEOPLE,
    "/dashboard/payments/views/delete": PEOPLE,
    "/dashboard/payments/new": MONEY,
    "/dashboard/payments/{payment}/cancel": MONEY,
    "/dashboard/payments/{payment}/note": MONEY,
    "/dashboard/payments/{payment}/transaction": MONEY,
    "/dashboard/payments/{payment}/simulate": MONEY,
    "/dashboard/payments/{payment}/refund": MONEY,
    "/dashboard/payments/{payment}/close": DECIDING,
    "/dashboard/decisions/accept": DECIDING,
    "/dashboard/decisions/give-back": MONEY,
    "/dashboard/decisions/{discrepancy}/accept": DECIDING,
    "/dashboard/decisions/{discrepancy}/give-back": MONEY,
    "/dashboard/links/new": MONEY,
    "/dashboard/links/{link}/edit": MONEY,
    "/dashboard/links/{link}/enable": MONEY,
    "/dashboard/links/{link}/disable": MONEY,
    "/dashboard/refunds/{refund}/cancel": MONEY,
    "/dashboard/refunds/{refund}/destination": MONEY,
    "/dashboard/refunds/file": MONEY,
    "/dashboard/refunds/file/{batch}": MONEY,
    "/dashboard/settlements/now": LEADING,
    "/dashboard/invoices/billing": LEADING,
    "/dashboard/settlements/{settlement}/retry": LEADING,
    "/dashboard/settlements/{settlement}/wallet": LEADING,
    "/dashboard/members/invite": LEADING,
    "/dashboard/preferences": PEOPLE,
    "/dashboard/members/withdraw": LEADING,
    "/dashboard/members/leave": PEOPLE,
    "/dashboard/members/{member}/role": LEADING,
    "/dashboard/members/{member}/remove": LEADING,
    "/dashboard/members/{member}/hand-over": OWNING,
    "/dashboard/wallets/set": LEADING,
    "/dashboard/wallets/lost": LEADING,
    "/dashboard/wallets/{wallet}/prove": LEADING,
    "/dashboard/wallets/{wallet}/cancel": LEADING,
    "/dashboard/keys/new": TECHNICAL,
    "/dashboard/keys/{key}/rotate": TECHNICAL,
    "/dashboard/keys/{key}/keep": TECHNICAL,
    "/dashboard/keys/{key}/delete": TECHNICAL,
    "/dashboard/settings": LEADING,
    "/dashboard/settings/policy": LEADING,
    "/dashboard/settings/branding": LEADING,
    "/dashboard/webhooks/bench/check": TECHNICAL,
    "/dashboard/webhooks/bench/send": TECHNICAL,
    "/dashboard/webhooks/new": TECHNICAL,
    "/dashboard/webhooks/signing-secret": TECHNICAL,
    "/dashboard/webhooks/{webhook}/edit": TECHNICAL,
    "/dashboard/webhooks/{webhook}/rotate": TECHNICAL,
    "/dashboard/webhooks/{webhook}/recover": TECHNICAL,
    "/dashboard/webhooks/{webhook}/test": TECHNICAL,
    "/dashboard/webhooks/{webhook}/enable": TECHNICAL,
    "/dashboard/webhooks/{webhook}/disable": TECHNICAL,
    "/dashboard/webhooks/{webhook}/delete": TECHNICAL,
    "/dashboard/connect": TECHNICAL,
    "/dashboard/deliveries/{delivery}/redeliver": TECHNICAL,
}
"""Which roles may send the form of each page."""


def browser_with(role: Role, merchant: Merchant) -> Client:
    return browser_of(make_member(merchant, role=role))


def test_the_tables_name_every_page() -> None:
    assert set(SEEN_BY) == set(READS)
    assert set(CHANGED_BY) == set(WRITES)


@pytest.mark.parametrize("role", Role)
def test_every_form_lets_a_role_through_or_refuses_it(role: Role, records: Records) -> None:
    browser, before = browser_with(role, records.payment.merchant), everything()
    refused = {path for path, roles in CHANGED_BY.items() if role not in roles.split()}
    replies = {path: browser.post(records.in_path(path), FIELDS).status_code for path in sorted(refused)}
    assert replies == dict.fromkeys(refused, 403)
    assert everything() == before

    # Deleting comes last, as there is no record to be let through to afterwards, and leaving after everything.
    last = ("/delete", "/remove", "/leave")
    let_through = sorted(set(CHANGED_BY) - refused, key=lambda path: [path.endswith(each) for each in reversed(last)])
    fields = FIELDS | {"merchant": records.payment.merchant.public_id}
    replies = {path: browser.post(records.in_path(path), fields).status_code for path in let_through}
    assert not {path: status for path, status in replies.items() if status in (403, 404, 405)}


def offered(browser: Client, records: Records, role: Role) -> Iterator[str]:
    """Every address that forms and links of the pages lead this role to; each page lets it through or refuses it."""
    replies = {path: browser.get(records.in_path(path)) for path in READS}
    expected = {path: 200 if role in roles.split() else 403 for path, roles in SEEN_BY.items()}
    assert {path: reply.status_code for path, reply in replies.items()} == expected, role
    for path, reply in replies.items():
        if expected[path] == 200 and path not in DOWNLOADS:
            yield from re.findall(r'<form[^>]*method="post"[^>]*action="([^"]*)"', reply.text)
            yield from re.findall(r'href="([^"]*)"', reply.text)


def test_pages_are_shown_or_refused_to_a_role_and_offer_it_what_it_may_do_and_nothing_else(records: Records) -> None:
    changes = {records.in_path(path): roles.split() for path, roles in CHANGED_BY.items() if path not in READS}
    forms = {records.in_path(path): roles.split() for path, roles in SEEN_BY.items()}
    found = {
        role: set(offered(browser_with(role, records.payment.merchant), records, role)) & {*changes, *forms}
        for role in Role
    }
    for role in Role:
        permitted = {address for address, roles in (changes | forms).items() if role in roles}
        assert found[role] - permitted == set(), role
        assert found[Role.OWNER] & permitted - found[role] == set(), role


def test_a_page_without_an_action_refuses_to_be_posted_to(records: Records) -> None:
    owner = browser_with(Role.OWNER, records.payment.merchant)
    replies = {path: owner.post(records.in_path(path)).status_code for path in set(READS) - set(WRITES)}
    assert set(replies.values()) == {405}


def test_an_unknown_role_may_do_nothing() -> None:
    member = Member(role="janitor")
    assert set(member.may.values()) == {False}


def test_templates_ask_for_permissions_that_exist() -> None:
    pages = "\n".join(page.read_text() for page in (ROOT / "templates").rglob("*.html"))
    asked = set(re.findall(r"\bmember\.may\.(\w+)", pages))
    assert asked
    assert asked <= set(Permission.values)
