"""Roles of operators: what each sees and may do, model by model. Django's groups hold them, kept in step by `migrate`.

Admin is no group: it is the superuser, who may do everything.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, fields
from enum import Enum

PREFIX = "Role: "
"""Groups whose names begin so are Ballast's own. Those that operators made themselves stay as they are."""


class Role(Enum):
    """A role, and what it is for."""

    SUPPORT = "Support", "sees payments and merchants, enables webhooks and sends deliveries again; moves no money"
    FINANCE = "Finance", "decides about money, settlements, debts, fees and the ledger, and may stop payouts"
    SECURITY = "Security", "looks after people, keys, limits, stops and screening; moves no money"

    @property
    def label(self) -> str:
        return self.value[0]

    @property
    def purpose(self) -> str:
        return self.value[1]

    @property
    def group(self) -> str:
        """Name of its group."""
        return f"{PREFIX}{self.label}"


ADMIN = "Admin", "may do everything, and alone gives operators their rights"

SUPPORT, FINANCE, SECURITY = Role
EVERYBODY = (SUPPORT, FINANCE, SECURITY)
MONEY = (FINANCE, SECURITY)


@dataclass(frozen=True, slots=True, kw_only=True)
class Rights:
    """Roles with each of Django's permissions on a model; `more` has those by codename that Django does not make."""

    view: tuple[Role, ...] = ()
    add: tuple[Role, ...] = ()
    change: tuple[Role, ...] = ()
    delete: tuple[Role, ...] = ()
    more: Mapping[str, tuple[Role, ...]] = field(default_factory=dict)

    def of(self, role: Role) -> list[str]:
        """The role's permissions in words: `view`, `change`."""
        verbs = [each.name for each in fields(self) if each.name != "more"]
        return [verb for verb in verbs if role in getattr(self, verb)] + [
            name for name, roles in self.more.items() if role in roles
        ]


RIGHTS: dict[str, Rights] = {
    # Today
    "operations.Alarm": Rights(view=MONEY, change=MONEY),
    "four_eyes.Proposal": Rights(view=MONEY),
    "ledger.Stop": Rights(view=MONEY, add=MONEY, change=(SECURITY,)),
    # Money
    "payments.Payment": Rights(view=EVERYBODY),
    "payments.Deposit": Rights(view=EVERYBODY),
    "payments.Discrepancy": Rights(view=EVERYBODY, change=(FINANCE,)),
    "payments.NamedTransaction": Rights(view=EVERYBODY),
    "payments.PayerReturn": Rights(view=EVERYBODY),
    "refunds.Refund": Rights(view=EVERYBODY),
    "settlements.Settlement": Rights(view=EVERYBODY, change=(FINANCE,)),
    "transfers.Payout": Rights(view=EVERYBODY, change=(FINANCE,)),
    "transfers.TransferLine": Rights(view=EVERYBODY),
    # Changing it is also the permission to lift a stop of all payouts.
    "transfers.PayoutPolicy": Rights(view=MONEY, change=(SECURITY,)),
    "house.Withdrawal": Rights(view=MONEY, add=(FINANCE,)),
    "house.Funding": Rights(view=MONEY, add=(FINANCE,)),
    "house.AllowedAddress": Rights(view=MONEY, add=(FINANCE,)),
    "screening.SanctionsList": Rights(view=MONEY),
    # Changing one is the permission to release from review: lists are imported, never changed.
    "screening.ListedAddress": Rights(view=MONEY, change=(SECURITY,)),
    # Merchants
    "merchants.Merchant": Rights(
        view=EVERYBODY,
        change=MONEY,
        # The plan as well, which sets the fee of a merchant without one of its own.
        more={"change_fee": (FINANCE,), "view_as_merchant": (SUPPORT, SECURITY)},
    ),
    "merchants.MerchantSettings": Rights(view=EVERYBODY),
    "merchants.Member": Rights(view=EVERYBODY, add=(SECURITY,), delete=(SECURITY,)),
    "people.SignUp": Rights(view=(SUPPORT, SECURITY), change=(SECURITY,)),
    "merchant_wallets.MerchantWallet": Rights(view=EVERYBODY),
    "payments.PaymentLink": Rights(view=EVERYBODY),
    "merchants.ApiKey": Rights(view=(SECURITY,), delete=(SECURITY,)),
    "settlements.Debt": Rights(view=EVERYBODY),
    "settlements.DebtDecision": Rights(view=MONEY, add=(FINANCE,)),
    "settlements.DebtOffset": Rights(view=EVERYBODY),
    "invoices.Invoice": Rights(view=EVERYBODY),
    "invoices.BillingDetails": Rights(view=EVERYBODY, change=(FINANCE,)),
    # Networks
    "operations.NetworkSnapshot": Rights(view=EVERYBODY, change=(FINANCE,)),
    "transfers.Wallet": Rights(view=MONEY, change=(SECURITY,)),
    "transfers.Channel": Rights(view=MONEY),
    "payments.ColdWallet": Rights(view=MONEY),
    "payments.ColdMove": Rights(view=MONEY),
    "transfers.Transfer": Rights(view=EVERYBODY),
    "transfers.Envelope": Rights(view=MONEY),
    "payments.Sweep": Rights(view=MONEY),
    "payments.NativeCoin": Rights(view=MONEY, change=(FINANCE,)),
    "operations.RoleChange": Rights(view=MONEY, change=(SECURITY,)),
    "payments.ReadingRequest": Rights(view=EVERYBODY),
    # Changing one is the permission to have blocks read again and to lift the halt of a network.
    "payments.ScanCursor": Rights(view=MONEY, change=(SECURITY,)),
    # Webhooks
    "webhooks.Endpoint": Rights(view=(SUPPORT, SECURITY), change=(SUPPORT,)),
    "webhooks.Delivery": Rights(view=(SUPPORT, SECURITY), change=(SUPPORT,)),
    "webhooks.Attempt": Rights(view=(SUPPORT, SECURITY)),
    "webhooks.Event": Rights(view=EVERYBODY),
    # Ledger
    "ledger.Account": Rights(view=MONEY),
    "ledger.Posting": Rights(view=MONEY),
    "losses.MissingCoins": Rights(view=MONEY, change=(FINANCE,)),
    "ledger.ReconcileRun": Rights(view=MONEY),
    "ledger.ExplainedFinding": Rights(view=MONEY, add=(FINANCE,)),
    # People
    "merchants.User": Rights(view=(SECURITY,), add=(SECURITY,), change=(SECURITY,)),
    "people.Invitation": Rights(view=(SECURITY,), add=(SECURITY,), delete=(SECURITY,)),
    "audit.LoggedAction": Rights(view=(SECURITY,)),
    # Technical
    "installation.Standstill": Rights(view=MONEY),
    "installation.BackupRun": Rights(view=MONEY),
    "payments.BalanceChange": Rights(view=(FINANCE,)),
    "settlements.SettlementRun": Rights(view=(FINANCE,)),
    "invoices.InvoiceSeries": Rights(view=(FINANCE,)),
    "rates.CurrentRate": Rights(view=EVERYBODY),
    "rates.RateSnapshot": Rights(view=EVERYBODY),
    "rates.RecordedRate": Rights(view=EVERYBODY),
    "simulated_chain.SimulatedNetwork": Rights(),
    "simulated_chain.SimulatedAccount": Rights(),
    "simulated_chain.SimulatedTransaction": Rights(),
    "simulated_chain.SimulatedTransfer": Rights(),
}
"""Rights on each model that the admin shows; a model without a row fails a test. Pages of no model require some too."""


def permissions_of(role: Role) -> Iterator[tuple[str, str]]:
    """The app's label and the codename of each permission of a role."""
    for label, rights in RIGHTS.items():
        app, model = label.lower().split(".")
        for name in rights.of(role):
            yield app, name if name in rights.more else f"{name}_{model}"


def keep_groups_in_step(using: str = "default") -> None:
    """Make the group of each role, with exactly the permissions of the table. Its members stay."""
    from django.contrib.auth.models import Group, Permission

    known = {
        (app, codename): key
        for app, codename, key in Permission.objects.using(using).values_list(
            "content_type__app_label", "codename", "pk"
        )
    }
    for role in Role:
        group, _is_new = Group.objects.using(using).get_or_create(name=role.group)
        group.permissions.set([known[each] for each in permissions_of(role) if each in known])
