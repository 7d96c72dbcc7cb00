// Calls by gRPC-Web: how they reach a server, and again where one did not.
import { Code, ConnectError, type Interceptor, type Transport } from "@connectrpc/connect";
import { createGrpcWebTransport } from "@connectrpc/connect-web";

/** Attempts at a call, and milliseconds before the second one, which double. */
const ATTEMPTS = 5;
const PAUSE = 250;

/** How calls reach a server; `sent` sends them in place of the browser's own. */
export function transport(
  server: string,
  token: string | undefined,
  further: Interceptor[] = [],
  sent?: typeof fetch,
): Transport {
  const named: Interceptor = (next) => (request) => {
    if (token !== undefined) request.header.set("authorization", `Bearer ${token}`);
    return next(request);
  };
  return createGrpcWebTransport({ baseUrl: server, interceptors: [named, ...further], ...(sent && { fetch: sent }) });
}

/** Makes a call that may be made again, until it does not fail for want of a server, or is stopped. */
export async function patiently<T>(call: () => Promise<T>, signal: AbortSignal | undefined): Promise<T> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await call();
    } catch (error) {
      if (attempt === ATTEMPTS || !passes(error)) throw error;
      await sleep(pause(error, attempt), signal);
    }
  }
}

async function sleep(milliseconds: number, signal: AbortSignal | undefined): Promise<void> {
  await new Promise<void>((resolve) => {
    const timer = setTimeout(resolve, milliseconds);
    signal?.addEventListener("abort", () => (clearTimeout(timer), resolve()), { once: true });
  });
  signal?.throwIfAborted();
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

/** A field that a server must set. */
export function given<T>(what: string, value: T | undefined): T {
  if (value === undefined) throw new Error(`expected ${what} in the server's answer, found none`);
  return value;
}
