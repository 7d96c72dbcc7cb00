#!/bin/sh
# Cargo's RUSTC_WRAPPER: counters of libFuzzer go into our crates and the parsers that they stand on, not into
# arithmetic, hashes and what runs while Cargo builds.
for arg; do
    case "$before" in
    --crate-name) crate=$arg ;;
    --target) target=$arg ;;
    esac
    before=$arg
done
case "$target $crate" in
*" omr_kernels" | *" omr_ring" | *" omr_fuzz" | *" omr_fuzzers") ;;
?*" omr_"* | ?*" base64" | ?*" csv" | ?*" csv_core" | ?*" parquet" | ?*" prost" | ?*" redb" | ?*" serde_json" | \
    ?*" sqlparser" | ?*" toml" | ?*" toml_parser")
    exec "$@" -Cpasses=sancov-module \
        -Cllvm-args=-sanitizer-coverage-level=4 \
        -Cllvm-args=-sanitizer-coverage-inline-8bit-counters \
        -Cllvm-args=-sanitizer-coverage-pc-table \
        -Cllvm-args=-sanitizer-coverage-trace-compares
    ;;
esac
exec "$@"
