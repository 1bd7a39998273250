"""Lost and changed passwords, and changed addresses."""

from __future__ import annotations

import pytest
from allauth.account.models import EmailAddress
from allauth.account.utils import user_pk_to_url_str
from django.test import Client

from merchants.models import User
from merchants.people.models import Mail
from tests.factories import PASSWORD, make_member, make_user
from tests.people.conftest import is_inside, last_mail, link_in, sign_up

pytestmark = pytest.mark.django_db

NEW = "another long phrase"


def logged_in(email: str, password: str = PASSWORD) -> Client:
    client = Client()
    assert client.post("/login", {"email": email, "password": password}).status_code == 302
    return client


def ask(email: str) -> tuple[int, str, bytes]:
    reply = Client().post("/password", {"email": email})
    return reply.status_code, reply.headers.get("Location", ""), reply.content


def open_reset_link(mail: Mail) -> tuple[Client, str]:
    """A browser in which the link was opened, and the page that it leads to, whose address has no secret any more."""
    client = Client()
    page = client.get(link_in(mail)).headers["Location"]
    assert page.endswith("-set-password")
    return client, page


class TestLostPasswords:
    def test_the_link_of_the_mail_sets_a_new_password_once_and_ends_every_session(self) -> None:
        user = make_user("anna@example.com")
        inside = logged_in(user.email)
        assert ask("Anna@Example.com") == (302, "/password/sent", b"")
        mail = last_mail(user.email)
        client, page = open_reset_link(mail)
        assert client.get(page).status_code == 200
        assert client.post(page, {"password": NEW}).headers["Location"] == "/login"
        assert not is_inside(inside)
        assert is_inside(logged_in(user.email, NEW))
        assert Client().get(link_in(mail)).status_code == 404
        assert last_mail(user.email).subject == "Your password was changed"

    @pytest.mark.parametrize("password", ["short", "password1234", "anna@example.com"])
    def test_a_weak_password_is_refused(self, password: str) -> None:
        user = make_user("anna@example.com")
        ask(user.email)
        client, page = open_reset_link(last_mail(user.email))
        assert client.post(page, {"password": password}).status_code == 400
        user.refresh_from_db()
        assert user.check_password(PASSWORD)

    def test_the_reply_is_the_same_for_an_address_that_nobody_has(self) -> None:
        make_user("anna@example.com")
        make_user("gone@example.com", is_active=False)
        replies = {ask(email) for email in ("anna@example.com", "gone@example.com", "nobody@example.com")}
        assert len(replies) == 1
        assert {mail.to: mail.subject for mail in Mail.objects.all()} == {
            "anna@example.com": "A new password",
            "gone@example.com": "There is no account with this address",
            "nobody@example.com": "There is no account with this address",
        }

    def test_many_requests_from_one_place_have_to_wait(self) -> None:
        statuses = [ask(f"person{number}@example.com")[0] for number in range(21)]
        assert statuses == [302] * 20 + [429]

    def test_a_link_that_was_tampered_with_opens_nothing(self) -> None:
        user = make_user("anna@example.com")
        ask(user.email)
        path = link_in(last_mail(user.email))
        changed = path[:-1] + ("a" if path[-1] != "a" else "b")
        assert Client().get(changed).status_code == 404

    def test_a_made_up_link_to_somebody_whom_an_operator_added_changes_nothing_for_them(self) -> None:
        user = make_user("anna@example.com")
        assert Client().get(f"/password/{user_pk_to_url_str(user)}-x-y").status_code == 404
        ask(user.email)
        assert is_inside(logged_in(user.email))


class TestChangingThePassword:
    def test_the_other_sessions_end_and_this_one_stays(self) -> None:
        user = make_member().user
        this, other = logged_in(user.email), logged_in(user.email)
        assert this.post("/account/password", {"current": PASSWORD, "password": NEW}).headers["Location"] == "/account"
        assert is_inside(this)
        assert not is_inside(other)
        assert last_mail(user.email).subject == "Your password was changed"

    def test_guesses_at_the_old_one_are_counted_like_log_ins(self) -> None:
        user = make_user("anna@example.com")
        client = logged_in(user.email)
        pages = [client.post("/account/password", {"current": "guess", "password": NEW}).text for _ in range(6)]
        assert ["This is not your password." in page for page in pages] == [True] * 5 + [False]
        assert "Too many attempts" in pages[5]
        user.refresh_from_db()
        assert user.check_password(PASSWORD)


class TestChangingTheAddress:
    def test_the_new_one_counts_once_it_is_confirmed_and_the_old_one_is_told(self) -> None:
        user = make_user("anna@example.com")
        client = logged_in(user.email)
        assert client.post("/account/email", {"email": "Anna@new.example"}).headers["Location"] == "/account"
        user.refresh_from_db()
        assert user.email == "anna@example.com"
        client.post(link_in(last_mail("anna@new.example")))
        user.refresh_from_db()
        assert user.email == "anna@new.example"
        assert [address.email for address in EmailAddress.objects.all()] == ["anna@new.example"]
        assert last_mail("anna@example.com").subject == "Your e-mail address was changed"
        assert is_inside(logged_in("anna@new.example"))

    @pytest.mark.parametrize("taken", ["bob@example.com", "BOB@example.com"])
    def test_somebody_elses_address_is_never_taken_over(self, taken: str) -> None:
        make_user("bob@example.com")
        user = make_user("anna@example.com")
        client = logged_in(user.email)
        client.post("/account/email", {"email": taken})
        client.post(link_in(last_mail("bob@example.com")))
        user.refresh_from_db()
        assert user.email == "anna@example.com"
        assert User.objects.filter(email="bob@example.com").count() == 1

    def test_who_squats_an_address_without_confirming_it_loses_it(self) -> None:
        sign_up(Client(), email="anna@new.example")
        user = make_user("anna@example.com")
        client = logged_in(user.email)
        client.post("/account/email", {"email": "anna@new.example"})
        client.post(link_in(last_mail("anna@new.example")))
        assert [each.email for each in User.objects.all()] == ["anna@new.example"]
        assert User.objects.get().pk == user.pk
