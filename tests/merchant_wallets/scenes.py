"""Merchants who name wallets, in words the tests share."""

from __future__ import annotations

from datetime import timedelta

from django.utils import timezone

from config.environments import Environment
from merchants.models import Member, Merchant
from merchants.roles import Role
from payments.chains.simulated.networks import address_named
from payments.merchant_wallets.models import MerchantWallet
from payments.merchant_wallets.services import apply_due, set_wallet
from tests.factories import make_member, make_merchant
from tests.networks import POLYGON

SANDBOX = Environment.SANDBOX
FIRST, SECOND, THIRD = (address_named(POLYGON, f"{number} wallet") for number in ("first", "second", "third"))


def make_owner(merchant: Merchant | None = None, *, role: Role = Role.OWNER) -> Member:
    return make_member(merchant or make_merchant("Harbour Coffee"), role=role)


def name(by: Member, address: str, *, network: str = POLYGON, label: str = "") -> MerchantWallet:
    return set_wallet(merchant=by.merchant, environment=SANDBOX, network=network, address=address, label=label, by=by)


def wait_is_over(wallet: MerchantWallet) -> int:
    """A second after the end of the wait the worker comes by; returns how many changes it did."""
    return apply_due(fresh(wallet).takes_effect_at + timedelta(seconds=1))


def just_before_its_end(wallet: MerchantWallet) -> int:
    return apply_due(fresh(wallet).takes_effect_at - timedelta(seconds=1))


def fresh(wallet: MerchantWallet) -> MerchantWallet:
    return MerchantWallet.objects.get(pk=wallet.pk)


def statuses(merchant: Merchant) -> dict[str, str]:
    """What became of every address that was named, the newest last."""
    return dict(MerchantWallet.objects.of(merchant, SANDBOX).order_by("id").values_list("address", "status"))


def hours_from_now(wallet: MerchantWallet) -> int:
    return round((wallet.takes_effect_at - timezone.now()) / timedelta(hours=1))
