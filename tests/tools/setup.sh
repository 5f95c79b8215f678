#!/usr/bin/env bash
# Install what is missing, or name the exact command. Used by run_all.sh and by `make check`.
#   setup.sh build     compiler and libraries, to build bench
#   setup.sh run       build + gnuplot, PyTorch and NVRTC, to do the main job
#   setup.sh check     run + test tools, to pass the tests
# --no-pytorch leaves PyTorch out. Prints one line for each thing that it installs, nothing otherwise.
set -euo pipefail
cd "$(dirname "$0")/../.."

level=${1:?build, run or check}
with_pytorch=yes
[ "${2:-}" = --no-pytorch ] && with_pytorch=no
torch_version=2.13.0
nvrtc_version=13.0.88

say() { printf 'set-up: %s\n' "$*" >&2; }
die() {
    say "$*"
    exit 2
}

# ---- system packages -------------------------------------------------------------------------------

has_header() { echo "#include <$1>" | ${CC:-cc} -E - >/dev/null 2>&1; }

# What is missing, as package names of apt, dnf and pacman.
missing_packages() {
    local manager=$1
    need() { # present? apt dnf pacman
        if ! eval "$1" >/dev/null 2>&1; then
            case $manager in apt-get) echo "$2" ;; dnf) echo "$3" ;; pacman) echo "$4" ;; esac
        fi
    }
    need 'command -v make && command -v ${CC:-cc}' build-essential "gcc make" base-devel
    need 'has_header jansson.h' libjansson-dev jansson-devel jansson
    need 'has_header zlib.h' zlib1g-dev zlib-devel zlib
    need 'has_header xxhash.h' libxxhash-dev xxhash-devel xxhash
    [ "$level" = build ] && return
    need 'command -v gnuplot' gnuplot-nox gnuplot gnuplot
    need 'command -v python3' python3 python3 python
    # Debian keeps venv's pip apart.
    [ "$manager" = apt-get ] && need 'python3 -c "import ensurepip, venv"' python3-venv "" ""
    # torch.compile builds C++ on the CPU.
    need 'command -v g++' g++ gcc-c++ gcc
    [ "$level" = run ] && return
    need 'has_header cmocka.h || echo "#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>" | ${CC:-cc} -E -' libcmocka-dev libcmocka-devel cmocka
    need 'command -v clang-format' clang-format clang-tools-extra clang
    need 'command -v cppcheck' cppcheck cppcheck cppcheck
    need 'command -v git' git git git
}

install_packages() {
    local manager missing as_root=()
    for manager in apt-get dnf pacman none; do
        command -v "$manager" >/dev/null 2>&1 && break
    done
    missing=$(missing_packages "$manager" | tr '\n' ' ')
    if [ "$manager" = none ]; then
        command -v make >/dev/null && has_header jansson.h && has_header zlib.h && has_header xxhash.h && return
        die "install gcc, make, jansson, zlib, xxhash (with headers) and gnuplot, then run this again"
    fi
    [ -z "${missing// /}" ] && return
    local command="$manager install -y"
    [ "$manager" = pacman ] && command="pacman -S --needed --noconfirm"
    if [ "$(id -u)" -ne 0 ]; then
        if ! sudo -n true 2>/dev/null; then
            die "missing: $missing— run: sudo $command $missing"
        fi
        as_root=(sudo -n)
    fi
    say "$command $missing"
    if [ "$manager" = apt-get ]; then
        "${as_root[@]}" apt-get update -q >/dev/null || say "apt-get update failed; trying with the lists that are here"
        as_root+=(env DEBIAN_FRONTEND=noninteractive)
    fi
    # shellcheck disable=SC2086
    "${as_root[@]}" $command $missing >build/setup.log 2>&1 || {
        tail -n 20 build/setup.log >&2
        die "could not install: $missing"
    }
}

# ---- Python ------------------------------------------------------------------------------------------

python() { tests/tools/python.sh; }
can_import() { "$(python)" -c "import $1" >/dev/null 2>&1; }

make_venv() {
    [ -x .venv/bin/python3 ] && return
    say "python3 -m venv .venv"
    # One that sees the system's packages keeps a PyTorch that is there already.
    python3 -m venv --system-site-packages .venv || die "python3 -m venv failed: install python3-venv"
}

pip_install() {
    say "pip install $*"
    .venv/bin/python3 -m pip install -q --disable-pip-version-check "$@" 2>build/pip.log
}

install_pytorch() {
    can_import torch && can_import numpy && return
    make_venv
    can_import torch && can_import numpy && return
    # Without a GPU the CPU build is enough, and a tenth of the size: from whatever index has it.
    if ! command -v nvidia-smi >/dev/null 2>&1; then
        pip_install "torch==$torch_version+cpu" numpy && return
        pip_install "torch==$torch_version" numpy --index-url https://download.pytorch.org/whl/cpu && return
    fi
    pip_install "torch==$torch_version" numpy && return
    tail -n 5 build/pip.log >&2
    say "PyTorch could not be installed: its cases will be skipped"
}

install_nvrtc() {
    build/bench doctor --json 2>/dev/null | tr -d '\n' | grep -q '"NVRTC", *"found": true' && return
    make_venv
    pip_install "nvidia-cuda-nvrtc==$nvrtc_version" ||
        say "NVRTC could not be installed: CUDA programs need nvcc then, or are skipped"
}

install_test_tools() {
    can_import pytest && can_import ruff && return
    make_venv
    pip_install pytest "ruff==0.17.*" numpy || {
        tail -n 5 build/pip.log >&2
        die "pytest and ruff could not be installed into .venv"
    }
}

mkdir -p build
install_packages
[ "$level" = build ] && exit 0
[ "$with_pytorch" = yes ] && install_pytorch
[ "$level" = check ] && install_test_tools
make --no-print-directory -j"$(nproc)" build/bench
install_nvrtc
