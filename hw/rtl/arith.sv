// Arithmetic modulo a prime q that is 1 modulo 2^17.

// Faults that the tests must notice: `tb/mutants.txt` lists them. None outside of simulations.
`ifdef MUTANTS
package mutants;
    int selected = 0;
endpackage
`define MUTANT(number) (mutants::selected == number)
`else
`define MUTANT(number) 1'b0
`endif

// A delay of N cycles.
module delay #(parameter W = 1, parameter N = 1) (
    input  logic         clk, en,
    input  logic [W-1:0] d,
    output logic [W-1:0] y
);
    generate
        if (N == 0) begin : g_none
            assign y = d;
        end else if (N == 1) begin : g_one
            logic [W-1:0] r;
            always_ff @(posedge clk) if (en) r <= d;
            assign y = r;
        end else begin : g_many
            genvar i;
            for (i = 0; i < N; i++) begin : g_stage
                logic [W-1:0] r;
                if (i == 0) begin : g_in
                    always_ff @(posedge clk) if (en) r <= d;
                end else begin : g_next
                    always_ff @(posedge clk) if (en) r <= g_stage[i-1].r;
                end
            end
            assign y = g_stage[N-1].r;
        end
    endgenerate
endmodule

// r = a b 2^(-17 WORDS) mod q in [0, q), for a < 2^W and b < q, one result a cycle.
//
// Montgomery on words of 17 bits. As q = 1 + 2^17 h, the multiple of q that clears the lowest word
// l of T is l itself: (T - l q) / 2^17 = (T >> 17) - l h. T stays in (-q, 2^W).
// Every stage is one product of 26 x 17 bits (a DSP48E2) or one addition of two numbers.
// LATENCY = 4 WORDS + 2. The modulus is given once for each round, and once for the correction:
// q_taps[j] is the q of the operands 2 + 4 j cycles after they came in, the last one that of
// 4 WORDS + 1 cycles.
module mont_mul #(
    parameter  W     = 50,
    localparam WORDS = (W + 16) / 17
) (
    input  logic                    clk, en,
    input  logic [W-1:0]            a, b,
    input  logic [64*(WORDS+1)-1:0] q_taps,
    output logic [W-1:0]            r
);
    localparam HB = W - 17;             // bits of h
    genvar g;
    generate
        for (g = 0; g < WORDS; g++) begin : g_word
            localparam BW = (g == WORDS - 1) ? W - 17 * g : 17;
            logic [42:0]        plo;
            logic [W-26+BW-1:0] phi;
            logic [16:0]        pl, pl_late;
            logic [W-1:0]       pp, pp_late;
            always_ff @(posedge clk) if (en) begin
                plo <= a[25:0] * b[17*g +: BW];
                phi <= a[W-1:26] * b[17*g +: BW];
                pl  <= plo[16:0];
                pp  <= W'(plo[42:17]) + (W'(phi) << 9);
            end
            delay #(.W(17), .N(g == 0 ? 0 : 4 * g - 1)) d_pl (.clk, .en, .d(pl), .y(pl_late));
            delay #(.W(W),  .N(g == 0 ? 0 : 4 * g - 1)) d_pp (.clk, .en, .d(pp), .y(pp_late));
        end
        for (g = 0; g < WORDS; g++) begin : g_round
            logic [16:0]         lo;
            logic signed [W+1:0] th, th1, th2, t;
            logic [42:0]         ulo;
            logic [HB-26+16:0]   uhi;
            logic [W:0]          v;
            logic [HB-1:0]       h;
            assign h = q_taps[64*g+17 +: HB];
            if (g == 0) begin : g_first
                assign lo = g_word[0].pl_late;
                assign th = (W+2)'(g_word[0].pp_late);
            end else begin : g_add
                logic [17:0]         s;
                logic signed [W+1:0] hi;
                always_ff @(posedge clk) if (en) begin
                    s  <= g_round[g-1].t[16:0] + g_word[g].pl_late;
                    hi <= (g_round[g-1].t >>> 17) + $signed((W+2)'(g_word[g].pp_late));
                end
                assign lo = s[16:0];
                assign th = hi + $signed((W+2)'(s[17] && !`MUTANT(1)));
            end
            always_ff @(posedge clk) if (en) begin
                ulo <= lo * h[25:0];
                uhi <= lo * h[HB-1:26];
                th1 <= th;
                v   <= (W+1)'(ulo) + ((W+1)'(uhi) << 26);
                th2 <= th1;
                t   <= th2 - $signed((W+2)'(v));
            end
        end
    endgenerate
    always_ff @(posedge clk) if (en) begin
        r <= g_round[WORDS-1].t[W+1] && !`MUTANT(2)
            ? W'(g_round[WORDS-1].t[W-1:0] + q_taps[64*WORDS +: W]) : g_round[WORDS-1].t[W-1:0];
    end
endmodule

// The taps of mont_mul, and q after LATENCY cycles, from a q that may change every cycle. One serves
// all lanes.
module q_line #(
    parameter  W     = 50,
    localparam WORDS = (W + 16) / 17
) (
    input  logic                    clk, en,
    input  logic [W-1:0]            q,
    output logic [64*(WORDS+1)-1:0] taps,
    output logic [W-1:0]            q_out
);
    localparam N = 4 * WORDS + 2;
    logic [W-1:0] line [0:N-1];         // line[i]: i + 1 cycles late
    integer i;
    always_ff @(posedge clk) if (en) begin
        line[0] <= q;
        for (i = 1; i < N; i = i + 1) line[i] <= line[i-1];
    end
    genvar j;
    generate
        for (j = 0; j < WORDS; j++) begin : g_tap
            assign taps[64*j +: 64] = 64'(line[4*j+1]);
        end
    endgenerate
    assign taps[64*WORDS +: 64] = 64'(line[4*WORDS]);
    assign q_out = line[4*WORDS+1];
endmodule

// r = a + b mod q, two cycles late.
module mod_add #(parameter W = 50) (
    input  logic         clk, en,
    input  logic [W-1:0] a, b, q,
    output logic [W-1:0] r
);
    logic [W:0] sum, less;
    assign less = sum - {1'b0, q};
    always_ff @(posedge clk) if (en) begin
        sum <= {1'b0, a} + {1'b0, b};
        r <= less[W] || `MUTANT(3) ? sum[W-1:0] : less[W-1:0];
    end
endmodule

// r = a - b mod q, two cycles late.
module mod_sub #(parameter W = 50) (
    input  logic         clk, en,
    input  logic [W-1:0] a, b, q,
    output logic [W-1:0] r
);
    logic [W:0] diff;
    always_ff @(posedge clk) if (en) begin
        diff <= {1'b0, a} - {1'b0, b};
        r <= diff[W] && !`MUTANT(4) ? W'(diff[W-1:0] + q) : diff[W-1:0];
    end
endmodule

// A sum modulo q of one term a cycle; acc is the sum two cycles after a term came in, and first
// starts a new sum. The q of a term comes in with it.
module mod_acc #(parameter W = 50) (
    input  logic         clk, en, first,
    input  logic [W-1:0] x, q,
    output logic [W-1:0] acc
);
    logic         first1;
    logic [W-1:0] x1;
    logic [W:0]   xq1, low;
    logic [W:0]   high;
    assign low  = {1'b0, acc} + {1'b0, x1};
    assign high = {1'b0, acc} + xq1;    // negative where no correction is due
    always_ff @(posedge clk) if (en) begin
        first1 <= first;
        x1     <= x;
        xq1    <= {1'b0, x} - {1'b0, q};
        acc    <= first1 ? x1 : high[W] || `MUTANT(5) ? low[W-1:0] : high[W-1:0];
    end
endmodule
