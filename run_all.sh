#!/usr/bin/env bash
# The main job: set-up, sweeps of every workload, charts, report. With a GPU it measures CUDA against PyTorch and JAX;
# without one it shows the saved H200 results, measures C, PyTorch and JAX on the CPU, and compiles every CUDA kernel
# for every architecture.
set -euo pipefail
cd "$(dirname "$0")"

usage() {
    cat <<'EOF'
usage: ./run_all.sh [--full | --quick] [--no-pytorch] [--no-jax] [--out DIR]

  --full         all sizes and contenders of the sweeps (default with a GPU)
  --quick        few sizes, at most 1 s per contender (default without a GPU)
  --no-pytorch   do not install or measure PyTorch
  --no-jax       do not install or measure JAX
  --out DIR      folder of the run (default results/HOST-TIME); an unfinished run there is resumed
EOF
}

die() {
    printf 'run_all.sh: %s\n' "$*" >&2
    exit 2
}

mode="" out="" without=()
while [ $# -gt 0 ]; do
    case $1 in
    --full | --quick) mode=${1#--} ;;
    --no-pytorch | --no-jax) without+=("$1") ;;
    --out) [ $# -gt 1 ] || die "--out needs a folder"; out=$2; shift ;;
    --out=*) out=${1#--out=} ;;
    -h | --help) usage; exit 0 ;;
    *) usage >&2; die "unknown option $1" ;;
    esac
    shift
done

step() { printf '\n== %s\n' "$*" >&2; }
tell() { printf 'run_all.sh: %s\n' "$*" >&2; }

step "set-up: installing missing packages, PyTorch and JAX (minutes), then building bench (1 min)"
tests/tools/setup.sh run "${without[@]}"
make --no-print-directory features
bench=build/bench

gpu=no
"$bench" list devices 2>/dev/null | grep -q '^cuda  0' && gpu=yes
if [ -z "$mode" ]; then
    [ "$gpu" = yes ] && mode=full || mode=quick
fi
sweeps=(sweeps/mlp_infer.json sweeps/mlp_infer_f16.json sweeps/linreg_train.json sweeps/linreg_train_operations.json
    sweeps/mnist_train.json sweeps/mnist_train_mixed.json
    sweeps/mnist_train_stages.json sweeps/mlp_train.json sweeps/allocate.json)
described=(kernels/*/workload.json)
described=("${described[@]%/workload.json}")
flags=()
takes="an hour or two, much of it PyTorch's compiler"
if [ "$mode" = quick ]; then
    sweeps=(sweeps/mlp_infer_quick.json sweeps/linreg_train_quick.json sweeps/mnist_train_quick.json
        sweeps/mlp_train_quick.json sweeps/allocate.json)
    flags=(--quick)
    [ "$gpu" = yes ] && takes="10 min" || takes="2 min"
fi
for workload in "${described[@]}"; do
    sweep=sweeps/${workload##*/}.json
    [ "$mode" = full ] && [ -f "$sweep" ] || sweep=$workload
    [ "$gpu" = no ] || sweeps+=("$sweep") # without a GPU they are only compiled
done
[ -n "$out" ] || out=results/$(uname -n)-$(date +%Y%m%d-%H%M%S)
name=$(basename "$out")
saved=()
for run in results/h[0-9]00*; do
    [ -f "$run/run.json" ] && [ "$out" != "$run" ] && saved+=("$run")
done

if [ "$gpu" = no ] && [ ${#saved[@]} -gt 0 ]; then
    step "no GPU found: saved results of another machine (all of them: REPORT.md)"
    "$bench" report "${saved[@]}" --print headline
fi

step "MNIST (11 MB download if missing)"
"$(tests/tools/python.sh)" reference_common/get_mnist.py || tell "MNIST not found: using synthetic images"

step "measuring into $out: ${#sweeps[@]} sweeps, about $takes"
status=0 compiled=0
"$bench" run "${sweeps[@]}" "${flags[@]}" "${without[@]}" --out "$out" --resume || status=$?
[ -s "$out/cases.jsonl" ] || exit "$status"

if [ "$gpu" = no ]; then
    step "compiling every CUDA kernel for every architecture, about 1 min (compile only)"
    archs=sm_75,sm_80,sm_86,sm_89,sm_90,sm_100,sm_120
    "$bench" compile sweeps/mlp_infer_quick.json sweeps/mlp_infer_f16.json sweeps/linreg_train_quick.json \
        sweeps/mnist_train_quick.json sweeps/mlp_train.json --once --arch "$archs" >"$out/compile.txt" || compiled=$?
    for workload in "${described[@]}"; do
        [ "$compiled" -eq 2 ] && break
        code=0
        "$bench" compile --workload "$workload" --quick --once --arch "$archs" >>"$out/compile.txt" || code=$?
        [ "$compiled" -eq 1 ] || compiled=$code
    done
    # 1: a program does not compile. 2: no compiler, which is no error on a machine without a GPU.
    [ "$compiled" -eq 1 ] && status=1
    grep -E '^[0-9]+ programs?: ' "$out/compile.txt" || tail -n 2 "$out/compile.txt"
fi

step "charts and report, a few seconds"
"$bench" plot "$out" --out "plots/$name" --format svg,png >"$out/plot.txt" 2>&1 ||
    tell "no charts: $(tail -n 1 "$out/plot.txt")"
"$bench" report "$out" "${saved[@]}" --out "$out/REPORT.md" >/dev/null || {
    tell "the report is without the saved runs"
    "$bench" report "$out" --out "$out/REPORT.md" >/dev/null
}

step "results of this machine"
"$bench" report "$out" --print workloads
printf '\nresults  %s\ncharts   plots/%s\nreport   %s/REPORT.md\n' "$out" "$name" "$out"
exit "$status"
