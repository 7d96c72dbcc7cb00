// Lanes of sums as the testbench sees them.
module sums_bench #(
    parameter W     = 50,
    parameter LANES = 16,
    parameter SHARE = 8
) (
    input  logic                clk, rst,
    input  int                  mutant,
    input  logic                valid, first, last,
    input  logic [LANES*64-1:0] a, b,
    input  logic [63:0]         q,
    output logic                r_valid,
    output logic [LANES*64-1:0] r,
    output logic [31:0]         cycles          // from the first product since reset to the last row
);
    logic [31:0] now;
    always_ff @(posedge clk) begin
        now <= rst || (now == 0 && !valid) ? '0 : now + 1;
        if (r_valid) cycles <= now + 1;
    end
    logic [LANES*W-1:0] la, lb, lr;
    genvar l;
    generate
        for (l = 0; l < LANES; l++) begin : g_lane
            assign la[W*l +: W]   = a[64*l +: W];
            assign lb[W*l +: W]   = b[64*l +: W];
            assign r[64*l +: 64] = 64'(lr[W*l +: W]);
        end
    endgenerate
    sum_lanes #(.W(W), .LANES(LANES), .SHARE(SHARE)) u_lanes (
        .clk, .rst, .en(1'b1), .valid, .first, .last, .a(la), .b(lb), .q(q[W-1:0]), .r_valid,
        .r(lr));
`ifdef MUTANTS
    always_comb mutants::selected = mutant;
`endif
endmodule
