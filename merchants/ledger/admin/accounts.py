"""Accounts with their balance at any instant and their entries, and postings with both sides."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, date, datetime, time, timedelta
from typing import Any
from uuid import UUID

from django import forms
from django.contrib import admin
from django.contrib.admin.views.main import ChangeList
from django.core.validators import MaxValueValidator
from django.http import HttpRequest, HttpResponse, QueryDict

from config.admin.columns import Readable, ValuesInWords
from config.admin.story import Section
from config.admin.values import Shown, instant, link, money, page_of, place_of
from config.database.replica import reading_cursor
from config.environments import Environment
from merchants.ledger.admin.base import LedgerAdmin
from merchants.ledger.balances import StatementLine, balance_at, statement
from merchants.ledger.models import Account, Posting
from merchants.ledger.owners import linked_owner, name_owners

ENTRIES_SHOWN = 50


class ShowsOwners(Readable):
    """Names of the owners of accounts, which the rows of a page are given together."""

    def owner_of(self, account: Account) -> Shown:
        return linked_owner(vars(account).get("owner_name") or name_owners([account])[account.pk])


def with_owners(accounts: Iterable[Account]) -> None:
    found = list(accounts)
    names = name_owners(found)
    for account in found:
        vars(account)["owner_name"] = names[account.pk]


def in_coins(account: Account, signed: int) -> str:
    return money(signed, place_of(account), account.asset)


class AccountList(ChangeList):
    def get_results(self, request: HttpRequest) -> None:
        super().get_results(request)
        self.result_list = list(self.result_list)
        with_owners(self.result_list)


@admin.register(Account)
class AccountAdmin(ShowsOwners, LedgerAdmin):
    list_display = ("kind", "whose", "holds", "network", "environment")
    list_filter = ("environment", "network", "asset", "kind")
    change_form_template = "admin/account.html"
    search_fields = ("owner",)
    search_help_text = "The id of a merchant or payment."
    fields = ("kind", "whose", "holds", "network", "environment")
    readonly_fields = fields
    ordering = ("-id",)

    def get_changelist(self, request: HttpRequest, **options: Any) -> type[ChangeList]:
        return AccountList

    @admin.display(description="Whose")
    def whose(self, account: Account) -> Shown:
        return self.owner_of(account)

    @admin.display(description="Holds")
    def holds(self, account: Account) -> str:
        return in_coins(account, account.natural_balance)

    def render_change_form(self, request: HttpRequest, context: Any, *args: Any, **options: Any) -> HttpResponse:
        if (account := context.get("original")) is not None:
            context |= _statement_of(account, request.GET)
        return super().render_change_form(request, context, *args, **options)


class StatementForm(forms.Form):
    """Form of an account's page: the instant of its balance, and the days of its entries."""

    at = forms.DateTimeField(
        label="Balance at (UTC)",
        required=False,
        help_text="With every posting made until then. Empty: now.",
        validators=[
            MaxValueValidator(datetime(3000, 1, 1, tzinfo=UTC), "This is too far ahead: choose an earlier one.")
        ],
        widget=forms.DateTimeInput(format="%Y-%m-%dT%H:%M:%S", attrs={"type": "datetime-local", "step": "1"}),
    )
    first = forms.DateField(
        label="Entries from (UTC)", required=False, widget=forms.DateInput(format="%Y-%m-%d", attrs={"type": "date"})
    )
    last = forms.DateField(
        label="To (UTC)",
        required=False,
        help_text="The last day, included.",
        validators=[MaxValueValidator(date(2999, 12, 31), "This day is too far ahead: choose an earlier one.")],
        widget=forms.DateInput(format="%Y-%m-%d", attrs={"type": "date"}),
    )

    def clean(self) -> dict[str, Any]:
        entered = super().clean() or self.cleaned_data
        first, last = entered.get("first"), entered.get("last")
        if first and last and last < first:
            raise forms.ValidationError({"last": "The last day is before the first one: choose a later day."})
        return entered


def _statement_of(account: Account, asked: QueryDict) -> dict[str, Any]:
    """What the page of an account shows of its entries: the form, the balance asked for, and a page of entries."""
    form = StatementForm(asked)
    if not form.is_valid():
        return {"statement_form": form}
    first, last, at = (form.cleaned_data[name] for name in ("first", "last", "at"))
    try:
        before = UUID(asked.get("before", ""))
    except ValueError:
        before = None
    found = statement(
        account,
        start=first and datetime.combine(first, time.min, tzinfo=UTC),
        end=last and datetime.combine(last + timedelta(days=1), time.min, tzinfo=UTC),
        before=before,
        number=ENTRIES_SHOWN + 1,
    )
    shown = found[:ENTRIES_SHOWN]
    query = asked.copy()
    query.pop("before", None)
    newest = query.urlencode()
    if len(found) > len(shown):
        query["before"] = str(shown[-1].entry.posting_id)
    return {
        "statement_form": form,
        "asked_at": at,
        "held_then": in_coins(account, balance_at(account, at)) if at else "",
        "newest": newest if before else None,
        "older": query.urlencode() if len(found) > len(shown) else "",
        "story": [
            Section(
                title="Entries",
                headings=("When", "What", "Change", "Balance after it"),
                amounts=2,
                rows=[_row(account, line) for line in shown],
                empty="No entry is older." if before else "No entry is of this time.",
            )
        ],
    }


def _row(account: Account, line: StatementLine) -> tuple[Shown, ...]:
    posting, change = line.entry.posting, in_coins(account, line.change)
    return (
        instant(posting.created_at),
        link(page_of(Posting, posting.pk), str(posting)),
        change if line.change < 0 else f"+{change}",
        in_coins(account, line.balance),
    )


class KindsOfPostings(ValuesInWords):
    """Filter by the kinds that occur. Each is found by the index, so that not every posting is read."""

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        with reading_cursor() as cursor:
            cursor.execute(_KINDS_OF_POSTINGS, [Environment.values])
            self.lookup_choices = [kind for (kind,) in cursor.fetchall()]  # type: ignore[assignment]


_KINDS_OF_POSTINGS = f"""
    WITH RECURSIVE step AS (
        SELECT environment, (
            SELECT min(kind) FROM {Posting._meta.db_table} AS own WHERE own.environment = each.environment
        ) AS kind
        FROM unnest(%s::varchar[]) AS each (environment)
        UNION ALL
        SELECT environment, (
            SELECT min(own.kind) FROM {Posting._meta.db_table} AS own
            WHERE own.environment = step.environment AND own.kind > step.kind
        ) FROM step WHERE kind IS NOT NULL
    )
    SELECT DISTINCT kind FROM step WHERE kind IS NOT NULL ORDER BY kind
"""  # noqa: S608 - the name of our own table


@admin.register(Posting)
class PostingAdmin(LedgerAdmin):
    list_display = ("kind", "reference", "environment", "created")
    list_filter = ("environment", ("kind", KindsOfPostings))
    search_fields = ("reference__startswith", "=id")
    search_help_text = "The start of a reference: a transaction hash with its network, or the id of a payment."
    fields = ("kind", "reference", "environment", "memo", "created")
    readonly_fields = fields
    ordering = ("-id",)

    @admin.display(description="Created", ordering="id")
    def created(self, posting: Posting) -> datetime:
        return posting.created_at
