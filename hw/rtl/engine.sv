// The engine: the executor, its schedules and its tables.

// The whole. A command is an operation of any kind: OP_SWITCH and OP_ROT take `a`, `d` and the
// key number in `prime`, OP_MATMUL everything from the configuration.
//
// Configuration, 32 bits each: from 0 and from 16 on, those of keys 0 and 1: limbs, special primes,
// digits, primes a digit, first entry in the table of primes, limbs of the key, constants of the
// division, g, log5 g (bit 31: negated), constants of the digits (4); from 32 on limbs to work
// in (y, raised, sums, z, delta), from 40 on giants, babies, coordinates, limbs of the vector, the
// diagonals, the sum, the result, its turned copy.
module engine #(
    parameter  W     = 50,
    parameter  LOGN  = 16,
    parameter  LANES = 128,
    parameter  RL    = 8,
    parameter  K     = 16,
    parameter  SHARE = 0,               // see `executor`
    localparam LV    = $clog2(LANES),
    localparam LR    = LOGN - LV,
    localparam AW    = 16 + LR,
    localparam LG    = LV > 2 ? LV - 2 : 1
) (
    input  logic                clk, rst,
    input  logic                cfg_we, prime_we, constant_we,
    input  logic [15:0]         cfg_addr,
    input  logic [143:0]        cfg_data,
    input  logic                cmd_valid,
    input  logic [`OP_BITS-1:0] cmd,
    output logic                cmd_done,
    output logic [31:0]         cycles,         // of the last command, from its start to its last write
    output logic [31:0]         run_cycles,     // of the last transform, without loads and unloads
    output logic                rd0_en, rd1_en, rd2_en, wr_en,
    output logic [AW-1:0]       rd0_addr, rd1_addr, rd2_addr, wr_addr,
    input  logic [LANES*64-1:0] rd0_data, rd1_data, rd2_data,
    output logic [LANES*64-1:0] wr_data
);
    logic [31:0]  cfg [0:63];
    logic [143:0] primes [0:127];
    logic [127:0] constants [0:4095];
    logic [7:0]   prime_addr;
    logic [15:0]  constant_addr;
    logic [127:0] constant_data;
    always_ff @(posedge clk) begin
        if (cfg_we) cfg[cfg_addr[5:0]] <= cfg_data[31:0];
        if (prime_we) primes[cfg_addr[6:0]] <= cfg_data;
        if (constant_we) constants[cfg_addr[11:0]] <= cfg_data[127:0];
        constant_data <= constants[constant_addr[11:0]];
    end

    logic [`OP_BITS-1:0] command, op, rot_op, mat_op;
    wire [3:0] kind = command[`OP_BITS-1 -: 4];
    logic      busy, begun, op_start, op_done, rot_op_start, mat_op_start, rot_begin, mat_begin;
    logic      mat_rot_start, rot_giant, rot_done, mat_done;
    logic [15:0] mat_src, mat_dst;
    wire is_rot = kind == `OP_ROT || kind == `OP_SWITCH;
    wire is_mat = kind == `OP_MATMUL;

    // The key in use: that of the command, of the schedule's rotation, or key 0.
    logic       key_giant;
    wire        key = is_mat ? key_giant : is_rot && command[`OP_BITS-16];
    wire [5:0]  k   = {1'b0, key, 4'b0};
    always_ff @(posedge clk) begin
        begun <= cmd_valid && !rst;
        if (rst) begin
            busy      <= 1'b0;
            key_giant <= 1'b0;
        end else if (cmd_valid) begin
            busy      <= 1'b1;
            command   <= cmd;
            cycles    <= '0;
            key_giant <= 1'b0;
        end else begin
            if (busy) cycles <= cycles + 1;
            if (cmd_done) busy <= 1'b0;
            if (mat_rot_start) key_giant <= rot_giant;
            else if (rot_done) key_giant <= 1'b0;
        end
    end
    assign rot_begin = begun && is_rot;
    assign mat_begin = begun && is_mat;
    assign cmd_done  = busy && !begun && (is_mat ? mat_done : is_rot ? rot_done : op_done);

    // A rotation of the schedule starts when its key's configuration is selected.
    logic mat_rot_late;
    always_ff @(posedge clk) mat_rot_late <= mat_rot_start && !rst;
    wire [15:0] src = is_mat ? mat_src : command[159 -: 16];
    wire [15:0] dst = is_mat ? mat_dst : command[55 -: 16];
    rot u_rot (
        .clk, .rst, .start(rot_begin || mat_rot_late), .permute(kind != `OP_SWITCH), .src, .dst,
        .limbs(cfg[k][15:0]), .special(cfg[k+1][15:0]), .digits(cfg[k+2][15:0]),
        .digit_size(cfg[k+3][15:0]), .key(cfg[k+5][15:0]), .cbase_0(cfg[k+9][15:0]),
        .cbase_1(cfg[k+10][15:0]), .cbase_2(cfg[k+11][15:0]), .cbase_3(cfg[k+12][15:0]),
        .cbase_division(cfg[k+6][15:0]), .y(cfg[32][15:0]), .raised(cfg[33][15:0]),
        .sums(cfg[34][15:0]), .z(cfg[35][15:0]), .delta(cfg[36][15:0]),
        .op_start(rot_op_start), .op(rot_op), .op_done, .done(rot_done));
    matmul u_matmul (
        .clk, .rst, .start(mat_begin), .limbs(cfg[0][15:0]), .giants(cfg[40][15:0]),
        .babies(cfg[41][15:0]), .coordinates(cfg[42][15:0]), .vector(cfg[43][15:0]),
        .diagonals(cfg[44][15:0]), .sum(cfg[45][15:0]), .out(cfg[46][15:0]),
        .turned(cfg[47][15:0]), .op_start(mat_op_start), .op(mat_op), .op_done,
        .rot_start(mat_rot_start), .rot_giant, .rot_src(mat_src), .rot_dst(mat_dst), .rot_done,
        .done(mat_done));

    // An operation of its own, of the rotation, or of the matrix product outside of rotations.
    logic in_rot;
    always_ff @(posedge clk) begin
        if (rst || rot_done) in_rot <= 1'b0;
        else if (rot_begin || mat_rot_start) in_rot <= 1'b1;
    end
    assign op       = in_rot ? rot_op : is_mat ? mat_op : command;
    assign op_start = rot_op_start || mat_op_start || (begun && !is_rot && !is_mat);
    executor #(.W(W), .LOGN(LOGN), .LANES(LANES), .RL(RL), .K(K), .SHARE(SHARE)) u_executor (
        .clk, .rst, .start(op_start), .op, .prime_base(cfg[k+4][7:0]), .g(cfg[k+7][LOGN:0]),
        .power(cfg[k+8][LG-1:0]), .negate(cfg[k+8][31]), .done(op_done),
        .prime_addr, .prime_data(primes[prime_addr[6:0]]), .constant_addr, .constant_data,
        .rd0_en, .rd1_en, .rd2_en, .wr_en, .rd0_addr, .rd1_addr, .rd2_addr, .wr_addr,
        .rd0_data, .rd1_data, .rd2_data, .wr_data, .run_cycles);
endmodule
