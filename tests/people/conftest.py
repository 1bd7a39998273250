"""People who come in by the pages, and their mails."""

from __future__ import annotations

import re
from typing import Any

import pytest
from django.test import Client
from pytest_django.fixtures import Settings

from merchants.models import User
from merchants.people.models import Mail
from tests.factories import PASSWORD

WRITTEN = {"merchant_name": "Harbour Coffee", "name": "Jo", "email": "jo@harbour.example", "password": PASSWORD}


@pytest.fixture(autouse=True)
def open_to_all(settings: Settings) -> None:
    settings.SIGN_UP = "open"
    settings.MAILBOX_IS_SHOWN = True


def sign_up(client: Client, **changes: str) -> Any:
    return client.post("/signup", {**WRITTEN, **changes})


def last_mail(to: str = WRITTEN["email"]) -> Mail:
    return Mail.objects.filter(to=to).latest("id")


def link_in(mail: Mail) -> str:
    """The path of the link in a mail."""
    found = re.search(r"https?://[^/\s]+(/\S+)", mail.text)
    assert found is not None, mail.text
    return found.group(1)


def confirmed(client: Client, **changes: str) -> User:
    """Somebody who has signed up and opened the link, in the same browser."""
    sign_up(client, **changes)
    email = {**WRITTEN, **changes}["email"]
    client.post(link_in(last_mail(email)))
    return User.objects.get(email=email)


def is_inside(client: Client) -> bool:
    return client.get("/account").status_code == 200
