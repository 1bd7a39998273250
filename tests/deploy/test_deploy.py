"""What is shipped to run Ballast with says the same of each process, and the tools that will read it accept it."""

from __future__ import annotations

import os
import re
import shutil
import stat
import subprocess
import sys
import time
from pathlib import Path
from typing import Any
from urllib.error import URLError

import compose_spec
import kubernetes_validate
import pytest
import yaml

from config.process import alive, roles
from deploy.installer import commands, env_files
from tests.bench.server import free_port
from tests.deploy.processes import COMPOSE, ROOT, services

SYSTEMD, KUBERNETES, PROXY = (ROOT / "deploy" / folder for folder in ("systemd", "kubernetes", "proxy"))
MOST_EXPOSED = 15
"""Of 100, as systemd-analyze counts."""


def run(*command: object, **options: Any) -> str:
    """Output of a command, which must succeed; skips where the program is missing."""
    if shutil.which(str(command[0])) is None and not Path(str(command[0])).exists():
        pytest.skip(f"there is no {command[0]}")
    words = [str(word) for word in command]
    ended = subprocess.run(words, capture_output=True, text=True, check=False, **options)
    assert ended.returncode == 0, ended.stdout + ended.stderr
    return str(ended.stdout + ended.stderr)


def unit_of(role: str) -> dict[str, list[str]]:
    """The values of each name in a unit, in their order."""
    path = SYSTEMD / f"ballast-{role}{'@' if role == 'web' else ''}.service"
    found: dict[str, list[str]] = {}
    for name, value in re.findall(r"^(\w+)=(.*)$", path.read_text(), re.MULTILINE):
        found.setdefault(name, []).append(value)
    return found


def documents(*paths: Path) -> list[dict[str, Any]]:
    return [document for path in paths for document in yaml.safe_load_all(path.read_text())]


def container_of(role: str) -> dict[str, Any]:
    [document] = documents(KUBERNETES / f"{role}.yaml")
    [container] = document["spec"]["template"]["spec"]["containers"]
    return dict(container)


def words(*commands: str) -> list[str]:
    """The words of commands that matter everywhere: neither places of files nor what is around the program."""
    text = " ".join(commands).replace("/srv/ballast/current/.venv/bin/", "").replace("/srv/ballast/current/", "")
    text = text.replace("/usr/bin/env DATABASE_STATEMENT_TIMEOUT_SECONDS=0 ", "").replace("exec ", "")
    return re.sub(r"^sh -c |[\"']|&&", "", text).split()


@pytest.mark.parametrize("role", sorted(set(roles.ROLES) - {roles.ALL}))
def test_each_process_runs_the_same_with_its_own_secrets_alone_wherever_it_runs(role: str) -> None:
    service, unit, container = services()[role], unit_of(role), container_of(role)
    own = {secret for secret in roles.USERS if roles.uses(role, secret)}

    if role == "web":
        [command] = re.findall(r"exec (python -m config.web .*?)\"\]", (ROOT / "Dockerfile").read_text())
        assert "command" not in container
        at = command.replace("0.0.0.0", "127.0.0.1").replace("8000", "%i").replace(":-$(nproc)", "")  # noqa: S104
        assert words(*unit["ExecStart"]) == words(at)
    else:
        assert words(*unit["ExecStart"]) == words(service["command"]) == words(*container["command"])

    environment = {each["name"]: each for each in container["env"]}
    assert environment["BALLAST_ROLE"]["value"] == role
    assert f"BALLAST_ROLE={role}" in unit["Environment"][0]
    only_in_files = own - service["environment"].keys()
    assert environment.keys() & roles.USERS.keys() == own - only_in_files
    assert all(environment[name]["valueFrom"]["secretKeyRef"]["key"] == name for name in own - only_in_files)
    unset = {name for line in unit.get("UnsetEnvironment", []) for name in line.split()}
    assert ("/etc/ballast/ballast.env" in unit["EnvironmentFile"]) == (role != "signer")
    assert ("envFrom" in container) == (role != "signer")
    if role != "signer":
        assert unset & roles.USERS.keys() == roles.USERS.keys() - own
        user = re.search(r"ballast_(\w+):", service["environment"]["DATABASE_URL"])
        assert user is not None
        assert f"/etc/ballast/database-{user[1]}.env" in unit["EnvironmentFile"]
        assert environment["DATABASE_URL"]["valueFrom"]["secretKeyRef"]["key"] == f"DATABASE_URL_{user[1].upper()}"
    else:
        passed = {name for name, value in service["environment"].items() if value is None}
        assert environment.keys() >= passed
        assert not {"DATABASE_URL", "REDIS_URL"} & environment.keys()
    assert bool(service.get("secrets")) == ("LoadCredential" in unit) == ("ballast-keys" in str(container))


def test_nothing_of_ballast_reaches_the_internet_but_what_must() -> None:
    """Providers are asked by chain and money, merchants' servers by webhooks."""
    leaving = set()
    for role in sorted(set(roles.ROLES) - {roles.ALL}):
        [document] = documents(KUBERNETES / f"{role}.yaml")
        labels = document["spec"]["template"]["metadata"]["labels"]
        if labels.get("ballast/reaches") == "internet":
            leaving.add(role)
        assert ("IPAddressDeny" in unit_of(role)) == ("ballast/reaches" not in labels)
    assert leaving == {"chain", "money", "webhooks"}
    policies = documents(KUBERNETES / "network-policies.yaml")
    assert policies[0]["spec"] == {"podSelector": {}, "policyTypes": ["Ingress", "Egress"]}
    public = [each for each in policies if "0.0.0.0/0" in str(each)]
    selected = [each["spec"]["podSelector"] for each in public]
    assert selected == [
        {"matchLabels": {"ballast/reaches": "internet"}},
        {"matchExpressions": [{"key": "ballast/role", "operator": "In", "values": ["webhooks", "reports"]}]},
        {"matchLabels": {"ballast/role": "signer"}},
    ]


def test_compose_accepts_its_files() -> None:
    """By the rules of its specification, which know every name; variables are filled in before, as compose does."""
    for name in COMPOSE:
        text = (ROOT / name).read_text()
        filled = re.sub(r"\$\{\w+(?::([-?+])([^}]*))?\}", lambda found: found[2] if found[1] == "-" else "x", text)
        compose_spec.PyCompose.from_yaml(yaml.safe_dump(yaml.safe_load(filled)))
    with pytest.raises(ValueError, match="helthcheck"):
        compose_spec.PyCompose.from_yaml("services: {web: {image: ballast, helthcheck: {}}}")


def test_the_image_is_built_from_digests_runs_as_nobody_and_brings_no_compiler() -> None:
    text = (ROOT / "Dockerfile").read_text()
    assert "--require-hashes" in text
    assert "--only-binary :all:" in text
    assert not re.search(r"apt|gcc|build-essential|^ADD |curl|wget", text, re.MULTILINE)
    last = text.rpartition("\nFROM ")[2]
    assert re.findall(r"^USER (.*)$", last, re.MULTILINE) == ["10001:10001"]
    assert re.search(r"^HEALTHCHECK .*config\.process\.alive", last, re.MULTILINE)
    ignored = (ROOT / ".dockerignore").read_text().splitlines()
    assert ignored[0] == "*"
    copied = {name for line in re.findall(r"^COPY ([^-$].*) \S+$", text, re.MULTILINE) for name in line.split()}
    assert {f"!{name}" for name in copied} == {
        line for line in ignored if line[0] == "!" and "requirements" not in line
    }
    for folder in ("locale", "static", "templates"):
        assert folder in copied  # as the settings name them
    for service in services().values():
        if service.get("image") == "ballast":
            assert (service["read_only"], service["cap_drop"]) == (True, ["ALL"])


def test_a_container_is_well_while_its_file_is_renewed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "alive"
    monkeypatch.setenv("BALLAST_ROLE", "beat")
    monkeypatch.setenv("ALIVE_FILE", str(file))
    with pytest.raises(FileNotFoundError):
        alive.main()
    for age, code in ((0, False), (alive.OLDEST_SECONDS + 1, True)):
        file.touch()
        os.utime(file, (time.time() - age,) * 2)
        with pytest.raises(SystemExit) as ended:
            alive.main()
        assert ended.value.code is code
    monkeypatch.setenv("BALLAST_ROLE", "web")
    monkeypatch.setenv("ALLOWED_HOSTS", "pay.example.com")
    monkeypatch.setattr(alive, "WEB", f"http://127.0.0.1:{free_port()}/health/ready")
    with pytest.raises(URLError):
        alive.main()


def test_a_linter_finds_nothing_in_the_dockerfile() -> None:
    run(Path(sys.executable).parent / "hadolint", ROOT / "Dockerfile")


def test_kubernetes_accepts_the_manifests() -> None:
    kustomization = yaml.safe_load((KUBERNETES / "kustomization.yaml").read_text())
    commented = re.findall(r"^ *# - (\S+\.yaml)$", (KUBERNETES / "kustomization.yaml").read_text(), re.MULTILINE)
    listed = {*kustomization["resources"], *commented, "kustomization.yaml"}
    assert {path.name for path in KUBERNETES.glob("*.yaml")} == listed
    found = documents(*sorted(path for path in KUBERNETES.glob("*.yaml") if path.name != "kustomization.yaml"))
    for document in found:
        kubernetes_validate.validate(document, "1.37", strict=True)
        pod = document.get("spec", {}).get("template", {}).get("spec")
        if pod:
            assert (pod["automountServiceAccountToken"], pod["securityContext"]["runAsNonRoot"]) == (False, True)
            for container in [*pod["containers"], *pod.get("initContainers", [])]:
                assert container["securityContext"] == {
                    "allowPrivilegeEscalation": False,
                    "readOnlyRootFilesystem": True,
                    "capabilities": {"drop": ["ALL"]},
                }
    with pytest.raises(kubernetes_validate.ValidationError):
        kubernetes_validate.validate(found[0] | {"sepc": {}}, "1.37", strict=True)


def test_kustomize_puts_the_manifests_together(tmp_path: Path) -> None:
    folder = tmp_path / "kubernetes"
    shutil.copytree(KUBERNETES, folder)
    for name in ("settings.env", "secrets.env"):
        shutil.copy(folder / f"{name}.example", folder / name)
    text = run("kubectl", "kustomize", folder)
    together = [each for each in yaml.safe_load_all(text) if each["kind"] in ("Deployment", "Job")]
    assert len(together) == 7
    for document in together:
        [container] = document["spec"]["template"]["spec"]["containers"]
        assert container["image"].startswith("registry.example.com/ballast:")
        assert re.fullmatch(r"ballast-settings-\w+", container["envFrom"][0]["secretRef"]["name"])


def test_systemd_accepts_the_units_and_finds_little_exposed(tmp_path: Path) -> None:
    shutil.copytree(SYSTEMD, tmp_path, dirs_exist_ok=True)
    home = tmp_path / "current"
    (home / ".venv" / "bin").mkdir(parents=True)
    for program in ("python", "celery"):
        shutil.copy("/bin/true", home / ".venv" / "bin" / program)
    (tmp_path / "ballast-web@.service").rename(tmp_path / "ballast-web@8000.service")
    units = sorted(tmp_path.glob("*.service"))
    assert len(units) == len(roles.ROLES) - 1 + len(["ballast-backup.service"])
    for path in (*units, tmp_path / "ballast-.service.d" / "sandbox.conf"):
        path.write_text(path.read_text().replace("/srv/ballast/current", str(home)))
    for path in units:
        run(
            "systemd-analyze",
            "security",
            "--offline=true",
            f"--threshold={MOST_EXPOSED}",
            f"./{path.name}",
            cwd=tmp_path,
        )
    said = run(
        "systemd-analyze",
        "verify",
        *(f"./{path.name}" for path in units),
        "./ballast.target",
        "./ballast-backup.timer",
        cwd=tmp_path,
    )
    assert [line for line in said.splitlines() if "ballast" in line] == []


def test_nginx_accepts_its_sample(tmp_path: Path) -> None:
    key, certificate = tmp_path / "key.pem", tmp_path / "certificate.pem"
    made = ("openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes")
    run(*made, "-subj", "/CN=pay.example.com", "-keyout", key, "-out", certificate)
    sample = (PROXY / "nginx.conf").read_text().replace("/etc/ssl/pay.example.com.pem", str(certificate))
    sample = sample.replace("/etc/ssl/private/pay.example.com.key", str(key))
    main = tmp_path / "nginx.conf"
    folders = "".join(
        f"{name}_temp_path {tmp_path}/{name}; " for name in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")
    )
    main.write_text(f"pid {tmp_path}/pid; events {{}} http {{ access_log off; {folders}\n{sample}\n}}")
    assert "[warn]" not in run("/usr/sbin/nginx", "-t", "-p", tmp_path, "-e", "stderr", "-c", main)


def test_caddy_accepts_its_sample(tmp_path: Path) -> None:
    sample = (PROXY / "Caddyfile").read_text().replace("/var/log/caddy", str(tmp_path))
    (tmp_path / "Caddyfile").write_text(sample)
    home = {
        "HOME": str(tmp_path),
        "XDG_DATA_HOME": str(tmp_path),
        "XDG_CONFIG_HOME": str(tmp_path),
        "PATH": "/usr/bin:/bin",
    }
    run("caddy", "validate", "--adapter", "caddyfile", "--config", tmp_path / "Caddyfile", env=home)


def test_a_file_of_settings_reads_as_it_was_written_and_refuses_what_systemd_reads_otherwise(
    tmp_path: Path,
) -> None:
    path = tmp_path / "ballast.env"
    values = {"A": "", "B": "a b", "C": "https://x/?y=1#z", "D": "Ballast <ballast@pay.example.com>", "E": 'a"b;c'}
    env_files.write(path, "One line.\nTwo lines.", values)
    assert (env_files.read(path), stat.S_IMODE(path.stat().st_mode)) == (values, 0o600)
    for value in ("a'b", "a\\b", "a\nB=c", "a$b"):
        with pytest.raises(ValueError, match="A has a quote"):
            env_files.line("A", value)


def test_commands_of_the_installation_connect_as_those_who_may_do_them() -> None:
    page = (ROOT / "docs" / "databases.md").read_text()
    row = re.search(r"^\| `ballast_web` \| (.*) \|$", page, re.MULTILINE)
    assert row
    for text in re.findall(r"`([a-z_]+(?: --\w+)?(?:` and `--\w+)?)`", row[1]):
        command, *switches = text.replace("` and `", " ").split()
        assert {commands.database_user([command, switch]) for switch in switches or [""]} == {"web"}, text
    assert [commands.database_user([name]) for name in ("migrate", "reconcile", "stops", "")] == [
        "owner",
        "worker",
        "worker",
        "worker",
    ]
    there = {path.stem for path in ROOT.rglob("management/commands/*.py")} | {"createsuperuser", "migrate", "restore"}
    assert there >= commands.OF_THE_OWNER | commands.OF_THE_WEB | commands.WITH_KEYS
