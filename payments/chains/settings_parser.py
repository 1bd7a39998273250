"""What the operator has set for each network: for real money and, with TESTNET_ before the names, for a test network.

The settings of Django are made of this, so that it imports nothing that needs them.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from pathlib import Path
from typing import Any, Literal

from config.process.variables import Variables
from payments.chains.errors import InvalidAddress
from payments.chains.evm import addresses as evm_addresses
from payments.chains.evm.deposit_addresses.derivation import FORMER, KEY_BYTES
from payments.chains.key_services.base import AWS_KMS, VAULT, parse_place
from payments.chains.networks import NETWORKS
from payments.chains.profiles import Family, NetworkProfile
from payments.chains.signer.connection import Certificates, is_encrypted, parse_address
from payments.chains.stellar import addresses as stellar_addresses

Kind = Literal["", "TESTNET_"]
"""What stands before the names of settings."""

MAINNET: Kind = ""
TESTNET: Kind = "TESTNET_"

LEAST_AGREEING = 2
MOST_CHANNELS = 50
LEAST_FEE_CAP_STROOPS = 1_000
"""Of an operation: enough to replace once what offers the network's least fee."""

_PROVIDERS: Mapping[Family, str] = {"evm": "RPC_URLS", "stellar": "HORIZON_URLS"}
_ADDRESSES: Mapping[Family, tuple[str, ...]] = {"evm": ("factory", "owner", "hot_wallet"), "stellar": ("hot_wallet",)}
_SECRETS = ("keystore", "keystore_password", "hot_wallet_key")
_GWEI_PRICE = r"\d{1,9}(\.\d{1,9})?"


@dataclass(frozen=True, slots=True, kw_only=True)
class NetworkSettings:
    """Of one network. What is not set is empty; what no error page may show is not in its repr."""

    kind: Kind = MAINNET
    rpc_urls: tuple[str, ...] = field(default=(), repr=False)
    """Its providers: JSON-RPC nodes or Horizons. What decides about money is believed when two agree."""
    agreeing: int = LEAST_AGREEING
    """How many providers must agree on what decides about money."""
    separate: tuple[str, ...] = ()
    """Domains below which each host is a provider of its own."""
    one_may_decide: bool = False
    """Whether one provider may decide about money alone. Its answers are then always believed."""
    factory: str = ""
    """The contract behind the deposit addresses."""
    address_key: str = field(default="", repr=False)
    """What the salts of deposit addresses and the memos of stellar are computed with, in hexadecimal digits; empty: by
    the numbers alone."""
    former_addresses: Mapping[str, str] = field(default_factory=dict)
    """By the last number each: where the addresses of earlier numbers come from, like plain:0x…"""
    owner: str = ""
    """The address that owns the factory: a hardware wallet or a multisig, whose key no server has."""
    hot_wallet: str = ""
    """The address payouts leave from, and where sweeps go unless that is the cold wallet."""
    cold_wallet: str = ""
    """The address that keeps what the hot wallet does not need: a hardware wallet or a multisig."""
    sweeps_to_cold: bool = True
    """Whether sweeps go to the cold wallet, where there is one."""
    oracle: str = ""
    """The contract that names sanctioned accounts; empty: none is queried."""
    keystore: str = field(default="", repr=False)
    keystore_password: str = field(default="", repr=False)
    hot_wallet_key: str = field(default="", repr=False)
    """The hot wallet's key itself; a keystore file is better. Read by the worker that sends, alone."""
    key_service: str = ""
    """Which key of AWS KMS or Vault signs for the hot wallet; empty where its key is in the process that signs."""
    signer_url: str = ""
    """Where the signer of its own listens that has the key; empty where a key of this process signs."""
    tip_floor_gwei: Decimal = Decimal(0)
    fee_cap_gwei: Decimal = Decimal(200)
    channels: int = 1
    """How many accounts of stellar lend their sequences to payouts. One is the hot wallet itself."""
    fee_cap_stroops: int = 100_000
    """The most that is offered for one operation on stellar."""
    claimable_balances: bool = False
    """Whether payouts to accounts of stellar that cannot take the coin become claimable balances in the end."""
    issuers: Mapping[str, str] = field(default_factory=dict)
    """By code, of the coins that have no well-known one."""


AllNetworkSettings = dict[tuple[Kind, str], NetworkSettings]
"""By kind and network."""


def urls_name(kind: Kind, network: str) -> str:
    """The setting that names a network's providers."""
    return f"{kind}{network.upper()}_{_PROVIDERS[NETWORKS[network].real.family]}"


def single_provider_name(network: str) -> str:
    """The setting that lets one provider of a network decide alone."""
    return {"evm": "EVM_SINGLE_PROVIDER_NETWORKS", "stellar": "STELLAR_SINGLE_PROVIDER"}[NETWORKS[network].real.family]


def read_network_settings(
    variables: Variables, *, in_production: Collection[str], on_testnet: bool, only_encrypted: bool = False
) -> AllNetworkSettings:
    """Those of every network. What is malformed is refused, and what is missing of networks in use.

    `only_encrypted` refuses providers reached by plain http, except those on this machine.
    """
    found = _evm_settings(variables, only_encrypted) | _stellar_settings(variables, only_encrypted)
    for (kind, name), each in found.items():
        if kind == MAINNET and name in in_production:
            _require(variables, name, each, f"PRODUCTION_NETWORKS names {name}")
    if on_testnet:
        tested = {name: each for (kind, name), each in found.items() if kind == TESTNET}
        with_providers = [name for name, each in tested.items() if each.rpc_urls]
        first_evm = next(name for name in tested if NETWORKS[name].real.family == "evm")
        for name in with_providers or [first_evm]:
            _require(variables, name, tested[name], "SANDBOX_CHAIN is testnet")
    return found


def _agreeing(variables: Variables) -> int:
    return variables.integer("PROVIDERS_THAT_AGREE", LEAST_AGREEING, minimum=LEAST_AGREEING)


def _networks(family: Family) -> dict[str, NetworkProfile]:
    return {name: each.real for name, each in NETWORKS.items() if each.real.family == family}


def _evm_settings(variables: Variables, only_encrypted: bool) -> AllNetworkSettings:
    evm = _networks("evm")
    tips, caps = _gwei_prices(variables, evm)
    oracles = _oracles(variables, evm)
    found: AllNetworkSettings = {}
    agreeing, separate = _agreeing(variables), tuple(variables.names("SEPARATE_PROVIDERS"))
    for kind in (MAINNET, TESTNET):
        alone = variables.choices(f"{kind}EVM_SINGLE_PROVIDER_NETWORKS", list(evm))
        signer_url = _signer_url(variables, kind)
        shared: dict[str, Any] = {name: variables.text(f"{kind}EVM_{name.upper()}") for name in _ADDRESSES["evm"]}
        shared |= {name: variables.secret(f"{kind}EVM_{name.upper()}") for name in _SECRETS}
        shared |= _derivation_settings(variables, kind)
        shared["key_service"] = _key_service(variables, f"{kind}EVM_KEY_SERVICE", services=(AWS_KMS,))
        keys = {f"{kind}EVM_{name.upper()}": shared[name] for name in (*_SECRETS, "key_service")}
        _refuse_key_beside(variables, signer_url, kind, keys)
        del keys[f"{kind}EVM_KEYSTORE_PASSWORD"]
        _refuse_two_keys(variables, keys)
        shared |= _cold_settings(variables, kind, shared["hot_wallet"])
        for name in evm:
            if kind == MAINNET or NETWORKS[name].test is not None:
                found[kind, name] = NetworkSettings(
                    kind=kind,
                    rpc_urls=tuple(variables.addresses(urls_name(kind, name), only_encrypted=only_encrypted)),
                    agreeing=agreeing,
                    separate=separate,
                    one_may_decide=name in alone,
                    oracle=oracles.get(name, "") if kind == MAINNET else "",
                    tip_floor_gwei=tips[name],
                    fee_cap_gwei=caps[name],
                    signer_url=signer_url,
                    **shared,
                )
    return found


def _cold_settings(variables: Variables, kind: Kind, hot_wallet: str) -> dict[str, Any]:
    """Where coins are that the hot wallet does not need, and where sweeps go."""
    setting, text = f"{kind}EVM_COLD_WALLET", variables.text(f"{kind}EVM_COLD_WALLET")
    cold = ""
    try:
        cold = evm_addresses.parse(text) if text else ""
    except InvalidAddress as error:
        variables.refuse(setting, f"is no address. {error}".removesuffix("."))
    if cold and cold.lower() == hot_wallet.lower():
        variables.refuse(setting, "is the hot wallet; set it to another address, or unset it")
    goal = variables.choice(f"{kind}EVM_SWEEPS_TO", ("cold", "hot"), "cold")
    return {"cold_wallet": cold, "sweeps_to_cold": goal == "cold"}


def _oracles(variables: Variables, evm: Collection[str]) -> dict[str, str]:
    """The contract that names sanctioned accounts, by network."""
    wanted = f"a list of contracts; set it like {next(iter(evm))}=0x…"
    found = variables.mapping("SANCTIONS_ORACLES", values=r"0x[0-9a-fA-F]{40}", wanted=wanted, keys=evm)
    try:
        return {name: evm_addresses.parse(text) for name, text in found.items()}
    except InvalidAddress as error:
        variables.refuse("SANCTIONS_ORACLES", f"has what is no address. {error}".removesuffix("."))
        return {}


def _address_key(variables: Variables, kind: Kind) -> str:
    """Empty where none is set, or none of the form of a key."""
    key = variables.secret(f"{kind}EVM_ADDRESS_KEY")
    return key if re.fullmatch(rf"[0-9a-fA-F]{{{2 * KEY_BYTES}}}", key) else ""


def _derivation_settings(variables: Variables, kind: Kind) -> dict[str, Any]:
    """What deposit addresses are computed with."""
    key = _address_key(variables, kind)
    if not key and variables.secret(f"{kind}EVM_ADDRESS_KEY"):
        variables.refuse(f"{kind}EVM_ADDRESS_KEY", "is no key; set it to what `openssl rand -hex 32` prints")
    setting = f"{kind}EVM_FORMER_ADDRESSES"
    wanted = "a list of numbers and factories; set it to what `manage.py change_addresses` says"
    former = variables.mapping(setting, values=FORMER, wanted=wanted)
    return {"address_key": key, "former_addresses": former}


def _stellar_settings(variables: Variables, only_encrypted: bool) -> AllNetworkSettings:
    found: AllNetworkSettings = {}
    agreeing, separate = _agreeing(variables), tuple(variables.names("SEPARATE_PROVIDERS"))
    cap = variables.integer("STELLAR_FEE_CAP_STROOPS", 100_000, minimum=LEAST_FEE_CAP_STROOPS)
    claimable = variables.flag("STELLAR_CLAIMABLE_BALANCES", default=False)
    for kind, name in ((kind, name) for name in _networks("stellar") for kind in (MAINNET, TESTNET)):
        prefix = f"{kind}{name.upper()}"
        channels = variables.integer(f"{prefix}_CHANNELS", 1, minimum=1)
        if channels > MOST_CHANNELS:
            variables.refuse(f"{prefix}_CHANNELS", f"is {channels}; set it to a number from 1 to {MOST_CHANNELS}")
        signer_url, key = _signer_url(variables, kind), variables.secret_or_file(f"{prefix}_HOT_WALLET_KEY")
        key_service = _key_service(variables, f"{prefix}_KEY_SERVICE", services=(AWS_KMS, VAULT))
        if key_service and channels > 1:
            fault = f"is {channels}; set it to 1, as the keys of more come from a secret that no key service tells"
            variables.refuse(f"{prefix}_CHANNELS", fault)
        keys = {f"{prefix}_HOT_WALLET_KEY": key, f"{prefix}_KEY_SERVICE": key_service}
        _refuse_two_keys(variables, keys)
        _refuse_key_beside(variables, signer_url, kind, keys)
        found[kind, name] = NetworkSettings(
            kind=kind,
            rpc_urls=tuple(variables.addresses(urls_name(kind, name), only_encrypted=only_encrypted)),
            agreeing=agreeing,
            separate=separate,
            one_may_decide=variables.flag(f"{prefix}_SINGLE_PROVIDER", default=False),
            hot_wallet=_stellar_account(variables, f"{prefix}_HOT_WALLET"),
            cold_wallet=_stellar_account(variables, f"{prefix}_COLD_WALLET"),
            hot_wallet_key=key,
            key_service=key_service,
            signer_url=signer_url,
            address_key=_address_key(variables, kind),
            channels=min(channels, MOST_CHANNELS),
            fee_cap_stroops=cap,
            claimable_balances=claimable,
            issuers=variables.mapping(f"{prefix}_ISSUERS"),
        )
    return found


def _key_service(variables: Variables, setting: str, *, services: Collection[str]) -> str:
    """Which key of which service signs; refused where that has none of the kind that the network takes."""
    if not (text := variables.text(setting)):
        return ""
    try:
        place = parse_place(text)
    except ValueError as error:
        variables.refuse(setting, str(error))
        return ""
    if place.service not in services:
        fault = "names a key in Vault, whose transit has no secp256k1; name one in AWS KMS, or use a keystore"
        variables.refuse(setting, fault)
        return ""
    return text


def _refuse_two_keys(variables: Variables, keys: Mapping[str, str]) -> None:
    """One key signs for a wallet."""
    first, *others = [name for name, key in keys.items() if key] or [""]
    for name in others:
        variables.refuse(name, f"is set beside {first}; unset one of them")


def read_certificates(variables: Variables, urls: Collection[str]) -> Certificates | None:
    """What a process shows to the other side of one of these addresses, and what it believes of it; None where none of
    them is encrypted."""
    folder = variables.text("SIGNER_TLS_FOLDER")
    if not any(map(is_encrypted, urls)):
        return None
    if not folder:
        variables.refuse("SIGNER_TLS_FOLDER", "is not set, but there is a signer at tls://; see docs/signer.md")
    files = [Path(folder) / name for name in ("certificate.pem", "key.pem", "authority.pem")]
    if folder and (missing := [each.name for each in files if not each.is_file()]):
        variables.refuse("SIGNER_TLS_FOLDER", f"has no {' and no '.join(missing)}; see docs/signer.md")
    return Certificates(*map(str, files))


def _signer_url(variables: Variables, kind: Kind) -> str:
    """Where the signer of its own listens; empty in that process itself."""
    if variables.role == "signer" or not (url := variables.text(f"{kind}SIGNER_URL")):
        return ""
    try:
        parse_address(url)
    except ValueError as error:
        variables.refuse(f"{kind}SIGNER_URL", str(error))
        return ""
    return url


def _refuse_key_beside(variables: Variables, signer_url: str, kind: Kind, keys: Mapping[str, str]) -> None:
    """Where a signer has the keys, no other process has them."""
    for name, key in keys.items():
        if signer_url and key:
            variables.refuse(name, f"is set beside {kind}SIGNER_URL; give it to the signer alone")


def _stellar_account(variables: Variables, setting: str) -> str:
    """An account that was set; an M address or a mistyped one is refused."""
    if not (text := variables.text(setting)):
        return ""
    try:
        _, identifier = stellar_addresses.split(text)
    except InvalidAddress as error:
        variables.refuse(setting, f"is no address. {error}".removesuffix("."))
        return ""
    if identifier is not None:
        variables.refuse(setting, "is an M address; set it to the account's own, which starts with G")
    return text


def _require(variables: Variables, network: str, found: NetworkSettings, because: str) -> None:
    family = NETWORKS[network].real.family
    needed: dict[str, object] = {urls_name(found.kind, network): found.rpc_urls}
    needed |= {f"{found.kind}{family.upper()}_{name.upper()}": getattr(found, name) for name in _ADDRESSES[family]}
    variables.require(needed, because=because, see="docs/networks.md")


def _gwei_prices(variables: Variables, evm: Mapping[str, NetworkProfile]) -> tuple[dict[str, Decimal], ...]:
    """The least tips and the highest fees, by network."""
    usual = {
        "EVM_TIP_FLOOR_GWEI": {name: profile.tip_floor_gwei for name, profile in evm.items()},
        "EVM_FEE_CAP_GWEI": {name: profile.fee_cap_gwei for name, profile in evm.items()},
    }
    found = []
    for setting, prices in usual.items():
        like = ",".join(f"{name}={price}" for name, price in prices.items())
        wanted = f"a list of prices in gwei; set it like {like}"
        chosen = prices | variables.mapping(setting, values=_GWEI_PRICE, wanted=wanted, keys=prices)
        found.append({name: Decimal(price) for name, price in chosen.items()})
    tips, caps = found
    for name in evm:
        if caps[name] <= tips[name]:
            fault = f"does not leave {name} more than its tip; set it above EVM_TIP_FLOOR_GWEI"
            variables.refuse("EVM_FEE_CAP_GWEI", fault)
    return tips, caps
