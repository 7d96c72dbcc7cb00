// Behaviour of the cells that yosys maps to, as far as the netlists use them.
module DSP48E2 #(
    parameter ACASCREG = 1, ADREG = 1, ALUMODEREG = 1, AREG = 1, BCASCREG = 1, BREG = 1,
    parameter CARRYINREG = 1, CARRYINSELREG = 1, CREG = 1, DREG = 1, INMODEREG = 1, MREG = 1,
    parameter OPMODEREG = 1, PREG = 1,
    parameter AMULTSEL = "A", BMULTSEL = "B", USE_MULT = "MULTIPLY", A_INPUT = "DIRECT",
    parameter B_INPUT = "DIRECT", USE_SIMD = "ONE48"
) (
    output [29:0] ACOUT, output [17:0] BCOUT, output CARRYCASCOUT, output [3:0] CARRYOUT,
    output MULTSIGNOUT, output OVERFLOW, output signed [47:0] P,
    output PATTERNBDETECT, output PATTERNDETECT, output [47:0] PCOUT, output UNDERFLOW,
    output [7:0] XOROUT,
    input signed [29:0] A, input [29:0] ACIN, input [3:0] ALUMODE, input signed [17:0] B,
    input [17:0] BCIN, input [47:0] C, input CARRYCASCIN, input CARRYIN, input [2:0] CARRYINSEL,
    input CEA1, input CEA2, input CEAD, input CEALUMODE, input CEB1, input CEB2, input CEC,
    input CECARRYIN, input CECTRL, input CED, input CEINMODE, input CEM, input CEP, input CLK,
    input [26:0] D, input [4:0] INMODE, input MULTSIGNIN, input [8:0] OPMODE, input [47:0] PCIN,
    input RSTA, input RSTALLCARRYIN, input RSTALUMODE, input RSTB, input RSTC, input RSTCTRL,
    input RSTD, input RSTINMODE, input RSTM, input RSTP
);
    // P = Z + W + X Y with X Y the product or 0, Z one of 0, PCIN, P, PCIN >> 17, W 0 or C: what the
    // netlists ask for. Everything else ends the simulation.
    initial if (USE_MULT != "MULTIPLY" || AMULTSEL != "A" || BMULTSEL != "B" || A_INPUT != "DIRECT" ||
                B_INPUT != "DIRECT" || USE_SIMD != "ONE48" || AREG != BREG || MREG != PREG) begin
        $display("a DSP48E2 is used in a way that this model does not have");
        $finish;
    end
    reg signed [26:0] a1 = 0, a2 = 0;
    reg signed [17:0] b1 = 0, b2 = 0;
    reg signed [44:0] m_reg = 0;
    reg signed [47:0] c_reg = 0, p_reg = 0;
    reg [8:0] opmode_reg = 0;
    wire signed [26:0] a = AREG == 0 ? A[26:0] : a2;
    wire signed [17:0] b = BREG == 0 ? B : b2;
    wire signed [44:0] ab = a * b, m = MREG ? m_reg : ab;
    wire signed [47:0] c = CREG ? c_reg : C, below = PCIN, below17 = below >>> 17;
    wire [8:0] opmode = OPMODEREG ? opmode_reg : OPMODE;
    wire signed [47:0] z = opmode[6:4] == 3'b000 ? 48'sd0 : opmode[6:4] == 3'b001 ? below :
                           opmode[6:4] == 3'b010 ? p_reg : below17;
    wire signed [47:0] w = opmode[8:7] == 2'b11 ? c : 48'sd0;
    wire signed [47:0] xy = opmode[3:0] == 4'b0101 ? {{3{m[44]}}, m} : 48'sd0;
    wire signed [47:0] sum = z + w + xy;
    wire known = (opmode[8:7] == 2'b00 || opmode[8:7] == 2'b11) && ALUMODE == 0 && INMODE == 0 &&
                 (opmode[6:4] == 3'b101 || opmode[6:4] <= 3'b010) && CARRYIN == 0 &&
                 (opmode[3:0] == 4'b0101 || opmode[3:0] == 4'b0000);
    always @(posedge CLK) begin
        if (CEA1) a1 <= A[26:0];
        if (CEA2) a2 <= AREG == 2 ? a1 : A[26:0];
        if (CEB1) b1 <= B;
        if (CEB2) b2 <= BREG == 2 ? b1 : B;
        if (CEM) m_reg <= ab;
        if (CEC) c_reg <= C;
        if (CECTRL) opmode_reg <= OPMODE;
        if (CEP) p_reg <= sum;
        if (!known) begin
            $display("a DSP48E2 has an OPMODE that this model does not have");
            $finish;
        end
    end
    assign P = PREG ? p_reg : sum, PCOUT = P;
endmodule
module FDRE #(parameter INIT = 0, IS_C_INVERTED = 0, IS_D_INVERTED = 0, IS_R_INVERTED = 0) (output reg Q, input C, CE, D, R);
    initial Q = INIT;
    always @(posedge C) if (R) Q <= 0; else if (CE) Q <= D;
endmodule
module SRL16E #(parameter [15:0] INIT = 0, parameter IS_CLK_INVERTED = 0) (output Q, input A0, A1, A2, A3, CE, CLK, D);
    reg [15:0] r = INIT;
    assign Q = r[{A3, A2, A1, A0}];
    always @(posedge CLK) if (CE) r <= {r[14:0], D};
endmodule
module SRLC32E #(parameter [31:0] INIT = 0, parameter IS_CLK_INVERTED = 0) (output Q, Q31, input [4:0] A, input CE, CLK, D);
    reg [31:0] r = INIT;
    assign Q = r[A];
    assign Q31 = r[31];
    always @(posedge CLK) if (CE) r <= {r[30:0], D};
endmodule
module CARRY4 (output [3:0] CO, O, input CI, CYINIT, input [3:0] DI, S);
    assign CO[0] = S[0] ? CI | CYINIT : DI[0];
    assign CO[1] = S[1] ? CO[0] : DI[1];
    assign CO[2] = S[2] ? CO[1] : DI[2];
    assign CO[3] = S[3] ? CO[2] : DI[3];
    assign O = S ^ {CO[2:0], CI | CYINIT};
endmodule
module INV (output O, input I); assign O = !I; endmodule
module BUFG (output O, input I); assign O = I; endmodule
module MUXF7 (output O, input I0, I1, S); assign O = S ? I1 : I0; endmodule
module MUXF8 (output O, input I0, I1, S); assign O = S ? I1 : I0; endmodule
module MUXF9 (output O, input I0, I1, S); assign O = S ? I1 : I0; endmodule
module LUT1 #(parameter [1:0] INIT = 0) (output O, input I0); assign O = INIT[I0]; endmodule
module LUT2 #(parameter [3:0] INIT = 0) (output O, input I0, I1); assign O = INIT[{I1, I0}]; endmodule
module LUT3 #(parameter [7:0] INIT = 0) (output O, input I0, I1, I2);
    assign O = INIT[{I2, I1, I0}];
endmodule
module LUT4 #(parameter [15:0] INIT = 0) (output O, input I0, I1, I2, I3);
    assign O = INIT[{I3, I2, I1, I0}];
endmodule
module LUT5 #(parameter [31:0] INIT = 0) (output O, input I0, I1, I2, I3, I4);
    assign O = INIT[{I4, I3, I2, I1, I0}];
endmodule
module LUT6 #(parameter [63:0] INIT = 0) (output O, input I0, I1, I2, I3, I4, I5);
    assign O = INIT[{I5, I4, I3, I2, I1, I0}];
endmodule
