"""A member of a merchant, and a browser logged in as one."""

from __future__ import annotations

import pytest
from django.test import Client
from pytest_django.fixtures import Settings

from merchants.models import Member
from tests.dashboard.addresses import Records, make_records
from tests.factories import make_member, make_merchant
from tests.worlds import populated_once


@pytest.fixture(autouse=True)
def stopped_clock(settings: Settings) -> None:
    """Blocks appear only when a test mines them."""
    settings.SIMULATED_BLOCK_SECONDS = 0


@pytest.fixture
def member(db: None) -> Member:
    return make_member(make_merchant("Harbour Coffee"))


@pytest.fixture
def client(member: Member) -> Client:
    """A browser in which the member has logged in."""
    return browser_of(member)


@pytest.fixture
@populated_once
def records(db: None) -> Records:
    return make_records(make_merchant("Harbour Coffee"))


def browser_of(member: Member, *, enforce_csrf_checks: bool = False) -> Client:
    client = Client(enforce_csrf_checks=enforce_csrf_checks)
    client.force_login(member.user)
    return client
