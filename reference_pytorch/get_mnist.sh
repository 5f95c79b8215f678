#!/usr/bin/env bash
# Download MNIST into data/mnist/ unless a copy is already where programs look for one.
set -euo pipefail
cd "$(dirname "$0")/.."

usage() {
    cat <<'EOT'
usage: reference_pytorch/get_mnist.sh

Does nothing if $MNIST_DIR, data/mnist/ or ../shared/data/mnist/ has the data set. Else its four files, 12 MB, are
downloaded, compared with the SHA-256 of their contents, and moved into data/mnist/ when all of them are right. A
download that breaks off is resumed by the next call.

environment
  MNIST_DIR      a folder with the data set: the only one that is looked at
  MNIST_MIRRORS  base addresses to download from, in this order, separated by spaces

exit code: 0 the data set is there; 1 it could not be downloaded; 2 usage, or a program is missing; 3 a file is not
the one that was published
EOT
}

say() { printf 'get_mnist.sh: %s\n' "$*" >&2; }
die() { # exit code, message
    local code=$1
    shift
    say "$*"
    exit "$code"
}

target=data/mnist
mirrors=${MNIST_MIRRORS:-https://ossci-datasets.s3.amazonaws.com/mnist/ https://storage.googleapis.com/cvdf-datasets/mnist/}
# Of the contents: gzip wrappers differ from mirror to mirror.
digests='
ba891046e6505d7aadcbbe25680a0738ad16aec93bde7f9b65e87a2fc25776db  train-images-idx3-ubyte
65a50cbbf4e906d70832878ad85ccda5333a97f0f4c3dd2ef09a8a9eef7101c5  train-labels-idx1-ubyte
0fa7898d509279e482958e8ce81c8e77db3f2f8254e26661ceb7762c4d494ce7  t10k-images-idx3-ubyte
ff7bcfd416de33731a308c3f266cc351222c34898ecbeaf847f06e48f7ec33f2  t10k-labels-idx1-ubyte
'
names=$(awk '{ print $2 }' <<<"$digests")

case ${1:-} in
"") ;;
-h | --help) usage; exit 0 ;;
*) usage >&2; die 2 "unknown option $1" ;;
esac

# ---- what is here already ----------------------------------------------------------------------------

path_of() { # folder, name: plain before gzipped, as the readers choose
    local path
    for path in "$1/$2" "$1/$2.gz"; do
        [ -e "$path" ] && printf '%s\n' "$path" && return
    done
    return 1
}

has_any() { # folder
    local name
    for name in $names; do
        path_of "$1" "$name" >/dev/null && return
    done
    return 1
}

expected_of() { awk -v name="$1" '$2 == name { print $1 }' <<<"$digests"; }

digest_of() { # file: of what is in it, where it is gzipped and whole
    if gzip -t <"$1" 2>/dev/null; then gzip -dc <"$1"; else cat "$1"; fi | sha256sum | cut -d ' ' -f 1
}

# Of the four, those that data/mnist/ lacks; a wrong one ends the script, which did not put it there.
missing() {
    local name path found
    for name in $names; do
        if ! path=$(path_of "$target" "$name"); then
            echo "$name"
            continue
        fi
        found=$(digest_of "$path")
        [ "$found" = "$(expected_of "$name")" ] ||
            die 3 "$path: found SHA-256 $found of the contents, expected $(expected_of "$name"); remove the file"
    done
}

# ---- downloading -------------------------------------------------------------------------------------

fetch() { # address, file: goes on where the file ends
    if command -v curl >/dev/null; then
        curl --fail --location --silent --show-error --connect-timeout 15 --speed-limit 1000 --speed-time 30 \
            --retry 2 --continue-at - --output "$2" "$1"
    else
        wget --no-verbose --timeout=15 --tries=3 --continue --output-document="$2" "$1"
    fi
}

is_right() { # file, name
    [ -s "$1" ] && [ "$(digest_of "$1")" = "$(expected_of "$2")" ]
}

# The file is removed when all of it was sent and it is another one.
expect_right() { # file, name, address
    is_right "$1" "$2" && return
    say "$3: found SHA-256 $(digest_of "$1") of the contents, expected $(expected_of "$2"); removed"
    rm -f "$1"
    return 1
}

size_of() { if [ -e "$1" ]; then wc -c <"$1"; else echo 0; fi; }

download() { # name; returns 1: no mirror gave the file, 3: one gave another file
    local part=$target/$1.gz.part status=1 mirror address before
    if is_right "$part" "$1"; then
        say "$1.gz was downloaded by an earlier call"
        return
    fi
    for mirror in $mirrors; do
        address=${mirror%/}/$1.gz
        before=$(size_of "$part")
        say "downloading $address$([ "$before" -eq 0 ] || printf ', from byte %d on' "$before")"
        if fetch "$address" "$part"; then
            expect_right "$part" "$1" "$address" && return
            status=3
        fi
        [ -s "$part" ] || rm -f "$part" # what wget leaves of nothing
        [ "$before" -gt 0 ] || continue
        # Not every mirror sends a file from its middle, and the beginning may have been another's.
        say "downloading $address anew"
        if fetch "$address" "$part.new"; then
            mv -f "$part.new" "$part"
            expect_right "$part" "$1" "$address" && return
            status=3
        fi
        rm -f "$part.new"
    done
    return "$status"
}

if [ -n "${MNIST_DIR:-}" ]; then
    has_any "$MNIST_DIR" || die 2 "\$MNIST_DIR: $MNIST_DIR has no MNIST; unset it to have it downloaded into $target/"
    say "MNIST is in $MNIST_DIR: nothing to do"
    exit 0
fi
for program in gzip sha256sum; do
    command -v "$program" >/dev/null || die 2 "$program is missing"
done
if ! has_any "$target" && has_any ../shared/data/mnist; then
    say "MNIST is in ../shared/data/mnist/: nothing to do"
    exit 0
fi
wanted=$(missing)
if [ -z "$wanted" ]; then
    say "MNIST is in $target/: nothing to do"
    exit 0
fi
command -v curl >/dev/null || command -v wget >/dev/null || die 2 "neither curl nor wget is here: install one of them"

mkdir -p "$target"
for name in $wanted; do
    status=0
    download "$name" || status=$?
    [ "$status" -eq 0 ] || die "$status" "$name.gz could not be had from: $mirrors"
done
# Only now: readers take a folder with one of the files for the whole data set.
for name in $wanted; do
    mv "$target/$name.gz.part" "$target/$name.gz"
done
say "MNIST is in $target/, the files that were published"
