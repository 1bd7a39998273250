"""`python -m tests.bench.pages`: time, queries and bytes of every page of a merchant with a million payments, and
of the operators' search.

Each page is measured beside the same page of a merchant with a thousand. A database of its own is filled first, which
takes most of the time: `--many 100000` is done in a tenth of it.
"""
# ruff: noqa: T201 - its report goes to standard output

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import psutil

from tests.bench import server
from tests.bench.kept import QUIET
from tests.bench.report import HEADING, Line

if TYPE_CHECKING:
    from tests.bench.viewing import Shop, View

MANY, FEW = 1_000_000, 1_000
ROUNDS = 5
CEILING_MILLISECONDS, MOST_QUERIES, MOST_KILOBYTES = 150.0, 12, 60.0
OF_SEARCHES = 300.0, 30, 60.0
"""The same of an operator's search, which looks through records of every kind and merchant."""
OF_PREVIEWS = 150.0, 30, 60.0
"""The same of a page that shows what accepting would do, by doing it and rolling it back."""
EXPORTED = 100_000
ONE_PART = 0.001
"""Seconds: a turn that is over when its first part is written."""

PAGES = {
    **{f"overview, {period}": f"/dashboard?period={period}" for period in ("24h", "7d", "30d", "12m")},
    "payments": "/dashboard/payments",
    "payments, a status": "/dashboard/payments?status=cancelled",
    "payments, a coin": "/dashboard/payments?network=polygon&coin=DAI",
    "payments, amounts": "/dashboard/payments?least=49&most=50",
    "payments, one coin, amounts": "/dashboard/payments?network=polygon&coin=DAI&least=49&most=49.01",
    "payments, days": "/dashboard/payments?start={half_a_year_ago}&status=underpaid",
    "payments, page in the middle": "/dashboard/payments?before={in_the_middle}",
    "search, end of an id": "/dashboard/payments?q={end_of_id}",
    "search, middle of a hash": "/dashboard/payments?q={part_of_hash}",
    "search, middle of an address": "/dashboard/payments?q={part_of_address}",
    "search, two Han characters": "/dashboard/payments?q=李雷",
    "search, two Latin letters": "/dashboard/payments?q=er",
    "search, in three of ten": "/dashboard/payments?q=gift-wrap",
    "search, in three of ten, long ago": "/dashboard/payments?q=spring",
    "search, metadata of one": "/dashboard/payments?q=order-777",
    "search, metadata of all": "/dashboard/payments?q=@example.org",
    "search, e-mail of few": "/dashboard/payments?q=person4242@example.org",
    "search, nothing": "/dashboard/payments?q=no-such-text",
    "search, an amount": "/dashboard/payments?q=49.99",
    "search, an address": "/dashboard/payments?q={sender}",
    "search, with a status": "/dashboard/payments?q=@example.org&status=cancelled",
    "command palette": "/dashboard/find?q=order-99",
    "a payment": "/dashboard/payments/{completed}",
    "take a payment": "/dashboard/payments/new",
    "decisions": "/dashboard/decisions",
    "payment links": "/dashboard/links",
    "a payment link": "/dashboard/links/{link}",
    "refunds": "/dashboard/refunds",
    "refunds, a status": "/dashboard/refunds?status=requires_action",
    "a refund": "/dashboard/refunds/{refund}",
    "settlements": "/dashboard/settlements",
    "a settlement": "/dashboard/settlements/{settlement}",
    "settle now": "/dashboard/settlements/now",
    "statement, month that runs": "/dashboard/statements/month",
    "statement, month before": "/dashboard/statements/month?month={month_before}",
    "keys": "/dashboard/keys",
    "webhooks": "/dashboard/webhooks",
    "a webhook": "/dashboard/webhooks/{webhook}",
    "deliveries": "/dashboard/deliveries",
    "deliveries that failed": "/dashboard/deliveries?status=failed",
    "deliveries, a type": "/dashboard/deliveries?type=payment.reversed",
    "a delivery": "/dashboard/deliveries/{delivery}",
    "settings": "/dashboard/settings",
    "policy": "/dashboard/settings/policy",
    "audit log": "/dashboard/audit",
    "operators' search, end of an id": "/admin/search?q={end_of_id}",
    "operators' search, an id": "/admin/search?q={completed}",
    "operators' search, middle of a hash": "/admin/search?q={part_of_hash}",
    "operators' search, an address": "/admin/search?q={sender}",
    "operators' search, metadata of one": "/admin/search?q=order-777",
    "operators' search, metadata of all": "/admin/search?q=@example.org",
    "operators' search, long ago": "/admin/search?q=spring",
    "operators' search, an amount": "/admin/search?q=49.99",
    "operators' search, coins": "/admin/search?q=49,99%20USDC",
    "operators' search, a merchant": "/admin/search?q=payments",
    "operators' search, nothing": "/admin/search?q=no-such-text",
}


OPERATORS_MILLISECONDS, OPERATORS_QUERIES = 300.0, 45
OPERATORS = {
    "operators: first page": ("/admin/", 150.0, 15),
    "operators: a payment": (
        "/admin/payments/payment/{payment_key}/change/", OPERATORS_MILLISECONDS, OPERATORS_QUERIES,
    ),
    "operators: payments": ("/admin/payments/payment/", OPERATORS_MILLISECONDS, 15),
    "operators: deposits": ("/admin/payments/deposit/", OPERATORS_MILLISECONDS, 15),
    "operators: events": ("/admin/webhooks/event/", OPERATORS_MILLISECONDS, 15),
    "operators: discrepancies": (
        "/admin/payments/discrepancy/?status__exact=open&payment__isempty=0", OPERATORS_MILLISECONDS, 15,
    ),
    "operators: refunds that wait": (
        "/admin/refunds/refund/?status__exact=requires_action", OPERATORS_MILLISECONDS, 15,
    ),
    "operators: postings": ("/admin/ledger/posting/", OPERATORS_MILLISECONDS, 15),
    "operators: a posting": ("/admin/ledger/posting/{posting_key}/change/", OPERATORS_MILLISECONDS, OPERATORS_QUERIES),
    "operators: an account": ("/admin/ledger/account/{account_key}/change/", OPERATORS_MILLISECONDS, 15),
    "operators: an account, an instant": (
        "/admin/ledger/account/{account_key}/change/?at={half_a_year_ago}T12:00:00&last={half_a_year_ago}",
        OPERATORS_MILLISECONDS, 15,
    ),
    "operators: accounting, now": ("/admin/accounting?environment=sandbox", OPERATORS_MILLISECONDS, 15),
    "operators: accounting, an instant": (
        "/admin/accounting?environment=sandbox&at={half_a_year_ago}T12:00", OPERATORS_MILLISECONDS, 15,
    ),
    "operators: accounting, a merchant": (
        "/admin/accounting?environment=sandbox&at={half_a_year_ago}T12:00&merchant={merchant}",
        OPERATORS_MILLISECONDS, 15,
    ),
    "operators: the result of a month": (
        "/admin/accounting/result?environment=sandbox&first={half_a_year_ago}&last={half_a_year_ago}",
        OPERATORS_MILLISECONDS, 15,
    ),
    "operators: the result of a year": (
        "/admin/accounting/result?environment=sandbox&first={year_ago}&last={today}", OPERATORS_MILLISECONDS, 15,
    ),
}  # fmt: skip
"""Pages of operators, with their own goals; the ratio is to the first page of the admin."""


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.bench.pages", description=__doc__)
    parser.add_argument("--many", type=int, default=MANY, help=f"payments of the large merchant (default {MANY:,})")
    parser.add_argument("--exported", type=int, default=EXPORTED, help=f"payments in a file (default {EXPORTED:,})")
    parser.add_argument("--strict", action="store_true", help="fail when a goal is not met")
    arguments = parser.parse_args()
    server.choose_settings()
    with server.database():
        import django

        django.setup()
        found = _lines(arguments.many, arguments.exported)
    print(found[-1])
    return 1 if arguments.strict and any(line.met is False for line in found) else 0


def _lines(many: int, exported: int) -> list[Line]:
    from django.core.management import call_command
    from django.test import override_settings

    from merchants.access.log_in import sessions

    call_command("migrate", verbosity=0)
    vars(sessions)["_USE_IS_NOTED_EVERY_SECONDS"] = 86_400  # else some page a minute writes it down
    with override_settings(**QUIET):
        small, large = _merchants(FEW, many)
        print(HEADING, flush=True)
        found = []
        for name, address in every_page().items():
            found.append(_page_line(name, address, small, large))
            print(found[-1], flush=True)
        for line in _operators_lines(large):
            found.append(line)
            print(line, flush=True)
        return [*found, _export_line(large, exported)]


def every_page() -> dict[str, str]:
    """These and all others, under their addresses."""
    from tests.dashboard.addresses import DOWNLOADS, READS

    others = [path for path in READS if path not in DOWNLOADS and path not in PAGES.values()]
    return PAGES | {path.removeprefix("/dashboard/"): path for path in others}


def _merchants(*numbers: int) -> list[Shop]:
    from django.db import connection
    from django.test import Client

    from tests.bench.million import Fill
    from tests.bench.viewing import Shop
    from tests.dashboard.addresses import make_records
    from tests.factories import make_member, make_merchant, make_user

    made = []
    for number in numbers:  # all of them before the first is filled: what is made looks through all there is
        merchant = make_merchant(f"{number:,} payments")
        made.append((number, make_member(merchant), make_records(merchant)))
    for number, member, records in made:
        started = time.monotonic()
        Fill(member.merchant, records, number).write()
        print(f"{number:,} payments in {time.monotonic() - started:.0f} s", flush=True)
    with connection.cursor() as cursor:
        cursor.execute("SET statement_timeout = 0")
        cursor.execute("VACUUM ANALYZE")
        cursor.execute("RESET statement_timeout")
    shops = []
    for number, member, records in made:
        owner, operator = Client(SERVER_NAME="localhost"), Client(SERVER_NAME="localhost")
        owner.force_login(member.user)
        operator.force_login(make_user(is_staff=True, is_superuser=True))
        shops.append(Shop(owner, operator, records, number))
    return shops


def _page_line(name: str, address: str, small: Shop, large: Shop) -> Line:
    """The least time of the rounds, as whatever else the machine does only adds to it, also of the processor's.

    The goal is for the lesser of the two, and the ratio is that of the processor's where it is known.
    """
    milliseconds, most, kilobytes = CEILING_MILLISECONDS, MOST_QUERIES, MOST_KILOBYTES
    if address.startswith("/admin/search"):
        milliseconds, most, kilobytes = OF_SEARCHES
    if name.endswith("{discrepancy}/accept"):
        milliseconds, most, kilobytes = OF_PREVIEWS
    queries = max(shop.queries(address) for shop in (small, large))
    sent = large.first_view_bytes(address) / 1000
    views: dict[int, list[View]] = {small.number: [], large.number: []}
    for _round in range(ROUNDS):
        for shop in (small, large):
            views[shop.number].append(shop.view(address))
    (few, few_processor), (many, many_processor) = (_figures(views[shop.number]) for shop in (small, large))
    return Line(
        name,
        f"{many:.1f} ms ({many_processor:.1f} of the processor), {queries} queries, {sent:.1f} kB",
        f"{few:.1f} ({few_processor:.1f}) ms with {small.number:,}",
        f"{many_processor / few_processor:.1f}x",
        f"<= {milliseconds:.0f} ms, {most}, {kilobytes:.0f} kB",
        min(many, many_processor) <= milliseconds and queries <= most and sent <= kilobytes,
    )


def _figures(views: list[View]) -> tuple[float, float]:
    """The least of the times, and of the processor's; the least once more where that is not known."""
    least = min(view.milliseconds for view in views)
    known = [view.processor for view in views if view.processor is not None]
    return least, min(known, default=least)


def _operators_lines(large: Shop) -> Iterator[Line]:
    """The admin's pages beside its first one, measured in the same run."""
    first = None
    for name, (address, most_milliseconds, most_queries) in OPERATORS.items():
        queries = large.queries(address)
        took, processor = _figures([large.view(address) for _round in range(ROUNDS)])
        first = first or processor
        yield Line(
            name,
            f"{took:.1f} ms ({processor:.1f} of the processor), {queries} queries",
            f"{first:.1f} ms the first page",
            f"{processor / first:.1f}x",
            f"<= {most_milliseconds:.0f} ms, {most_queries}",
            min(took, processor) <= most_milliseconds and queries <= most_queries,
        )


def _export_line(shop: Shop, number: int) -> Line:
    """A file of so many payments; `number` of them at most, as days are what narrows a list down."""
    from datetime import timedelta

    from django.utils import timezone

    from payments.dashboard.exports.services import read_file, request_export, write_exports
    from payments.dashboard.search.filters import PaymentFilter

    days = 365 * number // shop.number
    start = None if days >= 365 else (timezone.now() - timedelta(days=days)).date()
    member: Any = shop.records.export.requested_by
    export = request_export(
        merchant=shop.records.payment.merchant,
        environment="sandbox",
        requested_by=member,
        filters=PaymentFilter(start=start),
    )
    process = psutil.Process()
    write_exports(turn_seconds=ONE_PART)  # what is loaded once is loaded
    before = most = process.memory_info().rss
    started = time.monotonic()
    while write_exports(turn_seconds=ONE_PART):
        most = max(most, process.memory_info().rss)
    seconds = time.monotonic() - started
    export.refresh_from_db()
    size = sum(map(len, read_file(export))) / 2**20
    grown = (max(most, process.memory_info().rss) - before) / 2**20
    return Line(
        f"export of {export.rows_written:,} rows",
        f"{seconds:.1f} s, {size:.0f} MiB, memory +{grown:.0f} MiB",
        f"{export.rows_written / seconds:,.0f} rows/s",
        "",
        "<= +32 MiB",
        grown <= 32,
    )


if __name__ == "__main__":
    sys.exit(main())
