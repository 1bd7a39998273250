"""The link on which a payer says where a refund is to go: signed, good for a while, and for one address only."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from uuid import UUID

from django.conf import settings
from django.core import signing

from config import ids
from refunds.models import Refund
from refunds.states import RefundStatus

CLAIM_LIFETIME = timedelta(days=30)
_SALT = "refunds.claims"


class ClaimInvalid(Exception):
    """Nobody here has made this link."""


@dataclass(frozen=True, slots=True)
class Claim:
    """What a link says: which refund, and at which version of it an address was asked for."""

    refund_id: UUID
    version: int
    expired: bool

    def is_open(self, refund: Refund) -> bool:
        """Whether an address may still be given: nobody has named one since the link was made, nor called it off."""
        return not self.expired and refund.status == RefundStatus.REQUIRES_ACTION and refund.version == self.version


def claim_url(refund: Refund) -> str | None:
    """A new link to give an address on; None while none is needed."""
    if refund.status != RefundStatus.REQUIRES_ACTION:
        return None
    token = signing.dumps([refund.public_id, refund.version], salt=_SALT)
    return f"{settings.PUBLIC_URL}/refund/{token}"


def read_claim(token: str) -> Claim:
    """What a link's token says; ClaimInvalid when it was not signed here, or was tampered with."""
    expired = False
    try:
        said = signing.loads(token, salt=_SALT, max_age=CLAIM_LIFETIME)
    except signing.SignatureExpired:
        said, expired = signing.loads(token, salt=_SALT), True
    except (signing.BadSignature, ValueError) as error:
        raise ClaimInvalid from error
    match said:
        case [str(public_id), int(version)] if (key := ids.REFUND.decode(public_id)) is not None:
            return Claim(key, version, expired)
    raise ClaimInvalid
