"""Recorded derivations of deposit addresses: other settings than those must give no number an address.

Of production, and of a sandbox on test networks, where a change can be rehearsed.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from django.db import connection, transaction

from config.errors import DomainError
from payments.chains import registry
from payments.chains.errors import NotSetUp
from payments.chains.protocol.chain import Chain
from payments.deposits.models import AddressDerivation
from payments.models import OfferedAddress, Payment

Names = Mapping[int, str]
"""The name of each derivation, by the first number that it is for."""

ROOM = 1_000
"""Further numbers an old derivation keeps: they are given out until every process has the new settings."""

AS_JSON = """(SELECT jsonb_object_agg(derivation.first_number, derivation.name)
        FROM payments_addressderivation AS derivation WHERE derivation.environment = %(environment)s)"""
"""All that is noted of an environment, as one column; None when nothing is."""


class OtherAddresses(DomainError):
    code = "other_addresses"
    message = "These settings would give numbers other deposit addresses than they have."


def noted(environment: str) -> dict[int, str]:
    rows = AddressDerivation.objects.filter(environment=environment).order_by("first_number")
    return dict(rows.values_list("first_number", "name"))


def name_of(names: Names, number: int) -> str:
    """The derivation of a number; empty for none."""
    return next((names[first] for first in sorted(names, reverse=True) if first <= number), "")


def may_give_out(environment: str, chain: Chain, known: Mapping[str, str] | None, number: int) -> bool:
    """True if the address that this process computes for a number is the one that everybody will look for. `known` is
    what `AS_JSON` returned."""
    ours = of_settings(environment, chain)
    if not ours or not known:
        return True
    return name_of({int(first): name for first, name in known.items()}, number) == name_of(ours, number)


def require_as_noted(environment: str, chain: Chain) -> None:
    """NotSetUp when the settings give another address to a number that was given out, or to the next. The first time
    they are noted as they are."""
    ours = of_settings(environment, chain)
    if ours and not (known := noted(environment)):
        rows = [AddressDerivation(environment=environment, first_number=first, name=ours[first]) for first in ours]
        AddressDerivation.objects.bulk_create(rows, ignore_conflicts=True)
    elif ours:
        _require_alike(environment, ours, known)


def require_unchanged(environment: str, chain: Chain) -> None:
    """As require_as_noted, where nothing is to be noted."""
    if known := noted(environment):
        _require_alike(environment, of_settings(environment, chain), known)


def _require_alike(environment: str, ours: Names, known: Names) -> None:
    prefix = registry.kind_of(environment) or ""
    for first in sorted({*ours, *known}) if ours else ():
        if name_of(ours, first) != name_of(known, first) and first <= last_number() + 1:
            raise NotSetUp(
                f"By the settings the deposit address of payment number {first} comes from {name_of(ours, first)}, and "
                f"what was noted is {name_of(known, first)}: run manage.py change_addresses --env {environment}, which "
                f"says what to set beside {prefix}EVM_FACTORY and {prefix}EVM_ADDRESS_KEY, or set these back."
            )


def of_settings(environment: str, chain: Chain) -> Names:
    """Empty for a network that has none, or that is made anew with its database, as those of this machine are."""
    if registry.kind_of(environment) is None or chain.derivations is None:
        return {}
    return chain.derivations.by_first_number()


def require_addresses(chain: Chain, payments: Sequence[Payment]) -> None:
    """NotSetUp when the address of one of these payments is not the one that a sweep would empty."""
    for payment in payments:
        # Read only where it differs: almost every payment is paid on the network that it was made for.
        swept = chain.deposit_address(payment.sequence).address
        if swept != payment.deposit_address and swept != (given := payment.address_on(chain.profile.network)):
            raise NotSetUp(
                f"Payment {payment.public_id} was given {given}, which EVM_FACTORY, EVM_ADDRESS_KEY "
                "and EVM_FORMER_ADDRESSES as they are set do not lead to: it is not swept."
            )


def note(environment: str, chain: Chain, *, by: str) -> list[AddressDerivation]:
    """Note what the settings have more than was noted; returns it. OtherAddresses, and nothing is noted, when they
    change what was noted, or the address of a payment."""
    ours, known = of_settings(environment, chain), noted(environment)
    added = [first for first in ours if first not in known]
    if any(ours.get(first) != name for first, name in known.items()):
        raise OtherAddresses
    if not added:
        return []
    if min(added) < max(known, default=0):
        raise OtherAddresses
    given_out = _given_out(environment, chain, min(added))
    if any(chain.deposit_address(number).address != address for number, address in given_out):
        raise OtherAddresses("Payments from that number on have other addresses already.")
    rows = [AddressDerivation(environment=environment, first_number=at, name=ours[at], noted_by=by) for at in added]
    with transaction.atomic():
        return AddressDerivation.objects.bulk_create(rows)


def begin(environment: str) -> int:
    """Give the next payment a number of the newest derivation that was noted; returns it."""
    last = max(noted(environment), default=0) - 1
    with connection.cursor() as cursor:  # never back
        cursor.execute(
            "SELECT setval('payments_deposit_sequence', %s) FROM payments_deposit_sequence WHERE last_value < %s",
            [last, last],
        )
    return last_number() + 1


def last_number() -> int:
    """The highest number that was given out."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT last_value FROM payments_deposit_sequence")
        [number] = cursor.fetchone() or [0]
    return int(number)


def _given_out(environment: str, chain: Chain, number: int) -> Iterable[tuple[int, str]]:
    """Numbers of payments from this one on, each with the address that its payer was given or can be given."""
    here = Payment.objects.filter(environment=environment, sequence__gte=number)
    offered = OfferedAddress.objects.filter(payment__in=here, family=chain.profile.family)
    return [
        *here.filter(memo="").values_list("sequence", "deposit_address"),
        *offered.values_list("payment__sequence", "address"),
    ]
