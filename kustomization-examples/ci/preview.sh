#!/bin/sh
# Says what the commits since BASE do to the VMs that a command builds, such as `flux build kustomization`.
# usage: preview.sh BASE COMMAND [ARGUMENT...]; COMMAND prints manifests, and runs in this folder of both commits
# DIFF has flags of `kubevirt-render diff`: DIFF="--kubevirt-version=1.8 -o markdown"
set -eu
since=$1
shift
work=$(mktemp -d)
trap 'git worktree remove --force "$work/before" 2>/dev/null || true; rm -rf "$work"' EXIT
git worktree add --quiet --detach "$work/before" "$(git merge-base "$since" HEAD)"
"$@" >"$work/after.yaml"
(cd "$work/before/$(git rev-parse --show-prefix)" && "$@") >"$work/before.yaml"
kubevirt-render diff ${DIFF:-} "$work/before.yaml" "$work/after.yaml"
