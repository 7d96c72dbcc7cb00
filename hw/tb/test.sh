#!/usr/bin/env bash
# Runs the testbenches, then every mutant, which at least one of them must notice: test.sh BUILD
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
build=$1

all() { # all MUTANT FOLDER: stops at the first testbench that notices; cycles go to the folder
    "$build/mul-50/bench" "vectors/mul-50.bin" sophomr 50 "$1" &&
        "$build/mul-60/bench" "vectors/mul-60.bin" paper 60 "$1" &&
        for share in 1 8 16; do
            "$build/sums-$share/bench" "vectors/mul-50.bin" sophomr 50 "$1" 20000 \
                "$2/sums-$share.json" || return
        done &&
        for block in 8 16; do
            "$build/sum-unit-$block/bench" "vectors/mul-50.bin" sophomr 50 "$1" || return
        done &&
        "$build/toy/bench" "vectors/toy.bin" toy --mutant "$1" --cycles "$2/toy.json" &&
        "$build/toy-sums/bench" "vectors/toy.bin" toy --mutant "$1" --cycles "$2/toy-sums.json"
}

all 0 "$build"
"$build/butterfly-60/bench" vectors/mul-60.bin paper 60

refused() { # refused TEXT COMMAND...: the command must end with code 2 and this text
    local text=$1 said code=0
    shift
    said=$("$@" 2>&1) || code=$?
    [ "$code" = 2 ] && grep -q "$text" <<<"$said" || { echo "not refused ($text): $said"; exit 1; }
}
refused "expected set other" "$build/toy/bench" "vectors/toy.bin" other
refused "expected kind" "$build/toy/bench" "vectors/mul-50.bin" sophomr
refused "expected width" "$build/mul-50/bench" "vectors/mul-60.bin" paper 50
refused "expected width" "$build/sums-8/bench" "vectors/mul-60.bin" paper 50
refused "built for 50 bits" "$build/sums-8/bench" "vectors/mul-60.bin" paper 60
refused "cannot be opened" "$build/toy/bench" "vectors/none.bin" toy
echo "files of another set, kind or width are refused"

mutant() { # mutant NUMBER WHAT: at least one testbench must notice it
    local said code=0
    mkdir -p "$build/mutants/$1"
    said=$(all "$1" "$build/mutants/$1" 2>&1) || code=$?
    [ "$code" = 1 ] || { echo "mutant $1 was not noticed: $2"; echo "$said"; return 1; }
    echo "mutant $1 is noticed ($2)"
}
export -f all mutant
export build
tr '\n' '\0' <tb/mutants.txt |
    xargs -0 -P "$(nproc)" -I{} bash -c 'read -r number what <<<"$1"; mutant "$number" "$what"' _ {}
