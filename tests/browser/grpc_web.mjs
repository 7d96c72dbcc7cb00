// A page asks a method by gRPC-Web: one of an origin that the server lists is answered, another is not.
import assert from "node:assert/strict";
import { createServer } from "node:http";
import { startServer } from "./server.mjs";
import { passed } from "./tools.mjs";

const METHOD = "/omr.v1.CapabilityService/GetCapabilities";

export async function checkGrpcWeb(browser) {
  const other = createServer((request, response) => {
    response.setHeader("content-type", "text/html");
    response.end("<!doctype html><title>elsewhere</title><link rel=icon href='data:,'>");
  });
  await new Promise((resolve) => other.listen(0, "127.0.0.1", resolve));
  const origin = `http://127.0.0.1:${other.address().port}`;
  const servers = [await startServer(), await startServer([origin])];
  const [closed, { url }] = servers;
  try {
    const page = await browser.newPage();
    await page.goto(`${origin}/`);
    await assert.rejects(page.evaluate(call, closed.url + METHOD), /Failed to fetch/);
    const answer = await page.evaluate(call, url + METHOD);
    const { version, params } = capabilities(answer);
    const status = await (await page.context().request.get(`${url}/status.json`)).json();
    assert.equal(version, status.version);
    assert.equal(params, status.params_id);
    await page.close();
  } finally {
    other.close();
    await Promise.all(servers.map((server) => server.stop()));
  }
  passed("a page calls GetCapabilities by gRPC-Web where its origin is listed, and not elsewhere");
}

// Runs in the page: an empty request in one frame, the answer's bytes.
async function call(address) {
  const response = await fetch(address, {
    method: "POST",
    headers: { "content-type": "application/grpc-web+proto", "x-grpc-web": "1" },
    body: new Uint8Array(5),
  });
  return {
    status: response.status,
    type: response.headers.get("content-type"),
    bytes: [...new Uint8Array(await response.arrayBuffer())],
  };
}

// Version and parameter set out of an answer: a frame of data, then one of trailers.
function capabilities({ status, type, bytes }) {
  assert.equal(status, 200);
  assert.match(type, /^application\/grpc-web/);
  const frames = [];
  for (let at = 0; at < bytes.length; ) {
    const length = Buffer.from(bytes.slice(at + 1, at + 5)).readUInt32BE();
    frames.push({ kind: bytes[at], data: bytes.slice(at + 5, at + 5 + length) });
    at += 5 + length;
  }
  assert.deepEqual(frames.map((frame) => frame.kind), [0, 0x80]);
  assert.match(Buffer.from(frames[1].data).toString(), /grpc-status:\s*0/);
  const answer = fields(frames[0].data);
  const board = fields(answer.get(2));
  return { version: text(answer.get(1)), params: text(board.get(2)) };
}

// Fields of a message: strings and messages as bytes, numbers as they are; the last of each number.
function fields(bytes) {
  const found = new Map();
  let at = 0;
  const varint = () => {
    let value = 0;
    for (let scale = 1; ; scale *= 128) {
      const byte = bytes[at++];
      value += (byte & 127) * scale;
      if (byte < 128) return value;
    }
  };
  while (at < bytes.length) {
    const key = varint();
    const [number, kind] = [Math.floor(key / 8), key % 8];
    assert.ok(kind === 0 || kind === 2, `wire type ${kind}`);
    const value = varint();
    found.set(number, kind === 0 ? value : bytes.slice(at, (at += value)));
  }
  return found;
}

function text(bytes) {
  return Buffer.from(bytes).toString();
}
