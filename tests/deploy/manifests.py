"""Manifests of Kubernetes, one for each process; the rest of deploy/kubernetes is written by hand."""

from __future__ import annotations

from typing import Any

import yaml

from tests.deploy.processes import SAYS, Process

HEAD = "# Written by `make tables` from compose.yaml and config/process/roles.py.\n"
USER = 10001
REPLICAS = {"web": 2, "beat": 2}
"""Any number is right; of these two, two keep on while one is replaced."""
KEYS, TLS, TEMPORARY, STATE = "/run/keys", "/run/signer-tls", "/tmp", "/signer"  # noqa: S108 - in the container


def manifest(process: Process) -> str:
    name = f"ballast-{process.role}"
    labels = {"app.kubernetes.io/name": name, "app.kubernetes.io/part-of": "ballast", "ballast/role": process.role}
    if process.reaches:
        labels["ballast/reaches"] = process.reaches
    is_job = process.role == "migrate"
    template = {"metadata": {"labels": labels}, "spec": _pod(process)}
    if is_job:
        found: dict[str, Any] = {
            "apiVersion": "batch/v1",
            "kind": "Job",
            "metadata": {"name": name},
            "spec": {"backoffLimit": 3, "ttlSecondsAfterFinished": 3600, "template": template},
        }
    else:
        found = {
            "apiVersion": "apps/v1",
            "kind": "Deployment",
            "metadata": {"name": name},
            "spec": {
                "replicas": REPLICAS.get(process.role, 1),
                "selector": {"matchLabels": {"app.kubernetes.io/name": name}},
                # There is one signer, with one record of what it signed.
                "strategy": {"type": "Recreate" if process.role == "signer" else "RollingUpdate"},
                "template": template,
            },
        }
    text = yaml.dump(found, Dumper=_WithoutReferences, sort_keys=False, width=1000)
    return f"{HEAD}# {name}: {SAYS[process.role]}.\n{text}"


def _pod(process: Process) -> dict[str, Any]:
    container = _container(process, process.role)
    volumes: list[dict[str, Any]] = [{"name": "temporary", "emptyDir": {}}]
    mounts = [{"name": "temporary", "mountPath": TEMPORARY}]
    if process.role in ("money", "signer"):
        for name, path in (("ballast-keys", KEYS), ("ballast-signer-tls", TLS)):
            volumes.append({"name": name, "secret": {"secretName": name, "optional": True, "defaultMode": 0o440}})
            mounts.append({"name": name, "mountPath": path, "readOnly": True})  # type: ignore[dict-item]
    if process.role == "signer":
        volumes.append({"name": "record", "persistentVolumeClaim": {"claimName": "ballast-signer"}})
        mounts.append({"name": "record", "mountPath": STATE})
        container["ports"] = [{"name": "signer", "containerPort": 7400}]
    container["volumeMounts"] = mounts
    pod: dict[str, Any] = {
        "automountServiceAccountToken": False,
        "enableServiceLinks": False,
        "securityContext": {
            "runAsNonRoot": True,
            "runAsUser": USER,
            "runAsGroup": USER,
            "fsGroup": USER,
            "seccompProfile": {"type": "RuntimeDefault"},
        },
        "containers": [container],
        "volumes": volumes,
    }
    if process.role == "migrate":
        return {"restartPolicy": "Never", **pod}
    pod["terminationGracePeriodSeconds"] = 35
    if process.role != "signer":
        pod["initContainers"] = [_waiting_for_the_job(container)]
    probe = {"exec": {"command": process.service["healthcheck"]["test"][1:]}, "timeoutSeconds": 6}
    if process.role == "beat":
        container["ports"] = [{"name": "metrics", "containerPort": 9464}]  # with METRICS_PORT (docs/metrics.md)
    if process.role == "web":
        container["ports"] = [{"name": "http", "containerPort": 8000}]
        container["readinessProbe"] = {**probe, "periodSeconds": 10}
        alive: dict[str, Any] = {"tcpSocket": {"port": "http"}}
    else:
        alive = probe
    container["livenessProbe"] = {**alive, "periodSeconds": 15, "initialDelaySeconds": 60, "failureThreshold": 4}
    return pod


def _waiting_for_the_job(container: dict[str, Any]) -> dict[str, Any]:
    """Fails, and is tried again, until the job has migrated. It connects as its process does, and has no secret."""
    [database] = [each for each in container["env"] if each["name"] == "DATABASE_URL"]
    fixed = {"BALLAST_MODE": "production", "BALLAST_ROLE": "beat"}
    return {
        "name": "migrated",
        "image": container["image"],
        "command": ["python", "manage.py", "migrate", "--check"],
        "env": [*({"name": name, "value": value} for name, value in fixed.items()), database],
        **{part: container[part] for part in ("envFrom", "resources", "securityContext")},
        "volumeMounts": container["volumeMounts"][:1],
    }


class _WithoutReferences(yaml.SafeDumper):
    """Writes out what occurs twice."""

    def ignore_aliases(self, data: Any) -> bool:
        return True


def _container(process: Process, name: str) -> dict[str, Any]:
    command = process.service.get("command")
    shell = process.commands if command and command.startswith("sh -c ") else []
    words = ["sh", "-c", " && ".join(" ".join(each) for each in shell)] if shell else process.commands[0]
    found: dict[str, Any] = {"name": name, "image": "ballast"}
    if command:
        found["command"] = words
    found["env"] = _environment(process)
    if process.role != "signer":
        found["envFrom"] = [{"secretRef": {"name": "ballast-settings"}}]
    found["resources"] = {"requests": {"cpu": "100m", "memory": "256Mi"}, "limits": {"memory": "1Gi"}}
    found["securityContext"] = {
        "allowPrivilegeEscalation": False,
        "readOnlyRootFilesystem": True,
        "capabilities": {"drop": ["ALL"]},
    }
    return found


def _environment(process: Process) -> list[dict[str, Any]]:
    """Its own secrets, each by its name; of the signer, which may have no others, the settings as well."""
    given = [
        {"name": "BALLAST_MODE", "value": "production"},
        {"name": "BALLAST_ROLE", "value": process.role},
        {"name": "ALIVE_FILE", "value": f"{TEMPORARY}/alive"},
    ]
    if process.role == "signer":
        given += [{"name": "SIGNER_FOLDER", "value": STATE}, {"name": "SIGNER_LISTEN", "value": "tls://0.0.0.0:7400"}]
        given.append({"name": "SIGNER_TLS_FOLDER", "value": TLS})
    if process.role == "migrate":
        given.append({"name": "DATABASE_STATEMENT_TIMEOUT_SECONDS", "value": "0"})
        given.append({"name": "DATABASE_DIRECT_URL", "value": ""})
    fixed = {each["name"] for each in given}
    found: list[dict[str, Any]] = list(given)
    if process.database_user:
        key = f"DATABASE_URL_{process.database_user.upper()}"
        found.append({"name": "DATABASE_URL", "valueFrom": {"secretKeyRef": {"name": "ballast-secrets", "key": key}}})
    sources = [("ballast-secrets", process.secrets)]
    if process.role == "signer":
        sources.append(("ballast-settings", process.settings))
    for source, names in sources:
        for name in names:
            if name not in fixed:
                reference = {"name": source, "key": name, "optional": True}
                found.append({"name": name, "valueFrom": {"secretKeyRef": reference}})
    return found
