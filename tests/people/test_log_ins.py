"""A person's sessions: listed with device and address, and ended from elsewhere."""

from __future__ import annotations

import pytest
from django.contrib.sessions.models import Session
from django.test import Client

from merchants.access.log_in.session_store import stored_key
from merchants.models import User
from merchants.people import log_ins
from merchants.people.models import LogIn
from merchants.people.tasks import purge
from tests.factories import PASSWORD, make_user
from tests.people.conftest import is_inside

pytestmark = pytest.mark.django_db

FIREFOX = "Mozilla/5.0 (Windows NT 10.0; Win64; x64; rv:140.0) Gecko/20100101 Firefox/140.0"
IPHONE = (
    "Mozilla/5.0 (iPhone; CPU iPhone OS 18_0 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) "
    "Version/18.0 Mobile/15E148 Safari/604.1"
)


@pytest.fixture
def user() -> User:
    return make_user()


def enter(user: User, agent: str = FIREFOX, address: str = "198.51.100.7") -> Client:
    client = Client(HTTP_USER_AGENT=agent, REMOTE_ADDR=address)
    client.post("/login", {"email": user.email, "password": PASSWORD})
    assert is_inside(client)
    return client


def listed(client: Client) -> list[tuple[str, str, bool]]:
    return [(each.device, each.address, each.is_this) for each in client.get("/account").context["log_ins"]]


def test_sessions_are_listed_with_device_and_address(user: User) -> None:
    this = enter(user)
    enter(user, IPHONE, "203.0.113.9")
    enter(make_user())
    assert listed(this) == [
        ("Firefox on Windows", "198.51.100.7", True),
        ("Safari on iPhone", "203.0.113.9", False),
    ]


def test_the_database_holds_no_key_that_a_browser_could_use(user: User) -> None:
    this = enter(user)
    stored = [
        *Session.objects.values_list("session_key", flat=True),
        *LogIn.objects.values_list("session_key", flat=True),
    ]
    assert stored == [stored_key(this.cookies["ballast_session"].value)] * 2
    thief = Client()
    thief.cookies["ballast_session"] = stored[0]
    assert (is_inside(thief), is_inside(this)) == (False, True)


def test_another_session_is_ended_at_once(user: User) -> None:
    this, other = enter(user), enter(user, IPHONE)
    ended = LogIn.objects.get(session_key=stored_key(other.cookies["ballast_session"].value))
    assert this.post(f"/account/sessions/{ended.pk}").headers["Location"] == "/account"
    assert not is_inside(other)
    assert [device for device, *_ in listed(this)] == ["Firefox on Windows"]


def test_all_others_are_ended_and_this_one_stays(user: User) -> None:
    this, others = enter(user), [enter(user, IPHONE) for _ in range(3)]
    stranger = enter(make_user())
    this.post("/account/sessions/others")
    assert [is_inside(client) for client in (this, *others, stranger)] == [True, False, False, False, True]


def test_somebody_elses_session_cannot_be_ended(user: User) -> None:
    this, stranger = enter(user), enter(make_user())
    foreign = LogIn.objects.exclude(user=user).get()
    assert this.post(f"/account/sessions/{foreign.pk}").status_code == 404
    assert is_inside(stranger)


def test_a_new_password_ends_the_others_and_this_one_stays_listed(user: User) -> None:
    this, other = enter(user), enter(user, IPHONE)
    this.post("/account/password", {"current": PASSWORD, "password": "another long phrase"})
    assert not is_inside(other)
    assert listed(this) == [("Firefox on Windows", "198.51.100.7", True)]
    assert LogIn.objects.count() == Session.objects.count() == 1


def test_what_is_kept_of_a_session_goes_with_it(user: User) -> None:
    this, gone = enter(user), enter(user)
    gone.post("/logout")
    assert len(listed(this)) == 1
    purge()
    assert [each.session_key for each in LogIn.objects.all()] == [stored_key(this.cookies["ballast_session"].value)]
    assert log_ins.purge() == 0
