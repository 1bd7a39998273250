"""Runs management commands of the installed release, with the settings of the machine."""

from __future__ import annotations

import os
import pwd
import re
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from deploy.installer import env_files
from deploy.installer.places import ACCOUNT, SOURCE, Places

OF_THE_OWNER = {
    "backup_drill",
    "change_addresses",
    "database_roles",
    "migrate",
    "partitions",
    "restore",
    "resume_after_restore",
}
OF_THE_WEB = {
    "api_key_pepper",
    "createsuperuser",
    "explain_finding",
    "remove_second_factors",
    "reseal_second_factors",
    "withdraw",
}
"""Whose rights in the database a command needs (docs/databases.md); all others have a worker's."""
WITH_KEYS = {"deploy_deposits", "doctor", "setup_stellar"}
"""Commands that read files of keys, and therefore run as root."""
_KEYS = re.compile(r"/run/credentials/ballast-\w+\.service/keys_")


def database_user(arguments: Sequence[str]) -> str:
    command = next(iter(arguments), "")
    if command in OF_THE_OWNER:
        return "owner"
    as_a_person = {"--lift", "--suspend"} if command == "stops" else {"--by"} if command == "thaw_wallet" else set()
    return "web" if command in OF_THE_WEB or as_a_person & set(arguments) else "worker"


def environment_for(places: Places, arguments: Sequence[str]) -> dict[str, str]:
    """What the command is started with: no setting of the caller's, but the terminal's."""
    command = next(iter(arguments), "")
    found = {"PATH": "/usr/local/bin:/usr/bin:/bin", "PYTHONDONTWRITEBYTECODE": "1"}
    found |= {name: os.environ[name] for name in ("LANG", "LC_ALL", "TERM") if name in os.environ}
    found |= {"BALLAST_MODE": "production", "DJANGO_SETTINGS_MODULE": "config.settings"}
    found |= env_files.read(places.settings / "ballast.env")
    found |= env_files.read(places.settings / f"database-{database_user(arguments)}.env")
    if command in OF_THE_OWNER:
        found["DATABASE_STATEMENT_TIMEOUT_SECONDS"] = "0"
        found.pop("DATABASE_DIRECT_URL", None)
    if command in ("migrate", "database_roles"):
        found["BALLAST_ROLE"] = "migrate"
        for secret in _secrets_of_others():
            found.pop(secret, None)
    for name, value in [*found.items()]:
        if _KEYS.match(value):  # systemd hands these to the process alone
            found[name] = _KEYS.sub(f"{places.settings}/keys/", value)
            if command not in WITH_KEYS:
                del found[name]
    return found


def _secrets_of_others() -> set[str]:
    """Secrets that migrations have no use for, by the table of the release."""
    from config.process import roles

    return {secret for secret in roles.USERS if not roles.uses("migrate", secret)}


def manage(
    places: Places, release: Path, *arguments: str, as_root: bool = False, given: dict[str, str] | None = None
) -> subprocess.CompletedProcess[str]:
    """Run a command of a release; its output is kept."""
    ended: subprocess.CompletedProcess[str] = subprocess.run(
        _command(release, arguments),
        env=environment_for(places, arguments) | (given or {}),
        cwd=release,
        capture_output=True,
        text=True,
        check=False,
        **({} if as_root else _account(places, arguments)),  # type: ignore[call-overload]
    )
    return ended


def run(arguments: list[str]) -> int:
    """Become a command of the release that this file belongs to; its exit code, or 3 where it cannot start."""
    places = Places(Path(os.environ.get("BALLAST_ROOT", "/")))
    if arguments[:1] in (["--version"], ["version"]):
        return subprocess.run(_command(SOURCE, arguments), check=False).returncode
    try:
        environment = environment_for(places, arguments)
    except PermissionError:
        sys.stderr.write("The settings can be read by root alone: sudo ballast …\n")
        return 3
    except ValueError as error:
        sys.stderr.write(f"{error}\n")
        return 3
    ended = subprocess.run(
        _command(SOURCE, arguments),
        env=environment,
        cwd=SOURCE,
        check=False,
        **_account(places, arguments),  # type: ignore[call-overload]
    )
    return int(ended.returncode)


def _command(release: Path, arguments: Sequence[str]) -> list[str]:
    return [str(release / ".venv" / "bin" / "python"), str(release / "manage.py"), *arguments]


def _account(places: Places, arguments: Sequence[str]) -> dict[str, object]:
    """The account to run as, where there is one and we may choose: nothing but reading keys needs root."""
    command = next(iter(arguments), "")
    if os.geteuid() != 0 or places.is_a_trial or command in WITH_KEYS:
        return {}
    try:
        account = pwd.getpwnam(ACCOUNT)
    except KeyError:
        return {}
    return {"user": account.pw_uid, "group": account.pw_gid, "extra_groups": [], "umask": 0o077}
