"""A secret reaches the processes that use it, and no other one's log lines or error pages."""

from __future__ import annotations

import json
import os
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import environ
import pytest
import yaml
from django.core.exceptions import ImproperlyConfigured
from django.http import HttpRequest, HttpResponse
from django.test import RequestFactory
from django.views.debug import technical_500_response

from config.embedded import finding
from config.process import logs, roles
from config.process.variables import Variables
from tests.networks import with_set
from tests.platform.test_settings import PRODUCTION, forked

ROOT = Path(__file__).resolve().parents[2]
OF_ONE_MACHINE = {
    "BALLAST_VAR",
    "BALLAST_HOST",
    "BALLAST_PORT",
    "DEBUG",
    "WEB_PROCESSES",
    "WEBHOOK_ALLOW_LOOPBACK",
    "POSTGRES_PASSWORD",
    "POSTGRES_OWNER_PASSWORD",
    "POSTGRES_WEB_PASSWORD",
    "POSTGRES_WORKER_PASSWORD",
    "REDIS_PASSWORD",
    "SIGNER_ADDRESS",
    "EVM_KEYSTORE_FILE",
}
"""Settings of an embedded run, and those that compose itself reads."""

PROVIDERS = ["https://polygon.example/v2/opaque-path", "https://b.example/?key=opaque-query"]

LONG = "an opaque value of more than 32 letters"

ONLY_IN_FILES = {"TESTNET_EVM_KEYSTORE", "TESTNET_EVM_KEYSTORE_PASSWORD", "TESTNET_STELLAR_HOT_WALLET_KEY_FILE"}


@pytest.fixture
def nothing_concealed() -> Iterator[None]:
    """What a test conceals is forgotten after it."""
    before = logs._concealed
    yield
    logs._concealed = before


OF_THE_SIGNER = {"SIGNER_LISTEN", "SIGNER_FOLDER"}
"""Settings of that process alone, which has its own file, and of the others only what it signs by."""


def services() -> dict[str, dict[str, Any]]:
    found: dict[str, dict[str, Any]] = {}
    for name in ("compose.yaml", "compose.signer.yaml"):
        found |= yaml.safe_load((ROOT / name).read_text())["services"]
    return {name: service for name, service in found.items() if service.get("image") == "ballast"}


def test_compose_gives_each_process_every_setting_and_its_own_secrets_alone() -> None:
    documented = set(re.findall(r"^#?([A-Z_]+)=", (ROOT / ".env.example").read_text(), re.MULTILINE))
    settings = documented - roles.USERS.keys() - OF_ONE_MACHINE - OF_THE_SIGNER
    for name, service in services().items():
        assert "env_file" not in service
        given, role = set(service["environment"]), service["environment"]["BALLAST_ROLE"]
        assert role == name
        if role != "signer":
            user = {"web": "ballast_web", "migrate": "ballast_owner"}.get(role, "ballast_worker")
            assert service["environment"]["DATABASE_URL"].startswith(f"postgres://{user}:")
        if role == "signer":
            known = settings | OF_THE_SIGNER | {"BALLAST_MODE", "BALLAST_ROLE"}
            assert OF_THE_SIGNER < given - roles.USERS.keys() < known - {"DATABASE_URL", "REDIS_URL", "SIGNER_URL"}
        else:
            assert given - roles.USERS.keys() == settings
        assert given & roles.USERS.keys() == {
            secret for secret in roles.USERS.keys() - ONLY_IN_FILES if roles.uses(role, secret)
        }
        mounted = ["hot_wallet", "stellar_hot_wallet"] if role in ("money", "signer") else []
        assert service.get("secrets", []) == mounted
        assert role == "migrate" or service["healthcheck"]["test"]
    assert set(services()) == set(roles.ROLES) - {roles.ALL}


def test_compose_publishes_nothing_but_to_its_own_machine_and_asks_redis_for_a_password() -> None:
    found: dict[str, dict[str, Any]] = {}
    for name in ("compose.yaml", "compose.signer.yaml"):
        found |= yaml.safe_load((ROOT / name).read_text())["services"]
    ports = {name: service["ports"] for name, service in found.items() if "ports" in service}
    assert ports == {"web": ["127.0.0.1:8000:8000"], "signer": ["${SIGNER_ADDRESS:-127.0.0.1}:7400:7400"]}
    assert "--requirepass ${REDIS_PASSWORD}" in found["redis"]["command"]
    assert found["redis"]["environment"]["REDISCLI_AUTH"].startswith("${REDIS_PASSWORD:?set")


@pytest.mark.parametrize("role", roles.ROLES)
def test_each_process_starts_without_the_secrets_of_the_others(role: str) -> None:
    needed = {name: value for name, value in PRODUCTION.items() if name not in roles.USERS or roles.uses(role, name)}
    worker = "import config.celery, django; django.setup(); config.celery.app.tasks"
    entry = "import config.wsgi" if role == "web" else worker
    if role == "signer":  # without what all the others share, too
        needed = {"BALLAST_MODE": "production", "SIGNER_SECRET": LONG, "PAYOUT_INTENT_KEY": LONG}
    result = forked("-c", entry, **needed, BALLAST_ROLE=role)
    assert result.returncode == 0, result.stderr


@pytest.mark.parametrize("secret", sorted(roles.USERS))
def test_a_process_that_is_handed_a_secret_it_has_no_use_for_does_not_start(
    secret: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(secret, "opaque-value")
    for role in roles.ROLES:
        variables = Variables()
        variables.role = role
        assert variables.secret(secret) == ("opaque-value" if roles.uses(role, secret) else "")
        if roles.uses(role, secret):
            variables.check()
        else:
            with pytest.raises(Exception, match=f"{secret} is set, and the {role} process has no use for it"):
                variables.check()


def test_one_file_serves_every_role_and_gives_each_process_its_own_secrets_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / ".env"
    file.write_text("".join(f"{secret}=opaque-value\n" for secret in roles.USERS))
    for role in roles.ROLES:
        with monkeypatch.context() as process:
            process.setattr(os, "environ", {"AWS_ACCESS_KEY_ID": "of the environment"})
            process.setattr(environ.Env, "ENVIRON", os.environ)
            variables = Variables()
            variables.read_file(file)
            variables.role = role
            own = {secret for secret in roles.USERS if roles.uses(role, secret)}
            assert {secret for secret in roles.USERS if variables.secret(secret)} == own
            assert os.environ.keys() == own | {"AWS_ACCESS_KEY_ID"}  # neither do its children inherit them
            if "AWS_ACCESS_KEY_ID" in own:
                variables.check()
            else:
                with pytest.raises(ImproperlyConfigured, match="AWS_ACCESS_KEY_ID is set") as refused:
                    variables.check()
                assert str(refused.value).count("  - ") == 1


def test_a_command_leaves_in_the_file_what_its_role_does_not_use(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As its processes do: `manage.py` looks into .env before the settings."""
    (tmp_path / ".env").write_text("DATABASE_URL=postgres://db/ballast\nSECRET_KEY=opaque-value\n")
    monkeypatch.setattr(finding, "BASE_DIR", tmp_path)
    monkeypatch.setattr(os, "environ", {"BALLAST_ROLE": "migrate"})
    monkeypatch.setattr(environ.Env, "ENVIRON", os.environ)
    finding.adopt("migrate")
    assert os.environ == {"BALLAST_ROLE": "migrate"}


def every_secret(monkeypatch: pytest.MonkeyPatch) -> Variables:
    """Settings read from an environment in which every secret has a value of its own."""
    variables = Variables()
    for name in roles.USERS:
        monkeypatch.setenv(name, f"opaque-{name.lower()}")
        variables.secret(name)
    monkeypatch.setenv("POLYGON_RPC_URLS", ",".join(PROVIDERS))
    variables.addresses("POLYGON_RPC_URLS")
    monkeypatch.setenv("DATABASE_URL", "postgres://ballast:opaque-database@db.example/ballast")
    variables.database("DATABASE_URL")
    return variables


def failing_page(request: HttpRequest, values: list[str]) -> HttpResponse:
    """A view that fails with secrets in variables of innocent names, and in what the error says."""
    wallet = values[0]
    try:
        raise RuntimeError(f"could not use {wallet} among {values}")
    except RuntimeError:
        return technical_500_response(request, *sys.exc_info())


@pytest.mark.usefixtures("nothing_concealed")
@pytest.mark.parametrize("accept", ["text/html", "text/plain"])
def test_no_error_page_shows_a_secret_of_the_settings(
    settings: Any, monkeypatch: pytest.MonkeyPatch, accept: str
) -> None:
    variables = every_secret(monkeypatch)
    settings.DEBUG = True
    for name in roles.USERS:
        setattr(settings, name, f"opaque-{name.lower()}")
    secrets = {name: f"opaque-{name}" for name in ("keystore", "keystore_password", "hot_wallet_key")}
    settings.NETWORK_SETTINGS = with_set("polygon", rpc_urls=tuple(PROVIDERS), **secrets)
    request = RequestFactory().get("/", headers={"Accept": accept})
    by_name = technical_500_response(request, *error()).content.decode()
    assert "EVM_HOT_WALLET_KEY" in by_name or accept == "text/plain"
    assert "opaque" not in by_name
    logs.conceal(variables.secrets)
    by_value = failing_page(request, sorted(variables.secrets)).content.decode()
    assert "could not use [redacted]" in by_value
    assert not [value for value in variables.secrets if value in by_value]


def error() -> Any:
    try:
        raise RuntimeError("nothing secret")
    except RuntimeError:
        return sys.exc_info()


@pytest.mark.usefixtures("nothing_concealed")
def test_a_log_line_redacts_the_secrets_of_the_settings_under_whatever_name(monkeypatch: pytest.MonkeyPatch) -> None:
    variables = every_secret(monkeypatch)
    logs.conceal(variables.secrets)
    line = {f"innocent {number}": f"said {value!r} twice" for number, value in enumerate(sorted(variables.secrets))}
    written = logs.redact(line)
    assert set(written.values()) == {f"said '{logs.REDACTED}' twice"}
    assert json.dumps(written).count("opaque") == 0


def test_the_page_on_security_names_the_processes_of_each_secret() -> None:
    page = (ROOT / "docs/security.md").read_text()
    rows = re.findall(r"^\| ((?:`[A-Z_]+`(?:, )?)+) \| ([a-z, ]+) \|$", page, re.MULTILINE)
    found = {name: set(users.split(", ")) for names, users in rows for name in re.findall(r"`(\w+)`", names)}
    assert found == {secret: set(users) for secret, users in roles.USERS.items()}


@pytest.mark.usefixtures("nothing_concealed")
@pytest.mark.parametrize(
    "address",
    [
        "https://polygon.example/v2/opaque-key-0123456789",
        "https://opaque-key-0123456789@polygon.example",
        "https://user:opaque-key-0123456789@polygon.example/",
        "https://polygon.example/?apikey=opaque-key-0123456789",
        "https://polygon.example/#opaque-key-0123456789",
        "polygon.example/v2/opaque-key-0123456789",
        "polygon.example:443/v2/opaque-key-0123456789",
        "https//polygon.example/v2/opaque-key-0123456789",
        "https:/polygon.example/opaque-key-0123456789",
        "https://[polygon.example/opaque-key-0123456789",
        "https://polygon.example:opaque-key-0123456789/",
        "htps://polygon.example/v2/opaque-key-0123456789?x=opaque-key-0123456789",
    ],
)
def test_the_key_in_the_address_of_a_provider_is_redacted_however_it_is_misspelled(
    address: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("POLYGON_RPC_URLS", address)
    variables = Variables()
    variables.addresses("POLYGON_RPC_URLS")
    logs.conceal(variables.secrets)
    said = logs.redact({"innocent": address, "more": "it failed at opaque-key-0123456789"})
    assert "opaque-key-0123456789" not in json.dumps(said)
