// Products in DSP slices, and the reduction of products and of their sums.

// One DSP48E2 with all its registers: p <= before + c + a b, where `before` is the slice's own sum
// (ACCUMULATE, while `keep`), the sum of the slice below without its lowest 17 bits (CASCADE), or 0.
// a and b are signed and take STAGES + 2 cycles, c takes 2; `take` and `keep` come with c, and a
// product that is not taken counts as 0. 48 bits, in two's complement.
module mac #(
    parameter STAGES     = 1,           // registers of a and b, 1 or 2
    parameter CASCADE    = 0,
    parameter ACCUMULATE = 0,
    parameter ADD_C      = 0
) (
    input  logic        clk, en,
    input  logic [26:0] a,
    input  logic [17:0] b,
    input  logic [47:0] c, below,
    input  logic        take, keep,
    output logic [47:0] p, up           // the same: `up` only for the slice above
);
`ifdef SYNTHESIS
    wire [2:0] z = CASCADE ? 3'b101 : ACCUMULATE ? {1'b0, keep, 1'b0} : 3'b000;
    wire [3:0] xy = ACCUMULATE && !take ? 4'b0000 : 4'b0101;
    DSP48E2 #(
        .AREG(STAGES), .ACASCREG(STAGES), .BREG(STAGES), .BCASCREG(STAGES), .MREG(1), .PREG(1),
        .CREG(ADD_C), .OPMODEREG(1), .ALUMODEREG(0), .INMODEREG(0), .CARRYINREG(0),
        .CARRYINSELREG(0), .ADREG(0), .DREG(0)
    ) u_dsp (
        .CLK(clk), .A({{3{a[26]}}, a}), .B(b), .C(ADD_C ? c : 48'b0), .D(27'b0),
        .PCIN(CASCADE ? below : 48'b0), .P(p), .PCOUT(up), .OPMODE({ADD_C ? 2'b11 : 2'b00, z, xy}),
        .ALUMODE(4'b0), .INMODE(5'b0), .CARRYIN(1'b0), .CARRYINSEL(3'b0), .ACIN(30'b0),
        .BCIN(18'b0), .CARRYCASCIN(1'b0), .MULTSIGNIN(1'b0),
        .CEA1(en && STAGES == 2), .CEA2(en), .CEB1(en && STAGES == 2), .CEB2(en), .CEM(en), .CEP(en),
        .CEC(en), .CECTRL(en), .CEAD(1'b0), .CED(1'b0), .CEALUMODE(1'b0), .CEINMODE(1'b0),
        .CECARRYIN(1'b0), .RSTA(1'b0), .RSTB(1'b0), .RSTC(1'b0), .RSTD(1'b0), .RSTM(1'b0),
        .RSTP(1'b0), .RSTCTRL(1'b0), .RSTALUMODE(1'b0), .RSTINMODE(1'b0), .RSTALLCARRYIN(1'b0));
`else
    assign up = p;
    logic signed [26:0] a1, ax;
    logic signed [17:0] b1, bx;
    logic signed [44:0] m;
    wire  [47:0] product = {{3{m[44]}}, m};
    always_ff @(posedge clk) if (en) begin
        a1 <= a;
        b1 <= b;
        ax <= STAGES == 2 ? a1 : a;
        bx <= STAGES == 2 ? b1 : b;
        m  <= ax * bx;
    end
    generate
        if (ACCUMULATE) begin : g_sum
            logic taken, kept;
            always_ff @(posedge clk) if (en) begin
                taken <= take;
                kept  <= keep;
                p     <= (kept ? p : 48'b0) + (taken ? product : 48'b0);
            end
        end else begin : g_add
            logic [47:0] c1;
            wire  [47:0] high = {{17{below[47]}}, below[47:17]};
            always_ff @(posedge clk) if (en) begin
                if (ADD_C) c1 <= c;
                p <= (CASCADE ? high : 48'b0) + (ADD_C ? c1 : 48'b0) + product;
            end
        end
    endgenerate
`endif
endmodule

// a b, unsigned, for a `b` of 3 words of 17 bits or more. Bits 0 to 16 come WORDS cycles late, 17
// to 33 a cycle later, all others two cycles later, the last two from an adder and not a register.
//
// A piece of `a` of 26 bits has a chain of slices, one for each word of `b`, which gives its words
// one after another. What the chains give is added up in logic.
module full_product #(
    parameter  WA    = 50,
    parameter  WB    = 50,
    localparam WORDS = (WB + 16) / 17
) (
    input  logic              clk, en,
    input  logic [WA-1:0]     a,
    input  logic [WB-1:0]     b,
    output logic [16:0]       lowest, second,
    output logic [WA+WB-35:0] high
);
    localparam PIECES = (WA + 25) / 26;
    localparam TOP    = WA + WB - 34;   // bits of `high`
    genvar i, w;
    generate
        for (i = 0; i < PIECES; i++) begin : g_piece
            localparam PW = i == PIECES - 1 ? WA - 26 * i : 26;
            logic [PW+WB-1:0] whole;    // when all of its words are there
            for (w = 0; w < WORDS; w++) begin : g_word
                localparam BW   = w == WORDS - 1 ? WB - 17 * w : 17;
                localparam LATE = w < 2 ? 0 : w - 1;    // beside the slice's own registers
                localparam OUT  = w == WORDS - 1 ? PW + BW : 17;
                logic [PW-1:0]      x;
                logic [BW-1:0]      y;
                logic [47:0] p, up, below;
                delay #(.W(PW), .N(LATE)) d_x (.clk, .en, .d(a[26*i +: PW]), .y(x));
                delay #(.W(BW), .N(LATE)) d_y (.clk, .en, .d(b[17*w +: BW]), .y(y));
                if (w == 0) begin : g_none
                    assign below = '0;
                end else begin : g_below
                    assign below = g_word[w-1].up;
                end
                mac #(.STAGES(w == 0 ? 1 : 2), .CASCADE(w > 0)) u_mac (
                    .clk, .en, .a(27'(x)), .b(18'(y)), .c('0), .below, .take(1'b1), .keep(1'b0), .p,
                    .up);
                delay #(.W(OUT), .N(WORDS - 1 - w)) d_p (
                    .clk, .en, .d(p[OUT-1:0]), .y(whole[17*w +: OUT]));
            end
        end
    endgenerate

    // The lowest bits of the second piece reach into the second word.
    logic [16:0] word1;
    logic [7:0]  second_piece;
    logic [8:0]  sum;
    logic        carry;
    delay #(.W(17), .N(WORDS - 3)) d_lowest (
        .clk, .en, .d(g_piece[0].g_word[0].p[16:0]), .y(lowest));
    delay #(.W(17), .N(WORDS - 3)) d_word1 (
        .clk, .en, .d(g_piece[0].g_word[1].p[16:0]), .y(word1));
    delay #(.W(8), .N(WORDS - 2)) d_piece (
        .clk, .en, .d(g_piece[1].g_word[0].p[7:0]), .y(second_piece));
    assign sum    = word1[16:9] + second_piece;
    assign second = {sum[7:0], word1[8:0]};
    always_ff @(posedge clk) if (en) carry <= sum[8];

    logic [TOP-1:0] two;
    assign two = TOP'(g_piece[0].whole >> 34) + TOP'(g_piece[1].whole >> 8) +
                 TOP'(carry && !`MUTANT(1));
    generate
        if (PIECES == 2) begin : g_two
            assign high = two;
        end else begin : g_three
            assign high = two + (TOP'(g_piece[2].whole) << 18);
        end
    endgenerate
endmodule

// r = t 2^(-17 ROUNDS) mod q in [0, q), for t < q 2^(17 ROUNDS), one result a cycle; t comes as
// `full_product` gives it: its lowest word, a cycle later the next, another cycle later the rest.
//
// Montgomery on words of 17 bits. As q = 1 + 2^17 h, the multiple of q that clears the lowest word
// l of t is l itself: (t - l q) / 2^17 = (t >> 17) - l h. t stays above -q. A round is two slices:
// the lower word of -h, then the upper one on top of what the first gives beyond 17 bits.
// LATENCY = 3 ROUNDS + 2 from the lowest word. Taps: -h for round j, of the t 3 j cycles after its
// lowest word, then q, of the t 3 ROUNDS + 1 cycles after.
module mont_rounds #(
    parameter  W      = 50,
    parameter  ROUNDS = 3,
    parameter  T      = 100             // bits of t, at most 63 + 17 ROUNDS
) (
    input  logic                     clk, en,
    input  logic [16:0]              lowest, second,
    input  logic [T-35:0]            high,
    input  logic [64*(ROUNDS+1)-1:0] taps,
    output logic [W-1:0]             r
);
    localparam FIRST = T - 34 < 46 ? T - 34 : 46;       // bits of `high` in the first round
    genvar j;
    generate
        for (j = 0; j < ROUNDS; j++) begin : g_round
            localparam FROM = FIRST + 17 * (j - 1);     // bits of `high` in a later round
            localparam MORE = T - 34 - FROM > 17 ? 17 : T - 34 - FROM;
            logic [47:0] p0, up0, p1, up1, c0, c1;
            logic [16:0]        l;
            wire [63:0]         minus_h = taps[64*j +: 64];
            if (j == 0) begin : g_first
                assign l  = lowest;
                assign c0 = 48'(second);
                assign c1 = 48'(high[FIRST-1:0]);
            end else begin : g_next
                assign l  = g_round[j-1].p0[16:0];
                assign c0 = g_round[j-1].p1;
                if (MORE > 0) begin : g_more
                    logic [MORE-1:0] more;
                    delay #(.W(MORE), .N(3 * j)) d_more (
                        .clk, .en, .d(high[FROM +: MORE]), .y(more));
                    assign c1 = 48'(more) << 29;
                end else begin : g_all
                    assign c1 = '0;
                end
            end
            mac #(.ADD_C(1)) u_lower (
                .clk, .en, .a({10'b0, minus_h[16:0]}), .b({1'b0, l}), .c(c0), .below('0),
                .take(1'b1), .keep(1'b0), .p(p0), .up(up0));
            mac #(.STAGES(2), .CASCADE(1), .ADD_C(1)) u_upper (
                .clk, .en, .a(minus_h[43:17]), .b({1'b0, l}), .c(c1), .below(up0), .take(1'b1),
                .keep(1'b0), .p(p1), .up(up1));
        end
    endgenerate
    logic [16:0]  l;
    wire  [W-1:0] t = {g_round[ROUNDS-1].p1[W-18:0], l};
    wire          negative = g_round[ROUNDS-1].p1[47] && !`MUTANT(2);
    always_ff @(posedge clk) if (en) begin
        l <= g_round[ROUNDS-1].p0[16:0];
        r <= negative ? W'(t + taps[64*ROUNDS +: W]) : t;
    end
endmodule

// r = a b 2^(-17 WORDS) mod q in [0, q), for a < 2^W and b < q, one result a cycle.
// LATENCY = 4 WORDS + 2. Taps: see `mont_rounds`; -h of the operands WORDS + 3 j cycles after they
// came in, q of those of 4 WORDS + 1 cycles.
module mont_mul #(
    parameter  W     = 50,
    localparam WORDS = (W + 16) / 17
) (
    input  logic                    clk, en,
    input  logic [W-1:0]            a, b,
    input  logic [64*(WORDS+1)-1:0] taps,
    output logic [W-1:0]            r
);
    logic [16:0]     lowest, second;
    logic [2*W-35:0] high;
    full_product #(.WA(W), .WB(W)) u_product (.clk, .en, .a, .b, .lowest, .second, .high);
    mont_rounds #(.W(W), .ROUNDS(WORDS), .T(2 * W)) u_rounds (
        .clk, .en, .lowest, .second, .high, .taps, .r);
endmodule

// The taps of `mont_rounds` for a q that stays; -h is a cycle late. One serves all lanes.
module q_taps #(
    parameter W      = 50,
    parameter ROUNDS = 3
) (
    input  logic                     clk,
    input  logic [W-1:0]             q,
    output logic [64*(ROUNDS+1)-1:0] taps
);
    logic signed [63:0] minus_h;
    always_ff @(posedge clk) minus_h <= -$signed(64'(q >> 17));
    assign taps = {64'(q), {ROUNDS{minus_h}}};
endmodule

// The taps, and q after LATE + 3 ROUNDS + 2 cycles, from a q that may change every cycle, LATE
// cycles before the lowest word. One serves all lanes.
module q_line #(
    parameter W      = 50,
    parameter ROUNDS = 3,
    parameter LATE   = 3                // from 2 on
) (
    input  logic                     clk, en,
    input  logic [W-1:0]             q,
    output logic [64*(ROUNDS+1)-1:0] taps,
    output logic [W-1:0]             q_out
);
    localparam N = LATE + 3 * ROUNDS + 2;
    logic [W-1:0] line [0:N-1];         // line[i]: i + 1 cycles late
    integer i;
    always_ff @(posedge clk) if (en) begin
        line[0] <= q;
        for (i = 1; i < N; i = i + 1) line[i] <= line[i-1];
    end
    genvar j;
    generate
        for (j = 0; j < ROUNDS; j++) begin : g_tap
            logic signed [63:0] minus_h;
            always_ff @(posedge clk) if (en) minus_h <= -$signed(64'(line[LATE+3*j-2] >> 17));
            assign taps[64*j +: 64] = minus_h;
        end
    endgenerate
    assign taps[64*ROUNDS +: 64] = 64'(line[N-2]);
    assign q_out = line[N-1];
endmodule
