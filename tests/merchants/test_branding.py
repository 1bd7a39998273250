"""What payers see of a merchant: colours that can be read, logos that are pictures and nothing else."""

from __future__ import annotations

import re
from io import BytesIO
from itertools import product
from pathlib import Path
from typing import Any

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client
from PIL import Image, PngImagePlugin

from config.errors import InvalidParameter
from merchants.models import Branding, BrandLogo, Merchant
from merchants.pages import branding
from merchants.pages.branding import change_branding, contrast, palette_of, small_logo
from tests.dashboard.conftest import browser_of
from tests.factories import make_member, make_merchant
from tests.payments.linking import make_link
from tests.payments.scenes import POLYGON, make_payment

TOKENS = (Path(__file__).resolve().parents[2] / "static" / "css" / "tokens.css").read_text()
SURFACES = ("paper", "surface", "sunken", "calm-soft")


def surfaces(*, dark: bool) -> list[branding.Colour]:
    """What text of the accent may stand on, of light or of dark pages."""
    return [branding._parsed(re.findall(rf"--{name}: (#[0-9a-f]{{6}});", TOKENS)[dark]) for name in SURFACES]


def test_every_colour_can_be_read_on_light_and_on_dark_pages() -> None:
    shades = (0, 51, 102, 153, 204, 255)
    for parts in product(shades, shades, shades):
        its = palette_of(branding._written(parts))
        read = {name: branding._parsed(getattr(its, name)) for name in its.__slots__}
        texts = [("button", "on_button"), ("pressed", "on_button"), ("light", "light_soft"), ("dark", "dark_soft")]
        least = [contrast(read[one], read[other]) for one, other in texts]
        least += [contrast(read["light"], surface) for surface in surfaces(dark=False)]
        least += [contrast(read["light_strong"], surface) for surface in surfaces(dark=False)]
        least += [contrast(read["dark"], surface) for surface in surfaces(dark=True)]
        least += [contrast(read["dark_strong"], surface) for surface in surfaces(dark=True)]
        least += [contrast(read["light"], (255, 255, 255)), contrast(read["dark"], (0, 0, 0))]
        assert min(least) >= 4.5, its
        assert its.button == branding._written(parts)  # the button has the very colour


def picture(kind: str = "PNG", size: tuple[int, int] = (1200, 300), **options: Any) -> bytes:
    written = BytesIO()
    Image.new("RGB", size, (20, 90, 130)).save(written, kind, **options)
    return written.getvalue()


@pytest.mark.parametrize("kind", ["PNG", "JPEG", "WEBP"])
def test_of_a_logo_only_its_pixels_are_kept(kind: str) -> None:
    options: dict[str, Any] = {}
    if kind == "PNG":
        options["pnginfo"] = PngImagePlugin.PngInfo()
        options["pnginfo"].add_text("Comment", "SECRET <script>")
    else:
        options["exif"] = Image.Exif()
        options["exif"][0x010E] = "SECRET <script>"
    uploaded = picture(kind, **options) + b"SECRET <script>"
    made = small_logo(BytesIO(uploaded))
    stored = branding._png(made)
    assert b"SECRET" in uploaded
    assert b"SECRET" not in stored
    assert made.size == (480, 120)


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"<svg xmlns='http://www.w3.org/2000/svg'><script>alert(1)</script></svg>", "cannot be read"),
        (b"", "cannot be read"),
        (picture()[:200], "cannot be read"),
        (picture("GIF"), "cannot be read"),
        (picture("BMP", (10, 10)), "cannot be read"),
        (picture(size=(4000, 3001)), "12 million pixels"),
        (bytes(branding.LOGO_MOST_BYTES + 1), "larger than 1 MB"),
    ],
    ids=["svg", "empty", "cut", "gif", "bmp", "pixels", "bytes"],
)
def test_what_is_no_small_picture_is_refused(content: bytes, words: str) -> None:
    with pytest.raises(InvalidParameter, match=words):
        small_logo(BytesIO(content))


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("accent", "red"),
        ("accent", "#12345"),
        ("accent", "#123456;}"),
        ("support", "javascript:alert(1)"),
        ("support", "http://shop.example/help"),
        ("support", "nobody"),
        ("name", "two\nlines"),
        ("name", "x" * 81),
        *(
            ("frame_origins", [origin])
            for origin in (
                "shop.example",
                "http://shop.example",
                "https://shop.example/path",
                "https://shop.example?x",
                "https://*.example",
                "https://me@shop.example",
                "https://shop.example;script-src *",
                "https://shop.example 'unsafe-inline'",
                "https://shop.example:none",
                "javascript:alert(1)",
                "*",
            )
        ),
    ],
)
def test_a_wrong_wish_is_refused_by_name(field: str, value: str | list[str]) -> None:
    wishes: dict[str, Any] = {"name": "", "accent": "", "support": "", field: value}
    with pytest.raises(InvalidParameter) as refusal:
        change_branding(merchant=make_merchant(), **wishes)
    assert refusal.value.param == field
    assert not Branding.objects.exists()


def look(merchant: Merchant) -> Branding:
    fields = {"name": "Harbour", "accent": "#E0A800", "support": "help@harbour.example"}
    client = browser_of(make_member(merchant))
    logo = SimpleUploadedFile("logo.svg", picture(), content_type="image/svg+xml")  # what it calls itself says nothing
    reply = client.post("/dashboard/settings/branding", {**fields, "logo": logo})
    assert reply.status_code == 302, reply.text
    return Branding.objects.get(merchant=merchant)


@pytest.mark.django_db
def test_payers_see_it_on_every_page_and_of_nobody_else() -> None:
    merchant = make_merchant("Harbour Coffee Limited")
    payment = make_payment(POLYGON, merchant=merchant)
    pages = (f"/pay/{payment.public_id}", f"/pay/{payment.public_id}/claim", f"/link/{make_link(merchant).code}")
    before = [Client().get(page).text for page in pages]
    assert not [page for page in before if "/brand/" in page]
    brand = look(merchant)
    for page in pages:
        shown = Client().get(page).text
        assert "Harbour Coffee Limited" not in shown
        assert f'href="/brand/{brand.version}/style.css"' in shown
        assert f'src="/brand/{brand.version}/logo.png"' in shown
        subject = f"?subject={payment.public_id}" if page != pages[2] else ""
        assert f'<a href="mailto:help@harbour.example{subject}"' in re.sub(r"\s+", " ", shown)
    other = make_payment(POLYGON, merchant=make_merchant("Somebody Else"))
    assert "/brand/" not in Client().get(f"/pay/{other.public_id}").text


@pytest.mark.django_db
def test_its_files_are_of_one_type_and_kept_for_ever_under_an_address_that_changes() -> None:
    merchant = make_merchant()
    brand = look(merchant)
    style, logo = (Client().get(f"/brand/{brand.version}/{name}") for name in ("style.css", "logo.png"))
    assert (style.headers["Content-Type"], logo.headers["Content-Type"]) == ("text/css; charset=utf-8", "image/png")
    for reply in (style, logo):
        assert reply.headers["X-Content-Type-Options"] == "nosniff"
        assert reply.headers["Cache-Control"] == "public, max-age=31536000, immutable"
    assert "background: #e0a800" in style.text
    assert Image.open(BytesIO(logo.content)).size == (480, 120)

    changed = change_branding(merchant=merchant, name="", accent="", support="", drop_logo=True)
    assert changed.version != brand.version
    assert not BrandLogo.objects.exists()
    for name in ("style.css", "logo.png"):
        assert Client().get(f"/brand/{brand.version}/{name}").status_code == 404


@pytest.mark.django_db
def test_a_preview_shows_what_is_not_saved_yet_and_may_be_framed_by_its_own_page_alone() -> None:
    client = browser_of(make_member(make_merchant("Harbour Coffee")))
    page = client.get("/dashboard/settings/branding?accent=%23aa3300&name=Harbour%3Cb%3E")
    assert "frame-src 'self'" in page.headers["Content-Security-Policy"]
    address = re.search(r'src="(/dashboard/settings/branding/preview[^"]*)"', page.text)
    assert address
    shown = client.get(address[1].replace("&amp;", "&"))
    assert "Harbour&lt;b&gt;" in shown.text
    assert "accent=%23aa3300" in shown.text
    assert "frame-ancestors 'self'" in shown.headers["Content-Security-Policy"]
    assert shown.headers["X-Frame-Options"] == "SAMEORIGIN"
    style = client.get("/dashboard/settings/branding/style?accent=%23aa3300")
    assert "background: #aa3300" in style.text
    assert client.get("/dashboard/settings/branding/style?accent=red;}").text == ""
    assert not Branding.objects.exists()
    assert "DENY" in client.get("/dashboard/settings").headers["X-Frame-Options"]


@pytest.mark.django_db
def test_only_the_websites_that_a_merchant_named_may_frame_its_payers_pages() -> None:
    merchant, other = make_merchant("Harbour Coffee"), make_merchant("Somebody Else")
    member = make_member(merchant)
    origins = "HTTPS://Shop.Example/\nhttps://www.shop.example:8443\nhttp://localhost:3000\nhttps://shop.example"
    reply = browser_of(member).post("/dashboard/settings/branding", {"frame_origins": origins})
    assert reply.status_code == 302, reply.text
    named = "https://shop.example https://www.shop.example:8443 http://localhost:3000"
    for whose, ancestors, header in ((merchant, named, None), (other, "'none'", "DENY")):
        payment, link = make_payment(POLYGON, merchant=whose), make_link(whose)
        for path in (f"/pay/{payment.public_id}", f"/pay/{payment.public_id}/claim", f"/link/{link.code}"):
            shown = Client(enforce_csrf_checks=True).get(path)
            assert f"frame-ancestors {ancestors};" in f"{shown.headers['Content-Security-Policy']};"
            assert shown.headers.get("X-Frame-Options") == header
            assert not shown.cookies  # a browser keeps none of a frame
            if path.endswith("/claim"):
                assert Client(enforce_csrf_checks=True).post(path, {"hash": "x"}).status_code == 200
    assert "frame-ancestors 'none'" in browser_of(member).get("/dashboard/settings").headers["Content-Security-Policy"]


@pytest.mark.django_db
def test_items_are_shown_on_wish_and_nothing_else_of_the_metadata() -> None:
    merchant = make_merchant()
    told = {
        "description": "Order 17 <b>",
        "item_1": "2 × Flat white",
        "item_2": "Cake",
        "item_x": "no",
        "x": "secret",
    }
    payment = make_payment(POLYGON, merchant=merchant, metadata={**told, "item_3": {"deep": "no"}})
    path = f"/pay/{payment.public_id}"
    assert "Flat white" not in Client().get(path).text
    change_branding(merchant=merchant, name="", accent="", support="", shows_items=True)
    shown = Client().get(path)
    assert shown.context["payment"].items == ("2 × Flat white", "Cake")
    assert shown.context["payment"].purpose == "Order 17 <b>"
    assert "Order 17 &lt;b&gt;" in shown.text
    assert not [word for word in ("secret", "deep", ">no<") if word in shown.text]
