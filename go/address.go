package omr

import (
	"bytes"
	"crypto/ed25519"
	"encoding/base64"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/btcsuite/btcd/btcutil/bech32"
	"github.com/omr-project/omr/go/omrv1"
)

const (
	begin = "-----BEGIN OMR ADDRESS-----"
	end   = "-----END OMR ADDRESS-----"
	// hasPeriods is added to the tag of the sealing in the fingerprint of an address with keys of periods.
	hasPeriods       = 64
	fingerprintBytes = 16
	mostText         = 1 << 20
	mostPeriodBytes  = 8192
	periodHead       = 6
	// The beginning of period 0, and the length of a period, in seconds.
	periodBegin, periodSeconds = 1788480000, 2592000
)

// An Address is where letters go: a recipient's clue key with the server whose board the recipient reads and the terms of
// letters. [ParseAddress] and [Server.Find] return addresses after a check of fingerprint and signature.
type Address struct {
	// Server is the URL of the recipient's server; empty if the address names none.
	Server string
	// Sealing is the sealing of letters. A server cannot change it.
	Sealing Sealing
	// Bound is the highest number of the recipient's messages in one digest.
	Bound uint32
	// Parts is the highest number of messages of one letter.
	Parts uint32

	clueKey []byte
	// The key that verifies the owner's signatures; empty if there is none.
	signer []byte
	// The signed list of keys of periods; empty if there is none.
	periods []byte
}

// ParseAddress finds the address in a text, such as a mail that contains what `omr address` prints.
func ParseAddress(text string) (*Address, error) {
	if len(text) > mostText {
		return nil, fmt.Errorf("expected at most %d bytes of text, found %d", mostText, len(text))
	}
	fields, body, listed := map[string]string{}, "", ""
	inside, closed := false, false
	for line := range strings.Lines(text) {
		line = strings.Trim(line, " \t\r\n>\ufeff")
		if line == begin {
			inside = true
			continue
		}
		if !inside {
			continue
		}
		if line == end {
			closed = true
			break
		}
		name, value, isField := strings.Cut(line, ":")
		value = strings.TrimSpace(value)
		switch _, known := fields[name]; {
		case !isField:
			body += line
		case name == "Periods":
			listed += value
		case known:
			return nil, fmt.Errorf("expected one line %s in the address, found several", name)
		default:
			fields[name] = value
		}
	}
	if !closed {
		return nil, errors.New("expected an address between its first and its last line, found none")
	}
	if fields["Version"] != "1" {
		return nil, fmt.Errorf("expected an address of version 1, found %q", fields["Version"])
	}
	address := &Address{Server: fields["Server"]}
	var err error
	if address.Sealing, err = sealingNamed(fields["Sealing"]); err != nil {
		return nil, err
	}
	if address.Bound, err = number("Bound", fields["Bound"]); err != nil {
		return nil, err
	}
	if address.Parts, err = number("Parts", fields["Parts"]); err != nil {
		return nil, err
	}
	for _, part := range []struct {
		to   *[]byte
		text string
	}{{&address.clueKey, body}, {&address.signer, fields["Signer"]}, {&address.periods, listed}} {
		if *part.to, err = base64.StdEncoding.Strict().DecodeString(part.text); err != nil {
			return nil, fmt.Errorf("expected base64 in the address: %w", err)
		}
	}
	expected, err := hex.DecodeString(strings.ReplaceAll(fields["Fingerprint"], " ", ""))
	if err != nil {
		return nil, fmt.Errorf("expected a fingerprint in hexadecimal digits: %w", err)
	}
	return address, address.check(expected)
}

func number(name, text string) (uint32, error) {
	found, err := strconv.ParseUint(text, 10, 32)
	if err != nil || found == 0 {
		return 0, fmt.Errorf("expected a line %s with a number above 0, found %q", name, text)
	}
	return uint32(found), nil
}

// published returns an address that a server sent for a fingerprint.
func published(found *omrv1.Address, fingerprint []byte) (*Address, error) {
	sealing := Sealing(found.GetSealing())
	if tag := found.GetSealing(); tag != uint32(SealingX25519) && tag != uint32(SealingXWing) {
		return nil, fmt.Errorf("expected sealing hpke-x25519 or x-wing, found tag %d", tag)
	}
	address := &Address{
		Server:  found.GetServer(),
		Sealing: sealing,
		Bound:   found.GetBound(),
		Parts:   found.GetParts(),
		clueKey: found.GetClueKey(),
		signer:  found.GetVerifyingKey(),
		periods: found.GetPeriodKeys(),
	}
	return address, address.check(fingerprint)
}

// Fingerprint returns the fingerprint of the address: 128 bits over everything that it contains, of its keys of periods
// only that there are some.
func (a *Address) Fingerprint() []byte {
	tag := byte(a.Sealing)
	if len(a.periods) > 0 {
		tag |= hasPeriods
	}
	terms := join([]byte{tag}, le32(a.Bound), le32(a.Parts))
	print := kdf("omr address v1", le64(uint64(len(a.Server))), []byte(a.Server), terms, a.clueKey)[:fingerprintBytes]
	if len(a.signer) > 0 {
		print = kdf("omr signing address v1", a.signer, print)[:fingerprintBytes]
	}
	return print
}

// check compares the fingerprint, and verifies the signature of the keys of periods.
func (a *Address) check(fingerprint []byte) error {
	if length := len(a.signer); length != 0 && length != ed25519.PublicKeySize {
		return fmt.Errorf("expected a verifying key of 32 bytes, found %d", length)
	}
	if found := a.Fingerprint(); !bytes.Equal(found, fingerprint) {
		return fmt.Errorf("expected the address of fingerprint %x, found that of %x: do not trust it", fingerprint, found)
	}
	if len(a.periods) == 0 {
		return nil
	}
	list := len(a.periods) - ed25519.SignatureSize
	if list < periodHead || len(a.periods) > mostPeriodBytes || len(a.signer) == 0 {
		return fmt.Errorf("expected signed keys of periods of at most %d bytes, found %d", mostPeriodBytes, len(a.periods))
	}
	signed := kdf("omr period v1 list of keys", a.periods[:list])
	if !ed25519.Verify(a.signer, signed, a.periods[list:]) {
		return errors.New("expected keys of periods that the owner of the address signed, found others")
	}
	if version := a.periods[0]; version != 1 {
		return fmt.Errorf("expected keys of periods of version 1, found version %d", version)
	}
	return nil
}

// sealingKey returns the public key to which letters are sealed at a time: that of its period, or the permanent one.
func (a *Address) sealingKey(key *clueKey, now time.Time) []byte {
	each := a.Sealing.keyBytes()
	if len(a.periods) > 0 && a.periods[1] == byte(a.Sealing) {
		first := int64(binary.LittleEndian.Uint32(a.periods[2:periodHead]))
		place := max(0, now.Unix()-periodBegin)/periodSeconds - first
		keys := a.periods[periodHead : len(a.periods)-ed25519.SignatureSize]
		if place >= 0 && (place+1)*int64(each) <= int64(len(keys)) {
			return keys[place*int64(each):][:each]
		}
	}
	if a.Sealing == SealingXWing {
		return key.xWing
	}
	return key.x25519
}

// shortFingerprint returns the fingerprint in a short address, `omr1..` or `omr1..@https://host`.
func shortFingerprint(short string) ([]byte, error) {
	code, _, _ := strings.Cut(strings.TrimSpace(short), "@")
	prefix, digits, version, err := bech32.DecodeGeneric(code)
	if err == nil && (prefix != "omr" || version != bech32.VersionM) {
		err = errors.New("it is another code")
	}
	if err == nil {
		digits, err = bech32.ConvertBits(digits, 5, 8, false)
	}
	if err == nil && len(digits) != fingerprintBytes {
		err = fmt.Errorf("it has %d bytes", len(digits))
	}
	if err != nil {
		return nil, fmt.Errorf("expected a short address such as omr1.. or omr1..@https://host, found %q: %w", short, err)
	}
	return digits, nil
}
