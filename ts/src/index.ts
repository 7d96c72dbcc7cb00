/**
 * Sends letters by oblivious message retrieval: a letter is posted on a public board, encrypted, and nobody but its
 * recipient learns whom it is for. Written from docs/wire.md of the repository.
 */
export { type Address, parseAddress } from "./address.js";
export { type Letter, type Options, Server } from "./server.js";
