"""What the stylesheet and the templates promise: contrast in both modes, nothing inline, no foreign host."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from django.conf import settings
from django.template.loader import render_to_string

ROOT = Path(settings.BASE_DIR)
TEMPLATES = sorted((ROOT / "templates").rglob("*.html"))
STYLES = sorted((ROOT / "static" / "css").glob("*.css"))
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


@pytest.mark.parametrize("path", [*TEMPLATES, *STYLES, *SCRIPTS], ids=lambda path: path.name)
def test_nothing_comes_from_another_host(path: Path) -> None:
    assert re.findall(r"(?:src|href|action|url\(|import|fetch\()[\s=\"'(]*(?:https?:)?//\S+", path.read_text()) == []


@pytest.mark.parametrize("path", TEMPLATES, ids=lambda path: str(path.relative_to(ROOT)))
def test_templates_hold_no_script_no_style_and_escape_everything(path: Path) -> None:
    text = path.read_text()
    assert re.findall(r"<style|\sstyle=|\son[a-z]+=|<script(?![^>]*\ssrc=)", text) == []
    assert re.findall(r"\|\s*safe\b|autoescape|safeseq|mark_safe", text) == []


@pytest.mark.parametrize("path", TEMPLATES, ids=lambda path: str(path.relative_to(ROOT)))
def test_every_form_that_changes_something_carries_a_token(path: Path) -> None:
    for form in re.findall(r"<form\b.*?</form>", path.read_text(), re.DOTALL):
        if 'method="post"' in form:
            assert "{% csrf_token %}" in form


@pytest.mark.parametrize("name", ["400", "403", "403_csrf", "404", "500"])
def test_error_pages_stand_alone(name: str) -> None:
    page = render_to_string(f"{name}.html")
    assert "<h1>" in page
    assert f"Error {name[:3]}" in page
    assert "/static/css/tokens.css" in page
