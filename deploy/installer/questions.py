"""What the installer must be told, by a person or by a file of answers."""

from __future__ import annotations

import getpass
import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from deploy.installer import env_files
from deploy.installer.places import SOURCE

NETWORKS = {
    "ethereum": ("ETHEREUM_RPC_URLS", "EVM_FACTORY", "EVM_OWNER", "EVM_HOT_WALLET"),
    "polygon": ("POLYGON_RPC_URLS", "EVM_FACTORY", "EVM_OWNER", "EVM_HOT_WALLET"),
    "stellar": ("STELLAR_HORIZON_URLS", "STELLAR_HOT_WALLET"),
}
"""What each network of production needs besides keys (docs/networks.md)."""


@dataclass(frozen=True)
class Question:
    name: str
    text: str
    default: str | None = None
    """None: there has to be an answer."""
    is_secret: bool = False


FIRST = (
    Question("host", "Host name that payers and merchants will see, such as pay.example.com"),
    Question("database", "PostgreSQL: local, or postgres://administrator:password@host:5432/ballast", "local", True),
    Question("REDIS_URL", "Redis", "redis://127.0.0.1:6379/0", True),
    Question("EMAIL_URL", "Mail server, as smtp+tls://user:password@host:587; empty for none yet", "", True),
    Question("OPERATOR_EMAILS", "Who gets mails about alarms, separated by commas; empty for nobody", ""),
    Question("PRODUCTION_NETWORKS", "Networks for real money: ethereum,polygon,stellar; empty: none yet", ""),
    Question("proxy", "Reverse proxy to set up: nginx, caddy, or none", "nginx"),
)
OPERATOR = Question("operator", "E-mail address of the first operator")
CERTIFICATE = (
    Question("certificate", "Certificate with its chain, for nginx", "/etc/ssl/{host}.pem"),
    Question("certificate_key", "Its key", "/etc/ssl/private/{host}.key"),
)
OWN = {question.name for question in (*FIRST, OPERATOR, *CERTIFICATE)} | {"operator_password"}
"""Answers that are no settings begin with a small letter; any setting of .env.example may be given beside them."""


class Answers:
    """Answers of a file, and of a person where the file has none and there is somebody to ask."""

    def __init__(self, path: Path | None) -> None:
        self._given = env_files.read(path) if path else {}
        self._may_ask = path is None and sys.stdin.isatty()
        if unknown := sorted(self._given.keys() - OWN - _settings()):
            raise ValueError(f"{path} has answers that nobody asks for: {', '.join(unknown)}")

    def __call__(self, question: Question) -> str:
        """The answer, asked for once; ValueError where there is none."""
        if question.name not in self._given:
            self._given[question.name] = self._ask(question) if self._may_ask else self._default(question)
        return self._given[question.name]

    def known(self, name: str) -> str:
        return self._given.get(name, "")

    def settings(self) -> Iterator[tuple[str, str]]:
        return ((name, value) for name, value in self._given.items() if not name.islower() and value)

    def _default(self, question: Question) -> str:
        if question.default is None:
            raise ValueError(f"{question.name} is not in the file of answers: {question.text}")
        return question.default.format(host=self.known("host"))

    def _ask(self, question: Question) -> str:
        default = question.default and question.default.format(host=self.known("host"))
        prompt = f"{question.text}{f' [{default}]' if default else ''}: "
        while True:
            answer = (getpass.getpass(prompt) if question.is_secret else input(prompt)).strip()
            if answer or question.default is not None:
                return answer or default or ""


def _settings() -> set[str]:
    """Names of settings that there are."""
    return set(re.findall(r"^#?([A-Z_]+)=", (SOURCE / ".env.example").read_text(encoding="utf-8"), re.MULTILINE))


def ask_for_settings(answers: Answers) -> None:
    """Everything that must be known before a first installation."""
    for question in FIRST:
        answers(question)
    for network in filter(None, answers.known("PRODUCTION_NETWORKS").split(",")):
        if network.strip() not in NETWORKS:
            raise ValueError(f"PRODUCTION_NETWORKS has {network.strip()}: there are {', '.join(NETWORKS)}")
        for name in NETWORKS[network.strip()]:
            answers(Question(name, f"{name}, for {network.strip()} (docs/networks.md)"))
    if answers.known("proxy") == "nginx":
        for question in CERTIFICATE:
            answers(question)
    answers(OPERATOR)
