"""The operator's settings for key services, as the keys the rest works with. Only processes that sign load this."""

from __future__ import annotations

from pathlib import Path

from django.conf import settings
from django.core.exceptions import ImproperlyConfigured

from payments.chains.key_services import aws_kms
from payments.chains.key_services.aws_kms import AwsKmsKey
from payments.chains.key_services.base import AWS_KMS, EdKey, KeyServiceFailed, SecpKey, parse_place
from payments.chains.key_services.vault import VaultKey, VaultServer


def secp_key(place: str) -> SecpKey:
    """The key of a wallet on ethereum and polygon."""
    return AwsKmsKey(parse_place(place), aws_kms.SECP256K1)


def ed_key(place: str) -> EdKey:
    """The key of a wallet on stellar."""
    found = parse_place(place)
    return AwsKmsKey(found, aws_kms.ED25519) if found.service == AWS_KMS else VaultKey(found, _vault())


def _vault() -> VaultServer:
    if not settings.VAULT_ADDR:
        raise ImproperlyConfigured("VAULT_ADDR is not set, but a key is in Vault.")
    return VaultServer(
        settings.VAULT_ADDR,
        token=_token,
        namespace=settings.VAULT_NAMESPACE,
        authority=settings.VAULT_CACERT,
    )


def _token() -> str:
    """What is set, or what is in the file by now."""
    if not settings.VAULT_TOKEN_FILE:
        return str(settings.VAULT_TOKEN)
    try:
        return Path(settings.VAULT_TOKEN_FILE).read_text().strip()
    except (OSError, ValueError) as error:
        raise KeyServiceFailed(f"VAULT_TOKEN_FILE cannot be read: {error}") from error
