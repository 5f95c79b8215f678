#!/usr/bin/env bash
# Install missing software, or print the exact command. Used by run_all.sh and by `make check`.
#   setup.sh build     compiler and libraries, to build bench
#   setup.sh run       build + gnuplot, Python with headers, PyTorch, JAX, NVRTC and CUDA's headers, for the main job
#   setup.sh check     run + test tools, for the tests
# --no-pytorch leaves PyTorch out, --no-jax JAX. Prints one line for each thing that it installs, otherwise nothing. Exit code 2:
# something is missing that it may not install; nothing was created.
set -euo pipefail
cd "$(dirname "$0")/../.."

level=${1:?build, run or check}
with_pytorch=yes with_jax=yes
for option in "${@:2}"; do
    case $option in
    --no-pytorch) with_pytorch=no ;;
    --no-jax) with_jax=no ;;
    esac
done
torch_version=2.13.0
jax_version=0.10.2
cuda_version=13.0.88

say() { printf 'set-up: %s\n' "$*" >&2; }
die() {
    say "$*"
    exit 2
}
python() { tests/tools/python.sh; }
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

# ---- system packages -------------------------------------------------------------------------------

has_header() { echo "#include <$1>" | ${CC:-cc} -E -; }
has_cmocka() { printf '#include <%s.h>\n' stdarg stddef stdint setjmp cmocka | ${CC:-cc} -E -; }
links() { echo 'int main(void) { return 0; }' | ${CC:-cc} -x c "$@" -o "$scratch/a.out" -; }

has_certificates() {
    local file
    for file in "${SSL_CERT_FILE:-}" /etc/ssl/certs/ca-certificates.crt /etc/pki/tls/certs/ca-bundle.crt; do
        [ -s "$file" ] && return
    done
    return 1
}

# The Python that workers run in, which may not be the system's.
ask_python() { "$(python)" -c "import sys, sysconfig; print($1)" 2>/dev/null; }
has_python_header() { [ -e "$(ask_python 'sysconfig.get_path("include")')/Python.h" ]; }
# System packages have headers only for the system's Python.
has_python_header_or_could_not() { has_python_header || [ "$(ask_python sys.base_prefix || echo /usr)" != /usr ]; }

# Print what is missing, one per line: as packages of the manager, or in words if there is none.
missing_packages() {
    local manager=$1 version
    need() { # present? apt dnf pacman words
        eval "$1" >/dev/null 2>&1 && return
        case $manager in apt-get) echo "$2" ;; dnf) echo "$3" ;; pacman) echo "$4" ;; *) echo "$5" ;; esac
    }
    need 'command -v make && links -fopenmp' build-essential "gcc make" base-devel "gcc with OpenMP, make"
    need 'has_header jansson.h' libjansson-dev jansson-devel jansson "jansson with headers"
    need 'has_header zlib.h' zlib1g-dev zlib-devel zlib "zlib with headers"
    need 'has_header xxhash.h' libxxhash-dev xxhash-devel xxhash "xxhash with headers"
    [ "$level" = build ] && return
    need 'command -v gnuplot' gnuplot-nox gnuplot gnuplot gnuplot
    need 'command -v python3' python3 python3 python "Python 3.10 or later"
    # Debian has venv's pip in a separate package.
    need '[ -x .venv/bin/python3 ] || python3 -c "import ensurepip, venv"' python3-venv python3 python "Python's venv"
    need has_certificates ca-certificates ca-certificates ca-certificates "CA certificates (ca-certificates)"
    # On the CPU torch.compile builds C++ with Python's headers.
    if [ "$with_pytorch" = yes ]; then
        version=$(ask_python '"%d.%d" % sys.version_info[:2]' || echo 3)
        need 'command -v g++' g++ gcc-c++ gcc g++
        need has_python_header_or_could_not "python$version-dev" python3-devel python "Python's headers (Python.h)"
    fi
    [ "$level" = run ] && return
    # Fedora has the sanitizers in separate packages.
    need 'links -fsanitize=address,undefined' build-essential "libasan libubsan" gcc "gcc's sanitizers"
    need has_cmocka libcmocka-dev libcmocka-devel cmocka "cmocka with headers"
    need 'command -v cppcheck' cppcheck cppcheck cppcheck cppcheck
    need 'command -v git' git git git git
}

name_command() { # install command, refresh command, packages: print the full command and exit
    local command=$1 refresh=$2
    shift 2
    if command -v sudo >/dev/null 2>&1; then
        command="${refresh:+sudo $refresh && }sudo $command $*"
    else
        command="su -c \"${refresh:+$refresh && }$command $*\""
    fi
    die "missing: $* — run: $command"
}

install_packages() {
    local manager missing command refresh="" as_root=()
    for manager in apt-get dnf pacman none; do
        command -v "$manager" >/dev/null 2>&1 && break
    done
    missing=$(missing_packages "$manager" | sort -u)
    [ -z "$missing" ] && return
    [ "$manager" = none ] && die "install ${missing//$'\n'/, }, then run this again"
    # shellcheck disable=SC2206 # a line may name two packages
    missing=($missing)
    command="$manager install -y"
    # A fresh machine has no package lists.
    [ "$manager" = apt-get ] && refresh="apt-get update"
    [ "$manager" = pacman ] && command="pacman -S$([ -e /var/lib/pacman/sync/core.db ] || echo y) --needed --noconfirm"
    if [ "$(id -u)" -ne 0 ]; then
        sudo -n true 2>/dev/null || name_command "$command" "$refresh" "${missing[@]}"
        as_root=(sudo -n)
    fi
    say "$command ${missing[*]}"
    mkdir -p build
    if [ -n "$refresh" ]; then
        "${as_root[@]}" $refresh >build/setup.log 2>&1 || say "$refresh failed; continuing with the existing package lists"
        as_root+=(env DEBIAN_FRONTEND=noninteractive)
    fi
    "${as_root[@]}" $command "${missing[@]}" >>build/setup.log 2>&1 || {
        tail -n 20 build/setup.log >&2
        die "could not install: ${missing[*]} (full log: build/setup.log)"
    }
    # Walls for bench run --isolate, which goes on without them.
    [ "$level" = build ] || command -v bwrap >/dev/null 2>&1 ||
        "${as_root[@]}" $command bubblewrap >>build/setup.log 2>&1 ||
        say "could not install bubblewrap: --isolate may hide nothing (bench doctor)"
}

# ---- Python ------------------------------------------------------------------------------------------

# An installation that was interrupted is found, but cannot be imported.
can_import() { # python names, with commas
    "$1" -c "import $2" >/dev/null 2>&1
}

make_venv() {
    [ -x .venv/bin/python3 ] && return
    say "python3 -m venv .venv"
    # With the system's packages visible, an installed PyTorch is used. Remove a partial venv: it would pass for complete.
    python3 -m venv --system-site-packages .venv || {
        rm -rf .venv
        die "python3 -m venv failed"
    }
}

pip_install() { pip_install_into .venv "$@"; }
pip_install_into() {
    local venv=$1
    shift
    say "pip install $*"
    "$venv/bin/python3" -m pip install -q --disable-pip-version-check "$@" 2>build/pip.log
}

install_pytorch() {
    can_import "$(python)" torch,numpy && return
    make_venv
    can_import "$(python)" torch,numpy && return
    # Without a GPU the CPU build is enough, and a tenth of the size; try every index that may have it.
    if ! command -v nvidia-smi >/dev/null 2>&1; then
        pip_install "torch==$torch_version+cpu" numpy && return
        pip_install "torch==$torch_version" numpy --index-url https://download.pytorch.org/whl/cpu && return
    fi
    pip_install "torch==$torch_version" numpy && return
    tail -n 5 build/pip.log >&2
    say "could not install PyTorch: its cases will be skipped"
}

# Print JAX as pip names it: for the CUDA version of the driver, or for the CPU.
jax_package() {
    local cuda
    cuda=$(nvidia-smi 2>/dev/null | sed -n 's/.*CUDA Version: *\([0-9]*\).*/\1/p')
    if [ -z "$cuda" ]; then
        echo "jax==$jax_version"
    else
        echo "jax[cuda$([ "$cuda" -ge 13 ] && echo 13 || echo 12)]==$jax_version"
    fi
}

# In an environment of its own: PyTorch and JAX may need different versions of NVIDIA's libraries.
install_jax() {
    can_import "$(tests/tools/python.sh jax)" jax,numpy && return
    if [ -n "${BENCH_JAX_PYTHON:-}" ]; then
        say "\$BENCH_JAX_PYTHON has no JAX: its cases will be skipped"
        return
    fi
    if [ ! -x .venv-jax/bin/python3 ]; then
        say "python3 -m venv .venv-jax"
        python3 -m venv .venv-jax 2>build/pip.log || rm -rf .venv-jax
    fi
    [ -d .venv-jax ] && pip_install_into .venv-jax "$(jax_package)" numpy && return
    tail -n 5 build/pip.log >&2
    say "could not install JAX: its cases will be skipped"
}

# NVRTC's wheel has no headers; other wheels install them into the same folder: the runtime's, CCCL's (cooperative groups,
# <cuda/std/…>), and crt's (mma.h).
install_nvrtc() {
    local found folder packages=()
    # Without JAX, whose import takes a second: PyTorch's Python is where the wheels are.
    found=$(BENCH_JAX_PYTHON=none build/bench doctor --json 2>/dev/null | tr -d '\n')
    has() { grep -q "\"$1\", *\"found\": true" <<<"$found"; }
    has NVRTC || packages+=("nvidia-cuda-nvrtc==$cuda_version")
    has "CUDA headers" || packages+=("nvidia-cuda-runtime==$cuda_version")
    folder=$(sed -n 's/.*"detail": *"\([^"]*\/nvidia\/cu13\/include\)".*/\1/p' <<<"${found//\}/$'\n'}" | head -n 1)
    # What was set up before these wheels were: only into our own environment, and beside CUDA's headers.
    if [ ${#packages[@]} -gt 0 ] || [[ $folder == "$PWD/.venv/"* && ! -e $folder/cccl/nv/target ]]; then
        packages+=("nvidia-cuda-cccl==${cuda_version%.*}.*" "nvidia-cuda-crt==$cuda_version")
    fi
    [ ${#packages[@]} -eq 0 ] && return
    make_venv
    pip_install "${packages[@]}" || {
        tail -n 5 build/pip.log >&2
        say "could not install NVRTC: without nvcc, CUDA programs are skipped"
    }
}

install_test_tools() {
    can_import "$(python)" pytest,xdist,ruff,clang_format,numpy && return
    make_venv
    pip_install pytest pytest-xdist "ruff==0.17.*" "clang-format==14.0.6" numpy || {
        tail -n 5 build/pip.log >&2
        die "could not install pytest, pytest-xdist, ruff and clang-format into .venv"
    }
}

install_packages
mkdir -p build
[ "$level" = build ] && exit 0
if [ "$with_pytorch" = yes ]; then
    has_python_header || say "$(python) has no headers (Python.h): torch.compile cases on the CPU are skipped"
    install_pytorch
fi
[ "$with_jax" = yes ] && install_jax
[ "$level" = check ] && install_test_tools
make --no-print-directory -j"$(nproc)" build/bench >build/make.log 2>&1 || {
    tail -n 20 build/make.log >&2
    die "bench does not build (full log: build/make.log)"
}
install_nvrtc
