#!/bin/sh
# Renders every kustomization CLUSTERS/<name> into OUT/<name>/vms.yaml. The file is replaced once all of it could be rendered.
# usage: render.sh CLUSTERS OUT
set -eu
for cluster in "$1"/*/; do
  out=$2/$(basename "$cluster")
  mkdir -p "$out"
  kustomize build --enable-alpha-plugins --enable-exec "$cluster" >"$out/.new"
  kubevirt-render check --expanded - <"$out/.new" # kustomize leaves functions out in silence where a flag is missing
  mv "$out/.new" "$out/vms.yaml"
done
