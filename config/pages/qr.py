"""QR codes of addresses and payment links, as small one-bit PNGs.

`qrcode` would make the creation of a payment 1.3 to 2.2 times as expensive (ADR 0030). Here the mask is fixed (readers
accept every mask), error correction and the places of bits come from tables that are filled once, and the PNG is
written directly. Two parts of `qrcode` are used that it does not document: `rs_blocks` and `QRCode.data_cache`.
"""

from __future__ import annotations

import base64
import struct
import zlib
from bisect import bisect_left
from collections.abc import Callable
from functools import cache, lru_cache
from itertools import chain, zip_longest
from operator import itemgetter

from qrcode.base import rs_blocks
from qrcode.constants import ERROR_CORRECT_L
from qrcode.main import QRCode

BOX_PIXELS = 6
QUIET_MODULES = 4
_MASK = 0
_BYTE_MODE = 0b0100
_PADDING = bytes((0xEC, 0x11))
_FIELD_POLYNOMIAL = 0x11D
_PNG_SIGNATURE = b"\x89PNG\r\n\x1a\n"
_UNFILTERED, _LIKE_ABOVE = b"\0", b"\2"
_LIGHT = "1" * BOX_PIXELS
_PIXELS = str.maketrans({"0": _LIGHT, "1": "0" * BOX_PIXELS})
_INVERT = str.maketrans("01", "10")


def _length_bits(version: int) -> int:
    return 8 if version < 10 else 16


def _data_bytes(version: int) -> int:
    return sum(block.data_count for block in rs_blocks(version, ERROR_CORRECT_L))


# Bytes of text each version from 1 to 40 holds at level L, after 4 bits of mode and the length.
_CAPACITY = [0] + [(8 * _data_bytes(v) - 4 - _length_bits(v)) // 8 for v in range(1, 41)]


class TextNotEncodable(ValueError):
    """The text is too long for a QR code, or not ASCII, which readers would have to guess at."""


def render_png(text: str) -> bytes:
    """A black-and-white PNG that decodes to exactly `text`: level L, six pixels a module, quiet zone of four."""
    try:
        content = text.encode("ascii")
    except UnicodeEncodeError as error:
        raise TextNotEncodable("a QR code holds ASCII text") from error
    version = bisect_left(_CAPACITY, len(content), lo=1)
    if version == len(_CAPACITY):
        raise TextNotEncodable(f"{len(content)} characters do not fit into a QR code")
    return _one_bit_png(_modules(_codewords(content, version), version), side=17 + 4 * version)


@lru_cache(maxsize=256)
def drawn(text: str) -> bytes:
    """As render_png, cached: the page of a payment that waits for the rest polls every few seconds."""
    return render_png(text)


def data_uri(png: bytes) -> str:
    """The PNG as a `data:` link that an `<img>` shows without another request."""
    return "data:image/png;base64," + base64.b64encode(png).decode("ascii")


def _codewords(content: bytes, version: int) -> bytes:
    """The text in byte mode with its error correction, blocks interleaved (ISO/IEC 18004, 7.4 to 7.6)."""
    blocks = rs_blocks(version, ERROR_CORRECT_L)
    capacity = _data_bytes(version)
    # Mode, length, text, then up to four zero bits: always whole bytes, because mode and end are four bits each.
    stream = (_BYTE_MODE << _length_bits(version) | len(content)) << 8 * len(content) | int.from_bytes(content, "big")
    data = (stream << 4).to_bytes(1 + _length_bits(version) // 8 + len(content), "big")
    data = (data + _PADDING * capacity)[:capacity]

    data_blocks, correction_blocks, start = [], [], 0
    for block in blocks:
        part = data[start : start + block.data_count]
        data_blocks.append(part)
        correction_blocks.append(_correction(part, block.total_count - block.data_count))
        start += block.data_count
    interleaved = chain(chain(*zip_longest(*data_blocks)), chain(*zip(*correction_blocks, strict=True)))
    return bytes(codeword for codeword in interleaved if codeword is not None)


def _correction(data: bytes, count: int) -> bytes:
    """The Reed-Solomon remainder of `data`: `count` bytes, held as one integer while it is shifted along."""
    multiples, shift, mask, remainder = _generator_multiples(count), 8 * (count - 1), (1 << 8 * count) - 1, 0
    for byte in data:
        remainder = (remainder << 8 & mask) ^ multiples[remainder >> shift ^ byte]
    return remainder.to_bytes(count, "big")


@cache
def _generator_multiples(count: int) -> list[int]:
    """Every multiple of the generator polynomial of degree `count`, its leading term left out, as integers."""
    generator, root = [1], 1
    for _ in range(count):
        generator = [left ^ _product(root, right) for left, right in zip([*generator, 0], [0, *generator], strict=True)]
        root = _product(root, 2)
    multiples = (bytes(_product(factor, each) for each in generator[1:]) for factor in range(256))
    return [int.from_bytes(multiple, "big") for multiple in multiples]


def _product(left: int, right: int) -> int:
    """Of two bytes, in the field of 256 elements that QR codes are computed in."""
    product = 0
    while right:
        if right & 1:
            product ^= left
        left = left << 1 ^ (_FIELD_POLYNOMIAL if left & 0x80 else 0)
        right >>= 1
    return product


def _modules(codewords: bytes, version: int) -> str:
    """All modules, row after row: 1 is dark."""
    bits = f"{int.from_bytes(codewords, 'big'):0{8 * len(codewords)}b}"
    return "".join(_placement(version, len(bits))(bits + bits.translate(_INVERT) + "01"))


@cache
def _placement(version: int, bit_count: int) -> Callable[[str], tuple[str, ...]]:
    """Picks every module out of the bits, the inverted bits, a light one and a dark one.

    `qrcode` reveals where the bits go: it places streams in which bit `n` is the `k`-th binary digit of `n`. The digits
    that arrive at a module, compared with what an all-zero stream leaves there, spell the number of its bit.
    """
    light, dark = 2 * bit_count, 2 * bit_count + 1
    unset, ones = _placed(version, bytes(bit_count // 8)), _placed(version, b"\xff" * (bit_count // 8))
    numbers = [0] * len(unset)
    for digit in range(bit_count.bit_length()):
        stream = int("".join(str(number >> digit & 1) for number in range(bit_count)), 2)
        for module, value in enumerate(_placed(version, stream.to_bytes(bit_count // 8, "big"))):
            numbers[module] |= (value != unset[module]) << digit
    return itemgetter(
        *(
            (dark if fixed else light) if fixed == ones[module] else numbers[module] + (bit_count if fixed else 0)
            for module, fixed in enumerate(unset)
        )
    )


def _placed(version: int, codewords: bytes) -> list[bool]:
    code: QRCode = QRCode(version=version, error_correction=ERROR_CORRECT_L, mask_pattern=_MASK, border=0)
    code.data_cache = codewords
    code.make(fit=False)
    return [bool(module) for row in code.get_matrix() for module in row]


def _one_bit_png(modules: str, *, side: int) -> bytes:
    """Greyscale with one bit per pixel, light is 1. A row of modules is one line, and five that repeat it."""
    width = (side + 2 * QUIET_MODULES) * BOX_PIXELS
    line_bytes = (width + 7) // 8
    padding = "1" * (line_bytes * 8 - width)
    margin = _LIGHT * QUIET_MODULES
    blank = _UNFILTERED + b"\xff" * line_bytes
    repeat = _LIKE_ABOVE + bytes(line_bytes)
    lines = [blank, repeat * (BOX_PIXELS * QUIET_MODULES - 1)]
    for start in range(0, side * side, side):
        bits = margin + modules[start : start + side].translate(_PIXELS) + margin + padding
        lines += (_UNFILTERED, int(bits, 2).to_bytes(line_bytes, "big"), repeat * (BOX_PIXELS - 1))
    lines += lines[:2]
    header = struct.pack(">IIBBBBB", width, width, 1, 0, 0, 0, 0)
    pixels = zlib.compress(b"".join(lines), 6)
    return _PNG_SIGNATURE + _chunk(b"IHDR", header) + _chunk(b"IDAT", pixels) + _chunk(b"IEND", b"")


def _chunk(kind: bytes, body: bytes) -> bytes:
    return struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body))
