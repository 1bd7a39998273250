"""A run of `deploy/install` goes on with what one before has begun or chosen."""

from __future__ import annotations

from pathlib import Path

import pytest

from deploy.installer import commands, main, release, services, settings
from deploy.installer.places import SOURCE as ROOT
from deploy.installer.places import Places
from deploy.installer.questions import Answers
from deploy.installer.release import Failed


@pytest.fixture
def places(tmp_path: Path) -> Places:
    """Of a machine on which `newer` is current, and `older` was before."""
    found = Places(tmp_path)
    for name in ("older", "newer"):
        (found.home / name).mkdir(parents=True)
        release.make_current(found, found.home / name)
    found.settings.mkdir(parents=True)
    (found.settings / "ballast.env").write_text("ALLOWED_HOSTS=pay.example.com\n")
    return found


class Restarts:
    """Fails the first time, as where a web does not become ready."""

    def __init__(self) -> None:
        self.count = 0

    def __call__(self, host: str, **options: bool) -> None:
        self.count += 1
        if self.count == 1:
            raise Failed("it is not ready after 60 seconds")


@pytest.fixture
def restarts(monkeypatch: pytest.MonkeyPatch) -> Restarts:
    found = Restarts()
    monkeypatch.setattr(Places, "is_a_trial", False)
    monkeypatch.setattr("deploy.installer.services.restart", found)
    monkeypatch.setattr("deploy.installer.services.make_account", lambda: None)
    monkeypatch.setattr("deploy.installer.services.put_units", lambda places, folder: False)
    monkeypatch.setattr(main, "_doctor", lambda places, folder: 0)
    return found


def test_a_second_try_to_go_back_does_not_go_forward(places: Places, restarts: Restarts) -> None:
    arguments = ["--root", str(places.root), "--back"]
    assert (main.main(arguments), places.current.resolve().name) == (main.FAILED, "older")
    assert (main.main(arguments), places.current.resolve().name) == (0, "older")
    assert restarts.count == 2
    assert (main.main(arguments), places.current.resolve().name) == (0, "newer")


def test_processes_that_did_not_start_are_started_by_the_next_run(
    places: Places, restarts: Restarts, monkeypatch: pytest.MonkeyPatch
) -> None:
    newest = places.home / "newest"
    newest.mkdir()
    for name, value in (("_all_well", True), ("_prepare", False), ("_make_operator", None)):
        monkeypatch.setattr(main, name, lambda *_, value=value, **__: value)
    monkeypatch.setattr(release, "install", lambda *_, **__: newest)
    monkeypatch.setattr(settings, "make_database", lambda *_: False)
    codes = [main.main(["--root", str(places.root)]) for _ in range(3)]
    assert (codes, restarts.count) == ([main.FAILED, 0, 0], 2)


@pytest.mark.parametrize("refusal", ["", "caddy", "systemctl"])
def test_other_sites_of_the_proxy_stay_and_a_refused_file_is_taken_away(
    places: Places, monkeypatch: pytest.MonkeyPatch, refusal: str
) -> None:
    """Caddy's one file may have the sites of others in it. `refusal` is the program that fails."""
    monkeypatch.setattr(Places, "is_a_trial", False)
    programs = places.root / "bin"
    programs.mkdir()
    for name in ("caddy", "systemctl"):
        (programs / name).write_text(f"#!/bin/sh\n{'false' if name == refusal else 'true'}\n")
        (programs / name).chmod(0o755)
    monkeypatch.setenv("PATH", str(programs), prepend=":")
    given = places.root / "answers"
    given.write_text("host=pay.example.com\nproxy=caddy\n")
    caddyfile = places.root / "etc" / "caddy" / "Caddyfile"
    caddyfile.parent.mkdir(parents=True)
    caddyfile.write_text("shop.example.com {\n}\n")
    own = caddyfile.with_name("ballast.caddy")
    if refusal:
        with pytest.raises(Failed):
            services.put_proxy(places, ROOT, Answers(given))
        assert (caddyfile.read_text(), own.exists()) == ("shop.example.com {\n}\n", False)
        return
    assert services.put_proxy(places, ROOT, Answers(given)) == own
    assert services.put_proxy(places, ROOT, Answers(given)) is None
    assert caddyfile.read_text() == "shop.example.com {\n}\n\nimport ballast.caddy\n"
    assert "pay.example.com {" in own.read_text()


def test_no_secrets_are_made_for_a_database_that_has_tables(monkeypatch: pytest.MonkeyPatch) -> None:
    for said, is_of_an_installation in (((0, "t\n"), True), ((0, "f\n"), False), ((2, "does not exist"), False)):
        monkeypatch.setattr(settings, "psql", lambda *_, said=said, **__: said)
        for url in ("local", "postgres://admin:secret@db.example.com/ballast"):
            assert settings.has_tables(settings.Server(url)) is is_of_an_installation


def test_a_drill_connects_as_who_may_be_given_a_database() -> None:
    assert commands.database_user(["backup_drill", "-"]) == "owner"


def test_an_upgrade_has_the_packages_that_were_chosen(places: Places, monkeypatch: pytest.MonkeyPatch) -> None:
    commands_run: list[str] = []
    monkeypatch.setattr(release, "run", lambda *words: commands_run.append(" ".join(map(str, words))))

    def install(name: str, lock: str | None) -> list[str]:
        folder = places.home / name
        folder.mkdir(exist_ok=True)
        commands_run.clear()
        monkeypatch.setattr(release, "_folder", lambda _: folder)
        release.install(places, lock=lock, environment=None, wheels=None)
        for made in (folder / ".venv", folder / release.READY):
            made.mkdir(exist_ok=True)
        release.make_current(places, folder)
        return [*commands_run]

    assert "requirements.txt" in install("newest", None)[1]
    assert install("newest", None) == []
    added = install("newest", "requirements-kms.txt")  # on the release that runs
    assert ("venv --clear" in added[0], "requirements-kms.txt" in added[0], places.to_restart.exists()) == (0, 1, 1)
    assert "requirements-kms.txt" in install("later", None)[1]
