module github.com/omr-project/omr/go

go 1.26

require (
	github.com/btcsuite/btcd/btcutil v1.2.0
	golang.org/x/crypto v0.54.0
	google.golang.org/grpc v1.84.0
	google.golang.org/protobuf v1.36.11
	lukechampine.com/blake3 v1.4.1
)

require (
	github.com/klauspost/cpuid/v2 v2.0.9 // indirect
	golang.org/x/net v0.57.0 // indirect
	golang.org/x/sys v0.47.0 // indirect
	golang.org/x/text v0.40.0 // indirect
	google.golang.org/genproto/googleapis/rpc v0.0.0-20260706201446-f0a921348800 // indirect
)
