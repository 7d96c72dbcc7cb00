// The calls of a recipient's server.
import { type Client, createClient, type Interceptor } from "@connectrpc/connect";
import { transport } from "./calls.js";
import { adding } from "./chunk.js";
import { AddressService } from "./gen/omr/v1/address_pb.js";
import { BoardService } from "./gen/omr/v1/board_pb.js";
import { DetectionService } from "./gen/omr/v1/detection_pb.js";
import { KeyService } from "./gen/omr/v1/key_pb.js";
import { CapabilityService } from "./gen/omr/v1/service_pb.js";
import { watched } from "./seen.js";
import type { Seen } from "./types.js";

export { given, passes, patiently } from "./calls.js";

/** One server. */
export interface Service {
  addresses: Client<typeof AddressService>;
  board: Client<typeof BoardService>;
  capabilities: Client<typeof CapabilityService>;
  detection: Client<typeof DetectionService>;
  keys: Client<typeof KeyService>;
  /** Stops all of these calls. */
  signal: AbortSignal | undefined;
  /** For a chunk that has no data of its own, but these. */
  chunk(data: Blob): Client<typeof KeyService>;
}

export function service(
  server: string,
  token: string | undefined,
  seen: (seen: Seen) => void = () => {},
  signal?: AbortSignal,
): Service {
  const watch = watched(seen);
  const to = transport(server, token, [watch(), stopped(signal)]);
  const chunks = (data: Blob) => transport(server, token, [watch(data.size), stopped(signal)], adding(data));
  return {
    addresses: createClient(AddressService, to),
    board: createClient(BoardService, to),
    capabilities: createClient(CapabilityService, to),
    detection: createClient(DetectionService, to),
    keys: createClient(KeyService, to),
    signal,
    chunk: (data) => createClient(KeyService, chunks(data)),
  };
}

/** Has a signal stop every call. */
function stopped(signal: AbortSignal | undefined): Interceptor {
  return (next) => async (request) => {
    if (signal === undefined) return await next(request);
    return await next({ ...request, signal: AbortSignal.any([request.signal, signal]) });
  };
}

/** An id that makes a call safe to repeat. */
export function randomId(): Uint8Array<ArrayBuffer> {
  return crypto.getRandomValues(new Uint8Array(16));
}
