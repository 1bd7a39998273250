"""Every question to providers stands in docs/providers.md, with the way in which its replies are believed."""

from __future__ import annotations

import ast
import re
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

from tests.syntax import tree_in

ROOT = Path(__file__).parents[2]
POOLS = {"providers", "horizons"}
HOW = {
    "agreed": {"agree", "agree_on", "agree_each", "believe"},
    "named by any": {"gather"},
    "middle": {"middle", "upper_middle"},
    "any": {"query", "any", "anyone"},
    "all are told": {"submit"},
}
METHODS = {method for methods in HOW.values() for method in methods}


def asked() -> dict[str, set[str]]:
    """The methods by which each function asks providers, by module and function."""
    found = defaultdict[str, set[str]](set)
    for family in ("evm", "stellar"):
        for path in sorted((ROOT / "payments/chains" / family).rglob("*.py")):
            for function, method in questions_in(tree_in(path), ""):
                found[f"{family}.{path.stem}.{function}"].add(method)
    return found


def questions_in(node: ast.AST, function: str) -> Iterator[tuple[str, str]]:
    for child in ast.iter_child_nodes(node):
        match child:
            case ast.Call(func=ast.Attribute(attr=method, value=ast.Attribute(attr=name) | ast.Name(id=name))) if (
                method in METHODS and name.lstrip("_") in POOLS
            ):
                yield function, method
        yield from questions_in(child, child.name if isinstance(child, ast.FunctionDef) else function)


def listed() -> dict[str, set[str]]:
    """As asked, by the table."""
    found = defaultdict[str, set[str]](set)
    for line in (ROOT / "docs/providers.md").read_text().splitlines():
        if line.startswith("| ") and len(cells := line.strip("|").split("|")) == 4:
            how = next((methods for said, methods in HOW.items() if cells[2].strip().startswith(said)), set())
            for place in re.findall(r"`((?:evm|stellar)\.[\w.]+)`", cells[3]):
                found[place] |= how
    return found


def test_every_question_to_providers_is_listed_with_how_it_is_believed() -> None:
    table, code = listed(), asked()
    assert len(code) > 40
    assert set(table) == set(code)
    wrong = {place: methods - table[place] for place, methods in code.items() if methods - table[place]}
    assert wrong == {}
