#!/bin/sh
# usage: install.sh install|uninstall PROGRAM PREFIX [DESTDIR], from the project's folder
#
# What was installed is listed in PREFIX/share/bench/installed.txt, by names below PREFIX. Only that is ever removed,
# and what Python has compiled of it. The list is also how bench knows that the folder is no checkout.
set -eu
what=$1 program=$2 prefix=$3 top=${4-}$3
data=share/bench list=share/bench/installed.txt
case $prefix in
/*) ;;
*) echo "make $what: PREFIX=$prefix: expected an absolute path" >&2; exit 2 ;;
esac

remove_installed() {
    [ -f "$top/$list" ] || return 0
    while IFS= read -r name; do
        case /$name/ in */../*) continue ;; esac
        rm -f -- "$top/$name"
    done <"$top/$list"
    rm -f -- "$top/$list"
    find "$top/$data" -type d -name __pycache__ -prune -exec rm -rf -- {} +
    for folder in "$top/$data" "$top/lib/bench" "$top/share/doc/bench"; do
        [ ! -d "$folder" ] || find "$folder" -depth -type d -empty -delete
    done
}

# MODE FILE NAME
put() {
    install -D -m "$1" -- "$2" "$top/$3"
    printf '%s\n' "$3" >>"$listed"
}

if [ "$what" = uninstall ]; then
    [ -f "$top/$list" ] || { echo "make uninstall: $top/$list: no such file: nothing to remove" >&2; exit 2; }
    remove_installed
    echo "uninstalled from $top"
    exit
fi

listed=$(mktemp)
made=$(mktemp)
trap 'rm -f "$listed" "$made"' EXIT
remove_installed
put 755 "$program" bin/bench
library=$(dirname "$program")/libinputs.so
[ ! -f "$library" ] || put 644 "$library" lib/bench/libinputs.so
find kernels sweeps reference_* plots/*.gp -type f ! -path '*/__pycache__/*' ! -name '.*' | sort >"$made"
while IFS= read -r file; do
    put 644 "$file" "$data/$file"
done <"$made"
for file in docs/*.md docs/*.py LICENSE; do
    put 644 "$file" "share/doc/bench/$(basename "$file")"
done
"$program" help --man >"$made"
put 644 "$made" share/man/man1/bench.1
"$program" help --completion bash >"$made"
put 644 "$made" share/bash-completion/completions/bench
"$program" help --completion zsh >"$made"
put 644 "$made" share/zsh/site-functions/_bench
printf '%s\n' "$list" >>"$listed"
install -m 644 -- "$listed" "$top/$list"
echo "installed below $top: $(wc -l <"$listed") files"
