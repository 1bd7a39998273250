"""Second factors: an app, recovery codes, and what asks for them."""

from __future__ import annotations

import base64
from typing import Any

import pytest
from allauth.mfa.models import Authenticator
from allauth.mfa.totp.internal.auth import format_hotp_value, hotp_value
from django.core.exceptions import ImproperlyConfigured
from django.core.management import CommandError, call_command
from django.test import Client
from pytest_django.fixtures import Settings

from merchants.models import ApiKey, Member, MerchantSettings, User
from merchants.people.models import Mail
from merchants.people.sealing import SECOND_FACTORS
from merchants.roles import SENSITIVE, Action
from tests.agreeing import agree_to_what_waits
from tests.factories import PASSWORD, make_member, make_user
from tests.people.clock import Clock
from tests.people.conftest import is_inside

pytestmark = pytest.mark.django_db


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    return Clock(monkeypatch)


@pytest.fixture
def member() -> Member:
    return make_member()


def enter(user: User) -> tuple[Client, str]:
    """A browser after the password, and where that leads."""
    client = Client()
    reply = client.post("/login", {"email": user.email, "password": PASSWORD})
    return client, reply.headers.get("Location", str(reply.status_code))


def code_of(secret: str, clock: Clock) -> str:
    return str(format_hotp_value(hotp_value(secret, int(clock.now) // 30)))


def add_app(client: Client, clock: Clock) -> tuple[str, list[str]]:
    """Adds an app by the pages; returns its secret and the recovery codes."""
    client.get("/account/app")
    secret = client.session["mfa.totp.secret"]
    reply = client.post("/account/app", {"code": code_of(secret, clock)})
    assert reply.headers["Location"] == "/account/codes"
    codes = client.get("/account/codes").context["unused_codes"]
    return secret, list(codes)


def test_the_second_step_asks_for_a_code_and_nothing_is_open_before(member: Member, clock: Clock) -> None:
    client, _target = enter(member.user)
    secret, _codes = add_app(client, clock)
    clock.advance(seconds=30)
    other, target = enter(member.user)
    assert target == "/login/code"
    assert not is_inside(other)
    assert other.get("/dashboard").status_code == 302
    assert not [name for name in other.cookies if name.startswith("ballast_device_")]
    wrong = other.post("/login/code", {"code": "000000"})
    assert (wrong.status_code, "Incorrect code." in wrong.text) == (400, True)
    assert other.post("/login/code", {"code": code_of(secret, clock)}).headers["Location"] == "/dashboard"
    assert is_inside(other)


def test_a_code_is_good_once(member: Member, clock: Clock) -> None:
    client, _target = enter(member.user)
    secret, _codes = add_app(client, clock)
    outcomes = []
    for seconds in (0, 30, 0):
        clock.advance(seconds=seconds)
        browser, _target = enter(member.user)
        outcomes.append(browser.post("/login/code", {"code": code_of(secret, clock)}).status_code)
    assert outcomes == [400, 302, 400]  # the first has added the app


def test_a_recovery_code_is_good_once_and_they_are_shown_once(member: Member, clock: Clock) -> None:
    client, _target = enter(member.user)
    _secret, codes = add_app(client, clock)
    assert len(set(codes)) == 10
    again = client.get("/account/codes")
    assert all(code not in again.text for code in codes)
    outcomes = []
    for _ in range(2):
        browser, _target = enter(member.user)
        outcomes.append(browser.post("/login/code", {"code": codes[3]}).status_code)
    assert outcomes == [302, 400]
    assert "9 recovery codes left." in client.get("/account").text


def test_codes_are_counted_before_they_are_looked_at(member: Member, clock: Clock) -> None:
    client, _target = enter(member.user)
    _secret, codes = add_app(client, clock)
    browser, _target = enter(member.user)
    pages = [browser.post("/login/code", {"code": "123"}).text for _ in range(5)]
    assert ["Too many" in page for page in pages] == [False] * 5
    assert "Too many codes were wrong." in browser.post("/login/code", {"code": codes[0]}).text
    assert not is_inside(browser)


def test_without_the_password_the_second_step_is_closed(member: Member) -> None:
    client = Client()
    assert client.get("/login/code").headers["Location"] == "/login"
    assert client.post("/login/code", {"code": "123456"}).headers["Location"] == "/login"


def test_removing_the_app_forgets_the_recovery_codes_and_tells_the_person(
    member: Member, clock: Clock, django_capture_on_commit_callbacks: Any
) -> None:
    client, _target = enter(member.user)
    with django_capture_on_commit_callbacks(execute=True):
        add_app(client, clock)
    assert client.post("/account/app/remove").status_code == 302
    assert not Authenticator.objects.exists()
    subjects = set(Mail.objects.filter(to=member.user.email).values_list("subject", flat=True))
    assert subjects >= {"An app was added to your account", "The app was removed from your account"}
    assert enter(member.user)[1] == "/dashboard"


def test_an_operator_removes_lost_factors_and_the_person_is_told(member: Member, clock: Clock) -> None:
    client, _target = enter(member.user)
    add_app(client, clock)
    ada, bob = (make_user(f"{name}@example.com", is_staff=True, is_superuser=True) for name in ("ada", "bob"))
    call_command("remove_second_factors", member.user.email.upper(), by=ada.email)
    assert Authenticator.objects.exists()
    agree_to_what_waits(bob)
    assert enter(member.user)[1] == "/dashboard"
    assert Mail.objects.filter(to=member.user.email, subject="Your second factors were removed").count() == 1
    with pytest.raises(CommandError, match="nobody"):
        call_command("remove_second_factors", "unknown@example.com")


class TestSealing:
    def test_a_stolen_database_makes_no_codes(self, member: Member, clock: Clock) -> None:
        client, _target = enter(member.user)
        secret, codes = add_app(client, clock)
        stored = str(list(Authenticator.objects.values_list("data", flat=True)))
        assert secret not in stored
        assert base64.b32decode(secret).hex() not in stored
        assert all(code not in stored for code in codes)

    def test_a_key_is_replaced_without_losing_a_factor(self, member: Member, clock: Clock, settings: Settings) -> None:
        client, _target = enter(member.user)
        _secret, codes = add_app(client, clock)
        settings.SECRET_KEY, settings.SECRET_KEY_FALLBACKS = "new" * 20, [settings.SECRET_KEY]
        call_command("reseal_second_factors")
        settings.SECRET_KEY_FALLBACKS = []
        browser, _target = enter(member.user)
        assert browser.post("/login/code", {"code": codes[0]}).status_code == 302

    def test_under_no_key_of_ours_it_says_what_to_do(self, settings: Settings) -> None:
        sealed = SECOND_FACTORS.seal("a secret")
        settings.SECRET_KEY = "another" * 10
        with pytest.raises(ImproperlyConfigured, match="reseal_second_factors"):
            SECOND_FACTORS.unseal(sealed)


class TestStepUp:
    """What is sensitive asks again who it is."""

    KEY = "/dashboard/keys/new"

    def test_right_after_the_log_in_nothing_is_asked(self, member: Member, clock: Clock) -> None:
        client, _target = enter(member.user)
        clock.advance(minutes=9, seconds=59)
        assert client.get(self.KEY).status_code == 200

    @pytest.mark.parametrize(
        ("path", "is_asked"),
        [
            ("/dashboard/keys", False),
            ("/dashboard/keys/new", True),
            ("/dashboard/webhooks", False),
            ("/dashboard/webhooks/new", True),
            ("/dashboard/webhooks/signing-secret", True),
            ("/dashboard/settings", False),
            ("/account", False),
            ("/account/email", True),
            ("/account/app", True),
        ],
    )
    def test_ten_minutes_later_what_is_sensitive_asks(
        self, path: str, is_asked: bool, member: Member, clock: Clock
    ) -> None:
        client, _target = enter(member.user)
        clock.advance(minutes=10)
        reply = client.get(path)
        asked = f"/account/confirm?next={path.replace('/', '%2F')}"
        assert (reply.status_code, reply.headers.get("Location")) == ((302, asked) if is_asked else (200, None))

    def test_the_right_password_leads_on_and_a_wrong_one_does_not(self, member: Member, clock: Clock) -> None:
        client, _target = enter(member.user)
        clock.advance(minutes=10)
        page = client.get(self.KEY).headers["Location"]
        assert client.post(page, {"password": "guess"}).status_code == 400
        assert client.get(self.KEY).status_code == 302
        assert client.post(page, {"password": PASSWORD}).headers["Location"] == self.KEY
        assert client.get(self.KEY).status_code == 200

    def test_a_form_that_was_sent_too_late_is_not_lost(self, member: Member, clock: Clock) -> None:
        client, _target = enter(member.user)
        clock.advance(minutes=10)
        form = {"settlement_currency": "DAI", "settlement_frequency": "manual", "settlement_time": "00:00"}
        form |= {"settlement_timezone": "UTC", "settlement_minimum": "5", "payment_tolerance": "0"}
        form |= {"late_payments": "hold", "wallet_allow_list": ""}
        page = client.post("/dashboard/settings", form).headers["Location"]
        assert not MerchantSettings.objects.filter(settlement_currency="DAI").exists()
        assert client.post(page, {"password": PASSWORD}).headers["Location"] == "/dashboard/settings"
        assert MerchantSettings.objects.filter(settlement_currency="DAI").count() == 1

    def test_whoever_has_a_second_factor_confirms_with_it(self, member: Member, clock: Clock) -> None:
        client, _target = enter(member.user)
        secret, _codes = add_app(client, clock)
        clock.advance(minutes=10)
        page = client.get(self.KEY).headers["Location"]
        assert page == "/account/confirm/code?next=%2Fdashboard%2Fkeys%2Fnew"
        client.post("/account/confirm?next=/dashboard/keys/new", {"password": PASSWORD})
        assert client.get(self.KEY).status_code == 302, "the password alone is not enough any more"
        assert client.post(page, {"code": code_of(secret, clock)}).headers["Location"] == self.KEY
        assert client.get(self.KEY).status_code == 200

    def test_guesses_are_counted_like_log_ins(self, member: Member, clock: Clock) -> None:
        client, _target = enter(member.user)
        clock.advance(minutes=10)
        pages = [client.post("/account/confirm", {"password": "guess"}).text for _ in range(6)]
        assert ["Too many attempts" in page for page in pages] == [False] * 5 + [True]

    def test_it_never_leads_to_another_site(self, member: Member, clock: Clock) -> None:
        client, _target = enter(member.user)
        reply = client.post("/account/confirm?next=https://evil.example/", {"password": PASSWORD})
        assert reply.headers["Location"] == "/dashboard"

    def test_an_expired_confirmation_makes_no_key(self, member: Member, clock: Clock) -> None:
        client, _target = enter(member.user)
        form_id = client.get(self.KEY).context["form_id"]
        clock.advance(minutes=10)
        assert client.post(self.KEY, {"name": "Web", "form_id": form_id}).status_code == 302
        assert not ApiKey.objects.exists()

    def test_what_shows_or_ends_a_secret_or_redirects_money_is_sensitive(self) -> None:
        words = ["secret", "key.", "settings.change", "settlement.redirect", "webhook.add", "member", "application"]
        words += ["wallet.set", "wallet.prove", "wallet.lose"]
        words += ["refund.request", "refund.name_destination", "refund.confirm_file", "decision.give_back"]
        assert {action for action in Action if any(word in action.value for word in words)} == SENSITIVE
