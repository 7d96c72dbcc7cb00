// A multiplier as the testbench sees it.
module mul_bench #(
    parameter  W     = 50,
    localparam WORDS = (W + 16) / 17
) (
    input  logic        clk,
    input  int          mutant,
    input  logic [63:0] a, b, q,
    output logic [63:0] r
);
    logic [W-1:0] product;
    logic [64*(WORDS+1)-1:0] taps;
    q_taps #(.W(W), .ROUNDS(WORDS)) u_taps (.clk, .q(q[W-1:0]), .taps);
    mont_mul #(.W(W)) u_mul (
        .clk, .en(1'b1), .a(a[W-1:0]), .b(b[W-1:0]), .taps, .r(product));
    assign r = 64'(product);
`ifdef MUTANTS
    always_comb mutants::selected = mutant;
`endif
endmodule
