#!/usr/bin/env bash
# Synthesis by yosys for UltraScale+, netlists simulated, and the table of resources: run.sh BUILD
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
build=$1
mkdir -p "$build/syn"

rtl="rtl/arith.sv rtl/dsp.sv rtl/sums.sv rtl/ntt.sv"

netlist() { # netlist TOP WIDTH: flat, with its statistics
    local top=$1 width=$2 out=$build/syn/$1-$2
    yosys -q -p "read_verilog -sv $rtl tb/$top.sv
        chparam -set W $width $top
        read_verilog -lib +/xilinx/cells_xtra.v
        hierarchy -check -top $top
        synth_xilinx -family xcup -noiopad -noclkbuf -flatten
        tee -o $out.stat stat
        write_json $out.json; write_verilog -noattr $out.v" >"$out.log" 2>&1 || { cat "$out.log"; exit 1; }
}

simulate() { # simulate TOP WIDTH FILE SET [ARGUMENT...]: the netlist with the testbench of the source
    local top=$1 width=$2 file=$3 set=$4 name=${1%_bench} out=$build/syn/$1-$2
    shift 4
    mkdir -p "$out"
    verilator --cc --exe --build -j 2 -Wno-fatal -Wno-lint -O1 --top-module "$top" --Mdir "$out" \
        -o bench -CFLAGS "-O1 -std=c++20 -DWIDTH=$width -DLANES=16 -DSHARE=8" -CFLAGS "-I$PWD/tb" "$out.v" syn/cells.v \
        "$PWD/tb/$name.cpp" >"$out.log" 2>&1 || { tail -n 20 "$out.log"; exit 1; }
    echo -n "netlist of $name, "
    "$out/bench" "$file" "$set" "$width" "$@"
}

lanes() { # lanes SHARE: so many lanes of sums and their reducer, in modules
    local share=$1 out=$build/syn/sums-$1
    yosys -q -p "read_verilog -sv $rtl
        read_verilog -lib +/xilinx/cells_xtra.v
        chparam -set W 50 -set LANES 16 -set SHARE $share sum_lanes
        hierarchy -check -top sum_lanes
        synth_xilinx -family xcup -noiopad -noclkbuf
        tee -o $out.stat stat" >"$out.log" 2>&1 || { cat "$out.log"; exit 1; }
}

conversion() { # 128 lanes of a conversion on lanes of sums, with room for the sources of every conversion
    local out=$build/syn/bconv-sums
    yosys -q -p "read_verilog -sv $rtl rtl/bconv.sv rtl/bconv_sums.sv
        read_verilog -lib +/xilinx/cells_xtra.v
        chparam -set K 32 bconv_sums
        hierarchy -check -top bconv_sums
        synth_xilinx -family xcup -noiopad -noclkbuf
        tee -o $out.stat stat" >"$out.log" 2>&1 || { cat "$out.log"; exit 1; }
}

for width in 50 60; do netlist mul_bench $width; done
netlist butterfly_bench 50
netlist sums_bench 50
for share in 8 16; do lanes $share; done
conversion
simulate mul_bench 50 vectors/mul-50.bin sophomr
simulate mul_bench 60 vectors/mul-60.bin paper
simulate butterfly_bench 50 vectors/mul-50.bin sophomr 1000
simulate sums_bench 50 vectors/mul-50.bin sophomr 0 2000
yosys -q -s syn/engine.ys >"$build/syn/engine.log" 2>&1 || { tail "$build/syn/engine.log"; exit 1; }
python3 syn/paths.py "$build"/syn/*.json
python3 syn/table.py "$build"
