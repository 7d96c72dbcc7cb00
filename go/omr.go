// Package omr sends letters by oblivious message retrieval: a letter is posted on a public board, encrypted, and nobody
// but its recipient learns whom it is for.
//
//	server, err := omr.Dial("https://mail.example.org:7600", omr.Options{})
//	to, err := server.Find(ctx, "omr1..")
//	indices, err := server.Send(ctx, to, omr.Letter{Content: []byte("hello")})
//
// Recipients use the command `omr`, the Rust crate `omr` or the package for Python: this one only sends. The formats are
// those of docs/wire.md in the repository.
package omr
