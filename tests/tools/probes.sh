#!/bin/sh
# The probes of the rungs whose weights stay on the chip. `probes.sh build` compiles them into build/probes, which needs
# nvcc and no GPU; `probes.sh run [NAME…]` runs them, each a few seconds, on a GPU of sm_90.
set -eu
cd "$(dirname "$0")/../.."
probes='
mnist_512        on_chip -DHIDDEN=512 -DSTAMPED
mnist_1024       on_chip -DHIDDEN=1024 -DSTAMPED
mnist_2048       on_chip -DHIDDEN=2048 -DSTAMPED
mnist_4096       tiled -DHIDDEN=4096
mnist_8192       tiled -DHIDDEN=8192
mlp_784          mlp -DWIDTH=784 -DSTAMPED
mlp_256          mlp -DWIDTH=256 -DSTAMPED
mlp_784_tf32     mlp -DWIDTH=784 -DSTAMPED -DDTYPE_TF32=1 -DTAKES_TF32
mlp_784_lanes    mlp -DWIDTH=784 -DSTAMPED -DON_LANES=1
linreg_500k      linreg -DPOINTS=500000 -DSTAMPED
linreg_5m        linreg -DPOINTS=5000000 -DSTAMPED
parts_mlp_784    mlp -DWIDTH=784
parts_mlp_tf32   mlp -DWIDTH=784 -DDTYPE_TF32=1 -DTAKES_TF32
parts_1024       on_chip -DHIDDEN=1024
parts_512        on_chip -DHIDDEN=512
parts_2048       on_chip -DHIDDEN=2048
streams          stream
'
case ${1:-} in
build)
    mkdir -p build/probes
    echo "$probes" | grep . | xargs -P 2 -L 1 sh -c 'name=$1 source=$2 && shift 2 &&
        exec nvcc -arch=sm_90a -std=c++17 -O3 -Ikernels "$@" -o "build/probes/$name" "tests/tools/${source}_probes.cu"' probe
    ;;
run)
    shift
    for name in ${*:-$(echo "$probes" | grep . | cut -d' ' -f1)}; do
        echo "== $name"
        timeout 60 "build/probes/$name" || echo "$name: exit status $?"
    done
    ;;
*)
    echo "usage: $0 build | run [NAME…]" >&2
    exit 2
    ;;
esac
