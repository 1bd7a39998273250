"""States of a merchant's wallet, and of its proof."""

from __future__ import annotations

from django.db import models
from django.utils.translation import gettext_lazy as _

from config.states import Transitions


class WalletStatus(models.TextChoices):
    WAITING = "waiting", _("Waiting")
    IN_USE = "in_use", _("In use")
    REPLACED = "replaced", _("Replaced")
    CANCELLED = "cancelled", _("Cancelled")
    LOST = "lost", _("Lost: nothing is paid to it")


WALLET_MOVES = Transitions(
    {
        WalletStatus.WAITING: [WalletStatus.IN_USE, WalletStatus.CANCELLED],
        WalletStatus.IN_USE: [WalletStatus.REPLACED],
        WalletStatus.REPLACED: [],
        WalletStatus.CANCELLED: [],
        WalletStatus.LOST: [WalletStatus.REPLACED, WalletStatus.CANCELLED],
    }
)


class Proof(models.TextChoices):
    """Kind of proof that a wallet is the merchant's own."""

    SIGNATURE = "signature", _("Signed message")
    CONTRACT = "contract", _("Message signed by its owners")
    SIMULATED = "simulated", _("Simulated signature")
