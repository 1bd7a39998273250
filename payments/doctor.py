"""What `manage.py doctor` looks at here: work in the background, alarms, prices, and each network in use."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from math import inf
from typing import Final

from django.conf import settings
from django.core.exceptions import ImproperlyConfigured
from django.utils import timezone

from config.celery import QUEUES, app, queue_of
from config.coins import COINS, USD
from config.database.database_time import CLOCKS_APART
from config.doctor.registry import Asked, Finding, ask_elsewhere, fail, ok, register, warn, without
from config.environments import Environment
from config.errors import DomainError
from config.pages.wording import duration
from config.periodic import task_runs
from config.process import roles
from payments.chains import registry
from payments.chains.errors import ChainError, NotSetUp, SendingBlocked
from payments.chains.networks import NETWORKS
from payments.chains.protocol.chain import Chain
from payments.chains.protocol.scans import Head
from payments.chains.signer import connection
from payments.chains.signer.messages import Malformed
from payments.deposits.address_derivations import require_unchanged
from payments.monitoring import alarm_rules, work
from payments.monitoring.figures import coins_text, tank_of
from payments.monitoring.measuring import COMPARED_BLOCKS, read_wallet
from payments.monitoring.models import Alarm, NetworkSnapshot
from payments.monitoring.reconciling import last_runs
from payments.monitoring.states import ADVICE, INSTALLATION_ALARMS, ROW_ALARMS, AlarmKind
from payments.rates.quoting import RateUnavailable, quote

SILENT_SECONDS: Final = 120.0
"""A worker does something of each queue every few seconds, and notes it; the longest lease is as long as this."""

FIRST_PRICES_SECONDS: Final = 60.0
"""Prices are first asked for half a minute after the first start, and the exchanges need some seconds."""

BLOCKS_OF_EVENTS: Final = 500
"""How many blocks providers are asked for in one query of events before they show how many they take."""

QUEUE_OF_WORK: Final = {
    task_runs.WATCHER: "chain",
    task_runs.DISPATCHER: "webhooks",
    task_runs.WALLETS: "money",
    work.RECONCILE: "chain",
}


@dataclass(slots=True)
class NetworkLook:
    """What a look at one network has found."""

    head: Head | None = None
    faults: list[str] = field(default_factory=list)
    """What is not as the settings say, or is not known because too few providers answer."""
    is_away: bool = False
    """True if nothing is wrong with the settings as far as is known: the providers do not answer."""
    problems: list[str] = field(default_factory=list)
    """Of single providers."""


def look_at(environment: str, network: str, *, signing: bool) -> NetworkLook:
    """Compare contracts, coins, wallet and deposit addresses with the settings, with `signing` the key as well."""
    look = NetworkLook()
    try:
        chain = registry.chain(environment, network)
    except ImproperlyConfigured as error:
        look.faults.append(str(error))
        return look
    try:
        chain.set_up.require(signing=signing)
        require_unchanged(environment, chain)
    except (ImproperlyConfigured, ChainError) as error:
        look.faults.append(str(error))
        look.is_away = isinstance(error, ChainError) and not isinstance(error, NotSetUp)
    try:
        look.head = chain.reading.head()
    except ChainError as error:
        if not look.faults:
            look.faults, look.is_away = [str(error)], True
    look.problems = problems_of(chain)
    return look


def problems_of(chain: Chain) -> list[str]:
    """The present faults of each provider, as far as this process has queried it."""
    states = chain.providers.states() if chain.providers else ()
    return [f"{state.name} {message}" for state in states for message in state.problems.values()]


@register("workers")
def check_workers(asked: Asked) -> Iterator[Finding]:
    """Beat, and a worker of each queue, by what was last done and when."""
    report, (ages, _) = work.report(), work.pulses()
    heartbeat = next(item for item in report.items if item.name == work.HEARTBEAT)
    if heartbeat.is_behind:
        seen = "has never ticked" if heartbeat.age is None else f"last ticked {duration(heartbeat.age)} ago"
        yield fail("beat", f"It {seen}.", _start("celery -A config beat"))
    else:
        yield ok("beat", f"It ticked {heartbeat.age or 0:.0f} s ago.")
    newest: dict[str, float] = {}
    for (kind, subject), age in ages.items():
        if queue := _queue_of(kind, subject):
            newest[queue] = min(age, newest.get(queue, age))
    for queue in QUEUES:
        behind = [str(item) for item in report.behind if _queue_of(item.name, item.of) == queue]
        name, latest = f"worker {queue}", newest.get(queue)
        advice = _start(f"celery -A config worker -Q {queue}")
        if latest is None:
            yield fail(name, "Nothing of its queue has ever been done.", advice)
        elif latest > SILENT_SECONDS:
            yield fail(name, f"Nothing of its queue has been done for {duration(latest)}.", advice)
        elif behind:
            yield fail(name, f"It works, but not on everything: {'; '.join(behind)}.", advice)
        else:
            yield ok(name, f"It worked {latest:.0f} s ago.")
    if off := report.clocks_off:
        yield fail("clocks of processes", f"{'; '.join(map(str, off))}.", ADVICE[AlarmKind.CLOCK_OFF])
    else:
        most = max((abs(each.ahead) for each in report.clocks), default=0.0)
        yield ok("clocks of processes", f"{len(report.clocks)} compared, at most {most:.1f} s from the database's.")


def _start(command: str) -> str:
    command = command if settings.IN_PRODUCTION else "make run"
    return f"Start {command}, or look in its log why it stands still. No work is lost."


def _queue_of(kind: str, subject: str) -> str:
    """The queue that this work is done in; empty for what no worker does."""
    if kind == task_runs.TASK:
        return queue_of(subject) if subject in {each["task"] for each in app.conf.beat_schedule.values()} else ""
    return QUEUE_OF_WORK.get(kind, "")


@register("reconcile")
def check_reconcile(asked: Asked) -> Iterator[Finding]:
    runs = last_runs()
    unclean = [run for run in runs.values() if not run.is_clean]
    for run in unclean:
        grade = fail if run.errors else warn
        text = f"The {run.extent} run of {run.started_at:%d %b %H:%M} UTC ended as {run.outcome}: {run.errors} errors."
        yield grade("reconcile", text, ADVICE[AlarmKind.RECONCILE_NOT_CLEAN])
    if not unclean:
        last = max((run.finished_at for run in runs.values()), default=None)
        yield ok("reconcile", f"Clean at {last:%Y-%m-%d %H:%M} UTC." if last else "It has not run yet.")


@register("alarms")
def check_alarms(asked: Asked) -> Iterator[Finding]:
    """Conditions of production that rows show now, whether or not a worker has raised alarms; and what workers have
    found of providers."""
    number = 0
    for network in registry.networks(Environment.PRODUCTION):
        for condition in alarm_rules.of_rows(Environment.PRODUCTION, network):
            number += 1
            text = f"{condition.kind.label} on {network}: {condition.message}"
            yield warn("alarm", text, ADVICE[condition.kind])
    shown = ROW_ALARMS | INSTALLATION_ALARMS
    raised = Alarm.objects.open().filter(environment=Environment.PRODUCTION)
    for alarm in raised.exclude(kind__in=shown).most_urgent_first():
        number += 1
        yield warn("alarm", f"{alarm}: {alarm.message}", alarm.advice)
    if not number:
        yield ok("alarms", "None is open in production.")


@register("prices")
def check_prices(asked: Asked) -> Iterator[Finding]:
    environment = Environment.PRODUCTION if settings.IN_PRODUCTION else Environment.SANDBOX
    missing = []
    for coin in COINS:
        try:
            quote(USD, coin, environment=environment)
            quote("EUR", coin, environment=environment)
        except RateUnavailable:
            missing.append(coin)
    if missing:
        grade = warn if _began_just_now() else fail
        yield grade(
            "prices",
            f"There is none for {', '.join(missing)}: payments in it are refused.",
            "See that beat and the chain worker run, and that they reach the exchanges (RATE_SOURCE_URLS behind a "
            "proxy). After the first start it takes half a minute.",
        )
    else:
        yield ok("prices", f"{', '.join(COINS)} have one in dollars and euros.")


def _began_just_now() -> bool:
    """True if this installation has begun so lately that prices may not have been asked for: as when its installer
    asks whether all is well."""
    ages, _ = work.pulses()
    return ages.get((task_runs.BEGAN, ""), inf) < FIRST_PRICES_SECONDS


@register("signer", reads_database=False)
def check_signer(asked: Asked) -> Iterator[Finding]:
    """Each signer of its own. Nothing is signed: whether both have the same secret shows with the first payout."""
    if settings.SIGNER_URLS and not settings.USES_SIGNER:
        yield ask_elsewhere("signer", without("SIGNER_SECRET"))
        return
    for url in sorted(settings.SIGNER_URLS):
        try:
            connection.greet(url, settings.SIGNER_CERTIFICATES)
        except (OSError, Malformed) as error:
            text = f"Nothing answers at {url} as a signer does: {error}."
            yield fail("signer", text, ADVICE[AlarmKind.SIGNER_UNAVAILABLE])
        else:
            yield ok("signer", f"It answers at {url}.")


@register("networks", reads_database=False)
def check_networks_in_use(asked: Asked) -> Iterator[Finding]:
    in_use = registry.networks(Environment.PRODUCTION)
    if in_use:
        yield ok("networks", f"In production: {', '.join(in_use)}.")
    elif settings.IN_PRODUCTION:
        yield warn(
            "networks",
            "None is set up in production: no payment can be taken.",
            "Set PRODUCTION_NETWORKS, and what docs/networks.md says for each.",
        )
    else:
        yield ok("networks", "None in production; the sandbox takes test payments.")


def check_network(network: str, asked: Asked) -> Iterator[Finding]:
    """A network in each environment where real nodes answer for it."""
    for environment in Environment.values:
        if network not in registry.networks(environment) or registry.is_simulated(environment):
            continue
        place = network if environment == Environment.PRODUCTION else f"{network} sandbox"
        signing = roles.uses(settings.BALLAST_ROLE, "EVM_KEYSTORE")
        look = look_at(environment, network, signing=signing)
        for fault in look.faults:
            kind = AlarmKind.NETWORK_UNAVAILABLE if look.is_away else AlarmKind.NETWORK_NOT_SET_UP
            yield fail(place, fault, ADVICE[kind])
        if look.head is None:
            continue
        if not look.faults:
            key = ", and the key of the hot wallet opens" if signing else ""
            blocks = f"head {look.head.height:,}, final {look.head.finalized_height:,}"
            yield ok(place, f"As the settings say{key}; {blocks}.")
        ahead = (look.head.closed_at - timezone.now()).total_seconds()
        if ahead > CLOCKS_APART.total_seconds():
            text = f"This machine's clock is {ahead:,.0f} s behind the newest block."
            yield fail(f"{place} clock", text, ADVICE[AlarmKind.CLOCK_OFF])
        chain = registry.chain(environment, network)
        yield from _of_providers(environment, chain, place, look.head, look.problems)
        yield from _of_roles(chain, place)
        yield from _of_wallet(environment, chain, place)


def _of_providers(environment: str, chain: Chain, place: str, head: Head, problems: Sequence[str]) -> Iterator[Finding]:
    """What is known of each; then whether they take the queries that reading needs."""
    name, found = f"{place} providers", list[Finding]()
    if not chain.profile.shares_account:
        past = max(0, head.height - COMPARED_BLOCKS)
        try:
            chain.reading.balance(chain.payout_address(), chain.profile.native, at_height=past)
        except ChainError as error:
            text = f"They cannot say what was held {head.height - past} blocks ago: {error}"
            found.append(fail(name, text, "Use providers that keep the state of the last 128 blocks at least."))
        first = max(0, head.height - BLOCKS_OF_EVENTS)
        try:
            _ = chain.roles and chain.roles.changes(first_height=first, last_height=head.height)
        except ChainError as error:
            text = f"They do not return the events of {BLOCKS_OF_EVENTS} blocks: {error}"
            found.append(fail(name, text, "Use providers, or a plan with them, that take eth_getLogs."))
    for problem in dict.fromkeys([*problems, *problems_of(chain)]):
        found.append(warn(name, f"{problem}.", ADVICE[AlarmKind.PROVIDER_FAILING]))
    if chain.profile.network in registry.decided_by_one(environment):
        text = "A single one decides about money."
        found.append(warn(name, text, "List another of another owner: a single one can invent a deposit."))
    for owner, count in registry.counted_as_one(environment).get(chain.profile.network, {}).items():
        text = f"{count} addresses of {owner} count as one provider."
        found.append(warn(name, text, "Name one of another owner, or read SEPARATE_PROVIDERS in docs/networks.md."))
    yield from found
    if not found and chain.providers:
        yield ok(name, f"{len(chain.providers.states())} agree, and take what is asked of them.")


def _of_roles(chain: Chain, place: str) -> Iterator[Finding]:
    if chain.roles is None:
        return
    name = f"{place} contract"
    try:
        holders = chain.roles.holders()
    except (ChainError, DomainError) as error:
        yield fail(name, f"Its roles cannot be read: {error}", "Run manage.py deploy_deposits, or correct EVM_FACTORY.")
        return
    wrong = [each for each in holders if each.holder != each.expected]
    for role in wrong:
        text = f"Its {role.name} is {role.holder}; by the settings it is {role.expected or 'unset (EVM_OWNER)'}."
        advice = (
            "If none of you has changed it, the owner's key is in other hands: stop payouts, and do not change the "
            "settings to match. Otherwise manage.py factory_roles shows the call that puts it right."
        )
        yield fail(name, text, advice)
    if not wrong:
        yield ok(name, f"{', '.join(each.name for each in holders)} are as the settings say.")


def _of_wallet(environment: str, chain: Chain, place: str) -> Iterator[Finding]:
    """Gas, as the network charges now, and whether each coin can be sent."""
    network = chain.profile.network
    snapshot = NetworkSnapshot(environment=environment, network=network, measured_at=timezone.now())
    name = f"{place} gas"
    try:
        read_wallet(snapshot, chain)
    except (ChainError, ImproperlyConfigured) as error:
        yield fail(name, f"The hot wallet cannot be read: {error}", ADVICE[AlarmKind.NETWORK_UNAVAILABLE])
        return
    if (tank := tank_of(snapshot)) is not None:
        held, wanted = (coins_text(units, tank.native) for units in (tank.balance, tank.wanted))
        if tank.balance < tank.payout:
            text = f"{tank.wallet} holds {held}: it cannot pay for a single payout."
            yield fail(name, text, ADVICE[AlarmKind.GAS_TANK_LOW])
        elif tank.is_low():
            text = f"{tank.wallet} holds {held}; it should hold {wanted}."
            yield warn(name, text, ADVICE[AlarmKind.GAS_TANK_LOW])
        else:
            yield ok(name, f"{held}: {tank.use}.")
    name, blocked = f"{place} wallet", False
    for asset in chain.profile.assets.values():
        try:
            chain.hot_wallet.check_sending(asset)
        except SendingBlocked as error:
            blocked = True
            yield warn(name, f"{asset.code}: {error}", ADVICE[error.problem])
        except ChainError as error:
            blocked = True
            yield fail(name, f"{asset.code}: {error}", "Look what its issuer has changed; until then it is not sent.")
    if not blocked:
        yield ok(name, f"{snapshot.wallet} can send {', '.join(chain.profile.assets)}.")


for _network in NETWORKS:
    register(f"network {_network}")(partial(check_network, _network))
