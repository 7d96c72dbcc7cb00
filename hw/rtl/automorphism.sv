// The automorphism X -> X^g, g = +-5^steps, on rows of LANES values in the evaluation domain.
//
// Value j belongs to the exponent 2 brv(j) + 1. Hence row B of the image is made of one row of the
// source, whose lanes are turned: in bit-reversed order of lanes, lane m of the image is lane
// m g + carry of the source.

// The row of the source that row `row` of the image is made of, and its carry; two cycles late.
module automorphism_rows #(
    parameter  LOGN  = 16,
    parameter  LANES = 128,
    localparam LV    = $clog2(LANES),
    localparam LR    = LOGN - LV
) (
    input  logic          clk, en, permute,
    input  logic [LOGN:0] g,
    input  logic [LR-1:0] row,
    output logic [LR-1:0] source,
    output logic [LV-1:0] carry
);
    logic [LR:0]   exponent;
    logic [LOGN:0] image;
    logic [LR-1:0] row1;
    integer i;
    always_comb begin
        exponent[0] = 1'b1;
        for (i = 0; i < LR; i = i + 1) exponent[LR-i] = row[i];
    end
    always_ff @(posedge clk) if (en) begin
        image <= (LOGN+1)'(exponent) * g;
        row1  <= row;
        carry <= permute ? image[LOGN -: LV] : '0;
        for (i = 0; i < LR; i = i + 1) source[i] <= permute ? image[LR-i] : row1[i];
    end
endmodule

// The lanes of a row turned; two cycles late. Bit i of `power` applies g = 5^(2^i), `negate` -1.
module automorphism_lanes #(
    parameter  LANES = 128,
    localparam LV    = $clog2(LANES),
    localparam LG    = LV > 2 ? LV - 2 : 1
) (
    input  logic                clk, en, permute, negate,
    input  logic [LG-1:0]       power,
    input  logic [LV-1:0]       carry,
    input  logic [LANES*64-1:0] d,
    output logic [LANES*64-1:0] y
);
    function automatic integer reversed(input integer lane);
        integer i;
        reversed = 0;
        for (i = 0; i < LV; i = i + 1)
            if ((lane >> i) % 2 == 1) reversed = reversed + (1 << (LV - 1 - i));
    endfunction
    function automatic integer power_of_five(input integer level);
        integer i;
        power_of_five = 5 % LANES;
        for (i = 0; i < level; i = i + 1) power_of_five = (power_of_five * power_of_five) % LANES;
    endfunction

    // Lanes in bit-reversed order between the steps.
    logic [LANES*64-1:0] turned, multiplied;
    genvar l, k;
    generate
        for (k = 0; k <= LV; k++) begin : g_turn
            logic [LANES*64-1:0] x;
            for (l = 0; l < LANES; l++) begin : g_lane
                if (k == 0) begin : g_in
                    assign x[64*l +: 64] = d[64*reversed(l) +: 64];
                end else begin : g_level
                    localparam FROM = (l + (1 << (k - 1))) % LANES;
                    assign x[64*l +: 64] = carry[k-1] ? g_turn[k-1].x[64*FROM +: 64]
                                                      : g_turn[k-1].x[64*l +: 64];
                end
            end
        end
        for (k = 0; k <= LG; k++) begin : g_power
            logic [LANES*64-1:0] x;
            for (l = 0; l < LANES; l++) begin : g_lane
                if (k == 0) begin : g_in
                    localparam FROM = (LANES - l) % LANES;
                    assign x[64*l +: 64] = permute && negate ? turned[64*FROM +: 64]
                                                             : turned[64*l +: 64];
                end else begin : g_level
                    localparam FROM = (l * power_of_five(k - 1)) % LANES;
                    assign x[64*l +: 64] = permute && power[k-1] && !`MUTANT(8) ? g_power[k-1].x[64*FROM +: 64]
                                                                 : g_power[k-1].x[64*l +: 64];
                end
            end
        end
        for (l = 0; l < LANES; l++) begin : g_out
            assign multiplied[64*l +: 64] = g_power[LG].x[64*reversed(l) +: 64];
        end
    endgenerate
    always_ff @(posedge clk) if (en) begin
        turned <= g_turn[LV].x;
        y      <= multiplied;
    end
endmodule
