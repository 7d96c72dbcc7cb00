// What node tests without a browser: identities as they are kept and given away, how posts go on, letters by conversation.
export { create } from "@bufbuild/protobuf";
export { Code, ConnectError, encodeBinaryHeader } from "@connectrpc/connect";
export { about, conversations, from } from "../page/conversations.js";
export { postSome } from "../src/deliver.js";
export { fromFile, toFile } from "../src/file.js";
export { PostRefusalSchema } from "../src/gen/omr/v1/board_pb.js";
export { checked, lockSecret, openSecret, proven } from "../src/kept.js";
export { newLock, Vault } from "../src/vault.js";
