"""Nothing that people copy holds a whole address of a wallet: money sent to it would be lost."""

from __future__ import annotations

from pathlib import Path

import pytest

from config.environments import Environment
from config.pages.samples import SANDBOX_WALLET, cut_addresses
from tests.dashboard.conftest import browser_of
from tests.factories import api_client, make_key, make_member

ROOT = Path(__file__).resolve().parents[2]
NAMES_CONTRACTS = {"docs/networks.md", "docs/contracts.md"}
"""What is whole there are contracts of tokens and of the deployer, which an operator compares."""

PAGES = [
    path
    for pattern in (
        "*.md",
        "docs/*.md",
        "docs/openapi.json",
        "templates/**/*.html",
        "static/js/**/*.js",
        ".env.example",
    )
    for path in sorted(ROOT.glob(pattern))
    if str(path.relative_to(ROOT)) not in NAMES_CONTRACTS
]


def test_no_page_has_an_address_that_could_be_pasted() -> None:
    for path in PAGES:
        text = path.read_text(encoding="utf-8").replace(SANDBOX_WALLET, "")  # production refuses it
        assert cut_addresses(text) == text, path


@pytest.mark.django_db
def test_the_sandbox_fills_in_a_wallet_of_nobodys_and_production_none() -> None:
    client = browser_of(make_member())
    assert SANDBOX_WALLET in client.get("/dashboard").content.decode()
    client.post("/dashboard/environment", {"environment": "production"})
    page = client.get("/dashboard").content.decode()
    assert "YOUR_WALLET_ON_POLYGON" in page
    assert cut_addresses(page) == page


@pytest.mark.django_db
@pytest.mark.parametrize("wallet", [SANDBOX_WALLET, SANDBOX_WALLET.lower()])
def test_production_refuses_the_sandboxs_wallet(wallet: str) -> None:
    body = {"amount": 25, "currency": "USD", "cryptocurrency": "USDC", "network": "polygon", "merchantWallet": wallet}
    refused = api_client(make_key(environment=Environment.PRODUCTION)).call("POST", "/payments", json_body=body)
    assert (refused.status_code, refused.json()["error"]["param"]) == (400, "merchantWallet")
    taken = api_client(make_key(environment=Environment.SANDBOX)).call("POST", "/payments", json_body=body)
    assert taken.status_code == 201, taken.content
