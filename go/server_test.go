package omr

import (
	"bufio"
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/omr-project/omr/go/omrv1"
	"google.golang.org/protobuf/proto"
)

// scene is a folder with a server and identities. The variable OMR_COMMAND names the command `omr`; without it, tests
// with a server are skipped.
type scene struct {
	t       *testing.T
	command string
	folder  string
	url     string
}

func start(t *testing.T, config string) *scene {
	t.Helper()
	command := os.Getenv("OMR_COMMAND")
	if command == "" {
		t.Skip("OMR_COMMAND is not set")
	}
	s := &scene{t: t, command: command, folder: t.TempDir()}
	if err := os.WriteFile(filepath.Join(s.folder, "omr.toml"), []byte(config), 0o600); err != nil {
		t.Fatal(err)
	}
	serve := exec.Command(command, "serve", "--config", "omr.toml", "--listen", "127.0.0.1:0", "--data", "data",
		"--params", "insecure-tiny-hybrid-v4")
	serve.Dir = s.folder
	out, err := serve.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := serve.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		serve.Process.Signal(os.Interrupt)
		serve.Wait()
	})
	lines := bufio.NewScanner(out)
	for lines.Scan() {
		if url, found := strings.CutPrefix(lines.Text(), "listening on "); found {
			s.url = strings.TrimSpace(url)
			return s
		}
	}
	t.Fatal("the server ended")
	return nil
}

func (s *scene) omr(args ...string) string {
	s.t.Helper()
	command := exec.Command(s.command, args...)
	command.Dir = s.folder
	out, err := command.Output()
	if err != nil {
		s.t.Fatalf("omr %v: %v", args, err)
	}
	return string(out)
}

// inbox returns the letters of an identity, and their names.
func (s *scene) inbox() (bodies, names []string) {
	s.t.Helper()
	var shown struct {
		Messages []struct {
			Number int
			Name   string
		}
	}
	if err := json.Unmarshal([]byte(s.omr("inbox", "--home", "ann", "--all", "--json")), &shown); err != nil {
		s.t.Fatal(err)
	}
	for _, message := range shown.Messages {
		number, _ := json.Marshal(message.Number)
		bodies = append(bodies, s.omr("inbox", "read", "--home", "ann", string(number)))
		names = append(names, message.Name)
	}
	return bodies, names
}

const open = "[access]\nanonymous_post = true\nanonymous_detect = true\nposting_work_bits = 8\n"

func TestLettersArrive(t *testing.T) {
	for _, sealing := range []string{"", "[board]\nsealing = \"x-wing\"\npayload_bytes = 2048\n"} {
		lettersArrive(start(t, open+sealing))
	}
}

func lettersArrive(s *scene) {
	t := s.t
	s.omr("id", "new", "--home", "ann", "--server", s.url)
	short := strings.Fields(s.omr("id", "publish", "--home", "ann"))[0]
	text := s.omr("address", "--home", "ann")
	written, err := ParseAddress("Dear Bob,\n> " + strings.ReplaceAll(text, "\n", "\r\n> "))
	if err != nil {
		t.Fatal(err)
	}
	server, err := Dial(s.url, Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer server.Close()
	found, err := server.Find(t.Context(), short)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(found.Fingerprint(), written.Fingerprint()) || found.Server != s.url || len(found.periods) == 0 {
		t.Errorf("expected one address with keys of periods, found %+v and %+v", found, written)
	}
	long := strings.Repeat("a long letter\n", 500)
	for _, letter := range []Letter{{Content: []byte("hello from Go")}, {Name: "long.txt", Content: []byte(long)}} {
		indices, err := server.Send(t.Context(), found, letter)
		if err != nil || len(indices) == 0 {
			t.Fatalf("%v, %v", indices, err)
		}
	}
	bodies, names := s.inbox()
	if len(bodies) != 2 || bodies[0] != "hello from Go" || bodies[1] != long || names[1] != "long.txt" {
		t.Errorf("expected the two letters, found %d with names %v", len(bodies), names)
	}
}

// Somebody who sees a letter during its post can post it first: the recipient reads it all the same.
func TestCopiedMessagesStopNoOthers(t *testing.T) {
	s := start(t, open)
	s.omr("id", "new", "--home", "ann", "--server", s.url)
	to, err := ParseAddress(s.omr("address", "--home", "ann"))
	if err != nil {
		t.Fatal(err)
	}
	server, err := Dial(s.url, Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer server.Close()
	at, err := server.capability.GetCapabilities(t.Context(), &omrv1.GetCapabilitiesRequest{})
	if err != nil {
		t.Fatal(err)
	}
	long := strings.Repeat("a long letter\n", 100)
	messages, err := write(at.GetBoard(), to, Letter{Content: []byte(long)}, time.Now())
	if err != nil || len(messages) < 3 {
		t.Fatalf("%d messages, %v", len(messages), err)
	}
	for _, post := range []struct {
		messages []*omrv1.Message
		posted   int
	}{{messages[1:2], 1}, {messages, len(messages) - 1}, {messages, 0}} {
		indices, err := server.post(t.Context(), at, post.messages)
		if err != nil || len(indices) != post.posted {
			t.Errorf("expected %d messages to be posted, found %v (%v)", post.posted, indices, err)
		}
	}
	if bodies, _ := s.inbox(); len(bodies) != 1 || bodies[0] != long {
		t.Errorf("expected the letter once, found %d letters", len(bodies))
	}
}

func TestAServerCannotChangeWhatAnAddressStates(t *testing.T) {
	s := start(t, open)
	s.omr("id", "new", "--home", "ann", "--server", s.url)
	to, err := ParseAddress(s.omr("address", "--home", "ann"))
	if err != nil {
		t.Fatal(err)
	}
	server, err := Dial(s.url, Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer server.Close()
	at, err := server.capability.GetCapabilities(t.Context(), &omrv1.GetCapabilitiesRequest{})
	if err != nil {
		t.Fatal(err)
	}
	now := time.Now()
	for expected, change := range map[string]func(*omrv1.Board){
		"letters sealed by hpke-x25519": func(board *omrv1.Board) { board.Sealing = "none" },
		"a board of insecure-tiny":      func(board *omrv1.Board) { board.ParamsId = "sophomr-v5" },
		"bound clues":                   func(board *omrv1.Board) { board.Clues = omrv1.ClueKind_CLUE_KIND_PLAIN },
		"a server whose clock":          func(board *omrv1.Board) { board.Time -= 50_000 },
		"clues of 1 bytes":              func(board *omrv1.Board) { board.ClueBytes = 1 },
		"room for":                      func(board *omrv1.Board) { board.PayloadBytes = 90 },
	} {
		board := proto.Clone(at.GetBoard()).(*omrv1.Board)
		change(board)
		_, err := write(board, to, Letter{Content: make([]byte, 100)}, now)
		if err == nil || !strings.Contains(err.Error(), expected) {
			t.Errorf("expected %q, found %v", expected, err)
		}
	}
	large := make([]byte, 100<<20)
	_, err = write(at.GetBoard(), to, Letter{Content: large}, now)
	if err == nil || !strings.Contains(err.Error(), "a letter of at most") {
		t.Errorf("expected the address's limit, found %v", err)
	}
}

func TestLettersAreSealedToThePresentPeriod(t *testing.T) {
	s := start(t, open)
	s.omr("id", "new", "--home", "ann", "--server", s.url)
	to, err := ParseAddress(s.omr("address", "--home", "ann"))
	if err != nil {
		t.Fatal(err)
	}
	key, err := readClueKey(to.clueKey)
	if err != nil {
		t.Fatal(err)
	}
	now := time.Now()
	present := to.sealingKey(key, now)
	for at, expected := range map[time.Time]bool{
		now:                            true,
		now.Add(31 * 24 * time.Hour):   false,
		now.Add(-31 * 24 * time.Hour):  false,
		now.Add(1000 * 24 * time.Hour): false,
	} {
		if bytes.Equal(to.sealingKey(key, at), present) != expected {
			t.Errorf("%s: expected the present key: %v", at, expected)
		}
	}
	if bytes.Equal(present, key.x25519) || !bytes.Equal(to.sealingKey(key, now.Add(1000*24*time.Hour)), key.x25519) {
		t.Error("expected the permanent key after the list, and no other time")
	}
}

func TestChangedAddressesAreRefused(t *testing.T) {
	s := start(t, open)
	s.omr("id", "new", "--home", "ann", "--server", s.url)
	lines := strings.Split(s.omr("address", "--home", "ann"), "\n")
	for at, line := range lines {
		without := append(append([]string{}, lines[:at]...), lines[at+1:]...)
		if _, err := ParseAddress(strings.Join(without, "\n")); (err == nil) != (line == "") {
			t.Errorf("without %q: %v", line, err)
		}
	}
	server, err := Dial(s.url, Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer server.Close()
	for _, wrong := range []string{"", "omr1", "bc1qw508d6qejxtdg4y5r3zarvary0c5xw7kv8f3t4", "omr1qqqqqqqqqqqqqqqqqqqqqqqqqq"} {
		if _, err := server.Find(t.Context(), wrong); err == nil || !strings.Contains(err.Error(), "expected a short address") {
			t.Errorf("%q: %v", wrong, err)
		}
	}
}
