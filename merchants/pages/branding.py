"""A merchant's looks for payers: name, logo, colour, and a contact for help."""

from __future__ import annotations

import re
import secrets
from collections.abc import Sequence
from dataclasses import dataclass
from io import BytesIO
from typing import IO, Final
from urllib.parse import urlsplit

from django.conf import settings
from django.core.exceptions import ValidationError
from django.core.validators import URLValidator, validate_email
from django.db import transaction
from django.http import HttpRequest, HttpResponse
from PIL import Image, ImageOps, UnidentifiedImageError

from config.errors import InvalidParameter
from config.pages.languages import use_by_default
from merchants.models import Branding, BrandLogo, Merchant

LOGO_MOST_BYTES: Final = 1_000_000
LOGO_MOST_PIXELS: Final = 12_000_000
_LOGO_SHOWN: Final = (480, 160)
"""The largest width and height that is kept: twice what the pages show."""

_FORMATS: Final = ("PNG", "JPEG", "WEBP")
_COLOUR: Final = re.compile(r"#[0-9a-f]{6}")

Colour = tuple[int, int, int]
_WHITE: Final[Colour] = (255, 255, 255)
_BLACK: Final[Colour] = (0, 0, 0)
_LIGHT_PAGE: Final[Colour] = (0xE9, 0xEE, 0xF1)
"""The darkest surface of a light page: --calm-soft in tokens.css."""
_DARK_PAGE: Final[Colour] = (0x1E, 0x2A, 0x33)
"""The lightest surface of a dark page: --calm-soft as well."""
MOST_ORIGINS: Final = 10
_READABLE: Final = 4.5
"""The contrast that WCAG 2.2 AA requires of text."""


@dataclass(frozen=True, slots=True)
class Palette:
    """The colours of the payer's pages that come of an accent, as #rrggbb; every text on them can be read."""

    button: str
    on_button: str
    pressed: str
    light: str
    light_strong: str
    light_soft: str
    dark: str
    dark_strong: str
    dark_soft: str


def change_branding(
    *,
    merchant: Merchant,
    name: str,
    accent: str,
    support: str,
    language: str = "",
    frame_origins: Sequence[str] = (),
    shows_items: bool = False,
    logo: IO[bytes] | None = None,
    drop_logo: bool = False,
) -> Branding:
    """Change how the merchant looks to payers; empty means as Ballast is. Without a new logo the old one stays.

    The addresses of stylesheet and logo change with every change, so that browsers may keep both for ever.
    """
    accent = accent.strip().lower()
    if accent and not _COLOUR.fullmatch(accent):
        raise InvalidParameter("Write the colour as # and six digits or letters a to f, like #14597f.", param="accent")
    name, support = name.strip(), support.strip()
    if len(name) > Branding.MOST_OF_A_NAME or not (name or "x").isprintable():
        raise InvalidParameter("Use at most 80 printable characters.", param="name")
    if language and language not in dict(settings.LANGUAGES):
        raise InvalidParameter("Payers' pages are not available in this language.", param="language")
    _check_support(support)
    origins = " ".join(dict.fromkeys(_origin(each) for each in frame_origins))
    picture = None if logo is None else small_logo(logo)
    with transaction.atomic():
        Merchant.objects.select_for_update(no_key=True).get(pk=merchant.pk)
        branding = Branding.objects.filter(merchant=merchant).first() or Branding(merchant=merchant)
        branding.name, branding.accent, branding.support = name, accent, support
        branding.language, branding.frame_origins, branding.shows_items = language, origins, shows_items
        branding.version = secrets.token_hex(16)
        if picture is not None:
            branding.logo_width, branding.logo_height = picture.size
        elif drop_logo:
            branding.logo_width = branding.logo_height = None
        branding.save()
        if picture is not None:
            BrandLogo.objects.update_or_create(branding=branding, defaults={"png": _png(picture)})
        elif drop_logo:
            BrandLogo.objects.filter(branding=branding).delete()
    return branding


def brand_of(merchant: Merchant) -> Branding | None:
    """The merchant's looks for payers; None while it has chosen nothing."""
    return getattr(merchant, "branding", None)


def use_language_of(merchant: Merchant, request: HttpRequest) -> None:
    """Goes over to the merchant's language where the payer named none that we have."""
    if brand := brand_of(merchant):
        use_by_default(request, brand.language)


def let_frame(response: HttpResponse, merchant: Merchant) -> HttpResponse:
    """The same response, which the websites that the merchant named may show in a frame; no other may."""
    brand = brand_of(merchant)
    if brand is not None and brand.frame_origins:
        response.xframe_options_exempt = True
        response._csp_replace = {"frame-ancestors": brand.frame_origins.split()}  # type: ignore[attr-defined]
    return response


# --- the logo ----------------------------------------------------------------------------------------


def small_logo(file: IO[bytes]) -> Image.Image:
    """The picture of an uploaded file, made small and upright: its pixels, and nothing else of the file.

    InvalidParameter when it is too large, or no PNG, JPEG or WebP.
    """
    content = file.read(LOGO_MOST_BYTES + 1)
    if len(content) > LOGO_MOST_BYTES:
        raise InvalidParameter("The file is larger than 1 MB. Choose a smaller one.", param="logo")
    try:
        with Image.open(BytesIO(content), formats=_FORMATS) as opened:
            if opened.width * opened.height > LOGO_MOST_PIXELS:
                raise InvalidParameter("The picture has more than 12 million pixels. Make it smaller.", param="logo")
            upright = ImageOps.exif_transpose(opened).convert("RGBA")
    except (UnidentifiedImageError, OSError, ValueError, SyntaxError, Image.DecompressionBombError):
        raise InvalidParameter("This picture cannot be read. Choose a PNG, JPEG or WebP.", param="logo") from None
    upright.thumbnail(_LOGO_SHOWN)
    pixels = Image.new("RGBA", upright.size)
    pixels.paste(upright)
    return pixels


def _png(picture: Image.Image) -> bytes:
    written = BytesIO()
    picture.save(written, "PNG", optimize=True)
    return written.getvalue()


def _origin(text: str) -> str:
    """An origin as browsers write it; InvalidParameter where it is none, and where strangers could answer for it."""
    problem = InvalidParameter(
        "Enter the address of a website, such as https://shop.example, without a path.", param="frame_origins"
    )
    parts = urlsplit(text.strip().lower())
    is_local = parts.scheme == "http" and parts.hostname in {"localhost", "127.0.0.1"}
    if not (parts.scheme == "https" or is_local) or parts.path.strip("/") or parts.query or parts.username:
        raise problem
    try:
        URLValidator(schemes=["https", "http"])(origin := f"{parts.scheme}://{parts.netloc}")
    except ValidationError:
        raise problem from None
    return origin


def _check_support(support: str) -> None:
    problem = "Enter an e-mail address, or an address that begins with https://."
    try:
        if len(support) > Branding.MOST_OF_SUPPORT:
            raise ValidationError(problem)
        if "://" in support:
            URLValidator(schemes=["https"])(support)
        elif support:
            validate_email(support)
    except ValidationError:
        raise InvalidParameter(problem, param="support") from None


# --- the colour --------------------------------------------------------------------------------------


def palette_of(accent: str) -> Palette:
    """Colours of the pages from an accent. A button has the very colour; text and lines get it darker or lighter, until
    they can be read on light and on dark pages."""
    colour = _parsed(accent)
    on_button = max(_WHITE, _BLACK, key=lambda text: contrast(colour, text))
    light_soft, dark_soft = _mixed(colour, _WHITE, 0.88), _mixed(colour, (0x12, 0x1A, 0x20), 0.8)
    light = _readable(colour, _BLACK, (_WHITE, _LIGHT_PAGE, light_soft))
    dark = _readable(colour, _WHITE, (_BLACK, _DARK_PAGE, dark_soft))
    return Palette(
        button=_written(colour),
        on_button=_written(on_button),
        pressed=_written(_mixed(colour, _BLACK if on_button == _WHITE else _WHITE, 0.15)),
        light=_written(light),
        light_strong=_written(_mixed(light, _BLACK, 0.25)),
        light_soft=_written(light_soft),
        dark=_written(dark),
        dark_strong=_written(_mixed(dark, _WHITE, 0.3)),
        dark_soft=_written(dark_soft),
    )


def contrast(one: Colour, other: Colour) -> float:
    """The contrast of two colours, from 1 to 21, as WCAG 2 computes it."""
    darker, lighter = sorted((_luminance(one), _luminance(other)))
    return (lighter + 0.05) / (darker + 0.05)


def stylesheet(accent: str) -> str:
    """The CSS that gives payer's pages the accent; empty without one."""
    if not accent:
        return ""
    its = palette_of(accent)
    return f""":root {{ --accent: {its.light}; --accent-strong: {its.light_strong}; --accent-soft: {its.light_soft};
  --on-accent: #ffffff; --focus: {its.light}; }}
@media (prefers-color-scheme: dark) {{
  :root {{ --accent: {its.dark}; --accent-strong: {its.dark_strong}; --accent-soft: {its.dark_soft};
    --on-accent: #000000; --focus: {its.dark}; }}
}}
.button--primary {{ border-color: {its.button}; background: {its.button}; color: {its.on_button}; }}
.button--primary:hover {{ border-color: {its.pressed}; background: {its.pressed}; color: {its.on_button}; }}
"""


def _readable(colour: Colour, towards: Colour, surfaces: tuple[Colour, ...]) -> Colour:
    """The colour, mixed with as little of another as makes it readable on all of these surfaces."""
    for step in range(101):
        mixed = _mixed(colour, towards, step / 100)
        if all(contrast(mixed, surface) >= _READABLE for surface in surfaces):
            return mixed
    return towards


def _luminance(colour: Colour) -> float:
    red, green, blue = (
        part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in (each / 255 for each in colour)
    )
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def _mixed(colour: Colour, other: Colour, share: float) -> Colour:
    """The colour with this share of another."""
    red, green, blue = (round(a * (1 - share) + b * share) for a, b in zip(colour, other, strict=True))
    return red, green, blue


def _parsed(text: str) -> Colour:
    return int(text[1:3], 16), int(text[3:5], 16), int(text[5:7], 16)


def _written(colour: Colour) -> str:
    return "#{:02x}{:02x}{:02x}".format(*colour)
