// Signals that stop calls, passed on to workers.
import { transferHandlers } from "comlink";

/** Has calls of workers take an `AbortSignal`; both threads call it before the first one. */
export function passSignals(): void {
  transferHandlers.set("signal", {
    canHandle: (value): value is AbortSignal => value instanceof AbortSignal,
    serialize(signal: AbortSignal) {
      const { port1, port2 } = new MessageChannel();
      const stop = () => port1.postMessage(undefined);
      if (signal.aborted) stop();
      else signal.addEventListener("abort", stop, { once: true });
      return [port2, [port2]];
    },
    deserialize(port: MessagePort) {
      const controller = new AbortController();
      port.onmessage = () => controller.abort();
      return controller.signal;
    },
  });
}
