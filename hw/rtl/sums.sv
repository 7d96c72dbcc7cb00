// Sums of products modulo q that are reduced once, and not product by product.

// One lane: its sum of a b in six slices, one for each pair of a piece of `a` of 25 bits and a word
// of `b` of 17. 64 products of 42 bits fill the 48 bits of a slice, unsigned.
module sum_lane #(parameter W = 50) (
    input  logic            clk, en,
    input  logic [W-1:0]    a, b,
    input  logic            take, keep,         // one cycle after a and b
    input  logic            ended,              // three cycles after the last a and b
    output logic [6*48-1:0] held                // the sum, from the next cycle on
);
    localparam A1 = W - 25, B2 = W - 34;        // bits of the last piece and the last word
    wire [2*25-1:0] pieces = {25'(a[25 +: A1]), a[24:0]};
    wire [3*17-1:0] words  = {17'(b[34 +: B2]), b[33:0]};
    genvar i, j;
    generate
        for (i = 0; i < 2; i++) begin : g_piece
            for (j = 0; j < 3; j++) begin : g_word
                logic [47:0] p, up, h;
                mac #(.ACCUMULATE(1)) u_mac (
                    .clk, .en, .a(27'(pieces[25*i +: 25])), .b(18'(words[17*j +: 17])), .c('0),
                    .below('0), .take(take || `MUTANT(17)), .keep, .p, .up);
                always_ff @(posedge clk) if (en && ended) h <= p;
                assign held[48*(3*i+j) +: 48] = h;
            end
        end
    endgenerate
`ifndef SYNTHESIS
    initial if (W > 50 || W < 36) begin
        $display("sum_lane: expected a width from 36 to 50 bits, found %0d", W);
        $fatal;
    end
`endif
endmodule

// r = s 2^(-68) mod q in [0, q) of what a lane holds, one a cycle. A sum of 64 products below q^2 is
// below 2^56 q, and so four words leave it in (-q, q).
// LATENCY = 15. Taps: see `mont_rounds`, whose lowest word comes one cycle after s.
module sum_reducer #(parameter W = 50) (
    input  logic            clk, en,
    input  logic [6*48-1:0] s,
    input  logic [64*5-1:0] taps,
    output logic [W-1:0]    r
);
    localparam T = 2 * W + 6;
    logic [72:0] u0, u1, u2, u2_late;   // of each word of b
    logic [73:0] v;                     // (u0 >> 17) + u1
    logic [74:0] w;                     // (v >> 17) + u2
    always_ff @(posedge clk) if (en) begin
        u0 <= 73'(s[0 +: 48])  + (73'(s[144 +: 48]) << (`MUTANT(18) ? 24 : 25));
        u1 <= 73'(s[48 +: 48]) + (73'(s[192 +: 48]) << 25);
        u2 <= 73'(s[96 +: 48]) + (73'(s[240 +: 48]) << 25);
        u2_late <= u2;
        v  <= 74'(u0[72:17]) + u1;
        w  <= 75'(v[73:17]) + u2_late;
    end
    mont_rounds #(.W(W), .ROUNDS(4), .T(T)) u_rounds (
        .clk, .en, .lowest(u0[16:0]), .second(v[16:0]), .high(w[T-35:0]), .taps, .r);
endmodule

// LANES lanes, SHARE or fewer, and the reducer that they have in common: lane i has its turn i cycles
// after lane 0.
module sum_group #(
    parameter  W     = 50,
    parameter  SHARE = 8,
    parameter  LANES = SHARE,
    localparam LS    = SHARE > 1 ? $clog2(SHARE) : 1
) (
    input  logic               clk, en,
    input  logic [LANES*W-1:0] a, b,
    input  logic               take, keep, ended,
    input  logic [LS-1:0]      index, out_index,    // whose sum is taken, whose residue comes
    input  logic               out_valid,
    input  logic [64*5-1:0]    taps,
    output logic [LANES*W-1:0] r
);
    logic [6*48-1:0] held [0:LANES-1];
    logic [6*48-1:0] s;
    logic [W-1:0]    residue;
    genvar l;
    generate
        for (l = 0; l < LANES; l++) begin : g_lane
            sum_lane #(.W(W)) u_lane (
                .clk, .en, .a(a[W*l +: W]), .b(b[W*l +: W]), .take, .keep, .ended, .held(held[l]));
            logic [W-1:0] kept;
            always_ff @(posedge clk) if (en && out_valid && out_index == LS'(l)) kept <= residue;
            assign r[W*l +: W] = kept;
        end
    endgenerate
    always_ff @(posedge clk) if (en) s <= held[index];
    sum_reducer #(.W(W)) u_reducer (.clk, .en, .s, .taps, .r(residue));
endmodule

// LANES sums of products, each sum s 2^(-68) mod q: one product a cycle in each lane, and no pause
// between sums. `first` and `last` mark a sum's products; q comes with the last one. The last
// products of two sums are at least SHARE cycles apart: without pauses, every sum has SHARE products
// or more. At most 64.
// LATENCY = 20 + SHARE from the last product; r then stays for one cycle.
module sum_lanes #(
    parameter  W     = 50,
    parameter  LANES = 128,
    parameter  SHARE = 8,               // lanes of a reducer; the last one has what is left
    localparam LS    = SHARE > 1 ? $clog2(SHARE) : 1
) (
    input  logic               clk, rst, en,
    input  logic               valid, first, last,
    input  logic [LANES*W-1:0] a, b,
    input  logic [W-1:0]       q,
    output logic               r_valid,
    output logic [LANES*W-1:0] r
);
    logic          take, keep, ended, taking, out_valid;
    logic [LS-1:0] index, out_index;
    logic [W-1:0]  q_last, q_sum, q_out;
    logic [64*5-1:0] taps;
    always_ff @(posedge clk) if (en) begin
        take <= valid;
        keep <= !(valid && first);
    end
    delay #(.W(1), .N(3)) u_ended (.clk, .en, .d(valid && last && !rst), .y(ended));
    delay #(.W(W), .N(3)) u_q (.clk, .en, .d(q), .y(q_last));
    always_ff @(posedge clk) if (en) begin
        if (ended || `MUTANT(19)) q_sum <= q_last;
        taking <= !rst && (ended || (taking && index != LS'(SHARE - 1)));
        index  <= ended ? '0 : index + 1'b1;
    end
    q_line #(.W(W), .ROUNDS(4), .LATE(2)) u_line (.clk, .en, .q(q_sum), .taps, .q_out);
    delay #(.W(1 + LS), .N(16)) u_out (
        .clk, .en, .d({taking, index}), .y({out_valid, out_index}));
    delay #(.W(1), .N(SHARE)) u_valid (
        .clk, .en, .d(out_valid && out_index == '0), .y(r_valid));
    genvar i;
    generate
        for (i = 0; i < LANES; i += SHARE) begin : g_group
            localparam COUNT = LANES - i < SHARE ? LANES - i : SHARE;
            sum_group #(.W(W), .SHARE(SHARE), .LANES(COUNT)) u_group (
                .clk, .en, .a(a[W*i +: W*COUNT]), .b(b[W*i +: W*COUNT]), .take, .keep, .ended, .index,
                .out_index, .out_valid, .taps, .r(r[W*i +: W*COUNT]));
        end
    endgenerate
endmodule
