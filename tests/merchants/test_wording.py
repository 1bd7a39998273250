"""How instants read to a merchant."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from merchants.wording import exact, from_now, local, short, zone

NOW = datetime(2027, 1, 31, 12, tzinfo=UTC)


def test_an_instant_is_told_on_the_clocks_of_its_zone() -> None:
    assert local(NOW, "UTC") == "Sun 31 Jan 2027, 12:00"
    assert short(NOW, "Asia/Tokyo") == "31 Jan 2027, 21:00"
    assert exact(NOW) == "31 Jan 2027, 12:00:00 UTC"
    assert exact(None) == ""
    assert local(NOW, "Pacific/Auckland") == "Mon 1 Feb 2027, 01:00"
    assert local(NOW, "Australia/Lord_Howe") == "Sun 31 Jan 2027, 23:00"


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("UTC", "UTC"),
        ("Europe/Lisbon", "Lisbon time"),
        ("America/Argentina/Buenos_Aires", "Buenos Aires time"),
        ("EST5EDT", "EST5EDT"),
    ],
)
def test_a_zone_is_named_by_its_city(name: str, words: str) -> None:
    assert zone(name) == words


@pytest.mark.parametrize(
    ("distance", "words"),
    [
        (timedelta(0), "now"),
        (timedelta(seconds=29), "now"),
        (timedelta(seconds=31), "in 1 minute"),
        (timedelta(minutes=90), "in 90 minutes"),
        (timedelta(hours=2), "in 2 hours"),
        (timedelta(hours=47), "in 47 hours"),
        (timedelta(days=2), "in 2 days"),
        (timedelta(days=30), "in 30 days"),
        (timedelta(minutes=-5), "5 minutes ago"),
        (timedelta(hours=-3), "3 hours ago"),
    ],
)
def test_a_distance_is_told_in_one_unit(distance: timedelta, words: str) -> None:
    assert from_now(NOW + distance, NOW) == words
