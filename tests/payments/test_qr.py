"""Every code is read back by a decoder that is not ours."""

from __future__ import annotations

import base64
import io
import time
from statistics import median

import pytest
import qrcode
import zxingcpp
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image
from qrcode.constants import ERROR_CORRECT_L
from qrcode.util import MODE_8BIT_BYTE, QRData

from config.pages import qr

ADDRESS = "0x8626f6940E2eb28930eFb4CeF49B2d1F2C9C1199"
EIP_681 = f"ethereum:0x3c499c542cEF5E3811e1192ce70d8cC03d5c3359@137/transfer?address={ADDRESS}&uint256=12500000"
SEP_7 = (
    "web+stellar:pay?destination=GA7QYNF7SOWQ3GLR2BGMZEHXAVIRZA4KVWLTJJFC7MGXUA74P7UJVSGZ&amount=12.5"
    "&asset_code=USDC&asset_issuer=GA5ZSEJYB37JRC5AVCIA5MOP4RHTM335X2KGX3IHOJAPP5RE34K4KZVN&memo=1042"
    "&memo_type=MEMO_ID"
)
PRINTABLE = st.text(st.characters(min_codepoint=0x20, max_codepoint=0x7E), min_size=1, max_size=500)


def decode(png: bytes) -> str:
    with Image.open(io.BytesIO(png)) as image:
        barcode = zxingcpp.read_barcode(image)
    assert barcode is not None
    return str(barcode.text)


@pytest.mark.parametrize("text", [ADDRESS, EIP_681, SEP_7, "M" + "A" * 68, "1", "pay@example.org"])
def test_a_decoder_reads_back_what_was_written(text: str) -> None:
    assert decode(qr.render_png(text)) == text


@given(PRINTABLE)
@settings(max_examples=60, deadline=None)
def test_any_printable_text_is_read_back(text: str) -> None:
    assert decode(qr.render_png(text)) == text


@pytest.mark.parametrize("version", range(1, 41))
def test_the_modules_equal_those_of_the_package_s_own_encoder(version: int) -> None:
    for length in (qr._CAPACITY[version - 1] + 1, qr._CAPACITY[version]):
        content = bytes(0x21 + (7 * index + version) % 90 for index in range(length))
        reference: qrcode.QRCode = qrcode.QRCode(error_correction=ERROR_CORRECT_L, mask_pattern=0, border=4, box_size=6)
        reference.add_data(QRData(content, mode=MODE_8BIT_BYTE))
        expected = reference.make_image().get_image()
        with Image.open(io.BytesIO(qr.render_png(content.decode()))) as image:
            assert reference.version == version
            assert image.size == expected.size
            assert image.tobytes() == expected.tobytes()


def test_the_picture_is_one_bit_with_a_quiet_zone_of_four_modules() -> None:
    with Image.open(io.BytesIO(qr.render_png(ADDRESS))) as image:
        assert image.format == "PNG"
        assert image.mode == "1"
        assert image.size == ((29 + 8) * 6, (29 + 8) * 6)
        white, black = 255, 0
        assert {image.getpixel((offset, row)) for offset in range(24) for row in (0, 100, 221)} == {white}
        assert image.getpixel((24, 24)) == black


def test_a_sep_7_link_stays_under_a_kilobyte() -> None:
    assert len(qr.render_png(SEP_7)) < 1000


def test_a_data_uri_holds_the_same_picture() -> None:
    png = qr.render_png(ADDRESS)
    prefix, _, body = qr.data_uri(png).partition(",")
    assert prefix == "data:image/png;base64"
    assert base64.b64decode(body) == png


@pytest.mark.parametrize("text", ["é", "zażółć", "\ud800", "x" * 2954])
def test_text_that_no_reader_could_be_sure_of_is_refused(text: str) -> None:
    with pytest.raises(qr.TextNotEncodable):
        qr.render_png(text)


def test_rendering_is_at_least_five_times_faster_than_the_package_s_defaults() -> None:
    def milliseconds(render: object, rounds: int) -> float:
        assert callable(render)
        times = []
        for _ in range(rounds):
            started = time.thread_time()
            render()
            times.append((time.thread_time() - started) * 1000)
        return median(times)

    ours = milliseconds(lambda: qr.data_uri(qr.render_png(SEP_7)), 15)
    defaults = milliseconds(lambda: qrcode.make(SEP_7).save(io.BytesIO()), 5)
    assert ours * 5 < defaults
