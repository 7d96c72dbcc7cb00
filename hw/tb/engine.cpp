// The engine against a file of operations and results:
//   engine FILE SET [--mutant N] [--cycles FILE] [--only NAME], tests whose names begin with NAME
// Exit codes: 0 all results and cycles are as they must be, 1 some are not, 2 bad input.
#include "Vengine_bench.h"
#include "formulas.h"
#include "image.h"
#include <verilated.h>

using Op = std::array<uint64_t, 4>;

// The memory: limbs of n words, answered RL cycles after the address.
struct Memory {
    std::vector<std::vector<uint64_t>> limbs;
    std::vector<uint64_t> &limb(size_t number) {
        if (number >= limbs.size()) limbs.resize(number + 1);
        if (limbs[number].empty()) limbs[number].resize(N);
        return limbs[number];
    }
};

// One read port: the addresses that are on their way.
struct Port {
    int64_t line[RL] = {};
    int at = 0;
    Port() { for (auto &x : line) x = -1; }
    // Takes the address of this cycle, gives the one whose data are due after the clock.
    int64_t step(bool en, uint64_t addr) {
        line[at] = en ? (int64_t)addr : -1;
        at = (at + 1) % RL;
        return line[at];
    }
};

struct Bench {
    Vengine_bench top;
    Memory memory;
    Port ports[3];
    std::string table;

    void answer(VlWide<LANES * 2> &data, int64_t addr) {
        if (addr < 0) return;
        const uint64_t *row = &memory.limb(addr / ROWS)[addr % ROWS * LANES];
        memcpy(data.m_storage, row, LANES * 8);
    }

    void cycle() {
        top.clk = 0;
        top.eval();
        if (top.wr_en) {
            uint64_t *row = &memory.limb(top.wr_addr / ROWS)[top.wr_addr % ROWS * LANES];
            memcpy(row, top.wr_data.m_storage, LANES * 8);
        }
        const int64_t due[3] = {ports[0].step(top.rd0_en, top.rd0_addr),
                                ports[1].step(top.rd1_en, top.rd1_addr),
                                ports[2].step(top.rd2_en, top.rd2_addr)};
        top.clk = 1;
        top.eval();
        answer(top.rd0_data, due[0]);
        answer(top.rd1_data, due[1]);
        answer(top.rd2_data, due[2]);
    }

    void reset() {
        top.rst = 1;
        for (int i = 0; i < RL + 4; i++) cycle();
        top.rst = 0;
        cycle();
    }

    void configure(bool cfg, bool prime, bool constant, uint64_t at, std::array<uint64_t, 3> data) {
        top.cfg_we = cfg;
        top.prime_we = prime;
        top.constant_we = constant;
        top.cfg_addr = at;
        for (int i = 0; i < 5; i++) top.cfg_data[i] = data[i / 2] >> (32 * (i % 2));
        cycle();
        top.cfg_we = top.prime_we = top.constant_we = 0;
    }

    // Runs one operation; 0 where it does not end.
    uint64_t run(const Op &op, uint64_t limit) {
        for (int i = 0; i < 7; i++) top.cmd[i] = op[i / 2] >> (32 * (i % 2));
        top.cmd_valid = 1;
        cycle();
        top.cmd_valid = 0;
        for (uint64_t i = 0; i < limit; i++) {
            top.clk = 0;
            top.eval();
            const bool done = top.cmd_done;
            cycle();
            if (done) {
                for (int j = 0; j < 2; j++) cycle();
                return top.cycles;
            }
        }
        return 0;
    }
};

static bool near(uint64_t found, uint64_t expected) {
    const double ratio = (double)found / expected;
    return ratio > 0.98 && ratio < 1.02;
}

struct Result {
    uint64_t ops = 0, cycles = 0, run = 0, formula = 0, wrong = 0, words = 0;
};

static Result run_test(Bench &bench, const Shape &shape, const std::vector<Op> &ops) {
    Result result;
    for (const Op &op : ops) {
        const Fields fields = fields_of(op.data());
        const uint64_t formula = formula_of(shape, fields);
        const uint64_t cycles = bench.run(op, 4 * formula + 10000);
        // A command may transform several limbs.
        result.ops += fields.kind == 4 || fields.kind == 5 ? fields.terms : 1;
        result.cycles += cycles;
        result.formula += formula;
        result.run = bench.top.run_cycles;
        if (!cycles) break;
    }
    return result;
}

int main(int argc, char **argv) {
    if (argc < 3) fail("usage: engine FILE SET [--mutant N] [--cycles FILE] [--only NAME]");
    std::string cycles_path, only;
    auto bench = std::make_unique<Bench>();
    for (int i = 3; i + 1 < argc; i += 2) {
        const std::string option = argv[i];
        if (option == "--mutant") bench->top.mutant = atoi(argv[i + 1]);
        else if (option == "--cycles") cycles_path = argv[i + 1];
        else if (option == "--only") only = argv[i + 1];
        else fail("unknown option " + option);
    }
    Reader in(argv[1], MACHINE, argv[2], WIDTH, N);
    bench->reset();
    Shape shape;
    for (uint64_t i = in.word(); i > 0; i--) {
        const uint64_t at = in.word(), value = in.word();
        shape.config[at] = value;
        bench->configure(true, false, false, at, {value, 0, 0});
    }
    for (uint64_t i = in.word(); i > 0; i--) {
        const uint64_t at = in.word(), q = in.word(), unit = in.word(), twiddles = in.word();
        if (q >> WIDTH) fail("a prime has more than " + std::to_string(WIDTH) + " bits");
        if (q % (1 << 17) != 1) fail("a prime is not 1 modulo 2^17");
        bench->configure(false, true, false, at, {q, unit, twiddles});
    }
    const uint64_t constants = in.word();
    if (constants > 4096) fail("more than 4096 constants");
    for (uint64_t i = 0; i < constants; i++) {
        const uint64_t low = in.word(), high = in.word();
        bench->configure(false, false, true, i, {low, high, 0});
    }
    for (uint64_t i = in.word(); i > 0; i--) {
        const uint64_t at = in.word();
        in.read(bench->memory.limb(at).data(), N);
    }

    std::map<std::string, Result> results;
    bool good = true;
    for (uint64_t tests = in.word(); tests > 0; tests--) {
        const std::string name = in.name();
        std::vector<Op> ops(in.word());
        for (Op &op : ops) in.read(op.data(), 4);
        const bool skipped = name.compare(0, only.size(), only) != 0;
        Result result;
        if (!skipped) result = run_test(*bench, shape, ops);
        std::vector<uint64_t> row(N);
        for (uint64_t limbs = in.word(); limbs > 0; limbs--) {
            const uint64_t at = in.word();
            in.read(row.data(), N);
            if (skipped) continue;
            const auto &found = bench->memory.limb(at);
            for (uint64_t i = 0; i < N; i++) result.wrong += found[i] != row[i];
            result.words += N;
        }
        if (skipped) continue;
        const bool timely = near(result.cycles, result.formula);
        printf("%-14s %9llu words, %llu wrong; %llu cycles, formula %llu%s\n", name.c_str(),
               (unsigned long long)result.words, (unsigned long long)result.wrong,
               (unsigned long long)result.cycles, (unsigned long long)result.formula,
               timely ? "" : ": more than 2 % off");
        fflush(stdout);
        good &= result.wrong == 0 && timely;
        results[name] = result;
    }
    if (!cycles_path.empty() && good) {
        FILE *out = fopen(cycles_path.c_str(), "w");
        if (!out) fail(cycles_path + ": cannot be written");
        fprintf(out, "{\n");
        const char *comma = "";
        for (const auto &[name, r] : results) {
            const bool transform = name == "ntt" || name == "intt";
            fprintf(out, "%s  \"%s\": {\"n\": %d, \"limbs\": %llu, \"special\": %llu, \"lanes\": %d, ", comma,
                    name.c_str(), N, (unsigned long long)shape.config[0],
                    (unsigned long long)shape.config[1], LANES);
            fprintf(out, "\"ops\": %llu, \"cycles\": %llu", (unsigned long long)r.ops,
                    (unsigned long long)r.cycles);
            if (transform) fprintf(out, ", \"run\": %llu", (unsigned long long)r.run);
            fprintf(out, "}");
            comma = ",\n";
        }
        fprintf(out, "\n}\n");
        fclose(out);
    }
    return good ? 0 : 1;
}
