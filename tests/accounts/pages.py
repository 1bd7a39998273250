"""Product against model once more, as pages show it: the figures that a merchant reads after any history."""

from __future__ import annotations

import re
from collections.abc import Iterator
from decimal import Decimal
from fractions import Fraction
from html import unescape
from typing import Any

from django.test import Client
from django.urls import reverse

from config import ids
from merchants.models import Merchant as MerchantRow
from payments.dashboard.decisions.rows import decision_row
from payments.models import Discrepancy
from tests.accounts import balance, model
from tests.accounts.comparing import ComparedWorld
from tests.dashboard.conftest import browser_of
from tests.factories import make_member

PAID = ("completed", "partially_refunded", "refunded")


class ShownWorld(ComparedWorld):
    """A world whose pages are compared with the model."""

    def compare_pages(self) -> None:
        """Overview, lists of payments, decisions and the statement of the month, of each merchant."""
        for row, merchant in self.merchants:
            client = browser_of(make_member(merchant=row))
            own = {key: each for key, each in self.payments.items() if each.merchant is merchant}
            self._compare_volume(client, own)
            self._compare_list(client, own)
            self._compare_worths(row, own)
            self._compare_statement(client, row, merchant)

    def _compare_volume(self, client: Client, own: dict[Any, model.Payment]) -> None:
        paid = [each for each in own.values() if each.status in PAID and each.released]
        shown = text_of(client.get("/dashboard?period=24h&currency=USD").text)
        volume = re.search(r"Volume (\S+) USD", shown)
        number = re.search(r" Paid (\d+) ", shown)
        cents = sum(min(price_of(each), cents_of(each.released, each)) for each in paid)
        self._say(
            "overview",
            {"volume": Decimal(cents) / 100, "paid": len(paid)},
            {
                "volume": Decimal(volume[1].replace(",", "")) if volume else Decimal(0),
                "paid": int(number[1]) if number else 0,
            },
        )
        self.compared += 2

    def _compare_list(self, client: Client, own: dict[Any, model.Payment]) -> None:
        found = {}
        for cells in rows_of_list(client):
            received = cells["Received"].split()[0].replace("–", "0").replace(",", "")
            found[cells["id"]] = (Decimal(received), cells["Status"].endswith("To decide"))
        expected = {}
        for key, each in own.items():
            waits = any(one.status == "open" for one in each.waiting)
            expected[ids.PAYMENT.encode(key)] = (Decimal(each.received).scaleb(-each.coin.decimals), waits)
        self.compared += 2 * len(own)
        self._say("list of payments", expected, found)

    def _compare_worths(self, row: MerchantRow, own: dict[Any, model.Payment]) -> None:
        for waiting in Discrepancy.objects.filter(merchant=row, status="open").select_related("payment", "deposit"):
            payment = own[waiting.payment_id]
            is_own = (waiting.network, waiting.asset) == (payment.coin.network, payment.coin.code)
            cents = cents_of(int(waiting.amount), payment)
            self._say(
                f"worth of {waiting}",
                {"worth": f"{Decimal(cents) / 100:,.2f} USD" if is_own else ""},
                {"worth": decision_row(waiting).worth},
            )
            self.compared += 1

    def _compare_statement(self, client: Client, row: MerchantRow, merchant: balance.Merchant) -> None:
        """The closing balances of its first page; what an account moved is compared by other tests."""
        page = client.get(reverse("dashboard_month")).text
        summary = page.partition("Summary</h2>")[2].partition("</table>")[0]
        found: dict[str, Decimal] = {}
        for line in summary.split("</tr>")[1:-1]:
            name, *_, closing = [text_of(cell) for cell in re.findall(r"<td.*?</td>", line, re.DOTALL)]
            if " on " in name and name.startswith("Your balance"):
                found[name.removesuffix(" (simulated)")] = Decimal(closing.replace(",", "").replace("−", "-"))
        expected = {
            f"Your balance: {coin.code} on {coin.network.capitalize()}": Decimal(units).scaleb(-coin.decimals)
            for coin, units in merchant.money.items()
            if units
        }
        self.compared += len(found)
        self._say(f"statement of {row}", expected, {name: units for name, units in found.items() if units})


def cents_of(units: int, payment: model.Payment) -> int:
    """The share of the price that so much of its coin is worth, half a cent rounded up."""
    share = Fraction(units * price_of(payment), payment.due)
    return int(share + Fraction(1, 2))


def price_of(payment: model.Payment) -> int:
    """In cents: a coin was worth a dollar when the payment was created."""
    return int(payment.due // 10 ** (payment.coin.decimals - 2))


def rows_of_list(client: Client) -> Iterator[dict[str, str]]:
    """Each row of the list of payments, page after page, by the names of its columns, with the payment's id."""
    address = reverse("dashboard_payments")
    while address:
        page = client.get(address).text
        for row in re.findall(r"<tr>.*?</tr>", page, re.DOTALL):
            if key := re.search(r"/dashboard/payments/(pay_\w+)", row):
                cells = re.findall(r'<td[^>]*data-label="([^"]+)"[^>]*>(.*?)</td>', row, re.DOTALL)
                yield {"id": key[1]} | {name: text_of(cell) for name, cell in cells}
        older = re.search(r'href="([^"]*[?&amp;]before=[^"]*)"', page)
        address = unescape(older[1]) if older else ""
        address = f"{reverse('dashboard_payments')}{address}" if address.startswith("?") else address


def text_of(page: str) -> str:
    """What somebody reads, with single spaces."""
    return " ".join(unescape(re.sub(r"<[^>]+>", " ", page)).split())
