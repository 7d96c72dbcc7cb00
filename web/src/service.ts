// A server's calls, by gRPC-Web.
import { type Client, Code, ConnectError, createClient, type Interceptor } from "@connectrpc/connect";
import { createGrpcWebTransport } from "@connectrpc/connect-web";
import { AddressService } from "./gen/omr/v1/address_pb.js";
import { BoardService } from "./gen/omr/v1/board_pb.js";
import { DetectionService } from "./gen/omr/v1/detection_pb.js";
import { KeyService } from "./gen/omr/v1/key_pb.js";
import { CapabilityService } from "./gen/omr/v1/service_pb.js";
import { watched } from "./seen.js";
import type { Seen } from "./types.js";

/** One server. */
export interface Service {
  addresses: Client<typeof AddressService>;
  board: Client<typeof BoardService>;
  capabilities: Client<typeof CapabilityService>;
  detection: Client<typeof DetectionService>;
  keys: Client<typeof KeyService>;
}

/** Attempts at a call, and milliseconds before the second one, which double. */
const ATTEMPTS = 5;
const PAUSE = 250;

export function service(server: string, token: string | undefined, seen: (seen: Seen) => void = () => {}): Service {
  const named: Interceptor = (next) => (request) => {
    if (token !== undefined) request.header.set("authorization", `Bearer ${token}`);
    return next(request);
  };
  const transport = createGrpcWebTransport({ baseUrl: server, interceptors: [named, watched(seen)] });
  return {
    addresses: createClient(AddressService, transport),
    board: createClient(BoardService, transport),
    capabilities: createClient(CapabilityService, transport),
    detection: createClient(DetectionService, transport),
    keys: createClient(KeyService, transport),
  };
}

/** Makes a call that may be made again, until it does not fail for want of a server. */
export async function patiently<T>(call: () => Promise<T>): Promise<T> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await call();
    } catch (error) {
      if (attempt === ATTEMPTS || !passes(error)) throw error;
      await new Promise((resolve) => setTimeout(resolve, pause(error, attempt)));
    }
  }
}

/** Whether the same call may succeed later. */
export function passes(error: unknown): boolean {
  const { code } = ConnectError.from(error);
  const unavailable = code === Code.Unavailable || code === Code.Unknown;
  return unavailable || code === Code.ResourceExhausted || code === Code.DataLoss;
}

function pause(error: unknown, attempt: number): number {
  const asked = Number(ConnectError.from(error).metadata.get("retry-after-ms") ?? 0);
  return Math.max(asked, PAUSE * 2 ** (attempt - 1) * (0.5 + Math.random()));
}

/** An id that makes a call safe to repeat. */
export function randomId(): Uint8Array<ArrayBuffer> {
  return crypto.getRandomValues(new Uint8Array(16));
}

/** A field that a server must set. */
export function given<T>(what: string, value: T | undefined): T {
  if (value === undefined) throw new Error(`expected ${what} in the server's answer, found none`);
  return value;
}
