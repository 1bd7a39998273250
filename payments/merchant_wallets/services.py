"""Changes of a merchant's wallets: requested, cancelled, done once their wait is over; and keys that are lost."""

from __future__ import annotations

from datetime import datetime, timedelta

import structlog
from django.conf import settings
from django.db import transaction
from django.utils import timezone

from config.celery import wake
from config.environments import Environment
from config.errors import DomainError, InvalidParameter
from config.periodic.containment import contained
from merchants.models import Member, Merchant, MerchantSettings, User
from merchants.wallets import WalletRules, wallet_key
from payments.chains import registry
from payments.chains.errors import InvalidAddress
from payments.merchant_wallets.checking import checked_wallet
from payments.merchant_wallets.mailing import WalletNotice, mail_members
from payments.merchant_wallets.models import MerchantWallet
from payments.merchant_wallets.routing import requires_proof, routing_of
from payments.merchant_wallets.states import WALLET_MOVES, WalletStatus

logger = structlog.get_logger(__name__)

LONGEST_LABEL = 60
DONE_MAX = 200
"""Changes of one call, at most."""


class ChangeWaiting(DomainError):
    code = "wallet_change_waiting"
    message = "A change of this wallet is already waiting. Cancel it before you ask for another."


class ChangeEnded(DomainError):
    code = "wallet_change_ended"
    message = "This change is no longer waiting."


class LostBefore(DomainError):
    code = "wallet_lost_before"
    message = "You have already reported that the key of this wallet is lost."


class NoOtherWallet(DomainError):
    code = "no_other_wallet"
    message = "Add another wallet on this network first: it gets the money for this one."


class AlreadyReplaced(DomainError):
    code = "wallet_already_replaced"
    message = "The money for this wallet already goes to your wallet in use."


class KeyLost(DomainError):
    code = "wallet_key_lost"
    message = "You have reported that the key of this wallet is lost. Cancel that first."


def wait_of(environment: str) -> timedelta:
    """Time a change of a wallet waits before it takes effect."""
    is_production = environment == Environment.PRODUCTION
    hours = settings.WALLET_CHANGE_WAIT_HOURS if is_production else settings.SANDBOX_WALLET_CHANGE_WAIT_HOURS
    return timedelta(hours=hours)


def set_wallet(
    *, merchant: Merchant, environment: str, network: str, address: str, label: str, by: Member
) -> MerchantWallet:
    """Name the wallet that a merchant is paid at on a network; returns its row.

    The first of a network is in use at once. Another one waits, and until then the one in use goes on being paid. The
    same address with another label is only renamed. Owners and admins get a mail.
    """
    label = _checked_label(label)
    with transaction.atomic():
        chosen = _lock_settings(merchant, environment)
        rules = WalletRules.of(chosen.wallet_allow_list, chosen.wallets_allowed_at)
        address = checked_wallet(environment, network, address, rules, param="address")
        own = {each.status: each for each in _current(merchant, environment, network)}
        old = own.get(WalletStatus.IN_USE)
        if old is not None and wallet_key(old.address) == wallet_key(address):
            old.label = label
            old.save(update_fields=["label"])
            return old
        if WalletStatus.WAITING in own:
            raise ChangeWaiting
        if routing_of(merchant.pk, environment).is_lost(network, address):
            raise KeyLost(param="address")
        wait = wait_of(environment) if old is not None else timedelta()
        wallet = MerchantWallet.objects.create(
            merchant=merchant,
            environment=environment,
            network=network,
            address=address,
            label=label,
            status=WalletStatus.WAITING if old is not None else WalletStatus.IN_USE,
            asked_by=by.user,
            takes_effect_at=timezone.now() + wait,
        )
        logger.info("wallet named", wallet=wallet.public_id, by=by.user.email, status=wallet.status)
        if old is None:
            mail_members(WalletNotice.SET, wallet, by=by.user)
        elif _is_due(wallet, timezone.now()):
            _put_in_use(wallet)
        else:
            mail_members(WalletNotice.ASKED, wallet, by=by.user, old=old)
        return wallet


def declare_lost(*, merchant: Merchant, environment: str, network: str, address: str, by: Member) -> MerchantWallet:
    """Note that a merchant has lost the key of a wallet: nothing is paid to it any more; returns its row.

    Once the wait is over, what is for it goes to the merchant's other wallet on the network, which must be named
    before. Until then it is kept, and any owner or admin can cancel. All members get a mail.
    """
    with transaction.atomic():
        _lock_settings(merchant, environment)
        address = _own_address(environment, network, address)
        key = wallet_key(address)
        own = MerchantWallet.objects.of(merchant, environment).select_for_update().filter(network=network)
        current = {each.status: each for each in own if each.status in (WalletStatus.WAITING, WalletStatus.IN_USE)}
        if any(each.status == WalletStatus.LOST and wallet_key(each.address) == key for each in own):
            raise LostBefore(param="address")
        others = [each for each in current.values() if wallet_key(each.address) != key]
        if not others:
            raise NoOtherWallet(param="address")
        waiting = current.get(WalletStatus.WAITING)
        if waiting is not None and waiting not in others:
            raise ChangeWaiting(param="address")
        is_replaced = any(each.status == WalletStatus.REPLACED and wallet_key(each.address) == key for each in own)
        if is_replaced and len(others) == len(current):
            raise AlreadyReplaced(param="address")
        lost = MerchantWallet.objects.create(
            merchant=merchant,
            environment=environment,
            network=network,
            address=address,
            status=WalletStatus.LOST,
            asked_by=by.user,
            takes_effect_at=timezone.now() + wait_of(environment),
        )
        logger.warning("wallet lost", wallet=lost.public_id, by=by.user.email)
        mail_members(WalletNotice.LOST, lost, by=by.user)
        _replace_lost(lost, timezone.now())
        return lost


def cancel_change(wallet: MerchantWallet, *, by: User) -> MerchantWallet:
    """Give up a change that waits: the wallet in use stays, and one that was lost is paid again.

    ChangeEnded when it does not wait any more.
    """
    with transaction.atomic():
        _lock_settings(wallet.merchant, wallet.environment)
        held = _locked(wallet)
        if held.status not in (WalletStatus.WAITING, WalletStatus.LOST):
            raise ChangeEnded
        was_lost = held.status == WalletStatus.LOST
        _move(held, WalletStatus.CANCELLED)
        mail_members(WalletNotice.FOUND if was_lost else WalletNotice.CANCELLED, held, by=by)
        return held


def apply_due(now: datetime | None = None) -> int:
    """Put the wallets in use whose wait is over; returns how many. Each is a database transaction of its own."""
    now = now or timezone.now()
    waiting = MerchantWallet.objects.filter(status=WalletStatus.WAITING, takes_effect_at__lte=now)
    for environment in filter(requires_proof, Environment.values):
        waiting = waiting.exclude(proof="", environment=environment)
    done = 0
    for wallet in list(waiting.select_related("merchant").order_by("takes_effect_at")[:DONE_MAX]):
        with contained("wallet could not be changed", wallet=wallet.public_id), transaction.atomic():
            _lock_settings(wallet.merchant, wallet.environment)
            held = _locked(wallet)
            if held.status == WalletStatus.WAITING and _is_due(held, now):
                _put_in_use(held)
                done += 1
    lost = MerchantWallet.objects.filter(status=WalletStatus.LOST, takes_effect_at__lte=now)
    for wallet in list(lost.select_related("merchant").order_by("takes_effect_at")[:DONE_MAX]):
        with contained("lost wallet could not be replaced", wallet=wallet.public_id), transaction.atomic():
            _lock_settings(wallet.merchant, wallet.environment)
            done += _replace_lost(_locked(wallet), now)
    return done


def wake_when_due() -> None:
    """Have changes done soon whose only lack was a proof."""
    wake("wallets.apply_due")


def _is_due(wallet: MerchantWallet, now: datetime) -> bool:
    is_held = not wallet.proof and requires_proof(wallet.environment)
    return wallet.takes_effect_at <= now and not is_held


def _put_in_use(wallet: MerchantWallet) -> None:
    """Replace the wallet in use by this one. The settings are locked, so no settlement run comes in between."""
    old = MerchantWallet.objects.select_for_update().get(
        merchant=wallet.merchant_id,
        environment=wallet.environment,
        network=wallet.network,
        status=WalletStatus.IN_USE,
    )
    _move(old, WalletStatus.REPLACED)
    _move(wallet, WalletStatus.IN_USE)
    mail_members(WalletNotice.DONE, wallet, by=wallet.asked_by, old=old)
    logger.info("wallet replaced", wallet=wallet.public_id, replaced=old.public_id)


def _replace_lost(lost: MerchantWallet, now: datetime) -> bool:
    """Let the wallet in use stand for a lost one whose wait is over, if that is another; returns whether it does.

    The settings are locked.
    """
    if lost.status != WalletStatus.LOST or lost.takes_effect_at > now:
        return False
    in_use = MerchantWallet.objects.of(lost.merchant, lost.environment).filter(
        network=lost.network, status=WalletStatus.IN_USE
    )
    wallet = in_use.first()
    if wallet is None or wallet_key(wallet.address) == wallet_key(lost.address):
        return False
    _move(lost, WalletStatus.REPLACED)
    mail_members(WalletNotice.LOST_DONE, wallet, by=lost.asked_by, old=lost)
    logger.warning("lost wallet replaced", wallet=wallet.public_id, lost=lost.public_id)
    return True


def _own_address(environment: str, network: str, text: str) -> str:
    if network not in registry.networks(environment):
        raise InvalidParameter("This network is not available here.", param="network")
    try:
        return registry.chain(environment, network).parse_address(text)
    except InvalidAddress as error:
        raise InvalidParameter(str(error), param="address") from None


def _move(wallet: MerchantWallet, status: WalletStatus) -> None:
    WALLET_MOVES.check(wallet.status, status)
    wallet.status = status
    wallet.ended_at = None if status == WalletStatus.IN_USE else timezone.now()
    wallet.save(update_fields=["status", "ended_at"])


def _lock_settings(merchant: Merchant, environment: str) -> MerchantSettings:
    """Lock the settings: every change of wallets or settlements holds this lock."""
    return MerchantSettings.objects.select_for_update(no_key=True).get(merchant=merchant, environment=environment)


def _locked(wallet: MerchantWallet) -> MerchantWallet:
    rows = MerchantWallet.objects.select_for_update(of=("self",)).select_related("merchant", "asked_by")
    return rows.get(pk=wallet.pk)


def _current(merchant: Merchant, environment: str, network: str) -> list[MerchantWallet]:
    """The wallet in use and the one that waits, of a network."""
    rows = MerchantWallet.objects.of(merchant, environment).select_for_update()
    return list(rows.filter(network=network, status__in=[WalletStatus.IN_USE, WalletStatus.WAITING]).order_by("id"))


def _checked_label(label: str) -> str:
    label = label.strip()
    if len(label) > LONGEST_LABEL or not label.isprintable():
        raise InvalidParameter(f"A label has at most {LONGEST_LABEL} printable characters.", param="label")
    return label
