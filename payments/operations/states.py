"""What an operator is alarmed about, and what to do then. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import timedelta
from types import MappingProxyType

from django.db.models import TextChoices


class AlarmKind(TextChoices):
    PROVIDER_FAILING = "provider_failing", "Provider fails"
    PROVIDER_OLD_HEAD = "provider_old_head", "Provider is behind"
    PROVIDER_DISAGREES = "provider_disagrees", "Provider says something else"
    NETWORK_NOT_SET_UP = "network_not_set_up", "Network is set up wrongly"
    NETWORK_UNAVAILABLE = "network_unavailable", "Network is not read"
    NETWORK_HALTED = "network_halted", "Network is halted"
    HEAD_STALLED = "head_stalled", "No new blocks"
    FINALITY_STALLED = "finality_stalled", "Nothing becomes final"
    PAYOUTS_STOPPED = "payouts_stopped", "Payouts are stopped"
    WALLET_FROZEN = "wallet_frozen", "Wallet is frozen"
    WALLET_CANNOT_SEND = "wallet_cannot_send", "Wallet cannot send"
    COIN_PAUSED = "coin_paused", "Coin is paused"
    HOT_WALLET_BLOCKED = "hot_wallet_blocked", "Hot wallet is blocked"
    TRANSFER_STUCK = "transfer_stuck", "Transfer is stuck"
    SWEEP_STUCK = "sweep_stuck", "Sweep is stuck"
    ADDRESS_PASSED_OVER = "address_passed_over", "Coins cannot be swept"
    COINS_MISSING = "coins_missing", "Coins are missing"
    GAS_TANK_LOW = "gas_tank_low", "Gas money runs out"
    DATABASE_RESTORED = "database_restored", "Database was restored"
    WORK_BEHIND = "work_behind", "Work is behind"
    CLOCK_OFF = "clock_off", "A clock is wrong"


PROVIDER_ALARMS: Mapping[str, AlarmKind] = MappingProxyType(
    {
        "failing": AlarmKind.PROVIDER_FAILING,
        "old_head": AlarmKind.PROVIDER_OLD_HEAD,
        "disagrees": AlarmKind.PROVIDER_DISAGREES,
    }
)
"""By the kind of problem that a provider has. Only the processes that ask know of these; rows tell all others."""

HOUSE = ("production", "")
HOUSE_ALARMS = frozenset({AlarmKind.WORK_BEHIND, AlarmKind.CLOCK_OFF})
"""Of no network, but of the whole installation: kept as production's, on a network without a name."""

ROW_ALARMS = frozenset(AlarmKind) - frozenset(PROVIDER_ALARMS.values()) - HOUSE_ALARMS

STEADY_FOR: Mapping[AlarmKind, timedelta] = MappingProxyType(
    # Longer than a provider that is down is left alone: another process may find it well only because it never asked.
    dict.fromkeys(PROVIDER_ALARMS.values(), timedelta(minutes=2))
)
"""How long it must not have been so until an alarm is over; at once when it is not named."""

PATIENCE: Mapping[AlarmKind, timedelta] = MappingProxyType(
    dict.fromkeys((*PROVIDER_ALARMS.values(), AlarmKind.NETWORK_UNAVAILABLE), timedelta(minutes=1))
)
"""How long it must have been so until people are told: a single request that fails wakes up nobody."""

ADVICE: Mapping[AlarmKind, str] = MappingProxyType(
    {
        AlarmKind.PROVIDER_FAILING: "Look at the provider's status page and your plan with it. While two others answer "
        "everything goes on; with fewer, deposits and payouts of the network wait, so add another.",
        AlarmKind.PROVIDER_OLD_HEAD: "The provider does not follow the network. If it does not catch up, replace it.",
        AlarmKind.PROVIDER_DISAGREES: "One of them is wrong. Compare what each said with a block explorer, and put "
        "another in the place of the one that is wrong.",
        AlarmKind.NETWORK_NOT_SET_UP: "Correct the setting that the message names, restart the workers, and ask "
        "manage.py check_networks. Until then nothing is read and nothing is sent there. If it names an owner or "
        "treasury that none of you has set, the owner's key is in other hands: do not change the settings to match.",
        AlarmKind.NETWORK_UNAVAILABLE: "See that the chain worker and beat run and that two providers answer. Nothing "
        "is lost: reading goes on where it stopped.",
        AlarmKind.NETWORK_HALTED: "A final block changed. Compare with a second source before you clear the halt in "
        "Scan cursors.",
        AlarmKind.HEAD_STALLED: "Look whether the network itself stands still. If it does not, the providers do.",
        AlarmKind.FINALITY_STALLED: "Look whether the network itself has trouble. Payments that need finality wait, "
        "and payers are told; nothing is credited sooner.",
        AlarmKind.PAYOUTS_STOPPED: "Read the reason, find the cause, then close the breaker.",
        AlarmKind.WALLET_FROZEN: "Find out what the wallet sent that the books do not know: manage.py thaw_wallet "
        "--dry-run. Then thaw it.",
        AlarmKind.WALLET_CANNOT_SEND: "Read what the message says of the key, the settings or the providers. What is "
        "to be paid waits, and leaves by itself once this is put right.",
        AlarmKind.COIN_PAUSED: "Look what the coin's issuer says. What is to be paid in it waits, and leaves by itself "
        "once the coin can be sent again.",
        AlarmKind.HOT_WALLET_BLOCKED: "Ask the coin's issuer why at once: neither payouts nor sweeps of the coin get "
        "through. They wait, and go on by themselves once the wallet is let go.",
        AlarmKind.TRANSFER_STUCK: "Look for its hashes on the network. Above the fee cap it waits for cheaper blocks; "
        "raise EVM_FEE_CAP_GWEI if that takes too long.",
        AlarmKind.SWEEP_STUCK: "See that the money worker runs, then look for its hashes on the network.",
        AlarmKind.ADDRESS_PASSED_OVER: "The message says why. It is tried again by itself, and sooner with Sweep now "
        "in Admin → Networks. Ask the coin's issuer about a frozen address: its coins cannot be paid out yet.",
        AlarmKind.COINS_MISSING: "Ask the coin's issuer what happened. Two operators then decide who bears the loss: "
        "Missing coins in the admin. Until then as much of the merchant's balance is held.",
        AlarmKind.WORK_BEHIND: "See that beat and a worker of the queue run, and what their logs say. Nothing is lost: "
        "the work is found again.",
        AlarmKind.CLOCK_OFF: "Have the machine's clock set by a time server (chrony, systemd-timesyncd), then restart "
        "its processes.",
        AlarmKind.GAS_TANK_LOW: "Send some of the network's own coin to the hot wallet. Without it nothing is paid "
        "and nothing is swept.",
        AlarmKind.DATABASE_RESTORED: "No payment is created and nothing is paid until manage.py resume_after_restore "
        "has compared this database with the chains. If nothing was restored, run it with --not-restored.",
    }
)
