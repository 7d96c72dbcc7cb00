// The executor: one transform core, one base conversion, one row unit on a memory of limbs, and the
// operations that it knows.
//
// A limb is a row of n residues, kept as ROWS rows of LANES residues in 64 bits each. Addresses
// are {limb, row}. Data of a read come RL cycles after the address (prefetch buffers in front of
// HBM or of on-chip memory keep that time).

// Fields of an operation, from the highest bits down.
`define OP_BITS 224
`define OP(kind, permute, add_c, prime, terms, targets, skip_at, skip_len, constants, a, a_stride, a_alt, a_alt_at, b, b_stride, c, d) \
    {4'(kind), 1'(permute), 1'(add_c), 2'b00, 8'(prime), 8'(terms), 8'(targets), 8'(skip_at), \
     8'(skip_len), 16'(constants), 16'(a), 16'(a_stride), 16'(a_alt), 8'(a_alt_at), 16'(b), \
     16'(b_stride), 16'(c), 16'(d), 40'b0}

// Kinds 0 to 3 are those of row_unit.
`define OP_DOT     0
`define OP_SCALE   1
`define OP_ADD     2
`define OP_COPY    3
`define OP_NTT     4
`define OP_INTT    5
`define OP_BCONV   6
`define OP_SWITCH  8
`define OP_ROT     9
`define OP_MATMUL 10

// Executes one operation of kinds 0 to 6.
module executor #(
    parameter  W     = 50,
    parameter  LOGN  = 16,
    parameter  LANES = 128,
    parameter  RL    = 8,
    parameter  K     = 16,
    parameter  SHARE = 0,               // conversions on lanes of sums, so many with one reducer
    localparam LV    = $clog2(LANES),
    localparam LR    = LOGN - LV,
    localparam AW    = 16 + LR,
    localparam LG    = LV > 2 ? LV - 2 : 1
) (
    input  logic                clk, rst, start,
    input  logic [`OP_BITS-1:0] op,
    input  logic [7:0]          prime_base,
    input  logic [LOGN:0]       g,
    input  logic [LG-1:0]       power,
    input  logic                negate,
    output logic                done,
    // The table of primes: q, 1 / P in Montgomery form, limb of the twiddles.
    output logic [7:0]          prime_addr,
    input  logic [143:0]        prime_data,
    output logic [15:0]         constant_addr,
    input  logic [127:0]        constant_data,
    output logic                rd0_en, rd1_en, rd2_en, wr_en,
    output logic [AW-1:0]       rd0_addr, rd1_addr, rd2_addr, wr_addr,
    input  logic [LANES*64-1:0] rd0_data, rd1_data, rd2_data,
    output logic [LANES*64-1:0] wr_data,
    output logic [31:0]         run_cycles
);
    logic [3:0]  kind;
    logic        permute, add_c;
    logic [1:0]  unused;
    logic [7:0]  prime, terms, targets, skip_at, skip_len, a_alt_at;
    logic [15:0] constants, a, a_stride, a_alt, b, b_stride, c, d;
    logic [39:0] spare;
    assign {kind, permute, add_c, unused, prime, terms, targets, skip_at, skip_len, constants,
            a, a_stride, a_alt, a_alt_at, b, b_stride, c, d, spare} = op;
    wire transform = kind == `OP_NTT || kind == `OP_INTT;
    wire convert   = kind == `OP_BCONV;

    // The prime of the operation is read before it starts, and that of a transform's next limb.
    logic         start1, start2, t_fetch;
    logic [7:0]   t_limb;
    logic [W-1:0] q, unit;
    logic [15:0]  twiddles;
    logic [7:0]   conv_prime;
    assign prime_addr = prime_base + (convert && !start1 ? conv_prime : prime + t_limb);
    always_ff @(posedge clk) begin
        start1 <= start && !rst;
        start2 <= start1 && !rst;
        if (start1 || t_fetch) begin
            q        <= prime_data[W-1:0];
            unit     <= prime_data[64 +: W];
            twiddles <= prime_data[143:128];
        end
    end

    // Rows.
    logic                r_rd0_en, r_wr_en, r_done;
    logic [AW-1:0]       r_rd0_addr, r_rd1_addr, r_wr_addr;
    logic                r_rd1_en;
    logic [LANES*64-1:0] r_wr_data;
    row_unit #(.W(W), .LOGN(LOGN), .LANES(LANES), .RL(RL)) u_rows (
        .clk, .rst, .start(start2 && !transform && !convert), .kind(kind[1:0]), .permute, .add_c,
        .terms, .a_alt_at, .a, .a_stride, .a_alt, .b, .b_stride, .c, .d, .q, .unit, .g, .power,
        .negate, .rd0_en(r_rd0_en), .rd1_en(r_rd1_en), .rd2_en, .rd0_addr(r_rd0_addr),
        .rd1_addr(r_rd1_addr), .rd2_addr, .rd0_data, .rd1_data, .rd2_data, .wr_en(r_wr_en),
        .wr_addr(r_wr_addr), .wr_data(r_wr_data), .done(r_done));

    // Base conversion.
    logic                c_rd_en, c_wr_en, c_done;
    logic [AW-1:0]       c_rd_addr, c_wr_addr;
    logic [LANES*64-1:0] c_wr_data;
    generate
        if (SHARE == 0) begin : g_products
            bconv_unit #(.W(W), .LOGN(LOGN), .LANES(LANES), .RL(RL), .K(K)) u_bconv (
                .clk, .rst, .start(start2 && convert), .prime, .terms, .targets, .skip_at, .skip_len,
                .a, .d, .constants, .rd_en(c_rd_en), .rd_addr(c_rd_addr), .rd_data(rd0_data),
                .constant_addr, .constant_data, .prime_index(conv_prime), .prime_q(prime_data[W-1:0]),
                .wr_en(c_wr_en), .wr_addr(c_wr_addr), .wr_data(c_wr_data), .done(c_done));
        end else begin : g_sums
            bconv_sums #(
                .W(W), .LOGN(LOGN), .LANES(LANES), .RL(RL), .K(K), .SHARE(SHARE)
            ) u_bconv (
                .clk, .rst, .start(start2 && convert), .prime, .terms, .targets, .skip_at, .skip_len,
                .a, .d, .constants, .rd_en(c_rd_en), .rd_addr(c_rd_addr), .rd_data(rd0_data),
                .constant_addr, .constant_data, .prime_index(conv_prime), .prime_q(prime_data[W-1:0]),
                .wr_en(c_wr_en), .wr_addr(c_wr_addr), .wr_data(c_wr_data), .done(c_done));
        end
    endgenerate

    // Transforms of `terms` limbs and primes, one after another. Rows and their twiddles are read
    // together, as soon as the core takes them.
    logic                t_waiting, t_asking, t_free, t_begun, t_valid, t_wr_en, t_done;
    logic [LR-1:0]       t_row, t_out;
    logic [7:0]          t_out_limb;
    logic [LANES*64-1:0] t_wr_data;
    always_ff @(posedge clk) begin
        t_fetch <= t_begun;
        if (start) t_limb <= '0;
        else if (t_begun) t_limb <= t_limb + 8'd1;
        if (rst) begin
            t_waiting <= 1'b0;
            t_asking  <= 1'b0;
        end else if (start2 && transform) begin
            t_waiting  <= 1'b1;
            t_row      <= '0;
            t_out      <= '0;
            t_out_limb <= '0;
        end else begin
            if (t_waiting && (t_free || `MUTANT(23))) begin
                t_waiting <= 1'b0;
                t_asking  <= 1'b1;
            end
            if (t_fetch && t_limb != terms) t_waiting <= 1'b1;
            if (t_asking) begin
                t_row <= t_row + 1'b1;
                if (t_row == '1) t_asking <= 1'b0;
            end
            if (t_wr_en) begin
                t_out <= t_out + 1'b1;
                if (t_out == '1) t_out_limb <= t_out_limb + 8'd1;
            end
        end
    end
    delay #(.W(1), .N(RL)) u_valid (.clk, .en(1'b1), .d(t_asking && !rst), .y(t_valid));
    ntt_core #(.W(W), .LOGN(LOGN), .LANES(LANES)) u_ntt (
        .clk, .rst, .inverse(kind == `OP_INTT), .q, .ld_valid(t_valid), .ld_data(rd0_data),
        .tw_data(rd1_data), .free(t_free), .begun(t_begun), .un_valid(t_wr_en),
        .un_data(t_wr_data), .run_cycles);
    assign t_done = t_wr_en && t_out == '1 && t_out_limb == terms - 8'd1;

    assign rd0_en   = r_rd0_en || c_rd_en || t_asking;
    assign rd0_addr = transform ? {a + 16'(t_limb), t_row} : convert ? c_rd_addr : r_rd0_addr;
    assign rd1_en   = r_rd1_en || t_asking;
    assign rd1_addr = transform ? {twiddles + 16'(kind == `OP_INTT), t_row} : r_rd1_addr;
    assign wr_en    = r_wr_en || c_wr_en || t_wr_en;
    assign wr_addr  = transform ? {d + 16'(t_out_limb), t_out} : convert ? c_wr_addr : r_wr_addr;
    assign wr_data  = transform ? t_wr_data : convert ? c_wr_data : r_wr_data;
    assign done     = r_done || c_done || t_done;
endmodule
