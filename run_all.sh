#!/usr/bin/env bash
# The main job: set-up, sweeps of every workload, charts, report. With a GPU it measures CUDA against PyTorch on it;
# without one it measures the CPU contenders and PyTorch on the CPU, compiles every CUDA program for every
# architecture, and shows the saved H200 runs beside them.
set -euo pipefail
cd "$(dirname "$0")"

usage() {
    cat <<'EOF'
usage: ./run_all.sh [--full | --quick] [--no-pytorch] [--out DIR]

  --full         every size and contender of the sweeps (default with a GPU)
  --quick        few sizes, at most 2 s a contender (default without a GPU)
  --no-pytorch   leave PyTorch out: nothing of it is installed or measured
  --out DIR      the run's folder (results/HOST-TIME); an unfinished run there is resumed
EOF
}

die() {
    printf 'run_all.sh: %s\n' "$*" >&2
    exit 2
}

mode="" out="" pytorch=()
while [ $# -gt 0 ]; do
    case $1 in
    --full | --quick) mode=${1#--} ;;
    --no-pytorch) pytorch=(--no-pytorch) ;;
    --out) [ $# -gt 1 ] || die "--out needs a folder"; out=$2; shift ;;
    --out=*) out=${1#--out=} ;;
    -h | --help) usage; exit 0 ;;
    *) usage >&2; die "unknown option $1" ;;
    esac
    shift
done

step() { printf '\n== %s\n' "$*" >&2; }

step "set-up"
tests/tools/setup.sh run "${pytorch[@]}"
make --no-print-directory -j"$(nproc)" all
bench=build/bench

step "MNIST"
reference_pytorch/get_mnist.sh ||
    echo "run_all.sh: going on without it: where it is nowhere, trainings take synthetic images and say so" >&2

gpu=no
"$bench" list devices 2>/dev/null | grep -q '^cuda  0' && gpu=yes
if [ -z "$mode" ]; then
    [ "$gpu" = yes ] && mode=full || mode=quick
fi
sweeps=(sweeps/mlp_infer.json sweeps/mlp_infer_f16.json sweeps/linreg_train.json sweeps/linreg_train_operations.json
    sweeps/mnist_train.json sweeps/mnist_train_stages.json sweeps/mlp_train.json sweeps/allocate.json)
flags=()
if [ "$mode" = quick ]; then
    sweeps=(sweeps/mlp_infer_quick.json sweeps/linreg_train_quick.json sweeps/linreg_train_operations.json
        sweeps/mnist_train_quick.json sweeps/mlp_train_quick.json sweeps/allocate.json)
    flags=(--quick)
fi
[ -n "$out" ] || out=results/$(hostname)-$(date +%Y%m%d-%H%M%S)
name=$(basename "$out")

if [ "$gpu" = no ]; then
    step "no GPU here: every CUDA program is compiled for every architecture, none is run"
    "$bench" compile sweeps/mlp_infer.json sweeps/mlp_infer_f16.json sweeps/linreg_train.json \
        sweeps/mnist_train_quick.json sweeps/mlp_train.json --arch sm_75,sm_80,sm_86,sm_89,sm_90,sm_100,sm_120 ||
        echo "run_all.sh: going on without compiled CUDA programs" >&2
fi

step "measuring: ${sweeps[*]} into $out"
status=0
"$bench" run "${sweeps[@]}" "${flags[@]}" "${pytorch[@]}" --out "$out" --resume || status=$?
[ -s "$out/cases.jsonl" ] || exit "$status"

step "charts and report"
"$bench" plot "$out" --out "plots/$name" --format svg,png
saved=()
for run in results/h200*; do
    [ -f "$run/run.json" ] && [ "$out" != "$run" ] && saved+=("$run")
done
"$bench" report "$out" "${saved[@]}" --out "$out/REPORT.md"

printf '\nresults  %s\ncharts   plots/%s\nreport   %s/REPORT.md\n' "$out" "$name" "$out"
exit "$status"
