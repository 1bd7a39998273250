"""Checks whether an address can be a merchant's wallet on a network, for everybody who names one."""

from __future__ import annotations

from config.environments import Environment
from config.errors import InvalidParameter
from config.pages.samples import SANDBOX_WALLET
from merchants.wallets import WalletRules
from payments.chains import registry
from payments.chains.errors import InvalidAddress
from payments.suspense.recipient_checks import NEEDS_MEMO, needs_memo, refusal_of
from payments.terms import WalletNotAllowed


def checked_wallet(environment: str, network: str, text: str, rules: WalletRules, *, param: str) -> str:
    """The wallet as payments name it. InvalidParameter or WalletNotAllowed, naming `param`, for one that is refused."""
    if environment == Environment.PRODUCTION and text.lower() == SANDBOX_WALLET.lower():
        raise InvalidParameter("This is the wallet of the sandbox's examples. Enter your own.", param=param)
    if network not in registry.networks(environment):
        raise InvalidParameter("This network is not available here.", param=param)
    chain = registry.chain(environment, network)
    try:
        wallet = chain.parse_address(text)
    except InvalidAddress as error:
        raise InvalidParameter(str(error), param=param) from None
    if problem := refusal_of(chain, wallet):
        raise InvalidParameter(problem, param=param)
    if needs_memo(environment, network, wallet):
        raise InvalidParameter(NEEDS_MEMO, param=param)
    if not rules.allows(wallet):
        raise WalletNotAllowed(param=param)
    return wallet
