#!/usr/bin/env bash
# Is this tree slower than an earlier revision? For CI jobs (docs/ci.md). Builds the earlier revision from git in a
# temporary folder, measures both in alternation, and exits with the exit code of `bench compare`.
#   BASE=REV        the earlier revision (default: the merge base of HEAD and origin/main, or the revision before)
#   OUT=DIR         folder for results (default build/perf-check); results of an earlier call are removed
#   FLOOR=RUN       noise floors of a saved run, made with `bench run --against self`; none: no floors.
#                   By default this build is measured against itself first
#   THRESHOLD=5%    changes up to this are no regression
#   RECHECK=1min    time limit for re-measuring undecided cases
#   STRICT=1        exit with 4 if a case is undecided or missing
#   SWEEPS="a b"    sweep files (default sweeps/perf_check/, with a GPU sweeps/perf_check_gpu/)
# Exit codes: those of `bench compare`; also 4 if there is no revision to compare with.
set -euo pipefail
cd "$(dirname "$0")/../.."

bench=build/bench
out=${OUT:-build/perf-check}
threshold=${THRESHOLD:-5%}
recheck=${RECHECK:-1min}
strict=()
[ -n "${STRICT:-}" ] && strict=(--strict)
trees=""

say() { printf 'perf-check: %s\n' "$*" >&2; }
nothing_to_compare() {
    say "$*"
    exit 4
}

# git also keeps a record of each work tree: prune it.
clean_up() {
    if [ -n "$trees" ]; then
        git worktree remove --force "$trees/base" >/dev/null 2>&1 || true
        rm -rf "$trees"
        git worktree prune
    fi
}
trap clean_up EXIT
trap 'exit 130' INT TERM HUP

choose_base() {
    local head base changes
    git rev-parse --verify --quiet 'HEAD^{commit}' >/dev/null || nothing_to_compare "no revision here: is this a git work tree?"
    if [ -n "${BASE:-}" ]; then
        git rev-parse --verify --quiet "$BASE^{commit}" || nothing_to_compare "BASE=$BASE: no such revision"
        return
    fi
    head=$(git rev-parse HEAD)
    changes=$(git status --porcelain --untracked-files=no)
    base=$(git merge-base HEAD origin/main 2>/dev/null || echo "$head")
    # A tree without uncommitted changes is its last revision: compare that with the one before.
    if [ "$base" = "$head" ] && [ -z "$changes" ]; then
        base=$(git rev-parse --verify --quiet HEAD~1) ||
            nothing_to_compare "HEAD is the first revision (or the clone is shallow): nothing to compare with; set BASE=REV"
    fi
    echo "$base"
}

build_base() {
    trees=$(mktemp -d)
    git worktree add --quiet --detach "$trees/base" "$base" || nothing_to_compare "git worktree add failed"
    if ! env -u MAKEFLAGS -u MFLAGS -u MAKELEVEL make -C "$trees/base" -j"$(nproc)" build/bench >"$out/base-build.log" 2>&1; then
        tail -n 5 "$out/base-build.log" >&2
        nothing_to_compare "revision $name does not build (full log: $out/base-build.log)"
    fi
    "$trees/base/build/bench" help worker >/dev/null 2>&1 ||
        nothing_to_compare "revision $name has no \`bench worker\`: it cannot be measured in alternation with this one"
}

choose_sweeps() {
    local folder=sweeps/perf_check
    if "$bench" list devices 2>/dev/null | grep -q '^cuda  0'; then
        folder=sweeps/perf_check_gpu
    else
        # One thread per worker: the gate looks for slower code. Threads of two workers and of other programs wait for
        # each other, and that is most of the noise on a machine with few cores.
        export OMP_NUM_THREADS=${OMP_NUM_THREADS:-1}
    fi
    if [ -n "${SWEEPS:-}" ]; then
        read -ra sweeps <<<"$SWEEPS"
    else
        sweeps=("$folder"/*.json)
    fi
}

# Both builds read the same images.
for images in data/mnist ../shared/data/mnist; do
    [ -z "${MNIST_DIR:-}" ] && [ -d "$images" ] && MNIST_DIR=$(realpath "$images")
done
[ -n "${MNIST_DIR:-}" ] && export MNIST_DIR

base=$(choose_base)
name=$(git describe --always --abbrev=12 "$base")
rm -rf "$out"
mkdir -p "$out"
choose_sweeps
say "building revision $name"
build_base

floors=()
if [ -z "${FLOOR:-}" ]; then
    say "noise floors: this build against itself"
    status=0
    "$bench" run "${sweeps[@]}" --against self --recheck-limit 30s --out "$out/floor" --quiet >"$out/floor.txt" || status=$?
    [ "$status" -le 1 ] || exit "$status"
    # A difference between a build and itself is noise, which the floors now include.
    [ "$status" -eq 0 ] || say "this build differs from itself by more than $threshold: see $out/floor.txt"
    floors=(--floor "$out/floor")
elif [ "$FLOOR" != none ]; then
    floors=(--floor "$FLOOR")
fi

say "measuring revision $name against this tree"
measured=0
"$bench" run "${sweeps[@]}" --against "$trees/base" "${floors[@]}" --threshold "$threshold" --recheck-limit "$recheck" \
    --out "$out/run" --quiet >"$out/run.txt" || measured=$?
[ "$measured" -le 1 ] || exit "$measured"
compared=0
"$bench" compare "$out/run/against" "$out/run" --threshold "$threshold" --all "${strict[@]}" \
    --markdown "$out/perf-check.md" --junit "$out/perf-check.xml" || compared=$?
say "results: $out/perf-check.md, $out/perf-check.xml, $out/run"
[ "$compared" -ne 0 ] || compared=$measured
exit "$compared"
