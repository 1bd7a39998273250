"""What the stylesheet and the templates promise: contrast in both modes, nothing inline, no foreign host."""

from __future__ import annotations

import gzip
import re
from pathlib import Path
from typing import cast
from urllib.parse import urljoin

import pytest
from django.conf import settings
from django.contrib.staticfiles import finders
from django.http import StreamingHttpResponse
from django.template.loader import render_to_string
from django.test import Client

from config.pages.stylesheet import stylesheet
from tests.payments.scenes import ETHEREUM, make_payment

ROOT = Path(settings.BASE_DIR)
TEMPLATES = sorted((ROOT / "templates").rglob("*.html"))
STYLES = [path for path in sorted((ROOT / "static/css").glob("*.css")) if path.name != "button.css"]
"""All but that of the button, which is alone on the website of somebody else."""
STYLES_BY_NAME = {path.stem: path.read_text() for path in STYLES}
SCRIPTS = sorted((ROOT / "static" / "js").glob("*.js"))
TOKEN = re.compile(r"--([a-z-]+):\s*(#[0-9a-f]{6});")

# Text on what it stands on; WCAG 2.2 AA asks for 4.5.
TEXT = [
    (ink, ground)
    for ground in ("paper", "surface", "sunken")
    for ink in ("ink", "ink-soft", "ink-faint", "accent", "accent-strong", "good", "warn", "bad")
] + [
    ("on-accent", "accent"),
    ("on-accent", "accent-strong"),
    ("on-bad", "bad"),
    *((tone, f"{tone}-soft") for tone in ("accent", "good", "warn", "bad", "calm")),
    *(("ink", f"{tone}-soft") for tone in ("accent", "good", "warn", "bad", "calm")),
    ("ink-soft", "calm-soft"),
    ("ink-soft", "accent-soft"),
    ("ink-soft", "warn-soft"),
]
# Borders of controls and the focus ring; WCAG asks for 3.
SHAPES = [(shape, ground) for ground in ("paper", "surface") for shape in ("line-strong", "focus", "accent", "bad")]


def tokens(mode: str) -> dict[str, str]:
    light, dark = (ROOT / "static/css/tokens.css").read_text().split("@media screen and (prefers-color-scheme: dark)")
    return dict(TOKEN.findall(light)) | (dict(TOKEN.findall(dark)) if mode == "dark" else {})


def luminance(colour: str) -> float:
    channels = [int(colour[start : start + 2], 16) / 255 for start in (1, 3, 5)]
    linear = [value / 12.92 if value <= 0.04045 else ((value + 0.055) / 1.055) ** 2.4 for value in channels]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(one: str, other: str) -> float:
    dark, light = sorted((luminance(one), luminance(other)))
    return (light + 0.05) / (dark + 0.05)


@pytest.mark.parametrize("mode", ["light", "dark"])
def test_text_can_be_read(mode: str) -> None:
    colours = tokens(mode)
    weak = {f"{ink} on {ground}": round(contrast(colours[ink], colours[ground]), 2) for ink, ground in TEXT}
    assert {pair: ratio for pair, ratio in weak.items() if ratio < 4.5} == {}


@pytest.mark.parametrize("mode", ["light", "dark"])
def test_controls_can_be_told_from_their_ground(mode: str) -> None:
    colours = tokens(mode)
    weak = {f"{shape} on {ground}": round(contrast(colours[shape], colours[ground]), 2) for shape, ground in SHAPES}
    assert {pair: ratio for pair, ratio in weak.items() if ratio < 3} == {}


@pytest.mark.parametrize("path", STYLES, ids=lambda path: path.name)
def test_colours_have_one_place(path: Path) -> None:
    text = path.read_text()
    if path.name != "tokens.css":
        assert re.findall(r"#[0-9a-fA-F]{3,8}\b|\brgba?\(|\bhsla?\(", text) == []
    defined = set(re.findall(r"(--[a-z0-9-]+):", (ROOT / "static/css/tokens.css").read_text() + text))
    assert set(re.findall(r"var\((--[a-z0-9-]+)", text)) - defined - {"--tone", "--tone-soft"} == set()


def test_nothing_comes_from_another_host() -> None:
    foreign = r"(?:src|href|action|url\(|import|fetch\()[\s=\"'(]*(?:https?:)?//\S+"
    for path in (*TEMPLATES, *STYLES, *SCRIPTS):
        assert re.findall(foreign, path.read_text()) == [], path


def test_templates_hold_no_script_no_style_and_escape_everything() -> None:
    for path in TEMPLATES:
        text = path.read_text()
        assert re.findall(r"<style|\sstyle=|\son[a-z]+=|<script(?![^>]*\ssrc=)", text) == [], path
        assert re.findall(r"\|\s*safe\b|autoescape|safeseq|mark_safe", text) == [], path


NO_TOKEN = {f"checkout/{name}.html" for name in ("choose_form", "claim", "link_form", "mail_form")}
NO_TOKEN |= {"partials/sandbox_strip.html", "receipts/verify.html"}
"""Whose views read no cookie: whoever knows the address may do this."""


def test_every_form_that_changes_something_carries_a_token() -> None:
    for path in TEMPLATES:
        if str(path.relative_to(ROOT / "templates")) in NO_TOKEN:
            continue
        for form in re.findall(r"<form\b.*?</form>", path.read_text(), re.DOTALL):
            if 'method="post"' in form:
                assert "{% csrf_token %}" in form, path


@pytest.mark.parametrize("name", ["400", "403", "403_csrf", "404", "500"])
def test_error_pages_stand_alone(name: str) -> None:
    page = render_to_string(f"{name}.html")
    assert "<h1>" in page
    assert f"Error {name[:3]}" in page
    assert stylesheets_of(page) == ["/static/css/ballast.css"]


def stylesheets_of(page: str) -> list[str]:
    return re.findall(r'<link rel="stylesheet"\s+href="([^"]*)"', page)


def test_the_stylesheet_is_all_sections_and_paper_comes_last() -> None:
    text = stylesheet()
    assert [name for name in STYLES if name.read_text() not in text] == []
    assert text.startswith(STYLES_BY_NAME["tokens"])
    assert text.endswith(STYLES_BY_NAME["print"])
    assert text.index(STYLES_BY_NAME["controls"]) < text.index(STYLES_BY_NAME["checkout"])
    found = finders.find("css/ballast.css")
    assert Path(str(found)).read_text() == text


@pytest.mark.parametrize(
    "path",
    [
        "/dashboard",
        "/dashboard/payments",
        "/dashboard/payments/new",
        "/dashboard/webhooks",
        *(f"/pay/{{}}?lang={language}" for language in ("en", "hi", "th")),  # letters of three bytes
    ],
)
def test_the_first_view_of_a_page_is_less_than_sixty_kilobytes(path: str, client: Client) -> None:
    """The page, its style sheet, its scripts with what they import, and its pictures, as they are sent."""
    is_payers = path.startswith("/pay/")
    page = client.get(path.format(make_payment(ETHEREUM).public_id) if is_payers else path, headers=BROWSER)
    text = gzip.decompress(page.content).decode()
    seen: set[str] = set()
    waiting = set(re.findall(r'(?:href|src)="(/static/[^"#]*)', text))
    size = len(page.content)
    while waiting:
        name = waiting.pop()
        seen.add(name)
        reply = client.get(name, headers=BROWSER)
        content = b"".join(cast("StreamingHttpResponse", reply))
        assert reply.headers.get("Content-Encoding") == "gzip", name
        size += len(content)
        script = gzip.decompress(content).decode() if name.endswith(".js") else ""
        waiting |= {urljoin(name, each) for each in re.findall(r'from "(\.[^"]*)"', script)} - seen
    scripts = ("checkout",) if is_payers else ("page", "palette")
    assert {"/static/css/ballast.css", *(f"/static/js/{each}.js" for each in scripts)} <= seen
    assert size < 60_000


BROWSER = {"accept-encoding": "gzip, deflate, br"}


def test_files_and_replies_to_programs_are_sent_as_they_are(client: Client) -> None:
    for path in ("/dashboard/audit/export", "/dashboard/find?q=x", "/v1/openapi.json"):
        assert "Content-Encoding" not in client.get(path, headers=BROWSER).headers
    style = client.get("/static/css/ballast.css", headers=BROWSER)
    again = client.get("/static/css/ballast.css", headers=BROWSER | {"if-modified-since": style["Last-Modified"]})
    assert (again.status_code, b"".join(cast("StreamingHttpResponse", again))) == (304, b"")
    assert "Content-Encoding" not in again.headers
