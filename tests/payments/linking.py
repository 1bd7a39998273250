"""Payment links for tests, made by the same services as real ones."""

from __future__ import annotations

import itertools
from decimal import Decimal
from typing import Any

from config.environments import Environment
from merchants.models import Merchant
from payments.links.models import PaymentLink
from payments.links.services import NewLink, begin_payment, create_link
from payments.models import Payment
from tests.factories import make_merchant
from tests.payments.scenes import ETHEREUM, POLYGON, SANDBOX, STELLAR, WALLETS

_forms = itertools.count(1)


def make_link(
    merchant: Merchant | None = None, *, environment: Environment = SANDBOX, amount: str | None = "100", **fields: Any
) -> PaymentLink:
    """A link of 100 dollars whose payer chooses coin and network."""
    asked: dict[str, Any] = {
        "description": "Harbour tour, one seat",
        "currency": "USD",
        "wallets": {network: WALLETS[network] for network in (ETHEREUM, POLYGON, STELLAR)},
        **fields,
    }
    request = NewLink(amount=None if amount is None else Decimal(amount), **asked)
    return create_link(merchant=merchant or make_merchant(), environment=environment, request=request)


def begin(link: PaymentLink, network: str = ETHEREUM, coin: str = "USDC", **fields: Any) -> Payment:
    """A payment of the link, by a form of its own."""
    return begin_payment(link, network=network, coin=coin, **{"form_id": f"form {next(_forms)}", **fields})
