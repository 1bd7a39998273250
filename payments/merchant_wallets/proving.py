"""Proofs that a wallet is the merchant's own: a message that its key signs, or that its contract takes as signed, good
once and for an hour."""

from __future__ import annotations

import secrets
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
from payments.chains import registry
from payments.chains.errors import ChainError
from payments.chains.networks import NETWORKS
from payments.chains.ownership import SignatureUnreadable, bytes_of, has_signed
from payments.merchant_wallets.models import MerchantWallet
from payments.merchant_wallets.services import wake_when_due
from payments.merchant_wallets.states import Proof, WalletStatus

logger = structlog.get_logger(__name__)

GOOD_FOR: Final = timedelta(hours=1)
LONGEST_SIGNATURE: Final = 8_000
"""Characters: of a contract with some dozens of owners. That of a key has 132 at most."""
_SALT: Final = "ballast.wallet"


class ProofExpired(DomainError):
    code = "wallet_proof_expired"
    message = "This message is no longer valid. Sign the new one."


class AlreadyProven(DomainError):
    code = "wallet_already_proven"
    message = "This wallet is already proven."


class WalletEnded(DomainError):
    code = "wallet_ended"
    message = "This wallet is no longer in use, and is not waiting to be."


class NotSimulated(DomainError):
    code = "wallet_not_simulated"
    message = "Only a wallet of a simulated network can be proven without a signature."


class NetworkSilent(DomainError):
    code = "wallet_network_silent"
    message = "The network does not answer just now, so nobody knows who signs for this account. Try again in a minute."


@dataclass(frozen=True, slots=True)
class Challenge:
    """A message for a wallet to sign. `token` comes back with the signature: what it holds is in the message too."""

    text: str
    token: str


@dataclass(frozen=True, slots=True)
class AccountReply:
    """The network's verdict on a signature of a text by the wallet's account; `accepts` is None when it is unknown."""

    text: str
    signature: str
    accepts: bool | None


def new_challenge(wallet: MerchantWallet, *, now: datetime) -> Challenge:
    """A message with a new nonce, good for an hour and for this wallet alone. Nothing is stored."""
    nonce, until = secrets.token_hex(16), (now + GOOD_FOR).replace(microsecond=0)
    token = signing.dumps([wallet.public_id, nonce, int(until.timestamp())], salt=_SALT)
    return Challenge(_text(wallet, nonce, until), token)


def challenge_of(wallet: MerchantWallet, token: str, *, now: datetime) -> Challenge:
    """The message that a token was made with; ProofExpired when it is another wallet's, forged or too old."""
    try:
        known, nonce, until = signing.loads(token, salt=_SALT)
    except (signing.BadSignature, ValueError, TypeError):
        raise ProofExpired from None
    ends_at = datetime.fromtimestamp(until, UTC)
    if known != wallet.public_id or ends_at <= now:
        raise ProofExpired
    return Challenge(_text(wallet, nonce, ends_at), token)


def query_account(wallet: MerchantWallet, *, token: str, signature: str) -> AccountReply | None:
    """Query the network whether this is the signature of the wallet's account: by its contract, or by enough signers.

    None where the key of the address decides alone. Call it outside of any database transaction.
    """
    signature = signature.strip()
    try:
        challenge = challenge_of(wallet, token, now=timezone.now())
        chain = registry.chain(wallet.environment, wallet.network)
        signed = bytes_of(chain.profile, signature)
    except (DomainError, SignatureUnreadable):
        return None
    if chain.signers is None:
        return None
    try:
        accepts = chain.signers.account_accepts(wallet.address, challenge.text, signed)
    except ChainError as error:
        logger.warning("network not asked about a signature", wallet=wallet.public_id, error=str(error))
        return AccountReply(challenge.text, signature, None)
    return None if accepts is None else AccountReply(challenge.text, signature, accepts)


def prove_wallet(
    wallet: MerchantWallet, *, token: str, signature: str, reply: AccountReply | None = None
) -> MerchantWallet:
    """Note that the wallet's key has signed the message of this token, or that the network confirmed it for its
    account.

    A wallet is proven once, so no proof is used twice. InvalidParameter with the fault of the signature.
    """
    signature = signature.strip()
    if not signature or len(signature) > LONGEST_SIGNATURE:
        raise InvalidParameter("Paste the signature that your wallet shows.", param="signature")
    with transaction.atomic():
        wallet = _locked(wallet)
        challenge = challenge_of(wallet, token, now=timezone.now())
        if reply is not None and (reply.text, reply.signature) == (challenge.text, signature):
            proof = _by_network(wallet, reply)
        else:
            proof = _by_key(wallet, challenge, signature)
        wallet.signed_text, wallet.signature = challenge.text, signature
        return _proven(wallet, proof)


def _by_network(wallet: MerchantWallet, reply: AccountReply) -> Proof:
    is_contract = registry.profile(wallet.environment, wallet.network).family == "evm"
    if reply.accepts is None:
        raise NetworkSilent
    if not reply.accepts:
        raise InvalidParameter(
            "The contract at this address does not take this as its signature. Have as many of its owners sign as it "
            "asks for, and sign the message exactly as it is shown."
            if is_contract
            else "This is not signed by as many signers as the account needs for a payment. Paste the signature of "
            "each, one to a line, and sign the message exactly as it is shown.",
            param="signature",
        )
    return Proof.CONTRACT if is_contract else Proof.SIGNATURE


def _by_key(wallet: MerchantWallet, challenge: Challenge, signature: str) -> Proof:
    try:
        is_own = _is_own(wallet, challenge, signature)
    except SignatureUnreadable as error:
        raise InvalidParameter(str(error), param="signature") from None
    if not is_own:
        raise InvalidParameter(
            "Another account has signed, or another text. Choose the account of this wallet, and sign the message "
            "exactly as it is shown.",
            param="signature",
        )
    return Proof.SIGNATURE


def _is_own(wallet: MerchantWallet, challenge: Challenge, signature: str) -> bool:
    profile = registry.profile(wallet.environment, wallet.network)
    return has_signed(profile, wallet.address, challenge.text, signature)


def simulate_proof(wallet: MerchantWallet) -> MerchantWallet:
    """Take a wallet of a simulated network as proven, because nobody has its key."""
    if wallet.environment != Environment.SANDBOX or not registry.is_simulated(wallet.environment):
        raise NotSimulated
    with transaction.atomic():
        return _proven(_locked(wallet), Proof.SIMULATED)


def _locked(wallet: MerchantWallet) -> MerchantWallet:
    held = MerchantWallet.objects.select_for_update(of=("self",)).select_related("merchant").get(pk=wallet.pk)
    if held.status not in (WalletStatus.WAITING, WalletStatus.IN_USE):
        raise WalletEnded
    if held.proof:
        raise AlreadyProven
    return held


def _proven(wallet: MerchantWallet, proof: Proof) -> MerchantWallet:
    wallet.proof, wallet.proven_at = proof, timezone.now()
    wallet.save(update_fields=["proof", "proven_at", "signed_text", "signature"])
    wake_when_due()
    return wallet


def _text(wallet: MerchantWallet, nonce: str, until: datetime) -> str:
    """The text of the message in the wallet. It names everything that it is good for."""
    name = NETWORKS[wallet.network].real.name
    return "\n".join(
        [
            "I confirm that this wallet belongs to the merchant named here, and that settlements may be paid to it.",
            "",
            f"Asked at: {urlsplit(settings.PUBLIC_URL).netloc}",
            f"Merchant: {wallet.merchant.name} ({wallet.merchant.public_id})",
            f"Network: {name} ({wallet.environment})",
            f"Wallet: {wallet.address}",
            f"Reference: {wallet.public_id}",
            f"Nonce: {nonce}",
            f"Good until: {until:%Y-%m-%d %H:%M:%S} UTC",
            "",
            "Signing costs nothing and moves no money.",
        ]
    )
