"""Merchants, people and keys as operators see them; only services change them."""

from __future__ import annotations

from decimal import Decimal
from typing import Any, ClassVar

from django import forms
from django.contrib import admin, messages
from django.contrib.auth.admin import UserAdmin as DjangoUserAdmin
from django.contrib.auth.forms import AdminUserCreationForm, UserChangeForm
from django.contrib.auth.models import Group
from django.core.exceptions import ValidationError
from django.db.models import QuerySet
from django.http import HttpRequest
from django.urls import reverse
from django.utils.html import format_html_join

from config.admin.base import ReadOnly
from config.admin.columns import Details, RecordPage
from config.admin.roles import ADMIN, PREFIX, Role
from config.admin.values import YES_NO, Shown, may
from config.environments import Environment
from config.pages.typed_amounts import AmountField
from config.pages.wording import percent
from merchants.access import scopes
from merchants.four_eyes.models import ProposalKind
from merchants.models import ApiKey, Merchant, MerchantSettings, Plan, User
from merchants.services import (
    MAX_FEE_BPS,
    MAY_CHANGE_FEE,
    fee_bps_of,
    open_merchant,
    rename_merchant,
    revoke_api_key,
)

RIGHTS = ("is_staff", "is_superuser", "groups", "user_permissions")


class UserCreationForm(AdminUserCreationForm[User]):
    class Meta:
        model = User
        fields = ("email", "name")


class RolesField(forms.ModelMultipleChoiceField[Group]):
    """Roles of an operator in words, then the groups that operators made themselves."""

    def label_from_instance(self, group: Group) -> str:
        role = next((each for each in Role if each.group == group.name), None)
        return f"{role.label}: {role.purpose}" if role else str(group.name)


class UserEditForm(UserChangeForm[User]):
    class Meta:
        model = User
        fields = ("email", "name", "password", "is_active", *RIGHTS)
        labels: ClassVar = {
            "is_active": "May log in",
            "is_staff": "Operator",
            "is_superuser": ADMIN[0],
            "groups": "Roles",
        }
        help_texts: ClassVar = {
            "is_staff": "May open the admin. Whoever gets a role becomes one.",
            "is_superuser": f"{ADMIN[1].capitalize()}.",
            "groups": "",
        }

    def clean(self) -> dict[str, Any]:
        """Whoever gets a first role becomes an operator; taking that away from somebody with a role stays possible."""
        entered = super().clean() or self.cleaned_data
        if not self.instance.is_staff and (entered.get("groups") or entered.get("is_superuser")):
            entered["is_staff"] = True
        return entered


@admin.register(User)
class UserAdmin(DjangoUserAdmin[User]):
    """Django's own pages for people, for a user who logs in by e-mail.

    Only a superuser gives rights away or touches another superuser; nobody is deleted, so that what a
    person did keeps their name.
    """

    add_form = UserCreationForm
    form = UserEditForm
    ordering = ("email",)
    list_display = ("email", "name", "roles", "logs_in", "joined_at", "last_login")
    list_filter = ("is_staff", "is_superuser", "groups", "is_active")
    search_fields = ("email", "name")
    fieldsets = (
        (None, {"fields": ("email", "name", "password")}),
        ("What they may do", {"fields": ("is_active", "is_staff", "groups", "is_superuser")}),
        ("Rights besides those of a role", {"classes": ("collapse",), "fields": ("user_permissions",)}),
        ("Dates", {"fields": ("joined_at", "last_login")}),
    )
    add_fieldsets = (
        (None, {"classes": ("wide",), "fields": ("email", "name", "usable_password", "password1", "password2")}),
    )

    def get_readonly_fields(self, request: HttpRequest, obj: User | None = None) -> tuple[str, ...]:
        dates = ("joined_at", "last_login")
        return dates if _is_superuser(request) else (*dates, *RIGHTS)

    def get_queryset(self, request: HttpRequest) -> QuerySet[User]:
        return super().get_queryset(request).prefetch_related("groups")

    def formfield_for_manytomany(self, db_field: Any, request: HttpRequest, **options: Any) -> Any:
        if db_field.name == "groups":
            options |= {"form_class": RolesField, "widget": forms.CheckboxSelectMultiple}
        return super().formfield_for_manytomany(db_field, request, **options)

    @admin.display(description="Operator as")
    def roles(self, user: User) -> str:
        if user.is_superuser and user.is_staff:
            return ADMIN[0]
        return ", ".join(each.name.removeprefix(PREFIX) for each in user.groups.all()) or YES_NO[user.is_staff]

    @admin.display(description="May log in", boolean=True, ordering="is_active")
    def logs_in(self, user: User) -> bool:
        return user.is_active

    def has_change_permission(self, request: HttpRequest, obj: User | None = None) -> bool:
        if obj is not None and obj.is_superuser and not _is_superuser(request):
            return False
        return super().has_change_permission(request, obj)

    def has_delete_permission(self, request: HttpRequest, obj: User | None = None) -> bool:
        return False


class SettingsInline(ReadOnly, Details[MerchantSettings, Merchant]):
    model = MerchantSettings
    extra = 0


class MerchantForm(forms.ModelForm[Merchant]):
    fee = AmountField(
        required=False,
        min_value=0,
        max_value=Decimal(MAX_FEE_BPS) / 100,
        max_digits=4,
        decimal_places=2,
        label="Fee in percent",
        help_text="Of what is settled; empty: the fee of the plan.",
    )

    class Meta:
        model = Merchant
        fields = ("name", "email", "plan", "requests_per_minute")

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        if self.instance.fee_bps is not None:
            self.initial["fee"] = Decimal(self.instance.fee_bps) / 100

    def clean(self) -> dict[str, Any]:
        entered = super().clean() or self.cleaned_data
        plan = entered.get("plan", self.instance.plan)  # only shown to whoever may not change it
        if entered.get("requests_per_minute") is not None and plan != Plan.ENTERPRISE:
            raise ValidationError({"requests_per_minute": "Only an enterprise merchant has a budget of its own."})
        if "fee" in entered:
            self.instance.fee_bps = None if entered["fee"] is None else int(entered["fee"] * 100)
        return entered


@admin.register(Merchant)
class MerchantAdmin(RecordPage[Merchant]):
    """Opens merchants, and changes their name."""

    form = MerchantForm
    add_label = "Open a merchant"
    list_display = ("name", "email", "plan", "is_active", "created_at")
    list_filter = ("plan", "is_active")
    proposal_kinds = (ProposalKind.FEE,)
    search_fields = ("name", "email")
    fields = (
        "name",
        "email",
        "plan",
        "requests_per_minute",
        "fee",
        "public_id",
        "is_active",
        "created_at",
        "money",
    )
    readonly_fields = ("public_id", "is_active", "created_at", "money")

    def get_readonly_fields(self, request: HttpRequest, obj: Merchant | None = None) -> tuple[str, ...]:
        kept = () if request.user.has_perm(MAY_CHANGE_FEE) else ("plan", "fee")
        return (*super().get_readonly_fields(request, obj), *(("email",) if obj else ()), *kept)

    @admin.display(description="Fee")
    def fee(self, merchant: Merchant) -> str:
        """For those who may only look."""
        return percent(Decimal(fee_bps_of(merchant)) / 100, 2)

    @admin.display(description="Balances")
    def money(self, merchant: Merchant) -> Shown:
        """A link for each environment to what the merchant has there."""
        if not may("ledger.view_account", "ledger.view_posting"):
            return ""
        page = reverse("operators_accounting")
        return format_html_join(
            " · ",
            '<a href="{}?environment={}&amp;merchant={}">{}</a>',
            ((page, environment.value, merchant.public_id, environment.label) for environment in Environment),
        )

    def get_inlines(self, request: HttpRequest, obj: Merchant | None) -> list[Any]:
        return [SettingsInline] if obj else []

    def save_model(self, request: HttpRequest, obj: Merchant, form: Any, change: bool) -> None:
        if not change:
            opened = open_merchant(name=obj.name, email=obj.email)
            obj.pk, obj.created_at = opened.pk, opened.created_at
            obj._state.adding = False
        rename_merchant(merchant=obj, name=obj.name)

    def has_delete_permission(self, request: HttpRequest, obj: Merchant | None = None) -> bool:
        return False


@admin.register(ApiKey)
class ApiKeyAdmin(ReadOnly, RecordPage[ApiKey]):
    """Everything about a key except its stored secret. Merchants make keys; an operator can delete one."""

    list_display = (
        "name",
        "merchant",
        "environment",
        "public_key",
        "access",
        "last_used_at",
        "expires_at",
        "revoked_at",
    )
    list_filter = ("environment", ("revoked_at", admin.EmptyFieldListFilter))
    list_select_related = ("merchant",)
    search_fields = ("name", "public_key", "merchant__name")
    exclude = ("secret_digest", "pepper")
    actions = ("revoke",)

    @admin.display(description="May do")
    def access(self, key: ApiKey) -> str:
        return ", ".join(key.scopes) or f"everything ({len(scopes.Scope)} scopes)"

    @admin.action(description="Revoke: requests with it are refused from now on", permissions=["revoke"])
    def revoke(self, request: HttpRequest, chosen: QuerySet[ApiKey]) -> None:
        for key in chosen:
            revoke_api_key(key=key)
        messages.success(request, f"{len(chosen)} revoked.")

    def has_revoke_permission(self, request: HttpRequest) -> bool:
        """True if the operator has Django's permission to delete, which stands for revoking: no row is deleted."""
        return request.user.has_perm("merchants.delete_apikey")


def _is_superuser(request: HttpRequest) -> bool:
    return bool(getattr(request.user, "is_superuser", False))
