"""The control arm: the same worker, which freezes what is in memory on every run of the dispatcher."""

from __future__ import annotations

import gc
from typing import Any

from celery.__main__ import main

import config.celery  # noqa: F401 - sets Django up


def freeze_on_each_run() -> None:
    from webhooks.sending.dispatch import Dispatcher

    run = Dispatcher.run

    def freeze_and_run(dispatcher: Dispatcher, **options: Any) -> int:
        gc.freeze()
        return run(dispatcher, **options)

    vars_of_class: Any = Dispatcher
    vars_of_class.run = freeze_and_run


if __name__ == "__main__":
    import django

    django.setup()
    freeze_on_each_run()
    main()
