"""Writes the units and manifests that follow from compose.yaml; with --check exits with 1 where one is another."""

from __future__ import annotations

import sys
from pathlib import Path

from tests.deploy.manifests import manifest
from tests.deploy.processes import ROOT, processes
from tests.deploy.units import unit, unit_name


def files() -> dict[Path, str]:
    found = {}
    for process in processes():
        found[ROOT / "deploy" / "systemd" / unit_name(process)] = unit(process)
        found[ROOT / "deploy" / "kubernetes" / f"{process.role}.yaml"] = manifest(process)
    return found


def main() -> int:
    differ = [path for path, text in files().items() if not path.exists() or path.read_text("utf-8") != text]
    if "--check" in sys.argv:
        if differ:
            sys.stderr.write(f"Run `make tables`: {', '.join(path.name for path in differ)} differ\n")
        return bool(differ)
    for path in differ:
        path.write_text(files()[path], encoding="utf-8")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
