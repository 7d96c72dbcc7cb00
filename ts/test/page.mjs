// A page that sends letters with the package.
import { Server } from "../dist/index.js";

globalThis.send = async (url, short, name, content) => {
  const server = new Server(url);
  const to = await server.find(short);
  const indices = await server.send(to, { name, content: new TextEncoder().encode(content) });
  return indices.length;
};
