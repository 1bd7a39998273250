"""The story of a network of one environment, from rows: no network is queried."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from django.db.models import Q

from config.admin.story import Section
from config.admin.values import EMPTY, Shown, instant, words_of
from config.pages import wording
from merchants.ledger import stops
from merchants.ledger.models import Stop
from payments.chains.settings_parser import single_provider_name
from payments.deposits.models import ReadingRequest
from payments.monitoring.figures import NetworkFigures, coins_text, figures_once
from payments.monitoring.models import NetworkSnapshot, RoleChange
from payments.monitoring.today.networks import coin_lines
from payments.stories.sections import MOST, address, linked, transaction
from payments.transfers.models import Wallet
from payments.treasury.models import ColdWallet, Sweep, SweepRequest
from payments.treasury.sweep_failures import describe

LATEST = 10


def of_network(snapshot: NetworkSnapshot) -> Iterator[Section]:
    figures = figures_once(snapshot)
    here = {"environment": snapshot.environment, "network": snapshot.network}
    yield _stops(snapshot)
    yield Section(
        title="Open alarms",
        headings=("Since", "Alarm", "What", "Who looks after it"),
        rows=[
            (instant(each.raised_at), linked(each, str(each)), each.message, each.acknowledged_by or "nobody")
            for each in figures.alarms
        ],
        empty="No alarm is open here.",
    )
    yield _reading(snapshot, figures)
    yield _providers(snapshot, figures)
    yield from _wallets(snapshot, figures)
    yield from _sweeps(snapshot, figures)
    yield from _roles(snapshot)
    yield Section(
        title="What is read again",
        headings=("Requested", "What", "Due", "Why it is not read yet"),
        rows=[
            (
                instant(each.asked_at),
                linked(each, wording.short_hash(each.transaction_hash) if each.transaction_hash else _blocks(each)),
                instant(each.due_at),
                each.problem or EMPTY,
            )
            for each in ReadingRequest.objects.filter(**here).order_by("-pk")[:LATEST]
        ],
    )


def _blocks(asked: ReadingRequest) -> str:
    return f"Blocks {asked.first_height:,} to {asked.last_height:,}"


def _stops(snapshot: NetworkSnapshot) -> Section:
    here = Stop.objects.standing().filter(environment=snapshot.environment, merchant=None)
    found = here.filter(Q(network=snapshot.network) | Q(network="")).order_by("since")
    return Section(
        title="Stops",
        headings=("Since", "What", "Why", "Who lifts it, and how"),
        rows=[
            (instant(each.since), linked(each, str(each)), each.reason, f"{listed.who}: {listed.how}")
            for each in found
            for listed in [stops.listed(each)]
        ],
        empty="Nothing is stopped here.",
    )


def _reading(snapshot: NetworkSnapshot, figures: NetworkFigures) -> Section:
    rows: list[tuple[Shown, Shown]] = []
    if cursor := figures.cursor:
        rows += [
            ("Newest block", f"{cursor.head_height:,}"),
            ("Newest final block", f"{cursor.finalized_height:,}, {figures.lag:,} behind"),
        ]
        instants = (
            ("Newest block rose", cursor.head_since),
            ("Final block rose", cursor.finalized_since),
            ("Every deposit is seen until", cursor.read_until),
            ("It last answered", cursor.polled_at),
            ("It has not answered since", cursor.failing_since),
            ("Native coins were last looked for", cursor.native_round_at),
        )
        rows += [(words, instant(at)) for words, at in instants if at]
        rows += [
            (words, text) for words, text in (("Set wrongly", cursor.fault), ("It said", cursor.last_error)) if text
        ]
        rows.append(("Scan cursor", linked(cursor, "All of it")))
    rows.append(
        ("Costs and balances were measured", instant(snapshot.measured_at) if snapshot.measured_at else "never")
    )
    if snapshot.last_error:
        rows.append(("Since then", snapshot.last_error))
    return Section(title="Blocks", headings=("What", "Value"), rows=rows)


def _providers(snapshot: NetworkSnapshot, figures: NetworkFigures) -> Section:
    rows = [(name, "; ".join(problems) or "well") for name, problems in figures.providers.items()]
    if figures.decided_by_one:
        rows.append(("All", f"Decides about money alone: {single_provider_name(snapshot.network)}."))
    return Section(
        title="Providers", headings=("Provider", "What is known of it"), rows=rows, empty="No provider is asked."
    )


def _wallets(snapshot: NetworkSnapshot, figures: NetworkFigures) -> Iterator[Section]:
    here = {"environment": snapshot.environment, "network": snapshot.network}
    hot, cold = Wallet.objects.filter(**here).order_by("-pk"), ColdWallet.objects.filter(**here).order_by("-pk")
    tank, known = figures.tank, {each.address: linked(each, each.address) for each in hot}
    before = (words for address, words in known.items() if address != snapshot.wallet)
    rows = [(words, "hot, of before", EMPTY, EMPTY) for words in before]
    if tank:
        gas = f"{coins_text(tank.balance, tank.native)} of {coins_text(tank.wanted, tank.native)}"
        rows.insert(0, (known.get(tank.wallet, tank.wallet), "hot", gas, tank.use))
    yield Section(
        title="Wallets",
        headings=("Wallet", "Kind", "Native coins", "Enough for"),
        rows=[*rows, *((linked(each, each.address), "cold", EMPTY, EMPTY) for each in cold)],
        empty="Its wallet is not known yet.",
    )
    yield Section(
        title="Coins of the wallets, by the ledger",
        headings=("Hot", "Cold", "Payouts waiting", "Short of"),
        rows=[
            tuple(words or EMPTY for words in (line.hot, line.cold, line.waiting, line.short))
            for line in coin_lines(snapshot.environment, snapshot.network)
        ],
    )


def _sweeps(snapshot: NetworkSnapshot, figures: NetworkFigures) -> Iterator[Section]:
    place = snapshot.environment, snapshot.network
    yield Section(
        title="To be swept",
        headings=("Coin", "To be swept", "When", "A sweep costs about", "Dust", "Passed over"),
        rows=[
            (
                coin.asset.code,
                coin.sweepable_text,
                coin.outlook,
                coins_text(coin.sweep_cost, figures.native),
                coin.dust_text,
                coin.passed_over_text,
            )
            for coin in figures.coins
        ],
        empty="Deposits arrive at the hot wallet itself.",
    )
    yield Section(
        title="Skipped by sweeps",
        headings=("What and why", "Tried", "Again"),
        rows=[
            (describe(line), f"{line.tries:,} times", instant(line.try_again_at) if line.try_again_at else EMPTY)
            for coin in figures.coins
            for line in coin.passed_over[:MOST]
        ],
    )
    sweeps = Sweep.objects.filter(transfer__environment=place[0], transfer__network=place[1])
    yield Section(
        title="Latest sweeps",
        headings=("Signed", "Expected", "Arrived", "State", "Transaction"),
        rows=[
            (
                instant(each.transfer.created_at),
                linked(each, each.coins(each.expected)),
                EMPTY if each.moved is None else each.coins(each.moved),
                each.transfer.get_status_display(),
                transaction(*place, each.transfer.transaction_hash),
            )
            for each in sweeps.select_related("transfer").order_by("-pk")[:LATEST]
        ],
    )
    yield Section(
        title="Sweeps asked for",
        headings=("When", "Coin", "Who", "What became of it"),
        rows=[
            (instant(each.requested_at), each.asset, each.requested_by, each.outcome or "not begun yet")
            for each in SweepRequest.objects.filter(environment=place[0], network=place[1]).order_by("-pk")[:LATEST]
        ],
    )


def _roles(snapshot: NetworkSnapshot) -> Iterator[Section]:
    place = snapshot.environment, snapshot.network
    yield Section(
        title="Roles of the factory",
        headings=("Role", "Who has it", "By the settings"),
        rows=[
            (
                words_of(role["name"]),
                address(*place, role["holder"]),
                "the same" if role["holder"] == role["expected"] else role["expected"] or "nobody",
            )
            for role in snapshot.roles
        ],
    )
    changes: Iterable[RoleChange] = RoleChange.objects.filter(environment=place[0], network=place[1])[:LATEST]
    yield Section(
        title="Changes of roles",
        headings=("When", "Role", "Given to", "By", "Transaction", "Confirmed by"),
        rows=[
            (
                instant(each.happened_at),
                linked(each, words_of(each.role)),
                address(*place, each.account),
                address(*place, each.made_by),
                transaction(*place, each.transaction_hash),
                each.known_by or "nobody",
            )
            for each in changes
        ],
    )
