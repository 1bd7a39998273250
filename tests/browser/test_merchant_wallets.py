"""An owner names a wallet, proves it with the wallet of the browser, replaces it, and stops that again, on a phone."""

from __future__ import annotations

import pytest
from playwright.sync_api import Page, expect
from pytest_django.fixtures import Settings

from merchants.people.models import Mail
from payments.chains.evm.keys.accounts import Account
from payments.merchant_wallets.models import MerchantWallet
from tests.browser.conftest import Complaints
from tests.browser.pages import log_in, wait_for_path
from tests.browser.wallets import Wallet, put_into
from tests.factories import PASSWORD, make_member, make_merchant
from tests.networks import POLYGON

pytestmark = [pytest.mark.slow, pytest.mark.browser, pytest.mark.django_db(transaction=True)]

KEY = "0x" + "33" * 32
OTHER = "0x8617E340B3D01FA5F11F306F4090FD50E238070D"


def test_a_wallet_is_named_proven_and_replaced_after_a_wait(
    page: Page, complaints: Complaints, settings: Settings
) -> None:
    settings.SANDBOX_WALLET_CHANGE_WAIT_HOURS = 24
    owner = make_member(make_merchant("Harbour Coffee"))
    own = str(Account.from_key(KEY).address)
    stranger = Wallet("Another account", OTHER, chain_id=137, knows={137})
    mine = Wallet("Harbour wallet", own, chain_id=137, knows={137}, key=KEY, declines={"personal_sign"})
    put_into(page, {}, stranger, mine)
    log_in(page, owner.user.email, PASSWORD)

    page.goto("/dashboard/wallets")
    page.get_by_role("link", name="Add a wallet on Polygon").click()
    wait_for_path(page, "/dashboard/wallets/set")
    page.get_by_label("Address").fill(own)
    page.get_by_label("Label").fill("Treasury")
    page.get_by_role("button", name="Save the wallet").click()
    expect(page.get_by_label("The message to sign")).to_contain_text(own)

    page.get_by_role("button", name="Sign with Another account").click()
    expect(page.get_by_text(f"Choose the account {own}")).to_be_visible()
    page.get_by_role("button", name="Sign with Harbour wallet").click()
    expect(page.get_by_text("You declined in your wallet")).to_be_visible()
    assert MerchantWallet.objects.get().proof == ""
    mine.declines.clear()
    page.get_by_role("button", name="Sign with Harbour wallet").click()
    wait_for_path(page, "/dashboard/wallets")
    polygon = page.get_by_role("region", name="Polygon")
    expect(polygon).to_contain_text(": Signed message.")
    assert MerchantWallet.objects.get().proof == "signature"

    page.get_by_role("link", name="Change the wallet on Polygon").click()
    wait_for_path(page, "/dashboard/wallets/set")
    expect(page.get_by_label("Network")).to_have_value(POLYGON)
    page.get_by_label("Address").fill(OTHER)
    page.get_by_role("button", name="Save the wallet").click()
    expect(page.get_by_label("The message to sign")).to_contain_text(OTHER)
    page.get_by_role("link", name="Later").click()
    wait_for_path(page, "/dashboard/wallets")
    expect(polygon).to_contain_text("A new wallet is paid in 24 hours")
    page.get_by_role("button", name="Cancel the change on Polygon").click()
    expect(page.get_by_text("The change is cancelled. Your current wallet stays in use.")).to_be_visible()
    expect(polygon).not_to_contain_text("A new wallet is paid")
    assert [mail.subject.partition(": ")[2] for mail in Mail.objects.order_by("id")] == [
        "a wallet on Polygon was added (sandbox)",
        "your wallet on Polygon will change (sandbox)",
        "the change of the wallet on Polygon is cancelled (sandbox)",
    ]
    assert complaints.found == []
