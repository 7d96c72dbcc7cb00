// Negacyclic transforms in constant geometry.

// A memory of one write and one read port; what is read comes one cycle late.
module ram #(parameter W = 50, parameter DEPTH = 512, parameter AW = 9) (
    input  logic          clk,
    input  logic          we, re,
    input  logic [AW-1:0] waddr, raddr,
    input  logic [W-1:0]  wdata,
    output logic [W-1:0]  rdata
);
    (* ram_style = "block" *) logic [W-1:0] mem [0:DEPTH-1];
    always_ff @(posedge clk) begin
        if (we) mem[waddr] <= wdata;
        if (re) rdata <= mem[raddr];
    end
endmodule

// Forward: (x + w y, x - w y). Inverse: ((x + y) / 2, w (x - y)); the halves of all stages make
// up 1 / n, and w comes halved. LATENCY = 4 WORDS + 6.
module butterfly #(
    parameter  W     = 50,
    localparam WORDS = (W + 16) / 17
) (
    input  logic         clk, en, inverse,
    input  logic [W-1:0] x, y, w, q,
    input  logic [64*(WORDS+1)-1:0] taps,       // of q, see mont_rounds
    output logic [W-1:0] o0, o1
);
    localparam M = 4 * WORDS + 2;
    logic [W-1:0] sum, diff, x2, y2, w2, factor, product, kept, kept_in, sum2, diff2;
    logic [W:0]   even;
    mod_add #(.W(W)) u_add (.clk, .en, .a(x), .b(y), .q, .r(sum));
    mod_sub #(.W(W)) u_sub (.clk, .en, .a(x), .b(y), .q, .r(diff));
    delay #(.W(3 * W), .N(2)) u_in (.clk, .en, .d({x, y, w}), .y({x2, y2, w2}));
    assign factor = inverse ? diff : y2;
    mont_mul #(.W(W)) u_mul (
        .clk, .en, .a(factor), .b(w2), .taps, .r(product)
    );
    assign even = {1'b0, sum} + (sum[0] && !`MUTANT(6) ? {1'b0, q} : '0);
    always_ff @(posedge clk) if (en) kept_in <= inverse ? even[W:1] : x2;
    delay #(.W(W), .N(M - 1)) u_kept (.clk, .en, .d(kept_in), .y(kept));
    mod_add #(.W(W)) u_out0 (.clk, .en, .a(kept), .b(inverse ? '0 : product), .q, .r(sum2));
    mod_sub #(.W(W)) u_out1 (
        .clk, .en, .a(inverse ? product : kept), .b(inverse ? '0 : product), .q, .r(diff2)
    );
    assign o0 = sum2;
    assign o1 = diff2;
endmodule

// Transforms of 2^LOGN points with LANES / 2 butterflies.
//
// Rows of LANES residues come in (with rows of twiddle factors), are transformed, and go out.
// Forward: natural order in, bit-reversed out, stage s takes factor 2^s + (i mod 2^s) of the table
// (powers of psi in bit-reversed order) at pair (i, i + n/2), whose results go to 2 i and 2 i + 1.
// Inverse: the same backwards, with halved powers of 1 / psi.
//
// Two buffers change roles at every stage. A stage starts while the last results of the one before
// are on their way: it needs them half a stage later. The last stage of a forward transform goes
// out as it comes, and the rows of the next transform come into the buffer that it leaves; those of
// an inverse one go out of that buffer first, each before a new one comes in.
// Cycles of a run: (LOGN - 1) PERIOD + ROWS + LATENCY.
module ntt_core #(
    parameter W     = 50,
    parameter LOGN  = 16,
    parameter LANES = 128
) (
    input  logic                clk, rst,
    input  logic                inverse,        // with the last row that comes in
    input  logic [W-1:0]        q,
    input  logic                ld_valid,
    input  logic [LANES*64-1:0] ld_data, tw_data,
    output logic                free,           // rows may come, two cycles later or more
    output logic                begun,          // the last row comes in
    output logic                un_valid,
    output logic [LANES*64-1:0] un_data,
    output logic [31:0]         run_cycles      // of the last run
);
    localparam PB      = LANES / 2;
    localparam LOGPB   = $clog2(PB);
    localparam ROWS    = (1 << LOGN) / LANES;
    localparam HALF    = ROWS / 2;
    localparam LR      = $clog2(ROWS);
    localparam WORDS   = (W + 16) / 17;
    localparam BLAT    = 4 * WORDS + 6;
    localparam LATENCY = BLAT + 2;
    localparam PERIOD  = ROWS > HALF + LATENCY + 2 ? ROWS : HALF + LATENCY + 2;
    localparam LP      = $clog2(PERIOD + 1);
    localparam LS      = $clog2(LOGN + 1);

    logic          running, draining, unloading;
    logic [LP-1:0] t;                   // row of a stage; cycles of a drain; row of an unload
    logic [LR-1:0] load_row;
    logic [LS-1:0] stage;
    logic [31:0]   cycles;
    logic          back;                // the inverse is run
    logic [W-1:0]  q_run;
    logic          base, next;          // buffers that the run and the next one begin in

    wire last_stage = stage == LS'(LOGN - 1);
    wire busy       = running || draining || unloading || ld_valid;
    // The last results of the stage before are written by then.
    wire streaming  = !back && (draining || (last_stage && t >= LP'(LATENCY)));
    assign free     = unloading || streaming || !(running || draining);
    assign begun    = ld_valid && load_row == '1;

    always_ff @(posedge clk) begin
        if (running || draining || unloading) t <= t + 1'b1;
        if (running || draining) cycles <= cycles + 1;
        if (running && last_stage && t == LP'(ROWS - 1)) begin
            running  <= 1'b0;
            draining <= 1'b1;
            t        <= '0;
        end else if (running && t == LP'(PERIOD - 1)) begin
            stage <= stage + 1'b1;
            t     <= '0;
        end
        if (draining && t == LP'(LATENCY - 1)) begin
            draining   <= 1'b0;
            unloading  <= back;
            t          <= '0;
            run_cycles <= cycles + 1;
        end
        if (unloading && t == LP'(ROWS - 1)) unloading <= 1'b0;
        if (ld_valid) load_row <= load_row + 1'b1;
        if (begun) begin
            running <= 1'b1;
            t       <= '0;
            stage   <= '0;
            cycles  <= '0;
            back    <= inverse;
            q_run   <= q;
            base    <= next;
            next    <= next ^ LOGN[0];
        end
        if (rst) begin
            running   <= 1'b0;
            draining  <= 1'b0;
            unloading <= 1'b0;
            load_row  <= '0;
            next      <= 1'b0;
        end
    end

    // Addresses. The low and the high half of the positions lie in memories of their own, both
    // buffers in each.
    wire           issue = running && t < LP'(ROWS);
    wire           from  = base ^ (unloading ? LOGN[0] : stage[0]);
    wire [LR-1:0]  row   = t[LR-1:0];
    wire           whole = back || unloading;       // a whole row of one memory
    wire [LR-2:0]  place = whole ? row[LR-2:0] : row[LR-1:1];
    wire [LS-1:0]  level = back ? LS'(LOGN - 1) - stage : stage;
    wire [LR:0]    blocks = level < LS'(LOGPB) ? '0 : (LR+1)'(1) << (level - LS'(LOGPB));
    wire [LR:0]    tw_index = blocks | ({1'b0, row} & (blocks - 1'b1));

    // Control of the row that was read, then of the row that is written.
    logic          sel1, odd1, tw_odd1;
    logic [LS-1:0] level1;
    always_ff @(posedge clk) if (busy) begin
        sel1    <= row[LR-1];
        odd1    <= row[0];
        tw_odd1 <= tw_index[0];
        level1  <= level;
    end
    logic          w_valid, w_out, w_to;        // w_out: the row goes out, and to no buffer
    logic [LR-1:0] w_row;
    delay #(.W(LR + 3), .N(LATENCY)) u_ctl (
        .clk, .en(1'b1), .d({issue, last_stage && !back, ~from, row}), .y({w_valid, w_out, w_to, w_row})
    );

    wire [LR-1:0]   in_row  = ld_valid ? load_row : w_row;
    wire            in_to   = ld_valid ? next : w_to;
    wire            write   = ld_valid || (w_valid && !w_out);
    wire            halves  = back && !ld_valid;            // half a row of both memories
    wire [LR-1:0]   waddr   = {in_to, halves ? in_row[LR-1:1] : in_row[LR-2:0]};
    wire [LR-1:0]   raddr   = {from, place};
    wire            read    = issue || unloading;

    logic [LANES*64-1:0] low, high, tw;
    logic [W-1:0] tw0 [0:PB-1];
    logic [W-1:0] out0 [0:PB-1], out1 [0:PB-1];

    logic [64*(WORDS+1)-1:0] taps;
    q_taps #(.W(W), .ROUNDS(WORDS)) u_taps (.clk, .q(q_run), .taps);

    genvar l;
    generate
        for (l = 0; l < LANES; l++) begin : g_lane
            localparam UPPER = l / PB;
            wire we_low  = write && (halves ? in_row[0] == UPPER[0] : !in_row[LR-1]);
            wire we_high = write && (halves ? in_row[0] == UPPER[0] :  in_row[LR-1]);
            wire [W-1:0] pair = (l % 2 == 0) ? out0[l / 2] : out1[l / 2];
            wire [W-1:0] d_low  = ld_valid ? ld_data[64*l +: W] : back ? out0[l % PB] : pair;
            wire [W-1:0] d_high = ld_valid ? ld_data[64*l +: W] : back ? out1[l % PB] : pair;
            logic [W-1:0] r_low, r_high, r_tw;
            ram #(.W(W), .DEPTH(ROWS), .AW(LR)) u_low (
                .clk, .we(we_low), .re(read), .waddr, .raddr, .wdata(d_low), .rdata(r_low));
            ram #(.W(W), .DEPTH(ROWS), .AW(LR)) u_high (
                .clk, .we(we_high), .re(read), .waddr, .raddr, .wdata(d_high), .rdata(r_high));
            ram #(.W(W), .DEPTH(ROWS), .AW(LR)) u_tw (
                .clk, .we(ld_valid), .re(issue), .waddr(load_row),
                .raddr(tw_index[LR:1]), .wdata(tw_data[64*l +: W]), .rdata(r_tw));
            assign low[64*l +: 64]  = 64'(r_low);
            assign high[64*l +: 64] = 64'(r_high);
            assign tw[64*l +: 64]   = 64'(r_tw);
            assign un_data[64*l +: 64] = 64'(!back ? pair : sel1 ? r_high : r_low);
        end
        for (l = 0; l < PB; l++) begin : g_pair
            always_ff @(posedge clk)
                if (ld_valid && load_row == '0) tw0[l] <= tw_data[64*l +: W];
            // The first rows of the table serve several lanes.
            logic [W-1:0] few;
            integer s;
            always_comb begin
                few = tw[64*((tw_odd1 ? PB : 0) + l) +: W];
                for (s = 0; s < LOGPB; s = s + 1)
                    if (level1 == LS'(s)) few = tw0[(1 << s) + (l % (1 << s))];
            end
            logic [W-1:0] x, y, w;
            always_ff @(posedge clk) if (busy) begin
                if (back) begin
                    x <= sel1 ? high[64*(2*l) +: W]   : low[64*(2*l) +: W];
                    y <= sel1 ? high[64*(2*l+1) +: W] : low[64*(2*l+1) +: W];
                end else begin
                    x <= odd1 ? low[64*(PB+l) +: W]  : low[64*l +: W];
                    y <= odd1 != `MUTANT(7) ? high[64*(PB+l) +: W] : high[64*l +: W];
                end
                w <= few;
            end
            butterfly #(.W(W)) u_butterfly (
                .clk, .en(busy), .inverse(back), .x, .y, .w, .q(q_run), .taps, .o0(out0[l]), .o1(out1[l]));
        end
    endgenerate

    logic unloaded;
    always_ff @(posedge clk) unloaded <= !rst && unloading;
    assign un_valid = unloaded || (w_valid && w_out && !rst);
endmodule
