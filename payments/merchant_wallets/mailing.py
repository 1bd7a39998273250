"""Mails to the people of a merchant about changes of its wallets, written with the change."""

from __future__ import annotations

from enum import StrEnum

from django.conf import settings
from django.template.loader import render_to_string
from django.urls import reverse

from config.environments import Environment
from merchants.models import Member, User
from merchants.people.mailing import write_mail
from merchants.roles import Role
from payments.chains.networks import NETWORKS
from payments.merchant_wallets.models import MerchantWallet


class WalletNotice(StrEnum):
    """The subject of a mail; also the name of its text."""

    SET = "set"
    ASKED = "asked"
    CANCELLED = "cancelled"
    DONE = "done"
    LOST = "lost"
    LOST_DONE = "lost_done"
    FOUND = "found"


FOR_ALL_MEMBERS = frozenset({WalletNotice.LOST, WalletNotice.LOST_DONE, WalletNotice.FOUND})
"""Notices to every member, as they stop money or redirect it."""


def mail_members(what: WalletNotice, wallet: MerchantWallet, *, by: User, old: MerchantWallet | None = None) -> None:
    """Write the mail to every owner and admin, or to all members. `old` is the wallet that is, or was, paid before."""
    facts = {
        "merchant": wallet.merchant,
        "wallet": wallet,
        "old": old,
        "by": by.name or by.email,
        "network": NETWORKS[wallet.network].real.name,
        "is_sandbox": wallet.environment == Environment.SANDBOX,
        "link": f"{settings.PUBLIC_URL}{reverse('dashboard_wallets')}",
    }
    text = render_to_string(f"dashboard/wallets/email/{what}.txt", facts).strip()
    subject, _separator, body = text.partition("\n")
    members = Member.objects.filter(merchant=wallet.merchant)
    if what not in FOR_ALL_MEMBERS:
        members = members.filter(role__in=[Role.OWNER, Role.ADMIN])
    for member in members.select_related("user").order_by("id"):
        write_mail(to=member.user.email, subject=subject, text=f"{body.strip()}\n")
