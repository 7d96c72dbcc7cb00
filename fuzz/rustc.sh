#!/bin/sh
# Cargo's RUSTC_WRAPPER. Counters of libFuzzer go into our crates and the parsers that they stand on, not into
# arithmetic, hashes and what runs while Cargo builds; comparisons are shown to libFuzzer where the bytes of files are
# compared, not where millions of words are. Others' crates are as users have them: without their debug assertions,
# some of which read a whole database after every change.
for arg; do
    case "$before" in
    --crate-name) crate=$arg ;;
    --target) target=$arg ;;
    esac
    before=$arg
done
counters="-Cpasses=sancov-module -Cllvm-args=-sanitizer-coverage-level=4
    -Cllvm-args=-sanitizer-coverage-inline-8bit-counters -Cllvm-args=-sanitizer-coverage-pc-table"
compares="-Cllvm-args=-sanitizer-coverage-trace-compares"
released="-Cdebug-assertions=off -Coverflow-checks=off -Copt-level=3"
case "$target $crate" in
" "* | *" omr_kernels" | *" omr_ring" | *" omr_fuzz" | *" omr_fuzzers") ;;
*" omr_codec" | *" omr_compress" | *" omr_bgv" | *" omr_rlwe" | *" omr_tfhe") exec "$@" $counters ;;
*" omr_"*) exec "$@" $counters $compares ;;
*" csv" | *" csv_core" | *" sqlparser" | *" serde_json" | *" toml" | *" toml_parser" | *" base64" | *" prost")
    exec "$@" $released $counters $compares
    ;;
*" parquet" | *" redb") exec "$@" $released $counters ;;
*) exec "$@" $released ;;
esac
exec "$@"
