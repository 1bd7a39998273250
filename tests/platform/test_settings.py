"""Production takes nothing for granted: what is missing or unsafe refuses to start, all of it at once."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from config.process import roles
from tests.platform.forks import run_in_fork

ROOT = Path(__file__).resolve().parents[2]
PRODUCTION = {
    "BALLAST_MODE": "production",
    "SECRET_KEY": "pQ7xkD2mV9sLw4Tz8RbNc3HyGf6JuEa1XvKo5WiSrPdMqUjYt0ZnBh",
    "API_KEY_PEPPER": "hB3nZ0tYjUqMdPrSiW5oKvX1aEuJ6fGyH3cNbR8z",
    "WEBHOOK_ENCRYPTION_KEY": "wR5sGk2nVx8tQe1mZc7bYh4jLp0dUf3aKo9iT6yS",
    "PUBLIC_URL": "https://pay.example.com",
    "ALLOWED_HOSTS": "pay.example.com",
    "DATABASE_URL": "postgres://ballast:password@db.example.com:5432/ballast",
    "REDIS_URL": "redis://redis.example.com:6379/0",
    "TRUSTED_PROXIES": "10.0.0.0/8",
}


def production(**variables: str) -> dict[str, str]:
    """The whole environment of a process. An empty value is what an unset variable is to Ballast."""
    clean = {name: os.environ[name] for name in ("PATH", "HOME") if name in os.environ}
    # These are blank so that a developer's .env stays out of it.
    blank = dict.fromkeys([*PRODUCTION, "DEBUG", "RATE_SOURCES", "BALLAST_VAR"], "")
    return {**clean, **blank, "BALLAST_MODE": "production", **variables}


def python(*arguments: str, **variables: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, *arguments],
        cwd=ROOT, env=production(**variables), capture_output=True, text=True, check=False,
    )  # fmt: skip


def forked(*arguments: str, **variables: str) -> subprocess.CompletedProcess[str]:
    return run_in_fork(*arguments, environment=production(**variables))


def load_settings(**variables: str) -> subprocess.CompletedProcess[str]:
    return forked("-c", "import config.settings", **variables)


def test_production_without_settings_names_every_missing_one() -> None:
    result = load_settings()
    assert result.returncode != 0
    refusals = [line.removeprefix("  - ") for line in result.stderr.splitlines() if line.startswith("  - ")]
    named = {refusal.split()[0] for refusal in refusals}
    assert named == {
        "SECRET_KEY",
        "API_KEY_PEPPER",
        "WEBHOOK_ENCRYPTION_KEY",
        "PUBLIC_URL",
        "ALLOWED_HOSTS",
        "DATABASE_URL",
        "REDIS_URL",
    }
    assert all("; set it " in refusal for refusal in refusals)


@pytest.mark.parametrize("role", ["all", "money"])
def test_production_settings_pass_every_deployment_check(role: str) -> None:
    given = {name: value for name, value in PRODUCTION.items() if name not in roles.USERS or roles.uses(role, name)}
    result = forked("manage.py", "check", "--deploy", "--fail-level", "WARNING", **given, BALLAST_ROLE=role)
    assert result.returncode == 0, result.stderr
    assert "no issues" in result.stdout


@pytest.mark.parametrize(
    ("name", "value", "reason"),
    [
        ("SECRET_KEY", "short", "SECRET_KEY is too short"),
        ("SECRET_KEY", "a" * 60, "SECRET_KEY is too short"),
        ("API_KEY_PEPPER", "short", "API_KEY_PEPPER is too short"),
        ("WEBHOOK_ENCRYPTION_KEY", "short", "WEBHOOK_ENCRYPTION_KEY is too short"),
        ("WEBHOOK_ALLOW_LOOPBACK", "true", "WEBHOOK_ALLOW_LOOPBACK is true"),
        ("WEBHOOK_PORTS", "8443,https", "WEBHOOK_PORTS has entries that are not ports"),
        ("WEBHOOK_PORTS", "65536", "WEBHOOK_PORTS has entries that are not ports"),
        ("PUBLIC_URL", "http://pay.example.com", "PUBLIC_URL is not an https address"),
        ("ALLOWED_HOSTS", "*", "ALLOWED_HOSTS does not name hosts"),
        ("DATABASE_URL", "sqlite:///db.sqlite3", "DATABASE_URL is not a PostgreSQL address"),
        ("DEBUG", "true", "DEBUG is true"),
        ("DEBUG", "maybe", "DEBUG is 'maybe'; set it to one of true, false"),
        ("BALLAST_MODE", "staging", "BALLAST_MODE is 'staging'; set it to one of production, embedded, test"),
        ("RATE_SOURCES", "bundled", "RATE_SOURCES has `bundled`"),
        ("RATE_SOURCE_URLS", "kraken", "RATE_SOURCE_URLS has entries that are not NAME=VALUE: kraken"),
        ("RATE_SOURCE_URLS", "kraken=http://127.0.0.1:8080", "RATE_SOURCE_URLS has an entry that is no https address"),
        ("RATE_SOURCE_URLS", "kraken=ftp://mirror", "RATE_SOURCE_URLS has an entry that is no https address"),
        ("DATABASE_STATEMENT_TIMEOUT_SECONDS", "-1", "DATABASE_STATEMENT_TIMEOUT_SECONDS is '-1'"),
        ("DATABASE_STATEMENT_TIMEOUT_SECONDS", "inf", "DATABASE_STATEMENT_TIMEOUT_SECONDS is 'inf'"),
        ("SIMULATED_BLOCK_SECONDS", "soon", "SIMULATED_BLOCK_SECONDS is 'soon'"),
        ("POLYGON_RPC_URLS", "http://node.example:8545,https://b.example", "POLYGON_RPC_URLS has an http address"),
        ("STELLAR_HORIZON_URLS", "http://10.0.0.7", "STELLAR_HORIZON_URLS has an http address"),
        ("TESTNET_POLYGON_RPC_URLS", "http://localhost.example", "TESTNET_POLYGON_RPC_URLS has an http address"),
        ("PROVIDERS_THAT_AGREE", "1", "PROVIDERS_THAT_AGREE is '1'; set it to a number of at least 2"),
        ("STELLAR_ISSUERS", "USDT", "STELLAR_ISSUERS has entries that are not NAME=VALUE: USDT"),
        ("TRUSTED_PROXIES", "10.0.0.0/33", "TRUSTED_PROXIES has '10.0.0.0/33'"),
        ("REDIS_URL", "localhost", "REDIS_URL is not a Redis address"),
        ("EVM_TIP_FLOOR_GWEI", "polygon=cheap", "EVM_TIP_FLOOR_GWEI is not a list of prices in gwei"),
        ("EVM_TIP_FLOOR_GWEI", "polygon=-1", "EVM_TIP_FLOOR_GWEI is not a list of prices in gwei"),
        ("EVM_TIP_FLOOR_GWEI", "polygon=1e2", "EVM_TIP_FLOOR_GWEI is not a list of prices in gwei"),
        ("EVM_TIP_FLOOR_GWEI", "polygon=0.0000000001", "EVM_TIP_FLOOR_GWEI is not a list of prices in gwei"),
        ("EVM_TIP_FLOOR_GWEI", "30", "EVM_TIP_FLOOR_GWEI has entries that are not NAME=VALUE: 30"),
        ("EVM_TIP_FLOOR_GWEI", "polygon=2000", "EVM_FEE_CAP_GWEI does not leave polygon more than its tip"),
        ("SANCTIONS_ORACLES", "ethereum=0x40c5", "SANCTIONS_ORACLES is not a list of contracts"),
        ("SANCTIONS_ORACLES", f"stellar=0x{'0' * 39}1", "SANCTIONS_ORACLES is not a list of contracts"),
        (
            "SANCTIONS_ORACLES",
            "polygon=0x40C57923924B5c5c5455c48D93317139ADDaC8fB",
            "SANCTIONS_ORACLES has what is no",
        ),
        ("EVM_FEE_CAP_GWEI", "solana=3", "EVM_FEE_CAP_GWEI is not a list of prices in gwei"),
        ("EVM_FEE_CAP_GWEI", "ethereum=0", "EVM_FEE_CAP_GWEI does not leave ethereum more than its tip"),
        ("EVM_FEE_CAP_GWEI", "polygon=29.9", "EVM_FEE_CAP_GWEI does not leave polygon more than its tip"),
        (
            "EVM_SINGLE_PROVIDER_NETWORKS",
            "solana",
            "EVM_SINGLE_PROVIDER_NETWORKS names solana; set it to some of ethereum",
        ),
        ("POLYGON_RPC_URLS", "one.example.com/key", "POLYGON_RPC_URLS has entries that are no addresses; set it like"),
        (
            "PRODUCTION_NETWORKS",
            "ethereum,dogecoin",
            "PRODUCTION_NETWORKS names dogecoin; set it to some of stellar, ethereum, polygon",
        ),
        ("SANDBOX_CHAIN", "testnet", "TESTNET_ETHEREUM_RPC_URLS is not set, but SANDBOX_CHAIN is testnet"),
        ("SANDBOX_CHAIN", "wishful", "SANDBOX_CHAIN is 'wishful'; set it to one of simulated, devnet, testnet"),
    ],
)
def test_an_unsafe_or_malformed_value_refuses_to_start(name: str, value: str, reason: str) -> None:
    result = load_settings(**{**PRODUCTION, name: value})
    assert result.returncode != 0
    assert reason in result.stderr


@pytest.mark.parametrize("prices", ["polygon=25", "polygon=25.5,ethereum=0.05", "ethereum=0.000000001"])
def test_prices_of_gas_may_have_a_fraction(prices: str) -> None:
    assert load_settings(**{**PRODUCTION, "EVM_TIP_FLOOR_GWEI": prices}).returncode == 0


def test_rates_may_be_asked_at_mirrors_over_https_and_on_this_machine_outside_production() -> None:
    mirror = {"RATE_SOURCE_URLS": "kraken=https://mirror.example.com/kraken,ecb=https://mirror.example.com"}
    assert load_settings(**PRODUCTION, **mirror).returncode == 0
    assert load_settings(BALLAST_MODE="embedded", RATE_SOURCE_URLS="ecb=http://127.0.0.1:8080/ecb").returncode == 0
    refused = load_settings(BALLAST_MODE="embedded", RATE_SOURCE_URLS="ecb=http://mirror.example.com")
    assert "RATE_SOURCE_URLS has an entry that is no https address" in refused.stderr


@pytest.mark.parametrize(("direct", "engine"), [("", "standby"), (PRODUCTION["DATABASE_URL"], "pooled")])
def test_a_replica_is_one_more_database_that_nobody_waits_for(direct: str, engine: str) -> None:
    show = (
        "from config.settings import *; found = DATABASES['replica']; options = found['OPTIONS'];"
        "print(found['ENGINE'], found['HOST'], options['target_session_attrs'], options['connect_timeout'],"
        " options['tcp_user_timeout'], 'options' in options, DATABASE_ROUTERS)"
    )
    replica = "postgres://ballast_reader:password@two.example.com,three.example.com/ballast"
    told = forked("-c", show, **{**PRODUCTION, "DATABASE_DIRECT_URL": direct, "DATABASE_REPLICA_URL": replica})
    assert told.stdout.split(maxsplit=6) == [
        f"config.database.{engine}", "two.example.com,three.example.com", "standby", "2", "3000",
        str(engine == "standby"), "['config.database.replica.ReplicaRouter']\n",
    ], told.stderr  # fmt: skip


def test_a_sandbox_on_a_test_network_needs_its_own_settings_and_no_others() -> None:
    needed = {
        "SANDBOX_CHAIN": "testnet",
        "TESTNET_POLYGON_RPC_URLS": "https://amoy.example.com",
        "TESTNET_EVM_FACTORY": "0x" + "11" * 20,
        "TESTNET_EVM_OWNER": "0x" + "33" * 20,
        "TESTNET_EVM_HOT_WALLET": "0x" + "22" * 20,
    }
    assert load_settings(**{**PRODUCTION, **needed}).returncode == 0
    for name in needed.keys() - {"SANDBOX_CHAIN"}:
        assert load_settings(**{**PRODUCTION, **needed, name: ""}).returncode != 0


PROCESSES = {
    "web": (
        "-m",
        "config.web",
        "--interface",
        "wsgi",
        "--host",
        "127.0.0.1",
        "--port",
        "0",
        "config.wsgi:application",
    ),
    "worker": ("-m", "celery", "--app", "config.celery", "worker", "--queues", "chain", "--pool", "threads"),
    "beat": ("-m", "celery", "--app", "config.celery", "beat"),
    "an embedded run's worker": ("-m", "config.embedded.background"),
    "a command": ("manage.py", "networks"),
}


@pytest.mark.parametrize("process", PROCESSES)
def test_every_process_that_does_not_start_says_why_without_a_traceback(process: str) -> None:
    bad = {"SECRET_KEY": "short", "DEBUG": "true", "DJANGO_SETTINGS_MODULE": "config.settings"}
    ended = python(*PROCESSES[process], **{**PRODUCTION, **bad})
    assert ended.returncode != 0
    said = [line for line in ended.stderr.splitlines() if not line.startswith(("[INFO]", "[ERROR]"))]
    assert [line.partition(" ")[0] for line in said] == ["Ballast", "", ""]
    assert said[0] == "Ballast does not start:"
    assert "SECRET_KEY is too short" in ended.stderr
    assert "DEBUG is true" in ended.stderr


NOWHERE = {**PRODUCTION, "DATABASE_URL": "postgres://ballast:hunter4@127.0.0.1:9/ballast"}
DEPLOYING = {
    **NOWHERE,
    "EVM_OWNER": "0x" + "33" * 20,
    "EVM_HOT_WALLET": "0x" + "22" * 20,
    "POLYGON_RPC_URLS": "http://127.0.0.1:9/hunter4,http://localhost:9/hunter4",
}


@pytest.mark.parametrize(
    ("arguments", "variables", "said"),
    [
        (("manage.py", "networks"), NOWHERE, "The database cannot be used: connection failed"),
        (("manage.py", "migrate"), NOWHERE, "The database cannot be used: connection failed"),
        (("-m", "config.embedded.background"), NOWHERE, "The database cannot be used: connection failed"),
        (("manage.py", "deploy_deposits", "--network", "polygon"), DEPLOYING, "CommandError: Only 0 of 2 providers"),
        (
            ("manage.py", "deploy_deposits", "--network", "polygon"),
            {**DEPLOYING, "HTTP_PROXY": "nonsense://proxy"},
            "CommandError: The providers of polygon cannot be queried: Unknown scheme for proxy URL",
        ),
        (
            ("manage.py", "deploy_deposits", "--network", "polygon"),
            {**DEPLOYING, "EVM_OWNER": "0x12"},
            "CommandError: EVM_OWNER is no address.",
        ),
    ],
)
def test_what_cannot_be_reached_or_is_set_wrongly_ends_a_command_in_one_line(
    arguments: tuple[str, ...], variables: dict[str, str], said: str, tmp_path: Path
) -> None:
    """In a folder of its own: in that of a `make run` the database has been prepared, and is not looked for."""
    place = {"DJANGO_SETTINGS_MODULE": "config.settings", "BALLAST_VAR": str(tmp_path)}
    ended = forked(*arguments, **place, **variables)
    assert ended.returncode != 0
    lines = [line for line in ended.stderr.splitlines() if not line.startswith("{")]  # the log has lines of its own
    assert len(lines) == 1, ended.stderr
    assert lines[0].startswith(said)
    assert "hunter4" not in ended.stderr


def test_a_refusal_never_repeats_a_secret() -> None:
    result = load_settings(**{**PRODUCTION, "SECRET_KEY": "hunter2hunter2", "DATABASE_URL": "mysql://u:hunter3@h/d"})
    assert result.returncode != 0
    assert "hunter2" not in result.stderr
    assert "hunter3" not in result.stderr


POLYGON = {
    "PRODUCTION_NETWORKS": "polygon",
    "POLYGON_RPC_URLS": "https://one.example.com/key",
    "EVM_FACTORY": "0x" + "11" * 20,
    "EVM_OWNER": "0x" + "33" * 20,
    "EVM_HOT_WALLET": "0x" + "22" * 20,
}


@pytest.mark.parametrize(
    ("urls", "networks", "warned"),
    [
        ("https://one.example.com/key", "polygon", True),
        ("https://one.example.com/key,HTTPS://one.example.com:443/key/", "polygon", True),
        ("https://one.example.com/key,https://two.example.com/other-key", "polygon", True),
        ("https://one.example.com/key,https://two.example.net/key", "polygon", False),
        ("https://one.example.com/key", "ethereum", False),
    ],
)
def test_every_process_says_at_its_start_where_one_provider_decides_alone(
    urls: str, networks: str, warned: bool
) -> None:
    chosen = {"POLYGON_RPC_URLS": urls, "EVM_SINGLE_PROVIDER_NETWORKS": networks}
    started = forked("-c", "import config.wsgi", **{**PRODUCTION, **POLYGON, **chosen})
    assert started.returncode == 0, started.stderr
    told = [line for line in started.stderr.splitlines() if "one provider decides about money alone" in line]
    assert len(told) == warned
    assert "key" not in started.stderr


@pytest.mark.parametrize(("separate", "told"), [("", ["2 example.com"]), ("nodes.example.net,example.com", [])])
def test_every_process_says_at_its_start_which_addresses_count_as_one_provider(separate: str, told: list[str]) -> None:
    urls = "https://one.example.com/key,https://one.example.net,https://two.example.com/key"
    chosen = {"POLYGON_RPC_URLS": urls, "SEPARATE_PROVIDERS": separate}
    started = forked("-c", "import config.wsgi", **{**PRODUCTION, **POLYGON, **chosen})
    said = [json.loads(line) for line in started.stderr.splitlines() if "count as one provider" in line]
    assert [f"{each['addresses']} {each['provider']}" for each in said] == told
    assert "key" not in started.stderr
