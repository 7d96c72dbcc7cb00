// What a server is asked, in order: by pages, and by the command, which goes through a proxy.
import { connect, constants, createServer } from "node:http2";

/** Records the calls that pages make at servers; gives those since it was called last. */
export function recorder(context, shown) {
  let calls = [];
  context.on("request", (request) => {
    if (request.method() !== "POST") return;
    calls.push(shown(new URL(request.url()).pathname, request.postDataBuffer()));
  });
  return () => calls.splice(0);
}

/** A way to a server for clients of gRPC. */
export async function startProxy(url, shown) {
  const server = connect(url);
  let calls = [];
  const proxy = createServer();
  proxy.on("stream", (stream, headers) => {
    const path = headers[constants.HTTP2_HEADER_PATH];
    const ahead = server.request({ ...headers, [constants.HTTP2_HEADER_AUTHORITY]: new URL(url).host });
    const asked = [];
    const at = calls.push(path) - 1;
    const kept = calls;
    stream.on("data", (bytes) => {
      asked.push(bytes);
      ahead.write(bytes);
    });
    stream.on("end", () => {
      kept[at] = shown(path, Buffer.concat(asked));
      ahead.end();
    });
    let trailers = {};
    ahead.on("response", (answered) => stream.respond(answered, { waitForTrailers: true }));
    ahead.on("trailers", (found) => (trailers = found));
    stream.on("wantTrailers", () => stream.sendTrailers(trailers));
    ahead.pipe(stream);
    for (const [one, other] of [[stream, ahead], [ahead, stream]]) {
      one.on("error", () => other.close(constants.NGHTTP2_CANCEL));
      one.on("aborted", () => other.close(constants.NGHTTP2_CANCEL));
    }
  });
  await new Promise((resolve) => proxy.listen(0, "127.0.0.1", resolve));
  return {
    url: `http://127.0.0.1:${proxy.address().port}`,
    take() {
      const taken = calls;
      calls = [];
      return taken;
    },
    stop() {
      server.destroy();
      proxy.close();
    },
  };
}
