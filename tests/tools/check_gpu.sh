#!/bin/sh
# Every CUDA rung and every PyTorch mode of every workload against the float64 oracle, at sizes that are not multiples
# of anything, and under compute-sanitizer where it is there. Needs a GPU; no timing counts here.
set -eu
bench=$1
out=$(mktemp -d)
trap 'rm -rf "$out"' EXIT
"$bench" list devices | grep '^cuda  0' || {
    echo "check-gpu: no CUDA device here"
    exit 2
}
"$bench" run --workload mlp_infer --engine cuda --set batch=1,3,64,1000,65537 --set copy=pageable,pinned,mapped \
    --time-limit 100ms --quiet --out "$out/cuda"
"$bench" run --workload mlp_infer --variant 02_thread_per_sample --set layers=8-16-4 --set batch=1,1000 \
    --time-limit 100ms --quiet --out "$out/layers"
"$bench" run --workload mlp_infer --engine pytorch --set device=cuda --set batch=1,1000 --time-limit 100ms --quiet \
    --out "$out/pytorch"
if command -v compute-sanitizer >/dev/null; then
    for tool in memcheck racecheck synccheck; do
        compute-sanitizer --tool "$tool" --target-processes all --error-exitcode 9 \
            "$bench" run --workload mlp_infer --engine cuda --set batch=1,17,1000 --profile --quiet \
            --out "$out/$tool" >"$out/$tool.log" 2>&1 || {
            cat "$out/$tool.log"
            exit 1
        }
        echo "compute-sanitizer $tool: $(grep -o '[A-Z]* SUMMARY.*' "$out/$tool.log" | sort -u)"
    done
else
    echo "compute-sanitizer is not here: not run"
fi
