// The conversion of bconv.sv on lanes of sums: sources are weighted beside them, by one multiplier
// for each SHARE lanes.

// Weighs the sources of SHARE lanes, one lane after another, and counts their quotients: 18 DSPs.
module weigher #(
    parameter  W     = 50,
    parameter  K     = 16,
    parameter  SHARE = 12,
    localparam LK    = $clog2(K),
    localparam LS    = SHARE > 1 ? $clog2(SHARE) : 1,
    localparam WORDS = (W + 16) / 17
) (
    input  logic                    clk, en,
    input  logic                    take,           // x is a new source of all lanes
    input  logic [SHARE*64-1:0]     x,
    input  logic [LS-1:0]           lane,           // one cycle after x and later
    input  logic [W-1:0]            weight,         // two cycles after x and later
    input  logic [64*(WORDS+1)-1:0] taps,
    input  logic [5:0]              shift,          // with the product
    input  logic [50:0]             inverse,
    input  logic                    first,          // with the quotient's terms
    input  logic [LS-1:0]           total_lane,
    output logic [W-1:0]            product,
    output logic [LK:0]             v
);
    logic [SHARE*64-1:0] kept;
    logic [W-1:0]        operand, part;
    logic [16:0]         lowest, second;
    logic [W+16:0]       high;
    logic [49+LK:0]      total [0:SHARE-1];
    wire  [49+LK:0] half = `MUTANT(21) ? '0 : (50+LK)'(1) << 48;
    wire  [49+LK:0] next = (first ? half : total[total_lane]) + (50+LK)'(part);
    wire  [W-1:0]   normal = product << shift;
    assign v = (LK+1)'(next >> 49);
    always_ff @(posedge clk) if (en) begin
        if (take) kept <= x;
        operand <= kept[64*lane +: W];
        part    <= high[W+16:17];
        total[total_lane] <= next;
    end
    mont_mul #(.W(W)) u_mul (.clk, .en, .a(operand), .b(weight), .taps, .r(product));
    full_product #(.WA(W), .WB(51)) u_quotient (
        .clk, .en, .a(normal), .b(inverse), .lowest, .second, .high);
endmodule

// LANES lanes, SHARE or fewer, with what weighs their sources: the operands of their products.
module bconv_group #(
    parameter  W     = 50,
    parameter  K     = 16,
    parameter  SHARE = 12,
    parameter  LANES = SHARE,
    localparam LK    = $clog2(K),
    localparam LS    = SHARE > 1 ? $clog2(SHARE) : 1,
    localparam WORDS = (W + 16) / 17
) (
    input  logic                    clk, en,
    input  logic                    take,           // see `weigher`
    input  logic [LANES*64-1:0]     x,
    input  logic [LS-1:0]           lane,
    input  logic [W-1:0]            weight,
    input  logic [64*(WORDS+1)-1:0] taps,
    input  logic [5:0]              shift,
    input  logic [50:0]             inverse,
    input  logic                    m_valid, m_buffer,              // with the product
    input  logic [LS-1:0]           m_lane,
    input  logic [LK-1:0]           m_i,
    input  logic                    v_valid, v_last, v_buffer,      // with the quotient's terms
    input  logic [LS-1:0]           v_lane,
    input  logic [LK-1:0]           v_i,
    input  logic                    s_last, s_buffer,               // with the coefficient
    input  logic [LK-1:0]           s_i,
    output logic [LANES*W-1:0]      operands
);
    logic [W-1:0] product;
    logic [LK:0]  quotient;
    weigher #(.W(W), .K(K), .SHARE(SHARE)) u_weigher (
        .clk, .en, .take, .x((SHARE*64)'(x)), .lane, .weight, .taps, .shift, .inverse,
        .first(v_i == '0), .total_lane(v_lane), .product, .v(quotient));
    genvar l;
    generate
        for (l = 0; l < LANES; l++) begin : g_lane
            logic [W-1:0] y [0:2*K-1];
            logic [LK:0]  v [0:1];
            always_ff @(posedge clk) if (en) begin
                if (m_valid && m_lane == LS'(l)) y[{m_buffer, m_i}] <= product;
                if (v_valid && v_last && v_lane == LS'(l)) v[v_buffer] <= quotient;
            end
            assign operands[W*l +: W] = s_last ? W'(v[s_buffer]) : y[{s_buffer, s_i}];
        end
    endgenerate
endmodule

// Ports and constants as `bconv_unit` has them; coefficients are the upper words of their entries,
// times 2^68. Weights and primes of the sources are read once, before the first row.
//
// Row r + 1 is weighted while row r is converted. A target takes terms + 1 cycles, or SHARE where
// that is more. Cycles of a run: ROWS targets max(terms + 1, SHARE), the first row's weighing, and
// terms + 21 + SHARE, where a row has enough products to hide the weighing of the next.
module bconv_sums #(
    parameter  W     = 50,
    parameter  LOGN  = 16,
    parameter  LANES = 128,
    parameter  RL    = 8,
    parameter  K     = 16,
    parameter  SHARE = 12,
    localparam LK    = $clog2(K),
    localparam LS    = SHARE > 1 ? $clog2(SHARE) : 1,
    localparam LV    = $clog2(LANES),
    localparam LR    = LOGN - LV,
    localparam AW    = 16 + LR
) (
    input  logic                clk, rst, start,
    input  logic [7:0]          prime, terms, targets, skip_at, skip_len,
    input  logic [15:0]         a, d, constants,
    output logic                rd_en,
    output logic [AW-1:0]       rd_addr,
    input  logic [LANES*64-1:0] rd_data,
    output logic [15:0]         constant_addr,      // data one cycle late
    input  logic [127:0]        constant_data,
    output logic [7:0]          prime_index,        // data in the same cycle
    input  logic [W-1:0]        prime_q,
    output logic                wr_en,
    output logic [AW-1:0]       wr_addr,
    output logic [LANES*64-1:0] wr_data,
    output logic                done
);
    localparam WORDS = (W + 16) / 17;
    localparam M     = 4 * WORDS + 2;
    localparam QLAT  = 6;               // from a product to its part of the quotient
    wire [LR:0] ROWS = {1'b1, {LR{1'b0}}};

    logic       busy, busy1, en, loading;
    logic [7:0] load;                   // source whose constants are asked for
    assign en = busy || busy1;

    // Constants of the sources.
    logic         load_valid;
    logic [7:0]   load_at;
    logic [W-1:0] load_q;
    logic [W-1:0] weights [0:K-1], primes [0:K-1];
    logic [56:0]  inverses [0:K-1];
    always_ff @(posedge clk) begin
        load_valid <= loading && !rst;
        load_at    <= load;
        load_q     <= prime_q;
        if (load_valid) begin
            weights[load_at[LK-1:0]]  <= constant_data[W-1:0];
            inverses[load_at[LK-1:0]] <= {constant_data[125:120], constant_data[114:64]};
            primes[load_at[LK-1:0]]   <= load_q;
        end
    end

    // Weighing: a source of a row in SHARE cycles, at most one row ahead.
    logic          weighing;
    logic [LR:0]   row_a, row_b;
    logic [7:0]    i_a;
    logic [LS-1:0] lane_a;
    wire           ask_a = weighing && (lane_a != '0 || row_a - row_b < (LR+1)'(2));
    always_ff @(posedge clk) begin
        busy1 <= busy;
        if (rst) begin
            busy     <= 1'b0;
            loading  <= 1'b0;
            weighing <= 1'b0;
        end else if (start) begin
            busy     <= 1'b1;
            loading  <= 1'b1;
            load     <= '0;
            weighing <= 1'b0;
            row_a    <= '0;
            i_a      <= '0;
            lane_a   <= '0;
        end else begin
            if (done) busy <= 1'b0;
            if (loading) begin
                load <= load + 8'd1;
                if (load == terms - 8'd1) begin
                    loading  <= 1'b0;
                    weighing <= 1'b1;
                end
            end
            if (ask_a) begin
                lane_a <= lane_a == LS'(SHARE - 1) ? '0 : lane_a + 1'b1;
                if (lane_a == LS'(SHARE - 1)) begin
                    i_a <= i_a == terms - 8'd1 ? '0 : i_a + 8'd1;
                    if (i_a == terms - 8'd1) begin
                        row_a <= row_a + 1'b1;
                        if (row_a + 1'b1 == ROWS) weighing <= 1'b0;
                    end
                end
            end
        end
    end
    assign rd_en   = ask_a && lane_a == '0 && !rst;
    assign rd_addr = {a + 16'(i_a), row_a[LR-1:0]};

    // With the data, with the operand, with the product, with the quotient's term.
    logic          x_valid, o_valid, m_valid, v_valid;
    logic [LS-1:0] x_lane, o_lane, m_lane, v_lane;
    logic [LK-1:0] x_i, o_i, m_i, v_i;
    logic          x_buffer, o_buffer, m_buffer, v_buffer, v_last, m_last, o_last, x_last;
    localparam CW = 3 + LS + LK;
    delay #(.W(CW), .N(RL)) u_x (
        .clk, .en(1'b1), .d({ask_a, row_a[0], i_a == terms - 8'd1, lane_a, i_a[LK-1:0]}),
        .y({x_valid, x_buffer, x_last, x_lane, x_i}));
    logic          k_valid;             // the source is kept
    logic [LS-1:0] k_lane;
    logic [LK-1:0] k_i;
    logic          k_buffer, k_last;
    delay #(.W(CW), .N(1)) u_k (
        .clk, .en(1'b1), .d({x_valid, x_buffer, x_last, x_lane, x_i}),
        .y({k_valid, k_buffer, k_last, k_lane, k_i}));
    delay #(.W(CW), .N(1)) u_o (
        .clk, .en(1'b1), .d({k_valid, k_buffer, k_last, k_lane, k_i}),
        .y({o_valid, o_buffer, o_last, o_lane, o_i}));
    delay #(.W(CW), .N(M)) u_m (
        .clk, .en(1'b1), .d({o_valid, o_buffer, o_last, o_lane, o_i}),
        .y({m_valid, m_buffer, m_last, m_lane, m_i}));
    delay #(.W(CW), .N(QLAT)) u_v (
        .clk, .en(1'b1), .d({m_valid, m_buffer, m_last, m_lane, m_i}),
        .y({v_valid, v_buffer, v_last, v_lane, v_i}));
    logic [64*(WORDS+1)-1:0] taps;
    logic [W-1:0]            q_out;
    q_line #(.W(W), .ROUNDS(WORDS), .LATE(WORDS)) u_q (
        .clk, .en, .q(primes[o_i]), .taps, .q_out);

    // Converting: a product of each lane a cycle, as soon as a row's quotients are there.
    logic        converting;
    logic [LR:0] ready;
    logic [7:0]  i_b, j;
    logic [15:0] at;
    wire [7:0]   slots  = terms >= 8'(SHARE) ? terms + 8'd1 : 8'(SHARE);
    wire         slot   = converting && ready > row_b;
    wire         last_i = i_b == slots - 8'd1;
    wire         last_j = j == targets - 8'd1;
    wire [7:0]   number = j >= skip_at && !`MUTANT(20) ? j + skip_len : j;
    always_ff @(posedge clk) begin
        if (rst) converting <= 1'b0;
        else if (start) begin
            converting <= 1'b1;
            row_b      <= '0;
            ready      <= '0;
            i_b        <= '0;
            j          <= '0;
        end else begin
            if (v_valid && v_last && v_lane == LS'(SHARE - 1)) ready <= ready + 1'b1;
            if (slot) begin
                i_b <= last_i ? '0 : i_b + 8'd1;
                if (i_b <= terms) at <= last_i && last_j ? constants + 16'(terms) : at + 16'd1;
                else if (last_i && last_j) at <= constants + 16'(terms);
                if (last_i) j <= last_j ? '0 : j + 8'd1;
                if (last_i && last_j) begin
                    row_b <= row_b + 1'b1;
                    if (row_b + 1'b1 == ROWS) converting <= 1'b0;
                end
            end
        end
        if (start) at <= constants + 16'(terms);
    end
    assign constant_addr = loading ? constants + 16'(load) : at;
    assign prime_index   = loading ? prime + load : number;

    // With the coefficient.
    logic          s_valid, s_first, s_last, s_buffer;
    logic [LK-1:0] s_i;
    logic [W-1:0]  s_q;
    always_ff @(posedge clk) begin
        s_valid  <= slot && i_b <= terms && !rst;
        s_first  <= i_b == '0;
        s_last   <= i_b == terms;
        s_buffer <= row_b[0];
        s_i      <= i_b[LK-1:0];
        s_q      <= prime_q;
    end
    logic [LANES*W-1:0] operands, residues;
    logic               r_valid;
    sum_lanes #(.W(W), .LANES(LANES), .SHARE(SHARE)) u_sums (
        .clk, .rst, .en, .valid(s_valid), .first(s_first), .last(s_last), .a(operands),
        .b({LANES{constant_data[64 +: W]}}), .q(s_q), .r_valid, .r(residues));

    // Groups of SHARE lanes; the last one has what is left.
    genvar g;
    generate
        for (g = 0; g < LANES; g += SHARE) begin : g_group
            localparam COUNT = LANES - g < SHARE ? LANES - g : SHARE;
            logic [COUNT*W-1:0] own;
            bconv_group #(.W(W), .K(K), .SHARE(SHARE), .LANES(COUNT)) u_group (
                .clk, .en, .take(x_valid && x_lane == '0), .x(rd_data[64*g +: 64*COUNT]),
                .lane(k_lane), .weight(weights[o_i]), .taps, .shift(inverses[m_i][56:51]),
                .inverse(inverses[m_i][50:0]), .m_valid, .m_buffer, .m_lane, .m_i, .v_valid, .v_last,
                .v_buffer, .v_lane, .v_i, .s_last, .s_buffer, .s_i, .operands(own));
            assign operands[W*g +: W*COUNT] = own;
        end
        for (g = 0; g < LANES; g++) begin : g_lane
            assign wr_data[64*g +: 64] = 64'(residues[W*g +: W]);
        end
    endgenerate

    bconv_rows #(.LR(LR)) u_rows (
        .clk, .rst, .start, .valid(r_valid && busy), .targets, .skip_at, .skip_len, .d, .wr_en,
        .wr_addr, .done);
endmodule
