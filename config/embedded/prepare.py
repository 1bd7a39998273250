"""What must be true before an embedded run serves: the schema, the static files, and someone to try it with."""

from __future__ import annotations

import hashlib
import os
from pathlib import Path

import django
from django.conf import settings
from django.contrib.staticfiles.finders import get_finders
from django.core.management import call_command


def main() -> None:
    django.setup()
    call_command("migrate", interactive=False, verbosity=0)
    collect_static_files()
    call_command("create_demo")


def collect_static_files() -> None:
    """Collects only when a file has changed: compressing them all takes seconds."""
    stamp = settings.VAR_DIR / "static.stamp"
    state = _state_of_static_files()
    if not stamp.exists() or stamp.read_text() != state or not Path(settings.STATIC_ROOT).exists():
        call_command("collectstatic", interactive=False, clear=True, verbosity=0)
        stamp.write_text(state)


def _state_of_static_files() -> str:
    digest = hashlib.sha256()
    for finder in get_finders():
        for path, storage in finder.list([]):
            status = Path(storage.path(path)).stat()
            digest.update(f"{path} {status.st_size} {status.st_mtime_ns}\n".encode())
    return digest.hexdigest()


if __name__ == "__main__":
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")
    main()
