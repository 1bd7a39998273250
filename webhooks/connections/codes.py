"""Codes by which an application fetches, once, what a member has agreed to. Keys are made only then."""

from __future__ import annotations

import hashlib
import secrets
from base64 import urlsafe_b64encode
from dataclasses import dataclass
from datetime import datetime, timedelta
from hmac import compare_digest
from typing import Final

from django.db import transaction
from django.utils import timezone

from config.database.purging import delete_in_batches
from config.environments import Environment
from config.errors import DomainError
from merchants.access.authentication import MerchantInactive
from merchants.access.scopes import may_give
from merchants.models import Member, Merchant
from merchants.roles import Permission
from merchants.services import IssuedKey, MayNotGive, issue_api_key
from webhooks.connections.terms import Terms
from webhooks.models import ConnectionCode, Endpoint
from webhooks.services import register_endpoint

LIVES: Final = timedelta(minutes=10)
_KEPT_FOR: Final = timedelta(days=1)
"""So long an expired code is told from one that never was."""
_KEY_NAME_MAX: Final = 80


class CodeUnknown(DomainError):
    code = "connection_code_unknown"
    message = "There is no such code, or it was used: each code can be used once. Connect again."


class CodeExpired(DomainError):
    code = "connection_code_expired"
    message = "The code has expired: it can be used for 10 minutes. Connect again."


class VerifierWrong(DomainError):
    code = "connection_verifier_wrong"
    message = "This is not the verifier whose SHA-256 was sent as codeChallenge."


@dataclass(frozen=True, slots=True)
class Connection:
    """What an application gets for its code."""

    member: Member
    issued: IssuedKey
    endpoint: Endpoint | None
    endpoint_secret: str


def check_may_agree(member: Member, terms: Terms | ConnectionCode) -> None:
    """Raises MayNotGive when the member's own role does not permit what the application asks for."""
    if not may_give(member.role, terms.scopes):
        raise MayNotGive(param="scopes")
    if terms.webhook_url and not member.may[Permission.MANAGE_WEBHOOKS]:
        raise MayNotGive(param="webhookUrl")


def agree(*, member: Member, environment: Environment, terms: Terms) -> str:
    """Returns the code for the application. It is not stored: the row has its SHA-256."""
    check_may_agree(member, terms)
    code = secrets.token_urlsafe(32)
    site = terms.site[: _KEY_NAME_MAX - len(terms.name) - len(" ()")]
    ConnectionCode.objects.create(
        digest=_digest(code),
        member=member,
        environment=environment,
        name=f"{terms.name} ({site})",
        scopes=terms.scopes,
        webhook_url=terms.webhook_url,
        events=terms.events,
        challenge=terms.challenge,
        expires_at=timezone.now() + LIVES,
    )
    return code


def exchange(*, code: str, verifier: str) -> Connection:
    """Makes the key pair and the webhook that the member agreed to, and ends the code.

    Whatever refuses leaves the code as it is; of several exchanges at once one gets the keys.
    """
    with transaction.atomic():
        agreed = ConnectionCode.objects.select_related("member__merchant").filter(digest=_digest(code)).first()
        if agreed is None:
            raise CodeUnknown(param="code")
        # Under this lock nobody is suspended, and no role changes.
        merchant = Merchant.objects.select_for_update(no_key=True).get(pk=agreed.member.merchant_id)
        member = Member.objects.select_related("user", "merchant").filter(pk=agreed.member_id).first()
        if agreed.expires_at <= timezone.now():
            raise CodeExpired(param="code")
        if not compare_digest(agreed.challenge, _challenge_of(verifier)):
            raise VerifierWrong(param="codeVerifier")
        if member is None or not member.user.is_active:
            raise CodeUnknown(param="code")
        if not ConnectionCode.objects.filter(pk=agreed.pk).delete()[0]:
            raise CodeUnknown(param="code")
        if not merchant.is_active:
            raise MerchantInactive
        check_may_agree(member, agreed)
        environment = Environment(agreed.environment)
        issued = issue_api_key(
            merchant=merchant,
            environment=environment,
            name=agreed.name,
            scopes=agreed.scopes,
            created_by=member.user,
            role=member.role,
        )
        endpoint, secret = None, ""
        if agreed.webhook_url:
            endpoint, secret = register_endpoint(
                merchant=merchant,
                environment=environment,
                url=agreed.webhook_url,
                events=agreed.events,
                description=agreed.name,
            )
        return Connection(member, issued, endpoint, secret)


def purge_codes(*, now: datetime | None = None) -> int:
    """Delete codes that expired a day ago; returns how many."""
    old = ConnectionCode.objects.filter(expires_at__lt=(now or timezone.now()) - _KEPT_FOR)
    return delete_in_batches(old, lock=False)


def _digest(code: str) -> bytes:
    """The code has 256 random bits, so its digest needs no salt and no slow hash."""
    return hashlib.sha256(code.encode()).digest()


def _challenge_of(verifier: str) -> str:
    """S256 of RFC 7636."""
    return urlsafe_b64encode(hashlib.sha256(verifier.encode()).digest()).decode().rstrip("=")
