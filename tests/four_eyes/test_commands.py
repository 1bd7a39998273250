"""Every management command is listed here, with whom it asks before it changes money, stops or rights."""

from __future__ import annotations

import getpass
import sys
from pathlib import Path
from typing import Any

import pytest
from django.apps import apps
from django.core.management import CommandError, call_command, get_commands

from merchants.four_eyes.models import Proposal
from merchants.ledger.models import ReconcileRun, Stop
from payments.chains import registry
from payments.transfers.services import freeze_wallet
from payments.transfers.wallets import wallet_of
from tests.factories import make_user
from tests.networks import ETHEREUM
from tests.stopping import stop_payouts

pytestmark = pytest.mark.django_db

SANDBOX = "sandbox"
HERE: dict[str, Any] = {"env": SANDBOX, "network": ETHEREUM}
FINDING = "0123456789abcdef"
ADDRESS = "0x000000000000000000000000000000000000dEaD"

TWO: dict[str, dict[str, Any]] = {
    "book_sent": HERE | {"hash": "0x" + "1" * 64, "reason": "Fees"},
    "explain_finding": {"finding": FINDING, "note": "A fee.", "until": "2999-01-01"},
    "fund": HERE | {"asset": "USDC", "amount": "1", "reason": "Stock"},
    "remove_second_factors": {"email": "lost@example.com"},
    "skim": HERE | {"asset": "USDC", "amount": "1", "reason": "Float"},
    "stops": {"lift": 0},  # `--stop` asks nobody
    "thaw_wallet": HERE,
    "withdraw": HERE | {"asset": "USDC", "amount": "1", "to": ADDRESS, "reason": "Fees"},
}
"""By command: what it is called with. It acts for `--by`, whom it asks for password and code; another must agree."""

WHOEVER_RUNS_IT: dict[str, str] = {
    "book_treasury": "books what is on the chain beyond the ledger as the house's",
    "change_addresses": "lets new payments have the addresses of the settings, which whoever has the machine has set",
    "create_demo": "the sandbox",
    "createsuperuser": "the first operators: there is nobody to ask",
    "changepassword": "whoever has the machine",
    "database_roles": "takes rights in PostgreSQL away, as the owner of the tables",
    "deploy_deposits": "sends a contract whose owner and treasury are of the settings",
    "devnet": "a test network",
    "devnet_pay": "a test network",
    "restore": "an empty database, which then stands still",
    "resume_after_restore": "ends a standstill by what the chains say; what nobody knows stays frozen",
    "reencrypt_webhook_secrets": "seals under the key of the settings",
    "reseal_second_factors": "seals under the key of the settings",
    "run_settlements": "pays merchants what is due to them, as the schedule does",
    "sanctions": "holds more for review; what is held stays so, whatever list comes next",
    "setup_stellar": "asks the network for what the hot wallet lacks, to accounts of its own",
    "stock_sandbox": "the sandbox",
    "sweep_native": "brings coins to our own hot wallet",
}
"""What asks nobody, and why that is enough."""

LOOKS = {
    *("api_key_pepper", "backup", "backup_drill", "check_networks", "doctor", "export_ledger", "factory_roles"),
    *("house_result", "networks", "partitions", "reconcile", "recount", "recover_deposits", "refill", "signer"),
    *("upgrade_check", "webhook_listen"),
}
"""What moves no money. `reconcile` stops payouts, and `partitions` makes months of logs tables of their own."""


def test_every_command_is_listed() -> None:
    named = {app.name for app in apps.get_app_configs() if not Path(app.path).is_relative_to(sys.prefix)}
    found = {name for name, app in get_commands().items() if app in named} | {"createsuperuser", "changepassword"}
    tables = [set(TWO), set(WHOEVER_RUNS_IT), LOOKS]
    assert found == set.union(*tables)
    assert sum(map(len, tables)) == len(found), "a command is in two tables"


@pytest.mark.parametrize("command", TWO)
def test_what_takes_two_asks_who_it_is(command: str, monkeypatch: pytest.MonkeyPatch) -> None:
    stop_payouts(environment=SANDBOX, network=ETHEREUM, reason="I11")
    freeze_wallet(wallet_of(SANDBOX, ETHEREUM, registry.chain(SANDBOX, ETHEREUM)), reason="odd")
    ReconcileRun.objects.create(findings=[{"id": FINDING, "environment": SANDBOX}])
    ada, _ = make_user(is_staff=True, is_superuser=True), make_user("lost@example.com")
    options = TWO[command] | ({"lift": Stop.objects.get(address="").pk} if command == "stops" else {})
    named = [options.pop(name) for name in ("email", "finding") if name in options]
    with pytest.raises(CommandError, match="no operator"):
        call_command(command, *named, **options, by="mallory@example.com")
    monkeypatch.setattr(getpass, "getpass", lambda prompt="": "a guess")
    with pytest.raises(CommandError, match="not the password"):
        call_command(command, *named, **options, by=ada.email)
    assert not Proposal.objects.exists()
