"""What the admin pages of the house share."""

from __future__ import annotations

from typing import Any

from django.contrib import admin, messages
from django.http import HttpRequest

from merchants.four_eyes.models import Proposal, ProposalStatus


def tell(page: admin.ModelAdmin[Any], request: HttpRequest, proposal: Proposal) -> None:
    """Tell an operator whether what was proposed is done, or waits for another."""
    if proposal.status == ProposalStatus.DONE:
        page.message_user(request, f"{proposal}: done.", messages.SUCCESS)
    else:
        page.message_user(request, f"{proposal}: another operator must agree, under Proposals.", messages.WARNING)
