// Calls of a server as tests read and write them: requests as text, answers with other fields.
import { type DescMessage, type DescMethod, fromBinary, type Message, toBinary } from "@bufbuild/protobuf";
import { AddressService } from "../src/gen/omr/v1/address_pb.js";
import { BoardService } from "../src/gen/omr/v1/board_pb.js";
import { DetectionService } from "../src/gen/omr/v1/detection_pb.js";
import { KeyService } from "../src/gen/omr/v1/key_pb.js";
import { CapabilityService } from "../src/gen/omr/v1/service_pb.js";

const SERVICES = [AddressService, BoardService, CapabilityService, DetectionService, KeyService];
/** Flag and length of a message in gRPC and gRPC-Web. */
const HEAD = 5;

function method(path: string): DescMethod {
  const [service, name] = path.split("/").slice(-2);
  const found = SERVICES.find(({ typeName }) => typeName === service)?.methods.find((one) => one.name === name);
  if (found === undefined) throw new Error(`expected a call of a recipient, found ${path}`);
  return found;
}

/** Frames of a body: flag and message. */
function* frames(from: Uint8Array): Generator<[number, Uint8Array]> {
  // A `Buffer` would make buffers of all fields.
  const body = new Uint8Array(from);
  const view = new DataView(body.buffer, body.byteOffset, body.byteLength);
  for (let at = 0; at < body.length; ) {
    const end = at + HEAD + view.getUint32(at + 1);
    yield [view.getUint8(at), body.subarray(at + HEAD, end)];
    at = end;
  }
}

function framed(flag: number, message: Uint8Array): Uint8Array {
  const frame = new Uint8Array(HEAD + message.length);
  const view = new DataView(frame.buffer);
  view.setUint8(0, flag);
  view.setUint32(1, message.length);
  frame.set(message, HEAD);
  return frame;
}

/** A field as a server tells requests apart: of bytes, which are ids, keys and messages, only how many. */
function plain(name: string, value: unknown): unknown {
  if (name === "$typeName") return undefined;
  if (value instanceof Uint8Array) return value.length;
  return typeof value === "bigint" ? Number(value) : value;
}

/** A request: the call, its bytes, its fields. */
export function shown(path: string, body: Uint8Array): string {
  const { name, input } = method(path);
  const messages = [...frames(body)].map(([, message]) => {
    return `${message.length} bytes ${JSON.stringify(fromBinary(input, message), plain)}`;
  });
  return `${name} ${messages.join(", ")}`;
}

/** An answer whose messages are changed by `change`. */
export function bent(path: string, body: Uint8Array, change: (message: Message) => void): Uint8Array {
  const output: DescMessage = method(path).output;
  const changed = [...frames(body)].map(([flag, bytes]) => {
    // What ends an answer in gRPC-Web is no message.
    if (flag !== 0) return framed(flag, bytes);
    const message = fromBinary(output, bytes);
    change(message);
    return framed(flag, toBinary(output, message));
  });
  return Buffer.concat(changed);
}
