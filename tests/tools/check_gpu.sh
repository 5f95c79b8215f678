#!/bin/sh
# Check every CUDA rung and every PyTorch mode of every workload against the float64 reference, at odd sizes, under
# compute-sanitizer if it is installed, and with kernels that misbehave. Needs a GPU; times do not matter here.
#   check_gpu.sh BENCH           all checks
#   check_gpu.sh BENCH CHECK…    only these, such as mnist-wide, or memcheck-mnist-wide of a sanitizer: others may run
#                                beside them, on another GPU (CUDA_VISIBLE_DEVICES)
set -eu
bench=$1
shift
only=" $* "
out=$(mktemp -d)
trap 'rm -rf "$out"' EXIT
"$bench" list devices | grep '^cuda  0' || {
    echo "check-gpu: no CUDA device found"
    exit 2
}
is_asked() {
    case $only in
        "  " | *" $1 "*) ;;
        *) return 1 ;;
    esac
}
check() { # name, workload, options
    name=$1
    workload=$2
    shift 2
    is_asked "$name" || return 0
    "$bench" run --workload "$workload" "$@" --quick --time-limit 100ms --quiet --out "$out/$name" >"$out/$name.log" || {
        cat "$out/$name.log"
        grep -vE '"status":"(ok|skipped)"' "$out/$name/cases.jsonl" | grep -oE '"(id|status|reason)":("[^"]*"|null)' || true
        exit 1
    }
    echo "$name: $(grep -c '"status":"ok"' "$out/$name/cases.jsonl") cases are correct"
}
check cuda mlp_infer --engine cuda --set batch=1,3,64,1000,65537 --set copy=pageable,pinned,mapped
check techniques mlp_infer --engine cuda --set batch=17 --set alloc=malloc,async,arena --set copy=pinned,mapped \
    --set weights=upload,resident --set launch=stream,graph --set wait=sync,poll
check f16 mlp_infer --engine cuda --set dtype=f16 --set batch=1,2,3,1000,65537 --set copy=pinned,mapped
check layers mlp_infer --variant 02_thread_per_sample --set layers=8-16-4 --set batch=1,1000
check pytorch mlp_infer --engine pytorch --set device=cuda --set batch=1,1000 --set dtype=f32,f16

# Rung 06 is one block, a cluster or the grid, depending on the number of points.
check training linreg_train --engine cuda --set points=2,17,4999,123457,300001 --set epochs=1,2,25
# Widths that most rungs support, and widths that few do: the other rungs skip those.
check mnist mnist_train --engine cuda --set hidden=64,128,320,512,1024 --set batch=16,32 --set steps=1,2,60
# One step changes float16 weights by less than they resolve, so that there nothing can be told from no change.
check mnist-widths mnist_train --engine cuda --set hidden=24,200 --set batch=16,32 --set steps=2,60
check mnist-techniques mnist_train --engine cuda --set hidden=64,128,512 --set accumulate=f32,f16 --set steps=60
check mnist-mixed mnist_train --engine cuda --set dtype=mixed --set hidden=64,128,320,512,1024,2048 --set batch=16,32 \
    --set steps=1,2,60
# With clusters, and with more panels than pairs of multiprocessors.
check mnist-wide mnist_train --engine cuda --variant 07_tiled_stream --set hidden=2048,4288 --set steps=2,60
check pytorch-training linreg_train --engine pytorch --set device=cuda --set points=2,4999 --set epochs=1,25
check pytorch-mnist mnist_train --engine pytorch --set device=cuda --set dtype=f16,f32 --set hidden=24,128 \
    --set steps=60
check pytorch-mnist-mixed mnist_train --engine pytorch --set device=cuda --set dtype=mixed --set hidden=128,512 \
    --set steps=60
check allocators allocate --engine cuda --set live=1,100,3000
check pytorch-allocator allocate --engine pytorch --set device=cuda --set live=1,100

# Odd widths, batches that do not divide the images; every allocator. The single-launch rungs take multiples of eight and
# at most 64 images; tf32 has two more rungs. The reference takes as many steps as a rung, so small batches have few images.
check mlp mlp_train --engine cuda --set width=1,30,100 --set depth=2,5 --set batch=1000,59999 --set epochs=1
check mlp-small mlp_train --engine cuda --set width=16,104,784 --set depth=2,4 --set batch=7,64 --set images=400
# One step of f32: a longer training may hide that its products are TF32.
check mlp-step mlp_train --engine cuda --set width=104,784 --set images=64 --set dtype=f32
check mlp-tf32 mlp_train --engine cuda --set width=30,104,784 --set batch=33,64 --set images=500 --set dtype=tf32
check mlp-allocators mlp_train --engine cuda --set width=256 --set batch=100 --set epochs=2 \
    --set allocator=caching,malloc,async,arena
check mlp-wide mlp_train --engine cuda --set width=1100 --set depth=3 --set batch=7,33 --set images=400 \
    --variant 04_graph
check pytorch-mlp mlp_train --engine pytorch --set device=cuda --set width=30 --set batch=1000 --set epochs=1 \
    --set dtype=f32,tf32

sanitize() { # tool, name, options
    tool=$1
    name=$2
    shift 2
    is_asked "$tool-$name" || return 0
    # By default synccheck tracks only a few barriers in shared memory.
    barriers=
    [ "$tool" != synccheck ] || barriers="--num-cuda-barriers 65536"
    # CUPTI allows one client, here the sanitizer.
    # shellcheck disable=SC2086 # two words
    BENCH_CUPTI=none compute-sanitizer --tool "$tool" $barriers --target-processes all --error-exitcode 9 \
        "$bench" run "$@" --engine cuda --profile --quiet --out "$out/$tool-$name" >"$out/$tool.log" 2>&1 || {
        cat "$out/$tool.log"
        exit 1
    }
    echo "compute-sanitizer $tool, $name: $(grep -o '[A-Z]* SUMMARY.*' "$out/$tool.log" | sort -u)"
}
if command -v compute-sanitizer >/dev/null; then
    for tool in memcheck racecheck synccheck; do
        for dtype in f32 f16; do
            sanitize "$tool" $dtype --workload mlp_infer --set batch=1,17,1000,4099 --set dtype=$dtype \
                --set alloc=malloc,arena --set copy=pinned,mapped
        done
        sanitize "$tool" training --workload linreg_train --set points=2,17,4999 --set epochs=2
        sanitize "$tool" mnist --workload mnist_train --set hidden=128,320 --set steps=2
        sanitize "$tool" mnist-wide --workload mnist_train --variant 07_tiled_stream --set hidden=2048 --set steps=2
        sanitize "$tool" mnist-mixed --workload mnist_train --set dtype=mixed --set hidden=128,768 --set steps=2
        for rung in 06_persistent 08_lean_epochs; do
            sanitize "$tool" "$rung" --workload linreg_train --variant "$rung" --set points=20011,300001 --set epochs=5
        done
    done
    # Few images, as every step of an epoch is checked, and the single-launch rungs have all steps in one launch.
    for tool in memcheck racecheck synccheck; do
        sanitize "$tool" mlp --workload mlp_train --set width=30,100 --set batch=1000 --set images=2500
        for rung in 05_persistent 08_on_chip_split_tf32 10_on_chip_lanes; do
            sanitize "$tool" "$rung" --workload mlp_train --variant "$rung" --set width=16,104 --set depth=3 \
                --set images=250
        done
        for rung in 06_tf32 07_persistent_tf32 09_on_chip_tf32; do
            sanitize "$tool" "$rung" --workload mlp_train --variant "$rung" --set dtype=tf32 --set width=104 \
                --set depth=3 --set images=250
        done
    done
    # This checks that every block is valid memory and that nothing leaks.
    sanitize memcheck allocators --workload allocate --set live=1,100
    # The same with `bench run --sanitize`, which caches the verdicts.
    BENCH_CACHE=$out/cache check sanitized mlp_infer --engine cuda --variant 03_vectorized --set batch=1,1000 --sanitize
    ! is_asked sanitized || grep -q '"tools":{"memcheck":"clean","racecheck":"clean","synccheck":"clean"}' "$out/sanitized/cases.jsonl" || {
        grep -o '"sanitize":{[^}]*}' "$out/sanitized/cases.jsonl"
        exit 1
    }
else
    echo "compute-sanitizer not found: not run"
fi
! is_asked pytest || CHECK_LONG=1 BENCH=$bench tests/tools/pytest.sh tests/gpu tests/pytorch
