// The engine as the testbench sees it: with a choice of mutant.
module engine_bench #(
    parameter  W     = 50,
    parameter  LOGN  = 16,
    parameter  LANES = 128,
    parameter  RL    = 8,
    parameter  SHARE = 0,
    localparam AW    = 16 + LOGN - $clog2(LANES)
) (
    input  logic                clk, rst,
    input  int                  mutant,
    input  logic                cfg_we, prime_we, constant_we,
    input  logic [15:0]         cfg_addr,
    input  logic [143:0]        cfg_data,
    input  logic                cmd_valid,
    input  logic [`OP_BITS-1:0] cmd,
    output logic                cmd_done,
    output logic [31:0]         cycles, run_cycles,
    output logic                rd0_en, rd1_en, rd2_en, wr_en,
    output logic [AW-1:0]       rd0_addr, rd1_addr, rd2_addr, wr_addr,
    input  logic [LANES*64-1:0] rd0_data, rd1_data, rd2_data,
    output logic [LANES*64-1:0] wr_data
);
    engine #(.W(W), .LOGN(LOGN), .LANES(LANES), .RL(RL), .SHARE(SHARE)) u_engine (.*);
`ifdef MUTANTS
    always_comb mutants::selected = mutant;
`endif
endmodule
