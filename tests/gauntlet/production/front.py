"""What stands before Ballast: nginx with TLS, as docs/installing.md shows it, and the way through it to the outside."""

from __future__ import annotations

import shutil
import ssl
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path

from tests.gauntlet.network import PUBLIC_ADDRESS

NGINX = shutil.which("nginx", path="/usr/sbin:/usr/bin:/usr/local/bin")

_SERVERS = """
daemon off;
pid {folder}/nginx.pid;
error_log {folder}/nginx-errors.log;
worker_processes 1;
events {{ worker_connections 512; }}
http {{
    access_log off;
    client_body_temp_path {folder}/body;
    proxy_temp_path {folder}/proxy;
    fastcgi_temp_path {folder}/fastcgi;
    uwsgi_temp_path {folder}/uwsgi;
    scgi_temp_path {folder}/scgi;
    ssl_certificate {folder}/certificate.pem;
    ssl_certificate_key {folder}/key.pem;

    upstream ballast {{
        {web}
        keepalive 32;
    }}
    server {{
        listen 127.0.0.1:443 ssl;
        server_name localhost;
        client_max_body_size 256k;
        location / {{
            proxy_pass http://ballast;
            proxy_http_version 1.1;
            proxy_set_header Connection "";
            proxy_set_header Host $host;
            proxy_set_header X-Forwarded-For $remote_addr;
            proxy_set_header X-Forwarded-Proto https;
        }}
        location /mirror/ {{ proxy_pass http://127.0.0.1:{exchanges}/; }}
    }}
    {providers}
}}
"""


def make_certificate(folder: Path) -> ssl.SSLContext:
    """An authority of this run's own, whose only certificate is for what answers here; who trusts it."""
    names = f"subjectAltName=DNS:localhost,IP:127.0.0.1,IP:{PUBLIC_ADDRESS}"
    options = "req -x509 -newkey rsa:2048 -nodes -days 90 -subj /CN=ballast-gauntlet"
    files = ["-keyout", str(folder / "key.pem"), "-out", str(folder / "certificate.pem")]
    subprocess.run(["openssl", *options.split(), "-addext", names, *files], check=True, capture_output=True)
    return ssl.create_default_context(cafile=str(folder / "certificate.pem"))


def nginx(folder: Path, *, web: Sequence[int], exchanges: int, providers: Mapping[int, str]) -> list[str]:
    """The command that serves the web processes at these ports; each port of `providers` leads to a node."""
    if NGINX is None:
        raise SystemExit("This scenario needs nginx (Debian: apt install nginx-light).")
    listening = (
        f"server {{ listen 127.0.0.1:{port}; client_max_body_size 16m; location / {{ proxy_pass {node}; }} }}"
        for port, node in providers.items()
    )
    settings = _SERVERS.format(
        folder=folder,
        web="\n        ".join(f"server 127.0.0.1:{port};" for port in web),
        exchanges=exchanges,
        providers="\n    ".join(listening),
    )
    (folder / "nginx.conf").write_text(settings)
    return [NGINX, "-c", str(folder / "nginx.conf"), "-e", str(folder / "nginx-errors.log")]
