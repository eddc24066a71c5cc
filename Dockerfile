# The KRM function and the command as one image: `docker build -t kubevirt-render .`
# For pipelines, with kubectl (its kustomize builds kustomizations) and helm, on amd64: `docker build --target ci -t kubevirt-render:ci .`
# kustomize and kpt run it without arguments, network, root or a writable folder. The same sources and base give the same bytes with
# `podman build --timestamp SECONDS`, or with SOURCE_DATE_EPOCH and `docker buildx build --output type=docker,rewrite-timestamp=true`.
# BASE is the index of all platforms of python:3.13-slim, by its digest; another one may be given (--build-arg BASE=…).
ARG BASE=python:3.13-slim@sha256:7c61056e61ac89e852de05f3dc6fa51a6dd2181797bceed46aa725dd7cb2cd3b

FROM ${BASE} AS build
WORKDIR /src
COPY image/requirements.txt image/build.txt image/
RUN python3 -m pip install --no-cache-dir --no-compile --require-hashes --only-binary :all: --target /app -r image/requirements.txt \
 && python3 -m pip install --no-cache-dir --no-compile --require-hashes --only-binary :all: --target /build -r image/build.txt
COPY . .
RUN PYTHONPATH=/build python3 -m pip install --no-cache-dir --no-compile --no-index --no-deps --no-build-isolation --target /app . \
 && rm -r /app/bin

FROM ${BASE} AS root
# Nothing is installed in the image, and a base without compiled modules would compile them at every start.
# unchecked-hash: nothing compares the sources' dates at start.
COPY image/trim.py /tmp/
RUN python3 /tmp/trim.py && rm /tmp/trim.py
COPY --from=build /app /opt/kubevirt-render
COPY --chmod=755 image/kubevirt-render /usr/local/bin/
RUN python3 -m compileall -q -j 0 --invalidation-mode unchecked-hash /opt/kubevirt-render \
 && PYTHONPATH=/opt/kubevirt-render python3 -B -m krm_fn.startup

FROM ${BASE} AS tools
WORKDIR /tools
COPY image/tools.txt .
RUN python3 -m pip download --no-cache-dir --no-deps --require-hashes --only-binary :all: -r tools.txt \
 && python3 -m zipfile -e *.whl . && python3 -m tarfile -e aws_cdk/*/_jsii/*.tgz . && python3 -m zipfile -e package/lib/layer.zip . \
 && chmod 755 helm/helm kubectl/kubectl && helm/helm version && kubectl/kubectl version --client

# One layer, so that what was removed is gone. Debian's package list stays: scanners read it.
FROM scratch AS function
COPY --from=root / /
ARG BASE
ARG VERSION=0.1.0
ARG REVISION=unknown
ARG SOURCE=
LABEL org.opencontainers.image.title="kubevirt-render" \
      org.opencontainers.image.description="Renders KubeVirt virtual machines offline: a KRM function and a command" \
      org.opencontainers.image.licenses="Apache-2.0" \
      org.opencontainers.image.documentation="${SOURCE}" \
      org.opencontainers.image.source="${SOURCE}" \
      org.opencontainers.image.base.name="${BASE}" \
      org.opencontainers.image.version="${VERSION}" \
      org.opencontainers.image.revision="${REVISION}"
ENV PATH=/usr/local/bin:/usr/bin:/bin LANG=C.UTF-8
USER 65534:65534
WORKDIR /tmp
# -I -S: neither the environment nor site-packages has a say; a quarter less to start.
ENTRYPOINT ["python3", "-I", "-S", "-B", "/usr/local/bin/kubevirt-render"]

FROM function AS ci
COPY --from=tools /tools/helm/helm /tools/kubectl/kubectl /usr/local/bin/

# The last stage is what is built without --target.
FROM function
