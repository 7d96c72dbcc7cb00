// The engine: one transform core, one base conversion, one row unit on a memory of limbs, and the
// schedules of a rotation and of a product with a matrix.
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

    // The prime of the operation is read before it starts.
    logic         start1, start2;
    logic [W-1:0] q, unit;
    logic [15:0]  twiddles;
    logic [7:0]   conv_prime;
    assign prime_addr = prime_base + (convert && !start1 ? conv_prime : prime);
    always_ff @(posedge clk) begin
        start1 <= start && !rst;
        start2 <= start1 && !rst;
        if (start1) begin
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
    bconv_unit #(.W(W), .LOGN(LOGN), .LANES(LANES), .RL(RL), .K(K)) u_bconv (
        .clk, .rst, .start(start2 && convert), .prime, .terms, .targets, .skip_at, .skip_len,
        .a, .d, .constants, .rd_en(c_rd_en), .rd_addr(c_rd_addr), .rd_data(rd0_data),
        .constant_addr, .constant_data, .prime_index(conv_prime), .prime_q(prime_data[W-1:0]),
        .wr_en(c_wr_en), .wr_addr(c_wr_addr), .wr_data(c_wr_data), .done(c_done));

    // Transforms: rows and their twiddles are read together.
    logic                t_asking, t_ask, t_valid, t_wr_en, t_done;
    logic [LR-1:0]       t_row, t_out;
    logic [LANES*64-1:0] t_wr_data;
    always_ff @(posedge clk) begin
        if (rst) t_asking <= 1'b0;
        else if (start2 && transform) begin
            t_asking <= 1'b1;
            t_row    <= '0;
            t_out    <= '0;
        end else begin
            if (t_asking) begin
                t_row <= t_row + 1'b1;
                if (t_row == '1) t_asking <= 1'b0;
            end
            if (t_wr_en) t_out <= t_out + 1'b1;
        end
    end
    assign t_ask = t_asking;
    delay #(.W(1), .N(RL)) u_valid (.clk, .en(1'b1), .d(t_ask && !rst), .y(t_valid));
    ntt_core #(.W(W), .LOGN(LOGN), .LANES(LANES)) u_ntt (
        .clk, .rst, .inverse(kind == `OP_INTT), .q, .ld_valid(t_valid), .ld_data(rd0_data),
        .tw_data(rd1_data), .un_valid(t_wr_en), .un_data(t_wr_data), .run_cycles);
    assign t_done = t_wr_en && t_out == '1;

    assign rd0_en   = r_rd0_en || c_rd_en || t_ask;
    assign rd0_addr = transform ? {a, t_row} : convert ? c_rd_addr : r_rd0_addr;
    assign rd1_en   = r_rd1_en || t_ask;
    assign rd1_addr = transform ? {twiddles + 16'(kind == `OP_INTT), t_row} : r_rd1_addr;
    assign wr_en    = r_wr_en || c_wr_en || t_wr_en;
    assign wr_addr  = transform ? {d, t_out} : convert ? c_wr_addr : r_wr_addr;
    assign wr_data  = transform ? t_wr_data : convert ? c_wr_data : r_wr_data;
    assign done     = r_done || c_done || t_done;
endmodule

// The schedule of a key switch, and of a rotation, which is one whose results are permuted.
//
// Of the ciphertext (c0 in limbs `src`, c1 in `src` + L): transforms of c1, digits raised to all
// other primes, products with the key modulo the special primes P, division by P, and, one prime
// after another, products modulo the primes of the ciphertext, from which the division's rows are
// subtracted, times 1 / P, plus c0.
module rot (
    input  logic                clk, rst, start, permute,
    input  logic [15:0]         src, dst,
    // The key: its primes, limbs and constants.
    input  logic [15:0]         limbs, special, digits, digit_size, key, cbase_0, cbase_1,
    input  logic [15:0]         cbase_2, cbase_3, cbase_division,
    // Limbs to work in.
    input  logic [15:0]         y, raised, sums, z, delta,
    output logic                op_start,
    output logic [`OP_BITS-1:0] op,
    input  logic                op_done,
    output logic                done
);
    localparam INVERSE = 4'd0, RAISE = 4'd1, SP_NTT = 4'd2, SP_DOT = 4'd3, SP_INTT = 4'd4,
               DIVIDE = 4'd5, KEEP_NTT = 4'd6, KEEP_DOT = 4'd7, KEEP_DELTA = 4'd8,
               KEEP_SCALE = 4'd9, IDLE = 4'd15;
    logic [3:0]  state;
    logic [15:0] t, i;                  // prime; digit or part
    logic [15:0] own_from;              // first prime of digit i
    logic [15:0] own;                   // digit of prime t
    logic        issue;                 // an operation is to start

    wire [15:0] all     = limbs + special;
    wire [15:0] size    = own_from + digit_size > limbs ? limbs - own_from : digit_size;
    wire        is_own  = t >= own_from && t < own_from + size && !`MUTANT(14);
    wire        last_t  = t == limbs - 16'd1;
    wire        last_sp = t == all - 16'd1;
    wire        last_i  = i == 16'd1;
    wire        last_d  = i == digits - 16'd1;
    wire [15:0] part    = i[0] ? limbs : 16'd0;
    wire [15:0] row_d   = raised + i * all + t;
    wire [15:0] cbase   = i == 0 ? cbase_0 : i == 1 ? cbase_1 : i == 2 ? cbase_2 : cbase_3;
    wire        skip    = state == KEEP_NTT && is_own;
    wire        step    = op_done || (issue && skip);
    wire        keep    = state == KEEP_DOT;

    always_comb begin
        case (state)
            INVERSE: op = `OP(`OP_INTT, 0, 0, t, 0, 0, 0, 0, 0, src + limbs + t, 0, 0, 0, 0, 0, 0,
                              y + t);
            RAISE: op = `OP(`OP_BCONV, 0, 0, own_from, size, all - size, own_from, size, cbase,
                            y + own_from, 0, 0, 0, 0, 0, 0, raised + i * all);
            SP_NTT, KEEP_NTT: op = `OP(`OP_NTT, 0, 0, t, 0, 0, 0, 0, 0, row_d, 0, 0, 0, 0, 0, 0,
                                       row_d);
            SP_DOT, KEEP_DOT: op = `OP(`OP_DOT, 0, 0, t, digits, 0, 0, 0, 0,
                                       raised + t, all, src + limbs + t, keep ? own : 16'd255,
                                       key + (i[0] ? all : 16'd0) + t, all << 1, 0, sums + i);
            SP_INTT: op = `OP(`OP_INTT, 0, 0, t, 0, 0, 0, 0, 0, sums + i, 0, 0, 0, 0, 0, 0,
                              z + (i[0] ? special : 16'd0) + t - limbs);
            DIVIDE: op = `OP(`OP_BCONV, 0, 0, limbs, special, limbs, limbs, 0, cbase_division,
                             z + (i[0] ? special : 16'd0), 0, 0, 0, 0, 0, 0, delta + part);
            KEEP_DELTA: op = `OP(`OP_NTT, 0, 0, t, 0, 0, 0, 0, 0, delta + part + t, 0, 0, 0, 0, 0,
                                 0, delta + part + t);
            default: op = `OP(`OP_SCALE, permute, i == 0 && !`MUTANT(15), t, 1, 0, 0, 0, 0, sums + i, 0, 0, 255,
                              delta + part + t, 0, src + t, dst + part + t);
        endcase
    end
    assign op_start = issue && !skip;

    always_ff @(posedge clk) begin
        done <= 1'b0;
        if (rst) begin
            state <= IDLE;
            issue <= 1'b0;
        end else if (start) begin
            state    <= INVERSE;
            issue    <= 1'b1;
            t        <= '0;
            i        <= '0;
            own_from <= '0;
            own      <= '0;
        end else if (state != IDLE) begin
            issue <= step;
            if (step) begin
                i <= i + 16'd1;
                case (state)
                    INVERSE: begin
                        i <= '0;
                        t <= t + 16'd1;
                        if (last_t) state <= RAISE;
                    end
                    RAISE: begin
                        own_from <= own_from + digit_size;
                        if (last_d) begin
                            state <= SP_NTT;
                            i     <= '0;
                            t     <= limbs;
                        end
                    end
                    SP_NTT: if (last_d) begin
                        state <= SP_DOT;
                        i     <= '0;
                    end
                    SP_DOT: if (last_i) begin
                        state <= SP_INTT;
                        i     <= '0;
                    end
                    SP_INTT: if (last_i) begin
                        state <= last_sp ? DIVIDE : SP_NTT;
                        i     <= '0;
                        t     <= t + 16'd1;
                    end
                    DIVIDE: if (last_i) begin
                        state    <= KEEP_NTT;
                        i        <= '0;
                        t        <= '0;
                        own_from <= '0;
                    end
                    KEEP_NTT: begin
                        own_from <= own_from + digit_size;
                        if (is_own) own <= i;
                        if (last_d) begin
                            state    <= KEEP_DOT;
                            i        <= '0;
                            own_from <= '0;
                        end
                    end
                    KEEP_DOT: if (last_i) begin
                        state <= KEEP_DELTA;
                        i     <= '0;
                    end
                    KEEP_DELTA: if (last_i) begin
                        state <= KEEP_SCALE;
                        i     <= '0;
                    end
                    default: if (last_i) begin
                        state <= last_t ? IDLE : KEEP_NTT;
                        i     <= '0;
                        t     <= t + 16'd1;
                        if (last_t) begin
                            issue <= 1'b0;
                            done  <= 1'b1;
                        end
                    end
                endcase
            end
        end
    end
endmodule

// The schedule of a product with a matrix: `babies` + `coordinates` - 1 turns of the vector, one
// from another; then, from the highest giant step down, for each coordinate j the sum of diagonals
// times the vector turned by their number + j, added to what came before, turned by a giant step.
module matmul (
    input  logic                clk, rst, start,
    input  logic [15:0]         limbs, giants, babies, coordinates,
    input  logic [15:0]         vector, diagonals, sum, out, turned,     // limbs
    output logic                op_start,
    output logic [`OP_BITS-1:0] op,
    input  logic                op_done,
    output logic                rot_start, rot_giant,
    output logic [15:0]         rot_src, rot_dst,
    input  logic                rot_done,
    output logic                done
);
    localparam BABY = 3'd0, DOT = 3'd1, TURN = 3'd2, ADD = 3'd3, IDLE = 3'd7;
    logic [2:0]  state;
    logic [15:0] step, giant, coordinate, limb;     // limb: of both parts
    logic        issue;
    wire [15:0] width     = limbs << 1;
    wire        highest   = giant == giants - 16'd1;
    wire        last_limb = limb == width - 16'd1;
    wire [15:0] result    = out + coordinate * width;
    wire [15:0] prime     = limb >= limbs ? limb - limbs : limb;
    wire        last_coordinate = coordinate == coordinates - 16'd1;
    wire        finished  = state == BABY || state == TURN ? rot_done : op_done;

    wire [15:0] first_baby = `MUTANT(16) ? vector : vector + coordinate * width;

    assign op = state == DOT
        ? `OP(`OP_DOT, 0, 0, prime, babies, 0, 0, 0, 0,
              first_baby + limb, width, 0, 255,
              diagonals + giant * babies * limbs + prime, limbs, 0,
              (highest ? result : sum) + limb)
        : `OP(`OP_ADD, 0, 0, prime, 1, 0, 0, 0, 0, turned + limb, 0, 0, 255, sum + limb, 0, 0,
              result + limb);
    assign op_start  = issue && (state == DOT || state == ADD);
    assign rot_start = issue && (state == BABY || state == TURN);
    assign rot_giant = state == TURN;
    assign rot_src   = state == TURN ? result : vector + step * width;
    assign rot_dst   = state == TURN ? turned : vector + (step + 16'd1) * width;

    always_ff @(posedge clk) begin
        done <= 1'b0;
        if (rst) begin
            state <= IDLE;
            issue <= 1'b0;
        end else if (start) begin
            state      <= BABY;
            issue      <= 1'b1;
            step       <= '0;
            giant      <= giants - 16'd1;
            coordinate <= '0;
            limb       <= '0;
        end else if (state != IDLE) begin
            issue <= finished;
            if (finished) case (state)
                BABY: begin
                    step <= step + 16'd1;
                    if (step == babies + coordinates - 16'd3) state <= DOT;
                end
                DOT: begin
                    limb <= last_limb ? '0 : limb + 16'd1;
                    if (last_limb && !highest) state <= TURN;
                    if (last_limb && highest) begin
                        coordinate <= last_coordinate ? '0 : coordinate + 16'd1;
                        if (last_coordinate) giant <= giant - 16'd1;
                    end
                end
                TURN: state <= ADD;
                default: begin
                    limb <= last_limb ? '0 : limb + 16'd1;
                    if (last_limb) begin
                        state      <= DOT;
                        coordinate <= last_coordinate ? '0 : coordinate + 16'd1;
                        if (last_coordinate) giant <= giant - 16'd1;
                        if (last_coordinate && giant == '0) begin
                            state <= IDLE;
                            issue <= 1'b0;
                            done  <= 1'b1;
                        end
                    end
                end
            endcase
        end
    end
endmodule

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
    executor #(.W(W), .LOGN(LOGN), .LANES(LANES), .RL(RL), .K(K)) u_executor (
        .clk, .rst, .start(op_start), .op, .prime_base(cfg[k+4][7:0]), .g(cfg[k+7][LOGN:0]),
        .power(cfg[k+8][LG-1:0]), .negate(cfg[k+8][31]), .done(op_done),
        .prime_addr, .prime_data(primes[prime_addr[6:0]]), .constant_addr, .constant_data,
        .rd0_en, .rd1_en, .rd2_en, .wr_en, .rd0_addr, .rd1_addr, .rd2_addr, .wr_addr,
        .rd0_data, .rd1_data, .rd2_data, .wr_data, .run_cycles);
endmodule
