"""The story of a sweep."""

from __future__ import annotations

from collections.abc import Iterator

from config.admin.story import Section
from config.admin.values import EMPTY, Shown, instant, money, related
from payments.stories import sections
from payments.stories.sections import MOST, address, linked, transaction
from payments.transfers.models import Transfer
from payments.treasury.models import Sweep


def of_sweep(sweep: Sweep) -> Iterator[Section]:
    transfer = sweep.transfer
    place = transfer.environment, transfer.network
    yield _money(sweep)
    yield _timeline(sweep, transfer)
    yield Section(
        title="Transfer",
        headings=("Signed", "Wallet", "State", "Network fee", "Transaction"),
        rows=[
            (
                instant(envelope.signed_at),
                linked(transfer.wallet, transfer.wallet.address),
                transfer.get_status_display() if envelope.transaction_hash == transfer.transaction_hash else EMPTY,
                money(transfer.fee_units, place) if envelope.transaction_hash == transfer.transaction_hash else EMPTY,
                transaction(*place, envelope.transaction_hash),
            )
            for envelope in transfer.envelopes.order_by("-id")[:MOST]
        ],
    )
    yield Section(
        title="At each address",
        headings=("Address", "Payment", "Expected", "Left it", "Arrived", "What was said"),
        rows=[
            (
                address(*place, line.payment.address_on(transfer.network)),
                related(line.payment, is_page=False),
                sweep.coins(line.expected),
                sweep.coins(line.left),
                sweep.coins(line.arrived),
                ": ".join(filter(None, (line.get_reason_display(), line.said))) or EMPTY,
            )
            for line in sweep.addresses.select_related("payment").order_by("id")[:MOST]
        ],
        empty="Nothing is known yet of what it did at each address.",
    )
    yield sections.deposits(
        list(sweep.deposits.order_by("-id")[:MOST]), title="Deposits that it takes", empty="It takes no deposits."
    )
    references = [str(transfer.pk), *[f"{transfer.network}:{transfer.transaction_hash}"] * bool(transfer.height)]
    yield sections.postings_named(transfer.environment, references)
    yield Section(
        title="Who asked for it",
        headings=("When", "Who", "What became of it"),
        rows=[
            (instant(each.requested_at), each.requested_by, each.outcome)
            for each in sweep.requests.order_by("-id")[:MOST]
        ],
    )


def _money(sweep: Sweep) -> Section:
    lines = list(sweep.addresses.all())
    arrived = sweep.moved or 0
    kept = sum(line.left - line.arrived for line in lines)
    passed = sum(line.expected for line in lines if not line.left)
    sums = (
        ("Expected", sweep.expected),
        ("Arrived", arrived),
        ("Kept by the token", kept),
        ("Left where it was", passed),
    )
    return Section(
        title="Money",
        headings=("What", "Coins", "Worth"),
        rows=[
            (words, sweep.coins(units), sections.worth(sweep.asset, units, sweep.decimals))
            for words, units in sums
            if units
        ],
    )


def _timeline(sweep: Sweep, transfer: Transfer) -> Section:
    ended = f"{transfer.get_status_display()}{f', in block {transfer.height:,}' if transfer.height else ''}"
    cold = sweep.cold_wallet
    went = f"To the cold wallet {cold.address}" if cold else "To the hot wallet"
    nothing = "Nothing moved: the deposits are free for another sweep"
    happened = (
        (transfer.created_at, "Signed", ""),
        (transfer.sent_at, "Sent", transfer.last_error),
        (transfer.finished_at, ended, ""),
        (sweep.booked_at, "Booked", went if sweep.moved else nothing),
    )
    rows: list[tuple[Shown, ...]] = [(instant(at), what, more) for at, what, more in happened if at]
    if sweep.last_error:
        rows.append((EMPTY, "Not booked yet", sweep.last_error))
    return Section(title="What happened", headings=("When", "What", "More"), rows=rows)
