package omr

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"os"
	"path/filepath"
	"testing"
)

// vectors is the folder of the repository's known answers for bound clues.
const vectors = "../testdata/clue/bound"

func decoded(t *testing.T, text string) []byte {
	t.Helper()
	found, err := hex.DecodeString(text)
	if err != nil {
		t.Fatal(err)
	}
	return found
}

func TestCluesAreTheKnownAnswers(t *testing.T) {
	for _, of := range sets {
		text, err := os.ReadFile(filepath.Join(vectors, of.name+".json"))
		if err != nil {
			t.Fatal(err)
		}
		var known struct {
			BoardID  string `json:"board_id"`
			ClueKey  string `json:"clue_key"`
			ClueSeed string `json:"clue_seed"`
			Payload  string `json:"payload"`
			Address  string `json:"address"`
			Clue     string `json:"clue"`
		}
		if err := json.Unmarshal(text, &known); err != nil {
			t.Fatal(err)
		}
		key, err := readClueKey(decoded(t, known.ClueKey))
		if err != nil {
			t.Fatal(err)
		}
		made := newClues(key, decoded(t, known.BoardID))
		if found := hex.EncodeToString(made.address); found != known.Address {
			t.Errorf("%s: expected address %s, found %s", of.name, known.Address, found)
		}
		clue, ok := made.clue(decoded(t, known.ClueSeed), decoded(t, known.Payload))
		if found := hex.EncodeToString(clue); found != known.Clue || !ok {
			t.Errorf("%s: expected clue %s, found %s (%v)", of.name, known.Clue, found, ok)
		}
	}
}

func TestDamagedClueKeysAreRefused(t *testing.T) {
	text, err := os.ReadFile(filepath.Join(vectors, "insecure-tiny-v4.json"))
	if err != nil {
		t.Fatal(err)
	}
	var known struct {
		ClueKey string `json:"clue_key"`
	}
	if err := json.Unmarshal(text, &known); err != nil {
		t.Fatal(err)
	}
	file := decoded(t, known.ClueKey)
	for at := range file {
		changed := bytes.Clone(file)
		changed[at] ^= 1
		if _, err := readClueKey(changed); err == nil {
			t.Errorf("byte %d was changed", at)
		}
		if _, err := readClueKey(file[:at]); err == nil {
			t.Errorf("%d bytes were read", at)
		}
	}
}

func TestTheFrontPageHasTheExample(t *testing.T) {
	page, err := os.ReadFile("README.md")
	if err != nil {
		t.Fatal(err)
	}
	example, err := os.ReadFile("example_test.go")
	if err != nil {
		t.Fatal(err)
	}
	_, block, found := bytes.Cut(page, []byte("```go\n"))
	block, _, closed := bytes.Cut(block, []byte("```"))
	if !found || !closed {
		t.Fatal("expected a block of Go")
	}
	for line := range bytes.Lines(block) {
		if !bytes.Contains(example, line) {
			t.Errorf("expected the line in example_test.go: %s", line)
		}
	}
}

func TestPartsAreThoseOfTheDocument(t *testing.T) {
	for _, example := range []struct{ name, expected string }{
		{"", "0b68656c6c6f00000000000000000000"},
		{"a", "0001130301016168656c6c6f00000000"},
	} {
		parts, err := split(example.name, []byte("hello"), 16)
		if err != nil || len(parts) != 1 || hex.EncodeToString(parts[0]) != example.expected {
			t.Errorf("expected %s, found %x (%v)", example.expected, parts, err)
		}
	}
	for _, length := range []int{0, 100, 529, 530, 1000, 100_000} {
		parts, err := split("", bytes.Repeat([]byte{7}, length), 532)
		if err != nil {
			t.Fatal(err)
		}
		for _, part := range parts {
			if len(part) != 532 {
				t.Errorf("expected parts of 532 bytes, found %d", len(part))
			}
		}
		if expected := 1; length <= 529 && len(parts) != expected {
			t.Errorf("%d bytes: expected one part, found %d", length, len(parts))
		}
	}
	if _, err := split("", make([]byte, 100), 20); err == nil {
		t.Error("expected an error where parts have no room")
	}
}
