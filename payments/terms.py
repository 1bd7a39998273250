"""On which terms a payment can be paid with a coin on a network now: whether it can be, what is due, and where."""

from __future__ import annotations

import uuid
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from decimal import ROUND_CEILING, Decimal, localcontext
from functools import cache
from typing import Any, TypedDict

import orjson
from django.utils import timezone

from config.coins import USD_SCALE, usd_worth
from config.database import prepared
from config.errors import DomainError, InvalidParameter
from config.installation.services import SEEN_COLUMNS, StandsStill, is_current
from config.money import round_up_to_shown, to_units
from config.pages import qr
from merchants.wallets import WalletRules
from payments.chains import registry
from payments.chains.errors import NetworkUnavailable
from payments.chains.recipients import account_of
from payments.deposits.address_derivations import AS_JSON, may_give_out
from payments.rates.quoting import Quote
from payments.suspense.recipient_checks import IS_OURS, OURS

NETWORK_SILENCE_MAX = timedelta(minutes=10)
"""A network that has not answered for so long takes no new payments: their money could not be seen."""


class WalletNotAllowed(DomainError):
    code = "wallet_not_allowed"
    message = "This wallet is not on the merchant's allow list."


@dataclass(frozen=True, slots=True)
class Offer:
    """A coin on a network that a payment can be paid with, and the merchant's wallet that it is settled to."""

    network: str
    coin: str
    wallet: str

    @property
    def record(self) -> dict[str, str]:
        """As records show it and as the payment keeps it."""
        return {"cryptocurrency": self.coin, "network": self.network, "merchantWallet": self.wallet}

    @classmethod
    def of_record(cls, record: dict[str, str]) -> Offer:
        return cls(record["network"], record["cryptocurrency"], record["merchantWallet"])


@dataclass(frozen=True, slots=True)
class Terms:
    """The database's facts for payments on one network, read in one query for all of them."""

    network: str
    sequence: int
    tolerance_bps: int
    late_payments: str
    wallet_allow_list: list[str]
    is_halted: bool
    polled_at: datetime | None
    read_until: datetime | None
    installation: uuid.UUID | None
    pulse: int | None
    is_stopped: bool | None
    derivations: str | None
    is_own_wallet: bool
    stopped_coins: list[str]

    def require_current(self) -> None:
        """StandsStill while the database is one that was restored."""
        if not is_current(self.installation, self.pulse, self.is_stopped):
            raise StandsStill(retry_after_seconds=300)

    def require_seen(self, environment: str) -> None:
        """NetworkUnavailable where money sent now would not be seen soon, or not at the address that is given out."""
        if not self.is_read(environment) or not self.gives_out_addresses(environment):
            raise NetworkUnavailable(param="network", retry_after_seconds=60)

    def require_coin(self, coin: str) -> None:
        if coin in self.stopped_coins:
            message = f"{coin} on {self.network} cannot be paid with right now. Offer another coin or network."
            raise NetworkUnavailable(message, param="cryptocurrency", retry_after_seconds=300)

    def require_wallet(self, wallet: str, *, param: str) -> None:
        if self.is_own_wallet:
            raise InvalidParameter(OURS, param=param)
        if self.wallet_allow_list and not WalletRules.of(self.wallet_allow_list, {}).allows(wallet):
            raise WalletNotAllowed(param=param)

    def gives_out_addresses(self, environment: str) -> bool:
        """True if the address that this process computes is the one that everybody will look for."""
        known = orjson.loads(self.derivations) if self.derivations else None
        return may_give_out(environment, registry.chain(environment, self.network), known, self.sequence)

    def is_read(self, environment: str) -> bool:
        """True if money sent now would be seen soon: a network is read from where it stands at its first query, but a
        simulated one from its beginning."""
        if self.is_halted or self.polled_at is None:
            return not self.is_halted and registry.is_simulated(environment)
        return timezone.now() - self.polled_at <= NETWORK_SILENCE_MAX


_OF_A_PLACE = f"""
    SELECT %(network_{{n}})s, number.value, settings.payment_tolerance_bps, settings.late_payments,
        settings.wallet_allow_list, cursor.fault <> '' OR stopped.is_halted, cursor.polled_at,
        cursor.read_until, {SEEN_COLUMNS}, {AS_JSON}, {IS_OURS.replace("%(account)s", "%(account_{n})s")}, stopped.coins
    FROM number CROSS JOIN merchants_merchantsettings AS settings
    CROSS JOIN LATERAL (
        SELECT coalesce(bool_or(kind = 'halt'), false) AS is_halted,
            coalesce(array_agg(asset) FILTER (WHERE asset <> ''), '{{{{}}}}') AS coins
        FROM ledger_breaker AS stop
        WHERE stop.environment = settings.environment AND stop.network = %(network_{{n}})s AND stop.closed_at IS NULL
    ) AS stopped
    LEFT JOIN payments_scancursor AS cursor
        ON cursor.environment = settings.environment AND cursor.network = %(network_{{n}})s
    LEFT JOIN installation_installation AS installation ON true
    WHERE settings.merchant_id = %(merchant)s AND settings.environment = %(environment)s
"""  # noqa: S608 - constants

_NUMBER = "WITH number AS (SELECT coalesce(%(number)s::bigint, nextval('payments_deposit_sequence')) AS value)"


def terms_of(
    merchant_id: uuid.UUID, environment: str, offers: Sequence[Offer], *, number: int | None = None
) -> dict[str, Terms]:
    """The terms of each network of these offers, for the payment of this number, or of the next."""
    wallets = {offer.network: offer.wallet for offer in offers}
    parameters: dict[str, Any] = {"merchant": merchant_id, "environment": str(environment), "number": number}
    for place, (network, wallet) in enumerate(wallets.items()):
        account, _ = account_of(registry.profile(environment, network), wallet)
        parameters |= {f"network_{place}": network, f"account_{place}": account}
    found = prepared.rows(_of_places(len(wallets)), parameters)
    return {row[0]: Terms(*row) for row in found}


@cache
def _of_places(number: int) -> str:
    """One after the other: joined with a list of accounts, all payments would be read where most share one address."""
    return f"{_NUMBER} {' UNION ALL '.join(_OF_A_PLACE.format(n=place) for place in range(number))}"


class QuotedColumns(TypedDict):
    """The columns of a payment that its coin and its network decide."""

    network: str
    cryptocurrency: str
    decimals: int
    merchant_wallet: str
    due: int
    rate: Decimal
    rate_source: str
    rate_quoted_at: datetime
    required_confirmations: int
    require_finalized: bool
    deposit_address: str
    memo: str
    muxed_address: str
    payment_uri: str
    qr_png: bytes


QUOTED_COLUMNS: Collection[str] = tuple(QuotedColumns.__annotations__)


def quoted(environment: str, offer: Offer, *, number: int, amount: Decimal, price: Quote) -> QuotedColumns:
    """The columns of a payment over an amount in its currency by this offer at this price."""
    adapter = registry.chain(environment, offer.network)
    asset = registry.asset(environment, offer.network, offer.coin)
    due = due_at(amount, price.rate, asset.decimals)
    rule = adapter.profile.credit_rule(usd_worth(asset.code, due, asset.decimals) // 10**USD_SCALE)
    to = adapter.deposit_address(number)
    payment_uri = adapter.payment_uri(to=to, asset=asset, amount=due)
    return {
        "network": offer.network,
        "cryptocurrency": offer.coin,
        "decimals": asset.decimals,
        "merchant_wallet": offer.wallet,
        "due": due,
        "rate": price.rate,
        "rate_source": price.source,
        "rate_quoted_at": price.quoted_at,
        "required_confirmations": rule.confirmations,
        "require_finalized": rule.require_finalized,
        "deposit_address": to.address,
        "memo": to.memo or "",
        "muxed_address": to.muxed or "",
        "payment_uri": payment_uri,
        "qr_png": qr.render_png(adapter.qr_text(to=to, payment_uri=payment_uri)),
    }


def due_at(amount: Decimal, rate: Decimal, decimals: int) -> int:
    """Worth of an amount in a coin, in base units, rounded up to what payers are shown."""
    with localcontext(prec=60, rounding=ROUND_CEILING):
        return to_units(round_up_to_shown(amount / rate), decimals)
