#!/bin/sh
# Every CUDA rung and every PyTorch mode of every workload against the float64 oracle, at sizes that are not multiples
# of anything, under compute-sanitizer where it is there, and with kernels that misbehave. Needs a GPU; no timing
# counts here.
set -eu
bench=$1
out=$(mktemp -d)
trap 'rm -rf "$out"' EXIT
"$bench" list devices | grep '^cuda  0' || {
    echo "check-gpu: no CUDA device here"
    exit 2
}
check() { # name, options
    name=$1
    shift
    "$bench" run --workload mlp_infer "$@" --time-limit 100ms --quiet --out "$out/$name" >"$out/$name.log" || {
        cat "$out/$name.log"
        exit 1
    }
    echo "$name: $(grep -c '"status":"ok"' "$out/$name/cases.jsonl") cases are right"
}
check cuda --engine cuda --set batch=1,3,64,1000,65537 --set copy=pageable,pinned,mapped
check techniques --engine cuda --set batch=17 --set alloc=malloc,async,arena --set copy=pinned,mapped \
    --set weights=upload,resident --set launch=stream,graph --set wait=sync,poll
check f16 --engine cuda --set dtype=f16 --set batch=1,2,3,1000,65537 --set copy=pinned,mapped
check layers --variant 02_thread_per_sample --set layers=8-16-4 --set batch=1,1000
check pytorch --engine pytorch --set device=cuda --set batch=1,1000 --set dtype=f32,f16

if command -v compute-sanitizer >/dev/null; then
    for tool in memcheck racecheck synccheck; do
        for dtype in f32 f16; do
            compute-sanitizer --tool "$tool" --target-processes all --error-exitcode 9 \
                "$bench" run --workload mlp_infer --engine cuda --set batch=1,17,1000,4099 --set dtype=$dtype \
                --set alloc=malloc,arena --set copy=pinned,mapped --profile --quiet --out "$out/$tool-$dtype" \
                >"$out/$tool.log" 2>&1 || {
                cat "$out/$tool.log"
                exit 1
            }
            echo "compute-sanitizer $tool, $dtype: $(grep -o '[A-Z]* SUMMARY.*' "$out/$tool.log" | sort -u)"
        done
    done
else
    echo "compute-sanitizer is not here: not run"
fi
BENCH=$bench tests/tools/pytest.sh tests/gpu tests/pytorch
