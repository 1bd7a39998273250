"""Bodies and queries that break naive services, each with the answer it must get from POST and GET /payments.

One table for two tests: the parser alone, which must refuse every case of `PARSER`, and the API over HTTP.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field

VALID = {
    "amount": 25.5,
    "currency": "USD",
    "cryptocurrency": "USDC",
    "network": "polygon",
    "merchantWallet": "0x52908400098527886E0F7030069857D2E4169EE7",
}


@dataclass(frozen=True)
class HostileBody:
    name: str
    body: bytes
    code: str
    param: str | None = None
    content_type: str = "application/json"
    headers: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class HostileQuery:
    name: str
    query: str
    code: str
    param: str | None


def with_raw(name: str, raw: str) -> bytes:
    """The valid body with one field written as the given JSON text, valid or not."""
    fields = {key: json.dumps(value) for key, value in VALID.items()} | {name: raw}
    return ("{" + ",".join(f"{json.dumps(key)}:{value}" for key, value in fields.items()) + "}").encode(
        "utf-8", "surrogatepass"
    )


def nested(opening: str, closing: str, depth: int) -> bytes:
    return with_raw("metadata", opening * depth + '"x"' + closing * depth)


def _bad(name: str, body: bytes) -> HostileBody:
    return HostileBody(name, body, "invalid_json")


PARSER = [
    _bad("nothing but a space", b" "),
    _bad("null", b"null"),
    _bad("a list", b"[]"),
    _bad("a string", b'"amount"'),
    _bad("a number", b"1"),
    _bad("true", b"true"),
    _bad("an unfinished object", b'{"amount": 1'),
    _bad("an unfinished string", b'{"amount": "1'),
    _bad("a comma at the end", b'{"amount": 1,}'),
    _bad("two objects", b'{"amount": 1}{"amount": 2}'),
    _bad("rubbish after the object", b'{"amount": 1} x'),
    _bad("single quotes", b"{'amount': 1}"),
    _bad("a comment", b'{"amount": 1 /* one */}'),
    _bad("a key without quotes", b"{amount: 1}"),
    _bad("a form", b"amount=1&currency=USD"),
    _bad("HTML", b"<html></html>"),
    _bad("random bytes", bytes(range(256))),
    _bad("a byte order mark", b"\xef\xbb\xbf" + json.dumps(VALID).encode()),
    _bad("UTF-16", json.dumps(VALID).encode("utf-16")),
    _bad("UTF-32", json.dumps(VALID).encode("utf-32-le")),
    _bad("bytes that are not UTF-8", b'{"amount": "\xff\xfe"}'),
    _bad("an overlong slash", b'{"redirectUrl": "https:\xc0\xaf\xc0\xafexample.com"}'),
    _bad("a raw surrogate", b'{"currency": "\xed\xa0\x80"}'),
    _bad("an escaped lone high surrogate", with_raw("currency", '"\\ud800"')),
    _bad("an escaped lone low surrogate", with_raw("currency", '"\\udc00"')),
    _bad("surrogates in the wrong order", with_raw("currency", '"\\udc00\\ud800"')),
    _bad("a lone surrogate in a key", b'{"\\ud800": 1}'),
    _bad("a lone surrogate deep inside", with_raw("metadata", '{"a": ["\\ud83d"]}')),
    _bad("an escaped NUL", with_raw("currency", '"US\\u0000D"')),
    _bad("an escaped NUL in a key", b'{"amount\\u0000": 1}'),
    _bad("an escaped NUL deep inside", with_raw("metadata", '{"a": "\\u0000"}')),
    _bad("a raw NUL in a string", b'{"currency": "US\x00D"}'),
    _bad("a raw NUL outside", b'{"amount": 1}\x00'),
    _bad("a raw newline in a string", b'{"currency": "US\nD"}'),
    _bad("a wrong escape", with_raw("currency", '"\\x41"')),
    _bad("a short escape", with_raw("currency", '"\\u00"')),
    _bad("duplicate keys", b'{"amount": 1, "amount": 2}'),
    _bad("duplicate keys, one of them escaped", b'{"amount": 1, "\\u0061mount": 2}'),
    _bad("duplicate keys deep inside", with_raw("metadata", '{"a": "1", "a": "2"}')),
    _bad("33 levels of objects", nested('{"a":', "}", 32)),
    _bad("3,000 lists", nested("[", "]", 3000)),
    _bad("100,000 lists", b'{"a":' + b"[" * 100_000),
    _bad("3,000 objects", nested('{"a":', "}", 3000)),
    _bad("many unclosed objects", b'{"a":' * 40_000),
    _bad("NaN", with_raw("amount", "NaN")),
    _bad("Infinity", with_raw("amount", "Infinity")),
    _bad("minus Infinity", with_raw("amount", "-Infinity")),
    _bad("1e400", with_raw("amount", "1e400")),
    _bad("1e-400", with_raw("amount", "1e-400")),
    _bad("1e999999999", with_raw("amount", "1e999999999")),
    _bad("1e-999999999", with_raw("amount", "1e-999999999")),
    _bad("an exponent past every decimal", with_raw("amount", "1e99999999999999999999")),
    _bad("a zero with a huge exponent", with_raw("amount", "0e999999999")),
    _bad("an integer of 5,000 digits", with_raw("amount", "9" * 5000)),
    _bad("an integer of 200,000 digits", with_raw("amount", "9" * 200_000)),
    _bad("100,000 decimals", with_raw("amount", "1." + "1" * 100_000)),
    _bad("a leading zero", with_raw("amount", "025")),
    _bad("a leading plus", with_raw("amount", "+25")),
    _bad("a leading point", with_raw("amount", ".5")),
    _bad("a trailing point", with_raw("amount", "5.")),
    _bad("hexadecimal", with_raw("amount", "0x19")),
    _bad("underscores between digits", with_raw("amount", "1_000")),
    _bad("full-width digits", with_raw("amount", "２５")),
    _bad("Arabic digits", with_raw("amount", "٢٥")),
    _bad("two minus signs", with_raw("amount", "--1")),
    _bad("True as Python writes it", with_raw("amount", "True")),
    HostileBody("3 MB", with_raw("metadata", '{"a": "' + "x" * 3_000_000 + '"}'), "body_too_large"),
    HostileBody("one byte too many", b'{"a":"' + b"x" * (256 * 1024 - 7) + b'"}', "body_too_large"),
    HostileBody("3 MB of spaces", b" " * 3_000_000, "body_too_large"),
]
"""What the parser must refuse before any field is looked at."""


def _invalid(name: str, param: str, raw: str) -> HostileBody:
    return HostileBody(name, with_raw(param, raw), "invalid_parameter", param)


_LONG_URL = json.dumps("https://example.com/" + "x" * 2000)

FIELDS = [
    HostileBody("an empty object", b"{}", "missing_parameter", "amount"),
    HostileBody("an empty body", b"", "missing_parameter", "amount"),
    HostileBody("an unknown field", with_raw("ammount", "1"), "unknown_parameter", "ammount"),
    HostileBody("an empty key", with_raw("", "1"), "unknown_parameter"),
    HostileBody("a prototype key", with_raw("__proto__", "{}"), "unknown_parameter", "__proto__"),
    HostileBody("another case", with_raw("merchantwallet", '"x"'), "unknown_parameter", "merchantwallet"),
    HostileBody("no content type", json.dumps(VALID).encode(), "unsupported_content_type", content_type=""),
    HostileBody("text", json.dumps(VALID).encode(), "unsupported_content_type", content_type="text/plain"),
    HostileBody(
        "a form by its type",
        b"amount=1",
        "unsupported_content_type",
        content_type="application/x-www-form-urlencoded",
    ),
    HostileBody(
        "a broken multipart", b"--x", "unsupported_content_type", content_type="multipart/form-data; boundary=x"
    ),
    HostileBody(
        "JSON called UTF-16",
        json.dumps(VALID).encode("utf-16"),
        "unsupported_content_type",
        content_type="application/json; charset=utf-16",
    ),
    HostileBody(
        "a compressing charset",
        json.dumps(VALID).encode(),
        "unsupported_content_type",
        content_type="application/json; charset=bz2_codec",
    ),
    HostileBody(
        "a very long content type",
        json.dumps(VALID).encode(),
        "unsupported_content_type",
        content_type="application/" + "x" * 4000,
    ),
    _invalid("an amount in quotation marks", "amount", '"25.50"'),
    _invalid("an amount with underscores in quotation marks", "amount", '"1_000"'),
    _invalid("an amount of full-width digits in quotation marks", "amount", '"２５"'),
    _invalid("an amount of true", "amount", "true"),
    _invalid("an amount of null", "amount", "null"),
    _invalid("an amount in a list", "amount", "[25]"),
    _invalid("an amount in an object", "amount", '{"value": 25}'),
    _invalid("an amount of zero", "amount", "0"),
    _invalid("an amount of zero point zero", "amount", "0.00"),
    _invalid("an amount of minus zero", "amount", "-0.0"),
    _invalid("a negative amount", "amount", "-25.5"),
    _invalid("an amount too small for the currency", "amount", "0.001"),
    _invalid("more digits than the currency has", "amount", "25.505"),
    _invalid("an amount that no float holds", "amount", "9007199254740993.01"),
    _invalid("an amount past the limit", "amount", "1000000.01"),
    _invalid("an amount past 64 bits", "amount", "18446744073709551616"),
    _invalid("1e30", "amount", "1e30"),
    _invalid("1e-30", "amount", "1e-30"),
    _invalid("a currency that does not exist", "currency", '"ZZZ"'),
    _invalid("a currency of another alphabet", "currency", '"ＵＳＤ"'),
    _invalid("a currency with a space", "currency", '"USD "'),
    _invalid("an empty currency", "currency", '""'),
    _invalid("a currency of 100,000 characters", "currency", json.dumps("U" * 100_000)),
    _invalid("a number for a currency", "currency", "840"),
    _invalid("a coin that does not exist", "cryptocurrency", '"BTC"'),
    _invalid("a coin in a list", "cryptocurrency", '["USDC"]'),
    _invalid("a network that does not exist", "network", '"bitcoin"'),
    _invalid("a network as an object", "network", '{"$ne": null}'),
    _invalid("an empty wallet", "merchantWallet", '""'),
    _invalid(
        "a wallet of another network", "merchantWallet", '"GBRPYHIL2CI3FNQ4BXLFMNDLFJUNPU2HY3ZMFSHONUCEOASW7QC7OX2H"'
    ),
    _invalid("a wallet with a wrong checksum", "merchantWallet", '"0x52908400098527886e0F7030069857D2E4169EE7"'),
    _invalid("a wallet with a newline", "merchantWallet", '"0x52908400098527886E0F7030069857D2E4169EE7\\n"'),
    _invalid("an SQL injection", "merchantWallet", '"0x\' OR 1=1; --"'),
    _invalid("a number for a wallet", "merchantWallet", "123456789"),
    _invalid("ftp", "redirectUrl", '"ftp://example.com/"'),
    _invalid("javascript", "redirectUrl", '"javascript:alert(1)"'),
    _invalid("data", "redirectUrl", '"data:text/html,x"'),
    _invalid("no scheme", "redirectUrl", '"//example.com/"'),
    _invalid("no host", "redirectUrl", '"https:///path"'),
    _invalid("a user name", "redirectUrl", '"https://user@example.com/"'),
    _invalid("a user name and a password", "webhookUrl", '"https://user:password@example.com/"'),
    _invalid("an empty user name", "redirectUrl", '"https://@example.com/"'),
    _invalid("a newline at the end of an address", "redirectUrl", '"https://example.com/\\n"'),
    _invalid("a newline inside an address", "redirectUrl", '"https://example.com/\\r\\nSet-Cookie: a=b"'),
    _invalid("a tab in a host", "redirectUrl", '"https://exa\\tmple.com/"'),
    _invalid("a backslash", "redirectUrl", '"https://example.com\\\\@evil.example/"'),
    _invalid("a space", "redirectUrl", '"https://example.com/a b"'),
    _invalid("a port that is no number", "webhookUrl", '"https://example.com:port/"'),
    _invalid("a port past the last", "webhookUrl", '"https://example.com:65536/"'),
    _invalid("a broken IPv6 host", "webhookUrl", '"https://[::1/"'),
    _invalid("a host of two points", "webhookUrl", '"https://example..com/"'),
    _invalid("an address past 2,000 characters", "redirectUrl", _LONG_URL),
    _invalid("a list for an address", "webhookUrl", '["https://example.com/"]'),
    _invalid("a lifetime in quotation marks", "expiresIn", '"1800"'),
    _invalid("a lifetime with a fraction", "expiresIn", "1800.5"),
    _invalid("a lifetime of true", "expiresIn", "true"),
    _invalid("a lifetime of zero", "expiresIn", "0"),
    _invalid("a negative lifetime", "expiresIn", "-1800"),
    _invalid("a lifetime just too short", "expiresIn", "59"),
    _invalid("a lifetime just too long", "expiresIn", "86401"),
    _invalid("a lifetime past 32 bits", "expiresIn", "4294967296"),
    _invalid("a lifetime past 64 bits", "expiresIn", "18446744073709551616"),
    _invalid("a lifetime of 1e20", "expiresIn", "1e20"),
    _invalid("metadata that is text", "metadata", '"order 7"'),
    _invalid("metadata that is a list", "metadata", "[]"),
    _invalid("metadata past 16 KiB", "metadata", json.dumps({"order": "v" * 16 * 1024})),
]
"""What the parser lets through and a field refuses."""


def _query(name: str, query: str, param: str, code: str = "invalid_parameter") -> HostileQuery:
    return HostileQuery(name, query, code, param)


QUERIES = [
    _query("an unknown parameter", "page=2", "page", "unknown_parameter"),
    _query("another spelling", "startingAfter=x", "startingAfter", "unknown_parameter"),
    _query("a parameter given twice", "limit=1&limit=2", "limit"),
    _query("a list by brackets", "status[]=created", "status[]", "unknown_parameter"),
    _query("a limit of zero", "limit=0", "limit"),
    _query("a limit of 101", "limit=101", "limit"),
    _query("a negative limit", "limit=-1", "limit"),
    _query("a limit with a sign", "limit=%2B5", "limit"),
    _query("an empty limit", "limit=", "limit"),
    _query("a limit with a fraction", "limit=1.5", "limit"),
    _query("a limit with an exponent", "limit=1e1", "limit"),
    _query("a limit with a space", "limit=%205", "limit"),
    _query("a limit with an underscore", "limit=1_0", "limit"),
    _query("a limit of full-width digits", "limit=%EF%BC%95", "limit"),
    _query("a limit past 64 bits", "limit=99999999999999999999", "limit"),
    _query("a limit of 5,000 digits", "limit=" + "9" * 5000, "limit"),
    _query("a limit with a NUL", "limit=5%00", "limit"),
    _query("an empty cursor", "starting_after=", "starting_after"),
    _query("a cursor that is no id", "starting_after=abc", "starting_after"),
    _query("a cursor with a NUL", "starting_after=pay_%00", "starting_after"),
    _query("a cursor of another kind", "starting_after=ref_01kfjhr3c8e4bs0dz6wd5n5yry", "starting_after"),
    _query("a cursor nobody has", "starting_after=pay_01kfjhr3c8e4bs0dz6wd5n5yry", "starting_after"),
    _query("a cursor past 128 bits", "starting_after=pay_" + "z" * 26, "starting_after"),
    _query("a cursor of 5,000 characters", "starting_after=pay_" + "0" * 5000, "starting_after"),
    _query("a cursor that is not UTF-8", "starting_after=%FF%FE", "starting_after"),
    _query("a cursor that injects SQL", "starting_after=%27%20OR%201%3D1%20--", "starting_after"),
    _query("a status that does not exist", "status=paid", "status"),
    _query("an empty status", "status=", "status"),
    _query("a status with a NUL", "status=created%00", "status"),
    _query("a status in capitals", "status=CREATED", "status"),
    _query("a date that is none", "created_gte=yesterday", "created_gte"),
    _query("an empty date", "created_gte=", "created_gte"),
    _query("the 30th of February", "created_gte=2027-02-30", "created_gte"),
    _query("the 13th month", "created_lte=2027-13-01", "created_lte"),
    _query("the 25th hour", "created_lte=2027-01-01T25:00:00Z", "created_lte"),
    _query("a leap second", "created_lte=2027-01-01T23:59:60Z", "created_lte"),
    _query("the year 0", "created_gte=0000-01-01", "created_gte"),
    _query("the year 1969", "created_gte=1969-12-31", "created_gte"),
    _query("the year 10000", "created_gte=10000-01-01", "created_gte"),
    _query("a Unix time", "created_gte=1800000000", "created_gte"),
    _query("a date in full-width digits", "created_gte=%EF%BC%92%EF%BC%90%EF%BC%92%EF%BC%97-01-01", "created_gte"),
    _query("a date with a NUL", "created_gte=2027-01-01%00", "created_gte"),
    _query("an offset of 99 hours", "created_gte=2027-01-01T00:00:00%2B99:00", "created_gte"),
    _query("a time without a date", "created_gte=T10:00:00Z", "created_gte"),
    _query("a date that injects SQL", "created_gte=2027-01-01%27--", "created_gte"),
    _query("a date of 5,000 characters", "created_lte=2027-01-01" + "0" * 5000, "created_lte"),
    _query("a NUL for a name", "%00=1", "\x00", "unknown_parameter"),
]
