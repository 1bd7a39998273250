"""The catalogues of translations: `python -m tests.messages` brings them up to date with the source and compiles them.

With --check it fails where that would change something, or where a translation is missing.

A message is a text of a template or of Python that is marked for translation. Every language has those that payers
read; the languages of the dashboard have all. What is no longer in the source leaves the catalogues.
"""

from __future__ import annotations

import ast
import os
import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path

import django
from babel.messages import mofile, pofile
from babel.messages.catalog import Catalog
from django.conf import settings
from django.template import engines
from django.template.base import Node, NodeList, Template, VariableNode
from django.template.loader_tags import IncludeNode
from django.templatetags.i18n import BlockTranslateNode, TranslateNode
from django.utils.functional import Promise
from django.utils.translation import to_locale

from tests.syntax import tree_in

ROOT = Path(__file__).parents[1]
LOCALE = ROOT / "locale"

PAYERS = (
    "templates/400.html", "templates/403_csrf.html", "templates/404.html", "templates/429.html", "templates/500.html",
    "templates/503.html", "templates/base.html", "templates/checkout", "templates/receipts", "templates/refunds",
    "templates/partials/copy.html", "templates/partials/field.html", "templates/partials/proof_words.html",
    "templates/partials/sandbox_strip.html",
    "config/pages/wording.py", "payments/claims/explanation.py", "payments/checkout", "payments/choices.py",
    "payments/receipts",
    "payments/chains/ownership.py", "refunds/pages/payer.py", "refunds/pages/destination.py",
    "refunds/pages/sender_return.py", "refunds/pages/forms.py:DestinationForm",
    "refunds/pages/forms.py:PayerDestinationForm", "refunds/pages/forms.py:_REFUSED", "refunds/wording.py:ADDRESSES",
    "refunds/wording.py:MEMOS", "refunds/wording.py:FAILURES", "refunds/wording.py:asset",
    "config/pages/typed_amounts.py:AmountField", "merchants/pages/forms.py:PriceField",
    "merchants/pages/forms.py:LIMITS",
)  # fmt: skip
"""What payers read: files, folders, and single classes, functions and tables of a file."""
_MEMBERS = ("payments/checkout/preview.py", "payments/checkout/simulator.py:SCENARIOS")
"""Of those folders, what members alone read."""

_NOT_PRODUCT = {"tests", "var", ".venv", ".proofs", ".site", ".sdk", "sdk"}

_CALLS = {"_": 1, "gettext": 1, "gettext_lazy": 1, "ngettext": 2, "ngettext_lazy": 2}
_CALLS_WITH_CONTEXT = {"pgettext": 1, "pgettext_lazy": 1, "npgettext": 2, "npgettext_lazy": 2}


@dataclass(frozen=True, slots=True)
class Message:
    """A text to translate, where it stands, and what its translator has to know."""

    context: str | None
    singular: str
    plural: str | None
    place: str
    """`folder/file.py:name`, with the class, function or table around it; of a template the file alone."""
    note: str = ""

    @property
    def for_payers(self) -> bool:
        path = self.place.partition(":")[0]
        if path in _MEMBERS or self.place in _MEMBERS:
            return False
        return any(self.place == each or path == each or path.startswith(f"{each}/") for each in PAYERS)

    @property
    def for_operators(self) -> bool:
        return self.place.startswith("templates/admin/")


def messages() -> Iterator[Message]:
    """Every message of the product, once for each place where it stands."""
    for path in sorted((ROOT / "templates").rglob("*")):
        if path.suffix in {".html", ".txt"}:
            yield from _of_template(path)
    for path in sorted(ROOT.rglob("*.py")):
        if path.relative_to(ROOT).parts[0] not in _NOT_PRODUCT and "migrations" not in path.parts:
            yield from _of_module(path)


def _of_template(path: Path) -> Iterator[Message]:
    place = str(path.relative_to(ROOT))
    template: Template = engines["django"].engine.from_string(path.read_text())  # type: ignore[attr-defined]
    for node in _nodes(template.nodelist):
        if isinstance(node, TranslateNode):
            if isinstance(literal := getattr(node.filter_expression.var, "literal", None), str):
                yield Message(None, literal.replace("%", "%%"), None, place)
        elif isinstance(node, BlockTranslateNode):
            singular, _ = node.render_token_list(node.singular)
            plural = node.render_token_list(node.plural)[0] if node.plural else None
            yield Message(None, *_trimmed(node, singular, plural), place)
        for text in _marked_constants(node):
            yield Message(None, text, None, place)


def _trimmed(node: BlockTranslateNode, singular: str, plural: str | None) -> tuple[str, str | None]:
    if not node.trimmed:
        return singular, plural
    return " ".join(singular.split()), " ".join(plural.split()) if plural else None


def _nodes(nodelist: NodeList) -> Iterator[Node]:
    for node in nodelist:
        yield from node.get_nodes_by_type(Node)


def _marked_constants(node: Node) -> Iterator[str]:
    """The texts of `_("…")` among what a tag is given."""
    given: list[object] = []
    if isinstance(node, VariableNode):
        given.append(node.filter_expression)
    elif isinstance(node, IncludeNode):
        given.extend(node.extra_context.values())
    for value in list(vars(node).values()):
        if isinstance(value, dict):
            given.extend(value.values())
        elif isinstance(value, list):
            given.extend(value)
        else:
            given.append(value)
    for each in {id(each): each for each in given}.values():
        if isinstance(var := getattr(each, "var", None), Promise):
            yield str(var)


def _of_module(path: Path) -> Iterator[Message]:
    text = path.read_text()
    if "gettext" not in text:  # seven modules of eight, which import nothing that marks a message
        return
    lines = text.splitlines()
    for top in tree_in(path).body:
        place = f"{path.relative_to(ROOT)}:{_name_of(top)}"
        for call in ast.walk(top):
            if isinstance(call, ast.Call) and (found := _message_of(call, place, lines)):
                yield found


def _name_of(statement: ast.stmt) -> str:
    match statement:
        case ast.FunctionDef(name=name) | ast.ClassDef(name=name):
            return name
        case ast.Assign(targets=[ast.Name(id=name), *_]) | ast.AnnAssign(target=ast.Name(id=name)):
            return name
    return ""


def _message_of(call: ast.Call, place: str, lines: list[str]) -> Message | None:
    name = call.func.id if isinstance(call.func, ast.Name) else ""
    texts = [each.value for each in call.args if isinstance(each, ast.Constant) and isinstance(each.value, str)]
    before = lines[call.lineno - 2].strip() if call.lineno > 1 else ""
    note = before.removeprefix("# Translators: ") if before.startswith("# Translators: ") else ""
    if (most := _CALLS.get(name)) and len(texts) >= most:
        return Message(None, texts[0], texts[1] if most == 2 else None, place, note)
    if (most := _CALLS_WITH_CONTEXT.get(name)) and len(texts) > most:
        return Message(texts[0], texts[1], texts[2] if most == 2 else None, place, note)
    return None


def wanted(language: str, found: Iterable[Message]) -> list[Message]:
    """The messages that a language must have."""
    has_all = language in dict(settings.DASHBOARD_LANGUAGES)
    return [message for message in found if message.for_payers or (has_all and not message.for_operators)]


def template_of(language: str, found: Iterable[Message]) -> Catalog:
    """A catalogue of what the language must have, without its translations."""
    catalog = Catalog(locale=to_locale(language), domain="django", header_comment="")
    for message in sorted(wanted(language, found), key=lambda each: (each.place, each.singular)):
        key = (message.singular, message.plural) if message.plural else message.singular
        flags = {"python-format"} if "%(" in message.singular else set()
        catalog.add(
            key,
            context=message.context,
            locations=[(message.place, 0)],
            auto_comments=[message.note] if message.note else [],
            flags=flags,
        )
    return catalog


def catalog_path(language: str) -> Path:
    return LOCALE / to_locale(language) / "LC_MESSAGES" / "django.po"


def read_catalog(language: str) -> Catalog:
    """The catalogue as it is kept; an empty one where there is none yet."""
    path = catalog_path(language)
    if not path.exists():
        return Catalog(locale=to_locale(language), domain="django")
    with path.open("rb") as file:
        return pofile.read_po(file, locale=to_locale(language), domain="django")


def updated(language: str, found: Iterable[Message]) -> Catalog:
    """What is kept of the language, with the messages of the source: new ones without a translation."""
    fresh, kept = template_of(language, found), read_catalog(language)
    for message in fresh:
        old = kept.get(message.id, message.context) if message.id else None
        if old is not None:
            message.string = old.string
    return fresh


def written(catalog: Catalog) -> bytes:
    """The text of a catalogue: places without lines, and no dates, so that it changes with its texts alone."""
    out = BytesIO()
    pofile.write_po(out, catalog, width=120, omit_header=True, include_lineno=False, sort_output=False)
    header = (
        'msgid ""\nmsgstr ""\n"Content-Type: text/plain; charset=utf-8\\n"\n'
        f'"Language: {catalog.locale}\\n"\n"Plural-Forms: {catalog.plural_forms}\\n"\n\n'
    )
    return header.encode() + out.getvalue()


def compiled(catalog: Catalog) -> bytes:
    """What Django reads: the messages that are translated."""
    out = BytesIO()
    plain = _Plain(locale=catalog.locale)
    for message in catalog:
        if message.id and is_translated(message.string):
            plain.add(message.id, message.string, context=message.context)
    mofile.write_mo(out, plain)
    return out.getvalue()


class _Plain(Catalog):
    """Without the dates and the name of the tool, which Babel writes into every file."""

    def _get_mime_headers(self) -> list[tuple[str, str]]:
        return [("Content-Type", "text/plain; charset=utf-8"), ("Plural-Forms", self.plural_forms)]

    mime_headers = property(_get_mime_headers)


def is_translated(string: str | Iterable[str] | None) -> bool:
    return bool(string) if string is None or isinstance(string, str) else all(string)


def main() -> int:
    """Writes the catalogues; with --check returns 1 where one is another, or lacks a translation that it must have."""
    os.environ.setdefault("BALLAST_MODE", "embedded")
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")
    django.setup()
    check = "--check" in sys.argv
    found = list(messages())
    wrong = []
    for language, name in settings.LANGUAGES:
        if language == "en":
            continue
        catalog = updated(language, found)
        path = catalog_path(language)
        made = {path: written(catalog), path.with_suffix(".mo"): compiled(catalog)}
        missing = [message.id for message in catalog if message.id and not is_translated(message.string)]
        if check:
            wrong += [f"{name} lacks {message!r}" for message in missing]
            wrong += [
                f"{each} differs" for each, data in made.items() if not each.exists() or each.read_bytes() != data
            ]
            continue
        path.parent.mkdir(parents=True, exist_ok=True)
        for each, data in made.items():
            each.write_bytes(data)
        sys.stdout.write(f"{name}: {len(catalog)} messages, {len(missing)} without a translation\n")
    if wrong:
        sys.stderr.write("Run `make messages`, and translate:\n" + "\n".join(wrong) + "\n")
    return 1 if wrong else 0


if __name__ == "__main__":
    raise SystemExit(main())
