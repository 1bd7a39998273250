"""The kinds of alarms, and what to do about each. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import timedelta
from types import MappingProxyType

from django.db.models import TextChoices


class AlarmKind(TextChoices):
    PROVIDER_FAILING = "provider_failing", "Provider fails"
    PROVIDER_OLD_HEAD = "provider_old_head", "Provider is behind"
    PROVIDER_DISAGREES = "provider_disagrees", "Provider says something else"
    PROVIDER_PUT_ASIDE = "provider_put_aside", "Provider is put aside"
    NETWORK_NOT_SET_UP = "network_not_set_up", "Network is set up wrongly"
    ROLE_CHANGED = "role_changed", "A role of the factory changed"
    NETWORK_UNAVAILABLE = "network_unavailable", "Network is not read"
    NETWORK_HALTED = "network_halted", "Network is halted"
    HEAD_STALLED = "head_stalled", "No new blocks"
    FINALITY_STALLED = "finality_stalled", "Nothing becomes final"
    CLOCK_AND_CHAIN_DIFFER = "clock_and_chain_differ", "Clock and network differ"
    PAYOUTS_STOPPED = "payouts_stopped", "Payouts are stopped"
    WALLET_FROZEN = "wallet_frozen", "Wallet is frozen"
    WALLET_CANNOT_SEND = "wallet_cannot_send", "Wallet cannot send"
    SIGNER_UNAVAILABLE = "signer_unavailable", "Signer does not answer"
    SIGNER_REFUSES = "signer_refuses", "Signer refuses"
    COIN_PAUSED = "coin_paused", "Coin is paused"
    HOT_WALLET_BLOCKED = "hot_wallet_blocked", "Hot wallet is blocked"
    TRANSFER_STUCK = "transfer_stuck", "Transfer is stuck"
    SWEEP_STUCK = "sweep_stuck", "Sweep is stuck"
    ADDRESS_PASSED_OVER = "address_passed_over", "Coins cannot be swept"
    COINS_MISSING = "coins_missing", "Coins are missing"
    COLD_WALLET_MOVED = "cold_wallet_moved", "Coins left the cold wallet"
    REFILL_NEEDED = "refill_needed", "Hot wallet needs a refill"
    WALLET_DIFFERS = "wallet_differs", "Hot wallet and ledger differ"
    COINS_CLAWED_BACK = "coins_clawed_back", "Coins were clawed back"
    COINS_SET_ASIDE = "coins_set_aside", "Coins wait to be claimed"
    SCREENED = "screened", "A sanctions list names an address"
    RECORD_SET_ASIDE = "record_set_aside", "A transaction cannot be read"
    GAS_TANK_LOW = "gas_tank_low", "The gas balance runs low"
    DATABASE_RESTORED = "database_restored", "Database was restored"
    WORK_BEHIND = "work_behind", "Work is behind"
    CLOCK_OFF = "clock_off", "A clock is wrong"
    RECONCILE_NOT_CLEAN = "reconcile_not_clean", "Reconcile found something"
    OPERATOR_RESET = "operator_reset", "An operator's access was reset"
    BACKUP_UNRELIABLE = "backup_unreliable", "Backups cannot be relied on"


PROVIDER_ALARMS: Mapping[str, AlarmKind] = MappingProxyType(
    {
        "failing": AlarmKind.PROVIDER_FAILING,
        "old_head": AlarmKind.PROVIDER_OLD_HEAD,
        "disagrees": AlarmKind.PROVIDER_DISAGREES,
        "put_aside": AlarmKind.PROVIDER_PUT_ASIDE,
    }
)
"""The alarms about providers, by the kind of problem. Only processes that query them know; rows show all others."""

HOUSE = ("production", "")
INSTALLATION_ALARMS = frozenset(
    {
        AlarmKind.WORK_BEHIND,
        AlarmKind.CLOCK_OFF,
        AlarmKind.RECONCILE_NOT_CLEAN,
        AlarmKind.OPERATOR_RESET,
        AlarmKind.BACKUP_UNRELIABLE,
    }
)
"""Alarms of the whole installation: stored as production's, on a network without a name."""

ROW_ALARMS = frozenset(AlarmKind) - frozenset(PROVIDER_ALARMS.values()) - INSTALLATION_ALARMS

STEADY_FOR: Mapping[AlarmKind, timedelta] = MappingProxyType(
    # Longer than the pause of a failing provider: another process may call it well only because it has not queried it.
    dict.fromkeys(PROVIDER_ALARMS.values(), timedelta(minutes=2))
)
"""Time a condition must be gone until its alarm ends; at once when its kind is not named."""

PATIENCE: Mapping[AlarmKind, timedelta] = MappingProxyType(
    dict.fromkeys(
        (
            *PROVIDER_ALARMS.values(),
            AlarmKind.NETWORK_UNAVAILABLE,
            AlarmKind.SIGNER_UNAVAILABLE,
            AlarmKind.CLOCK_AND_CHAIN_DIFFER,
        ),
        timedelta(minutes=1),
    )
)
"""Time a condition must hold until operators get a mail: a single failed request wakes nobody up."""

ADVICE: Mapping[str, str] = MappingProxyType(
    {
        AlarmKind.PROVIDER_FAILING: "Look at the provider's status page and your plan with it. While two others answer "
        "everything goes on; with fewer, deposits and payouts of the network wait, so add another.",
        AlarmKind.PROVIDER_OLD_HEAD: "The provider does not follow the network. If it does not catch up, replace it.",
        AlarmKind.PROVIDER_DISAGREES: "One of them is wrong. Compare what each said with a block explorer, and put "
        "another in the place of the one that is wrong.",
        AlarmKind.PROVIDER_PUT_ASIDE: "Others have contradicted it again and again; the message says about what. "
        "Compare with a block explorer, and look at what else rests on its word (Said by, in Admin → Deposits). Put "
        "another in its place, or restart the workers to ask it again at once.",
        AlarmKind.NETWORK_NOT_SET_UP: "Correct the setting that the message names, restart the workers, and ask "
        "manage.py check_networks. Until then nothing is read and nothing is sent there. If it names an owner or "
        "treasury that none of you has set, the owner's key is in other hands: do not change the settings to match.",
        AlarmKind.ROLE_CHANGED: "Ask each other who made it. If it was one of you, say so in Admin → Role changes. "
        "If it was none of you, the owner's key is in other hands: stop payouts, change nothing in the settings to "
        "match, and move the hot wallet's coins to safety.",
        AlarmKind.NETWORK_UNAVAILABLE: "See that the chain worker and beat run and that two providers answer. Nothing "
        "is lost: reading goes on where it stopped.",
        AlarmKind.NETWORK_HALTED: "A final block changed. Compare with a second source before you lift the halt: "
        "Admin → Stops.",
        AlarmKind.HEAD_STALLED: "Look whether the network itself stands still. If it does not, the providers do.",
        AlarmKind.FINALITY_STALLED: "Look whether the network itself has trouble. Payments that need finality wait, "
        "and payers are told; nothing is credited sooner.",
        AlarmKind.CLOCK_AND_CHAIN_DIFFER: "Compare the clock of the database's machine with the time elsewhere. Have "
        "it set by a time server. If it is right, the providers are behind. While the clock is ahead, money paid at "
        "once can be taken for older than its payment, and waits for you.",
        AlarmKind.PAYOUTS_STOPPED: "Read the reason and find the cause, then lift it: Admin → Stops.",
        AlarmKind.WALLET_FROZEN: "Find out what the wallet sent that the ledger does not have: manage.py thaw_wallet "
        "--dry-run. Then lift it: Admin → Stops.",
        AlarmKind.WALLET_CANNOT_SEND: "Read what the message says of the key, the settings or the providers. What is "
        "to be paid waits, and leaves by itself once this is put right.",
        AlarmKind.SIGNER_UNAVAILABLE: "See that manage.py signer runs, that SIGNER_URL leads to it, and that both have "
        "the same SIGNER_SECRET. What is to be paid waits, and leaves by itself once it answers.",
        AlarmKind.SIGNER_REFUSES: "Read its reason here and in its own record. A payout that was not asked for as it "
        "is now, or that the ledger does not reserve, was changed in the database: stop payouts, and find out by whom. "
        "Limits of the signer are raised in its policy, on its machine, and nowhere else.",
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
        AlarmKind.COLD_WALLET_MOVED: "Ask its keepers what it was, then two operators say so in Admin → Cold moves. "
        "If it was none of you, somebody has the cold wallet's key: let the owner appoint another treasury at once, "
        "and move what is left.",
        AlarmKind.REFILL_NEEDED: "Let the keepers of the cold wallet send what manage.py refill says, or Admin → Cold "
        "wallets: it is booked by itself, and the payouts leave. If you cannot say where the hot wallet's coins have "
        "gone, do not refill it: read Replacing the hot wallet first.",
        AlarmKind.WALLET_DIFFERS: "Run manage.py reconcile --full, which says what to do. If coins are missing and no "
        "issuer took them back, stop payouts: somebody may sign for the wallet.",
        AlarmKind.COINS_CLAWED_BACK: "Ask the coin's issuer why; nobody has the wallet's key. The ledger still has "
        "these coins: manage.py reconcile --full says how many are missing.",
        AlarmKind.COINS_SET_ASIDE: "Somebody sent coins in a way that needs claiming, perhaps a payer: they are not "
        "counted for any payment. Ask who did, or leave them: nothing claims them by itself.",
        AlarmKind.SCREENED: "Compare the address with the list that the message names. Held money stays held until two "
        "operators release it: Admin → Deposits, or Payouts. What was credited or sent before stays as it is: report "
        "it where your law asks for it, then release it, which ends this alarm.",
        AlarmKind.RECORD_SET_ASIDE: "Reading goes on without it. Look in a block explorer what it moved to us. It is "
        "read again each day, and sooner with Read again in Admin → Reading requests; if it cannot be, update Ballast.",
        AlarmKind.WORK_BEHIND: "See that beat and a worker of the queue run, and what their logs say. Nothing is lost: "
        "the work is found again.",
        AlarmKind.OPERATOR_RESET: "Ask the person by another way than a mail whether it was them. If it was not, take "
        "their rights away in the admin at once: until the day is over they have no say.",
        AlarmKind.CLOCK_OFF: "Have the machine's clock set by a time server (chrony, systemd-timesyncd), then restart "
        "its processes.",
        AlarmKind.RECONCILE_NOT_CLEAN: "Read in the admin what the run found: each finding says what to do. Errors "
        "have stopped payouts of their network; a run that could not finish names what did not answer.",
        AlarmKind.GAS_TANK_LOW: "Send native coins to the hot wallet. Without it nothing is paid and nothing is swept.",
        AlarmKind.BACKUP_UNRELIABLE: "Read what failed, put it right, then run manage.py backup and manage.py "
        "backup_drill with its file: the alarm ends with them. Keys that are named belong into the settings again, as "
        "fallbacks, until a newer backup is made and the older ones are gone.",
        AlarmKind.DATABASE_RESTORED: "No payment is created and nothing is paid until manage.py resume_after_restore "
        "has compared this database with the chains. If nothing was restored, run it with --not-restored.",
    }
)
