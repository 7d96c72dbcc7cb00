package omr

import (
	"context"
	"crypto/rand"
	"crypto/tls"
	"errors"
	"fmt"
	mathrand "math/rand/v2"
	"net/url"
	"strconv"
	"time"

	"github.com/omr-project/omr/go/omrv1"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
	"lukechampine.com/blake3"
)

const (
	// A call is repeated at most as often as this, first after the wait, which doubles.
	tries     = 6
	firstWait = 200 * time.Millisecond
	// Letters are sealed to keys of a time, so clocks must not differ by more.
	mostDifference = 12 * time.Hour
)

// A Letter is a file for a recipient.
type Letter struct {
	// Name is the name of the file, or empty. Nobody but the recipient sees it.
	Name    string
	Content []byte
}

// A Server is a connection to a server of a board. Its methods may be called from several goroutines.
type Server struct {
	connection *grpc.ClientConn
	board      omrv1.BoardServiceClient
	addresses  omrv1.AddressServiceClient
	capability omrv1.CapabilityServiceClient
	token      string
}

// Options are the choices of [Dial].
type Options struct {
	// Token is shown with every call, if it is not empty.
	Token string
	// TLS replaces the system's authorities, for https.
	TLS *tls.Config
}

// Dial prepares a connection to a server at `https://host:port` or `http://host:port`; the first call makes it.
func Dial(server string, options Options) (*Server, error) {
	at, err := url.Parse(server)
	if err != nil || at.Host == "" || (at.Scheme != "https" && at.Scheme != "http") {
		return nil, fmt.Errorf("expected a URL such as https://host:7600, found %q", server)
	}
	transport := insecure.NewCredentials()
	if at.Scheme == "https" {
		transport = credentials.NewTLS(options.TLS)
	}
	host := at.Host
	if at.Port() == "" {
		host += map[string]string{"https": ":443", "http": ":80"}[at.Scheme]
	}
	connection, err := grpc.NewClient(host, grpc.WithTransportCredentials(transport))
	if err != nil {
		return nil, err
	}
	return &Server{
		connection: connection,
		board:      omrv1.NewBoardServiceClient(connection),
		addresses:  omrv1.NewAddressServiceClient(connection),
		capability: omrv1.NewCapabilityServiceClient(connection),
		token:      options.Token,
	}, nil
}

// Close ends the connection.
func (s *Server) Close() error { return s.connection.Close() }

// Find asks the server for the address that a short one, `omr1..`, stands for. The fingerprint proves the answer.
func (s *Server) Find(ctx context.Context, short string) (*Address, error) {
	fingerprint, err := shortFingerprint(short)
	if err != nil {
		return nil, err
	}
	request := &omrv1.FindAddressRequest{Fingerprint: fingerprint}
	answer, err := patiently(ctx, s, s.addresses.FindAddress, request)
	if err != nil {
		return nil, err
	}
	return published(answer.GetAddress(), fingerprint)
}

// Send seals a letter and posts its messages. It returns their indices on the board; those that somebody copied and
// posted first are left out, as they are there already. An error after some of several posts leaves these on the board.
func (s *Server) Send(ctx context.Context, to *Address, letter Letter) ([]uint64, error) {
	answer, err := patiently(ctx, s, s.capability.GetCapabilities, &omrv1.GetCapabilitiesRequest{})
	if err != nil {
		return nil, err
	}
	board, now := answer.GetBoard(), time.Now()
	messages, err := write(board, to, letter, now)
	if err != nil {
		return nil, err
	}
	var indices []uint64
	for most := max(1, int(answer.GetLimits().GetPostMessages())); len(messages) > 0; {
		count := min(most, len(messages))
		posted, err := s.post(ctx, answer, messages[:count])
		if err != nil {
			return indices, err
		}
		indices, messages = append(indices, posted...), messages[count:]
	}
	return indices, nil
}

// write returns the messages of a letter.
func write(board *omrv1.Board, to *Address, letter Letter, now time.Time) ([]*omrv1.Message, error) {
	key, err := readClueKey(to.clueKey)
	if err != nil {
		return nil, err
	}
	if stated := board.GetTime(); stated != 0 {
		if differ := now.Sub(time.Unix(int64(stated), 0)).Abs(); differ > mostDifference {
			return nil, fmt.Errorf("expected a server whose clock agrees to half a day, found a difference of %s", differ)
		}
	}
	if board.GetParamsId() != key.set.name {
		return nil, fmt.Errorf("expected a board of %s, as the address, found %s", key.set.name, board.GetParamsId())
	}
	// A server has no say: the address states the sealing under its fingerprint.
	if sealing := board.GetSealing(); sealing != to.Sealing.String() {
		return nil, fmt.Errorf("expected letters sealed by %s, as the address states, found %s", to.Sealing, sealing)
	}
	if board.GetClues() != omrv1.ClueKind_CLUE_KIND_BOUND || len(board.GetBoardId()) != 16 {
		return nil, errors.New("expected a board of bound clues with an id of 16 bytes, found another")
	}
	capacity := int(board.GetPayloadBytes()) - to.Sealing.overhead() - seedBytes
	parts, err := split(letter.Name, letter.Content, capacity)
	if err != nil {
		return nil, err
	}
	if len(parts) > int(to.Parts) {
		return nil, fmt.Errorf("expected a letter of at most %d messages, as the address takes, found %d", to.Parts, len(parts))
	}
	clues, sealingKey := newClues(key, board.GetBoardId()), to.sealingKey(key, now)
	aad := append(append([]byte{}, board.GetBoardId()...), board.GetParamsId()...)
	messages := make([]*omrv1.Message, 0, len(parts))
	for _, part := range parts {
		message, err := clues.message(to.Sealing, sealingKey, aad, part)
		if err != nil {
			return nil, err
		}
		if len(message.Clue) != int(board.GetClueBytes()) {
			return nil, fmt.Errorf("expected clues of %d bytes, found %d", board.GetClueBytes(), len(message.Clue))
		}
		messages = append(messages, message)
	}
	return messages, nil
}

// message seals a part with a fresh seed and adds its clue.
func (c *clues) message(sealing Sealing, key, aad, part []byte) (*omrv1.Message, error) {
	for {
		seed := make([]byte, seedBytes)
		rand.Read(seed)
		payload, err := sealing.seal(key, aad, append(seed, part...))
		if err != nil {
			return nil, err
		}
		if clue, ok := c.clue(seed[:seedBytes], payload); ok {
			return &omrv1.Message{Clue: clue, Payload: payload}, nil
		}
	}
}

// post posts messages in one call, and those that are not on the board yet in another one where somebody copied some.
func (s *Server) post(ctx context.Context, at *omrv1.GetCapabilitiesResponse, messages []*omrv1.Message) ([]uint64, error) {
	for len(messages) > 0 {
		id := make([]byte, 16)
		rand.Read(id)
		request := &omrv1.PostMessagesRequest{PostId: id, Messages: messages}
		if bits := at.GetPostingWorkBits(); s.token == "" && bits > 0 {
			work, err := postingWork(ctx, at.GetBoard().GetBoardId(), request, bits)
			if err != nil {
				return nil, err
			}
			request.Work = work
		}
		// The id makes repeated calls one post.
		posted, err := patiently(ctx, s, s.board.PostMessages, request)
		if err == nil {
			indices := make([]uint64, posted.GetCount())
			for i := range indices {
				indices[i] = posted.GetFirstIndex() + uint64(i)
			}
			return indices, nil
		}
		var refused *refusal
		if !errors.As(err, &refused) {
			return nil, err
		}
		used := map[uint32]bool{}
		for _, key := range refused.why.GetUsedKeys() {
			used[key.GetPosition()] = true
		}
		if len(used) == 0 && !refused.why.GetKnownId() {
			return nil, err
		}
		var others []*omrv1.Message
		for position, message := range messages {
			if !used[uint32(position)] {
				others = append(others, message)
			}
		}
		messages = others
	}
	return nil, nil
}

// postingWork returns the proof of work of a post: docs/service.md.
func postingWork(ctx context.Context, board []byte, post *omrv1.PostMessagesRequest, bits uint32) (uint64, error) {
	var content []byte
	for _, message := range post.GetMessages() {
		content = append(append(content, message.GetClue()...), message.GetPayload()...)
	}
	hash := blake3.Sum256(content)
	bound := join(board, post.GetPostId(), hash[:])
	for work := uint64(0); ; work++ {
		if work%4096 == 0 && ctx.Err() != nil {
			return 0, ctx.Err()
		}
		digest := kdf("omr posting work v1", bound, le64(work))
		if leadingZeros(digest) >= bits {
			return work, nil
		}
	}
}

func leadingZeros(digest []byte) (zeros uint32) {
	for _, byte := range digest {
		for bit := 7; bit >= 0; bit-- {
			if byte>>bit&1 == 1 {
				return zeros
			}
			zeros++
		}
	}
	return zeros
}

// A refusal is a post that the board did not take, with the server's reason.
type refusal struct {
	error
	why *omrv1.PostRefusal
}

func (r *refusal) Unwrap() error { return r.error }

// patiently makes a call, and repeats it while the server or the network cannot answer it now.
func patiently[Q, A any](
	ctx context.Context,
	s *Server,
	call func(context.Context, Q, ...grpc.CallOption) (A, error),
	request Q,
) (answer A, err error) {
	if s.token != "" {
		ctx = metadata.AppendToOutgoingContext(ctx, "authorization", "Bearer "+s.token)
	}
	wait := firstWait
	for try := 1; ; try++ {
		var trailer metadata.MD
		answer, err = call(ctx, request, grpc.Trailer(&trailer))
		if err == nil {
			return answer, nil
		}
		if told := trailer.Get("post-refusal-bin"); len(told) == 1 {
			why := &omrv1.PostRefusal{}
			if broken := proto.Unmarshal([]byte(told[0]), why); broken == nil {
				return answer, &refusal{err, why}
			}
		}
		code := status.Code(err)
		if try == tries || (code != codes.Unavailable && code != codes.ResourceExhausted) {
			return answer, err
		}
		pause := wait/2 + time.Duration(mathrand.Int64N(int64(wait)))
		if told := trailer.Get("retry-after-ms"); len(told) == 1 {
			if ms, bad := strconv.ParseUint(told[0], 10, 31); bad == nil {
				pause = time.Duration(ms) * time.Millisecond
			}
		}
		wait *= 2
		select {
		case <-ctx.Done():
			return answer, ctx.Err()
		case <-time.After(pause):
		}
	}
}
