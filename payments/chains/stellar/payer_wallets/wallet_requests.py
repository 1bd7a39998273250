"""Requests a payment from a payer's wallet: the needs of its account, and submission of what it has signed."""

from __future__ import annotations

import base64

from django.utils import timezone

from config.money import Asset
from payments.chains.errors import InvalidAddress, PayerRefused, TransferRefused
from payments.chains.profiles import NetworkProfile
from payments.chains.protocol.addresses import DepositAddress
from payments.chains.protocol.wallets import PaymentToSign
from payments.chains.stellar import addresses, fees
from payments.chains.stellar.horizon import holdings
from payments.chains.stellar.horizon.providers import Horizons
from payments.chains.stellar.payer_wallets.payment_request import PaymentRequest, hash_of, is_signed, unsigned

SECONDS_TO_SIGN = 300
MOST_OFFERED = 100_000
"""Stroops that a payer's transaction offers at most, a hundredth of a lumen; the network takes what it costs."""


class WalletPayments:
    def __init__(self, profile: NetworkProfile, horizons: Horizons) -> None:
        self._profile, self._horizons = profile, horizons
        self._passphrase: str = profile.metadata["network_passphrase"]

    def payment_to_sign(self, payer: str, *, to: DepositAddress, asset: Asset, amount: int) -> PaymentToSign:
        account = _account_of(payer)
        known = self._horizons.anyone(lambda horizon: holdings.account(horizon, account))
        if known is None:
            raise PayerRefused("Your account does not exist on this network yet. Nothing was sent.")
        line = known.trustlines.get(asset.contract)
        if line is None or line.balance - line.selling_liabilities < amount:
            raise PayerRefused(f"Your account has too little {asset.code} of this issuer. Nothing was sent.")
        if not line.is_authorized:
            raise PayerRefused(f"The issuer of {asset.code} lets your account send none. Nothing was sent.")
        code, _, issuer = asset.contract.partition(":")
        raw = unsigned(
            PaymentRequest(
                account=account,
                sequence=known.sequence + 1,
                fee=min(fees.price(self._horizons) * fees.MARGIN, MOST_OFFERED),
                valid_until=int(timezone.now().timestamp()) + SECONDS_TO_SIGN,
                recipient=to.address,
                memo=int(to.memo) if to.memo else None,
                code=code,
                issuer=issuer,
                amount=amount,
            )
        )
        return PaymentToSign(raw, hash_of(raw, self._passphrase))

    def hand_in(self, requested: PaymentToSign, signed: bytes) -> None:
        if not is_signed(signed, request=requested.raw):
            raise ValueError("this is not the requested payment")
        xdr = base64.b64encode(signed).decode()
        responses = self._horizons.submit(lambda horizon: horizon.submit(xdr))
        # When it is in a ledger already, the network reports its sequence as used: only the ledger shows more.
        if all(each.state == "error" and each.result_code != "tx_bad_seq" for each in responses):
            raise TransferRefused(f"The network refused it: {responses[0].result_code}.")


def _account_of(payer: str) -> str:
    try:
        account, identifier = addresses.split(payer)
    except InvalidAddress as error:
        raise PayerRefused(str(error)) from error
    if identifier is not None:
        raise PayerRefused("Choose an account that begins with G in your wallet. Nothing was sent.")
    return account
