"""The statement of a month as a PDF: what its page shows."""

from __future__ import annotations

from collections.abc import Sequence

from django.utils.formats import date_format
from django.utils.translation import get_language, gettext

from config.pages.pdf import Column, Paper, Table, Text, pdf_of
from merchants.models import Merchant
from payments.monitoring.accounting.periods import Days
from settlements.monthly.presenters import FLOWS, MonthAccountPage, head_of, summary_of


def month_pdf(
    merchant: Merchant, environment: str, month: Days, accounts: Sequence[MonthAccountPage], *, runs: bool, zone: str
) -> bytes:
    """The statement as a file: a page of summary, then each account."""
    title = gettext("Statement: %(month)s") % {"month": date_format(month.first, "F Y")}
    subtitle = [merchant.name, *head_of(merchant, environment, month, zone)]
    if runs:
        subtitle.append(gettext("This month is in progress: more entries will follow."))
    blocks: list[Text | Table] = [_summary(accounts)] if accounts else []
    blocks += [block for account in accounts for block in _blocks_of(account)]
    if not blocks:
        blocks = [Text([gettext("Nothing happened in this month")])]
    return pdf_of(Paper(title, subtitle, blocks, get_language() or "en", gettext("Page")))


def _summary(accounts: Sequence[MonthAccountPage]) -> Table:
    columns = [
        Column(gettext("Summary")),
        Column(gettext("Opening balance"), is_number=True),
        *(Column(str(flow), is_number=True) for flow in FLOWS),
        Column(gettext("Change of rates"), is_number=True),
        Column(gettext("Closing balance"), is_number=True),
    ]
    rows = [[row.words, row.opening, *row.flows, row.revaluation, row.closing] for row in summary_of(accounts)]
    return Table(columns, rows, ends_page=True)


def _blocks_of(account: MonthAccountPage) -> list[Text | Table]:
    blocks: list[Text | Table] = [_sums(account), _worths(account)]
    if not account.is_summed:
        words = gettext(
            "This month has too many entries to add them up by kind here. The CSV and JSON files have all of them."
        )
        blocks.append(Text([words]))
    if account.entries:
        blocks.append(_entries(account))
        if not account.shows_every_entry:
            words = gettext("These are the first entries of the month. The CSV and JSON files have all of them.")
            blocks.append(Text([words]))
    return blocks


def _sums(account: MonthAccountPage) -> Table:
    columns = [
        Column(gettext("What")),
        Column(gettext("How many"), is_number=True),
        Column(gettext("Amount"), is_number=True),
        Column(gettext("Worth when quoted"), is_number=True),
    ]
    rows = [
        [gettext("Opening balance"), "", account.opening, ""],
        *([row["words"], row["count"], row["amount"], row["fiat"]] for row in account.rows),
        [gettext("Closing balance"), "", account.closing, ""],
    ]
    return Table(columns, rows, heading=account.title, ends_in_total=True)


def _worths(account: MonthAccountPage) -> Table:
    columns = [
        Column(gettext("Worth in")),
        Column(gettext("Opening balance"), is_number=True),
        Column(gettext("Entries"), is_number=True),
        Column(gettext("Change of rates"), is_number=True),
        Column(gettext("Closing balance"), is_number=True),
    ]
    rows = [
        [
            "\n".join(filter(None, (worth["currency"], worth["rates"]))),
            worth["opening"],
            worth["entries"],
            worth["revaluation"],
            worth["closing"],
        ]
        for worth in account.worths
    ]
    return Table(columns, rows)


def _entries(account: MonthAccountPage) -> Table:
    columns = [
        Column(gettext("When"), is_date=True),
        Column(gettext("What")),
        Column(gettext("Amount"), is_number=True),
        Column(gettext("Balance"), is_number=True),
        Column(gettext("Worth when quoted"), is_number=True),
        Column(gettext("When settled"), is_number=True),
    ]
    rows = [
        [
            line["at"],
            f"{line['words']}\n{line['reference']}",
            line["amount"],
            line["balance"],
            line["fiat"],
            line["settled"],
        ]
        for line in account.lines
    ]
    return Table(columns, rows, heading=f"{gettext('Each entry')}: {account.title}")
