// The unit of sums over baby steps as the testbench sees it.
module sum_unit_bench #(
    parameter  W     = 50,
    parameter  LOGN  = 10,
    parameter  LANES = 8,
    parameter  RL    = 8,
    parameter  SHARE = 8,
    parameter  BLOCK = 16,
    localparam AW    = 16 + LOGN - $clog2(LANES)
) (
    input  logic                clk, rst, start,
    input  int                  mutant,
    input  logic [63:0]         q,
    input  logic [15:0]         babies, baby_stride, part_stride, diagonals, diagonal_stride,
    input  logic [15:0]         groups, out, out_stride,
    output logic                rd_en, wr_en, done,
    output logic [AW-1:0]       rd_addr, wr_addr,
    input  logic [LANES*64-1:0] rd_data,
    output logic [LANES*64-1:0] wr_data,
    output logic [31:0]         cycles
);
    sum_unit #(.W(W), .LOGN(LOGN), .LANES(LANES), .RL(RL), .SHARE(SHARE), .BLOCK(BLOCK)) u_unit (
        .q(q[W-1:0]), .*);
`ifdef MUTANTS
    always_comb mutants::selected = mutant;
`endif
endmodule
