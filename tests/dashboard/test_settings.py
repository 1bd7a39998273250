"""The merchant's settings on the dashboard."""

from __future__ import annotations

from decimal import Decimal
from zoneinfo import ZoneInfo

import pytest
from django.test import Client
from django.utils import timezone

from config.environments import Environment
from merchants.models import Member, MerchantSettings
from merchants.roles import Role
from tests.dashboard.conftest import browser_of
from tests.factories import make_member

WALLET = "0x52908400098527886E0F7030069857D2E4169EE7"
VALID = {
    "settlement_currency": "USDT",
    "settlement_frequency": "weekly",
    "settlement_time": "14:30",
    "settlement_timezone": "Europe/Amsterdam",
    "settlement_weekday": "5",
    "settlement_monthday": "",
    "settlement_minimum": "12.5",
    "wallet_allow_list": f"{WALLET}\n",
}


def chosen(member: Member, environment: Environment = Environment.SANDBOX) -> MerchantSettings:
    return member.merchant.settings.get(environment=environment)


def test_settings_are_saved_for_the_environment_in_view(client: Client, member: Member) -> None:
    response = client.post("/dashboard/settings", VALID, follow=True)
    assert "The settings are saved." in response.text
    saved = chosen(member)
    assert saved.settlement_currency == "USDT"
    assert saved.settlement_frequency == "weekly"
    assert f"{saved.settlement_time:%H:%M}" == "14:30"
    assert saved.settlement_timezone == "Europe/Amsterdam"
    assert saved.settlement_weekday == 5
    assert saved.settlement_monthday is None
    assert saved.settlement_minimum == Decimal("12.5")
    assert saved.wallet_allow_list == [WALLET]
    assert chosen(member, Environment.PRODUCTION).settlement_currency == "USDC"


def test_saving_what_is_shown_changes_nothing(client: Client, member: Member) -> None:
    client.post("/dashboard/settings", VALID)
    before = MerchantSettings.objects.filter(pk=chosen(member).pk).values().get()
    page = client.get("/dashboard/settings")
    form = page.context["form"]
    shown = {name: form[name].value() for name in form.fields}
    shown["settlement_time"] = f"{shown['settlement_time']:%H:%M}"
    shown["wallet_allow_list"] = "\n".join(shown["wallet_allow_list"])
    client.post("/dashboard/settings", {name: "" if value is None else value for name, value in shown.items()})
    assert MerchantSettings.objects.filter(pk=chosen(member).pk).values().get() == before


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"settlement_currency": "EUR"}, "Select a valid choice."),
        ({"settlement_time": "25:00"}, "Enter a valid time."),
        ({"settlement_timezone": "Moon/Base"}, "There is no time zone with this name."),
        ({"settlement_monthday": "32"}, "Enter 31 or less"),
        ({"settlement_minimum": "-1"}, "Enter 0 or more"),
        ({"settlement_minimum": "NaN"}, "Enter an amount such as 12.50."),
        ({"settlement_minimum": "1e30"}, "below 100000000000000"),
        ({"wallet_allow_list": "my wallet"}, "A wallet is written as on its network"),
        ({"wallet_allow_list": f"{WALLET}\n{WALLET.lower()}"}, "names a wallet twice"),
    ],
)
def test_a_bad_value_is_refused_at_its_field(
    client: Client, member: Member, change: dict[str, str], words: str
) -> None:
    response = client.post("/dashboard/settings", VALID | change)
    assert words in response.text
    [field] = change
    assert response.context["form"].errors.keys() == {field}
    assert chosen(member).settlement_currency == "USDC"


@pytest.mark.parametrize("role", [Role.DEVELOPER, Role.VIEWER])
def test_only_some_change_where_money_goes(member: Member, role: Role) -> None:
    colleague = browser_of(make_member(member.merchant, role=role))
    page = colleague.get("/dashboard/settings").text
    assert "Only an owner or an admin may change these." in page
    assert ">Save<" not in page
    assert colleague.post("/dashboard/settings", VALID).status_code == 403
    assert chosen(member).settlement_currency == "USDC"


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        ("Europe/Lisbon", "Europe/Lisbon"),
        ("europe/lisbon", "Europe/Lisbon"),
        (" lisbon ", "Europe/Lisbon"),
        ("New York", "America/New_York"),
        ("america/argentina/buenos aires", "America/Argentina/Buenos_Aires"),
        ("utc", "UTC"),
    ],
)
def test_a_time_zone_is_understood_as_people_write_it(client: Client, member: Member, written: str, meant: str) -> None:
    client.post("/dashboard/settings", VALID | {"settlement_timezone": written})
    assert chosen(member).settlement_timezone == meant


def test_time_zones_are_suggested(client: Client) -> None:
    page = client.get("/dashboard/settings").text
    assert 'list="time-zones"' in page
    assert '<option value="Europe/Lisbon">' in page
    assert '<option value="Etc/GMT+3">' not in page


def test_the_next_settlement_is_told_on_the_merchants_clocks(client: Client, member: Member) -> None:
    client.post("/dashboard/settings", VALID)
    page = client.get("/dashboard/settings")
    at = page.context["next_run_at"]
    assert f"{at.astimezone(ZoneInfo('Europe/Amsterdam')):%a %H:%M}" == "Fri 14:30"
    assert at > timezone.now()
    assert page.context["next_run"] in page.text
    assert "Amsterdam time" in page.text


def test_without_a_schedule_nothing_is_announced(client: Client) -> None:
    client.post("/dashboard/settings", VALID | {"settlement_frequency": "manual"})
    assert "Nothing is settled automatically." in client.get("/dashboard/settings").text


def test_the_fee_is_told(client: Client, member: Member) -> None:
    assert "0.00 % of what payments bring in" in client.get("/dashboard/settings").text
    member.merchant.fee_bps = 75
    member.merchant.save()
    assert "0.75 % of what payments bring in" in client.get("/dashboard/settings").text
