"""The link by which a payer names the destination of a refund: signed, and valid for a while and for one address."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from uuid import UUID

from django.conf import settings
from django.core import signing

from config import ids
from refunds.models import Refund
from refunds.states import RefundStatus

LINK_LIFETIME = timedelta(days=30)
_SALT = "refunds.claims"


class DestinationLinkInvalid(Exception):
    """The link was not made by this installation."""


@dataclass(frozen=True, slots=True)
class DestinationLink:
    """The content of a link: the refund, and its version when the link was made."""

    refund_id: UUID
    version: int
    expired: bool

    def is_open(self, refund: Refund) -> bool:
        """True while an address may still be given: none was named since, and the refund was not cancelled."""
        return not self.expired and refund.status == RefundStatus.REQUIRES_ACTION and refund.version == self.version


def destination_link_url(refund: Refund) -> str | None:
    """A new link; None while the refund needs no address."""
    if refund.status != RefundStatus.REQUIRES_ACTION:
        return None
    token = signing.dumps([refund.public_id, refund.version], salt=_SALT)
    return f"{settings.PUBLIC_URL}/refund/{token}"


def read_destination_link(token: str) -> DestinationLink:
    """The content of a link's token; DestinationLinkInvalid when it was not signed here, or was changed."""
    expired = False
    try:
        content = signing.loads(token, salt=_SALT, max_age=LINK_LIFETIME)
    except signing.SignatureExpired:
        content, expired = signing.loads(token, salt=_SALT), True
    except (signing.BadSignature, ValueError) as error:
        raise DestinationLinkInvalid from error
    match content:
        case [str(public_id), int(version)] if (key := ids.REFUND.decode(public_id)) is not None:
            return DestinationLink(key, version, expired)
    raise DestinationLinkInvalid
