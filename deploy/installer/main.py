"""Installs Ballast on this machine, or upgrades it. Run it again at any time: it does what is left to do."""

from __future__ import annotations

import argparse
import secrets
import sys
from collections.abc import Iterable
from pathlib import Path

from deploy.installer import checks, env_files, questions, release, services, settings
from deploy.installer.commands import manage
from deploy.installer.places import Places
from deploy.installer.questions import FIRST, OPERATOR, Answers
from deploy.installer.release import Failed

REFUSED, FAILED, UNWELL = 1, 2, 4
"""Exit codes: nothing was changed; a step failed, and running it again goes on there; doctor finds faults."""


def main(arguments: list[str]) -> int:
    options = _options(arguments)
    places = Places(options.root.resolve())
    try:
        if options.back:
            return _go_back(places)
        return _install(places, options)
    except ValueError as error:
        sys.stderr.write(f"{error}\n")
        return REFUSED
    except Failed as error:
        sys.stderr.write(f"\n{error}\n\nRun it again once this is mended: it goes on here.\n")
        return FAILED
    except (KeyboardInterrupt, EOFError):
        sys.stderr.write("\nStopped. Run it again: it goes on where it was.\n")
        return FAILED


def _options(arguments: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="deploy/install", description=main.__doc__ or __doc__)
    parser.add_argument("--answers", type=Path, help="a file of answers, NAME=value, that only its owner may read")
    parser.add_argument("--check", action="store_true", help="only look whether everything is there")
    parser.add_argument("--back", action="store_true", help="go back to the release before; migrations stay")
    parser.add_argument(
        "--packages", choices=("kms", "telemetry"), help="also those for keys in AWS KMS, or for traces"
    )
    parser.add_argument("--wheels", type=Path, help="a folder with the packages, where the index cannot be reached")
    parser.add_argument("--root", type=Path, default=Path("/"), help="a folder in the place of /, for a trial")
    parser.add_argument("--environment", type=Path, help="an environment with the packages, for a trial")
    return parser.parse_args(arguments)


def _install(places: Places, options: argparse.Namespace) -> int:
    if options.answers and options.answers.stat().st_mode & 0o077:
        raise ValueError(f"{options.answers} may have secrets in it: chmod 600 {options.answers}")
    answers, is_new = Answers(options.answers), not settings.is_installed(places)
    _say("Upgrading." if not is_new else "Installing. What is asked for can be changed later.")
    if is_new:
        questions.ask_for_settings(answers)
    if not _all_well(places, answers, is_new=is_new):
        return REFUSED
    if options.check:
        return 0
    if not places.is_a_trial:
        services.make_account()

    _say("Release and packages: some minutes the first time")
    lock = f"requirements-{options.packages}.txt" if options.packages else None
    folder = release.install(places, lock=lock, environment=options.environment, wheels=options.wheels)
    if is_new:
        if written := services.put_proxy(places, folder, answers):
            _say(f"Proxy: {written}")
        settings.make(places, answers)
        _say(f"Settings and secrets are in {places.settings}; keep a copy apart from the database's backups")
    if settings.make_database(places, answers):
        _say("Database and its users")
    changed = _prepare(places, folder)
    changed |= services.put_units(places, folder)
    changed |= release.make_current(places, folder)
    if changed:
        places.to_restart.write_text("", encoding="utf-8")
    _make_operator(places, folder, answers)
    is_left = places.to_restart.exists()
    if is_left:
        _say("Starting the processes, the web last")
        _restart(places, is_new=is_new)
    _say("Done." if is_left else "Nothing was left to do.")
    return _doctor(places, folder)


def _all_well(places: Places, answers: Answers, *, is_new: bool) -> bool:
    found = [*checks.machine(places.home, is_a_trial=places.is_a_trial)]
    if is_new:
        server, redis = settings.Server(answers(FIRST[1])), answers(FIRST[2])
        found.append(checks.postgresql(server.environment, as_postgres=server.is_local))
        if settings.has_tables(server):
            text = f"it has tables already: put back {places.settings} of that installation, which has their keys"
            found.append(checks.Found("database", False, text))
        found += checks.ports() if not places.is_a_trial else ()
        if answers.known("proxy") == "nginx":
            missing = [each for each in map(answers, questions.CERTIFICATE) if not Path(each).exists()]
            text = f"{', '.join(missing)}: get them first, as by certbot" if missing else "there"
            found.append(checks.Found("certificate", not missing, text))
    else:
        found.append(checks.postgresql(_known_server(places, answers)))
        redis = env_files.read(places.settings / "ballast.env").get("REDIS_URL", "")
    found.append(checks.redis(redis))
    _show(found)
    return all(each.is_well for each in found)


def _known_server(places: Places, answers: Answers) -> dict[str, str]:
    """The server as the owner reaches it, or, where a first run ended before there was one, as its administrator."""
    if checks.postgresql(settings.owner(places)).is_well:
        return settings.owner(places)
    server = settings.Server(answers(FIRST[1]))
    return server.environment if not server.is_local else settings.owner(places)


def _prepare(places: Places, folder: Path) -> bool:
    """Pages and tables of the release; True if anything was left to do."""
    is_ready = (folder / release.READY).exists()
    if not is_ready:
        _manage(places, folder, "collectstatic", "--no-input", "--clear", as_root=True)
        release.compile_modules(folder)
        _manage(places, folder, "check", "--deploy", "--fail-level", "WARNING")
    if manage(places, folder, "migrate", "--check").returncode == 0 and is_ready:
        return False
    if places.current.exists() and release.has_command(folder, "upgrade_check"):
        _say(_manage(places, folder, "upgrade_check"))
    _say("Tables")
    _manage(places, folder, "migrate", "--no-input")
    _manage(places, folder, "database_roles")
    (folder / release.READY).touch()
    return True


def _make_operator(places: Places, folder: Path, answers: Answers) -> None:
    """The first superuser, with a password that nobody has chosen and that stands in a file for root."""
    code, said = checks.psql(settings.owner(places), "SELECT count(*) FROM merchants_user WHERE is_superuser")
    if code:
        raise Failed(said)
    if int(said) > 0:
        return
    email = answers(OPERATOR)
    password = answers.known("operator_password") or secrets.token_urlsafe(15)
    given = {"DJANGO_SUPERUSER_EMAIL": email, "DJANGO_SUPERUSER_PASSWORD": password}
    _manage(places, folder, "createsuperuser", "--no-input", given=given)
    if answers.known("operator_password"):
        _say(f"Operator {email}")
        return
    path = places.settings / "first-password"
    env_files.write(
        path, f"The password of {email}. Log in, choose another, and delete this file.", {"password": password}
    )
    _say(f"Operator {email}: the password is in {path}. Choose another, and delete the file.")


def _go_back(places: Places) -> int:
    folder = release.go_back(places)
    services.put_units(places, folder)
    _restart(places, is_new=False, is_back=True)
    _say(f"Back at {folder.name}. The migrations stay.")
    return _doctor(places, folder)


def _restart(places: Places, *, is_new: bool, is_back: bool = False) -> None:
    """Until all of them have started, the next run has it left to do."""
    if not places.is_a_trial:
        host = env_files.read(places.settings / "ballast.env")["ALLOWED_HOSTS"].split(",")[0]
        services.restart(host, is_new=is_new, is_back=is_back)
    places.to_restart.unlink(missing_ok=True)


def _doctor(places: Places, folder: Path) -> int:
    """What `ballast doctor` says, where the release has it. In a trial nothing runs that it could look at."""
    if places.is_a_trial or not release.has_command(folder, "doctor"):
        return 0
    ended = manage(places, folder, "doctor", "--production")
    _say(ended.stdout + ended.stderr)
    return UNWELL if ended.returncode else 0


def _manage(
    places: Places, folder: Path, *arguments: str, as_root: bool = False, given: dict[str, str] | None = None
) -> str:
    ended = manage(places, folder, *arguments, as_root=as_root, given=given)
    if ended.returncode:
        raise Failed(f"manage.py {' '.join(arguments)} failed:\n{(ended.stdout + ended.stderr).strip()[-3000:]}")
    return ended.stdout.strip()


def _show(found: Iterable[checks.Found]) -> None:
    for each in found:
        _say(f"  {'ok  ' if each.is_well else 'FAIL'}  {each.name:<12} {each.text}")


def _say(text: str) -> None:
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()
