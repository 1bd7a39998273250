"""`python -m sdk.generator` writes the generated files of all clients, and the examples of the product's reference.

`--check` fails when one differs.
"""

from __future__ import annotations

import sys
from pathlib import Path

from sdk.generator import examples
from sdk.generator.languages import LANGUAGES
from sdk.generator.reading import ROOT, read


def main(arguments: list[str]) -> int:
    if arguments not in ([], ["--check"]):
        print("usage: python -m sdk.generator [--check]", file=sys.stderr)  # noqa: T201
        return 2
    api = read()
    wrong: list[Path] = []
    written = {examples.FILE: examples.render(api)}
    for language in LANGUAGES:
        files = {ROOT / "sdk" / language.name / path: text for path, text in language.render(api).items()}
        for path in language.stale(files):
            wrong.append(path)
            if not arguments:
                path.unlink()
        written |= files
    for path, text in written.items():
        if path.exists() and path.read_text(encoding="utf-8") == text:
            continue
        wrong.append(path)
        if not arguments:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
    if wrong and arguments:
        for path in wrong:
            print(f"{path.relative_to(ROOT)} differs from docs/openapi.json and the templates", file=sys.stderr)  # noqa: T201
        print("Run: python -m sdk.generator", file=sys.stderr)  # noqa: T201
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
