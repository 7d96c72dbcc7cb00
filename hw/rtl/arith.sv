// Sums and differences modulo a prime q, delays, and the faults that tests must notice.

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
