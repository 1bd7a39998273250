"""Every action of the admin that lets money move asks first; what need not ask is listed here by name."""

from __future__ import annotations

import inspect
import re

from django.contrib import admin

ASKS_NOTHING = {
    "delete_selected": "Django's own, with a page of its own; rows of money cannot be deleted",
    "acknowledge": "says that somebody looks after an alarm",
    "enable": "tells a webhook of what happens from now on",
    "redeliver": "sends a webhook again",
    "let_in": "lets a person who signed up open a merchant; nothing of theirs moves money by that",
    "turn_away": "forgets a person who signed up and has nothing yet",
    "revoke": "stops one key pair",
    "read_again": "reads past blocks of a network again, as every scan does",
    "try_again": "asks a network about a held payout sooner; limits, approvals and the wallet hold it as before",
}


def test_whatever_lets_money_move_asks_first() -> None:
    asking = set()
    for page in admin.site._registry.values():
        for name in page.actions or ():
            action = getattr(type(page), name) if isinstance(name, str) else name
            if action.__name__ not in ASKS_NOTHING:
                source = inspect.getsource(action)
                for shared in re.findall(r"return self\.(_\w+)\(", source):
                    source += inspect.getsource(getattr(type(page), shared))
                assert re.search(r"(confirms|confirmation_page)\(", source), (
                    f"{type(page).__name__}.{action.__name__} does not ask first"
                )
                asking.add(action.__name__)
    assert {"accept", "approve", "reject", "retry", "lift", "resume", "freeze", "bring_in"} <= asking
