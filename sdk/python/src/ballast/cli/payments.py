"""`ballast payments`: create, list, get."""

from __future__ import annotations

import itertools
import json
from typing import Annotated, Any

import typer

from ballast.cli.output import Columns
from ballast.cli.session import session
from ballast.models import Payment

app = typer.Typer(help="Create payments, and look at them.", no_args_is_help=True)

ROW: Columns = {
    "id": lambda payment: payment.id,
    "status": lambda payment: payment.status,
    "amount": lambda payment: f"{payment.amount} {payment.currency}",
    "due": lambda payment: f"{payment.amount_due} {payment.cryptocurrency}",
    "received": lambda payment: payment.amount_received,
    "network": lambda payment: payment.network,
    "created": lambda payment: payment.created_at,
}
WHOLE: Columns = {
    **ROW,
    "refunded": lambda payment: payment.amount_refunded,
    "reasons": lambda payment: payment.status_reasons,
    "address": lambda payment: payment.deposit_address,
    "memo": lambda payment: payment.memo,
    "expires": lambda payment: payment.expires_at,
    "metadata": lambda payment: json.dumps(payment.raw.get("metadata"), default=str),
    "url": lambda payment: payment.url,
}


@app.command()
def create(
    context: typer.Context,
    amount: Annotated[str, typer.Argument(help="In the currency, as 25.50")],
    currency: Annotated[str, typer.Option("--currency", "-c", help="ISO 4217 code of the price's currency.")] = "USD",
    coin: Annotated[str | None, typer.Option(help="USDC, USDT or DAI; left out, the payer chooses.")] = None,
    network: Annotated[str | None, typer.Option(help="stellar, ethereum or polygon.")] = None,
    wallet: Annotated[str | None, typer.Option(help="Where settlements go, with --coin and --network.")] = None,
    expires_in: Annotated[int | None, typer.Option(help="Seconds that the payer has.")] = None,
    redirect_url: Annotated[str | None, typer.Option(help="Where the payer may go on.")] = None,
    webhook_url: Annotated[str | None, typer.Option(help="Told of this payment's events.")] = None,
    metadata: Annotated[
        list[str] | None, typer.Option("--metadata", "-m", help="name=value, as often as you like.")
    ] = None,
    idempotency_key: Annotated[str | None, typer.Option(help="The same key makes one payment.")] = None,
) -> None:
    """Create a payment, and print its page for the payer."""
    here = session(context)
    fields: dict[str, Any] = {
        "cryptocurrency": coin, "network": network, "merchant_wallet": wallet, "expires_in": expires_in,
        "redirect_url": redirect_url, "webhook_url": webhook_url, "metadata": pairs(metadata or []) or None,
    }  # fmt: skip
    given = {name: value for name, value in fields.items() if value is not None}
    if idempotency_key:
        given["idempotency_key"] = idempotency_key
    payment: Payment = here.client.payments.create(amount=amount, currency=currency.upper(), **given)  # type: ignore[arg-type]
    here.output.record(payment, WHOLE)


@app.command("list")
def list_(
    context: typer.Context,
    status: Annotated[str | None, typer.Option(help="Only these, as completed or underpaid.")] = None,
    limit: Annotated[int, typer.Option("--limit", "-n", min=1, help="How many, the newest first.")] = 20,
) -> None:
    """List payments, the newest first."""
    here = session(context)
    found = here.client.payments.list(status=status, limit=min(limit, 100))
    here.output.table(itertools.islice(found, limit), ROW)


@app.command()
def get(context: typer.Context, payment_id: str) -> None:
    """Show a payment."""
    here = session(context)
    here.output.record(here.client.payments.get(payment_id), WHOLE)


def pairs(words: list[str]) -> dict[str, str]:
    found = dict(word.partition("=")[::2] for word in words)
    if not all("=" in word for word in words):
        raise typer.BadParameter("metadata is name=value", param_hint="--metadata")
    return found
