"""The units of systemd and the proxy: put in place, and restarted one after the other."""

from __future__ import annotations

import shutil
import time
import urllib.error
import urllib.request
from pathlib import Path

from deploy.installer.checks import WEB_PORTS
from deploy.installer.places import ACCOUNT, Places
from deploy.installer.questions import CERTIFICATE, Answers
from deploy.installer.release import Failed, run

WORKERS = [f"ballast-{role}.service" for role in ("chain", "money", "webhooks", "reports")]
BEAT = "ballast-beat.service"
BACKUP, EACH_NIGHT = "ballast-backup.service", "ballast-backup.timer"
WEBS = [f"ballast-web@{port}.service" for port in WEB_PORTS]
READY_SECONDS, DONE_SECONDS = 60, 120
SAMPLES = {"nginx": ("nginx.conf", "etc/nginx/conf.d/ballast.conf"), "caddy": ("Caddyfile", "etc/caddy/ballast.caddy")}
CHECKS = {"nginx": ("nginx", "-t"), "caddy": ("caddy", "validate", "--config", "/etc/caddy/Caddyfile")}
LEFT_OUT_SECONDS = 11
"""Longer than a proxy leaves out a web that refused a request."""


def put_units(places: Places, release: Path) -> bool:
    """Copies the units that differ; True if any did."""
    source = release / "deploy" / "systemd"
    wanted = [path for path in sorted(source.rglob("*")) if path.is_file() and path.name != "journald.conf"]
    changed = [path for path in wanted if _differs(path, places.units / path.relative_to(source))]
    for path in changed:
        target = places.units / path.relative_to(source)
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(path, target)
    journal = places.root / "etc" / "systemd" / "journald.conf.d" / "ballast.conf"
    if not journal.exists():  # how much is kept is the operator's to change
        journal.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(source / "journald.conf", journal)
    if not places.command.is_symlink():
        places.command.parent.mkdir(parents=True, exist_ok=True)
        places.command.symlink_to("/srv/ballast/current/deploy/ballast")
    return bool(changed)


def put_proxy(places: Places, release: Path, answers: Answers) -> Path | None:
    """Writes the sample with the host's name, in a file of its own; the path, or None where it is there already.

    Other sites of the proxy stay. Where the proxy refuses the file it is taken away again, and Failed says why.
    """
    kind, host = answers.known("proxy"), answers.known("host")
    if kind not in SAMPLES:
        return None
    name, target = SAMPLES[kind]
    path = places.root / target
    if path.exists():
        return None
    text = (release / "deploy" / "proxy" / name).read_text(encoding="utf-8")
    if kind == "nginx":
        certificate, key = (answers(question) for question in CERTIFICATE)
        text = text.replace("/etc/ssl/pay.example.com.pem", certificate)
        text = text.replace("/etc/ssl/private/pay.example.com.key", key)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text.replace("pay.example.com", host), encoding="utf-8")
    main = path.with_name("Caddyfile")
    before = main.read_text(encoding="utf-8") if main.exists() else ""
    if kind == "caddy":
        main.write_text(f"{before.rstrip()}\n\nimport {path.name}\n".lstrip(), encoding="utf-8")
    if places.is_a_trial:
        return path
    try:
        run(*CHECKS[kind])
        run("systemctl", "reload-or-restart", kind)
    except Failed:
        path.unlink()
        if kind == "caddy":
            main.write_text(before, encoding="utf-8")
        raise
    return path


def make_account() -> None:
    import pwd

    try:
        pwd.getpwnam(ACCOUNT)
    except KeyError:
        run(
            "useradd",
            "--system",
            "--home-dir",
            "/srv/ballast",
            "--no-create-home",
            "--shell",
            "/usr/sbin/nologin",
            ACCOUNT,
        )


def restart(host: str, *, is_new: bool, is_back: bool = False) -> None:
    """Workers, then beat, then each web once the one before is ready; the web first on the way back."""
    run("systemctl", "daemon-reload")
    run("systemctl", "enable", "--quiet", "ballast.target", *WORKERS, BEAT, *WEBS)
    run("systemctl", "enable", "--quiet", "--now", EACH_NIGHT)
    if is_back:
        _restart_webs(host, is_new=False)
    run("systemctl", "restart", *WORKERS)
    run("systemctl", "restart", BEAT)
    if not is_back:
        _restart_webs(host, is_new=is_new)
    _wait(host, WEB_PORTS[0], "/health/work", DONE_SECONDS)
    if is_new:
        run("systemctl", "start", BACKUP)  # so that it is known to work


def _restart_webs(host: str, *, is_new: bool) -> None:
    for unit, port in zip(WEBS, WEB_PORTS, strict=True):
        run("systemctl", "restart", unit)
        if not _wait(host, port, "/health/ready", READY_SECONDS):
            raise Failed(f"{unit} is not ready after {READY_SECONDS} seconds: journalctl -u {unit} -n 50")
        if not is_new and unit != WEBS[-1]:
            time.sleep(LEFT_OUT_SECONDS)


def _wait(host: str, port: int, path: str, seconds: float) -> bool:
    """True once the page replies 200."""
    ends_at = time.monotonic() + seconds
    request = urllib.request.Request(f"http://127.0.0.1:{port}{path}", headers={"Host": host})
    while time.monotonic() < ends_at:
        try:
            with urllib.request.urlopen(request, timeout=5):
                return True
        except (urllib.error.URLError, OSError):
            time.sleep(1)
    return False


def _differs(source: Path, target: Path) -> bool:
    return not target.exists() or target.read_bytes() != source.read_bytes()
