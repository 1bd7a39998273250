"""A merchant's pages as its owner's browser asks for them: their time, queries and bytes."""

from __future__ import annotations

import re
import time
from dataclasses import dataclass
from datetime import timedelta
from functools import cache, cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import psutil

if TYPE_CHECKING:
    from django.db.models import Model
    from django.test import Client

    from tests.dashboard.addresses import Records

# What a page, a style sheet or a script asks for in its turn. Pictures of a style sheet are named within it.
_ASKED_FOR = re.compile(r"""(?:src|href)="(/static/[^"#]+)|from "\.(/[^"]+)"|url\(["']?(/static/[^"')#]+)""")

ADMIN = "/admin/"
ROWS_OF_PAGE = 10


@dataclass(frozen=True)
class View:
    """`processor` is the time of this process and of the database's; None where that runs elsewhere."""

    milliseconds: float
    processor: float | None


def backend() -> psutil.Process | None:
    """The database's process for this connection, if it is on this machine."""
    from django.db import connection

    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_backend_pid()")
        (number,) = cursor.fetchone()
    try:
        process = psutil.Process(number)
    except psutil.NoSuchProcess:
        return None
    return process if "postgres" in process.name() else None


def processor_seconds(process: psutil.Process) -> float:
    """What a process has used: on Linux to the nanosecond, elsewhere to a hundredth of a second."""
    exact = Path(f"/proc/{process.pid}/schedstat")
    return int(exact.read_text().split()[0]) / 1e9 if exact.exists() else sum(process.cpu_times()[:2])


class Shop:
    """A merchant with so many payments, and the browsers of its owner and of an operator."""

    def __init__(self, owner: Client, operator: Client, records: Records, number: int) -> None:
        self._owner, self._operator, self.records, self.number = owner, operator, records, number
        self.values = self._found()

    def _found(self) -> dict[str, str]:
        from django.utils import timezone

        from merchants.ledger.models import Account
        from payments.models import Deposit, Payment
        from settlements.models import Settlement
        from tests.dashboard.addresses import UNKNOWN
        from webhooks.models import Event

        own = Payment.objects.filter(merchant=self.records.payment.merchant)
        payment = own.filter(status="completed").order_by("-id")[self.number // 4]
        deposit = Deposit.objects.filter(payment=payment).earliest("id")
        settlement = Settlement.objects.filter(merchant=payment.merchant).order_by("-id")[max(1, self.number // 2000)]
        account = Account.objects.filter(owner=str(payment.merchant_id), kind="merchant:available").earliest("balance")
        posting = account.entries.order_by("-posting")[self.number // 4].posting
        return {
            **{name: getattr(self.records, name).public_id for name in UNKNOWN},
            "payment_key": str(payment.pk),
            "account_key": str(account.pk),
            "posting_key": str(posting.pk),
            "merchant": payment.merchant.public_id,
            "year_ago": f"{timezone.now() - timedelta(days=330):%Y-%m-%d}",
            "today": f"{timezone.now():%Y-%m-%d}",
            "half_a_year_ago": f"{timezone.now() - timedelta(days=182):%Y-%m-%d}",
            "month_before": f"{timezone.now().replace(day=1) - timedelta(days=2):%Y-%m}",
            "in_the_middle": payment.public_id,
            "completed": payment.public_id,
            "end_of_id": payment.public_id[-8:],
            "part_of_hash": deposit.transaction_hash[30:42],
            "part_of_address": payment.deposit_address[16:28],
            "sender": deposit.sender,
            "settlement": settlement.public_id,
            "event": Event.objects.about(payment.pk).filter(type="payment.completed").get().public_id,
            "middle_day": f"{payment.created_at:%Y-%m-%d}",
        }

    def positions(self, model: type[Model]) -> dict[str, str]:
        """The public ids after which the first page of a list begins, its middle and its end."""
        merchant: Any = self.records.payment.merchant
        own = model._default_manager.filter(merchant=merchant, environment=self.records.payment.environment)
        if model._meta.model_name == "event":
            own = own.filter(sample_of="")
        keys = own.order_by("-pk").values_list("pk", flat=True)
        number, public_id = keys.count(), vars(model)["public_ids"]
        middle, end = (public_id.encode(keys[place]) for place in (number // 2, max(0, number - ROWS_OF_PAGE - 1)))
        return {"first page": "", "middle": middle, "end": end}

    def view(self, address: str) -> View:
        used, started = self._processor_seconds(), time.perf_counter()
        self._get(address)
        seconds, more = time.perf_counter() - started, self._processor_seconds()
        return View(seconds * 1000, None if used is None or more is None else (more - used) * 1000)

    def _processor_seconds(self) -> float | None:
        return None if self._backend is None else time.process_time() + processor_seconds(self._backend)

    @cached_property
    def _backend(self) -> psutil.Process | None:
        return backend()

    def queries(self, address: str) -> int:
        """How many statements a page takes, as `tests/dashboard/test_queries.py` counts them."""
        from tests.dashboard.test_queries import queries_of

        return len(queries_of(self._client_of(address), address.format(**self.values)))

    def first_view_bytes(self, address: str) -> int:
        """What a browser that has nothing yet is sent for a page: with headers, compressed, and all that it names."""
        body, size = self._sent(address.format(**self.values))
        waiting, total, seen = self._named(body), size, set[str]()
        while waiting:
            if (path := waiting.pop()) not in seen:
                seen.add(path)
                body, size = self._sent(path)
                total += size
                if path.endswith((".js", ".css")):
                    waiting |= self._named(body)
        return total

    def _named(self, body: str) -> set[str]:
        return {
            page or (f"/static/js{script}" if script else style) for page, script, style in _ASKED_FOR.findall(body)
        }

    @cache  # noqa: B019 - for as long as the run
    def _sent(self, path: str) -> tuple[str, int]:
        """The text of a reply, and how many bytes it takes."""
        plain, packed = (
            self._client_of(path).get(path, headers={"Accept-Encoding": each}) for each in ("identity", "gzip")
        )
        heads = sum(len(name) + len(value) + 4 for name, value in packed.items())
        return plain.getvalue().decode(errors="replace"), len(packed.getvalue()) + heads

    def _client_of(self, path: str) -> Client:
        return self._operator if path.startswith(ADMIN) else self._owner

    def _get(self, address: str) -> None:
        reply = self._client_of(address).get(address.format(**self.values))
        if reply.status_code != 200:
            raise RuntimeError(f"{address}: {reply.status_code}")
        for _ in reply if reply.streaming else ():  # a file is read to its end, and not kept
            pass
