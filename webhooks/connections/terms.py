"""What an application asks a member for, in the query of the page on which the member agrees, and what it may ask."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from urllib.parse import parse_qsl, urlencode, urlsplit

from django.conf import settings
from rest_framework.exceptions import ErrorDetail, ValidationError

from config.environments import Environment
from webhooks.endpoints.targets import is_loopback, url_problem
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
    serializer = TermsSerializer(data=query)
    serializer.is_valid(raise_exception=True)
    asked = serializer.validated_data
    terms = Terms(
        name=asked["name"],
        scopes=tuple(asked["scopes"]),
        redirect_url=asked["redirectUrl"],
        webhook_url=asked.get("webhookUrl", ""),
        events=tuple(asked["events"]),
        state=asked["state"],
        challenge=asked["codeChallenge"],
    )
    if problems := {name: ErrorDetail(why, code="invalid") for name, why in _problems(terms, environment) if why}:
        raise ValidationError(problems)
    return terms


def _problems(terms: Terms, environment: Environment) -> Iterator[tuple[str, str | None]]:
    """Parameters, and what is wrong with each; None where nothing is."""

    def of_url(url: str, *, allow_loopback: bool) -> str | None:
        ports = settings.WEBHOOK_PORTS
        return url_problem(url, environment=environment, production_ports=ports, allow_loopback=allow_loopback)

    # A mark that turns the direction of text could make the sentence around the name say something else.
    if not terms.name.strip() or not terms.name.isprintable():
        yield "name", "Must have printable characters."
    if not re.fullmatch(r"[A-Za-z0-9_-]{43}", terms.challenge):
        yield "codeChallenge", "Must be the SHA-256 of the verifier in base64url without padding: 43 characters."
    site = urlsplit(terms.redirect_url)
    if site.scheme != "https" and not is_loopback(site.hostname or ""):
        yield "redirectUrl", "Must begin with https://; http:// is for this machine alone, in the sandbox."
    elif site.fragment:
        yield "redirectUrl", "Must have no fragment (#…)."
    else:
        yield "redirectUrl", of_url(terms.redirect_url, allow_loopback=True)
    if terms.webhook_url and urlsplit(terms.webhook_url).hostname != site.hostname:
        yield "webhookUrl", "Must have the same host as redirectUrl."
    elif terms.webhook_url:
        yield "webhookUrl", of_url(terms.webhook_url, allow_loopback=settings.WEBHOOK_ALLOW_LOOPBACK)
