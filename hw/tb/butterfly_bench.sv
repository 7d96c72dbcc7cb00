// A butterfly as the testbench sees it.
module butterfly_bench #(parameter W = 50) (
    input  logic        clk, inverse,
    input  logic [63:0] x, y, w, q,
    output logic [63:0] o0, o1
);
    localparam WORDS = (W + 16) / 17;
    logic [W-1:0] r0, r1;
    logic [64*(WORDS+1)-1:0] taps;
    q_taps #(.W(W), .ROUNDS(WORDS)) u_taps (.clk, .q(q[W-1:0]), .taps);
    butterfly #(.W(W)) u_butterfly (
        .clk, .en(1'b1), .inverse, .x(x[W-1:0]), .y(y[W-1:0]), .w(w[W-1:0]), .q(q[W-1:0]), .taps,
        .o0(r0), .o1(r1));
    assign o0 = 64'(r0);
    assign o1 = 64'(r1);
endmodule
