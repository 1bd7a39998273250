"""Lists that are imported: what is kept of them, and how one takes another's place."""

from __future__ import annotations

import hashlib
from datetime import date
from io import StringIO
from pathlib import Path

import pytest
from django.core.management import CommandError, call_command

from payments.screening.models import ListedAddress, SanctionsList
from tests.screening.samples import ETHEREUM, EU, OTHER, PLAIN, SDN, STELLAR

pytestmark = pytest.mark.django_db


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "list.xml"


def sanctions_import(file: Path, text: str, **options: str) -> str:
    file.write_text(text)
    shown = StringIO()
    call_command("sanctions", "import", str(file), stdout=shown, **options)
    return shown.getvalue()


def test_hash_date_and_counts_are_kept(file: Path) -> None:
    shown = sanctions_import(file, SDN)
    kept = SanctionsList.objects.get()
    digest = hashlib.sha256(SDN.encode()).hexdigest()
    assert (kept.source, kept.file_name, kept.sha256) == ("ofac", "list.xml", digest)
    assert (kept.published_on, kept.entry_count) == (date(2026, 11, 20), 2)
    assert (kept.address_count, kept.foreign_count) == (2, 1)
    assert "2 addresses to compare, 1 of other networks" in shown
    assert set(kept.addresses.values_list("address", flat=True)) == {ETHEREUM, STELLAR}


def test_a_large_file_reports_its_progress(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("payments.screening.management.commands.sanctions.LARGE_BYTES", 1_000_000)
    file.write_text("address\n" + f"{ETHEREUM}\n" * 60_000)
    shown = StringIO()
    call_command("sanctions", "import", str(file), source="own", stdout=StringIO(), stderr=shown)
    assert [line.split(" % ")[0] for line in shown.getvalue().splitlines()] == [
        str(each) for each in range(10, 101, 10)
    ]


def test_a_list_takes_the_place_of_its_source_alone(file: Path) -> None:
    sanctions_import(file, SDN)
    sanctions_import(file, EU)
    newer = SDN.replace(ETHEREUM, OTHER).replace(ETHEREUM.lower(), OTHER).replace("11/20/2026", "11/21/2026")
    sanctions_import(file, newer)
    named = ListedAddress.objects.order_by("source__source", "address").values_list("source__source", "address")
    assert list(named) == [("eu", ETHEREUM), ("eu", STELLAR), ("ofac", OTHER), ("ofac", STELLAR)]
    lists = [(each.source, each.replaced_at is None) for each in SanctionsList.objects.order_by("pk")]
    assert lists == [("ofac", False), ("eu", True), ("ofac", True)]


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        pytest.param(SDN, "in force already", id="the same file"),
        pytest.param(SDN.replace("11/20/2026", "11/19/2026"), "The list in force is of 2026-11-20", id="older"),
        pytest.param(SDN[:-20], "nothing was imported", id="cut off"),
        pytest.param(PLAIN, "whose list it is", id="a CSV without its source"),
        pytest.param(SDN.replace("Digital Currency", "Street"), "names no address", id="another list of the source"),
    ],
)
def test_a_refused_file_changes_nothing(file: Path, text: str, problem: str) -> None:
    sanctions_import(file, SDN)
    before = list(SanctionsList.objects.values()), list(ListedAddress.objects.values())
    with pytest.raises(CommandError, match=problem):
        sanctions_import(file, text)
    assert (list(SanctionsList.objects.values()), list(ListedAddress.objects.values())) == before


def test_an_empty_csv_takes_a_list_out_of_force(file: Path) -> None:
    sanctions_import(file, SDN)
    sanctions_import(file, "address\n", source="OFAC")
    assert not ListedAddress.objects.exists()
