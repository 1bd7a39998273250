"""Units of systemd, one for each process; what they share is deploy/systemd/ballast-.service.d."""

from __future__ import annotations

import shlex

from config.process import roles
from tests.deploy.processes import SAYS, Process

HEAD = "# Written by `make tables` from compose.yaml and config/process/roles.py.\n"
HOME = "/srv/ballast/current"


def unit_name(process: Process) -> str:
    """Of the web there are several, named by their port: one after the other is replaced."""
    return "ballast-web@.service" if process.role == "web" else f"ballast-{process.role}.service"


def unit(process: Process) -> str:
    role, short = process.role, f"ballast-{process.role}"
    if role == "web":
        short += "-%i"
    service = [
        "Type=oneshot" if role == "migrate" else "Type=exec",
        f"User={short}",
        f"Environment=BALLAST_ROLE={role} ALIVE_FILE=/run/{short}/alive",
        f"RuntimeDirectory={short}",
    ]
    if role == "web":
        service.append("Environment=WEB_CONCURRENCY=2")
    if role == "signer":
        service += ["StateDirectory=ballast-signer", "Environment=SIGNER_FOLDER=/var/lib/ballast-signer"]
        service.append("EnvironmentFile=/etc/ballast/signer.env")
    else:
        service.append("EnvironmentFile=/etc/ballast/ballast.env")
        service.append(f"EnvironmentFile=/etc/ballast/database-{process.database_user}.env")
        service += ["# Secrets of the others, which stand in the same file.", *_unset(process)]
    if {"EVM_KEYSTORE", "STELLAR_HOT_WALLET_KEY_FILE"} & set(process.secrets):
        service.append("# Readable by this process alone, as /run/credentials/" + unit_name(process) + "/keys_NAME.")
        service.append("LoadCredential=keys:/etc/ballast/keys")
    if role == "migrate":
        service.append("UnsetEnvironment=DATABASE_DIRECT_URL")
    else:
        service += ["Restart=always", "RestartSec=5"]
    # For as long as they take; a file of settings would have the last word about a mere Environment=.
    forever = "/usr/bin/env DATABASE_STATEMENT_TIMEOUT_SECONDS=0 " if role == "migrate" else ""
    service += [f"ExecStart={forever}{_absolute(command)}" for command in process.commands]
    if not process.reaches:
        service += [
            "# Reaches private addresses alone. Where PostgreSQL or Redis has a public one, allow it in a drop-in.",
            "IPAddressDeny=any",
            "IPAddressAllow=localhost link-local 10.0.0.0/8 172.16.0.0/12 192.168.0.0/16 fc00::/7",
        ]
    install = [] if role == "migrate" else ["", "[Install]", "WantedBy=ballast.target"]
    belongs = [] if role in ("migrate", "signer") else ["PartOf=ballast.target"]
    return HEAD + "\n".join(
        [
            "[Unit]",
            f"Description=Ballast: {SAYS[role]}",
            "Documentation=file:///srv/ballast/current/docs/installing.md",
            "Wants=network-online.target",
            "After=network-online.target postgresql.service redis-server.service",
            *belongs,
            "",
            "[Service]",
            *service,
            *install,
            "",
        ]
    )


def _unset(process: Process) -> list[str]:
    """Lines that keep the secrets of others out of its environment, a few names each."""
    others = sorted(name for name in roles.USERS if not roles.uses(process.role, name))
    return [f"UnsetEnvironment={' '.join(others[start : start + 4])}" for start in range(0, len(others), 4)]


def _absolute(command: list[str]) -> str:
    """The command with the program of the release's own environment; the web on this machine, at the unit's port."""
    replaced = {"0.0.0.0": "127.0.0.1", "8000": "%i", "${WEB_CONCURRENCY:-$(nproc)}": "${WEB_CONCURRENCY}"}  # noqa: S104
    words = [replaced.get(word, word) for word in command]
    if words[0] == "python" and words[1] != "-m":
        words[1] = f"{HOME}/{words[1]}"
    text = " ".join(word if word.startswith("${") else shlex.quote(word) for word in words[1:])
    return f"{HOME}/.venv/bin/{words[0]} {text}"
