# The service in a container: `docker build -t belated .`; see docs/deployment.md.
# Runs as a user without privileges, with a read-only root file system.
ARG PYTHON=3.12

FROM python:${PYTHON}-slim AS build
WORKDIR /source
COPY pyproject.toml README.md LICENSE ./
COPY src src
RUN python -m venv /opt/belated \
    && /opt/belated/bin/pip install --no-cache-dir '.[postgres]'

FROM python:${PYTHON}-slim
RUN useradd --system --no-create-home --home-dir /nonexistent --uid 10001 belated \
    && install --directory --owner=belated /var/lib/belated /var/cache/belated
COPY --from=build /opt/belated /opt/belated

# Code that is compiled at build is valid on the processor of any host of the same architecture only
# if it is compiled for a generic one.
ENV PATH=/opt/belated/bin:$PATH \
    PYTHONDONTWRITEBYTECODE=1 \
    PYTHONUNBUFFERED=1 \
    NUMBA_CACHE_DIR=/var/cache/belated \
    NUMBA_CPU_NAME=generic \
    BELATED_HOST=0.0.0.0 \
    BELATED_PORT=8000
USER 10001
# The default store is the file belated.db in this folder.
WORKDIR /var/lib/belated
RUN python -c 'import belated; from belated.learner.background import compile_base; compile_base(belated.UCRL2())'

# A new volume begins with the content of the image, here with the compiled code.
VOLUME ["/var/lib/belated", "/var/cache/belated"]
EXPOSE 8000
STOPSIGNAL SIGTERM
HEALTHCHECK --interval=10s --timeout=5s --start-period=60s CMD ["python", "-c", "import http.client as h; c = h.HTTPConnection('127.0.0.1', 8000, timeout=4); c.request('GET', '/readyz'); raise SystemExit(c.getresponse().status != 200)"]
ENTRYPOINT ["belated"]
CMD ["serve"]
