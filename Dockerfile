# The KRM function as an image: `docker build -t kubevirt-render .`; kustomize and kpt run it without arguments, network or root.
ARG BASE=python:3.13-slim

FROM ${BASE} AS build
COPY . /src
# Byte-compiled here, because the image may be read-only: without .pyc files every start costs a third more.
# unchecked-hash: nothing compares the sources' dates at start.
RUN python3 -m pip install --no-cache-dir --no-compile --target /app /src \
 && python3 -m compileall -q -j 0 --invalidation-mode unchecked-hash /app

FROM ${BASE}
COPY --from=build /app /app
ENV PYTHONPATH=/app PYTHONDONTWRITEBYTECODE=1
USER 65534:65534
WORKDIR /tmp
# -S and -P: no site-packages and no folder of the script's own to look through; a quarter less to start.
ENTRYPOINT ["python3", "-S", "-P", "/app/bin/kubevirt-render"]
