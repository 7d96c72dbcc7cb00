package omr_test

import (
	"context"
	"fmt"

	omr "github.com/omr-project/omr/go"
)

func Example() {
	ctx := context.Background()
	server, err := omr.Dial("https://mail.example.org:7600", omr.Options{})
	to, err := server.Find(ctx, "omr1..")
	indices, err := server.Send(ctx, to, omr.Letter{Name: "hello.txt", Content: []byte("hello")})
	fmt.Println(indices, err)
}
