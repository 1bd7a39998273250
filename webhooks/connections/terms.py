"""What an application asks a member for, in the query of the page on which the member agrees. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from urllib.parse import parse_qsl, urlencode, urlsplit

from config.environments import Environment
from webhooks.serializers import TermsSerializer

_OURS = ("code", "state", "error")


@dataclass(frozen=True, slots=True)
class Terms:
    """What an application asks for, as it was checked."""

    name: str
    """What the application calls itself; nobody has checked it."""
    scopes: tuple[str, ...]
    redirect_url: str
    webhook_url: str
    """Empty without a webhook."""
    events: tuple[str, ...]
    state: str
    challenge: str

    @property
    def site(self) -> str:
        """Host of the application, and its port where it names one."""
        return urlsplit(self.redirect_url).netloc.lower()

    def way_back(self, **values: str) -> str:
        """The return address with the state and these values in its query."""
        parts = urlsplit(self.redirect_url)
        kept = [pair for pair in parse_qsl(parts.query, keep_blank_values=True) if pair[0] not in _OURS]
        return parts._replace(query=urlencode([*kept, *values.items(), ("state", self.state)])).geturl()


def read_terms(query: Mapping[str, str], environment: Environment) -> Terms:
    """The terms in a query; ValidationError, which names each parameter at fault, otherwise."""
    serializer = TermsSerializer(data=query, context={"environment": environment})
    serializer.is_valid(raise_exception=True)
    asked = serializer.validated_data
    return Terms(
        name=asked["name"],
        scopes=tuple(asked["scopes"]),
        redirect_url=asked["redirectUrl"],
        webhook_url=asked.get("webhookUrl", ""),
        events=tuple(asked["events"]),
        state=asked["state"],
        challenge=asked["codeChallenge"],
    )
