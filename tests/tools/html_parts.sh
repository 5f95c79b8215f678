#!/bin/sh
# Print the C header with the style and the script of the HTML report, each with the hash by which the page's security
# policy knows it: html_parts.sh STYLE SCRIPT
set -eu

text() { sed 's/\\/\\\\/g; s/"/\\"/g; s/^/    "/; s/$/\\n" \\/' "$1"; }
base64_sha256() {
    for byte in $(sha256sum "$1" | cut -c1-64 | sed 's/../& /g'); do
        # shellcheck disable=SC2059 # an escape
        printf "\\$(printf %03o "0x$byte")"
    done | base64
}

for part in "STYLE $1" "SCRIPT $2"; do
    printf '#define HTML_%s \\\n' "${part%% *}"
    text "${part#* }"
    printf '    ""\n#define HTML_%s_HASH "sha256-%s"\n' "${part%% *}" "$(base64_sha256 "${part#* }")"
done
