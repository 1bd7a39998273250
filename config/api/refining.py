"""Rules that apply to many schemas of the OpenAPI document at once, instead of field by field."""

from __future__ import annotations

from typing import Any

from config import ids

AMOUNT_PATTERN = r"^-?[0-9]+\.[0-9]{6,18}$"
_IDS = {"payment", "refund", "settlement", "webhook", "event", "delivery", "merchant", "discrepancy"}
_OWN_IDS = {kind.noun: kind.pattern for kind in ids.KINDS if kind.noun in _IDS}
_NAMED_IDS = {"paymentId": "payment", "refundId": "refund", "discrepancyId": "discrepancy"}
_AMOUNTS = {
    "cryptoAmount",
    "amountDue",
    "amountReceived",
    "amountRefunded",
    "grossAmount",
    "feeAmount",
    "refundAmount",
    "debtAmount",
}
_EVM_ADDRESS, _STELLAR_ADDRESS = "0[xX][0-9a-fA-F]{40}", "G[A-Z2-7]{55}|M[A-Z2-7]{68}"
ADDRESS_PATTERN = f"^({_EVM_ADDRESS}|{_STELLAR_ADDRESS})$"
_ADDRESSES = {"merchantWallet", "destination", "walletAllowList"}
_WALLETS = {"ethereum": f"^{_EVM_ADDRESS}$", "polygon": f"^{_EVM_ADDRESS}$", "stellar": f"^({_STELLAR_ADDRESS})$"}
_TOGETHER = {
    "NewPaymentRequest": (("cryptocurrency", "network", "merchantWallet"), ("merchantWallets", "cryptocurrencies"))
}
"""Fields that come all together or not at all, and those that do not come beside them."""
_NEVER_EMPTY = {"events", "types"}
NO_CONTROL_CHARACTERS = r"^[^\x00-\x1f\x7f-\x9f\u2028\u2029]*$"


def refine(schemas: dict[str, Any]) -> None:
    """Add what client generators need to requests (schemas named `…Request`), and patterns to texts."""
    for name, schema in schemas.items():
        if "properties" not in schema:
            continue
        if name.endswith("Request"):
            schema["properties"] = {
                field: _in_request(_as_strict(field, described), is_required=field in schema.get("required", ()))
                for field, described in schema["properties"].items()
            }
            if name in _TOGETHER:
                together, apart = _TOGETHER[name]
                without = {"properties": {field: {"type": "null"} for field in apart}}
                schema["dependentRequired"] = {
                    each: [other for other in together if other != each] for each in together
                }
                schema["dependentSchemas"] = {together[0]: without}
        else:
            _patterns_of_record(schema["properties"])


def _in_request(described: dict[str, Any], *, is_required: bool) -> dict[str, Any]:
    """Describe a default in words, because generators require a field with `default`. Optional fields may be null."""
    field = dict(described)
    if "default" in field:
        default = field.pop("default")
        shown = default if isinstance(default, (str, int)) and default != "" else None
        if shown is not None:
            field["description"] = f"{field.get('description', '')} {shown} when it is left out.".strip()
    if field.get("type") == "string" and not {"enum", "format", "pattern"} & field.keys():
        field["pattern"] = NO_CONTROL_CHARACTERS
    return field if is_required else _nullable(field)


def _as_strict(name: str, field: dict[str, Any]) -> dict[str, Any]:
    """Rules of the server for addresses and lists that serializers do not declare."""
    if name in _NEVER_EMPTY:
        return {**field, "minItems": 1}
    pattern = ADDRESS_PATTERN if name in _ADDRESSES else _WALLETS.get(name)
    if pattern is None:
        return field
    if "items" in field:
        return {**field, "items": {**field["items"], "pattern": pattern}}
    return {**field, "pattern": pattern}


def _nullable(field: dict[str, Any]) -> dict[str, Any]:
    if "$ref" in field:
        return {"anyOf": [field, {"type": "null"}]}
    if "allOf" in field:  # a reference with words of its own
        parts = field["allOf"]
        return {
            **{name: value for name, value in field.items() if name != "allOf"},
            "anyOf": [*parts, {"type": "null"}],
        }
    if "anyOf" in field:
        known = [option for option in field["anyOf"] if option != {"type": "null"}]
        return {**field, "anyOf": [*known, {"type": "null"}]}
    if not isinstance(field.get("type"), str):
        return field
    enum = {"enum": [*field["enum"], None]} if "enum" in field else {}
    return {**field, "type": [field["type"], "null"], **enum}


def _patterns_of_record(properties: dict[str, Any]) -> None:
    (noun,) = properties.get("object", {}).get("enum", [""])[:1] or [""]
    for name, field in properties.items():
        pattern = _OWN_IDS.get(noun if name == "id" else _NAMED_IDS.get(name, ""))
        if name in _AMOUNTS:
            pattern = AMOUNT_PATTERN
        if pattern and field.get("type") in ("string", ["string", "null"]):
            field["pattern"] = pattern
