"""`ballast trigger EVENT`: acts it out in the sandbox, with a payment of its own."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Annotated, Any

import typer

from ballast import Ballast
from ballast.cli import events
from ballast.cli.session import Refused, session
from ballast.models import Payment, Refund, Scenario

WAIT_SECONDS = 90.0
STELLAR_WALLET = "GA7QYNF7SOWQ3GLR2BGMZEHXAVIRZA4KVWLTJJFC7MGXUA74P7UJVSGZ"
"""The example of SEP-23: on the simulated network nobody needs its key."""


def create(client: Ballast, network: str = "polygon") -> Payment:
    if network == "stellar":
        return client.payments.create(
            amount=25, currency="USD", cryptocurrency="USDC", network="stellar", merchant_wallet=STELLAR_WALLET
        )
    return client.payments.create(
        amount=25, currency="USD", merchant_wallets={"polygon": "0x5a5A5a5a5A5a5a5a5a5A5a5A5A5a5a5A5A5A5A5A"}
    )


def simulated(scenario: Scenario, network: str = "polygon") -> Callable[[Ballast], Payment]:
    def act(client: Ballast) -> Payment:
        payment = create(client, network)
        client.payments.simulate(payment.id, scenario=scenario)
        return payment

    return act


def cancelled(client: Ballast) -> Payment:
    return client.payments.cancel(create(client).id)


def refunded(client: Ballast) -> Refund:
    payment = completed(client, simulated("exact")(client))
    return client.refunds.create(payment_id=payment.id, amount=10)


def refund_without_address(client: Ballast) -> Refund:
    """An exchange sent the money: it cannot go back there."""
    payment = completed(client, simulated("from_exchange", "stellar")(client))
    return client.refunds.create(payment_id=payment.id, amount=10)


def refund_cancelled(client: Ballast) -> Refund:
    return client.refunds.cancel(refund_without_address(client).id)


def payment_of_a_refund(client: Ballast) -> Payment:
    return client.payments.get(refunded(client).payment_id)


def tested(client: Ballast) -> Any:
    found = client.webhooks.list(limit=1).data
    if not found:
        raise Refused("There is no webhook to test. `ballast listen` needs none for other events.")
    client.webhooks.test(found[0].id)
    return found[0]


TRIGGERS: dict[str, Callable[[Ballast], Any]] = {
    "payment.created": create,
    "payment.pending": simulated("exact"),
    "payment.underpaid": simulated("underpaid"),
    "payment.completed": simulated("exact"),
    "payment.overpaid": simulated("overpaid"),
    "payment.expired": simulated("late"),
    "payment.late": simulated("late"),
    "payment.cancelled": cancelled,
    "payment.reversed": simulated("reorg"),
    "payment.updated": simulated("wrong_token"),
    "payment.refunded": payment_of_a_refund,
    "refund.created": refunded,
    "refund.pending": refunded,
    "refund.processing": refunded,
    "refund.completed": refunded,
    "refund.requires_action": refund_without_address,
    "refund.cancelled": refund_cancelled,
    "webhook.test": tested,
}
"""What makes each event happen. Others need an operator: settlements, coins that go missing, a refund that fails."""


def completed(client: Ballast, payment: Payment) -> Payment:
    ends_at = time.monotonic() + WAIT_SECONDS
    while payment.status != "completed":
        if time.monotonic() > ends_at:
            raise Refused(f"{payment.id} is not completed after {WAIT_SECONDS:.0f} s: {payment.status}")
        time.sleep(1)
        payment = client.payments.get(payment.id)
    return payment


def names(incomplete: str) -> list[str]:
    return [name for name in TRIGGERS if name.startswith(incomplete)]


def trigger(
    context: typer.Context,
    event: Annotated[str, typer.Argument(help="As payment.underpaid.", autocompletion=names)],
    wait: Annotated[bool, typer.Option(help="Wait until it has happened.")] = True,
) -> None:
    """Make an event happen in the sandbox: a payment is created, and its payer acted out."""
    here = session(context)
    act = TRIGGERS.get(event)
    if act is None:
        raise typer.BadParameter(f"{event} cannot be triggered. These can: {', '.join(TRIGGERS)}", param_hint="EVENT")
    client = here.sandbox_client()
    record = act(client)
    here.output.note(f"{record.id}: waiting for {event}" if wait else record.id, "dim")
    ends_at = time.monotonic() + WAIT_SECONDS
    while wait:
        found = client.events.list(type=event, limit=100).data  # type: ignore[arg-type]
        mine = next((one for one in found if one.raw["data"]["object"].get("id") == record.id), None)
        if mine is not None:
            events.show(here.output, mine)
            return
        if time.monotonic() > ends_at:
            raise Refused(f"{event} of {record.id} has not happened after {WAIT_SECONDS:.0f} s")
        time.sleep(1)
    if here.output.as_json:
        here.output.json(record.raw)
