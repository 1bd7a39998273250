"""The control arms: the same worker as kombu makes it, and with `--no-guard` also without the guard."""

from __future__ import annotations

import sys

from celery.__main__ import main
from kombu.transport import redis as transport

from config import consumer
from config.celery import app


def take_guards_off() -> None:
    transport.Channel.QoS = transport.QoS
    if "--no-guard" in sys.argv:
        sys.argv.remove("--no-guard")
        app.steps["worker"].discard(consumer.Guard)


if __name__ == "__main__":
    import django

    django.setup()
    take_guards_off()
    main()
