package omr

import (
	"encoding/binary"
	"math/bits"

	"golang.org/x/crypto/chacha20"
	"lukechampine.com/blake3"
)

// kdf returns the 32 bytes of BLAKE3's derive-key mode for parts that follow one another.
func kdf(context string, parts ...[]byte) []byte {
	out := make([]byte, 32)
	blake3.DeriveKey(out, context, join(parts...))
	return out
}

// join concatenates.
func join(parts ...[]byte) []byte {
	var all []byte
	for _, part := range parts {
		all = append(all, part...)
	}
	return all
}

// le32 and le64 return a number in little-endian bytes.
func le32(x uint32) []byte { return binary.LittleEndian.AppendUint32(nil, x) }
func le64(x uint64) []byte { return binary.LittleEndian.AppendUint64(nil, x) }

// stream is a stream of public randomness: docs/wire.md, section 3.
type stream struct{ cipher *chacha20.Cipher }

func newStream(domain string, seed []byte) stream {
	cipher, err := chacha20.NewUnauthenticatedCipher(kdf(domain, seed), make([]byte, chacha20.NonceSize))
	if err != nil {
		panic(err) // The lengths are right.
	}
	return stream{cipher}
}

// words returns the next words of 8 bytes.
func (s stream) words(count int) []uint64 {
	taken := make([]byte, 8*count)
	s.cipher.XORKeyStream(taken, taken)
	words := make([]uint64, count)
	for i := range words {
		words[i] = binary.LittleEndian.Uint64(taken[8*i:])
	}
	return words
}

// residues returns uniform residues: words cut to the bits of the modulus, without those that are not below it.
func (s stream) residues(modulus uint64, count int) []uint64 {
	mask := uint64(1)<<bits.Len64(modulus) - 1
	found := make([]uint64, 0, count)
	for len(found) < count {
		if x := s.words(1)[0] & mask; x < modulus {
			found = append(found, x)
		}
	}
	return found
}

// pack writes values in `width` bits each, least significant bit first.
func pack(width int, values []uint64) []byte {
	packed := make([]byte, (width*len(values)+7)/8)
	for i, value := range values {
		for bit := range width {
			at := width*i + bit
			packed[at/8] |= byte(value>>bit&1) << (at % 8)
		}
	}
	return packed
}

// unpack reads `count` values of `width` bits.
func unpack(width, count int, packed []byte) []uint64 {
	values := make([]uint64, count)
	for i := range values {
		for bit := range width {
			at := width*i + bit
			values[i] |= uint64(packed[at/8]>>(at%8)&1) << bit
		}
	}
	return values
}
