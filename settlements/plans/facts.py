"""Reads what a merchant has unsettled, and all else that a plan depends on. Writes nothing."""

from __future__ import annotations

import uuid
from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any, cast

from django.conf import settings
from django.db.models import CharField, Count, Exists, F, OuterRef, PositiveSmallIntegerField, Q, QuerySet, Sum, Value

from config import ids
from config.fields import UnitsField
from merchants.ledger.chart import AccountKind
from merchants.ledger.models import Account
from merchants.models import Merchant, MerchantSettings
from merchants.services import fee_bps_of
from merchants.wallets import WalletRules
from payments.chains import registry
from payments.chains.errors import InvalidAddress
from payments.chains.recipients import account_of
from payments.deposits.models import RefusedWallet
from payments.merchant_wallets.routing import Routing, routing_of
from payments.models import BalanceChange
from payments.states import BalanceChangeKind
from payments.suspense.recipient_checks import known_as_ours, refusal_of_account
from payments.treasury.losses.models import MissingCoins, MissingStatus
from settlements.models import FeeRemainder, Settlement
from settlements.plans.fee_history import PAID, REVERSED, charged_before
from settlements.plans.planning import CarriedOver, CarryReason, Plan, Pot, SettlementFacts, Terms, WalletKey
from settlements.plans.pricing import debt_prices, known_prices, rate_moment
from settlements.plans.schedule import Period
from settlements.plans.statements import REFUNDED
from settlements.states import BLOCKING, RateMoment, SettlementStatus

ENDED = (BalanceChangeKind.DEBT_WRITTEN_OFF, BalanceChangeKind.DEBT_COLLECTED)
RETURNED = (
    BalanceChangeKind.SETTLEMENT_FAILED,
    BalanceChangeKind.SETTLED_AHEAD,
    *ENDED,
    BalanceChangeKind.DEBT_OWED_AGAIN,
)
OFFSETS = (BalanceChangeKind.DEBT_OFFSET, BalanceChangeKind.DEBT_REPAID)
AT_ONCE = (BalanceChangeKind.DEBT_REPAID, *ENDED)
"""Ends of debts count at once, as debts do: the run that repays one counts what it took elsewhere."""


@dataclass(frozen=True, slots=True)
class Preview:
    """The settlements of the next run if it came now."""

    coming: Sequence[Period]
    """The next periods that will be run; none when the merchant requests each settlement."""
    plan: Plan
    refusals: Mapping[tuple[str, str], str] = field(default_factory=dict)
    """By network and wallet: the reason a planned settlement could not have been paid at the network's last reply."""
    rate_moment: RateMoment = field(default_factory=rate_moment)

    @property
    def period(self) -> Period | None:
        """The next period; None when settlements are requested by hand."""
        return next(iter(self.coming), None)


def facts_of(
    merchant: Merchant, chosen: MerchantSettings, *, until: datetime, now: datetime, closed: Collection[str] = ()
) -> SettlementFacts:
    """The facts until `until`; money on `closed` networks is left alone. Sends no query to a network."""
    environment, currency = chosen.environment, chosen.settlement_currency
    routing = routing_of(merchant.pk, environment)
    pots = [_routed(pot, routing) for pot in unsettled(merchant.pk, environment, until=until)]
    wallets = {pot.wallet_key for pot in pots}
    found = _rows_of(merchant.pk, environment, currency, wallets)
    in_use = set(registry.networks(environment)) - set(closed)
    payable = {key for key in wallets if key.network in in_use}
    coins = {pot.coin for pot in pots}
    debts = {(network, coin): int(owed) for network, _wallet, coin, _digits, owed in found["owed"]}
    prices = known_prices(coins, currency, environment=environment)
    prices_of_debts = debt_prices(coins, debts, environment=environment)
    return SettlementFacts(
        pots=pots,
        terms=Terms(
            currency=currency,
            fee_bps=fee_bps_of(merchant),
            agrees_rates=rate_moment() == RateMoment.WHEN_MADE,
            fee_remainders={(network, coin): int(left) for network, _, coin, _, left in found["remainder"]},
            minimum=chosen.settlement_minimum,
            wallets=WalletRules.of(chosen.wallet_allow_list, chosen.wallets_allowed_at),
        ),
        now=now,
        decimals={key.network: registry.decimals(environment, key.network, currency) for key in payable},
        prices=prices,
        blocked={WalletKey(*row[:2]) for row in found["blocked"]},
        invalid=_invalid(environment, payable),
        waiting={WalletKey(*row[:2]) for row in found["waiting"]},
        unproven={key for key in wallets if routing.lacks_proof(*key)},
        lost={key for key in wallets if routing.is_lost(*key)},
        held=tuple(
            CarriedOver(network, wallet, coin, digits, int(held), CarryReason.COINS_MISSING)
            for network, wallet, coin, digits, held in sorted(found["held"])
        ),
        debts=debts,
        debt_prices=prices_of_debts,
        refusals={
            (network, wallet): problem
            for network, wallet, problem, _, _ in found["refused"]
            if WalletKey(network, wallet) in wallets
        },
    )


def _routed(pot: Pot, routing: Routing) -> Pot:
    """The pot with the wallet that has replaced its own, if one has."""
    destination = routing.destination_of(pot.network, pot.wallet)
    return pot if destination == pot.wallet else replace(pot, paid_to=destination)


_Row = tuple[str, str, str, int, int]
"""Network, wallet, coin or problem, decimals and base units, as far as its kind has them."""


def _rows_of(
    merchant_id: uuid.UUID, environment: str, currency: str, wallets: Collection[WalletKey]
) -> Mapping[str, Sequence[_Row]]:
    """Facts about a merchant beside its unsettled money, by kind, in one query; refusals of these wallets alone.

    `blocked`: wallets that could not be paid. `waiting`: those for which a settlement in the currency waits until they
    hold it. `held`: of its balance, while coins are missing. `remainder`: what rounding has left of its fees. `owed`:
    its debts.
    """
    own = {"merchant": merchant_id, "environment": environment}
    same_wallet = Settlement.objects.filter(
        **own, network=OuterRef("network"), destination=OuterRef("destination"), status=SettlementStatus.COMPLETED
    )
    blocked = Settlement.objects.filter(
        ~Exists(same_wallet.filter(id__gt=OuterRef("id"))),
        **own,
        status=SettlementStatus.FAILED,
        failure_code__in=BLOCKING,
        may_retry=False,
    )
    waiting = Settlement.objects.waiting_for_trustline().filter(**own, currency=currency)
    missing = MissingCoins.objects.filter(
        payment__merchant=merchant_id, environment=environment, status=MissingStatus.OPEN, held__gt=0
    )
    refused = RefusedWallet.objects.filter(
        environment=environment, asset=currency, wallet__in={key.wallet for key in wallets}
    )
    owed = _debts_to_repay(merchant_id, environment)
    wallet = ("network", "destination")
    rows = _marked("blocked", blocked, *wallet, _NO_COIN, _NO_DIGITS, _NOTHING).union(
        _marked("waiting", waiting, *wallet, _NO_COIN, _NO_DIGITS, _NOTHING),
        _marked("held", missing, "network", "payment__merchant_wallet", "asset", "decimals", Sum("held")),
        _marked("remainder", FeeRemainder.objects.filter(**own), "network", _NO_COIN, "asset", _NO_DIGITS, "remainder"),
        _marked("refused", refused, "network", "wallet", "problem", _NO_DIGITS, _NOTHING),
        _marked("owed", owed, "network", _NO_COIN, "asset", _NO_DIGITS, "balance"),
    )
    found: defaultdict[str, list[_Row]] = defaultdict(list)
    for kind, *row in rows:
        found[kind].append(tuple(row))
    return found


_NO_COIN = Value("", output_field=CharField())
_NO_DIGITS = Value(0, output_field=PositiveSmallIntegerField())
_NOTHING = Value(0, output_field=UnitsField())


def _debts_to_repay(merchant_id: uuid.UUID, environment: str) -> QuerySet[Account]:
    """The accounts of what a merchant owes. Where the operator leaves other coins alone, only of what was settled
    ahead: that settlement may have been made of those coins."""
    owed = Account.objects.filter(
        environment=environment, owner=str(merchant_id), kind=AccountKind.MERCHANT_RECEIVABLE, balance__gt=0
    )
    if settings.OFFSET_DEBTS:
        return owed
    ahead = BalanceChange.objects.filter(
        merchant=merchant_id,
        environment=environment,
        network=OuterRef("network"),
        asset=OuterRef("asset"),
        kind=BalanceChangeKind.SETTLED_AHEAD,
        settlement=None,
    )
    return owed.filter(Exists(ahead))


def _marked(kind: str, rows: QuerySet[Any], *columns: Any) -> QuerySet[Any, Any]:
    """These columns of the rows, behind a mark that distinguishes them from other kinds in one query."""
    return rows.order_by().values_list(Value(kind, output_field=CharField()), *columns)


def unsettled_changes(merchant_id: uuid.UUID, environment: str, *, until: datetime) -> QuerySet[BalanceChange]:
    """Changes that no settlement has. Negative ones count at once, or more could be paid out than there is."""
    return BalanceChange.objects.filter(
        Q(id__lt=ids.first_uuid_at(until)) | Q(amount__lt=0) | Q(kind__in=AT_ONCE),
        merchant_id=merchant_id,
        environment=environment,
        settlement__isnull=True,
    )


def unsettled(merchant_id: uuid.UUID, environment: str, *, until: datetime) -> list[Pot]:
    """The pots, summed by the database, so that a million payments take no more memory than ten."""

    own = {"merchant": merchant_id, "environment": environment}

    def total(kinds: Iterable[str]) -> Sum:
        return Sum("amount", filter=Q(kind__in=kinds), default=0)

    rows = (
        unsettled_changes(merchant_id, environment, until=until)
        .values("network", "wallet", "decimals", coin=F("asset"))
        .annotate(
            paid=total(PAID),
            reversed=total(REVERSED),
            refunded=total(REFUNDED),
            fee_returned=Sum("amount", filter=Q(returns_fee=True), default=0),
            returned=total(RETURNED),
            offset=total(OFFSETS),
            payment_count=Count("payment", filter=Q(kind=BalanceChangeKind.PAYMENT), distinct=True),
            had_returned=Exists(BalanceChange.objects.filter(**own, returns_fee=True)),
        )
        .order_by()
    )
    pots, had_returned = [], False
    for row in cast("Iterable[dict[str, Any]]", rows):
        had_returned |= row.pop("had_returned")
        pots.append(Pot(**row))
    if not had_returned and not any(pot.reversed for pot in pots):
        return pots
    found = charged_before(merchant_id, environment, until=until)
    by_pot = [(pot, *found.get((pot.network, pot.wallet, pot.coin), (0, 0))) for pot in pots]
    return [replace(pot, charged=charged, charged_fee=fee) for pot, charged, fee in by_pot]


def _invalid(environment: str, wallets: Iterable[WalletKey]) -> set[WalletKey]:
    """Wallets that cannot be paid. Money that arrived on another network than its payment's may be for a wallet
    that does not exist there; and older payments may name one of ours, or a token."""
    accounts: dict[WalletKey, str] = {}
    invalid = set()
    for key in wallets:
        chain = registry.chain(environment, key.network)
        try:
            address = chain.parse_address(key.wallet)
        except InvalidAddress:
            invalid.add(key)
            continue
        if refusal_of_account(chain, address):
            invalid.add(key)
        else:
            accounts[key], _ = account_of(chain.profile, address)
    ours = known_as_ours(set(accounts.values()))
    return invalid | {key for key, account in accounts.items() if account in ours}
