"""A release says what it is, and its files are made from its commit and its lock alone."""

from __future__ import annotations

import hashlib
import io
import json
import re
import subprocess
import sys
import tarfile
import tomllib
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from cyclonedx.schema import SchemaVersion
from cyclonedx.validation.json import JsonStrictValidator
from django.test import Client
from django.urls import reverse

from config.process.release import RELEASE
from tests.factories import api_client, make_key
from tests.operations.test_admin import operator
from tests.release import licences
from tests.release.bill import bill_of_materials
from tests.release.lock import LOCKS, ROOT, Pinned


def test_the_command_names_the_release_of_the_project_without_any_setting() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    said = subprocess.run(
        [sys.executable, ROOT / "manage.py", "--version"], env={}, cwd="/", capture_output=True, text=True, check=True
    )
    assert said.stdout == f"Ballast {project['version']}\n"
    assert f"\n## {RELEASE}" in (ROOT / "CHANGELOG.md").read_text()


@pytest.mark.django_db
def test_replies_to_keys_and_pages_of_operators_name_the_release_and_strangers_get_no_word_of_it() -> None:
    known = api_client(make_key()).get("/sandbox/v1/payments")
    assert (known.status_code, known.headers["Ballast-Release"]) == (200, RELEASE)
    stranger = Client().get("/v1/payments")
    assert (stranger.status_code, "Ballast-Release" in stranger.headers) == (401, False)
    assert f"Ballast {RELEASE}" in operator().get(reverse("admin:index")).text
    assert RELEASE not in Client().get(reverse("admin:index"), follow=True).text


@pytest.mark.parametrize("lock", LOCKS.values())
def test_the_bill_of_materials_has_every_package_of_the_lock_and_no_other(lock: str) -> None:
    text = bill_of_materials(lock, datetime(2026, 1, 1, tzinfo=UTC))
    assert JsonStrictValidator(SchemaVersion.V1_6).validate_str(text) is None
    bill: dict[str, Any] = json.loads(text)
    listed = {(each["name"], each["version"]) for each in bill["components"]}
    # As a reader of the file counts, not as the code under test does.
    assert listed == set(re.findall(r"^([\w.-]+)==([^\s;]+)", (ROOT / lock).read_text(), re.MULTILINE))
    assert all(each["licenses"] and each["hashes"] and each["purl"] for each in bill["components"])
    [ballast] = [each for each in bill["dependencies"] if each["ref"] == "ballast"]
    assert len(ballast["dependsOn"]) == len(listed)


def test_every_package_is_under_a_licence_that_may_be_shipped() -> None:
    assert licences.main() == []


@pytest.mark.parametrize(
    ("licence", "may"),
    [
        ("MIT", True),
        ("GPL-3.0-only OR MIT", True),
        ("GPL-3.0-only AND MIT", False),
        ("AGPL-3.0-or-later", False),
        ("LGPL-3.0-only", False),
    ],
)
def test_a_licence_that_asks_for_more_is_refused(licence: str, may: bool) -> None:
    assert licences.may_be_shipped(Pinned("made-up", "1.0", "", ()), licence) is may


def test_a_package_whose_licence_nobody_has_read_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(licences.READ, "vine", ("as it was", "BSD-3-Clause"))
    found = licences.faults([Pinned("vine", "5.1.0", "", ()), Pinned("not-there", "1.0", "", ())])
    assert [fault.split(":")[0] for fault in found] == [
        "vine says 'BSD' of its licence, and said 'as it was' when it was read",
        "not-there is not installed here",
    ]


@pytest.mark.slow
def test_a_release_is_built_twice_and_what_it_has_is_what_its_sums_say(tmp_path: Path) -> None:
    """From a clone, as the files here may not be committed."""
    clone = tmp_path / "clone"
    subprocess.run(["git", "clone", "--quiet", "--shared", ROOT, clone], check=True)
    command = [sys.executable, "-m", "tests.release", str(tmp_path / "dist")]
    subprocess.run(command, cwd=clone, check=True)
    folder = tmp_path / "dist" / f"ballast-{RELEASE}"
    sums = dict(line.split("  ")[::-1] for line in (folder / "SHA256SUMS").read_text().splitlines())
    assert {path.name for path in folder.iterdir()} == {*sums, "SHA256SUMS"}
    for name, digest in sums.items():
        assert hashlib.sha256((folder / name).read_bytes()).hexdigest() == digest
    with tarfile.open(folder / f"ballast-{RELEASE}.tar.gz") as archive:
        names = archive.getnames()
    assert f"ballast-{RELEASE}/manage.py" in names
    assert not [name for name in names if re.search(r"/(var|\.env|\.git)(/|$)", name)]
    with tarfile.open(folder / f"ballast-{RELEASE}-image.tar.gz") as archive:
        context = set(archive.getnames())
        dockerfile = archive.extractfile("Dockerfile")
        assert dockerfile is not None
        copied = re.findall(r"^COPY (?!--from)(.*) \S+$", io.TextIOWrapper(dockerfile).read(), re.MULTILINE)
    sources = {"requirements.txt" if "$" in name else name for line in copied for name in line.split()}
    assert sources <= context
    (clone / "README.md").write_text("changed")
    refused = subprocess.run(command, cwd=clone, capture_output=True, text=True, check=False)
    assert (refused.returncode, "README.md" in refused.stderr) == (1, True)
