// Files of vectors: 64-bit words in little-endian order, written by evidence/fpga/examples/vectors.
#pragma once
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <string>
#include <vector>

enum Kind : uint64_t { PRODUCTS = 1, MACHINE = 2 };

[[noreturn]] inline void fail(const std::string &text) {
    fprintf(stderr, "error: %s\n", text.c_str());
    exit(2);
}

// A file that is read word by word. Its header must be as expected.
class Reader {
    FILE *file;
    std::string path;

  public:
    Reader(const std::string &path, Kind kind, const std::string &set, uint64_t width, uint64_t n)
        : file(fopen(path.c_str(), "rb")), path(path) {
        if (!file) fail(path + ": cannot be opened; `make vectors` writes it");
        if (word() != 0x314556574852'4d4fULL) fail(path + ": not a file of vectors");
        expect("kind", kind, word());
        expect("width in bits", width, word());
        expect("dimension n", n, word());
        const std::string found = name();
        if (found != set) fail(path + ": expected set " + set + ", found set " + found);
    }
    ~Reader() { fclose(file); }

    uint64_t word() {
        uint64_t x;
        read(&x, 1);
        return x;
    }
    void read(uint64_t *to, size_t count) {
        if (fread(to, 8, count, file) != count) fail(path + ": ends too early");
    }
    std::string name() {
        char bytes[33] = {};
        if (fread(bytes, 1, 32, file) != 32) fail(path + ": ends too early");
        return bytes;
    }

  private:
    void expect(const char *what, uint64_t expected, uint64_t found) {
        if (expected != found)
            fail(path + ": expected " + what + " " + std::to_string(expected) + ", found " +
                 std::to_string(found));
    }
};
