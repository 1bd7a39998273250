"""Markdown as HTML for a page with a strict content security policy. Pure."""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import zip_longest
from textwrap import dedent

from django.template.loader import render_to_string
from django.utils.html import escape, format_html
from django.utils.safestring import SafeString, mark_safe
from markdown_it import MarkdownIt
from markdown_it.token import Token

LANGUAGES = {"sh": "curl", "python": "Python", "typescript": "TypeScript", "php": "PHP"}
"""The languages of examples by what stands behind the fence of a block of code. Blocks that follow each other are one
example in several languages, of which a page shows one."""


@dataclass(frozen=True)
class Section:
    """A heading with the words below it, up to the next one. `level` is 1 for the title of the page."""

    level: int
    title: str
    anchor: str
    text: str


def sections_of(text: str) -> tuple[Section, ...]:
    """The headings with the words below them, without their marks."""
    return tuple(_sections(_PARSER.parse(text)))


def links_of(text: str) -> tuple[str, ...]:
    """The target of each link and image as it is written."""
    return tuple(
        str(child.attrs["href" if child.type == "link_open" else "src"])
        for children in _inline(_PARSER.parse(text))
        for child in children
        if child.type in {"link_open", "image"}
    )


def html_of(text: str, address_of: Callable[[str], str | None]) -> SafeString:
    """What is below the title. `address_of` says where a link or an image leads: None makes plain words of a link."""
    blocks = blocks_of(text, address_of)
    return SafeString("".join(block for block in blocks if not block.startswith("<h1")))  # the renderer escapes


def blocks_of(text: str, address_of: Callable[[str], str | None], *, is_plain: bool = False) -> Iterator[str]:
    """The HTML of each heading, paragraph, list, table or block of code; where `is_plain` without our looks."""
    tokens = _PARSER.parse(text)
    _give_anchors(tokens)
    _lead(tokens, address_of)
    block: list[Token] = []
    depth = 0
    for token, following in zip_longest(tokens, tokens[1:]):
        block.append(token)
        depth += token.nesting
        if not depth and not (_language(token) and following is not None and _language(following)):
            if len(block) > 1 and _language(block[0]):
                yield _example(block, is_plain)
            else:
                yield _PARSER.renderer.render(list(_laid_out(block, is_plain)), _PARSER.options, {"is_plain": is_plain})
            block = []


def anchor_of(title: str) -> str:
    """The anchor that GitHub gives a heading with these words."""
    return re.sub(r"[^\w\- ]", "", title.strip().lower()).replace(" ", "-")


def _parser() -> MarkdownIt:
    parser = MarkdownIt("commonmark").enable("table")
    for kind in ("html_block", "html_inline"):
        parser.add_render_rule(kind, _no_html)
    for kind in ("fence", "code_block"):
        parser.add_render_rule(kind, _code)
    return parser


def _no_html(self: object, tokens: Sequence[Token], at: int, options: object, env: object) -> str:
    """Comments, such as the marks around generated tables, are left out; other HTML is shown as it is written."""
    content = tokens[at].content
    return "" if content.lstrip().startswith("<!--") else escape(content)


def _code(self: object, tokens: Sequence[Token], at: int, options: object, env: Mapping[str, bool]) -> str:
    code = dedent(tokens[at].content).rstrip("\n")
    if env["is_plain"]:
        return format_html("<pre><code>{}</code></pre>\n", code)
    label = tokens[at].info.split(" ")[0] or "Commands or code"
    return render_to_string("api/code.html", {"label": label, "code": code})


def _language(token: Token) -> str | None:
    """The language of a block that may be one of several."""
    return LANGUAGES.get(token.info.strip()) if token.type == "fence" else None


def _example(tokens: Sequence[Token], is_plain: bool) -> str:
    """Blocks of code that follow each other, as one example in several languages."""
    snippets = [(_language(token), dedent(token.content).rstrip("\n")) for token in tokens]
    if is_plain:
        return "".join(format_html("<p>{}</p>\n<pre><code>{}</code></pre>\n", *each) for each in snippets)
    group = hashlib.sha256(repr(snippets).encode()).hexdigest()[:8]
    return render_to_string("docs/example.html", {"snippets": snippets, "group": group})


def _words(token: Token) -> str:
    """The text of an inline token, without its marks."""
    return "".join(
        " " if child.type in {"softbreak", "hardbreak"} else child.content
        for child in token.children or ()
        if child.type != "html_inline"
    )


def _sections(tokens: Sequence[Token]) -> Iterator[Section]:
    seen: Counter[str] = Counter()
    heading: Token | None = None
    title, level, texts = "", 0, list[str]()
    for before, token in zip([None, *tokens], tokens, strict=False):
        if before is not None and before.type == "heading_open":
            if title:
                yield _section(level, title, texts, seen)
            heading, title, level, texts = before, _words(token), int(before.tag[1:]), []
        elif token.type == "inline":
            texts.append(_words(token))
        elif token.type in {"fence", "code_block"}:
            texts.append(token.content)
    if heading is not None:
        yield _section(level, title, texts, seen)


def _section(level: int, title: str, texts: Sequence[str], seen: Counter[str]) -> Section:
    anchor = anchor_of(title)
    seen[anchor] += 1
    number = seen[anchor] - 1
    return Section(level, title, f"{anchor}-{number}" if number else anchor, " ".join(" ".join(texts).split()))


def _inline(tokens: Sequence[Token]) -> Iterator[list[Token]]:
    return (token.children for token in tokens if token.type == "inline" and token.children)


def _give_anchors(tokens: Sequence[Token]) -> None:
    headings = (token for token in tokens if token.type == "heading_open")
    for token, section in zip(headings, list(_sections(tokens)), strict=True):
        token.attrSet("id", section.anchor)


def _lead(tokens: Sequence[Token], address_of: Callable[[str], str | None]) -> None:
    """Has links and images lead to addresses of the page."""
    for children in _inline(tokens):
        nowhere = 0
        for child in children:
            if child.type == "image":
                child.attrs["src"] = address_of(str(child.attrs["src"])) or ""
            elif child.type == "link_open":
                address = address_of(str(child.attrs["href"]))
                if address is None:
                    nowhere, child.hidden = nowhere + 1, True
                else:
                    child.attrs["href"] = address
            elif child.type == "link_close" and nowhere:
                nowhere, child.hidden = nowhere - 1, True
        children[:] = [child for child in children if not child.hidden]


def _laid_out(tokens: Sequence[Token], is_plain: bool) -> Iterator[Token]:
    """The tokens with each table in a frame that scrolls, without inline styles, and without a head that is empty."""
    head: list[Token] | None = None
    for token in tokens:
        if token.type == "table_open" and not is_plain:
            token.attrSet("class", "table")
            yield _html('<div class="table-frame" role="group" aria-label="Table" tabindex="0">')
        if token.type in {"th_open", "td_open"} and token.attrs.pop("style", None) == "text-align:right":
            token.attrSet("class", "number")
        if token.type == "thead_open":
            head = []
        if head is None:
            yield token
        else:
            head.append(token)
        if token.type == "thead_close" and head is not None:
            if any(each.content.strip() for each in head if each.type == "inline"):
                yield from head
            head = None
        if token.type == "table_close" and not is_plain:
            yield _html("</div>\n")


def _html(text: str) -> Token:
    """A token that is rendered as this HTML of ours."""
    return Token("ours", "", 0, content=text)


_PARSER = _parser()
_PARSER.add_render_rule("ours", lambda self, tokens, at, options, env: tokens[at].content)


def excerpt(text: str, words: Sequence[str], length: int = 180) -> SafeString:
    """A part of a text around the first of the words, with the words marked."""
    found = [at for at in (text.lower().find(word) for word in words) if at >= 0]
    begin = max(0, min(found, default=0) - length // 3)
    if begin:
        begin = text.find(" ", begin) + 1
    part = text[begin : begin + length]
    pattern = "|".join(re.escape(word) for word in sorted(words, key=len, reverse=True))
    pieces = re.split(f"({pattern})", part, flags=re.IGNORECASE) if pattern else [part]
    marked = [format_html("<mark>{}</mark>", piece) if at % 2 else escape(piece) for at, piece in enumerate(pieces)]
    whole = "".join(marked).replace("_", "_<wbr>")  # a long name is not split elsewhere
    return mark_safe(("… " if begin else "") + whole + (" …" if len(text) > begin + length else ""))  # noqa: S308
