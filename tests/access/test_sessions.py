"""People in the browser: logging in, how long it lasts, and for whom they act."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from django.contrib.sessions.models import Session
from django.core.exceptions import PermissionDenied
from django.test import Client, RequestFactory, override_settings
from django.utils import timezone

from config.environments import Environment
from merchants.access.log_in import sessions
from merchants.access.log_in.sessions import LogInRefused, TooManyLogIns
from merchants.members import add_member
from merchants.models import AttemptCount, Member
from merchants.roles import Role
from tests.factories import PASSWORD, make_member, make_merchant, make_user

pytestmark = [pytest.mark.django_db, pytest.mark.urls("tests.access.session_probe")]


class Clock:
    """Moves the time that sessions and counters see."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.now = timezone.now()
        monkeypatch.setattr("merchants.access.log_in.sessions.time.time", lambda: self.now.timestamp())
        monkeypatch.setattr("merchants.access.log_in.sessions.timezone.now", lambda: self.now)

    def advance(self, *, minutes: float = 0, seconds: float = 0) -> None:
        self.now += timedelta(minutes=minutes, seconds=seconds)


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    return Clock(monkeypatch)


def enter(client: Client, email: str, password: str = PASSWORD, **extra: Any) -> Any:
    return client.post("/enter", {"email": email, "password": password}, **extra)


def log_in_by_page(client: Client, email: str, password: str = PASSWORD) -> Any:
    """By the real page, in a browser that keeps its cookies but is not logged in."""
    client.cookies.pop("ballast_session", None)
    with override_settings(ROOT_URLCONF="config.urls"):
        return client.post("/login", {"email": email, "password": password})


def logged_in(member: Member) -> Client:
    client = Client()
    enter(client, member.user.email)
    return client


class TestLoggingIn:
    def test_a_session_begins_under_a_new_key_and_the_old_one_is_dead(self) -> None:
        member = make_member()
        client = Client()
        session = client.session
        session["planted"] = "by somebody else"
        session.save()
        fixed = session.session_key
        client.cookies["ballast_session"] = fixed or ""
        new = enter(client, member.user.email).content.decode()
        assert new != fixed
        assert not session.exists(str(fixed))
        thief = Client()
        thief.cookies["ballast_session"] = fixed or ""
        assert thief.get("/page").status_code == 302
        assert client.get("/page").status_code == 200

    @pytest.mark.parametrize("written", ["ANNA@example.com", " anna@example.com ", "Anna@Example.Com"])
    def test_the_address_is_taken_in_any_case(self, written: str) -> None:
        make_user("anna@example.com")
        assert enter(Client(), written).status_code == 200

    @pytest.mark.parametrize(
        ("email", "password"),
        [
            ("anna@example.com", "wrong"),
            ("anna@example.com", ""),
            ("nobody@example.com", PASSWORD),
            ("", PASSWORD),
            ("anna@example.com\0", PASSWORD),
            ("anna@example.com", PASSWORD + "\0"),
            ("gone@example.com", PASSWORD),
        ],
    )
    def test_whatever_is_wrong_the_answer_is_one(self, email: str, password: str) -> None:
        make_user("anna@example.com")
        make_user("gone@example.com", is_active=False)
        with pytest.raises(LogInRefused) as refusal:
            enter(Client(), email, password)
        assert refusal.value.message == LogInRefused.message

    def test_changing_the_password_ends_the_other_sessions(self) -> None:
        member = make_member()
        client = logged_in(member)
        member.user.set_password("another long phrase")
        member.user.save()
        assert client.get("/page").status_code == 302

    def test_logging_out_ends_the_session(self) -> None:
        client = logged_in(make_member())
        request = RequestFactory().get("/")
        request.session = client.session
        request.user = make_user()
        sessions.log_out(request)
        assert client.get("/page").status_code == 302


class TestGuessing:
    OFFICE = "198.51.100.200"

    def guesses(self, email: str, times: int, **extra: Any) -> list[str]:
        outcomes = []
        for number in range(times):
            try:
                enter(Client(), email, f"guess {number}", **extra)
            except (LogInRefused, TooManyLogIns) as refusal:
                outcomes.append(type(refusal).__name__)
        return outcomes

    def test_of_50_guesses_at_an_account_at_most_ten_are_looked_at(self, clock: Clock) -> None:
        make_user("anna@example.com")
        outcomes = []
        for number in range(50):
            outcomes += self.guesses("anna@example.com", 1, REMOTE_ADDR=f"198.51.100.{number}")
            clock.advance(seconds=0.4)
        assert outcomes.count("LogInRefused") <= 10
        assert outcomes[:6] == ["LogInRefused"] * 5 + ["TooManyLogIns"]

    def test_the_owner_gets_in_after_the_wait_and_all_is_forgotten(self, clock: Clock) -> None:
        make_user("anna@example.com")
        self.guesses("anna@example.com", 6)
        with pytest.raises(TooManyLogIns) as refusal:
            enter(Client(), "anna@example.com")
        assert refusal.value.retry_after_seconds == 2
        clock.advance(seconds=2)
        assert enter(Client(), "anna@example.com").status_code == 200
        assert self.guesses("anna@example.com", 5) == ["LogInRefused"] * 5

    def test_a_strangers_guesses_do_not_keep_an_owner_out_of_a_device_that_has_logged_in_before(
        self, clock: Clock
    ) -> None:
        make_user("anna@example.com")
        own, new = Client(REMOTE_ADDR=self.OFFICE), Client(REMOTE_ADDR=self.OFFICE)
        assert log_in_by_page(own, "Anna@example.com").status_code == 302
        for number in range(25):
            self.guesses("anna@example.com", 1, REMOTE_ADDR=self.OFFICE if number % 2 else "203.0.113.7")

        refusal = log_in_by_page(new, "anna@example.com")
        assert (refusal.status_code, refusal.headers["Retry-After"]) == (429, "2")
        assert b"Too many attempts to log in. Try again in 2 seconds." in refusal.content
        assert log_in_by_page(own, "anna@example.com").status_code == 302

    def test_a_device_has_its_own_count_and_is_good_for_its_account_alone(self, clock: Clock) -> None:
        for email in ("anna@example.com", "eve@example.com"):
            make_user(email)
        device = Client()
        log_in_by_page(device, "eve@example.com")
        (name,) = [name for name in device.cookies if name.startswith("ballast_device_")]
        assert [log_in_by_page(device, "eve@example.com", "wrong").status_code for _ in range(6)] == [400] * 5 + [429]
        self.guesses("anna@example.com", 5)
        assert log_in_by_page(device, "anna@example.com").status_code == 429
        cookie = device.cookies[name]
        assert (cookie["httponly"], cookie["samesite"], int(cookie["max-age"])) == (True, "Lax", 180 * 86_400)

    def test_writing_the_address_differently_does_not_give_more_guesses(self, clock: Clock) -> None:
        outcomes = [
            self.guesses(email, 1)[0] for email in ("a@x.org", "A@x.org", " a@X.org", "a@x.org ", "A@X.ORG", "a@X.org")
        ]
        assert outcomes == ["LogInRefused"] * 5 + ["TooManyLogIns"]

    def test_many_accounts_from_one_address_are_slowed_and_others_are_not(self, clock: Clock) -> None:
        make_user("anna@example.com")
        outcomes = [self.guesses(f"person{number}@example.com", 1)[0] for number in range(30)]
        assert outcomes == ["LogInRefused"] * 20 + ["TooManyLogIns"] * 10
        assert enter(Client(), "anna@example.com", REMOTE_ADDR="198.51.100.9").status_code == 200

    def test_an_office_that_logs_in_all_day_is_not_slowed(self, clock: Clock) -> None:
        user = make_user()
        assert [enter(Client(), user.email).status_code for _ in range(20)] == [200] * 20
        assert [count.failures for count in AttemptCount.objects.all()] == [0]


class TestLimits:
    def test_a_session_ends_after_30_idle_minutes(self, clock: Clock) -> None:
        client = logged_in(make_member())
        for _ in range(5):
            clock.advance(minutes=29)
            assert client.get("/page").status_code == 200
        clock.advance(minutes=30)
        reply = client.get("/page")
        assert (reply.status_code, reply.headers["Location"]) == (302, "/login?next=/page")
        assert not Session.objects.exists()

    def test_a_busy_session_ends_after_12_hours(self, clock: Clock) -> None:
        client = logged_in(make_member())
        for _ in range(35):
            clock.advance(minutes=20)
            assert client.get("/page").status_code == 200
        clock.advance(minutes=20)
        assert client.get("/page").status_code == 302

    def test_operators_are_held_to_the_same(self, clock: Clock) -> None:
        client = Client()
        user = make_user(is_staff=True, is_superuser=True)
        enter(client, user.email)
        with override_settings(ROOT_URLCONF="config.urls"):  # the menu of the admin leads to other pages
            assert client.get("/admin/merchants/merchant/").status_code == 200
            clock.advance(minutes=30)
            assert client.get("/admin/merchants/merchant/").status_code == 302

    def test_a_session_begun_elsewhere_counts_from_when_it_is_first_seen(self, clock: Clock) -> None:
        client = Client()
        client.force_login(make_member().user)
        clock.advance(minutes=45)
        assert client.get("/page").status_code == 200
        clock.advance(minutes=30)
        assert client.get("/page").status_code == 302

    def test_use_is_written_at_most_once_a_minute(self, clock: Clock, django_assert_num_queries: Any) -> None:
        client = logged_in(make_member())
        with django_assert_num_queries(3):  # session, user, member
            client.get("/page")
        clock.advance(minutes=1)
        client.get("/page", headers={"X-Refresh": "1"})  # the page alone looked again
        assert client.session["used_at"] == client.session["logged_in_at"]
        client.get("/page")
        assert client.session["used_at"] == client.session["logged_in_at"] + 60

    def test_a_session_of_a_stranger_is_left_alone(self) -> None:
        client = Client()
        session = client.session
        session["visits"] = 3
        session.save()
        client.cookies["ballast_session"] = session.session_key or ""
        assert client.get("/page").status_code == 302
        assert client.session["visits"] == 3


class TestActing:
    def test_strangers_are_sent_to_log_in_and_come_back(self) -> None:
        reply = Client().get("/page?tab=2")
        assert (reply.status_code, reply.headers["Location"]) == (302, "/login?next=/page%3Ftab%3D2")

    def test_people_without_a_merchant_are_refused(self) -> None:
        client = Client()
        client.force_login(make_user(is_staff=True, is_superuser=True))
        assert client.get("/page").status_code == 403

    @pytest.mark.parametrize(("role", "status"), [(Role.VIEWER, 403), (Role.DEVELOPER, 200), (Role.OWNER, 200)])
    def test_a_page_asks_for_a_role(self, role: Role, status: int) -> None:
        client = logged_in(make_member(role=role))
        assert client.get("/page").status_code == 200
        assert client.get("/developers").status_code == status

    def test_the_sandbox_is_in_view_until_production_is_chosen(self) -> None:
        client = logged_in(make_member())
        assert client.get("/page").json()["environment"] == "sandbox"
        request = RequestFactory().get("/")
        request.session = client.session
        sessions.choose_environment(request, Environment.PRODUCTION)
        request.session.save()
        assert client.get("/page").json()["environment"] == "production"

    def test_somebody_with_two_merchants_chooses(self) -> None:
        member = make_member(make_merchant("First"))
        second, foreign = make_merchant("Second"), make_merchant("Foreign")
        add_member(merchant=second, user=member.user, role=Role.VIEWER)
        client = logged_in(member)
        assert client.get("/page").json()["merchant"] == "First"
        request: Any = RequestFactory().get("/")
        request.session, request.user = client.session, member.user
        sessions.choose_merchant(request, second)
        with pytest.raises(PermissionDenied):
            sessions.choose_merchant(request, foreign)
        request.session.save()
        assert client.get("/page").json() == {"merchant": "Second", "role": "viewer", "environment": "sandbox"}
        second.members.all().delete()
        assert client.post("/developers").status_code == 403, "a form that was opened there"
        assert client.get("/page").json()["merchant"] == "First"
