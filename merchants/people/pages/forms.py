"""Forms of people's own pages."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar, cast

from allauth.account import forms as account_forms
from allauth.mfa.base import forms as mfa_forms
from allauth.mfa.totp import forms as totp_forms
from allauth.mfa.webauthn import forms as passkey_forms
from django import forms
from django.conf import settings
from django.contrib.auth import password_validation
from django.core.exceptions import ValidationError
from django.utils import timezone
from django.utils.translation import gettext_lazy as _
from django.utils.translation import ngettext

from config.errors import DomainError
from merchants.access import attempts
from merchants.access.log_in.sessions import check_password
from merchants.models import User
from merchants.pages.forms import LookMixin, suggested_time_zones, time_zone_named
from merchants.people.models import Invitation
from merchants.preferences import Notice, NumberStyle
from merchants.roles import Role

PASSWORD_HELP = _("At least 12 characters. A few words that you can remember work well.")


def email_field(label: Any) -> forms.EmailField:
    return forms.EmailField(
        label=label,
        max_length=254,
        widget=forms.EmailInput(attrs={"autocomplete": "email"}),
        error_messages={"required": _("Enter your e-mail address."), "invalid": _("This is not an e-mail address.")},
    )


def password_field(label: Any, *, is_new: bool = False, help_text: Any = "") -> forms.CharField:
    return forms.CharField(
        label=label,
        help_text=help_text,
        max_length=4096,
        strip=False,
        widget=forms.PasswordInput(attrs={"autocomplete": "new-password" if is_new else "current-password"}),
        error_messages={"required": _("Enter a password.") if is_new else _("Enter your password.")},
    )


class SignUpForm(LookMixin):
    merchant_name = forms.CharField(
        label=_("Name of your business"),
        max_length=120,
        help_text=_("Your customers see it when they pay."),
        widget=forms.TextInput(attrs={"autocomplete": "organization"}),
        error_messages={"required": _("Enter the name of your business.")},
    )
    name = forms.CharField(
        label=_("Your name"), max_length=120, required=False, widget=forms.TextInput(attrs={"autocomplete": "name"})
    )
    email = email_field(_("E-mail address"))
    password = password_field(_("Password"), is_new=True, help_text=PASSWORD_HELP)
    field_of_param: ClassVar = {"name": "merchant_name"}

    def clean(self) -> dict[str, Any]:
        entered = super().clean() or self.cleaned_data
        if password := entered.get("password"):
            person = User(email=entered.get("email", ""), name=entered.get("name", ""))
            try:
                password_validation.validate_password(password, person)
            except ValidationError as error:
                self.add_error("password", error)
        return entered


class InvitationForm(LookMixin):
    email = email_field(_("E-mail address"))
    role = forms.ChoiceField(label=_("Role"), widget=forms.RadioSelect)

    def __init__(self, *args: Any, roles: Sequence[Role], **options: Any) -> None:
        super().__init__(*args, **options)
        cast("forms.ChoiceField", self.fields["role"]).choices = role_choices(roles)
        self.initial.setdefault("role", Role.VIEWER.value)


ROLES_IN_WORDS = {
    Role.OWNER: _("Everything, including adding and removing owners."),
    Role.ADMIN: _("Everything, except adding and removing owners."),
    Role.DEVELOPER: _("Connects systems: keys, webhooks, payments and refunds."),
    Role.SUPPORT: _("Helps payers: payments, refunds and decisions."),
    Role.VIEWER: _("Only looks at pages and downloads statements."),
}
"""Description of each role; `merchants.roles` has its exact permissions."""


class RoleForm(LookMixin):
    role = forms.ChoiceField(
        label=_("Role"), widget=forms.RadioSelect, error_messages={"required": _("Choose a role.")}
    )

    def __init__(self, *args: Any, roles: Sequence[Role], **options: Any) -> None:
        super().__init__(*args, **options)
        cast("forms.ChoiceField", self.fields["role"]).choices = role_choices(roles)


class HandOverForm(LookMixin):
    become = forms.ChoiceField(
        label=_("Your new role"),
        widget=forms.RadioSelect,
        choices=[],
        error_messages={"required": _("Choose your new role.")},
    )

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        others = [role for role in Role if role != Role.OWNER]
        cast("forms.ChoiceField", self.fields["become"]).choices = role_choices(others)


class PreferencesForm(LookMixin):
    """Preferences of a member."""

    notices = forms.MultipleChoiceField(
        label=_("E-mail me when"),
        required=False,
        choices=Notice.choices,
        widget=forms.CheckboxSelectMultiple,
        help_text=_("At most one e-mail every five minutes, with everything that happened."),
    )
    timezone = forms.CharField(
        label=_("Time zone"),
        max_length=64,
        error_messages={"required": _("Choose a time zone, for example UTC.")},
        help_text=_(
            "Pages show times in this time zone. Days in filters and files are UTC. Settlements have a time zone "
            "of their own."
        ),
        widget=forms.TextInput(attrs={"list": "time-zones", "autocomplete": "off"}),
    )
    number_style = forms.ChoiceField(
        label=_("Numbers"),
        choices=NumberStyle.choices,
        help_text=_("Copied amounts and files always have a decimal point."),
    )
    language = forms.ChoiceField(label=_("Language"), choices=settings.DASHBOARD_LANGUAGES)

    @property
    def time_zones(self) -> Sequence[str]:
        return suggested_time_zones()

    def clean_timezone(self) -> str:
        return time_zone_named(self.cleaned_data["timezone"])


def role_choices(roles: Sequence[Role]) -> list[tuple[str, str]]:
    """Roles to choose from, each with what it is for."""
    return [(role.value, f"{role.label}: {ROLES_IN_WORDS[role]}") for role in roles]


class AcceptForm(SignUpForm):
    """A sign-up by invitation: the address is the one of the mail, and a merchant is named where there is none yet."""

    def __init__(self, *args: Any, invitation: Invitation, **options: Any) -> None:
        super().__init__(*args, **options)
        self.invited_email = invitation.email
        del self.fields["email"]
        if invitation.merchant is not None:
            del self.fields["merchant_name"]

    def clean(self) -> dict[str, Any]:
        self.cleaned_data["email"] = self.invited_email
        return super().clean()


class NewPasswordForm(LookMixin):
    """A new password, typed once: a password manager or the button that shows it makes a second field needless."""

    password = password_field(_("New password"), is_new=True, help_text=PASSWORD_HELP)

    def __init__(self, *args: Any, user: User, temp_key: str | None = None, **options: Any) -> None:
        super().__init__(*args, **options)
        self.user = user

    def clean_password(self) -> str:
        password: str = self.cleaned_data["password"]
        password_validation.validate_password(password, self.user)
        return password

    def save(self) -> None:
        self.user.set_password(self.cleaned_data["password"])
        self.user.save(update_fields=["password"])


class PasswordChangeForm(NewPasswordForm):
    """The old password is counted like one of a log-in."""

    current = password_field(_("Current password"))
    field_order = ("current", "password")

    def __init__(self, *args: Any, request: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self.request = request

    def clean_current(self) -> str:
        current: str = self.cleaned_data["current"]
        try:
            check_password(self.request, email=self.user.email, password=current)
        except DomainError as refusal:
            raise ValidationError(
                _("This is not your password.") if refusal.code == "log_in_refused" else refusal.message
            ) from None
        return current


class ForgottenPasswordForm(LookMixin, account_forms.ResetPasswordForm):
    email = email_field(_("E-mail address"))


class PasswordAgainForm(LookMixin, account_forms.ReauthenticateForm):
    password = password_field(_("Your password"))


class CodeMixin(LookMixin):
    """A code of an app, or a recovery code. Each one is counted before it is looked at."""

    user: User
    code = forms.CharField(
        label=_("Code"),
        max_length=20,
        widget=forms.TextInput(attrs={"autocomplete": "one-time-code", "inputmode": "numeric", "autofocus": True}),
        error_messages={"required": _("Enter the code.")},
    )

    def clean_code(self) -> str:
        counted = f"second factor of {self.user.pk}"
        if wait := attempts.take_attempt(counted, attempts.SECOND_FACTORS, now=timezone.now()):
            raise ValidationError(
                ngettext(
                    "Too many codes were wrong. Try again in %(wait)s second.",
                    "Too many codes were wrong. Try again in %(wait)s seconds.",
                    wait,
                )
                % {"wait": wait}
            )
        code: str = super().clean_code()  # type: ignore[misc]  # of the form that it is mixed into
        attempts.forget(counted)
        return code


class SecondStepForm(CodeMixin, mfa_forms.AuthenticateForm):
    pass


class CodeAgainForm(CodeMixin, mfa_forms.ReauthenticateForm):
    pass


class AddAppForm(CodeMixin, totp_forms.ActivateTOTPForm):
    pass


class AddPasskeyForm(LookMixin, passkey_forms.SignupWebAuthnForm):
    name = forms.CharField(
        label=_("Name of the passkey"),
        max_length=80,
        required=False,
        help_text=_("For example “Laptop” or “Phone”."),
        widget=forms.TextInput(attrs={"autocomplete": "off"}),
    )


class NewAddressForm(LookMixin):
    email = email_field(_("New e-mail address"))

    def __init__(self, *args: Any, user: User, **options: Any) -> None:
        super().__init__(*args, **options)
        self.user = user

    def clean_email(self) -> str:
        email: str = self.cleaned_data["email"].lower()
        if email == self.user.email.lower():
            raise ValidationError(_("This is already your address."))
        return email
