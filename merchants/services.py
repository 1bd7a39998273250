"""Every change of a merchant, its keys and its settings."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from datetime import datetime, time
from decimal import Decimal
from functools import cache
from typing import Final, TypedDict
from zoneinfo import available_timezones

from django.conf import settings
from django.core.exceptions import ValidationError
from django.core.validators import validate_email
from django.db import transaction
from django.utils import timezone

from config.coins import COINS
from config.environments import Environment
from config.errors import DomainError, InvalidParameter
from merchants.access import keys
from merchants.access.addresses import parse_network
from merchants.access.scopes import Scope, may_give
from merchants.members import add_member
from merchants.models import (
    ApiKey,
    LatePayments,
    Merchant,
    MerchantSettings,
    Plan,
    SettlementFrequency,
    Surplus,
    User,
)
from merchants.roles import Role
from merchants.wallets import instants_after, wallet_key

MAX_TOLERANCE_BPS: Final = 50
MAX_SURPLUS_KEPT_BPS: Final = 100
"""Of the price. More was hardly meant for the merchant, who would owe it to the payer."""
MAX_FEE_BPS: Final = 9_999
FEE_BY_ONE_BPS: Final = 1_000
"""Up to this fee one operator decides; more is a share of the merchant's money that takes two."""
MAY_CHANGE_FEE: Final = "merchants.change_fee"
"""The operators' permission to change a plan or a fee."""
MAX_ALLOWED_NETWORKS: Final = 100
MAX_ALLOWED_WALLETS: Final = 200
_MINIMUM_DIGITS: Final = 6
_MINIMUM_BELOW: Final = Decimal(10) ** 14
_WALLET: Final = re.compile(r"0x[0-9a-fA-F]{40}|G[A-Z2-7]{55}|M[A-Z2-7]{68}")


class MayNotGive(DomainError):
    code = "may_not_give"
    message = "A key cannot do more than your own role permits. Ask an owner or an admin to create this one."


@dataclass(frozen=True, slots=True)
class IssuedKey:
    """A new key and its secret, which nothing can show again."""

    key: ApiKey
    secret: str = field(repr=False)


class SettingsChanges(TypedDict, total=False):
    """Fields `update_settings` may change; an omitted one stays as it is."""

    settlement_currency: str
    settlement_frequency: str
    settlement_time: time
    settlement_timezone: str
    settlement_weekday: int | None
    settlement_monthday: int | None
    settlement_minimum: Decimal
    payment_tolerance_bps: int
    late_payments: str
    surplus: str
    surplus_kept_bps: int
    one_reason_below: int
    wallet_allow_list: Sequence[str]


# --- merchants ---------------------------------------------------------------------------------------


def open_merchant(*, name: str, email: str, owner: User | None = None, plan: str = Plan.STARTER) -> Merchant:
    """A new merchant with default settings in both environments, and its first owner when one is given."""
    name = checked_merchant_name(name)
    try:
        validate_email(email)
    except ValidationError:
        raise InvalidParameter("email must be an e-mail address.", param="email") from None
    _check_choice(plan, Plan.values, "plan")
    with transaction.atomic():
        merchant = Merchant.objects.create(name=name, email=email, plan=plan)
        MerchantSettings.objects.bulk_create(
            MerchantSettings(merchant=merchant, environment=environment) for environment in Environment
        )
        if owner is not None:
            add_member(merchant=merchant, user=owner, role=Role.OWNER)
    return merchant


def checked_merchant_name(name: str) -> str:
    """The name as a merchant can have it; InvalidParameter otherwise."""
    return _checked_name(name, limit=120)


def rename_merchant(*, merchant: Merchant, name: str) -> None:
    merchant.name = checked_merchant_name(name)
    merchant.save(update_fields=["name"])


def change_plan(*, merchant: Merchant, plan: str, requests_per_minute: int | None = None) -> None:
    """Change the plan, which decides the production request budget; only enterprise merchants have their own."""
    _check_choice(plan, Plan.values, "plan")
    if requests_per_minute is not None:
        if plan != Plan.ENTERPRISE:
            raise InvalidParameter(
                "Only an enterprise merchant has a request budget of its own.", param="requests_per_minute"
            )
        _check_range(requests_per_minute, 1, 1_000_000, "requests_per_minute")
    merchant.plan, merchant.requests_per_minute = plan, requests_per_minute
    merchant.save(update_fields=["plan", "requests_per_minute"])


def fee_bps_of(merchant: Merchant) -> int:
    """The fee on the merchant's settlements, in hundredths of a percent: its own, else its plan's."""
    return fee_bps_by(merchant.plan, merchant.fee_bps)


def fee_bps_by(plan: str, own: int | None) -> int:
    return settings.FEE_BPS.get(plan, 0) if own is None else own


def check_fee(fee_bps: int | None) -> None:
    if fee_bps is not None:
        _check_range(fee_bps, 0, MAX_FEE_BPS, "fee_bps")


def change_fee(*, merchant: Merchant, fee_bps: int | None) -> None:
    """Set the fee on settlements, in hundredths of a percent; None: the fee of its plan."""
    check_fee(fee_bps)
    merchant.fee_bps = fee_bps
    merchant.save(update_fields=["fee_bps"])


# --- keys --------------------------------------------------------------------------------------------


def issue_api_key(
    *,
    merchant: Merchant,
    environment: Environment,
    name: str,
    scopes: Sequence[str] = (),
    expires_at: datetime | None = None,
    allowed_networks: Sequence[str] = (),
    require_signature: bool = False,
    created_by: User | None = None,
    role: str | None = None,
) -> IssuedKey:
    """A new key pair beside those that exist. No scopes: full access. No networks: from anywhere.

    `role` is that of the person who makes it, who cannot give what it does not permit; None for an operator.
    """
    name = _checked_name(name, limit=80)
    if unknown := set(scopes) - set(Scope):
        raise InvalidParameter(f"There is no scope {min(unknown)!r}.", param="scopes")
    if role is not None and not may_give(role, scopes):
        raise MayNotGive(param="scopes")
    if expires_at is not None and expires_at <= timezone.now():
        raise InvalidParameter("expires_at must be in the future.", param="expires_at")
    pair = keys.generate_pair(environment)
    key = ApiKey.objects.create(
        merchant=merchant,
        environment=environment,
        name=name,
        public_key=pair.public_key,
        secret_digest=keys.digest(pair.secret),
        pepper=keys.pepper_name(),
        scopes=sorted(set(map(str, scopes))),
        expires_at=expires_at,
        allowed_networks=_checked_networks(allowed_networks),
        require_signature=require_signature,
        created_by=created_by,
    )
    return IssuedKey(key=key, secret=pair.secret)


def revoke_api_key(*, key: ApiKey) -> None:
    """Deletes the pair for good: from the next request on it is unknown."""
    revoked_at = timezone.now()
    if ApiKey.objects.filter(pk=key.pk, revoked_at__isnull=True).update(revoked_at=revoked_at):
        key.revoked_at = revoked_at


# --- settings ----------------------------------------------------------------------------------------


def update_settings(*, merchant: Merchant, environment: Environment, changes: SettingsChanges) -> MerchantSettings:
    """Changes what is given and leaves the rest. A refusal names the field as the API writes it."""
    _check_settings(changes)
    with transaction.atomic():
        current = MerchantSettings.objects.select_for_update().get(merchant=merchant, environment=environment)
        if "wallet_allow_list" in changes:
            current.wallets_allowed_at = instants_after(
                changes["wallet_allow_list"],
                before=current.wallet_allow_list,
                instants=current.wallets_allowed_at,
                now=timezone.now(),
            )
        if any(changes.get(name, old) != old for name, old in _surplus_policy(current).items()):
            current.surplus_since = timezone.now()
        for name, value in changes.items():
            setattr(current, name, value)
        if "surplus" in changes and current.surplus != Surplus.KEEP:
            current.surplus_kept_bps = changes.get("surplus_kept_bps", 0)
        if changes.keys() & {"surplus", "surplus_kept_bps"}:
            _check_kept(current)
        # A weekly or monthly schedule always stores its day, so that nobody has to know the default.
        if current.settlement_frequency == SettlementFrequency.WEEKLY and current.settlement_weekday is None:
            current.settlement_weekday = 1
        if current.settlement_frequency == SettlementFrequency.MONTHLY and current.settlement_monthday is None:
            current.settlement_monthday = 1
        current.save()
    return current


def _check_kept(chosen: MerchantSettings) -> None:
    """A surplus that is kept needs its share, and no other has one: it would have no meaning."""
    if (chosen.surplus == Surplus.KEEP) != (chosen.surplus_kept_bps > 0):
        message = "surplusKept must be above 0 with the surplus keep, and 0 with any other."
        raise InvalidParameter(message, param="surplusKept")


def _surplus_policy(chosen: MerchantSettings) -> dict[str, object]:
    return {"surplus": chosen.surplus, "surplus_kept_bps": chosen.surplus_kept_bps}


def _check_settings(changes: SettingsChanges) -> None:
    if "settlement_currency" in changes:
        _check_choice(changes["settlement_currency"], COINS, "settlementCurrency")
    if "settlement_frequency" in changes:
        _check_choice(changes["settlement_frequency"], SettlementFrequency.values, "settlementSchedule.frequency")
    if "settlement_timezone" in changes and changes["settlement_timezone"] not in _timezones():
        raise InvalidParameter(
            "timezone must be the name of an IANA time zone, for example Europe/Berlin.",
            param="settlementSchedule.timezone",
        )
    if (weekday := changes.get("settlement_weekday")) is not None:
        _check_range(weekday, 1, 7, "settlementSchedule.dayOfWeek")
    if (monthday := changes.get("settlement_monthday")) is not None:
        _check_range(monthday, 1, 31, "settlementSchedule.dayOfMonth")
    if "settlement_minimum" in changes:
        _check_minimum(changes["settlement_minimum"])
    if "payment_tolerance_bps" in changes and not 0 <= changes["payment_tolerance_bps"] <= MAX_TOLERANCE_BPS:
        raise InvalidParameter("paymentTolerance must be between 0 and 0.5 percent.", param="paymentTolerance")
    if "late_payments" in changes:
        _check_choice(changes["late_payments"], LatePayments.values, "latePayments")
    if "surplus" in changes:
        _check_choice(changes["surplus"], Surplus.values, "surplus")
    if "surplus_kept_bps" in changes and not 0 <= changes["surplus_kept_bps"] <= MAX_SURPLUS_KEPT_BPS:
        raise InvalidParameter("surplusKept must be between 0 and 1 percent.", param="surplusKept")
    if "wallet_allow_list" in changes:
        _check_wallets(changes["wallet_allow_list"])


@cache
def _timezones() -> frozenset[str]:
    """The IANA names, read from disk once: looking them up takes milliseconds."""
    return frozenset(available_timezones())


def _check_minimum(amount: Decimal) -> None:
    if not amount.is_finite() or not 0 <= amount < _MINIMUM_BELOW:
        raise InvalidParameter(
            f"minimumAmount must be at least 0 and below {_MINIMUM_BELOW:f}.", param="settlementSchedule.minimumAmount"
        )
    if amount != round(amount, _MINIMUM_DIGITS):
        raise InvalidParameter(
            f"minimumAmount has at most {_MINIMUM_DIGITS} fractional digits.", param="settlementSchedule.minimumAmount"
        )


def _check_wallets(wallets: Sequence[str]) -> None:
    if len(wallets) > MAX_ALLOWED_WALLETS:
        raise InvalidParameter(f"walletAllowList has at most {MAX_ALLOWED_WALLETS} entries.", param="walletAllowList")
    for position, wallet in enumerate(wallets):
        if not _WALLET.fullmatch(wallet):
            raise InvalidParameter(
                "A wallet is written as on its network: 0x and 40 hexadecimal digits, or G… or M… on stellar.",
                param=f"walletAllowList.{position}",
            )
    if len(set(map(wallet_key, wallets))) != len(wallets):
        raise InvalidParameter("walletAllowList names a wallet twice.", param="walletAllowList")


# --- shared checks -----------------------------------------------------------------------------------


def _checked_name(name: str, *, limit: int) -> str:
    name = name.strip()
    if not name or len(name) > limit or not name.isprintable():
        raise InvalidParameter(f"name must have 1 to {limit} printable characters.", param="name")
    return name


def _checked_networks(networks: Sequence[str]) -> list[str]:
    if len(networks) > MAX_ALLOWED_NETWORKS:
        raise InvalidParameter(
            f"allowed_networks has at most {MAX_ALLOWED_NETWORKS} entries.", param="allowed_networks"
        )
    checked: list[str] = []
    for text in networks:
        try:
            network = str(parse_network(text.strip()))
        except ValueError:
            raise InvalidParameter(
                f"{text.strip()[:60]!r} is not an IP network such as 192.0.2.0/24 or 2001:db8::/32.",
                param="allowed_networks",
            ) from None
        if network not in checked:
            checked.append(network)
    return checked


def _check_choice(value: str, allowed: Collection[str], param: str) -> None:
    if value not in allowed:
        raise InvalidParameter(f"{param.rpartition('.')[2]} must be one of {', '.join(allowed)}.", param=param)


def _check_range(value: int, smallest: int, largest: int, param: str) -> None:
    if not smallest <= value <= largest:
        raise InvalidParameter(f"{param.rpartition('.')[2]} must be between {smallest} and {largest}.", param=param)
