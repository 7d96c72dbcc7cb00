package omr

import (
	"crypto/ecdh"
	"crypto/hpke"
	"crypto/rand"
	"encoding/binary"
	"errors"
	"fmt"
	"unicode/utf8"
)

// Sealing is the way in which letters are sealed.
type Sealing uint8

// The sealings that this package writes.
const (
	// SealingX25519 is HPKE with X25519, the default of boards.
	SealingX25519 Sealing = 1
	// SealingXWing is HPKE with X-Wing, which resists quantum computers.
	SealingXWing Sealing = 2
)

func sealingNamed(name string) (Sealing, error) {
	switch name {
	case "hpke-x25519":
		return SealingX25519, nil
	case "x-wing":
		return SealingXWing, nil
	}
	return 0, fmt.Errorf("expected sealing hpke-x25519 or x-wing, found %q", name)
}

func (s Sealing) String() string {
	if s == SealingXWing {
		return "x-wing"
	}
	return "hpke-x25519"
}

func (s Sealing) overhead() int {
	if s == SealingXWing {
		return 1136
	}
	return 48
}

func (s Sealing) keyBytes() int {
	if s == SealingXWing {
		return xWingBytes
	}
	return x25519Bytes
}

func (s Sealing) kem() hpke.KEM {
	if s == SealingXWing {
		return hpke.MLKEM768X25519()
	}
	return hpke.DHKEM(ecdh.X25519())
}

// seal returns the payload of a plaintext: docs/wire.md, section 10.
func (s Sealing) seal(key, aad, plaintext []byte) ([]byte, error) {
	public, err := s.kem().NewPublicKey(key)
	if err != nil {
		return nil, fmt.Errorf("the address has no valid sealing key: %w", err)
	}
	encapsulated, sender, err := hpke.NewSender(public, hpke.HKDFSHA256(), hpke.ChaCha20Poly1305(), []byte("omr seal v1"))
	if err != nil {
		return nil, fmt.Errorf("the address has no valid sealing key: %w", err)
	}
	sealed, err := sender.Seal(aad, plaintext)
	return append(encapsulated, sealed...), err
}

const (
	mostFields = 4096
	mostParts  = 1 << 24
	fileName   = 1
)

// split returns the parts of a file: docs/wire.md, section 10. Each has `capacity` bytes.
func split(name string, content []byte, capacity int) ([][]byte, error) {
	if name == "" {
		return fragments(content, capacity)
	}
	if !utf8.ValidString(name) || len(name) > mostFields-8 {
		return nil, errors.New("expected a name in UTF-8 of at most 4,088 bytes")
	}
	field := join(binary.AppendUvarint(nil, fileName), binary.AppendUvarint(nil, uint64(len(name))), []byte(name))
	named := join(binary.AppendUvarint(nil, uint64(len(field))), field, content)
	parts, err := fragments(named, capacity-2)
	if err != nil {
		return nil, err
	}
	// The name is left out where the file fits one part only without it.
	if bare, err := fragments(content, capacity); err == nil && len(parts) > 1 && len(bare) == 1 {
		return bare, nil
	}
	for i := range parts {
		parts[i] = append([]byte{0, 1}, parts[i]...)
	}
	return parts, nil
}

func fragments(file []byte, capacity int) ([][]byte, error) {
	if one := binary.AppendUvarint(nil, uint64(2*len(file)+1)); len(one)+len(file) <= capacity {
		return [][]byte{padded(append(one, file...), capacity)}, nil
	}
	total, most := 2, 0
	for {
		fixed := varintLen(uint64(2*capacity)) + 2*varintLen(uint64(total)) + 24
		if most = capacity - fixed; most < 1 {
			return nil, fmt.Errorf("expected payloads with room for a letter's parts, found room for %d bytes", capacity)
		}
		needed := (len(file) + most - 1) / most
		if needed <= total {
			total = max(needed, 2)
			break
		}
		total = needed
	}
	if total > mostParts {
		return nil, fmt.Errorf("expected a letter of at most %d parts, found %d", mostParts, total)
	}
	id := make([]byte, 8)
	rand.Read(id)
	hash := kdf("omr fragment v1 file", file)[:16]
	parts := make([][]byte, 0, total)
	for index := range total {
		piece := file[min(index*most, len(file)):min((index+1)*most, len(file))]
		part := binary.AppendUvarint(nil, uint64(2*len(piece)))
		part = append(part, id...)
		part = binary.AppendUvarint(part, uint64(total))
		part = binary.AppendUvarint(part, uint64(index))
		part = join(part, hash, piece)
		parts = append(parts, padded(part, capacity))
	}
	return parts, nil
}

func padded(part []byte, capacity int) []byte {
	return append(part, make([]byte, capacity-len(part))...)
}

func varintLen(x uint64) int { return len(binary.AppendUvarint(nil, x)) }
