"""Roles, permissions and actions: the one table that code, pages, documents and tests read."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from django.db.models import TextChoices
from django.utils.translation import gettext_lazy as _


class Role(TextChoices):
    """Role of a member at a merchant."""

    OWNER = "owner", _("Owner")
    ADMIN = "admin", _("Admin")
    DEVELOPER = "developer", _("Developer")
    SUPPORT = "support", _("Support")
    VIEWER = "viewer", _("Viewer")


class Permission(TextChoices):
    """Permissions of a role. In templates: `request.member.may.<value>`."""

    SEE = "see", _("See payments, refunds, settlements, keys, webhooks, settings and members")
    TAKE_PAYMENTS = "take_payments", _("Create and cancel payments and payment links, and try them in the sandbox")
    REFUND = "refund", _("Refund payers")
    DECIDE = "decide", _("Decide about money that is late, too little or too much")
    SETTLE = "settle", _("Settle now, retry a settlement or send it to another wallet")
    MANAGE_SETTINGS = "manage_settings", _("Change settlements, wallets, tolerance and late payments")
    MANAGE_ACCOUNT = (
        "manage_account",
        _("Change the name, the look, the notifications and the billing details"),
    )
    MANAGE_KEYS = "manage_keys", _("Create, rotate and delete API keys with no more permissions than the role")
    MANAGE_WEBHOOKS = "manage_webhooks", _("Add and change webhooks, test them, send deliveries again")
    SEE_REQUEST_LOG = "see_request_log", _("See the log of API requests")
    MANAGE_MEMBERS = "manage_members", _("Invite and remove members, and change their roles")
    MANAGE_OWNERS = "manage_owners", _("Add and remove owners")
    SEE_AUDIT_LOG = "see_audit_log", _("See and export the audit log")


_P = Permission
PERMISSIONS: Final[Mapping[Role, frozenset[Permission]]] = {
    Role.OWNER: frozenset(Permission),
    Role.ADMIN: frozenset(Permission) - {_P.MANAGE_OWNERS},
    Role.DEVELOPER: frozenset(
        {_P.SEE, _P.TAKE_PAYMENTS, _P.REFUND, _P.MANAGE_KEYS, _P.MANAGE_WEBHOOKS, _P.SEE_REQUEST_LOG}
    ),
    Role.SUPPORT: frozenset({_P.SEE, _P.TAKE_PAYMENTS, _P.REFUND, _P.DECIDE}),
    Role.VIEWER: frozenset({_P.SEE}),
}
"""Permissions of each role. docs/roles.md shows the same table."""


class Action(TextChoices):
    """Actions of a person on a page, each with its permission: one line for every POST route.

    The label is the entry in the audit log.
    """

    permission: Permission

    def __new__(cls, value: str, permission: Permission) -> Action:
        member = str.__new__(cls, value)
        member._value_, member.permission = value, permission
        return member

    HIDE_FIRST_STEPS = "first_steps.hide", _P.SEE, _("Hid the first steps, or showed them again")
    SAVE_VIEW = "view.save", _P.SEE, _("Saved a view of the list of payments")
    DELETE_VIEW = "view.delete", _P.SEE, _("Deleted a view of the list of payments")
    EXPORT_PAYMENTS = "payment.export", _P.SEE, _("Exported payments")
    TAKE_PAYMENT = "payment.take", _P.TAKE_PAYMENTS, _("Took a payment")
    MAKE_LINK = "payment_link.make", _P.TAKE_PAYMENTS, _("Created a payment link")
    CHANGE_LINK = "payment_link.change", _P.TAKE_PAYMENTS, _("Changed a payment link")
    ENABLE_LINK = "payment_link.enable", _P.TAKE_PAYMENTS, _("Enabled a payment link")
    DISABLE_LINK = "payment_link.disable", _P.TAKE_PAYMENTS, _("Disabled a payment link")
    LOG_IN = "person.log_in", _P.SEE, _("Logged in")
    LOG_OUT = "person.log_out", _P.SEE, _("Logged out")
    FAIL_TO_LOG_IN = "person.fail_to_log_in", _P.SEE, _("Tried to log in with a wrong password")
    OPEN_MERCHANT = "merchant.open", _P.SEE, _("Opened the business")
    ACCEPT_INVITATION = "person.accept_invitation", _P.SEE, _("Accepted an invitation")
    ADDED_BY_OPERATORS = "person.added_by_operators", _P.SEE, _("The operator of this service added a member")
    SUSPENDED = "merchant.suspend", _P.SEE, _("The operator of this service suspended the business")
    GOES_ON = "merchant.go_on", _P.SEE, _("The operator of this service ended the suspension")
    LOOKED_AT = "merchant.view_as", _P.SEE, _("An operator of the service looked at the dashboard")
    FACTORS_REMOVED = "person.factors_removed", _P.SEE, _("An operator of the service removed second factors")
    CHANGE_PASSWORD = "person.change_password", _P.SEE, _("Changed their password")
    RESET_PASSWORD = "person.reset_password", _P.SEE, _("Set a new password with an e-mailed link")
    REQUEST_ADDRESS = "person.ask_for_address", _P.SEE, _("Asked to change their e-mail address")
    CHANGE_ADDRESS = "person.change_address", _P.SEE, _("Changed their e-mail address")
    ADD_APP = "person.add_app", _P.SEE, _("Added an authenticator app")
    REMOVE_APP = "person.remove_app", _P.SEE, _("Removed the authenticator app")
    ADD_PASSKEY = "person.add_passkey", _P.SEE, _("Added a passkey")
    REMOVE_PASSKEY = "person.remove_passkey", _P.SEE, _("Removed a passkey")
    MAKE_RECOVERY_CODES = "person.make_recovery_codes", _P.SEE, _("Created new recovery codes")
    END_SESSION = "person.end_session", _P.SEE, _("Ended one of their sessions")
    END_OTHER_SESSIONS = "person.end_other_sessions", _P.SEE, _("Ended all their other sessions")
    CHANGE_PREFERENCES = "person.change_preferences", _P.SEE, _("Changed their preferences")
    CANCEL_PAYMENT = "payment.cancel", _P.TAKE_PAYMENTS, _("Cancelled a payment")
    CHANGE_NOTE = "payment.change_note", _P.TAKE_PAYMENTS, _("Changed the note of a payment")
    NAME_TRANSACTION = "payment.name_transaction", _P.TAKE_PAYMENTS, _("Entered the transaction of a payment")
    SIMULATE_PAYMENT = "payment.simulate", _P.TAKE_PAYMENTS, _("Simulated a payer")
    CLOSE_PAYMENT = "payment.close", _P.DECIDE, _("Ended the time of an underpaid payment early")
    ACCEPT_MONEY = "decision.accept", _P.DECIDE, _("Accepted money that waited for a decision")
    GIVE_MONEY_BACK = "decision.give_back", _P.REFUND, _("Refunded money that waited for a decision")
    REQUEST_REFUND = "refund.request", _P.REFUND, _("Created a refund")
    UPLOAD_REFUNDS = "refund.upload", _P.REFUND, _("Uploaded a refund file")
    CONFIRM_REFUNDS = "refund.confirm_file", _P.REFUND, _("Confirmed a refund file")
    CANCEL_REFUND = "refund.cancel", _P.REFUND, _("Cancelled a refund")
    NAME_REFUND_DESTINATION = "refund.name_destination", _P.REFUND, _("Entered the address of a refund")
    SETTLE_NOW = "settlement.request", _P.SETTLE, _("Started a settlement")
    RETRY_SETTLEMENT = "settlement.retry", _P.SETTLE, _("Retried a settlement")
    REDIRECT_SETTLEMENT = "settlement.redirect", _P.SETTLE, _("Sent a settlement to another wallet")
    SET_WALLET = "wallet.set", _P.MANAGE_SETTINGS, _("Added a wallet")
    PROVE_WALLET = "wallet.prove", _P.MANAGE_SETTINGS, _("Proved a wallet")
    LOSE_WALLET = "wallet.lose", _P.MANAGE_SETTINGS, _("Reported that the key of a wallet is lost")
    CANCEL_WALLET = "wallet.cancel", _P.MANAGE_SETTINGS, _("Cancelled the change of a wallet")
    CHANGE_SETTINGS = "settings.change", _P.MANAGE_SETTINGS, _("Changed the settings")
    CHANGE_BILLING = "billing.change", _P.MANAGE_ACCOUNT, _("Changed the billing details")
    CHANGE_BRANDING = "branding.change", _P.MANAGE_ACCOUNT, _("Changed what payers see")
    MAKE_KEY = "key.make", _P.MANAGE_KEYS, _("Created an API key")
    CONNECT = "application.connect", _P.MANAGE_KEYS, _("Agreed that an application gets a key pair")
    ROTATE_KEY = "key.rotate", _P.MANAGE_KEYS, _("Rotated an API key")
    KEEP_KEY = "key.keep", _P.MANAGE_KEYS, _("Kept an API key that was about to end")
    DELETE_KEY = "key.delete", _P.MANAGE_KEYS, _("Deleted an API key")
    ADD_WEBHOOK = "webhook.add", _P.MANAGE_WEBHOOKS, _("Added a webhook")
    CHANGE_WEBHOOK = "webhook.change", _P.MANAGE_WEBHOOKS, _("Changed a webhook")
    ENABLE_WEBHOOK = "webhook.enable", _P.MANAGE_WEBHOOKS, _("Enabled a webhook")
    DISABLE_WEBHOOK = "webhook.disable", _P.MANAGE_WEBHOOKS, _("Disabled a webhook")
    DELETE_WEBHOOK = "webhook.delete", _P.MANAGE_WEBHOOKS, _("Deleted a webhook")
    TEST_WEBHOOK = "webhook.test", _P.MANAGE_WEBHOOKS, _("Sent a test to a webhook")
    RECOVER_WEBHOOK = "webhook.recover", _P.MANAGE_WEBHOOKS, _("Sent missed events to a webhook")
    ROTATE_WEBHOOK_SECRET = "webhook.rotate_secret", _P.MANAGE_WEBHOOKS, _("Created a new secret for a webhook")
    ROTATE_ACCOUNT_SECRET = (
        "webhook.rotate_account_secret",
        _P.MANAGE_WEBHOOKS,
        _("Created a new secret for the webhooks of payments"),
    )
    INVITE_MEMBER = "member.invite", _P.MANAGE_MEMBERS, _("Invited a person")
    WITHDRAW_INVITATION = "member.withdraw_invitation", _P.MANAGE_MEMBERS, _("Withdrew an invitation")
    CHANGE_ROLE = "member.change_role", _P.MANAGE_MEMBERS, _("Changed the role of a member")
    REMOVE_MEMBER = "member.remove", _P.MANAGE_MEMBERS, _("Removed a member")
    HAND_OVER = "member.hand_over", _P.MANAGE_OWNERS, _("Transferred ownership")
    LEAVE = "member.leave", _P.SEE, _("Left the business")
    SEND_DELIVERY_AGAIN = "delivery.send_again", _P.MANAGE_WEBHOOKS, _("Sent a delivery again")


_A = Action
SENSITIVE: Final = frozenset(
    {
        _A.CHANGE_SETTINGS,
        _A.SET_WALLET,
        _A.PROVE_WALLET,
        _A.LOSE_WALLET,
        _A.REDIRECT_SETTLEMENT,
        _A.REQUEST_REFUND,
        _A.NAME_REFUND_DESTINATION,
        _A.CONFIRM_REFUNDS,
        _A.GIVE_MONEY_BACK,
        _A.MAKE_KEY,
        _A.CONNECT,
        _A.ROTATE_KEY,
        _A.KEEP_KEY,
        _A.DELETE_KEY,
        _A.ADD_WEBHOOK,
        _A.ROTATE_WEBHOOK_SECRET,
        _A.ROTATE_ACCOUNT_SECRET,
        _A.INVITE_MEMBER,
        _A.WITHDRAW_INVITATION,
        _A.CHANGE_ROLE,
        _A.REMOVE_MEMBER,
        _A.HAND_OVER,
        _A.LEAVE,
    }
)
"""Actions that decide where money goes or who is in, or show or end a secret: `member_required` requires a step-up."""


OF_THE_ACCOUNT: Final = frozenset(
    {
        _A.INVITE_MEMBER,
        _A.WITHDRAW_INVITATION,
        _A.CHANGE_ROLE,
        _A.REMOVE_MEMBER,
        _A.HAND_OVER,
        _A.LEAVE,
        _A.CHANGE_PREFERENCES,
    }
)
"""Actions that belong to no environment: the audit log shows them in both."""


def may(role: str) -> Mapping[str, bool]:
    """Every permission, and whether the role has it. An unknown role has none."""
    return _MAY.get(role, _NOTHING)


def _permitted(permissions: frozenset[Permission]) -> Mapping[str, bool]:
    return MappingProxyType({permission.value: permission in permissions for permission in Permission})


_MAY: Final[Mapping[str, Mapping[str, bool]]] = {role: _permitted(held) for role, held in PERMISSIONS.items()}
_NOTHING: Final = _permitted(frozenset())
