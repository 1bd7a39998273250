"""Limits of mails that one place may request to addresses that it typed."""

from __future__ import annotations

from django.http import HttpRequest
from django.utils import timezone

from merchants.access import attempts
from merchants.access.addresses import client_address, guesser


def seconds_to_wait(request: HttpRequest) -> int:
    """Counts one request that sends a mail to an address that anybody may type; 0, or how long to wait."""
    counted = f"sign up from {guesser(client_address(request))}"
    return attempts.take_attempt(counted, attempts.SIGN_UPS_FROM_ADDRESS, now=timezone.now())
