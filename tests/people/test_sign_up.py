"""From a sign-up to a merchant of one's own."""

from __future__ import annotations

from datetime import timedelta

import pytest
from allauth.account.models import EmailAddress
from django.contrib.auth.hashers import make_password
from django.test import Client
from django.utils import timezone
from pytest_django.fixtures import Settings

from config.environments import Environment
from merchants.models import Member, Merchant, User
from merchants.people import services
from merchants.people.models import Mail, SignUp
from merchants.roles import Role
from tests.factories import PASSWORD, make_user
from tests.people.conftest import WRITTEN, confirmed, is_inside, last_mail, link_in, sign_up

pytestmark = pytest.mark.django_db


def log_in(client: Client, email: str = WRITTEN["email"]) -> str:
    reply = client.post("/login", {"email": email, "password": PASSWORD})
    return str(reply.headers.get("Location", reply.status_code))


def test_a_person_who_confirms_the_address_is_inside_as_owner_of_a_merchant_of_their_own() -> None:
    client = Client()
    assert sign_up(client).headers["Location"] == "/signup/sent"
    assert not Merchant.objects.exists()
    assert not is_inside(client)
    path = link_in(last_mail())
    assert client.get(path).status_code == 200
    assert not is_inside(client), "opening the link is not enough: mail servers do that too"
    assert client.post(path).headers["Location"] == "/dashboard"
    member = Member.objects.get()
    assert (member.user.email, member.role, member.merchant.name) == (
        "jo@harbour.example",
        Role.OWNER,
        "Harbour Coffee",
    )
    assert {each.environment for each in member.merchant.settings.all()} == {*Environment}
    assert client.get("/dashboard").status_code == 200
    assert not SignUp.objects.exists()


def test_in_another_browser_the_link_confirms_and_the_password_is_asked_for() -> None:
    sign_up(Client())
    other = Client()
    assert other.post(link_in(last_mail())).headers["Location"] == "/login"
    assert not is_inside(other)
    assert log_in(other) == "/dashboard"


def test_a_link_works_once() -> None:
    client = Client()
    confirmed(client)
    assert Client().get(link_in(last_mail())).status_code == 404
    assert Merchant.objects.count() == 1


def test_before_the_address_is_confirmed_the_password_does_not_let_in() -> None:
    sign_up(Client())
    client = Client()
    assert log_in(client) == "/signup/sent"
    assert not is_inside(client)
    assert Mail.objects.count() == 2


@pytest.mark.parametrize(
    ("field", "value", "words"),
    [
        ("merchant_name", "", "Enter the name of your business."),
        ("merchant_name", "a\x07b", "printable characters"),
        ("email", "", "Enter your e-mail address."),
        ("email", "jo at harbour", "This is not an e-mail address."),
        ("password", "", "Enter a password."),
        ("password", "short", "at least 12 characters"),
        ("password", "password1234", "too common"),
        ("password", "jo@harbour.example", "too similar"),
    ],
)
def test_what_is_wrong_is_said_at_its_field(field: str, value: str, words: str) -> None:
    reply = sign_up(Client(), **{field: value})
    assert (reply.status_code, words in reply.text) == (400, True)
    assert not User.objects.exists()
    assert not Mail.objects.exists()


class TestTellingNobodyWhoIsKnown:
    @pytest.mark.parametrize("written", ["jo@harbour.example", "JO@Harbour.example"])
    def test_a_known_address_gets_the_same_page_the_same_work_and_another_mail(
        self, written: str, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        make_user("jo@harbour.example")
        hashed: list[str] = []

        def hash_and_note(text: str) -> str:
            hashed.append(text)
            return make_password(text)

        monkeypatch.setattr("merchants.people.pages.sign_up.make_password", hash_and_note)
        known, unknown = Client(), Client()
        replies = [sign_up(known, email=written), sign_up(unknown, email="new@harbour.example")]
        assert [(reply.status_code, reply.headers["Location"], reply.content) for reply in replies] == [
            (302, "/signup/sent", b"")
        ] * 2
        assert hashed == [PASSWORD] * 2
        assert set(known.cookies) == set(unknown.cookies)
        assert known.get("/signup/sent").content == unknown.get("/signup/sent").content
        assert Mail.objects.count() == 2
        assert last_mail().subject == "You already have an account"
        assert User.objects.count() == 2

    def test_who_signs_up_again_before_confirming_gets_the_link_again(self) -> None:
        sign_up(Client())
        sign_up(Client(), password="another long phrase")
        assert User.objects.count() == 1
        assert User.objects.get().check_password(PASSWORD)
        client = Client()
        assert client.post(link_in(last_mail())).headers["Location"] == "/login"

    def test_mails_to_one_address_are_limited_and_nobody_is_told(self) -> None:
        make_user("jo@harbour.example")
        replies = [sign_up(Client(REMOTE_ADDR=f"198.51.100.{number}")) for number in range(8)]
        assert {reply.headers["Location"] for reply in replies} == {"/signup/sent"}
        assert Mail.objects.count() == 5

    def test_sign_ups_from_one_place_are_limited(self) -> None:
        replies = [sign_up(Client(), email=f"person{number}@harbour.example") for number in range(21)]
        assert [reply.status_code for reply in replies] == [302] * 20 + [429]
        assert replies[-1].headers["Retry-After"] == "60"
        assert User.objects.count() == 20


class TestModes:
    def test_by_invitation_the_form_is_closed(self, settings: Settings) -> None:
        settings.SIGN_UP = "invitation"
        assert "By invitation only" in Client().get("/signup").text
        assert sign_up(Client()).status_code == 403
        assert not User.objects.exists()

    def test_by_approval_an_operator_opens_the_merchant(self, settings: Settings) -> None:
        settings.SIGN_UP = "approval"
        client = Client()
        user = confirmed(client)
        assert not Merchant.objects.exists()
        assert "Your sign-up is being reviewed" in client.get("/account").text
        assert client.get("/dashboard").status_code == 403
        assert log_in(Client()) == "/account"
        services.approve_sign_up(sign_up=SignUp.objects.get())
        assert Member.objects.get().user == user
        assert client.get("/dashboard").status_code == 200

    def test_an_operator_comes_from_the_merchants_to_the_sign_up_and_to_the_merchant_that_it_opened(
        self, settings: Settings
    ) -> None:
        settings.SIGN_UP = "approval"
        person, operator = confirmed(Client()), Client()
        operator.force_login(make_user(is_staff=True, is_superuser=True))
        waiting = SignUp.objects.get()
        merchants = operator.get("/admin/merchants/merchant/").text
        assert f'<a href="/admin/people/signup/{waiting.pk}/change/">Harbour Coffee</a>' in merchants
        assert "Open a merchant" in merchants
        sent = {"action": "let_in", "_selected_action": waiting.pk}
        reply = operator.post("/admin/people/signup/", sent, follow=True).text
        address = f"/admin/merchants/merchant/{Merchant.objects.get().pk}/change/"
        assert f'<a href="{address}">Harbour Coffee</a> is open.' in reply
        assert f"Approved the sign-up of {person}." in operator.get(address).text
        assert "Sign-ups that wait" not in operator.get("/admin/merchants/merchant/").text

    def test_agreed_before_the_address_is_confirmed_it_opens_with_the_confirmation(self, settings: Settings) -> None:
        settings.SIGN_UP = "approval"
        client = Client()
        sign_up(client)
        services.approve_sign_up(sign_up=SignUp.objects.get())
        assert not Merchant.objects.exists()
        client.post(link_in(last_mail()))
        assert Merchant.objects.get().name == "Harbour Coffee"

    def test_turned_away_the_person_is_forgotten(self, settings: Settings) -> None:
        settings.SIGN_UP = "approval"
        client = Client()
        confirmed(client)
        services.refuse_sign_up(sign_up=SignUp.objects.get())
        assert not User.objects.exists()
        assert not is_inside(client)


def test_an_unconfirmed_sign_up_is_forgotten_after_a_week_and_nobody_else_is() -> None:
    for number, name in enumerate(("left", "late", "confirmed")):
        confirmed(Client(), email=f"{name}@harbour.example") if name == "confirmed" else sign_up(
            Client(), email=f"{name}@harbour.example"
        )
        assert User.objects.count() == number + 1
    now = timezone.now()
    SignUp.objects.filter(user__email="left@harbour.example").update(
        requested_at=now - services.UNCONFIRMED_KEPT_FOR - timedelta(seconds=1)
    )
    assert services.purge_sign_ups(now=now) == 1
    assert {user.email for user in User.objects.all()} == {"late@harbour.example", "confirmed@harbour.example"}


def test_somebody_whom_a_command_has_added_needs_no_confirmation() -> None:
    make_user("Added@Harbour.example")
    assert log_in(Client(), "added@harbour.example") == "/dashboard"
    address = EmailAddress.objects.get()
    assert (address.email, address.verified, address.primary) == ("added@harbour.example", True, True)
    assert not Mail.objects.exists()
