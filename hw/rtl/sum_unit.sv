// Sums over baby steps: both parts of BLOCK baby steps are kept on chip, for one prime, and every
// diagonal is read once for both.
//
// Loads limb babies + i baby_stride + part part_stride of each baby step i, then writes, for each
// group g, the sums over i of baby step i times limb diagonals + (g BLOCK + i) diagonal_stride to
// limbs out + g out_stride + part part_stride. Diagonals come times 2^68.
// Cycles of a run: ROWS BLOCK (2 + groups) + RL + 22 + SHARE.
module sum_unit #(
    parameter  W     = 50,
    parameter  LOGN  = 16,
    parameter  LANES = 128,
    parameter  RL    = 8,
    parameter  SHARE = 16,
    parameter  BLOCK = 16,              // baby steps, SHARE or more
    localparam LB    = $clog2(BLOCK),
    localparam LR    = LOGN - $clog2(LANES),
    localparam AW    = 16 + LR
) (
    input  logic                clk, rst, start,
    input  logic [W-1:0]        q,
    input  logic [15:0]         babies, baby_stride, part_stride, diagonals, diagonal_stride,
    input  logic [15:0]         groups, out, out_stride,
    output logic                rd_en,
    output logic [AW-1:0]       rd_addr,
    input  logic [LANES*64-1:0] rd_data,
    output logic                wr_en,
    output logic [AW-1:0]       wr_addr,
    output logic [LANES*64-1:0] wr_data,
    output logic                done,
    output logic [31:0]         cycles          // of the last run, from its start to its last write
);
    // Loads go through parts, baby steps and rows, products through groups, rows and baby steps.
    logic          busy, loading, running, part;
    logic [LB-1:0] i;
    logic [LR-1:0] row;
    logic [15:0]   group, limb, group_limb;
    always_ff @(posedge clk) begin
        if (rst) begin
            busy    <= 1'b0;
            loading <= 1'b0;
            running <= 1'b0;
        end else if (start) begin
            busy    <= 1'b1;
            loading <= 1'b1;
            part    <= 1'b0;
            i       <= '0;
            row     <= '0;
            limb    <= babies;
            cycles  <= '0;
        end else begin
            if (busy) cycles <= cycles + 1;
            if (done) busy <= 1'b0;
            if (loading) begin
                row <= row + 1'b1;
                if (row == '1) begin
                    i    <= i + 1'b1;
                    limb <= limb + baby_stride;
                    if (i == '1) begin
                        part <= 1'b1;
                        limb <= babies + part_stride;
                        if (part) begin
                            loading    <= 1'b0;
                            running    <= 1'b1;
                            group      <= '0;
                            limb       <= diagonals;
                            group_limb <= diagonals;
                        end
                    end
                end
            end
            if (running) begin
                i    <= i + 1'b1;
                limb <= i == '1 ? group_limb : limb + diagonal_stride;
                if (i == '1) row <= row + 1'b1;
                if (i == '1 && row == '1) begin
                    group      <= group + 16'd1;
                    limb       <= limb + diagonal_stride;
                    group_limb <= limb + diagonal_stride;
                    if (group == groups - 16'd1) running <= 1'b0;
                end
            end
        end
    end
    assign rd_en   = loading || running;
    assign rd_addr = {limb, row};

    // With the data; what is on chip is asked for a cycle before.
    logic          ask, d_load, d_run, d_part;
    logic [LB-1:0] ask_i, d_i;
    logic [LR-1:0] ask_row, d_row;
    logic          ask_load, ask_part;
    delay #(.W(3 + LB + LR), .N(RL - 1)) u_ask (
        .clk, .en(1'b1), .d({running && !rst, loading && !rst, part, i, row}),
        .y({ask, ask_load, ask_part, ask_i, ask_row}));
    delay #(.W(3 + LB + LR), .N(1)) u_data (
        .clk, .en(1'b1), .d({ask, ask_load, ask_part, ask_i, ask_row}),
        .y({d_run, d_load, d_part, d_i, d_row}));

    logic [1:0]         r_valid;
    logic [LANES*W-1:0] factors;
    logic [LANES*W-1:0] r [0:1];
    genvar l, p;
    generate
        for (l = 0; l < LANES; l++) begin : g_lane
            assign factors[W*l +: W] = rd_data[64*l +: W];
        end
        for (p = 0; p < 2; p++) begin : g_part
            logic [LANES*W-1:0] baby;
            ram #(.W(LANES * W), .DEPTH(BLOCK << LR), .AW(LB + LR)) u_babies (
                .clk, .we(d_load && d_part == p), .re(ask), .waddr({d_i, d_row}),
                .raddr({ask_i, ask_row}), .wdata(factors), .rdata(baby));
            sum_lanes #(.W(W), .LANES(LANES), .SHARE(SHARE)) u_sums (
                .clk, .rst, .en(1'b1), .valid(d_run), .first(d_i == '0),
                .last(d_i == '1), .a(`MUTANT(22) ? g_part[0].baby : baby), .b(factors), .q,
                .r_valid(r_valid[p]), .r(r[p]));
        end
    endgenerate

    // The second part is written a cycle after the first.
    logic               second;
    logic [LANES*W-1:0] kept;
    logic [LR-1:0]      out_row;
    logic [15:0]        out_limb, out_group;
    wire  [LANES*W-1:0] written = second ? kept : r[0];
    always_ff @(posedge clk) begin
        second <= r_valid[0] && !rst;
        kept   <= r[1];
        if (start) begin
            out_row   <= '0;
            out_group <= '0;
            out_limb  <= out;
        end else if (second) begin
            out_row <= out_row + 1'b1;
            if (out_row == '1) begin
                out_group <= out_group + 16'd1;
                out_limb  <= out_limb + out_stride;
            end
        end
    end
    assign wr_en   = busy && (r_valid[0] || second);
    assign wr_addr = {second ? out_limb + part_stride : out_limb, out_row};
    assign done    = busy && second && out_row == '1 && out_group == groups - 16'd1;
    generate
        for (l = 0; l < LANES; l++) begin : g_out
            assign wr_data[64*l +: 64] = 64'(written[W*l +: W]);
        end
    endgenerate
endmodule
