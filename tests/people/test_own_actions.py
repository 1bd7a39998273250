"""Every route that takes a POST leaves a row in the audit log, or stands here with the reason why it does not.

Those of the dashboard are walked by tests/dashboard/test_audit.py. Neither the API, which is for
keys, nor /admin, which is for operators, is in this log.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass

import pytest
from allauth.mfa.models import Authenticator
from django.test import Client
from django.views.generic import RedirectView

from config.urls import page_routes, people_routes
from merchants.audit.models import LoggedAction
from merchants.members import add_member
from merchants.models import Member
from merchants.people.invitations import invite_member
from merchants.people.models import LogIn
from merchants.roles import Role
from tests.factories import PASSWORD, make_member, make_merchant
from tests.people.clock import Clock
from tests.people.conftest import WRITTEN, last_mail, link_in, sign_up
from tests.people.test_second_factors import add_app, code_of, enter

pytestmark = pytest.mark.django_db

NEW = "another long phrase"
ROUTES = {str(route.pattern): route for route in (*page_routes, *people_routes)}
PAYER = "a payer, who is no member"

NO_ROW = {
    "signup": "nobody is a member yet; opening the merchant leaves a row",
    "password": "sends a link; who asks for it is not known",
    "account/confirm": "changes the own session only",
    "account/confirm/code": "changes the own session only",
    "account/confirm/passkey": "changes the own session only",
    "pay/<str:payment_id>/simulate": PAYER,
    "pay/<str:payment_id>/wallet": PAYER,
    "pay/<str:payment_id>/wallet/signed": PAYER,
    "pay/<str:payment_id>/claim": PAYER,
    "pay/<str:payment_id>/mail": PAYER,
    "pay/<str:payment_id>/choose": PAYER,
    "connect/exchange": "a server, by a code; rows of whoever agreed: tests/dashboard/test_connect.py",
    "link/<str:code>": PAYER,
    "receipts/verify": PAYER,
    "refund/<str:token>": PAYER,
    "return/<str:token>": PAYER,
}
BY_A_DEVICE = {"login/passkey", "account/passkeys/new"}
"""These need a device that makes passkeys: tests/browser/test_passkeys.py looks at their rows."""


@dataclass
class Scene:
    """A person of two merchants, and a browser that is logged in."""

    member: Member
    client: Client
    clock: Clock

    @property
    def email(self) -> str:
        return self.member.user.email


def change_address(scene: Scene) -> None:
    scene.client.post("/account/email", {"email": "new@example.com"})
    scene.client.post(link_in(last_mail("new@example.com")))


def reset_password(scene: Scene) -> None:
    client = Client()
    client.post("/password", {"email": scene.email})
    page = client.get(link_in(last_mail(scene.email))).headers["Location"]
    assert client.post(page, {"password": NEW}).headers["Location"] == "/login"


def remove_app(scene: Scene) -> None:
    add_app(scene.client, scene.clock)
    scene.client.post("/account/app/remove")


def make_codes(scene: Scene) -> None:
    add_app(scene.client, scene.clock)
    scene.client.post("/account/codes/new")


def remove_passkey(scene: Scene) -> None:
    user = scene.member.user
    passkey = Authenticator.objects.create(user=user, type=Authenticator.Type.WEBAUTHN, data={"name": "Laptop"})
    scene.client.post(f"/account/passkeys/{passkey.pk}/remove")


def take_the_second_step(scene: Scene) -> None:
    secret, _codes = add_app(scene.client, scene.clock)
    scene.clock.advance(seconds=30)
    other, _target = enter(scene.member.user)
    other.post("/login/code", {"code": code_of(secret, scene.clock)})


def end_a_session(scene: Scene) -> None:
    enter(scene.member.user)
    scene.client.post(f"/account/sessions/{LogIn.objects.latest('id').pk}")


def accept_an_invitation(scene: Scene) -> None:
    invite_member(by=make_member(), email=scene.email, role=Role.VIEWER)
    scene.client.post(link_in(last_mail(scene.email)))


LEAVES: dict[str, tuple[Callable[[Scene], object], list[str]]] = {
    "login": (lambda scene: enter(scene.member.user), ["log_in"]),
    "logout": (lambda scene: scene.client.post("/logout"), ["log_out"]),
    "signup/confirm/<str:key>": (change_address, ["ask_for_address", "change_address"]),
    r"^password/(?P<uidb36>[0-9A-Za-z]+)-(?P<key>.+)$": (reset_password, ["reset_password"]),
    "account/password": (
        lambda scene: scene.client.post("/account/password", {"current": PASSWORD, "password": NEW}),
        ["change_password"],
    ),
    "account/email": (
        lambda scene: scene.client.post("/account/email", {"email": "new@example.com"}),
        ["ask_for_address"],
    ),
    "account/app": (lambda scene: add_app(scene.client, scene.clock), ["add_app"]),
    "account/app/remove": (remove_app, ["add_app", "remove_app"]),
    "account/codes/new": (make_codes, ["add_app", "make_recovery_codes"]),
    "account/passkeys/<int:pk>/remove": (remove_passkey, ["remove_passkey"]),
    "account/sessions/others": (lambda scene: scene.client.post("/account/sessions/others"), ["end_other_sessions"]),
    "account/sessions/<int:log_in_id>": (end_a_session, ["log_in", "end_session"]),
    "login/code": (take_the_second_step, ["add_app", "log_in"]),
    "invitation/<str:token>": (accept_an_invitation, []),
}
"""Each form of people's own pages, and what both merchants of the person read in their logs."""


@pytest.fixture
def scene(monkeypatch: pytest.MonkeyPatch) -> Scene:
    clock = Clock(monkeypatch)
    member = make_member()
    add_member(merchant=make_merchant(), user=member.user, role=Role.VIEWER)
    client, _target = enter(member.user)
    return Scene(member, client, clock)


def taken(path: str) -> bool:
    """Whether the route takes a POST, whatever it makes of it. A redirect elsewhere is none."""
    view = getattr(ROUTES[path].callback, "view_class", None)
    if view is not None:
        return hasattr(view, "post") and view is not RedirectView
    return Client().post("/" + re.sub(r"<\w+:\w+>", "1", path)).status_code != 405


def test_every_route_that_takes_a_post_is_accounted_for() -> None:
    known = {*NO_ROW, *BY_A_DEVICE, *LEAVES}
    others = {path for path in ROUTES if not path.startswith("dashboard")} - known
    assert {path for path in others if taken(path)} == set()
    assert known <= set(ROUTES)
    assert {path for path in known if "(?P" not in path and not taken(path)} == set()


@pytest.mark.parametrize("path", LEAVES)
def test_what_people_do_to_their_account_is_read_by_each_of_their_merchants(path: str, scene: Scene) -> None:
    act, expected = LEAVES[path]
    before = set(LoggedAction.objects.values_list("pk", flat=True))
    memberships = list(scene.member.user.memberships.all())
    act(scene)
    rows = LoggedAction.objects.exclude(pk__in=before)
    for membership in memberships:
        found = [row.action for row in rows.filter(merchant=membership.merchant)]
        assert sorted(found) == sorted(f"person.{name}" for name in expected), path
    assert {(row.environment, row.person_id) for row in rows} == {("", scene.member.user_id)}


def test_the_merchant_that_somebody_joins_reads_it_and_nobody_else(scene: Scene) -> None:
    accept_an_invitation(scene)
    row = LoggedAction.objects.get(action="person.accept_invitation")
    joined = scene.member.user.memberships.latest("id")
    assert (row.merchant, row.role, row.after) == (joined.merchant, "viewer", {"role": "viewer"})


@pytest.mark.parametrize("in_the_same_browser", [True, False])
def test_opening_a_merchant_is_its_first_row(in_the_same_browser: bool) -> None:
    client = Client()
    sign_up(client)
    (client if in_the_same_browser else Client()).post(link_in(last_mail()))
    assert [row.action for row in LoggedAction.objects.all()] == ["merchant.open"]
    assert LoggedAction.objects.get().email == WRITTEN["email"]


def test_an_address_that_changes_is_logged_with_both(scene: Scene) -> None:
    old = scene.email
    change_address(scene)
    row = LoggedAction.objects.filter(action="person.change_address").earliest("id")
    assert (row.before, row.after) == ({"email": old}, {"email": "new@example.com"})


def test_what_fails_leaves_no_row(scene: Scene) -> None:
    before = LoggedAction.objects.count()
    scene.client.post("/account/email", {"email": "nonsense"})
    scene.client.get("/account/app")
    scene.client.post("/account/app", {"code": "000000"})
    scene.client.post("/account/sessions/0")
    assert LoggedAction.objects.count() == before
