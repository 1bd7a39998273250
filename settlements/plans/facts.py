"""Reads what a merchant has unsettled, and all else that a plan depends on. Writes nothing."""

from __future__ import annotations

import uuid
from collections import Counter, defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any

from django.conf import settings
from django.db.models import CharField, Count, Exists, OuterRef, PositiveSmallIntegerField, Q, QuerySet, Sum, Value

from config.fields import UnitsField
from merchants.ledger.chart import AccountKind
from merchants.ledger.models import Account
from merchants.models import Merchant, MerchantSettings
from merchants.services import fee_bps_of
from merchants.wallets import WalletRules
from payments.chains import registry
from payments.deposits.models import RefusedWallet
from payments.merchant_wallets.models import MerchantWallet
from payments.merchant_wallets.routing import routing_of
from payments.merchant_wallets.states import WalletStatus
from payments.models import BalanceChange
from payments.rates.quoting import cross_quotes
from payments.states import BalanceChangeKind
from payments.suspense.recipient_checks import unpayable
from payments.treasury.losses.models import MissingCoins, MissingStatus
from settlements.models import FeeRemainder, Settlement
from settlements.plans.fee_history import PAID, REVERSED, with_charged
from settlements.plans.planning import CarriedOver, CarryReason, Plan, Pot, SettlementFacts, Terms, WalletKey
from settlements.plans.pricing import rate_moment
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
_PARTS = {
    kind: part
    for part, kinds in (
        ("paid", PAID), ("reversed", REVERSED), ("refunded", REFUNDED), ("returned", RETURNED), ("offset", OFFSETS)
    )
    for kind in kinds
}  # fmt: skip
"""The part of a pot that changes of a kind are in."""


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
    merchant: Merchant, chosen: MerchantSettings, *, before: uuid.UUID, now: datetime, closed: Collection[str] = ()
) -> SettlementFacts:
    """The facts of a run, about balance changes with keys below `before`; those on `closed` networks are left out.

    What speaks against a wallet is read after the money, so that money which came back brings the reason along. Sends
    no query to a network.
    """
    environment, currency = chosen.environment, chosen.settlement_currency
    unsettled_pots = unsettled(merchant.pk, environment, before=before)
    found = _rows_of(merchant.pk, environment, currency, {pot.wallet for pot in unsettled_pots})
    charged_pots = with_charged(unsettled_pots, merchant.pk, environment, before=before)
    routing = routing_of(merchant.pk, environment)
    pots = [replace(pot, paid_to=routing.destination_of(pot.network, pot.wallet)) for pot in charged_pots]
    wallets = {pot.wallet_key for pot in pots}
    unproven = {key for key in wallets if routing.lacks_proof(*key)}
    lost = {key for key in wallets if routing.is_lost(*key)}
    in_use = {key.network for key in wallets}.intersection(registry.networks(environment)) - set(closed)
    chains = {network: registry.chain(environment, network) for network in in_use}
    rules = WalletRules.of(chosen.wallet_allow_list, chosen.wallets_allowed_at)
    debts = {(network, coin): int(owed) for network, _wallet, coin, _digits, owed in found["owed"]}
    currencies = {currency, *(coin for _, coin in debts)}
    return SettlementFacts(
        pots=pots,
        terms=Terms(
            currency=currency,
            fee_bps=fee_bps_of(merchant),
            agrees_rates=rate_moment() == RateMoment.WHEN_MADE,
            fee_remainders={(network, coin): int(left) for network, _, coin, _, left in found["remainder"]},
            minimum=chosen.settlement_minimum,
        ),
        decimals={network: registry.decimals(environment, network, currency) for network in in_use},
        invalid=unpayable({key for key in wallets if key.network in in_use}, chains),
        not_allowed={key for key in wallets if not rules.allows(key.wallet)},
        cooling_off={key for key in wallets if rules.is_cooling_off(key.wallet, now)},
        blocked={WalletKey(*row[:2]) for row in found["blocked"]},
        waiting={WalletKey(*row[:2]) for row in found["waiting"]},
        unproven=unproven,
        lost=lost,
        held=tuple(
            CarriedOver(network, wallet, coin, digits, int(held), CarryReason.COINS_MISSING)
            for network, wallet, coin, digits, held in sorted(found["held"])
        ),
        debts=debts,
        prices=cross_quotes({pot.coin for pot in pots}, currencies, environment=environment),
        refusals={(network, wallet): problem for network, wallet, problem, _, _ in found["refused"]},
    )


_Row = tuple[str, str, str, int, int]
"""Network, wallet, coin or problem, decimals and base units, as far as its kind has them."""


def _rows_of(
    merchant_id: uuid.UUID, environment: str, currency: str, wallets: Collection[str]
) -> Mapping[str, Sequence[_Row]]:
    """Facts about a merchant beside its unsettled money, by kind, in one query.

    `blocked`: wallets that could not be paid. `waiting`: those for which a settlement in the currency waits until they
    hold it. `held`: of its balance, while coins are missing. `remainder`: what rounding has left of its fees. `owed`:
    its debts. `refused`: of these wallets, and those in use, what the network would not pay.
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
    in_use = MerchantWallet.objects.filter(**own, status=WalletStatus.IN_USE).values("address")
    refused = RefusedWallet.objects.filter(
        Q(wallet__in=wallets) | Q(wallet__in=in_use), environment=environment, asset=currency
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


def unsettled(merchant_id: uuid.UUID, environment: str, *, before: uuid.UUID) -> list[Pot]:
    """The pots, summed by the database, so that a million payments take no more memory than ten.

    Negative changes count at once, or more could be paid out than there is.
    """
    own, key = {"merchant": merchant_id, "environment": environment}, ("network", "wallet", "asset", "decimals")
    due = BalanceChange.objects.filter(
        Q(id__lt=before) | Q(amount__lt=0) | Q(kind__in=AT_ONCE), **own, settlement__isnull=True
    ).order_by()
    paid, is_later = Q(kind=BalanceChangeKind.PAYMENT), ~Q(posting_reference__endswith=":1")
    rows = due.values_list(*key, "kind", "returns_fee").annotate(
        total=Sum("amount"),
        payments=Count("payment", filter=paid),
        later=Count("payment", filter=paid & is_later),
        had_returned=Exists(BalanceChange.objects.filter(**own, returns_fee=True)),
    )
    pots: defaultdict[tuple[Any, ...], Any] = defaultdict(Counter)
    may_repeat = False
    for *of_pot, kind, returns_fee, total, payments, later, had_returned in rows:
        sums = pots[tuple(of_pot)]
        sums.update({_PARTS[kind]: total, "fee_returned": total * returns_fee, "payment_count": payments})
        sums["had_returned"], may_repeat = had_returned, may_repeat or later > 0
    # A payment that was reopened and is paid again is one: what pays it again is not its first posting, number 1. To
    # count distinct payments would sort all of them.
    earlier = due.filter(paid, id__lt=OuterRef("id"), **{name: OuterRef(name) for name in ("payment", *key)})
    repeated = due.filter(paid, is_later, Exists(earlier)).values_list(*key).annotate(number=Count("pk"))
    for *of_pot, number in repeated if may_repeat else ():
        pots[tuple(of_pot)]["payment_count"] -= number
    return [Pot(*of_pot, **sums) for of_pot, sums in pots.items()]
