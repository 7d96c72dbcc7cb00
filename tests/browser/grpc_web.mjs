// A page of another origin asks a method by gRPC-Web.
import assert from "node:assert/strict";
import { createServer } from "node:http";
import { passed } from "./tools.mjs";

const METHOD = "/omr.v1.CapabilityService/GetCapabilities";

export async function checkGrpcWeb(browser, url) {
  const other = createServer((request, response) => {
    response.setHeader("content-type", "text/html");
    response.end("<!doctype html><title>elsewhere</title><link rel=icon href='data:,'>");
  });
  await new Promise((resolve) => other.listen(0, "127.0.0.1", resolve));
  try {
    const page = await browser.newPage();
    await page.goto(`http://127.0.0.1:${other.address().port}/`);
    const answer = await page.evaluate(call, url + METHOD);
    const { version, params } = capabilities(answer);
    const status = await (await page.context().request.get(`${url}/status.json`)).json();
    assert.equal(version, status.version);
    assert.equal(params, status.params_id);
    await page.close();
  } finally {
    other.close();
  }
  passed("a page of another origin calls GetCapabilities by gRPC-Web");
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
