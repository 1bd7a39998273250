"""The audit log: one row for every action of a person, none for what was refused, and nobody can change it."""

from __future__ import annotations

import csv
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from datetime import timedelta
from io import StringIO
from typing import Any

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.db import IntegrityError, connection, transaction
from django.http import Http404, HttpResponse, HttpResponseRedirect
from django.test import Client
from django.utils import timezone
from pytest_django.fixtures import Settings

from config import ids
from config.api.renderers import format_instant
from merchants.audit.models import LoggedAction
from merchants.audit.purging import purge
from merchants.audit.recording import ActionReported, OngoingAction, Origin, SecretLogged, log_action
from merchants.members import add_member
from merchants.models import ApiKey, Member, Merchant
from merchants.people.invitations import invite_member
from merchants.roles import OF_THE_ACCOUNT, Action, Role
from merchants.rotation import rotate_api_key
from merchants.wording import device
from payments.dashboard.search.filters import PaymentFilter
from payments.dashboard.views import save_view
from payments.links.services import update_link
from payments.merchant_wallets.models import MerchantWallet
from payments.merchant_wallets.services import cancel_change
from refunds.batches.services import confirm_batch
from refunds.services import give_destination
from refunds.states import NamedBy
from tests.dashboard.addresses import FIELDS, ONLY_OF_THE_SESSION, READS, WRITES, Records, everything
from tests.dashboard.conftest import browser_of
from tests.factories import PASSWORD, make_member, make_merchant
from tests.payments.scenes import (
    POLYGON,
    STELLAR,
    WALLETS,
    make_payment,
    mine_and_watch,
    pay_and_confirm,
    pay_without_memo,
    watch,
)
from tests.refunds.filing import file_of
from tests.refunds.scenes import wallet
from tests.settlements.page_scenes import earn, fail
from webhooks.services import disable_endpoint
from webhooks.states import DisabledReason

pytestmark = pytest.mark.django_db

Scene = Callable[[Records], tuple[Records, dict[str, Any]]]
BROWSER = "Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0"


def as_they_are(records: Records) -> tuple[Records, dict[str, Any]]:
    return records, {}


def paid(records: Records) -> tuple[Records, dict[str, Any]]:
    payment = earn(records.payment.merchant, network=STELLAR)
    return replace(records, payment=payment), {"amount": "10", "destination": wallet()}


def short(records: Records) -> tuple[Records, dict[str, Any]]:
    payment = pay_and_confirm(make_payment(STELLAR, merchant=records.payment.merchant), "60")
    return replace(records, payment=payment), {"accept": "yes"}


def a_ticked_sum(records: Records) -> tuple[Records, dict[str, Any]]:
    return records, {"case": records.discrepancy.public_id, records.discrepancy.public_id: "It is ours."}


def money_without_a_memo(records: Records) -> tuple[Records, dict[str, Any]]:
    payment = make_payment(STELLAR, merchant=records.payment.merchant)
    named = pay_without_memo(payment, "100")
    mine_and_watch(STELLAR)
    watch()
    return replace(records, payment=payment), {"hash": named}


def failed_settlement(records: Records) -> tuple[Records, dict[str, Any]]:
    return replace(records, settlement=fail(records.settlement)), {"wallet": wallet(name="another wallet")}


def new_settings(records: Records) -> tuple[Records, dict[str, Any]]:
    return records, {
        "settlement_currency": "USDC",
        "settlement_frequency": "daily",
        "settlement_time": "00:00",
        "settlement_timezone": "UTC",
        "settlement_minimum": "25",
    }


def new_policy(records: Records) -> tuple[Records, dict[str, Any]]:
    return records, {"payment_tolerance": "0", "late_payments": "accept"}


def a_rotated_key(records: Records) -> tuple[Records, dict[str, Any]]:
    rotate_api_key(key=records.key, overlap=timedelta(hours=24))
    return replace(records, key=ApiKey.objects.get(pk=records.key.pk)), {}


def a_colour(records: Records) -> tuple[Records, dict[str, Any]]:
    return records, {"accent": "#aa3300"}


def a_wrong_colour(records: Records) -> tuple[Records, dict[str, Any]]:
    return records, {"accent": "red"}


def in_the_future(records: Records) -> tuple[Records, dict[str, Any]]:
    return records, {"since": "2999-01-01T00:00"}


def a_coin(records: Records) -> tuple[Records, dict[str, Any]]:
    return records, {"coin": "USDC", "network": "polygon"}


def a_disabled_link(records: Records) -> tuple[Records, dict[str, Any]]:
    return replace(records, link=update_link(records.link, {"enabled": False})), {}


def somebody_new(records: Records) -> tuple[Records, dict[str, Any]]:
    return records, {"email": "new@example.com", "role": "viewer"}


def an_invitation(records: Records) -> tuple[Records, dict[str, Any]]:
    leader = client_member(records)
    invitation = invite_member(by=leader, email="new@example.com", role="viewer")
    return records, {"invitation": str(invitation.pk)}


def another_time_zone(records: Records) -> tuple[Records, dict[str, Any]]:
    return records, {
        "timezone": "berlin",
        "language": "en",
        "number_style": "point",
        "notices": ["decision", "settlement_held", "settlement_waits"],
    }


def another_role(records: Records) -> tuple[Records, dict[str, Any]]:
    return records, {"role": "viewer"}


def giving_up(records: Records) -> tuple[Records, dict[str, Any]]:
    return records, {"become": "admin"}


def another_owner(records: Records) -> tuple[Records, dict[str, Any]]:
    make_member(records.payment.merchant)
    return records, {}


def a_file(records: Records) -> tuple[Records, dict[str, Any]]:
    content = file_of(f"{earn(records.payment.merchant, network=STELLAR).public_id},5", heading="payment,amount")
    return records, {"file": SimpleUploadedFile("refunds.csv", content)}


def a_confirmed_batch(records: Records) -> tuple[Records, dict[str, Any]]:
    confirm_batch(records.batch, confirmed_by="somebody@example.com")
    return records, {}


def a_wallet(records: Records) -> tuple[Records, dict[str, Any]]:
    return records, {"network": "polygon", "address": WALLETS[POLYGON], "label": "Treasury"}


def a_lost_wallet(records: Records) -> tuple[Records, dict[str, Any]]:
    in_use = MerchantWallet.objects.get(merchant=records.payment.merchant, status="in_use")
    return records, {"wallet": f"{in_use.network} {in_use.address}"}


def a_simulated_signature(records: Records) -> tuple[Records, dict[str, Any]]:
    return records, {"simulate": "yes"}


def a_cancelled_change(records: Records) -> tuple[Records, dict[str, Any]]:
    cancel_change(records.wallet, by=records.wallet.asked_by)
    return records, {}


def disabled(records: Records) -> tuple[Records, dict[str, Any]]:
    return replace(records, webhook=disable_endpoint(endpoint=records.webhook, reason=DisabledReason.MERCHANT)), {}


def refund_on_its_way(records: Records) -> tuple[Records, dict[str, Any]]:
    give_destination(records.refund, address=wallet(), named_by=NamedBy.MERCHANT)
    return records, {}


def a_filter(records: Records) -> tuple[Records, dict[str, Any]]:
    return records, {"network": "polygon"}


def a_wrong_filter(records: Records) -> tuple[Records, dict[str, Any]]:
    return records, {"status": "lost"}


def a_view(records: Records) -> tuple[Records, dict[str, Any]]:
    actor = client_member(records).user
    filters = PaymentFilter.from_json({"network": "polygon"})
    view = save_view(
        merchant=records.payment.merchant, environment="sandbox", user=actor, name="Polygon", filters=filters
    )
    return records, {"view": view.public_id}


def a_sample(records: Records) -> tuple[Records, dict[str, Any]]:
    return records, {"endpoint": records.webhook.public_id, "type": "payment.completed"}


@dataclass(frozen=True)
class Done:
    """What the log says once a form was sent: the action, to which record, and which fields it changed."""

    action: Action
    record: str = ""
    before: set[str] = field(default_factory=set)
    after: set[str] = field(default_factory=set)
    scene: Scene = as_they_are


LINK = {
    *("description", "note", "currency", "amount", "least", "most", "coins", "wallets", "max_uses"),
    *("expires_at", "expires_in", "redirect_url", "metadata"),
}
KEY = {"name", "public_key", "scopes", "expires_at", "allowed_networks", "require_signature"}
ENDPOINT = {"url", "description", "events"}
STATUS = {"status"}
WALLET = {"address", "status"}
ENABLED = {"enabled"}
WORDS = {"description"}

DONE: Mapping[str, Done] = {
    "/dashboard/first-steps/hide": Done(Action.HIDE_FIRST_STEPS, "new", {"hides_first_steps"}, {"hides_first_steps"}),
    "/dashboard/payments/exports": Done(Action.EXPORT_PAYMENTS, "new", after={"filters"}),
    "/dashboard/payments/views": Done(Action.SAVE_VIEW, "new", after={"name", "filters"}, scene=a_filter),
    "/dashboard/payments/views/delete": Done(Action.DELETE_VIEW, "new", before={"name", "filters"}, scene=a_view),
    "/dashboard/payments/{payment}/cancel": Done(Action.CANCEL_PAYMENT, "payment", STATUS, STATUS),
    "/dashboard/payments/{payment}/transaction": Done(
        Action.NAME_TRANSACTION, "payment", after={"transaction"}, scene=money_without_a_memo
    ),
    "/dashboard/payments/{payment}/note": Done(Action.CHANGE_NOTE, "payment", after={"note"}),
    "/dashboard/payments/{payment}/simulate": Done(Action.SIMULATE_PAYMENT, "payment", after={"scenario"}),
    "/dashboard/payments/{payment}/refund": Done(
        Action.REQUEST_REFUND,
        "new",
        after={"payment", "amount", "coins", "destination", "memo", "reason"},
        scene=paid,
    ),
    "/dashboard/payments/{payment}/close": Done(
        Action.CLOSE_PAYMENT, "payment", {"expires_at"}, {"expires_at"}, scene=short
    ),
    "/dashboard/decisions/accept": Done(
        Action.ACCEPT_MONEY, "discrepancy", after={"payment", "amount", "reason"}, scene=a_ticked_sum
    ),
    "/dashboard/decisions/give-back": Done(
        Action.GIVE_MONEY_BACK,
        "discrepancy",
        after={"payment", "amount", "refund", "destination", "memo", "reason"},
        scene=a_ticked_sum,
    ),
    "/dashboard/decisions/{discrepancy}/accept": Done(
        Action.ACCEPT_MONEY, "discrepancy", after={"payment", "amount", "reason"}
    ),
    "/dashboard/decisions/{discrepancy}/give-back": Done(
        Action.GIVE_MONEY_BACK,
        "discrepancy",
        after={"payment", "amount", "refund", "destination", "memo", "reason"},
    ),
    "/dashboard/refunds/{refund}/cancel": Done(Action.CANCEL_REFUND, "refund", STATUS, STATUS),
    "/dashboard/refunds/{refund}/destination": Done(
        Action.NAME_REFUND_DESTINATION, "refund", after={"destination", "memo"}
    ),
    "/dashboard/settlements/now": Done(Action.SETTLE_NOW, after={"settlements"}),
    "/dashboard/settlements/{settlement}/retry": Done(Action.RETRY_SETTLEMENT, "settlement", scene=failed_settlement),
    "/dashboard/settlements/{settlement}/wallet": Done(
        Action.REDIRECT_SETTLEMENT, "settlement", {"wallet"}, {"wallet"}, failed_settlement
    ),
    "/dashboard/wallets/set": Done(
        Action.SET_WALLET, "new", after={"network", "address", "label", "status"}, scene=a_wallet
    ),
    "/dashboard/wallets/lost": Done(
        Action.LOSE_WALLET, "new", after={"network", "address", "status", "settlements"}, scene=a_lost_wallet
    ),
    "/dashboard/wallets/{wallet}/prove": Done(
        Action.PROVE_WALLET, "wallet", after={"address", "proof"}, scene=a_simulated_signature
    ),
    "/dashboard/wallets/{wallet}/cancel": Done(Action.CANCEL_WALLET, "wallet", WALLET, WALLET - {"address"}),
    "/dashboard/keys/new": Done(Action.MAKE_KEY, "new", after=KEY),
    "/dashboard/keys/{key}/rotate": Done(Action.ROTATE_KEY, "key", {"retires_at"}, {"retires_at", "replaced_by"}),
    "/dashboard/keys/{key}/keep": Done(Action.KEEP_KEY, "key", {"retires_at"}, {"retires_at"}, scene=a_rotated_key),
    "/dashboard/keys/{key}/delete": Done(Action.DELETE_KEY, "key", before=KEY),
    "/dashboard/settings": Done(
        Action.CHANGE_SETTINGS,
        before={"settlement_minimum"},
        after={"settlement_minimum"},
        scene=new_settings,
    ),
    "/dashboard/payments/new": Done(
        Action.TAKE_PAYMENT, "new", after={"price", "cryptocurrency", "network", "wallet"}, scene=a_coin
    ),
    "/dashboard/links/new": Done(Action.MAKE_LINK, "new", after=LINK),
    "/dashboard/links/{link}/edit": Done(
        Action.CHANGE_LINK, "link", {"description", "expires_in"}, {"description", "expires_in"}
    ),
    "/dashboard/links/{link}/enable": Done(Action.ENABLE_LINK, "link", ENABLED, ENABLED, a_disabled_link),
    "/dashboard/links/{link}/disable": Done(Action.DISABLE_LINK, "link", ENABLED, ENABLED),
    "/dashboard/members/invite": Done(Action.INVITE_MEMBER, after={"email", "role"}, scene=somebody_new),
    "/dashboard/members/withdraw": Done(Action.WITHDRAW_INVITATION, before={"email", "role"}, scene=an_invitation),
    "/dashboard/preferences": Done(
        Action.CHANGE_PREFERENCES, "own", {"timezone"}, {"timezone"}, scene=another_time_zone
    ),
    "/dashboard/members/leave": Done(Action.LEAVE, "own", before={"role"}, scene=another_owner),
    "/dashboard/members/{member}/role": Done(
        Action.CHANGE_ROLE, "member", {"role"}, {"role", "person"}, scene=another_role
    ),
    "/dashboard/members/{member}/remove": Done(Action.REMOVE_MEMBER, "member", before={"role", "person"}),
    "/dashboard/members/{member}/hand-over": Done(
        Action.HAND_OVER, "member", {"role", "own_role"}, {"role", "own_role", "person"}, scene=giving_up
    ),
    "/dashboard/refunds/file": Done(Action.UPLOAD_REFUNDS, "new", scene=a_file),
    "/dashboard/refunds/file/{batch}": Done(Action.CONFIRM_REFUNDS, "batch"),
    "/dashboard/settings/policy": Done(
        Action.CHANGE_SETTINGS, before={"late_payments"}, after={"late_payments"}, scene=new_policy
    ),
    "/dashboard/invoices/billing": Done(Action.CHANGE_BILLING, before={"name", "address"}, after={"name", "address"}),
    "/dashboard/settings/branding": Done(
        Action.CHANGE_BRANDING, before={"name", "accent"}, after={"name", "accent"}, scene=a_colour
    ),
    "/dashboard/webhooks/new": Done(Action.ADD_WEBHOOK, "new", after=ENDPOINT),
    "/dashboard/webhooks/signing-secret": Done(Action.ROTATE_ACCOUNT_SECRET),
    "/dashboard/webhooks/{webhook}/edit": Done(Action.CHANGE_WEBHOOK, "webhook", WORDS | {"url"}, WORDS | {"url"}),
    "/dashboard/webhooks/{webhook}/rotate": Done(Action.ROTATE_WEBHOOK_SECRET, "webhook"),
    "/dashboard/webhooks/{webhook}/recover": Done(
        Action.RECOVER_WEBHOOK, "webhook", STATUS, STATUS | {"since", "everything", "deliveries"}, disabled
    ),
    "/dashboard/webhooks/bench/send": Done(Action.TEST_WEBHOOK, "webhook", after={"event", "delivery"}, scene=a_sample),
    "/dashboard/webhooks/{webhook}/test": Done(Action.TEST_WEBHOOK, "webhook", after={"delivery"}),
    "/dashboard/webhooks/{webhook}/enable": Done(Action.ENABLE_WEBHOOK, "webhook", STATUS, STATUS, disabled),
    "/dashboard/webhooks/{webhook}/disable": Done(Action.DISABLE_WEBHOOK, "webhook", STATUS, STATUS),
    "/dashboard/webhooks/{webhook}/delete": Done(Action.DELETE_WEBHOOK, "webhook", before=ENDPOINT),
    "/dashboard/deliveries/{delivery}/redeliver": Done(Action.SEND_DELIVERY_AGAIN, "delivery"),
}
"""Every form, and what the log says of it."""

BY_ITS_QUERY = "/dashboard/connect"
"""What it does is in its address: tests/dashboard/test_connect.py looks at its rows."""

REFUSED: Mapping[str, Scene] = {
    BY_ITS_QUERY: as_they_are,
    "/dashboard/refunds/file": as_they_are,
    "/dashboard/refunds/file/{batch}": a_confirmed_batch,
    "/dashboard/members/invite": as_they_are,
    "/dashboard/members/withdraw": as_they_are,
    "/dashboard/preferences": as_they_are,
    "/dashboard/members/leave": as_they_are,
    "/dashboard/members/{member}/role": as_they_are,
    "/dashboard/members/{member}/hand-over": as_they_are,
    "/dashboard/payments/new": a_coin,
    "/dashboard/links/new": as_they_are,
    "/dashboard/payments/exports": a_wrong_filter,
    "/dashboard/payments/views": as_they_are,
    "/dashboard/payments/views/delete": as_they_are,
    "/dashboard/payments/{payment}/cancel": paid,
    "/dashboard/payments/{payment}/transaction": as_they_are,
    "/dashboard/payments/{payment}/refund": paid,
    "/dashboard/payments/{payment}/close": as_they_are,
    "/dashboard/decisions/accept": as_they_are,
    "/dashboard/decisions/give-back": as_they_are,
    "/dashboard/decisions/{discrepancy}/accept": as_they_are,
    "/dashboard/decisions/{discrepancy}/give-back": as_they_are,
    "/dashboard/refunds/{refund}/destination": refund_on_its_way,
    "/dashboard/settlements/{settlement}/retry": as_they_are,
    "/dashboard/settlements/{settlement}/wallet": as_they_are,
    "/dashboard/wallets/set": as_they_are,
    "/dashboard/wallets/lost": as_they_are,
    "/dashboard/wallets/{wallet}/prove": as_they_are,
    "/dashboard/wallets/{wallet}/cancel": a_cancelled_change,
    "/dashboard/keys/new": as_they_are,
    "/dashboard/keys/{key}/rotate": as_they_are,
    "/dashboard/keys/{key}/keep": as_they_are,
    "/dashboard/settings": as_they_are,
    "/dashboard/settings/policy": as_they_are,
    "/dashboard/settings/branding": a_wrong_colour,
    "/dashboard/webhooks/new": as_they_are,
    "/dashboard/webhooks/signing-secret": as_they_are,
    "/dashboard/webhooks/{webhook}/rotate": as_they_are,
    "/dashboard/webhooks/bench/send": as_they_are,
    "/dashboard/webhooks/{webhook}/test": disabled,
    "/dashboard/webhooks/{webhook}/recover": in_the_future,
    "/dashboard/deliveries/{delivery}/redeliver": disabled,
}
"""Forms that are refused like this: by the state of the record, by their fields, or because they were sent before."""


@pytest.fixture
def client(records: Records) -> Client:
    browser = browser_of(make_member(records.payment.merchant))
    browser.defaults |= {"HTTP_USER_AGENT": BROWSER, "REMOTE_ADDR": "203.0.113.7"}
    return browser


def client_member(records: Records) -> Member:
    """Whom `client` is logged in as: the only owner."""
    return records.payment.merchant.members.get(role=Role.OWNER)


def opened(client: Client, address: str) -> dict[str, str]:
    """The hidden fields of a form, which can be sent only once."""
    return dict(re.findall(r'name="(form_id|shown)"\s+value="([^"]*)"', client.get(address).text))


def ticked(address: str, fields: dict[str, Any]) -> str:
    return f"{address}?case={fields['case']}" if "case" in fields else address


def test_every_action_is_logged_once(client: Client, records: Records) -> None:
    assert set(DONE) == set(WRITES) - ONLY_OF_THE_SESSION - {BY_ITS_QUERY}
    own = client_member(records).public_id
    Member.objects.filter(merchant=records.payment.merchant).update(number_style="point")
    for path, expected in DONE.items():
        start = transaction.savepoint()
        scene, fields = expected.scene(records)
        address = scene.in_path(path)
        known = {each.pk for each in LoggedAction.objects.all()}
        reply = client.post(address, FIELDS | fields | opened(client, ticked(address, fields)))
        assert reply.status_code in (200, 302), path
        rows = [each for each in LoggedAction.objects.all() if each.pk not in known]
        assert len(rows) == 1, path
        [row] = rows
        said = (row.action, set(row.before), set(row.after), row.environment, row.address, row.device)
        environment = "" if expected.action in OF_THE_ACCOUNT else "sandbox"
        assert said == (expected.action, expected.before, expected.after, environment, "203.0.113.7", BROWSER), path
        assert not re.search(r"\d,\d", str(row.after)), "numbers are stored in one style"
        if expected.record == "own":
            assert row.record == own
        elif expected.record == "new":
            assert row.record, path
            assert row.record not in vars(scene).values(), path
        else:
            assert row.record == (scene.in_path(f"{{{expected.record}}}") if expected.record else ""), path
        transaction.savepoint_rollback(start)


def test_what_is_refused_is_not_logged_and_changes_nothing(client: Client, records: Records) -> None:
    for path, scene_of in REFUSED.items():
        start = transaction.savepoint()
        scene, fields = scene_of(records)
        before = everything()
        reply = client.post(scene.in_path(path), FIELDS | fields)
        assert reply.status_code < 500, path
        assert not LoggedAction.objects.exists(), path
        assert everything() == before, path
        transaction.savepoint_rollback(start)


def test_looking_is_not_logged(client: Client, records: Records) -> None:
    for path in READS:
        client.get(records.in_path(path))
    for path in ONLY_OF_THE_SESSION:
        merchant = records.payment.merchant.public_id
        assert client.post(path, {"environment": "production", "merchant": merchant}).status_code in (200, 302)
    assert not LoggedAction.objects.exists()


# --- by construction ---------------------------------------------------------------------------------


def acting(member: Member, view: Callable[[OngoingAction], HttpResponse]) -> str:
    """What is logged of a view that renames the merchant and then replies; empty when all of it was undone."""
    action = OngoingAction(Action.MAKE_KEY, member=member, environment="sandbox", origin=Origin(), record="key_1")

    def renaming() -> HttpResponse:
        Merchant.objects.filter(pk=member.merchant_id).update(name="Renamed")
        return view(action)

    action.perform(renaming)
    logged = [each.record for each in LoggedAction.objects.all()]
    is_renamed = Merchant.objects.filter(pk=member.merchant_id, name="Renamed").exists()
    assert len(logged) == is_renamed  # never one without the other
    return "".join(logged)


def after_saying(reply: HttpResponse, *, done: bool) -> Callable[[OngoingAction], HttpResponse]:
    def view(action: OngoingAction) -> HttpResponse:
        action.done() if done else action.refused()
        return reply

    return view


@pytest.mark.parametrize(
    ("view", "logged"),
    [
        (lambda action: HttpResponseRedirect("/"), "key_1"),
        (lambda action: HttpResponse("the form, with its errors"), ""),
        (lambda action: HttpResponse(status=409), ""),
        (after_saying(HttpResponse("a secret, shown once"), done=True), "key_1"),
        (after_saying(HttpResponse(status=409), done=True), ""),
        (after_saying(HttpResponseRedirect("/"), done=False), ""),
    ],
)
def test_nothing_is_changed_without_a_row(
    member: Member, view: Callable[[OngoingAction], HttpResponse], logged: str
) -> None:
    assert acting(member, view) == logged


def test_an_error_undoes_the_row_with_the_work(member: Member) -> None:
    def view(action: OngoingAction) -> HttpResponse:
        action.done()
        raise Http404

    with pytest.raises(Http404):
        acting(member, view)
    assert not LoggedAction.objects.exists()
    assert not Merchant.objects.filter(name="Renamed").exists()


def test_an_action_ends_once(member: Member) -> None:
    def view(action: OngoingAction) -> HttpResponse:
        action.refused()
        return after_saying(HttpResponseRedirect("/"), done=True)(action)

    with pytest.raises(ActionReported):
        acting(member, view)


def log(member: Member, **fields: Any) -> LoggedAction:
    return log_action(Action.MAKE_KEY, member=member, environment="sandbox", origin=Origin(), **fields)


@pytest.mark.parametrize("secret", [{"secret": "x"}, {"private": "sk_live_0"}, {"list": ["whsec_0"]}])
def test_secrets_are_not_logged(member: Member, secret: dict[str, Any]) -> None:
    for side in ("before", "after"):
        with pytest.raises(SecretLogged):
            log(member, **{side: secret})
    assert not LoggedAction.objects.exists()


def test_only_what_differs_is_kept(member: Member) -> None:
    row = log(member, before={"name": "A", "limit": 1, "gone": 0}, after={"name": "B", "limit": 1, "new": None})
    assert (row.before, row.after) == ({"name": "A", "gone": 0}, {"name": "B", "new": None})


# --- append-only -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE audit_loggedaction SET email = 'somebody@else.example'",
        "DELETE FROM audit_loggedaction",
        "TRUNCATE audit_loggedaction",
    ],
)
def test_postgresql_refuses_to_change_the_past(member: Member, statement: str) -> None:
    log(member)
    connection.check_constraints()  # TRUNCATE waits for none of its own
    with pytest.raises(IntegrityError, match="refused"), transaction.atomic(), connection.cursor() as cursor:
        cursor.execute(statement)
    assert LoggedAction.objects.get().email == member.user.email


def test_what_is_old_enough_is_deleted_and_nothing_else(member: Member, settings: Settings) -> None:
    now = timezone.now()
    ages = {days: log(member).pk for days in (1, 364, 366, 729, 731)}
    with connection.cursor() as cursor:  # as they would be by now
        cursor.execute("SET LOCAL session_replication_role = replica")
        for days in ages:
            aged = ids.first_uuid_at(now - timedelta(days=days))
            LoggedAction.objects.filter(pk=ages[days]).update(id=aged)
        cursor.execute("SET LOCAL session_replication_role = origin")
    settings.AUDIT_KEPT_DAYS = 0
    assert purge(now=now) == 0
    settings.AUDIT_KEPT_DAYS = 730
    assert purge(now=now) == 1
    settings.AUDIT_KEPT_DAYS = 366
    assert purge(now=now + timedelta(hours=1)) == 2
    assert LoggedAction.objects.count() == 2
    settings.AUDIT_KEPT_DAYS = 100  # which the settings refuse
    with pytest.raises(IntegrityError, match="refused"), transaction.atomic():
        purge(now=now)


# --- logging in and out ------------------------------------------------------------------------------


def test_logging_in_and_out_is_logged_for_every_merchant_of_the_person(member: Member) -> None:
    other = add_member(merchant=make_merchant(), user=member.user, role=Role.VIEWER)
    browser = Client(HTTP_USER_AGENT=BROWSER, REMOTE_ADDR="203.0.113.7")
    browser.post("/login", {"email": member.user.email, "password": "wrong"})
    browser.post("/login", {"email": "nobody@example.com", "password": "wrong"})
    browser.post("/login", {"email": member.user.email, "password": PASSWORD})
    browser.post("/logout")
    for each in (member, other):
        rows = LoggedAction.objects.filter(merchant=each.merchant).order_by("action")
        assert [row.action for row in rows] == ["person.fail_to_log_in", "person.log_in", "person.log_out"]
        assert {(row.environment, row.address, row.role) for row in rows} == {("", "203.0.113.7", each.role)}


# --- the page ----------------------------------------------------------------------------------------


@pytest.fixture
def logged(member: Member) -> dict[str, LoggedAction]:
    """What two people of a merchant did, what another merchant's did, and what was done in production."""
    colleague = make_member(member.merchant, role=Role.DEVELOPER)
    refund = ids.REFUND.encode(ids.new_uuid())
    origin = Origin(address="203.0.113.7", device=BROWSER)

    def made(who: Member, action: Action, environment: str = "sandbox", **fields: Any) -> LoggedAction:
        return log_action(action, member=who, environment=environment, origin=origin, **fields)

    return {
        "settings": made(member, Action.CHANGE_SETTINGS, before={"tolerance": 0}, after={"tolerance": 25}),
        "refund": made(colleague, Action.REQUEST_REFUND, record=refund, after={"reason": "=HYPERLINK(<b>)"}),
        "log in": made(member, Action.LOG_IN, ""),
        "production": made(member, Action.DELETE_KEY, "production"),
        "foreign": made(make_member(make_merchant("Somebody Else")), Action.DELETE_WEBHOOK),
    }


def newest_first(logged: dict[str, LoggedAction], names: list[str]) -> list[LoggedAction]:
    """In the order of their keys: those of one millisecond have none of their own."""
    return sorted((logged[name] for name in names), key=lambda row: row.pk, reverse=True)


def test_the_page_says_who_did_what_from_where_and_what_changed(
    member: Member, logged: dict[str, LoggedAction]
) -> None:
    page = browser_of(member).get("/dashboard/audit")
    assert [row.logged for row in page.context["rows"]] == newest_first(logged, ["settings", "refund", "log in"])
    assert [row.origin for row in page.context["rows"]] == ["Firefox on Linux, 203.0.113.7"] * 3
    text = page.text
    assert f'href="/dashboard/refunds/{logged["refund"].record}"' in text
    assert "<s>0</s>" in text
    assert "=HYPERLINK(&lt;b&gt;)" in text
    assert logged["production"].words not in text.partition("<ol")[2]
    assert "Somebody Else" not in text


@pytest.mark.parametrize(
    ("query", "found"),
    [
        ("action=refund.request", ["refund"]),
        ("person={person}", ["log in", "settings"]),
        ("person={person}&action=refund.request", []),
        ("start=2099-01-01", []),
        ("end=2099-01-01", ["log in", "refund", "settings"]),
        ("person=0", None),
        ("action=nonsense", None),
        ("start=yesterday", None),
    ],
)
def test_the_filters_narrow_the_page_and_the_file(
    member: Member, logged: dict[str, LoggedAction], query: str, found: list[str] | None
) -> None:
    browser, query = browser_of(member), query.format(person=member.user.pk)
    page = browser.get(f"/dashboard/audit?{query}")
    file = browser.get(f"/dashboard/audit/export?{query}")
    if found is None:
        assert page.context["form"].errors
        assert file.headers["Location"] == f"/dashboard/audit?{query}"
        return
    assert [row.logged for row in page.context["rows"]] == newest_first(logged, found)
    lines = list(csv.DictReader(StringIO(b"".join(file).decode())))
    assert [line["id"] for line in lines] == [row.public_id for row in newest_first(logged, found)]


def test_the_file_has_every_field_and_no_formula(
    member: Member, logged: dict[str, LoggedAction], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("merchants.pages.audit_log.EXPORTED_AT_ONCE", 2)
    log_action(Action.LOG_OUT, member=member, environment="", origin=Origin(device="=cmd()"))
    file = browser_of(member).get("/dashboard/audit/export")
    assert file.headers["Content-Disposition"].startswith('attachment; filename="ballast-audit-log-')
    lines = {line["action"]: line for line in csv.DictReader(StringIO(b"".join(file).decode()))}
    assert set(lines) == {"person.log_out", "person.log_in", "refund.request", "settings.change"}
    assert lines["person.log_out"]["device"] == "'=cmd()"
    assert lines["settings.change"] == {
        "time": format_instant(logged["settings"].created_at),
        "person": member.user.email,
        "role": "owner",
        "action": "settings.change",
        "what": "Changed the settings",
        "record": "",
        "environment": "sandbox",
        "address": "203.0.113.7",
        "device": BROWSER,
        "before": '{"tolerance":0}',
        "after": '{"tolerance":25}',
        "id": logged["settings"].public_id,
    }


def test_an_empty_log_says_what_will_be_in_it(member: Member) -> None:
    page = browser_of(member).get("/dashboard/audit").text
    assert "Nothing has been done yet" in page
    assert "/dashboard/audit/export" not in page


@pytest.mark.parametrize(
    ("user_agent", "words"),
    [
        (BROWSER, "Firefox on Linux"),
        ("Mozilla/5.0 (iPhone; CPU iPhone OS 19_0 like Mac OS X) Version/19.0 Mobile Safari/604.1", "Safari on iPhone"),
        ("Mozilla/5.0 (Windows NT 10.0) AppleWebKit/537.36 Chrome/141.0 Safari/537.36 Edg/141.0", "Edge on Windows"),
        ("Mozilla/5.0 (Linux; Android 15) Chrome/140.0 Mobile Safari/537.36", "Chrome on Android"),
        ("Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15) Version/18 Safari/605", "Safari on macOS"),
        ("curl/8.14.1", "curl/8.14.1"),
        ("", ""),
    ],
)
def test_a_browser_is_named_as_people_know_it(user_agent: str, words: str) -> None:
    assert device(user_agent) == words
