// What is done row by row: products with plaintexts and keys, sums, divisions, automorphisms.

// PCmul: one lane of sums of products modulo q, acc = sum of a_i b_i 2^(-17 WORDS), of which b
// comes multiplied by 2^(17 WORDS). In `scale` mode one product ((a - b) unit) each.
// LATENCY = 4 WORDS + 6.
module pcmul #(
    parameter  W     = 50,
    localparam WORDS = (W + 16) / 17
) (
    input  logic         clk, en, scale, first,     // first: with the product, 2 + M cycles late
    input  logic [W-1:0] a, b, q, unit,
    input  logic [64*(WORDS+1)-1:0] taps,       // of q, see mont_rounds
    output logic [W-1:0] acc
);
    logic [W-1:0] a2, b2, diff, product;
    delay #(.W(2 * W), .N(2)) u_in (.clk, .en, .d({a, b}), .y({a2, b2}));
    mod_sub #(.W(W)) u_sub (.clk, .en, .a, .b, .q, .r(diff));
    mont_mul #(.W(W)) u_mul (
        .clk, .en, .a(scale ? diff : a2), .b(scale ? unit : b2), .taps, .r(product)
    );
    mod_acc #(.W(W)) u_acc (
        .clk, .en, .first(first || `MUTANT(9)), .x(product), .q, .acc);
endmodule

// CCadd: sums of two rows modulo q; two cycles late.
module ccadd #(parameter W = 50, parameter LANES = 128) (
    input  logic                clk, en,
    input  logic [W-1:0]        q,
    input  logic [LANES*64-1:0] a, b,
    output logic [LANES*64-1:0] r
);
    genvar l;
    generate
        for (l = 0; l < LANES; l++) begin : g_lane
            logic [W-1:0] sum;
            wire [W-1:0] other = `MUTANT(10) ? a[64*l +: W] : b[64*l +: W];
            mod_add #(.W(W)) u_add (.clk, .en, .a(a[64*l +: W]), .b(other), .q, .r(sum));
            assign r[64*l +: 64] = 64'(sum);
        end
    endgenerate
endmodule

// Runs over the rows of a limb. By kind:
//   0 dot:   d = sum of a_i b_i, terms of them, a_i in limb a + i a_stride (a_alt for i = a_alt_at),
//            b_i in limb b + i b_stride, b_i in Montgomery form
//   1 scale: d = (a - b) unit
//   2 add:   d = a + b
//   3 copy:  d = a
// then plus limb c (kinds 0 and 1, where add_c), then the image under an automorphism (where
// permute). Cycles of a run: ROWS terms + RL + LATENCY (kinds 0, 1) or 7 (kinds 2, 3).
module row_unit #(
    parameter  W     = 50,
    parameter  LOGN  = 16,
    parameter  LANES = 128,
    parameter  RL    = 8,               // cycles from an address to its data
    localparam LV    = $clog2(LANES),
    localparam LR    = LOGN - LV,
    localparam AW    = 16 + LR,         // limb, row
    localparam LG    = LV > 2 ? LV - 2 : 1
) (
    input  logic                clk, rst, start,
    input  logic [1:0]          kind,
    input  logic                permute, add_c,
    input  logic [7:0]          terms, a_alt_at,
    input  logic [15:0]         a, a_stride, a_alt, b, b_stride, c, d,
    input  logic [W-1:0]        q, unit,
    input  logic [LOGN:0]       g,
    input  logic [LG-1:0]       power,
    input  logic                negate,
    output logic                rd0_en, rd1_en, rd2_en,
    output logic [AW-1:0]       rd0_addr, rd1_addr, rd2_addr,
    input  logic [LANES*64-1:0] rd0_data, rd1_data, rd2_data,
    output logic                wr_en,
    output logic [AW-1:0]       wr_addr,
    output logic [LANES*64-1:0] wr_data,
    output logic                done
);
    localparam WORDS = (W + 16) / 17;
    localparam M     = 4 * WORDS + 2;
    localparam TAIL  = M + 4;           // of pcmul
    localparam DOT = 2'd0, SCALE = 2'd1, ADD = 2'd2;

    logic          busy, issuing;
    logic [LR-1:0] row, out_row;
    logic [7:0]    term;
    logic [15:0]   a_limb, b_limb;
    wire           last_term = term == terms - 8'd1;
    wire           products  = kind == DOT || kind == SCALE;
    assign done = wr_en && out_row == '1;

    always_ff @(posedge clk) begin
        if (rst) begin
            busy    <= 1'b0;
            issuing <= 1'b0;
        end else if (start) begin
            busy    <= 1'b1;
            issuing <= 1'b1;
            row     <= '0;
            out_row <= '0;
            term    <= '0;
            a_limb  <= a;
            b_limb  <= b;
        end else begin
            if (done) busy <= 1'b0;
            if (wr_en) out_row <= out_row + 1'b1;
            if (issuing) begin
                term   <= last_term ? '0 : term + 8'd1;
                a_limb <= last_term ? a : a_limb + a_stride;
                b_limb <= last_term ? b : b_limb + b_stride;
                if (last_term) begin
                    row <= row + 1'b1;
                    if (row == '1) issuing <= 1'b0;
                end
            end
        end
    end

    // Two cycles later the row of the source is known.
    logic [LR-1:0] source;
    logic [LV-1:0] carry;
    logic          ask, ask_first, ask_last;
    logic [15:0]   ask_a, ask_b;
    automorphism_rows #(.LOGN(LOGN), .LANES(LANES)) u_rows (
        .clk, .en(busy), .permute, .g, .row, .source, .carry);
    delay #(.W(35), .N(2)) u_ask (
        .clk, .en(1'b1),
        .d({issuing, term == '0, last_term, term == a_alt_at ? a_alt : a_limb, b_limb}),
        .y({ask, ask_first, ask_last, ask_a, ask_b}));
    assign rd0_en   = ask && !rst;
    assign rd1_en   = ask && kind != 2'd3;
    assign rd0_addr = {ask_a, source};
    assign rd1_addr = {ask_b, source};

    // Products: data at RL, sums at RL + TAIL; the row c is asked for just in time.
    logic          first, c_valid, sum_valid, add_valid, out_valid;
    logic [LR-1:0] c_source;
    logic [LV-1:0] c_carry, sum_carry, add_carry, out_carry;
    delay #(.W(1), .N(RL + 2 + M)) u_first (.clk, .en(1'b1), .d(ask_first), .y(first));
    delay #(.W(1 + LR + LV), .N(TAIL)) u_c (
        .clk, .en(1'b1), .d({ask && ask_last && products, source, carry}),
        .y({c_valid, c_source, c_carry}));
    delay #(.W(1 + LV), .N(RL)) u_sum (
        .clk, .en(1'b1), .d({c_valid, c_carry}), .y({sum_valid, sum_carry}));
    delay #(.W(1 + LV), .N(RL)) u_add (
        .clk, .en(1'b1), .d({ask && !products, carry}), .y({add_valid, add_carry}));
    assign rd2_en   = c_valid && add_c;
    assign rd2_addr = {c, c_source};

    logic [LANES*64-1:0] sums, more, added;
    logic [64*(WORDS+1)-1:0] taps;
    q_taps #(.W(W), .ROUNDS(WORDS)) u_taps (.clk, .q, .taps);
    genvar l;
    generate
        for (l = 0; l < LANES; l++) begin : g_lane
            logic [W-1:0] acc;
            pcmul #(.W(W)) u_pcmul (
                .clk, .en(busy && products), .scale(kind == SCALE), .first,
                .a(rd0_data[64*l +: W]), .b(rd1_data[64*l +: W]), .q, .taps, .unit,
                .acc);
            assign sums[64*l +: 64] = 64'(acc);
        end
    endgenerate
    assign more = products ? (add_c ? rd2_data : '0) : kind == ADD ? rd1_data : '0;
    ccadd #(.W(W), .LANES(LANES)) u_ccadd (
        .clk, .en(busy), .q, .a(products ? sums : rd0_data), .b(more), .r(added));
    delay #(.W(1 + LV), .N(2)) u_out (
        .clk, .en(1'b1), .d(products ? {sum_valid, sum_carry} : {add_valid, add_carry}),
        .y({out_valid, out_carry}));
    wire [LV-1:0] lane_carry = `MUTANT(11) ? '0 : out_carry;
    automorphism_lanes #(.LANES(LANES)) u_lanes (
        .clk, .en(busy), .permute, .negate, .power, .carry(lane_carry), .d(added), .y(wr_data));
    delay #(.W(1), .N(2)) u_wr (.clk, .en(1'b1), .d(out_valid), .y(wr_en));
    assign wr_addr = {d, out_row};
endmodule
