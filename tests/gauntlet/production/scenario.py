"""A company opens its doors by the first steps of docs/installing.md, then does business with live keys."""

from __future__ import annotations

import http.server
import os
import random
import re
import ssl
import sys
import threading
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from decimal import Decimal
from pathlib import Path
from typing import Any

import httpx
import psycopg

from config.celery import wake
from config.coins import COINS
from config.environments import Environment
from config.installation.database_roles import WEB as WEB_USER
from config.installation.database_roles import WORKER as WORKER_USER
from config.process import roles
from merchants.ledger.balances import balance
from payments.chains.evm.addresses import encode
from payments.chains.networks import NETWORKS
from payments.transfers.postings import hot_account
from tests.evm.keystores import write_keystore
from tests.evm.mainnet import Mainnet
from tests.evm.network import devnet
from tests.evm.network.node import LocalNode
from tests.evm.node import EPOCH_BLOCKS, ETHEREUM_ID, HISTORY, POLYGON_ID, TestNode
from tests.gauntlet.installation import OPTIONS, Installation
from tests.gauntlet.network import PUBLIC_ADDRESS
from tests.gauntlet.production.exchanges import OFF, STALE, Exchanges
from tests.gauntlet.production.front import make_certificate, nginx
from tests.gauntlet.production.people import Record, Shop, Visitor, verified
from tests.gauntlet.report import Check, Progress

BASE = "https://localhost"
CHAIN_IDS = {"ethereum": ETHEREUM_ID, "polygon": POLYGON_ID}
BLOCK_SECONDS = 1
WEB_PORTS, PROVIDER_PORTS = (8801, 8802), {"ethereum": (8811, 8812), "polygon": (8821, 8822)}
BLOCKS_UNTIL_COUNTED = 12
PAYMENTS_EACH = 2
"""Of each coin on each network."""

SECONDS_MAX = 180.0
"""For each step that waits for blocks."""

DOCTOR_SECONDS_MAX = 90.0
"""Time until doctor must find everything well."""

ARE_RATES_WAITED_FOR = True
"""Until beat has the exchanges asked, which it does each half minute."""

SHORT: dict[str, Any] = {"CHAIN_IDS": {"polygon": POLYGON_ID}, "PAYMENTS_EACH": 1, "ARE_RATES_WAITED_FOR": False}

SECRETS = {
    "SECRET_KEY": "a key of the production scenario, for sessions and for nothing else",
    "API_KEY_PEPPER": "a pepper of the production scenario alone",
    "WEBHOOK_ENCRYPTION_KEY": "a webhook key of the production scenario",
    "EVM_KEYSTORE_PASSWORD": "a password of the production scenario",
}
DATABASE_PASSWORD = "production"
OPERATOR, ANOTHER, MERCHANT = "operator@example.com", "another@example.com", "shop@example.com"
PASSWORD = "correct horse battery staple"

WEB = [sys.executable, "-m", "granian", "--interface", "wsgi", "--no-ws", "--host", "127.0.0.1", "--workers", "1"]
WEB += ["--blocking-threads", "256", "--log-level", "warning", "config.wsgi:application"]
CELERY = [sys.executable, "-m", "celery", "--app", "config.celery"]


def run(installation: Installation, chance: random.Random) -> list[Check]:
    with ExitStack() as stack:
        nodes = {network: stack.enter_context(_node(chain_id)) for network, chain_id in CHAIN_IDS.items()}
        mainnets = {network: Mainnet(network, TestNode(node)) for network, node in nodes.items()}
        for node in nodes.values():
            TestNode(node).rpc.call("evm_setIntervalMining", BLOCK_SECONDS)
        exchanges = stack.enter_context(Exchanges())
        return _Company(installation, mainnets, exchanges, stack).run()


def _node(chain_id: int) -> LocalNode:
    return LocalNode(chain_id=chain_id, epoch_blocks=EPOCH_BLOCKS[chain_id], history=HISTORY)


class _Company:
    """The installation, the people who run it, and what is to be shown of it."""

    def __init__(
        self, installation: Installation, mainnets: Mapping[str, Mainnet], exchanges: Exchanges, stack: ExitStack
    ) -> None:
        self._installation, self._mainnets, self._exchanges, self._stack = installation, mainnets, exchanges, stack
        self._progress = Progress()
        self._checks: list[Check] = []
        self._trust = make_certificate(installation.folder)
        self._mails = installation.folder / "mails"
        self._settings = self._common()

    def run(self) -> list[Check]:
        self._start_front()
        self._open()
        shop = self._first_merchant()
        self._back_up()
        if not ARE_RATES_WAITED_FOR:
            wake("payments.refresh_rates")
        self._consult_doctor("on the first day")
        with _receiver(self._installation.folder, self._trust) as received:
            hook = shop.call("POST", "/webhooks", url=f"https://{PUBLIC_ADDRESS}/hooks", events=["*"])
            self._sell(shop)
            self._stock()
            self._give_back(shop)
            self._settle(shop)
            self._claim_webhooks(shop, hook["secret"], received)
        self._lose_a_beat(shop)
        self._look_at_everything()  # as each night: a quick run may have seen coins before they were booked
        self._consult_doctor("after a week's business")
        return self._checks

    # --- the first steps -----------------------------------------------------------------------------

    def _common(self) -> dict[str, str]:
        """What every process is told; no secret."""
        kept = {name: os.environ[name] for name in ("PATH", "HOME", "LANG") if name in os.environ}
        postgres = self._installation.postgres
        database = f"postgres://postgres@/ballast?host={postgres.socket_folder}" if postgres else ""
        mirrors = (
            f"{name}={BASE}/mirror/{name}" for name in ("ecb", "kraken", "coinbase", "bitstamp", "bitfinex", "gemini")
        )
        return (
            kept
            | {
                "BALLAST_MODE": "production",
                "REQUIRE_PROVEN_WALLETS": "false",  # the shop is paid at a wallet that a payment names
                "DJANGO_SETTINGS_MODULE": "config.settings",
                "DATABASE_URL": database or os.environ["DATABASE_URL"],
                "REDIS_URL": self._installation.redis.url,
                "PUBLIC_URL": BASE,
                "ALLOWED_HOSTS": "localhost",
                "TRUSTED_PROXIES": "127.0.0.1/32",
                "RATE_SOURCE_URLS": ",".join(mirrors),
                "SSL_CERT_FILE": str(self._installation.folder / "certificate.pem"),
                "OPERATOR_EMAILS": OPERATOR,
                "EVM_OWNER": devnet.OWNER,
                "EVM_HOT_WALLET": devnet.HOT_WALLET,
                "LOG_LEVEL": "WARNING",
            }
            | {
                f"{network.upper()}_RPC_URLS": ",".join(f"http://127.0.0.1:{port}" for port in PROVIDER_PORTS[network])
                for network in self._mainnets
            }
        )

    def _given(self, role: str) -> dict[str, str]:
        """What a process of this role is started with: the settings, and its own secrets."""
        places = {
            "EVM_KEYSTORE": f"{self._installation.folder}/hot-wallet.json",
            "EMAIL_URL": f"filemail:///{self._mails}",
        }
        return self._settings | {
            "BALLAST_ROLE": role,
            "DATABASE_URL": self._database_of(role),
            **{name: value for name, value in (SECRETS | places).items() if roles.uses(role, name)},
        }

    def _database_of(self, role: str) -> str:
        """The database as the user that processes of this role connect as; that of the run itself for `migrate`."""
        user = WEB_USER if role in ("web", "all") else WORKER_USER
        address: str = self._settings["DATABASE_URL"]
        return address if role == "migrate" else re.sub("//[^@/]*@", f"//{user}:{DATABASE_PASSWORD}@", address, count=1)

    def _let_roles_log_in(self) -> None:
        with psycopg.connect(self._settings["DATABASE_URL"]) as database:
            for user in (WEB_USER, WORKER_USER):
                database.execute(f"ALTER ROLE {user} LOGIN PASSWORD '{DATABASE_PASSWORD}'".encode())

    def _manage(self, role: str, *arguments: str, typed: str | None = None, **more: str) -> str:
        """A command that must succeed; what it said."""
        code, said = self._installation.manage(*arguments, environment=self._given(role) | more, typed=typed)
        self._show(f"manage.py {' '.join(arguments)}"[:60], f"exit code {code}", holds=code == 0)
        if code:
            print(said[-3000:], file=sys.stderr)  # noqa: T201 - what went wrong, beside the report
        return said

    def _show(self, claim: str, figure: str, *, holds: bool) -> None:
        self._checks.append(Check(claim, figure, holds))
        self._progress.say(f"{'ok' if holds else 'FAILED'}: {claim} ({figure})", now=True)

    def _start_front(self) -> None:
        providers = {
            port: mainnet.node.url for network, mainnet in self._mainnets.items() for port in PROVIDER_PORTS[network]
        }
        command = nginx(self._installation.folder, web=WEB_PORTS, exchanges=self._exchanges.port, providers=providers)
        self._installation.start("nginx", command)
        key = bytes.fromhex(devnet.HOT_WALLET_KEY)
        write_keystore(self._installation.folder / "hot-wallet.json", key, SECRETS["EVM_KEYSTORE_PASSWORD"])

    def _open(self) -> None:
        """Database, pages, operator, contracts, networks; then every process with its own secrets."""
        self._manage("migrate", "migrate", "--no-input")
        self._manage("migrate", "database_roles")
        self._let_roles_log_in()
        self._manage("migrate", "collectstatic", "--no-input", "--verbosity", "0")
        self._manage("all", "check", "--deploy", "--fail-level", "WARNING")
        for email in (OPERATOR, ANOTHER):
            operator = {"DJANGO_SUPERUSER_EMAIL": email, "DJANGO_SUPERUSER_PASSWORD": PASSWORD}
            self._manage("web", "createsuperuser", "--no-input", **operator, DJANGO_SUPERUSER_NAME="Ada")
        deployed_at = {network: mainnet.height for network, mainnet in self._mainnets.items()}
        for network in self._mainnets:
            said = self._manage("money", "deploy_deposits", "--network", network)
            self._settings["EVM_FACTORY"] = (re.findall(r"EVM_FACTORY=(0x\w+)", said) or [""])[-1]
        self._settings["PRODUCTION_NETWORKS"] = ",".join(self._mainnets)
        self._manage("money", "check_networks")

        for number, port in enumerate(WEB_PORTS):
            self._installation.start(f"web-{number}", [*WEB, "--port", str(port)], self._given("web"))
        for role in ("chain", "webhooks", "money", "reports"):
            command = [*CELERY, "worker", "--queues", role, *OPTIONS, "--hostname", f"{role}@localhost"]
            self._installation.start(role, command, self._given(role))
        for number in range(2):
            self._installation.start(f"beat-{number}", [*CELERY, "beat", "--loglevel", "WARNING"], self._given("beat"))
        ready = self._ask_until("/health/ready", lambda reply: reply.status_code == httpx.codes.OK)
        self._show("the balancer is told that web is ready, over TLS", f"{ready.status_code}", holds=ready.is_success)
        another = Visitor(BASE, self._trust)
        another.submit("/login?next=/admin/", email=ANOTHER, password=PASSWORD)
        another.add_app()
        for network, height in deployed_at.items():
            thaw = ["thaw_wallet", "--env", "production", "--network", network, "--since-block", str(height)]
            for _ in range(3):  # what was proposed falls when the wallet freezes meanwhile
                self._manage("web", *thaw, "--by", OPERATOR, typed=f"{PASSWORD}\n")
                if "Done" in self._agree(another):
                    break

    def _ask_until(self, path: str, is_so: object, seconds: float = 60.0) -> httpx.Response:
        assert callable(is_so)
        deadline = time.monotonic() + seconds
        with httpx.Client(base_url=BASE, verify=self._trust, timeout=10) as client:
            while not is_so(reply := client.get(path)) and time.monotonic() < deadline:
                time.sleep(0.5)
        return reply

    @staticmethod
    def _agree(operator: Visitor) -> str:
        """What the admin shows to the second of two operators who agrees to everything that waits."""
        page = "/admin/four_eyes/proposal/?status__exact=waiting"
        shown = ""
        for key in re.findall(r'name="_selected_action" value="(\d+)"', operator.read(page)):
            shown += operator.send(page, action="agree", _selected_action=key, confirmed="yes")
        return shown

    def _first_merchant(self) -> Shop:
        """Who is invited by the operator opens it, and makes the keys in the dashboard."""
        operator = Visitor(BASE, self._trust)
        operator.submit("/login?next=/admin/", email=OPERATOR, password=PASSWORD)
        operator.add_app()
        operator.submit("/admin/people/invitation/add/", email=MERCHANT)
        owner = Visitor(BASE, self._trust)
        owner.submit(self._invited(), name="Grace", password=PASSWORD, merchant_name="Shop")
        page = operator.read("/admin/merchants/merchant/")
        merchant = re.findall(r"/admin/merchants/merchant/([^/\"]+)/change/", page)[0]
        operator.submit(f"/admin/merchants/merchant/{merchant}/change/", plan="business")

        owner.send("/dashboard/environment", page="/dashboard", environment="production")
        page = owner.send("/dashboard/keys/new", name="Web shop", lifetime="0", access="full")
        public_key, secret = (re.findall(rf"{kind}_live_\w+", page) or [""] for kind in ("pk", "sk"))
        self._show(
            "the owner of the first merchant has live keys",
            f"{public_key[0][:11]}…",
            holds=secret[0].startswith("sk_live_"),
        )
        return Shop(BASE, self._trust, public_key=public_key[0], secret=secret[0])

    def _invited(self) -> str:
        """The path in the mail of an invitation, as soon as there is one."""
        deadline = time.monotonic() + 60
        while time.monotonic() < deadline:
            for mail in self._mails.glob("*"):
                if found := re.search(rf"{BASE}(/invitation/\S+)", mail.read_text()):
                    return found[1]
            time.sleep(0.5)
        raise AssertionError("no invitation was sent")

    # --- business ------------------------------------------------------------------------------------

    def _sell(self, shop: Shop) -> None:
        self._payments: list[Record] = []
        deadline = time.monotonic() + 60
        wanted = [(network, coin) for network in self._mainnets for coin in COINS] * PAYMENTS_EACH
        while True:
            try:
                first = self._open_payment(shop, *wanted[0])
                break
            except AssertionError:
                if time.monotonic() > deadline:
                    raise
                time.sleep(1)
        self._payments = [first, *(self._open_payment(shop, network, coin) for network, coin in wanted[1:])]
        sources = {payment["exchangeRate"]["source"] for payment in self._payments}
        unbelieved = [source for source in sources if STALE in source or OFF in source]
        self._show(
            "no price rests on the exchange that has stopped, or is off by 3 %", f"{sources}", holds=not unbelieved
        )

        for network, mainnet in self._mainnets.items():
            here = [payment for payment in self._payments if payment["network"] == network]
            mainnet.pay(
                [(each["cryptocurrency"], each["depositAddress"], _units(each, "cryptoAmount")) for each in here]
            )
        ended = [
            shop.until(f"/payments/{each['id']}", lambda found: found["status"] == "completed", seconds=SECONDS_MAX)
            for each in self._payments
        ]
        statuses = Counter(payment["status"] for payment in ended)
        self._show(
            "every payment is completed", f"{dict(statuses)}", holds=statuses == {"completed": len(self._payments)}
        )

    def _open_payment(self, shop: Shop, network: str, coin: str) -> Record:
        return shop.call(
            "POST",
            "/payments",
            amount=40,
            currency="EUR",
            cryptocurrency=coin,
            network=network,
            merchantWallet=encode(b"a wallet of the shop"),
        )

    def _give_back(self, shop: Shop) -> None:
        """Ten euros of one payment of each coin on each network, each to somebody else."""
        refunds = []
        for number, payment in enumerate(self._payments[: len(self._mainnets) * len(COINS)]):
            destination = encode(number.to_bytes(1, "big") * 20 if number else b"\x77" * 20)
            refunds.append(shop.call("POST", "/refunds", paymentId=payment["id"], amount=10, destination=destination))
        ended = [
            shop.until(
                f"/refunds/{each['id']}", lambda found: found["status"] in ("completed", "failed"), seconds=SECONDS_MAX
            )
            for each in refunds
        ]
        arrived = [
            self._mainnets[each["network"]].held(each["cryptocurrency"], [each["destination"]])[each["destination"]]
            == _units(each, "cryptoAmount")
            for each in ended
        ]
        statuses = Counter(refund["status"] for refund in ended)
        self._show(
            "every refund is completed, and on the chain to the base unit",
            f"{dict(statuses)}",
            holds=statuses == {"completed": len(refunds)} and all(arrived),
        )

    def _settle(self, shop: Shop) -> None:
        for network, mainnet in self._mainnets.items():
            while mainnet.height < self._stocked_at[network] + BLOCKS_UNTIL_COUNTED:
                time.sleep(BLOCK_SECONDS)
            self._manage(
                "money", "book_treasury", "--env", "production", "--network", network, "--asset", "USDC", "--yes"
            )
        self._manage("money", "run_settlements", "--now", "--env", "production")
        ended = shop.until(
            "/settlements",
            lambda found: bool(found["data"]) and all(each["status"] == "completed" for each in found["data"]),
            seconds=SECONDS_MAX,
        )["data"]
        paid = Counter[str]()
        for settlement in ended:
            paid[settlement["network"]] += _units(settlement, "amount")
        wallet = encode(b"a wallet of the shop")
        held = {network: mainnet.held("USDC", [wallet])[wallet] for network, mainnet in self._mainnets.items()}
        self._show(
            "the rest is settled in USDC on each network, to the base unit",
            f"{[(each['network'], each['amount'], each['status']) for each in ended]}",
            holds=set(paid) == set(self._mainnets) and paid == held,
        )

    def _stock(self) -> None:
        """What the conversion of what was paid in other coins takes."""
        self._stocked_at = dict[str, int]()
        for network, mainnet in self._mainnets.items():
            mainnet.fund("USDC", devnet.HOT_WALLET, 1_000 * 10**6)
            self._stocked_at[network] = mainnet.height

    def _claim_webhooks(self, shop: Shop, secret: str, received: Sequence[tuple[dict[str, str], bytes]]) -> None:
        """Every event that the API lists has arrived, signed."""
        expected = {event["id"] for event in _all(shop, "/events")}
        deadline = time.monotonic() + 30
        while len(received) < len(expected) and time.monotonic() < deadline:
            time.sleep(0.5)
        arrived = [verified(secret, headers, body) for headers, body in list(received)]
        types = Counter(event["type"] for event in arrived)
        self._show(
            "every event has arrived by https with a signature that verifies",
            f"{len(expected)} events, {types['payment.completed']} of them payment.completed",
            holds=expected == {event["id"] for event in arrived} and types["payment.completed"] == len(self._payments),
        )

    def _lose_a_beat(self, shop: Shop) -> None:
        """Whichever of the two leads: with either gone, work goes on."""
        self._installation.kill("beat-0")
        payment = self._open_payment(shop, "polygon", "USDC")
        self._mainnets["polygon"].pay([("USDC", payment["depositAddress"], _units(payment, "cryptoAmount"))])
        ended = shop.until(
            f"/payments/{payment['id']}", lambda found: found["status"] == "completed", seconds=SECONDS_MAX
        )
        self._show("with one beat killed the other goes on", ended["status"], holds=ended["status"] == "completed")

    def _back_up(self) -> None:
        """Make the first backup, and try it beside the database."""
        folder, environment = self._installation.folder / "backups", self._given("all")
        code, said = self._installation.manage("backup", "--to", str(folder), environment=environment)
        if not code:
            [file] = folder.iterdir()
            who_makes_databases = {"DATABASE_URL": self._settings["DATABASE_URL"]}
            command = ("backup_drill", str(file))
            code, said = self._installation.manage(*command, environment=environment | who_makes_databases)
        self._show("a backup is made, and one could go on with it", said.strip().splitlines()[-1], holds=not code)

    def _consult_doctor(self, when: str) -> None:
        """Everything is well by its word, without a hand's help, once everything has worked once."""
        deadline = time.monotonic() + DOCTOR_SECONDS_MAX
        while True:
            code, said = self._installation.manage("doctor", "--production", environment=self._given("all"))
            wrong = re.findall(r"^(?:warn|fail) .*", said, re.MULTILINE)
            if (not code and not wrong) or time.monotonic() > deadline:
                break
            time.sleep(2)
        shown = "; ".join([f"{len(re.findall(r'^ok ', said, re.MULTILINE))} lines ok", *wrong])
        self._show(f"doctor finds everything well {when}", shown, holds=not code and not wrong)

    def _look_at_everything(self) -> None:
        """The ledger, the chain and the health of what runs, once nothing moves any more."""
        deadline = time.monotonic() + SECONDS_MAX
        while time.monotonic() < deadline and (differences := self._differences()):
            time.sleep(1)
        self._show(
            "the ledger's hot wallets are the chain's", f"{differences or 'no difference'}", holds=not differences
        )
        said = self._manage("money", "reconcile", "--full")
        print(said, file=sys.stderr) if self._checks[-1].holds is False else None  # noqa: T201 - what it found
        ready = self._ask_until("/health/ready", lambda reply: reply.status_code == httpx.codes.OK)
        sees_beat = ready.json()["beatHeartbeatAgeSeconds"] is not None
        self._show(
            "ready at the end, and web sees that beat ticks", ready.text[-40:], holds=ready.is_success and sees_beat
        )
        secrets = [*SECRETS.values(), devnet.HOT_WALLET_KEY]
        logs = "".join(path.read_text(errors="replace") for path in self._installation.folder.glob("*.log"))
        self._show("no log holds a secret", f"{len(logs)} characters", holds=not any(each in logs for each in secrets))

    def _differences(self) -> dict[str, int]:
        found = {}
        for network, mainnet in self._mainnets.items():
            for code in COINS:
                [held] = mainnet.held(code, [devnet.HOT_WALLET]).values()
                booked = balance(hot_account(network, code), environment=Environment.PRODUCTION)
                if held != booked:
                    found[f"{network} {code}"] = held - booked
        return found


def _all(shop: Shop, path: str) -> Iterator[Record]:
    """Every record of a list, page by page."""
    page = shop.call("GET", f"{path}?limit=100")
    yield from page["data"]
    while page["hasMore"]:
        page = shop.call("GET", f"{path}?limit=100&starting_after={page['data'][-1]['id']}")
        yield from page["data"]


def _units(record: Record, name: str) -> int:
    """A decimal amount of a record in base units of its coin."""
    code = record.get("cryptocurrency") or record["settlementCurrency"]
    decimals = NETWORKS[record["network"]].real.assets[code].decimals
    return int(Decimal(record[name]) * 10**decimals)


@contextmanager
def _receiver(folder: Path, trust: ssl.SSLContext) -> Iterator[list[tuple[dict[str, str], bytes]]]:
    """The shop's own server: takes webhooks over TLS at an address that is public to Ballast, and keeps them."""
    received: list[tuple[dict[str, str], bytes]] = []

    class Handler(http.server.BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            received.append(({name.lower(): value for name, value in self.headers.items()}, body))
            self.send_response(204)
            self.send_header("Content-Length", "0")
            self.end_headers()

        def log_message(self, *_: object) -> None:
            """Keeps the report readable."""

    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(folder / "certificate.pem", folder / "key.pem")
    server = http.server.ThreadingHTTPServer((PUBLIC_ADDRESS, 443), Handler)
    server.socket = context.wrap_socket(server.socket, server_side=True)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.1})
    thread.start()
    yield received
    server.shutdown()
    server.server_close()
    thread.join()
