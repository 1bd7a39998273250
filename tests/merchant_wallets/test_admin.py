"""Operators look at the wallets of merchants, and change none."""

from __future__ import annotations

import pytest
from django.test import Client
from django.urls import reverse

from tests.factories import make_user
from tests.merchant_wallets.scenes import FIRST, SECOND, fresh, make_owner, name

pytestmark = pytest.mark.django_db
PAGE = reverse("admin:merchant_wallets_merchantwallet_changelist")


def test_operators_find_wallets_and_change_none() -> None:
    owner, operator = make_owner(), Client()
    wallet = name(owner, FIRST, label="Treasury")
    name(make_owner(), SECOND)
    operator.force_login(make_user(is_staff=True, is_superuser=True))
    found = operator.get(PAGE, {"q": FIRST}).text
    assert (FIRST in found, SECOND in found) == (True, False)
    of_one = reverse("admin:merchant_wallets_merchantwallet_change", args=[wallet.pk])
    assert "Treasury" in operator.get(of_one).text
    refused = [
        operator.post(of_one, {"address": SECOND}).status_code,
        operator.post(reverse("admin:merchant_wallets_merchantwallet_delete", args=[wallet.pk])).status_code,
        operator.get(reverse("admin:merchant_wallets_merchantwallet_add")).status_code,
    ]
    assert refused == [403, 403, 403]
    assert fresh(wallet).address == FIRST
