"""Amounts as people type them: what has one meaning is read, what has two is refused with both."""

from __future__ import annotations

from collections.abc import Iterator
from decimal import Decimal
from importlib import import_module

import pytest
from django import forms

from config.pages.typed_amounts import AmountField, readings_of, unambiguous
from merchants.pages.forms import PriceField
from payments.dashboard.forms import PaymentFilterForm
from payments.dashboard.search.filters import PaymentFilter


@pytest.mark.parametrize(
    ("typed", "readings"),
    [
        ("12", ["12"]),
        ("12.50", ["12.50"]),
        ("12,50", ["12.50"]),
        ("3,5", ["3.5"]),
        ("2,000", ["2000", "2.000"]),
        ("2.000", ["2000", "2.000"]),
        ("1,250", ["1250", "1.250"]),
        ("0,125", ["0.125"]),
        ("0.125", ["0.125"]),
        ("1,250.50", ["1250.50"]),
        ("1.250,50", ["1250.50"]),
        ("1,250,000", ["1250000"]),
        ("1.250.000,5", ["1250000.5"]),
        ("1 250,00", ["1250.00"]),
        ("1\u202f250", ["1250"]),
        ("1'250.00", ["1250.00"]),
        ("1234.567", ["1234.567"]),
        ("1,25,000", []),
        ("1,250.000,5", []),
        ("-1", []),
        ("1e3", []),
        ("twelve", []),
        ("", []),
    ],
)
def test_what_an_amount_can_mean(typed: str, readings: list[str]) -> None:
    assert readings_of(typed) == [Decimal(each) for each in readings]


@pytest.mark.parametrize("amount", ["1.125", "2.000", "12.5", "2000", "0.125", "999.999", "1234.567"])
def test_what_a_form_shows_it_reads_again(amount: str) -> None:
    assert readings_of(unambiguous(Decimal(amount))) == [Decimal(amount)]


@pytest.mark.parametrize("typed", ["2,000", "2.000"])
def test_an_amount_with_two_readings_is_refused_with_both(typed: str) -> None:
    with pytest.raises(forms.ValidationError) as refused:
        PriceField().clean(typed)
    assert refused.value.messages == [f"“{typed}” can be read as 2000 or as 2.00. Write 2000 or 2.00."]
    assert PriceField().clean("2000") == PriceField().clean("2.00") * 1000 == 2000


def test_the_address_of_a_filtered_list_names_an_amount_with_one_reading() -> None:
    asked = PaymentFilterForm({"least": "1.2500", "most": "2000"}, environment="sandbox")
    assert asked.is_valid(), asked.errors
    address = asked.filters.as_json()
    assert address == {"least": "1.2500", "most": "2000"}
    assert PaymentFilterForm(PaymentFilter.from_json({"least": "1.250"}).as_json(), environment="sandbox").is_valid()


def test_every_amount_of_a_form_is_read_by_one_field() -> None:
    import_module("config.urls")  # and with it every page
    numbers = {
        f"{form.__module__}.{form.__name__}.{name}": field
        for form in subclasses(forms.BaseForm)
        if form.__module__.partition(".")[0] in ("merchants", "payments", "refunds", "settlements", "webhooks")
        for name, field in getattr(form, "base_fields", {}).items()
        if isinstance(field, forms.DecimalField | forms.FloatField)
    }
    assert len(numbers) > 10
    assert [name for name, field in numbers.items() if not isinstance(field, AmountField)] == []


def subclasses(form: type[forms.BaseForm]) -> Iterator[type[forms.BaseForm]]:
    for each in form.__subclasses__():
        yield each
        yield from subclasses(each)
