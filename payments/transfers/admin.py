"""Money out, as operators see it. Limits are set here; services approve payouts and freeze wallets."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, ClassVar, cast

from django.contrib import admin, messages
from django.db.models import QuerySet
from django.http import HttpRequest

from config.admin.base import REASON, LongList, ReadOnly, confirms, unless, with_note
from config.admin.columns import RecordPage, Table
from config.errors import DomainError
from merchants.four_eyes.models import ProposalKind, ProposalStatus
from merchants.four_eyes.people import people_needed
from merchants.models import User
from payments.chains.providers.sources import in_words
from payments.screening.admin import ReleasesFromReview
from payments.transfers import services
from payments.transfers.models import (
    Channel,
    Envelope,
    Payout,
    PayoutPolicy,
    Transfer,
    TransferLine,
    Wallet,
    approval_count,
)
from payments.transfers.payouts import approve_payout, policy_of, reject_payout, retry_held
from payments.transfers.policy_changes import propose_policy, tighten
from payments.transfers.states import ENDED_PAYOUTS, PayoutStatus


@admin.register(PayoutPolicy)
class PayoutPolicyAdmin(RecordPage[PayoutPolicy]):
    """The limits. Every change is stored with its old and new values under History.

    What lets less leave holds at once; what lets more leave is proposed to another operator.
    """

    list_display = (
        "environment",
        "approval_above",
        "transfer_limit",
        "daily_limit",
        "merchant_daily_limit",
    )
    proposal_kinds = (ProposalKind.POLICY,)
    readonly_fields = ("environment",)

    def get_queryset(self, request: HttpRequest) -> QuerySet[PayoutPolicy]:
        for environment, _ in PayoutPolicy._meta.get_field("environment").choices or ():
            policy_of(str(environment))  # so that they can be set before the first payout is requested
        return super().get_queryset(request)

    def has_add_permission(self, request: HttpRequest) -> bool:
        return False

    def has_delete_permission(self, request: HttpRequest, obj: PayoutPolicy | None = None) -> bool:
        return False

    def construct_change_message(self, request: HttpRequest, form: Any, formsets: Any, add: bool = False) -> str:  # type: ignore[override]  # a text is what the log keeps
        proposed = getattr(form, "proposed", {})
        changes = [
            f"{'proposed ' if name in proposed else ''}{name}: {form.initial.get(name)} → {form.cleaned_data[name]}"
            for name in form.changed_data
        ]
        return "; ".join(changes) or "No change."

    def save_model(self, request: HttpRequest, obj: PayoutPolicy, form: Any, change: bool) -> None:
        changes = {name: form.cleaned_data[name] for name in form.changed_data}
        more = tighten(obj.environment, changes)
        if not more:
            return
        form.proposed = more
        try:
            proposal = propose_policy(obj.environment, more, by=_me(request))
        except DomainError as error:
            self.message_user(request, error.message, messages.ERROR)
            return
        if proposal.status == ProposalStatus.DONE:
            form.proposed = {}
        elif proposal.status == ProposalStatus.WAITING:
            self.message_user(request, f"{proposal}: another operator must agree, under Proposals.", messages.WARNING)


class ShowsWhoSaidSo:
    """A column with the providers that were believed about a row."""

    @admin.display(description="Said by")
    def shown_said_by(self, row: Any) -> str:
        return in_words(row.said_by)


class TransferLineInline(ReadOnly, Table[TransferLine, Transfer]):
    model = TransferLine
    fields = ("place", "payout", "recipient", "claimable_balance", "status")
    readonly_fields = fields
    extra = 0

    def get_queryset(self, request: HttpRequest) -> QuerySet[TransferLine]:
        return super().get_queryset(request).select_related("payout").order_by("place")

    @admin.display(description="To")
    def recipient(self, line: TransferLine) -> str:
        return " ".join(filter(None, [line.payout.recipient, line.payout.memo]))

    @admin.display(description="Payout is")
    def status(self, line: TransferLine) -> str:
        return line.payout.get_status_display()


class LineOfPayoutInline(ReadOnly, Table[TransferLine, Payout]):
    model = TransferLine
    verbose_name_plural = "transfers signed for it"
    fields = ("transfer", "place", "transaction_hash", "claimable_balance", "outcome")
    readonly_fields = fields
    extra = 0

    @admin.display(description="On-chain transaction")
    def transaction_hash(self, line: TransferLine) -> str:
        return line.transfer.transaction_hash

    @admin.display(description="Result")
    def outcome(self, line: TransferLine) -> str:
        return line.transfer.get_status_display()


class EnvelopeInline(ReadOnly, Table[Envelope, Transfer]):
    model = Envelope
    fields = ("transaction_hash", "signed_at", "valid_until", "fee_limit_units")
    readonly_fields = fields
    extra = 0


_ONLY_HELD = unless(lambda row: row.status == PayoutStatus.HELD, "it is not held: {}.")


@admin.register(Payout)
class PayoutAdmin(ReleasesFromReview, ReadOnly, LongList, RecordPage[Payout]):
    list_display = (
        "reference",
        "merchant",
        "environment",
        "amount",
        "network",
        "status",
        "hold_reason",
        "approved_by",
        "created_at",
    )
    list_filter = ("environment", "network", "status", "hold_reason")
    list_select_related = ("merchant",)
    search_fields = ("reference", "recipient", "lines__transfer__envelopes__transaction_hash", "=id")
    search_help_text = "The id of a refund or settlement, an address, or the hash of any transfer signed for it."
    inlines = (LineOfPayoutInline,)
    proposal_kinds = (ProposalKind.PAYOUT, ProposalKind.SCREENING)
    actions = ("approve", "release", "reject", "try_again")
    refusals: ClassVar = {
        **ReleasesFromReview.refusals,
        "approve": unless(lambda row: row.status not in ENDED_PAYOUTS, "it has ended: {}."),
        **dict.fromkeys(
            ("reject", "try_again"), unless(lambda row: row.status == PayoutStatus.HELD, "it is not held: {}.")
        ),
    }

    @admin.display(description="Approvals")
    def approved_by(self, payout: Payout) -> str:
        if payout.status != PayoutStatus.HELD:
            return ""
        count, needed = approval_count(payout), people_needed(payout.environment)
        return "all it needs" if count >= needed else f"{count} of {needed}" if count else ""

    @admin.action(description="Approve: a held payout needs two approvals", permissions=["decide"])
    @confirms(
        title="Approve these payouts?",
        consequence="Once as many people as are needed have approved a payout it leaves. Nobody can call it back then.",
        told="The merchant, once it is paid.",
        note_label=REASON,
        describe=lambda payout: " ".join(filter(None, [f"{payout} to {payout.recipient}", payout.memo])),
    )
    def approve(self, request: HttpRequest, chosen: QuerySet[Payout]) -> None:
        for payout in chosen:
            self.propose(request, payout, partial(approve_payout, payout))

    @admin.action(description="Reject: the money goes back to where it came from", permissions=["decide"])
    @confirms(
        title="Reject these payouts?",
        consequence="They fail for good, and their refunds or settlements with them.",
        told="The merchant, with your reason, as the refund or settlement fails.",
        note_label="Why? The merchant is shown it.",
    )
    def reject(self, request: HttpRequest, chosen: QuerySet[Payout]) -> None:
        note = request.POST["note"]
        self._decide(
            request,
            chosen,
            "rejected",
            lambda each: reject_payout(each, operator=_me(request), note=note),
        )

    @admin.action(description="Try again now: the reason for the hold is checked again at once", permissions=["decide"])
    def try_again(self, request: HttpRequest, chosen: QuerySet[Payout]) -> None:
        self._decide(request, chosen, "tried again", retry_held)

    def _decide(
        self, request: HttpRequest, chosen: QuerySet[Payout], word: str, decide: Callable[[Payout], object]
    ) -> None:
        for payout in chosen:
            try:
                decide(payout)
            except DomainError as error:
                self.message_user(request, f"{payout.reference}: {error.message}", messages.ERROR)
            else:
                self.log_change(request, payout, with_note(request, f"{word.capitalize()}."))
                self.message_user(request, f"{payout.reference} {word}.", messages.SUCCESS)

    def has_decide_permission(self, request: HttpRequest) -> bool:
        return request.user.has_perm("transfers.change_payout")


@admin.register(Transfer)
class TransferAdmin(ReadOnly, ShowsWhoSaidSo, LongList, RecordPage[Transfer]):
    native_amounts = ("fee_units",)
    list_display = (
        "created_at",
        "network",
        "environment",
        "purpose",
        "channel",
        "sequence",
        "status",
        "transaction_hash",
        "send_count",
        "fee_units",
    )
    list_filter = ("environment", "network", "purpose", "status")
    search_fields = ("transaction_hash", "envelopes__transaction_hash", "lines__payout__reference")
    search_help_text = "The hash of any version of it, or the id of a refund or settlement."
    exclude = ("said_by",)
    readonly_fields = ("shown_said_by",)
    inlines = (EnvelopeInline, TransferLineInline)


class ChannelInline(ReadOnly, Table[Channel, Wallet]):
    model = Channel
    fields = ("address", "next_sequence")
    readonly_fields = fields
    extra = 0


@admin.register(Wallet)
class WalletAdmin(ReadOnly, RecordPage[Wallet]):
    list_display = ("network", "environment", "address", "next_sequence", "checked_at", "last_error")
    list_filter = ("environment", "network")
    inlines = (ChannelInline,)
    actions = ("freeze",)

    @admin.action(description="Freeze: nothing more is signed", permissions=["freeze"])
    @confirms(
        title="Freeze these wallets?",
        consequence="What is signed already is followed to its end; nothing more is signed until they are thawed: "
        "Admin → Stops.",
        note_label="Why?",
    )
    def freeze(self, request: HttpRequest, chosen: QuerySet[Wallet]) -> None:
        for wallet in chosen:
            services.freeze_wallet(wallet, reason=f"{request.POST['note'].strip()} ({_me(request)})")
            self.log_change(request, wallet, f"Frozen: {request.POST['note'].strip()}")
            self.message_user(request, f"{wallet} is frozen.", messages.SUCCESS)

    def has_freeze_permission(self, request: HttpRequest) -> bool:
        return request.user.has_perm("transfers.change_wallet")


def _me(request: HttpRequest) -> User:
    return cast(User, request.user)
