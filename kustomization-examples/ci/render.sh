#!/bin/sh
# Renders every kustomization CLUSTERS/<name> into OUT/<name>/vms.yaml. A file is replaced only if all of it is rendered.
# usage: render.sh CLUSTERS OUT
set -eu
for cluster in "$1"/*/; do
  out=$2/$(basename "$cluster")
  mkdir -p "$out"
  kustomize build --enable-alpha-plugins --enable-exec "$cluster" >"$out/.new"
  kubevirt-render check --expanded - <"$out/.new" # without a flag, kustomize skips functions and reports nothing
  mv "$out/.new" "$out/vms.yaml"
done
