"""What a periodic task reads is what is due, not what there is: no query of one walks through a filled table.

Rows are counted as for lists (`tests/api/test_list_plans.py`), beside two merchants of 2,000 payments: of one all is
swept, and of the other nothing ever is, as on stellar.
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from django.db import connection, transaction
from django.test.utils import CaptureQueriesContext
from pytest_django.fixtures import Settings

from config.celery import app
from config.periodic import due_work
from payments import tasks
from payments.treasury.sweeping import request_sweep
from tests.api.test_list_plans import FILLED, met, vacuum
from tests.bench.bookkeeping import Books, four_payments
from tests.bench.million import Fill
from tests.dashboard.addresses import make_records
from tests.factories import make_merchant
from tests.payments.scenes import ETHEREUM, POLYGON, SANDBOX
from tests.transfers.scenes import finish

WITH_MEASURES_OF_THEIR_OWN = {"webhooks.deliver_due", "operations.reconcile"}
"""A dispatcher that runs on and on, and all checks: see `make bench` and `tests.bench.books`."""

READ_IN_BATCHES = {"payments.look_for_native_coin": "payment_watched"}
"""Indexes of which a round reads as much as it looks at: some addresses of the last month."""


@pytest.mark.django_db
def test_a_round_meets_few_rows(settings: Settings) -> None:
    vacuum()
    settings.SIMULATED_BLOCK_SECONDS = 0
    app.loader.import_default_modules()
    merchant = make_merchant()
    Fill(merchant, make_records(merchant), FILLED).write()
    merchant = make_merchant()
    paid, expired = four_payments(merchant)
    for network in (ETHEREUM, POLYGON):
        request_sweep(environment=SANDBOX, network=network, asset="USDC", requested_by="Ada")
        tasks.sweep()
        finish(network)
    tasks.sweep()
    assert all(payment.deposits.get().is_swept for payment in paid)
    Books(merchant, FILLED, lambda what, share: None).keep(paid, expired)
    with connection.cursor() as cursor:
        cursor.execute("ANALYZE")
        rounds = [name for name in app.conf.beat_schedule if name not in WITH_MEASURES_OF_THEIR_OWN]
        for name in rounds:
            app.tasks[name]()  # what is due is done, and the second round finds nothing
        assert {name: found for name in rounds if (found := [*dear(name)])} == {}
        assert met(asked()) == []
        cursor.execute("DROP INDEX deposit_to_sweep")
        assert [*dear("payments.sweep")]


def asked() -> str:
    """The statement by which beat finds the tasks that have work."""
    with CaptureQueriesContext(connection) as captured:
        due_work.with_work()
    [query] = captured
    return str(query["sql"])


def dear(task: str) -> Iterator[str]:
    """The steps of a round's statements that meet more than a few rows."""
    with CaptureQueriesContext(connection) as captured:
        app.tasks[task]()
    for sql in (query["sql"] for query in captured):
        if sql.lstrip().startswith(("SELECT", "WITH", "UPDATE", "DELETE")) and not sql.startswith("SELECT pg_"):
            with transaction.atomic():
                yield from (step for step in met(sql) if READ_IN_BATCHES.get(task, "no step") not in step)
                transaction.set_rollback(True)
