"""Proofs that somebody has sent money of no payment: a message that the key of the sending address signs.

Nothing else shows it. A second transfer from the same address would prove as little as the first one where an exchange
sends the money of many people from one account.
"""

from __future__ import annotations

import secrets
import uuid
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Final
from urllib.parse import urlsplit

import structlog
from django.conf import settings
from django.core import signing
from django.db import transaction
from django.utils import timezone

from config.environments import Environment
from config.errors import DomainError, InvalidParameter
from config.pages import wording
from payments.chains import registry
from payments.chains.errors import ChainError
from payments.chains.ownership import SignatureUnreadable, bytes_of, has_signed
from payments.deposits.models import PayerReturn
from payments.models import Deposit, Discrepancy
from payments.states import RETURN_MOVES, ReturnStatus
from payments.suspense.destinations import Destination
from payments.suspense.suggestions import waiting_for_payment

logger = structlog.get_logger(__name__)

GOOD_FOR: Final = timedelta(hours=1)
LONGEST_SIGNATURE: Final = 200
_LINK_SALT: Final = "ballast.return"
_PROOF_SALT: Final = "ballast.return.proof"


class NotReturnable(DomainError):
    code = "not_returnable"
    message = "This money cannot be asked back: somebody has decided about it, or nobody saw which address sent it."


class ProofExpired(DomainError):
    code = "return_proof_expired"
    message = "This message is no longer valid. Sign the new one."


class SendersUnknown(DomainError):
    code = "return_network_silent"
    message = "The network does not answer just now, so nobody knows who signs for this account. Try again in a minute."


class SimulatedOnly(DomainError):
    code = "return_not_simulated"
    message = "Only the sender on a simulated network can prove without a signature."


@dataclass(frozen=True, slots=True)
class SenderChallenge:
    """A message for the sender to sign. `token` comes back with the signature: what it holds is in the message too."""

    text: str
    token: str


def return_link(deposit: Deposit) -> str:
    """The address of the page where the sender requests the return of money of no payment. Whoever has it can do
    nothing without the sender's key, so it is good for ever."""
    return f"{settings.PUBLIC_URL}/return/{signing.dumps(deposit.pk.hex, salt=_LINK_SALT)}"


def deposit_of_link(token: str) -> Deposit | None:
    """The deposit that a link was made for; None for a link that was not made here."""
    try:
        return Deposit.objects.filter(pk=uuid.UUID(signing.loads(token, salt=_LINK_SALT))).first()
    except (signing.BadSignature, ValueError, TypeError, AttributeError):
        return None


def is_returnable(deposit: Deposit) -> bool:
    """True if this money waits for a decision, belongs to no payment, and came from an address that is known."""
    waits = Discrepancy.objects.filter(waiting_for_payment(), deposit=deposit).exists()
    return waits and bool(deposit.sender) and not deposit.is_surplus


def new_challenge(deposit: Deposit, destination: Destination, *, now: datetime) -> SenderChallenge:
    """A message with a new nonce, good for an hour, this money and this destination. Nothing is stored."""
    nonce, until = secrets.token_hex(16), (now + GOOD_FOR).replace(microsecond=0)
    signed = [
        deposit.pk.hex,
        destination.address,
        destination.memo,
        destination.memo_type,
        nonce,
        int(until.timestamp()),
    ]
    return SenderChallenge(_text(deposit, destination, nonce, until), signing.dumps(signed, salt=_PROOF_SALT))


def challenge_of(deposit: Deposit, token: str, *, now: datetime) -> tuple[Destination, str]:
    """The destination and the message that a token was made with; ProofExpired when it is another deposit's or old."""
    try:
        known, address, memo, memo_type, nonce, until = signing.loads(token, salt=_PROOF_SALT)
    except (signing.BadSignature, ValueError, TypeError):
        raise ProofExpired from None
    ends_at = datetime.fromtimestamp(until, UTC)
    if known != deposit.pk.hex or ends_at <= now:
        raise ProofExpired
    destination = Destination(address, memo, memo_type)
    return destination, _text(deposit, destination, nonce, ends_at)


def prove_sender(deposit: Deposit, *, token: str, signature: str) -> PayerReturn:
    """Note that the key of the sending address requests this money at the destination that the token was made for.

    It moves nothing: operators decide. A later proof replaces an earlier one that nobody has agreed to in full.
    NotReturnable, ProofExpired; InvalidParameter with the fault of the signature.
    """
    signature = signature.strip()
    if not signature or len(signature) > LONGEST_SIGNATURE:
        raise InvalidParameter("Paste the signature that your wallet shows.", param="signature")
    destination, text = challenge_of(deposit, token, now=timezone.now())
    require_signed(deposit, text, signature)
    _require_key_decides(deposit, text, signature)
    return _note(deposit, destination, text, signature)


def simulate_proof(deposit: Deposit, *, token: str) -> PayerReturn:
    """Take the sender on a simulated network as proven, because nobody has its key."""
    if deposit.environment != Environment.SANDBOX or not registry.is_simulated(deposit.environment):
        raise SimulatedOnly
    destination, text = challenge_of(deposit, token, now=timezone.now())
    return _note(deposit, destination, text, "")


def require_signed(deposit: Deposit, text: str, signature: str) -> None:
    """InvalidParameter unless the key of the deposit's sender has signed this text."""
    profile = registry.profile(deposit.environment, deposit.network)
    try:
        is_own = has_signed(profile, deposit.sender, text, signature)
    except SignatureUnreadable as error:
        raise InvalidParameter(str(error), param="signature") from None
    if not is_own:
        raise InvalidParameter(
            f"Another account has signed, or another text. Choose the account {deposit.sender}, which has sent the "
            "money, and sign the message exactly as it is shown.",
            param="signature",
        )


def _require_key_decides(deposit: Deposit, text: str, signature: str) -> None:
    """InvalidParameter where the network lets others sign for the sender's account, and not its own key alone."""
    chain = registry.chain(deposit.environment, deposit.network)
    if chain.signers is None:
        return
    try:
        accepts = chain.signers.account_accepts(deposit.sender, text, bytes_of(chain.profile, signature))
    except ChainError as error:
        logger.warning("network not asked about a signature", deposit=str(deposit.pk), error=str(error))
        raise SendersUnknown from None
    if accepts is False:
        raise InvalidParameter(
            "The key that this account is named after may not pay from it alone any more. Ask the people who run this "
            "service.",
            param="signature",
        )


def _note(deposit: Deposit, destination: Destination, text: str, signature: str) -> PayerReturn:
    with transaction.atomic():
        deposit = Deposit.objects.select_for_update().get(pk=deposit.pk)
        before = deposit.returns.select_for_update().filter(status=ReturnStatus.PROVEN).first()
        if before is not None and before.signed_text == text:
            return before
        if not is_returnable(deposit):
            raise NotReturnable
        if deposit.returns.filter(signed_text=text).exists():  # a message is good once
            raise ProofExpired
        if before is not None:
            RETURN_MOVES.check(before.status, ReturnStatus.REPLACED)
            before.status, before.ended_at = ReturnStatus.REPLACED, timezone.now()
            before.save(update_fields=["status", "ended_at"])
        return PayerReturn.objects.create(
            environment=deposit.environment,
            deposit=deposit,
            network=deposit.network,
            asset=deposit.asset,
            decimals=deposit.decimals,
            amount=deposit.amount,
            recipient=destination.address,
            memo=destination.memo,
            memo_type=destination.memo_type,
            signed_text=text,
            signature=signature,
        )


def covers(text: str, deposit: Deposit, destination: Destination) -> bool:
    """True if a text that was signed is about this money and this destination, in whatever language its amount is."""
    return f"\n{_subject(deposit, destination)}\nNonce: " in text


def _subject(deposit: Deposit, destination: Destination) -> str:
    """The money a message is about, and its destination."""
    name = registry.known_profile(deposit.environment, deposit.network).name
    memo = f" with the memo {destination.memo}" if destination.memo else ""
    return "\n".join(
        [
            f"Network: {name} ({deposit.environment})",
            f"On-chain transaction: {deposit.transaction_hash}, {deposit.ordinal}",
            f"Sent from: {deposit.sender}",
            f"To be paid to: {destination.address}{memo}",
        ]
    )


def _text(deposit: Deposit, destination: Destination, nonce: str, until: datetime) -> str:
    """The text of the message in the wallet. It names everything that it is good for."""
    return "\n".join(
        [
            "I have sent the money named here, and ask for it back at the address named here.",
            "",
            f"Asked at: {urlsplit(settings.PUBLIC_URL).netloc}",
            f"Amount: {wording.coins(deposit.amount, deposit.decimals, deposit.asset)}",
            _subject(deposit, destination),
            f"Nonce: {nonce}",
            f"Good until: {until:%Y-%m-%d %H:%M:%S} UTC",
            "",
            "Signing costs nothing and moves no money.",
        ]
    )
