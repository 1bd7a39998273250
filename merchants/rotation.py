"""Replacing a key pair: a new one takes over at once, and the old one ends by itself after a while."""

from __future__ import annotations

from datetime import timedelta

from django.db import transaction
from django.utils import timezone

from config.environments import Environment
from config.errors import DomainError
from merchants.access.scopes import may_give
from merchants.models import ApiKey, User
from merchants.services import IssuedKey, MayNotGive, issue_api_key, revoke_api_key


class KeyEnded(DomainError):
    code = "key_ended"
    message = "This pair no longer works. Create a new one."


class KeyRetiring(DomainError):
    code = "key_retiring"
    message = "This pair was already replaced, and ends automatically."


class KeyNotRetiring(DomainError):
    code = "key_not_retiring"
    message = "This pair is not about to end because of a new one."


def rotate_api_key(
    *, key: ApiKey, overlap: timedelta, created_by: User | None = None, role: str | None = None
) -> IssuedKey:
    """A new pair with the name, access and limits of the old one, which works for the overlap and then ends.

    A pair that expires is replaced by one that lives as long. Without an overlap the old pair is deleted at once.
    `role` is that of the requesting person, as in `issue_api_key`. Returns the new pair with its secret.
    """
    with transaction.atomic():
        key = ApiKey.objects.select_for_update().select_related("merchant").get(pk=key.pk)
        now = timezone.now()
        if key.revoked_at is not None or (key.ends_at is not None and key.ends_at <= now):
            raise KeyEnded
        if key.retires_at is not None:
            raise KeyRetiring
        issued = issue_api_key(
            merchant=key.merchant,
            environment=Environment(key.environment),
            name=key.name,
            scopes=key.scopes,
            expires_at=None if key.expires_at is None else now + (key.expires_at - key.created_at),
            allowed_networks=key.allowed_networks,
            require_signature=key.require_signature,
            created_by=created_by,
            role=role,
        )
        key.replaced_by, key.retires_at = issued.key, now + overlap
        key.save(update_fields=["replaced_by", "retires_at"])
        if not overlap:
            revoke_api_key(key=key)
    return issued


def keep_api_key(*, key: ApiKey, role: str | None = None) -> None:
    """Let a pair that was replaced, and has not ended yet, go on beside the new one."""
    with transaction.atomic():
        key = ApiKey.objects.select_for_update().get(pk=key.pk)
        if key.revoked_at is not None or (key.ends_at is not None and key.ends_at <= timezone.now()):
            raise KeyEnded
        if key.retires_at is None:
            raise KeyNotRetiring
        if role is not None and not may_give(role, key.scopes):
            raise MayNotGive
        key.replaced_by, key.retires_at = None, None
        key.save(update_fields=["replaced_by", "retires_at"])
