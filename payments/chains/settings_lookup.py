"""What the operator has set for a network, whatever adapter speaks to it."""

from __future__ import annotations

from django.conf import settings
from django.core.exceptions import ImproperlyConfigured

from config.environments import Environment
from payments.chains.providers.servers import by_owner
from payments.chains.settings_parser import MAINNET, Kind, NetworkSettings, urls_name
from payments.chains.signer.client import SignerClient


def settings_of(network: str, kind: Kind = MAINNET) -> NetworkSettings:
    """What is set for a network."""
    found: NetworkSettings = settings.NETWORK_SETTINGS[kind, network]
    return found


def urls_of(found: NetworkSettings, network: str) -> tuple[str, ...]:
    """An address of each of its providers; ImproperlyConfigured where there are none. Of several at one provider the
    first is used, so that one company never counts as two that agree."""
    if not found.rpc_urls:
        raise ImproperlyConfigured(f"{urls_name(found.kind, network)} is not set.")
    return tuple(urls[0] for urls in by_owner(found.rpc_urls, found.separate).values())


def client_of(found: NetworkSettings, network: str) -> SignerClient:
    """The signer of its own that these settings name."""
    environment = Environment.PRODUCTION if found.kind == MAINNET else Environment.SANDBOX
    return SignerClient(
        found.signer_url,
        settings.SIGNER_SECRET,
        environment=environment.value,
        network=network,
        certificates=settings.SIGNER_CERTIFICATES,
    )


def decided_by_one(network: str, kind: Kind = MAINNET) -> bool:
    """Whether one provider alone decides about money there: one is listed, and the operator lets it."""
    found = settings_of(network, kind)
    return found.one_may_decide and len(by_owner(found.rpc_urls, found.separate)) == 1


def counted_as_one(network: str, kind: Kind = MAINNET) -> dict[str, int]:
    """The owners of several addresses that are listed for it, and of how many."""
    found = settings_of(network, kind)
    return {owner: len(urls) for owner, urls in by_owner(found.rpc_urls, found.separate).items() if len(urls) > 1}
