"""The control arm: the same worker with one guard off. It records a delivery as made before it is sent."""

from __future__ import annotations

import random
import time
from datetime import timedelta
from typing import Any

from celery.__main__ import main

import config.celery  # noqa: F401 - sets Django up

WINDOW_SECONDS = 0.2
"""Between the record and the request: a good machine needs a millisecond or two, and hardly a kill would meet them."""


def be_careless() -> None:
    from config import ids
    from webhooks.schedule import Reply
    from webhooks.sending import store
    from webhooks.sending.attempts import Sent, record
    from webhooks.sending.due_deliveries import DueDelivery, take_due

    def take_and_record(dispatcher: int, **options: Any) -> list[DueDelivery]:
        due = take_due(dispatcher, **options)
        assumed = [
            Sent(ids.new_uuid(), each, dispatcher, options["now"], timedelta(), Reply(status_code=200)) for each in due
        ]
        if assumed:
            record(assumed, chance=random.Random())
            time.sleep(WINDOW_SECONDS)
        return due

    vars(store)["take_due"] = take_and_record


if __name__ == "__main__":
    import django

    django.setup()
    be_careless()
    main()
