// The schedules: what operations a rotation and a product with a matrix are made of.

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
            INVERSE: op = `OP(`OP_INTT, 0, 0, 0, limbs, 0, 0, 0, 0, src + limbs, 0, 0, 0, 0, 0, 0, y);
            RAISE: op = `OP(`OP_BCONV, 0, 0, own_from, size, all - size, own_from, size, cbase,
                            y + own_from, 0, 0, 0, 0, 0, 0, raised + i * all);
            SP_NTT, KEEP_NTT: op = `OP(`OP_NTT, 0, 0, t, 1, 0, 0, 0, 0, row_d, 0, 0, 0, 0, 0, 0,
                                       row_d);
            SP_DOT, KEEP_DOT: op = `OP(`OP_DOT, 0, 0, t, digits, 0, 0, 0, 0,
                                       raised + t, all, src + limbs + t, keep ? own : 16'd255,
                                       key + (i[0] ? all : 16'd0) + t, all << 1, 0, sums + i);
            SP_INTT: op = `OP(`OP_INTT, 0, 0, t, 1, 0, 0, 0, 0, sums + i, 0, 0, 0, 0, 0, 0,
                              z + (i[0] ? special : 16'd0) + t - limbs);
            DIVIDE: op = `OP(`OP_BCONV, 0, 0, limbs, special, limbs, limbs, 0, cbase_division,
                             z + (i[0] ? special : 16'd0), 0, 0, 0, 0, 0, 0, delta + part);
            KEEP_DELTA: op = `OP(`OP_NTT, 0, 0, t, 1, 0, 0, 0, 0, delta + part + t, 0, 0, 0, 0, 0,
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
                        i     <= '0;
                        state <= RAISE;
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
