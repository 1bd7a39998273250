"""Money in: payments, the deposits seen for them, and what they changed for the merchant."""

from __future__ import annotations

import uuid
from collections.abc import Collection
from datetime import datetime, timedelta
from typing import ClassVar, Self

from django.conf import settings
from django.contrib.postgres.fields import ArrayField
from django.contrib.postgres.indexes import GinIndex
from django.db import models
from django.db.models import Exists, F, OuterRef, Q
from django.utils import timezone

from config import ids
from config.database.database_time import has_come
from config.environments import Environment
from config.fields import ExactJSONField, UnitsField
from config.pages import wording
from merchants.counting import Counted
from merchants.ledger.chart import suspense
from merchants.models import Merchant, OwnedQuerySet
from payments.chains.networks import NETWORKS
from payments.chains.protocol.providers import LONGEST_PROVIDER_NAME
from payments.states import (
    BalanceChangeKind,
    DepositStatus,
    DiscrepancyKind,
    DiscrepancyStatus,
    PaymentStatus,
    StatusReason,
)

PUT_OFF_MAX = timedelta(minutes=1)
"""An assessment is requested at once, or after so long for a deferred event."""

MAX_DESCRIPTION, MAX_NOTE = 500, 500
"""Characters."""

UNPAID_FOR_GOOD = (PaymentStatus.EXPIRED, PaymentStatus.CANCELLED)


class PaymentQuerySet(OwnedQuerySet["Payment"]):
    def windows_ended(self, read_until: datetime) -> tuple[Self, Self]:
        """Payments an assessment would end: nothing came in time; or too little came, the grace is over as well, and
        nothing is held for review.

        Of one network, the first of each are read by an index and no others, if they are cut off: they are in its
        order. Otherwise PostgreSQL may read all payments, nearly all of which ended long ago, for the few it looks for.
        """
        unpaid = self.filter(status=PaymentStatus.CREATED, expires_at__lt=read_until)
        short = self.filter(status=PaymentStatus.UNDERPAID, closed_at__isnull=True, closes_at__lt=read_until)
        unheld = short.exclude(status_reasons__contains=[StatusReason.REVIEW])
        return unpaid.order_by("expires_at"), unheld.order_by("expires_at")

    def for_lists(self) -> Self:
        """As lists show them: with their link, and whether some of their money waits for a decision."""
        waiting = Discrepancy.objects.filter(payment=OuterRef("pk"), status=DiscrepancyStatus.OPEN).decidable()
        return self.select_related("payment_link").defer("qr_png").annotate(waits_for_decision=Exists(waiting))

    def using_their_link(self) -> Self:
        """Payments that take a use of their payment link: all but those that ended without money."""
        return self.filter(status__in=[each for each in PaymentStatus if each not in UNPAID_FOR_GOOD])

    def paid_at(self, addresses: Collection[str], memos: Collection[str] | None = None) -> Self:
        """Payments that are paid at one of these addresses, or could be by another choice of their payer.

        Without `memos` only for addresses that payments have to themselves.
        """
        places = {"address__in": addresses} | ({} if memos is None else {"memo__in": memos})
        own = {f"deposit_{name}" if name == "address__in" else name: values for name, values in places.items()}
        offered = OfferedAddress.objects.filter(**places).order_by().values("payment")
        # A union, because PostgreSQL reads all payments for an "or" of two tables.
        return self.filter(pk__in=Payment.objects.filter(**own).order_by().values("pk").union(offered))

    def due_for_assessment(self, now: datetime) -> Self:
        """Payments whose assessment has been requested, the first first."""
        return self.filter(has_come("assess_at", now, longest=PUT_OFF_MAX)).order_by("assess_at")


class Payment(ids.KeyedByTime, ids.PublicRecord, models.Model):
    """A merchant's request, its quote, and its result."""

    public_ids: ClassVar = ids.PAYMENT

    id = models.UUIDField(primary_key=True, default=ids.new_uuid, editable=False)
    merchant = models.ForeignKey(Merchant, on_delete=models.PROTECT, related_name="+", db_index=False)
    environment = models.CharField(max_length=10, choices=Environment.choices)
    status = models.CharField(max_length=20, choices=PaymentStatus.choices, default=PaymentStatus.CREATED)
    version = models.PositiveIntegerField(default=1)

    # The request.
    fiat_amount = models.BigIntegerField(help_text="In minor units of the currency.")
    currency = models.CharField(max_length=3)
    network = models.CharField(max_length=20)
    cryptocurrency = models.CharField(max_length=8)
    decimals = models.PositiveSmallIntegerField(help_text="Of the coin on this network.")
    merchant_wallet = models.CharField(max_length=80)
    redirect_url = models.CharField(max_length=2000, blank=True)
    cancel_url = models.CharField(
        max_length=2000, blank=True, default="", db_default="", help_text="Where a payer who has not paid goes back to."
    )
    webhook_url = models.CharField(max_length=2000, blank=True)
    expires_in = models.PositiveIntegerField(help_text="Seconds.")
    expires_at = models.DateTimeField()
    metadata = ExactJSONField(default=dict)
    description = models.CharField(
        max_length=MAX_DESCRIPTION, blank=True, default="", db_default="", help_text="What it is for. Payers see it."
    )
    items = ExactJSONField(
        default=list, db_default=[], blank=True, help_text="Its lines, as records show them: name, quantity, amount."
    )
    note = models.CharField(
        max_length=MAX_NOTE, blank=True, default="", db_default="", help_text="For the merchant alone."
    )
    payment_link = models.ForeignKey(
        "payments.PaymentLink", null=True, blank=True, on_delete=models.PROTECT, related_name="payments", db_index=False
    )
    choices = models.JSONField(
        default=list,
        db_default=[],
        blank=True,
        help_text="What its payer chooses among, as records show it: coin, network and wallet. None: nothing is open.",
    )
    chosen_at = models.DateTimeField(null=True, blank=True, help_text="When its payer last chose.")

    # How it was quoted.
    due = UnitsField(help_text="Base units the payer is asked for.")
    rate = models.DecimalField(max_digits=38, decimal_places=18, help_text="Price of one coin in the currency.")
    rate_source = models.CharField(max_length=200)
    rate_quoted_at = models.DateTimeField()
    required_confirmations = models.PositiveSmallIntegerField()
    require_finalized = models.BooleanField(default=False)
    tolerance_bps = models.PositiveSmallIntegerField(default=0)
    closes_at = models.DateTimeField(help_text="The end of the window plus the grace a merchant grants late money.")

    # Where it is paid.
    sequence = models.BigIntegerField(unique=True, help_text="The number its deposit address derives from.")
    deposit_address = models.CharField(max_length=80)
    memo = models.CharField(max_length=30, blank=True)
    muxed_address = models.CharField(max_length=80, blank=True)
    payment_uri = models.CharField(max_length=500)
    qr_png = models.BinaryField()

    # What has become of it, in base units. `received` counts confirmed money in time only.
    received = UnitsField(default=0)
    released = UnitsField(default=0, help_text="Credited to the merchant.")
    surplus = UnitsField(default=0, help_text="Beyond what was due, moved to suspense on completion.")
    short = UnitsField(default=0, help_text="Too little when the window closed, moved to suspense then.")
    refunded = UnitsField(default=0, help_text="Of what was received: given back, or reserved for it.")
    returned = UnitsField(default=0, help_text="Of what was paid for it, the surplus left out: given back for good.")
    status_reasons = ArrayField(models.CharField(max_length=30), default=list, blank=True)
    completed_at = models.DateTimeField(null=True, blank=True)
    cancelled_at = models.DateTimeField(null=True, blank=True)
    accepted = models.BooleanField(default=False, help_text="Somebody took short or late money as enough.")
    deposit_count = models.PositiveIntegerField(default=0, help_text="Transfers ever seen for it.")
    closed_at = models.DateTimeField(
        null=True, blank=True, help_text="When its window ended for money: short money was moved to suspense then."
    )
    assess_at = models.DateTimeField(null=True, blank=True, help_text="Due for an assessment; empty: nothing to do.")
    booking_count = models.PositiveIntegerField(default=0, help_text="Numbers the ledger postings of this payment.")
    untold = ArrayField(
        models.CharField(max_length=40), default=list, blank=True, help_text="Events that wait for their time."
    )

    objects: ClassVar[models.Manager[Payment]] = PaymentQuerySet.as_manager()

    class Meta:
        constraints: ClassVar = [
            models.CheckConstraint(condition=Q(environment__in=Environment.values), name="payment_environment"),
            models.CheckConstraint(condition=Q(status__in=PaymentStatus.values), name="payment_status"),
            models.CheckConstraint(condition=Q(fiat_amount__gt=0, due__gt=0), name="payment_amounts_positive"),
            models.CheckConstraint(
                condition=Q(
                    received__gte=0, released__gte=0, surplus__gte=0, short__gte=0, refunded__gte=0, returned__gte=0
                ),
                name="payment_sums_not_negative",
            ),
            # What was given back before a reorganisation undid the deposit is gone: the merchant owes it.
            models.CheckConstraint(
                condition=Q(refunded__lte=F("received")) | Q(status_reasons__contains=[StatusReason.REVERSED]),
                name="payment_refunded_at_most_received",
            ),
            models.CheckConstraint(condition=Q(returned__lte=F("refunded")), name="payment_returned_was_reserved"),
            models.UniqueConstraint(fields=["deposit_address", "memo"], name="payment_address_once"),
        ]
        indexes: ClassVar = [
            models.Index(fields=["merchant", "environment", "id"], name="payment_list"),
            models.Index(fields=["merchant", "environment", "status", "id"], name="payment_list_by_status"),
            models.Index(
                fields=["merchant", "environment", "network", "cryptocurrency", "currency", "status", "id"],
                include=["fiat_amount"],
                name="payment_groups",
            ),
            models.Index(fields=["merchant", "environment", "fiat_amount", "id"], name="payment_list_by_amount"),
            # Each search would read all of a list of what is pending.
            GinIndex(fields=["metadata"], opclasses=["jsonb_path_ops"], name="payment_metadata", fastupdate=False),
            # Also a payment that a reorganisation took back to created after its window ended, which ends again.
            models.Index(
                fields=["network", "status", "expires_at"],
                name="payment_window_to_end",
                condition=Q(status=PaymentStatus.CREATED) | Q(status=PaymentStatus.UNDERPAID, closed_at__isnull=True),
            ),
            models.Index(fields=["assess_at"], name="payment_assess_due", condition=Q(assess_at__isnull=False)),
            models.Index(fields=["environment", "network", "closes_at"], name="payment_watched"),
            models.Index(
                fields=["payment_link", "id"], name="payment_of_link", condition=Q(payment_link__isnull=False)
            ),
            models.Index(
                fields=["payment_link", "status", "id"],
                include=["merchant", "environment", "network", "cryptocurrency", "currency", "fiat_amount"],
                name="payment_of_link_by_status",
                condition=Q(payment_link__isnull=False),
            ),
        ]

    def __str__(self) -> str:
        return self.public_id

    @property
    def page_url(self) -> str:
        return page_url(self.public_id)

    def wallet_on(self, network: str) -> str:
        """The wallet that its money on a network is settled to: for money by another choice, a wallet on that
        network."""
        if network == self.network:
            return self.merchant_wallet
        family = NETWORKS[network].real.family
        alike = {
            each["network"]: each["merchantWallet"]
            for each in self.choices
            if NETWORKS[each["network"]].real.family == family
        }
        is_alike = NETWORKS[self.network].real.family == family
        return alike.get(network) or (self.merchant_wallet if is_alike else next(iter(alike.values()), ""))

    def address_on(self, network: str) -> str:
        """The address of its money on a network, also when its payer has chosen one of another family since."""
        family = NETWORKS[network].real.family
        if NETWORKS[self.network].real.family == family:
            return self.deposit_address
        offered = self.offered_addresses.filter(family=family).values_list("address", flat=True).first()
        return offered or self.deposit_address


def page_url(public_id: str) -> str:
    """The hosted page of a payment."""
    return f"{settings.PUBLIC_URL}/pay/{public_id}"


PAYMENTS = Counted("payment", Payment)
"""The counter behind `totalCount` of payments."""


class OfferedAddress(models.Model):
    """An address of a payment whose payer may choose among networks of several families: one in each.

    All are written with the payment and never changed, so that money is found whatever the payer chose before or since.
    """

    payment = models.ForeignKey(Payment, on_delete=models.PROTECT, related_name="offered_addresses")
    family = models.CharField(max_length=20, help_text="Of networks, which all have the same address for it.")
    address = models.CharField(max_length=80)
    memo = models.CharField(max_length=30, blank=True)

    class Meta:
        constraints: ClassVar = [
            models.UniqueConstraint(fields=["address", "memo"], name="offered_address_once"),
        ]

    def __str__(self) -> str:
        return " ".join(filter(None, [self.address, self.memo]))


class PayerContactQuerySet(models.QuerySet["PayerContact"]):
    def notify(self, payment_id: uuid.UUID) -> None:
        """Have the payer mailed about this database transaction's change, if there is an address: one statement."""
        self.filter(payment=payment_id).exclude(email="").update(due_at=timezone.now())


class PayerContact(models.Model):
    """The payer's address for mails about a payment, which is shown to nobody.

    Once the payer takes the address back it is empty; no mail is sent twice.
    """

    payment = models.OneToOneField(Payment, primary_key=True, on_delete=models.PROTECT, related_name="payer_contact")
    email = models.EmailField(blank=True)
    language = models.CharField(max_length=10, help_text="Of the page when the address was left.")
    left_at = models.DateTimeField(default=timezone.now)
    due_at = models.DateTimeField(null=True, help_text="The payment has changed since mails were written.")
    mails = models.JSONField(default=dict, help_text="The key of the mail that was written, by what it tells of.")

    objects: ClassVar[PayerContactQuerySet] = PayerContactQuerySet.as_manager()  # type: ignore[assignment]

    class Meta:
        indexes: ClassVar = [
            models.Index(fields=["due_at"], name="payer_contact_due", condition=Q(due_at__isnull=False)),
        ]

    def __str__(self) -> str:
        return f"The payer of {self.payment_id}"


class Deposit(models.Model):
    """An incoming transfer seen on a chain, whoever it was meant for. Never deleted."""

    id = models.UUIDField(primary_key=True, default=ids.new_uuid, editable=False)
    environment = models.CharField(max_length=10, choices=Environment.choices)
    network = models.CharField(max_length=20, help_text="Where it was seen, which may not be where it was expected.")
    transaction_hash = models.CharField(max_length=80)
    inner_hash = models.CharField(
        default="",
        db_default="",
        max_length=80,
        blank=True,
        help_text="Of what a fee bump is around: the other hash of the on-chain transaction.",
    )
    ordinal = models.PositiveIntegerField(help_text="Its place inside the on-chain transaction.")
    payment = models.ForeignKey(Payment, null=True, on_delete=models.PROTECT, related_name="deposits", db_index=False)
    contract = models.CharField(max_length=80)
    asset = models.CharField(max_length=8, help_text="Code of the registered coin.")
    decimals = models.PositiveSmallIntegerField(help_text="Of the coin on this network.")
    amount = UnitsField()
    token_fee = UnitsField(
        db_default=0, default=0, help_text="What the token kept of what was sent, beside the amount."
    )
    sender = models.CharField(max_length=80)
    recipient = models.CharField(max_length=80)
    memo = models.CharField(max_length=64, blank=True)
    conflicting_memo = models.CharField(
        default="",
        db_default="",
        max_length=64,
        blank=True,
        help_text="The on-chain transaction's, where it was sent to another muxed id.",
    )
    status = models.CharField(max_length=12, choices=DepositStatus.choices, default=DepositStatus.SEEN)
    height = models.BigIntegerField()
    block_hash = models.CharField(max_length=80)
    block_time = models.DateTimeField()
    first_block_time = models.DateTimeField(
        help_text="The earliest block it stood in; being mined again later does not make it late."
    )
    seen_at = models.DateTimeField(default=timezone.now)
    credited_at = models.DateTimeField(null=True, blank=True)
    booked_to = models.CharField(
        max_length=30, blank=True, help_text="The ledger account kind that holds it; empty: not booked."
    )
    booking_count = models.PositiveIntegerField(default=0)
    said_by = ArrayField(
        models.CharField(max_length=LONGEST_PROVIDER_NAME),
        null=True,
        help_text="The providers that were believed about it, when it was first read in the block that it is in. "
        "Empty: nobody is asked; null: not recorded.",
    )
    is_surplus = models.BooleanField(
        db_default=False,
        default=False,
        help_text="Nobody saw it arrive: a sweep took so much more from the address than was known. The on-chain "
        "transaction is the sweep's.",
    )
    missing = UnitsField(
        db_default=0, default=0, help_text="Of it, what the network does not hold any more at its address."
    )
    evidence = models.TextField(
        default="",
        db_default="",
        blank=True,
        help_text="What a sanctions list says of the sender, as it was when this was first compared with it.",
    )
    screen_at = models.DateTimeField(
        null=True, help_text="When the network's sanctions oracle is queried about the sender; empty: it is not."
    )
    sweep = models.ForeignKey(
        "payments.Sweep",
        null=True,
        on_delete=models.PROTECT,
        related_name="deposits",
        db_index=False,
        help_text="What took it to the hot wallet.",
    )

    has_lists = False
    """Whether there is a list to compare it with, where it was read by `with_lists`."""

    class Meta:
        constraints: ClassVar = [
            models.UniqueConstraint(
                fields=["environment", "network", "transaction_hash", "ordinal"], name="deposit_once"
            ),
            models.CheckConstraint(condition=Q(amount__gt=0), name="deposit_amount_positive"),
            models.CheckConstraint(condition=Q(missing__gte=0, missing__lte=F("amount")), name="deposit_missing_of_it"),
        ]
        indexes: ClassVar = [
            models.Index(
                fields=["environment", "network", "height"],
                name="deposit_unsettled",
                condition=Q(status=DepositStatus.SEEN),
            ),
            models.Index(fields=["environment", "network", "height"], name="deposit_by_height"),
            models.Index(
                fields=["environment", "network", "asset", "height"],
                name="deposit_to_sweep",
                condition=Q(status=DepositStatus.CREDITED, sweep__isnull=True),
            ),
            models.Index(fields=["sweep"], name="deposit_of_sweep", condition=Q(sweep__isnull=False)),
            models.Index(fields=["recipient", "height"], name="deposit_by_recipient"),
            models.Index(fields=["inner_hash"], name="deposit_by_inner_hash", condition=~Q(inner_hash="")),
            models.Index(fields=["payment", "id"], name="deposit_of_payment"),
            models.Index(fields=["sender"], name="deposit_by_sender"),
            models.Index(fields=["environment", "network"], name="deposit_with_evidence", condition=~Q(evidence="")),
            models.Index(
                fields=["environment", "network", "screen_at"],
                name="deposit_to_screen",
                condition=Q(screen_at__isnull=False),
            ),
        ]

    def __str__(self) -> str:
        return f"{self.network}:{self.transaction_hash}:{self.ordinal}"

    @property
    def terms(self) -> dict[str, str]:
        """The terms people agree to who release it from review."""
        return {"amount": str(int(self.amount)), "sender": self.sender}

    @property
    def counterparty(self) -> str:
        """The address that lists are compared with."""
        return self.sender

    @property
    def is_in_review(self) -> bool:
        return self.booked_to == suspense(DiscrepancyKind.REVIEW)

    @property
    def is_swept(self) -> bool:
        """True if its coins are in the hot or the cold wallet, by the ledger."""
        return self.sweep is not None and bool(self.sweep.moved)


class DiscrepancyQuerySet(models.QuerySet["Discrepancy"]):
    def decidable(self) -> Self:
        """Those that merchants and their policies may decide about: operators alone release what is in review."""
        return self.exclude(kind=DiscrepancyKind.REVIEW)


class Discrepancy(ids.KeyedByTime, ids.PublicRecord, models.Model):
    """Money in suspense that waits for a person, or for the merchant's policy, to accept it or give it back."""

    public_ids: ClassVar = ids.DISCREPANCY

    id = models.UUIDField(primary_key=True, default=ids.new_uuid, editable=False)
    merchant = models.ForeignKey(Merchant, null=True, on_delete=models.PROTECT, related_name="+")
    environment = models.CharField(max_length=10, choices=Environment.choices)
    kind = models.CharField(max_length=20, choices=DiscrepancyKind.choices)
    status = models.CharField(max_length=12, choices=DiscrepancyStatus.choices, default=DiscrepancyStatus.OPEN)
    payment = models.ForeignKey(Payment, null=True, on_delete=models.PROTECT, related_name="discrepancies")
    deposit = models.ForeignKey(Deposit, null=True, on_delete=models.PROTECT, related_name="discrepancies")
    network = models.CharField(max_length=20)
    asset = models.CharField(max_length=8)
    decimals = models.PositiveSmallIntegerField(help_text="Of the coin on this network.")
    amount = UnitsField()
    resolved_at = models.DateTimeField(null=True, blank=True)
    resolved_by = models.CharField(max_length=120, blank=True, help_text="The person or policy that decided.")
    note = models.TextField(blank=True)

    objects: ClassVar[DiscrepancyQuerySet] = DiscrepancyQuerySet.as_manager()  # type: ignore[assignment]

    class Meta:
        verbose_name_plural = "discrepancies"
        constraints: ClassVar = [
            models.CheckConstraint(condition=Q(amount__gt=0), name="discrepancy_amount_positive"),
        ]
        indexes: ClassVar = [
            models.Index(fields=["merchant", "environment", "id"], name="discrepancy_list"),
            models.Index(
                fields=["merchant", "environment", "id"],
                name="discrepancy_open",
                condition=Q(status=DiscrepancyStatus.OPEN),
            ),
        ]

    def __str__(self) -> str:
        return f"{self.get_kind_display()} {self.public_id}"


class NamedTransaction(models.Model):
    """A merchant's claim that money in suspense, of an on-chain transaction that it names, was sent for its payment."""

    discrepancy = models.ForeignKey(Discrepancy, on_delete=models.PROTECT, related_name="named_for")
    payment = models.ForeignKey(Payment, on_delete=models.PROTECT, related_name="named_transactions")
    named_by = models.CharField(max_length=120, help_text="The person at the merchant's.")
    named_at = models.DateTimeField(default=timezone.now)

    class Meta:
        constraints: ClassVar = [
            models.UniqueConstraint(fields=["discrepancy", "payment"], name="transaction_named_once_for_payment"),
        ]

    def __str__(self) -> str:
        return f"{self.named_by}: {ids.PAYMENT.encode(self.payment_id)}"


class BalanceChange(ids.KeyedByTime, models.Model):
    """One change of what a merchant may have settled, for one wallet. Settlements are made of these, each used once.

    `amount` is signed: what a merchant gained, or lost. For each merchant and coin, those in no settlement sum to the
    merchant's ledger accounts: available less receivable.

    A settlement writes to every index of all its changes, so there are few. The key, that of payments and
    `once_per_posting` leave half of each page free for it (migrations 0022 and 0024): it splits none.
    """

    id = models.UUIDField(primary_key=True, default=ids.new_uuid, editable=False)
    merchant = models.ForeignKey(Merchant, on_delete=models.PROTECT, related_name="+", db_index=False)
    environment = models.CharField(max_length=10, choices=Environment.choices)
    kind = models.CharField(max_length=20, choices=BalanceChangeKind.choices)
    reference = models.CharField(max_length=40, help_text="Public id of what it was for: a payment, a refund, …")
    payment = models.ForeignKey(Payment, null=True, on_delete=models.PROTECT, related_name="balance_changes")
    network = models.CharField(max_length=20)
    asset = models.CharField(max_length=8)
    decimals = models.PositiveSmallIntegerField(help_text="Of the coin on this network.")
    wallet = models.CharField(max_length=80, help_text="Where it is settled to.")
    amount = UnitsField(help_text="Base units; positive is the merchant's gain.")
    posting_kind = models.CharField(max_length=40)
    posting_reference = models.CharField(max_length=200)
    returns_fee = models.BooleanField(
        default=False, db_default=False, help_text="A refund, or one that came back, that the fee follows."
    )
    settlement = models.UUIDField(null=True, help_text="The settlement that it is part of.")

    class Meta:
        constraints: ClassVar = [
            models.UniqueConstraint(
                fields=["posting_reference", "posting_kind", "network", "asset", "environment"],
                name="balance_change_once_per_posting",
            ),
            models.CheckConstraint(condition=~Q(amount=0), name="balance_change_not_zero"),
        ]
        indexes: ClassVar = [
            models.Index(
                fields=["merchant", "environment", "network", "wallet"],
                name="balance_change_unsettled",
                condition=Q(settlement__isnull=True),
            ),
            models.Index(
                fields=["settlement", "id"],
                name="balance_change_of_settlement",
                condition=Q(settlement__isnull=False),
            ),
            models.Index(
                fields=["merchant", "environment", "payment"],
                name="balance_change_returns_fee",
                condition=Q(returns_fee=True),
            ),
            models.Index(
                fields=["posting_kind"],
                name="balance_change_of_debt",
                condition=Q(posting_kind__in=["debt_offset", "debt_written_off", "debt_collected", "debt_owed_again"]),
            ),
        ]

    def __str__(self) -> str:
        return f"{self.get_kind_display()}: {wording.coins(self.amount, self.decimals, self.asset)} ({self.reference})"
