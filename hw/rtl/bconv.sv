// Conversion of residues from a few primes (product D) to others, exact for centred values:
// y_i = x_i weight_i mod q_i, v = floor(1/2 + sum y_i / q_i), and modulo each target prime
// sum y_i coefficient_i + v coefficient_k.
//
// y_i / q_i is summed with 49 bits after the point. As in the evaluator, whose sum is in double
// precision, a value within 2^-40 D of the edge may come out at the other end.

// One lane. y has 2 K entries, so that a row is weighted while the one before is converted.
module bconv_lane #(
    parameter  W     = 50,
    parameter  K     = 16,
    localparam LK    = $clog2(K),
    localparam WORDS = (W + 16) / 17
) (
    input  logic                    clk, en,
    input  logic [W-1:0]            x,              // with the slot
    input  logic                    weigh,          // a slot of a source, else of a target
    input  logic [LK:0]             y_raddr,
    input  logic                    use_v, v_raddr,
    input  logic [W-1:0]            constant,       // one cycle after the slot
    input  logic [64*(WORDS+1)-1:0] taps,
    input  logic                    y_we,           // with the product
    input  logic [LK:0]             y_waddr,
    input  logic [5:0]              shift,
    input  logic [50:0]             inverse,
    input  logic                    v_first, v_we, v_waddr,     // with the quotient's terms
    input  logic                    first,
    input  logic [W-1:0]            q_out,
    output logic [W-1:0]            acc
);
    logic [W-1:0] y [0:2*K-1];
    logic [LK:0]  v [0:1];
    logic [W-1:0] operand, product;
    always_ff @(posedge clk) if (en) begin
        operand <= weigh ? x : use_v ? W'(v[v_raddr]) : y[y_raddr];
        if (y_we) y[y_waddr] <= product;
    end
    mont_mul #(.W(W)) u_mul (.clk, .en, .a(operand), .b(constant), .taps, .r(product));
    mod_acc #(.W(W)) u_acc (.clk, .en, .first, .x(product), .q(q_out), .acc);

    // y / q: the product with floor(2^100 / q), q shifted to 50 bits, without its lowest 51 bits.
    wire  [W-1:0]   normal = product << shift;
    logic [16:0]    lowest, second;
    logic [W+16:0]  high;
    logic [W-1:0]   part;
    logic [49+LK:0] total, next;
    full_product #(.WA(W), .WB(51)) u_quotient (
        .clk, .en, .a(normal), .b(inverse), .lowest, .second, .high);
    wire [49+LK:0] half = `MUTANT(12) ? '0 : (50+LK)'(1) << 48;
    assign next = (v_first ? half : total) + (50+LK)'(part);
    always_ff @(posedge clk) if (en) begin
        part  <= high[W+16:17];
        total <= next;
        if (v_we) v[v_waddr] <= (LK+1)'(next >> 49);
    end
endmodule

// Where the sums of a conversion go, which come in the order of rows, and of targets within a row.
module bconv_rows #(parameter LR = 9) (
    input  logic           clk, rst, start, valid,
    input  logic [7:0]     targets, skip_at, skip_len,
    input  logic [15:0]    d,
    output logic           wr_en,
    output logic [15+LR:0] wr_addr,
    output logic           done
);
    logic [LR-1:0] row;
    logic [7:0]    j;
    assign wr_en   = valid;
    assign wr_addr = {d + 16'(j) + (j >= skip_at ? 16'(skip_len) : 16'd0), row};
    assign done    = valid && j == targets - 8'd1 && row == '1;
    always_ff @(posedge clk) begin
        if (rst || start) begin
            row <= '0;
            j   <= '0;
        end else if (valid) begin
            j <= j == targets - 8'd1 ? '0 : j + 8'd1;
            if (j == targets - 8'd1) row <= row + 1'b1;
        end
    end
endmodule

// Converts `terms` limbs from `a` on, primes from `prime` on, to `targets` limbs: target j has
// number j, or j + skip_len from skip_at on, and goes to limb d + number.
// Constants: for each source its weight, then for each target its terms + 1 coefficients, all in
// Montgomery form; beside a weight stand floor(2^100 / q) and the shift of q.
//
// A slot is one product in every lane. Rows take turns: row r + 1 is weighted, row r converted.
// Cycles of a run: ROWS (terms + targets (terms + 1)) + terms + RL + LATENCY, where a row has
// enough slots to hide the latency of its quotient.
module bconv_unit #(
    parameter  W     = 50,
    parameter  LOGN  = 16,
    parameter  LANES = 128,
    parameter  RL    = 8,
    parameter  K     = 16,
    localparam LK    = $clog2(K),
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

    // Slots.
    logic          busy, issuing, weigh, buffer;
    logic [LR:0]   row_a, row_b, ready;
    logic [7:0]    i, j;
    logic [15:0]   at;                  // of the target's coefficients
    wire           last_i  = weigh ? i == terms - 8'd1 : i == terms;
    wire           waiting = !weigh && ready <= row_b;
    wire           slot    = issuing && !waiting;
    wire [LR:0]    ROWS    = {1'b1, {LR{1'b0}}};
    wire           v_done;
    always_ff @(posedge clk) begin
        if (rst) begin
            busy    <= 1'b0;
            issuing <= 1'b0;
        end else if (start) begin
            busy    <= 1'b1;
            issuing <= 1'b1;
            weigh   <= 1'b1;
            row_a   <= '0;
            row_b   <= '0;
            ready   <= '0;
            i       <= '0;
            j       <= '0;
            at      <= constants + 16'(terms);
        end else begin
            if (done) busy <= 1'b0;
            if (v_done) ready <= ready + 1'b1;
            if (slot) begin
                i <= last_i ? '0 : i + 8'd1;
                if (!weigh) at <= at + 16'd1;
                if (last_i && weigh) begin
                    row_a <= row_a + 1'b1;
                    weigh <= row_a == row_b && row_a + 1'b1 != ROWS;
                end else if (last_i) begin
                    j <= j + 8'd1;
                    if (j == targets - 8'd1) begin
                        j     <= '0;
                        at    <= constants + 16'(terms);
                        row_b <= row_b + 1'b1;
                        weigh <= row_a != ROWS;
                        if (row_b + 1'b1 == ROWS) issuing <= 1'b0;
                    end
                end
            end
        end
    end
    assign buffer  = weigh ? row_a[0] : row_b[0];
    assign rd_en   = slot && weigh;
    assign rd_addr = {a + 16'(i), row_a[LR-1:0]};

    // Control travels with the slot. Constants are asked for at RL, to be there at RL + 1.
    wire [7:0] number = j >= skip_at && !`MUTANT(13) ? j + skip_len : j;
    logic [7:0]  p_prime, p_i;
    logic [15:0] p_at;
    logic        p_slot, p_weigh, p_buffer, p_last_i, p_first;
    delay #(.W(37), .N(RL)) u_slot (
        .clk, .en(1'b1),
        .d({slot, weigh, buffer, last_i, i == '0,
            weigh ? prime + i : number, i, weigh ? constants + 16'(i) : at}),
        .y({p_slot, p_weigh, p_buffer, p_last_i, p_first, p_prime, p_i, p_at}));
    assign constant_addr = p_at;
    assign prime_index   = p_prime;

    logic [W-1:0]            q, q_out;
    logic [64*(WORDS+1)-1:0] taps;
    always_ff @(posedge clk) if (busy) q <= prime_q;
    q_line #(.W(W), .ROUNDS(WORDS), .LATE(WORDS)) u_q (.clk, .en(busy), .q, .taps, .q_out);

    // With the product, at RL + 1 + M.
    logic        m_slot, m_weigh, m_buffer, m_last_i, m_first;
    logic [7:0]  m_i;
    logic [5:0]  m_shift;
    logic [50:0] m_inverse;
    delay #(.W(13), .N(M + 1)) u_product (
        .clk, .en(1'b1), .d({p_slot, p_weigh, p_buffer, p_last_i, p_first, p_i}),
        .y({m_slot, m_weigh, m_buffer, m_last_i, m_first, m_i}));
    delay #(.W(57), .N(M)) u_inverse (
        .clk, .en(busy), .d({constant_data[125:120], constant_data[114:64]}),
        .y({m_shift, m_inverse}));

    // With the quotient.
    logic v_slot, v_buffer, v_last, v_first;
    delay #(.W(4), .N(QLAT)) u_quotient (
        .clk, .en(1'b1), .d({m_slot && m_weigh, m_buffer, m_last_i, m_first}),
        .y({v_slot, v_buffer, v_last, v_first}));
    assign v_done = v_slot && v_last;

    // With the sum.
    logic acc_valid;
    delay #(.W(1), .N(2)) u_acc (
        .clk, .en(1'b1), .d(m_slot && !m_weigh && m_last_i), .y(acc_valid));

    genvar l;
    generate
        for (l = 0; l < LANES; l++) begin : g_lane
            logic [W-1:0] acc;
            bconv_lane #(.W(W), .K(K)) u_lane (
                .clk, .en(busy), .x(rd_data[64*l +: W]), .weigh(p_weigh),
                .y_raddr({p_buffer, p_i[LK-1:0]}), .use_v(p_last_i), .v_raddr(p_buffer),
                .constant(constant_data[W-1:0]), .taps,
                .y_we(m_slot && m_weigh), .y_waddr({m_buffer, m_i[LK-1:0]}),
                .shift(m_shift), .inverse(m_inverse),
                .v_first, .v_we(v_done), .v_waddr(v_buffer),
                .first(m_first), .q_out, .acc);
            assign wr_data[64*l +: 64] = 64'(acc);
        end
    endgenerate

    bconv_rows #(.LR(LR)) u_rows (
        .clk, .rst, .start, .valid(acc_valid), .targets, .skip_at, .skip_len, .d, .wr_en, .wr_addr,
        .done);
endmodule
