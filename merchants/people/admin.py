"""People as operators see them: addresses they have written count as confirmed, and sign-ups wait for a decision."""

from __future__ import annotations

from typing import Any, ClassVar, cast

from allauth.account.models import EmailAddress
from allauth.mfa.models import Authenticator
from django import forms
from django.contrib import admin, messages
from django.contrib.admin.utils import unquote
from django.contrib.auth.models import Group
from django.core.exceptions import PermissionDenied
from django.db.models import Model, QuerySet
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.urls import reverse
from django.utils.html import format_html

from config.admin.base import ReadOnly, confirmation_page, confirms, unless
from config.admin.columns import RecordPage, Table
from config.admin.values import link, page_of
from config.environments import Environment
from config.errors import DomainError
from merchants.access.log_in import viewing
from merchants.admin import MerchantAdmin, UserAdmin
from merchants.four_eyes.models import Proposal, ProposalStatus
from merchants.four_eyes.people import note_reset
from merchants.ledger.stops import propose_lifting
from merchants.models import Member, Merchant, User
from merchants.people import operator_rights
from merchants.people.invitations import invite_merchant
from merchants.people.models import Invitation, SignUp
from merchants.people.operator_rights import Terms, propose_member, propose_removal, set_terms
from merchants.people.oversight import begin_viewing, suspend_merchant, suspension_of
from merchants.people.services import approve_sign_up, confirm_added_person, follow_operator, refuse_sign_up
from merchants.roles import Role

# allauth's own pages change rows without its rules, and show stored secrets. Who is in a group would get what is added
# to it with nobody agreeing, so what a group may do is settled when it is made.
admin.site.unregister([EmailAddress, Authenticator, User, Group, Merchant])


class MemberInline(Table[Member, Merchant]):
    model = Member
    extra = 0
    fields = ("user", "role", "joined_at")
    autocomplete_fields = ("user",)
    readonly_fields = ("joined_at",)

    def get_queryset(self, request: HttpRequest) -> QuerySet[Member]:
        return super().get_queryset(request).select_related("user", "merchant")

    def has_change_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:
        return False  # to get another role a member is removed and added again


SIGN_UPS_SHOWN = 10

_STATE = {True: "active", False: "suspended"}


@admin.register(Merchant)
class MerchantOfPeopleAdmin(MerchantAdmin):
    """Merchants with their members: whom an operator adds, another must agree to."""

    actions = ("suspend", "resume", "look", "look_in_sandbox")
    change_list_template = "admin/merchants.html"
    refusals: ClassVar = {
        "suspend": unless(lambda row: row.is_active, "it is suspended."),
        "resume": unless(lambda row: not row.is_active, "it is not suspended."),
    }

    def changelist_view(self, request: HttpRequest, extra_context: dict[str, Any] | None = None) -> HttpResponse:
        """Above the list the people who wait to become merchants, the first of them first."""
        waiting = SignUp.objects.filter(needs_approval=True).select_related("user").order_by("requested_at")
        shown = waiting[:SIGN_UPS_SHOWN] if request.user.has_perm("people.view_signup") else waiting.none()
        return super().changelist_view(request, {"sign_ups": shown, **(extra_context or {})})

    def get_inlines(self, request: HttpRequest, obj: Merchant | None) -> list[Any]:
        return [MemberInline, *super().get_inlines(request, obj)] if obj else []

    def save_model(self, request: HttpRequest, obj: Merchant, form: Any, change: bool) -> None:
        terms = Terms(obj.plan, obj.requests_per_minute, obj.fee_bps)
        super().save_model(request, obj, form, change)
        try:
            proposal = set_terms(merchant=obj, terms=terms, by=cast("User", request.user))
        except DomainError as error:
            self.message_user(request, error.message, messages.ERROR)
        else:
            if proposal is not None:
                self._show(request, proposal)

    def _show(self, request: HttpRequest, proposal: Proposal) -> None:
        waits = proposal.status == ProposalStatus.WAITING
        word = "another operator must agree" if waits else proposal.get_status_display()
        self.message_user(request, f"{proposal}: {word}.", messages.WARNING if waits else messages.SUCCESS)

    def save_formset(self, request: HttpRequest, form: Any, formset: Any, change: bool) -> None:
        """Proposes whom to add, and removes people through the services, which know the rules."""
        formset.save(commit=False)
        by = cast("User", request.user)
        for member in formset.new_objects:
            try:
                proposal = propose_member(merchant=member.merchant, user=member.user, role=member.role, by=by)
            except DomainError as error:
                self.message_user(request, error.message, messages.ERROR)
            else:
                self._show(request, proposal)
        for member in formset.deleted_objects:
            try:
                removal = propose_removal(member=member, by=by)
            except DomainError as error:
                self.message_user(request, error.message, messages.ERROR)
            else:
                if removal is not None:
                    self._show(request, removal)

    def has_resume_permission(self, request: HttpRequest) -> bool:
        return request.user.has_perm("ledger.change_stop")

    def has_look_permission(self, request: HttpRequest) -> bool:
        return request.user.has_perm(viewing.PERMISSION)

    @admin.action(description="Look at its dashboard: production", permissions=["look"])
    def look(self, request: HttpRequest, chosen: QuerySet[Merchant]) -> HttpResponse | None:
        return self._look(request, chosen, Environment.PRODUCTION)

    @admin.action(description="Look at its dashboard: sandbox", permissions=["look"])
    def look_in_sandbox(self, request: HttpRequest, chosen: QuerySet[Merchant]) -> HttpResponse | None:
        return self._look(request, chosen, Environment.SANDBOX)

    def _look(self, request: HttpRequest, chosen: QuerySet[Merchant], environment: Environment) -> HttpResponse | None:
        if chosen.count() != 1:
            self.message_user(request, "Choose one merchant at a time.", messages.ERROR)
            return None
        question = confirmation_page(
            self,
            request,
            chosen,
            action="look" if environment == Environment.PRODUCTION else "look_in_sandbox",
            title="Look at this merchant's dashboard?",
            consequence="For an hour at most you see it as one of its viewers does: no secrets, and nothing can be "
            "changed, not even in the admin, until you stop. Its owners get a mail, and its audit log a row, with "
            "your name and your reason.",
            note_label="Why? The merchant reads it.",
            describe=lambda merchant: f"{merchant}, {environment.label}; {_told(merchant)}",
        )
        if question is not None:
            return question
        if (proof := viewing.ask_for_second_factor(request)) is not None:
            return proof
        merchant, reason = chosen.get(), request.POST["note"].strip()
        self.log_change(request, merchant, f"Looks at the dashboard ({environment.label}): {reason}")
        begin_viewing(request, merchant=merchant, environment=environment, reason=reason)
        return HttpResponseRedirect(reverse("dashboard"))

    @admin.action(description="Suspend: keys, links and changes are refused", permissions=["change"])
    @confirms(
        title="Suspend this merchant?",
        consequence="From now on: API keys and payment links are refused, its people can only look at the dashboard, "
        "and its settlement schedule and files of refunds pause. As before: payments that were made are watched and "
        "credited, payers can still pay them, and what was settled is paid; to stop that as well, stop its payouts "
        "under Stops. Its owners get a mail, without your reason, and a row in their audit log.",
        note_label="Why? Operators read it under Stops, with your name; the merchant does not.",
        describe=lambda merchant: f"{merchant}: {_STATE[merchant.is_active]} → suspended; {_told(merchant)}",
    )
    def suspend(self, request: HttpRequest, chosen: QuerySet[Merchant]) -> None:
        reason, by = request.POST["note"].strip(), cast("User", request.user)
        for merchant in chosen:
            if suspend_merchant(merchant=merchant, reason=reason, by=by):
                self.log_change(request, merchant, f"Suspended: {reason}")
                self.message_user(request, f"{merchant} is suspended.", messages.SUCCESS)
            else:
                self.message_user(request, f"{merchant} was suspended before.", messages.WARNING)

    @admin.action(description="End the suspension: everything works again", permissions=["resume"])
    @confirms(
        title="Let this merchant go on?",
        consequence="API keys, payment links, the dashboard and the settlement schedule work again at once, when as "
        "many operators agree as production asks for. Its owners get a mail and a row in their audit log.",
        note_label="What was found out?",
        describe=lambda merchant: f"{merchant}: {_STATE[merchant.is_active]} → active; {_told(merchant)}",
    )
    def resume(self, request: HttpRequest, chosen: QuerySet[Merchant]) -> None:
        for merchant in chosen:
            stop = suspension_of(merchant)
            if stop is None:
                self.message_user(request, f"{merchant} is not suspended.", messages.WARNING)
                continue
            note = request.POST["note"].strip()
            try:
                proposal = propose_lifting(stop, by=cast("User", request.user), note=note)
            except DomainError as error:
                self.message_user(request, f"{merchant}: {error.message}", messages.ERROR)
            else:
                self.log_change(request, merchant, f"Suspension to end: {note}")
                self._show(request, proposal)


def _told(merchant: Merchant) -> str:
    owners = list(Member.objects.filter(merchant=merchant, role=Role.OWNER).values_list("user__email", flat=True))
    return f"a mail goes to {', '.join(owners)}" if owners else "it has no owner who would get a mail"


@admin.register(User)
class PersonAdmin(UserAdmin):
    """People, for operators. Additional rights need two superusers; nobody chooses the password or the address of
    another operator, or of a merchant's member."""

    def get_readonly_fields(self, request: HttpRequest, obj: User | None = None) -> tuple[str, ...]:
        fields = super().get_readonly_fields(request, obj)
        return (*fields, "email") if obj is not None and _is_out_of_reach(request, obj) else fields

    def save_model(self, request: HttpRequest, obj: User, form: Any, change: bool) -> None:
        if change:
            before = User.objects.get(pk=obj.pk)
            confirm_added_person(user=before)
            self._propose_gains(request, obj, before, form)
        super().save_model(request, obj, form, change)
        if not change and obj.has_usable_password():
            note_reset(obj, is_password_known=True)
        if not change or "email" in form.changed_data:
            follow_operator(user=obj)

    def _propose_gains(self, request: HttpRequest, obj: User, before: User, form: Any) -> None:
        """Take out of the form what more somebody would be allowed, and propose that instead."""
        entered = form.cleaned_data
        more = operator_rights.gains(before, entered) if operator_rights.are_kept_apart() else {}
        if not more:
            return
        for name in operator_rights.FLAGS:
            if name in more:
                setattr(obj, name, False)
        for name in ("groups", "user_permissions"):
            if name in more:
                entered[name] = entered[name].exclude(pk__in=more[name])
        try:
            proposal = operator_rights.propose_rights(before, more, by=cast("User", request.user))
        except DomainError as error:
            self.message_user(request, error.message, messages.ERROR)
        else:
            if proposal.status == ProposalStatus.WAITING:
                self.message_user(request, f"{proposal}: another superuser must agree.", messages.WARNING)
            else:
                obj.refresh_from_db(fields=operator_rights.FLAGS)
                self.message_user(request, f"{proposal}: {proposal.get_status_display()}.", messages.SUCCESS)

    def user_change_password(self, request: HttpRequest, id: str, form_url: str = "") -> HttpResponse:
        user = self.get_object(request, unquote(id))
        if user is not None and _is_out_of_reach(request, user):
            raise PermissionDenied(
                "Operators and members choose their own passwords: ask them to use the link for a new one."
            )
        known = user.password if user is not None else ""
        reply = super().user_change_password(request, id, form_url)
        now = User.objects.filter(pk=user.pk).first() if user is not None else None
        if now is not None and now.password != known:
            note_reset(now, is_password_known=True if now != request.user else None)
        return reply


def _is_out_of_reach(request: HttpRequest, person: User) -> bool:
    """True if nobody else may choose the password or the address of this person: with the account of a member a
    merchant's money could be taken, and with that of another operator one would be both where two must decide, or have
    the rights of another role."""
    are_apart = operator_rights.are_kept_apart() or not getattr(request.user, "is_superuser", False)
    is_operator = (person.is_staff or person.is_superuser) and are_apart
    return person.pk != request.user.pk and (is_operator or Member.objects.filter(user=person.pk).exists())


class InvitationForm(forms.ModelForm[Invitation]):
    class Meta:
        model = Invitation
        fields = ("email",)


@admin.register(Invitation)
class InvitationAdmin(RecordPage[Invitation]):
    """Invites people to open a merchant of their own; those of merchants are only shown."""

    form = InvitationForm
    list_display = ("email", "merchant", "role", "invited_by", "sent_at")
    list_select_related = ("merchant", "invited_by")

    def has_change_permission(self, request: HttpRequest, obj: Invitation | None = None) -> bool:
        return False

    def save_model(self, request: HttpRequest, obj: Invitation, form: Any, change: bool) -> None:
        obj.pk = invite_merchant(by=cast("User", request.user), email=obj.email).pk


@admin.register(SignUp)
class SignUpAdmin(ReadOnly, RecordPage[SignUp]):
    """People who have signed up and have no merchant yet."""

    list_display = ("user", "merchant_name", "requested_at", "needs_approval")
    list_filter = ("needs_approval",)
    list_select_related = ("user",)
    actions = ("let_in", "turn_away")

    @admin.action(description="Approve: the merchant is opened once the address is confirmed", permissions=["decide"])
    def let_in(self, request: HttpRequest, chosen: QuerySet[SignUp]) -> None:
        for each in list(chosen):
            merchant = approve_sign_up(sign_up=each)
            if merchant is None:
                messages.success(request, f"{each} is opened once {each.user} has confirmed the address.")
                continue
            admin.site.get_model_admin(Merchant).log_change(request, merchant, f"Approved the sign-up of {each.user}.")
            opened = link(page_of(Merchant, merchant.pk), str(merchant))
            messages.success(request, format_html("{} is open.", opened))

    @admin.action(
        description="Reject: the sign-up is deleted, and the person may sign up again", permissions=["decide"]
    )
    def turn_away(self, request: HttpRequest, chosen: QuerySet[SignUp]) -> None:
        waiting = list(chosen)
        for each in waiting:
            refuse_sign_up(sign_up=each)
        messages.success(request, f"{len(waiting)} turned away.")

    def has_decide_permission(self, request: HttpRequest) -> bool:
        return request.user.has_perm("people.change_signup")
