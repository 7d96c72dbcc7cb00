// Behaviour of the cells that yosys maps to, as far as the netlists use them.
module DSP48E2 #(
    parameter ACASCREG = 1, ADREG = 1, ALUMODEREG = 1, AREG = 1, BCASCREG = 1, BREG = 1,
    parameter CARRYINREG = 1, CARRYINSELREG = 1, CREG = 1, DREG = 1, INMODEREG = 1, MREG = 1,
    parameter OPMODEREG = 1, PREG = 1,
    parameter AMULTSEL = "A", BMULTSEL = "B", USE_MULT = "MULTIPLY", A_INPUT = "DIRECT",
    parameter B_INPUT = "DIRECT", USE_SIMD = "ONE48"
) (
    output [29:0] ACOUT, output [17:0] BCOUT, output CARRYCASCOUT, output [3:0] CARRYOUT,
    output MULTSIGNOUT, output OVERFLOW, output reg signed [47:0] P,
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
    // A product of 27 x 18 bits without registers is all that the netlists ask for.
    initial if (AREG != 0 || BREG != 0 || MREG != 0 || PREG != 0 || OPMODE[6:4] != 0) begin
        $display("a DSP48E2 is used in a way that this model does not have");
        $finish;
    end
    wire signed [26:0] a = A[26:0];
    always @* P = a * B;
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
