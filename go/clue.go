package omr

import (
	"bytes"
	"crypto/ed25519"
	"encoding/binary"
	"fmt"
	"math/bits"
	"slices"
)

const (
	seedBytes   = 32
	x25519Bytes = 32
	xWingBytes  = 1216
	boundClues  = 2
	// The residues of an offset, and the coordinates of the address from which it is made.
	offsets = 8
)

// set is the part of a parameter set that senders need: docs/wire.md, section 8.
type set struct {
	name string
	// The dimension, and the number of coefficients of x that are not 0.
	n, weight int
	// The least words of errors of magnitude 1, 2, ..; none where residues are halved.
	thresholds []uint64
	// The number of coordinates of a clue.
	coordinates int
	// The number of clue secrets, and so of betas.
	secrets int
	modulus uint64
}

var rounded = []uint64{
	7538572897413798467, 9221034113024803944, 9223371996401604628, 9223372036854767091,
}

var sets = []set{
	{"sophomr-v5", 1024, 316, nil, 2, 1, 4188161},
	{"hybrid-v4", 1024, 316, nil, 6, 2, 4188161},
	{"instantomr-v2", 1024, 140, rounded, 5, 1, 786433},
	{"insecure-tiny-v4", 64, 16, nil, 2, 1, 4188161},
	{"insecure-tiny-hybrid-v4", 64, 16, nil, 6, 2, 4188161},
}

func setOf(name string) (*set, error) {
	for i := range sets {
		if sets[i].name == name {
			return &sets[i], nil
		}
	}
	return nil, fmt.Errorf("expected a parameter set of version 1, found %q", name)
}

// tag returns the bytes with which clues name the set.
func (s *set) tag() []byte { return kdf("omr params tag v1", []byte(s.name))[:4] }

// halved returns whether residues are posted without their last bit.
func (s *set) halved() bool { return s.thresholds == nil }

// posted returns the width in bits and the modulus of posted residues.
func (s *set) posted() (width int, modulus uint64) {
	if s.halved() {
		return 21, (s.modulus + 1) / 2
	}
	return 10, 1024
}

// post returns a residue as a clue contains it.
func (s *set) post(x uint64) uint64 {
	if s.halved() {
		return x / 2
	}
	return (1024*x + 393216) / 786433 % 1024
}

// clueKey is the content of a file clue.key: docs/wire.md, section 7.
type clueKey struct {
	set    *set
	seed   []byte
	betas  [][]uint64
	x25519 []byte
	xWing  []byte
}

// readClueKey parses a file clue.key for bound clues.
func readClueKey(file []byte) (*clueKey, error) {
	name, body, err := readFrame(file)
	if err != nil {
		return nil, err
	}
	of, err := setOf(name)
	if err != nil {
		return nil, err
	}
	width, count := bits.Len64(of.modulus), of.n*of.secrets
	packed := (width*count + 7) / 8
	expected := 1 + seedBytes + packed + x25519Bytes + xWingBytes
	if len(body) != expected {
		return nil, fmt.Errorf("expected a clue key of %d bytes, found %d", expected, len(body))
	}
	if body[0] != boundClues {
		return nil, fmt.Errorf("expected an address for bound clues (kind %d), found kind %d", boundClues, body[0])
	}
	key := &clueKey{set: of, seed: body[1 : 1+seedBytes]}
	rest := body[1+seedBytes:]
	residues := unpack(width, count, rest[:packed])
	for _, residue := range residues {
		if residue >= of.modulus {
			return nil, fmt.Errorf("expected residues below %d in the clue key, found %d", of.modulus, residue)
		}
	}
	if !bytes.Equal(pack(width, residues), rest[:packed]) {
		return nil, fmt.Errorf("expected zero bits after the residues of the clue key, found others")
	}
	for i := range of.secrets {
		key.betas = append(key.betas, residues[i*of.n:(i+1)*of.n])
	}
	keys := rest[packed:]
	key.x25519, key.xWing = keys[:x25519Bytes], keys[x25519Bytes:]
	return key, nil
}

// readFrame checks the frame of a file clue.key: docs/wire.md, section 1.
func readFrame(file []byte) (params string, body []byte, err error) {
	const before, after, sum = 9, 24, 8
	wrong := func(expected string) (string, []byte, error) {
		return "", nil, fmt.Errorf("expected %s, found another file of %d bytes", expected, len(file))
	}
	if len(file) < before || !bytes.Equal(file[:8], []byte("OMRF\x01\x00\x02\x00")) {
		return wrong("a clue.key of version 1")
	}
	header := before + int(file[8]) + after
	if len(file) < header+sum+32 {
		return wrong("a whole clue.key")
	}
	length := binary.LittleEndian.Uint64(file[header-8:])
	if length != uint64(len(file)-header-sum-32) {
		return wrong("a clue.key with the length that it states")
	}
	end := len(file) - 32
	if !bytes.Equal(kdf("omr file v1 header", file[:header])[:sum], file[header:header+sum]) ||
		!bytes.Equal(kdf("omr file v1", file[:end]), file[end:]) {
		return wrong("a clue.key with the checksums of its content")
	}
	return string(file[before : header-after]), file[header+sum : end], nil
}

// clues makes bound clues for one address on one board: docs/wire.md, section 8.
type clues struct {
	key     *clueKey
	board   []byte
	address []byte
	alpha   []uint64
	offsets []uint64
}

func newClues(key *clueKey, board []byte) *clues {
	of := key.set
	named := append(of.tag(), key.seed...)
	for _, beta := range key.betas {
		for _, residue := range beta {
			named = append(named, le32(uint32(residue))...)
		}
	}
	return &clues{
		key:     key,
		board:   board,
		address: kdf("omr bound clue address v1", named),
		alpha:   newStream("omr clue key alpha v1", key.seed).residues(of.modulus, of.n),
		offsets: newStream("omr clue key offset v1", key.seed).residues(of.modulus, offsets),
	}
}

// clue returns the clue of a payload that contains `seed`; `ok` is false for one of 2^16, which boards refuse.
func (c *clues) clue(seed, payload []byte) (clue []byte, ok bool) {
	of := c.key.set
	key := kdf("omr bound clue sample v1", seed, c.address)
	random := newStream("omr bound clue randomness v1", key)
	x := of.ternary(random.words(of.n))
	var e1, e2 []uint64
	if !of.halved() {
		e1, e2 = of.errors(random.words(of.n)), of.errors(random.words(of.coordinates))
	}
	a := of.multiply(c.alpha, x)
	for i := range a {
		if e1 != nil {
			a[i] = (a[i] + e1[i]) % of.modulus
		}
		a[i] = of.post(a[i])
	}
	b := of.multiply(c.key.betas[0], x)[:of.coordinates]
	if of.secrets == 2 {
		b = append(b[:2:2], of.multiply(c.key.betas[1], x)[:of.coordinates-2]...)
	}
	width, modulus := of.posted()
	oneTime := ed25519.NewKeyFromSeed(kdf("omr bound clue key v1", seed, c.address, payload))
	public := oneTime.Public().(ed25519.PublicKey)
	hash := kdf("omr bound clue hash v1", of.tag(), c.board, public, pack(width, a), payload)
	rows := newStream("omr bound clue rows v1", hash).residues(of.modulus, offsets*of.coordinates)
	for j := range b {
		sum := b[j]
		if e2 != nil {
			sum += e2[j]
		}
		for k, offset := range c.offsets {
			sum = (sum + rows[offsets*j+k]*offset) % of.modulus
		}
		b[j] = of.post(sum)
	}
	packed := pack(width, append(slices.Clone(a), b...))
	signed := kdf("omr bound clue signature v1", c.board, public, of.tag(), packed, payload)
	clue = join([]byte{boundClues}, of.tag(), packed, public, ed25519.Sign(oneTime, signed))
	return clue, isAccepted(a, modulus)
}

// ternary returns the coefficients -1, 0 and 1 of x, of the set's weight.
func (s *set) ternary(words []uint64) []int {
	for i := range words {
		words[i] &^= 1
		if i < s.weight {
			words[i] |= 1
		}
	}
	slices.Sort(words)
	x := make([]int, len(words))
	for i, word := range words {
		switch word & 3 {
		case 1:
			x[i] = 1
		case 3:
			x[i] = -1
		}
	}
	return x
}

// errors returns narrow Gaussian errors as residues.
func (s *set) errors(words []uint64) []uint64 {
	found := make([]uint64, len(words))
	for i, word := range words {
		var magnitude uint64
		for _, threshold := range s.thresholds {
			if threshold <= word>>1 {
				magnitude++
			}
		}
		found[i] = magnitude
		if word&1 == 1 {
			found[i] = (s.modulus - magnitude) % s.modulus
		}
	}
	return found
}

// multiply returns the product with x modulo X^n + 1 and the modulus.
func (s *set) multiply(of []uint64, x []int) []uint64 {
	n := len(of)
	sums := make([]int64, n)
	for shift, sign := range x {
		if sign == 0 {
			continue
		}
		for i, residue := range of {
			term := int64(sign) * int64(residue)
			if at := i + shift; at < n {
				sums[at] += term
			} else {
				sums[at-n] -= term
			}
		}
	}
	product := make([]uint64, n)
	for i, sum := range sums {
		rest := sum % int64(s.modulus)
		if rest < 0 {
			rest += int64(s.modulus)
		}
		product[i] = uint64(rest)
	}
	return product
}

// isAccepted returns whether boards accept the norm of a clue's vector.
func isAccepted(a []uint64, modulus uint64) bool {
	least, most := 0.25, 2.0
	if len(a) >= 1024 {
		least, most = 0.65, 1.12
	}
	var norm float64
	for _, residue := range a {
		x := float64(residue)
		if 2*residue > modulus {
			x -= float64(modulus)
		}
		norm += x * x
	}
	mean := float64(len(a)) * float64(modulus) * float64(modulus) / 12
	return least*mean <= norm && norm <= most*mean
}
