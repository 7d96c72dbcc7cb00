// Errors of a recipient, by what a program can do about them.

/** A call's code and what it says, as errors of calls have them. */
const CALL = /^\[([a-z_]+)\] (.*)$/s;
/** Codes of calls that no server answered. */
const UNREACHED = ["unavailable", "unknown"];
/** Kinds by the names of errors, which are all that workers pass on. */
const KINDS = new Map<string, RecipientError["kind"]>([
  ["WrongPassphrase", "passphrase"],
  ["Changed", "changed"],
  ["KeysLost", "keys"],
]);

/** Why a recipient could not do something. */
export class RecipientError extends Error {
  override name = "RecipientError";
  /**
   * The passphrase is wrong; somebody without it changed the identity; the server has lost her keys, which `register`
   * sends again; no server answered, so that the same may work later; the server refused, with `code`.
   */
  readonly kind: "passphrase" | "changed" | "keys" | "unreached" | "refused" | "other";
  /** The code of gRPC that the server refused with, such as `permission_denied`. */
  readonly code: string | undefined;

  private constructor(message: string, kind: RecipientError["kind"], code?: string) {
    super(message);
    this.kind = kind;
    this.code = code;
  }

  /** @internal */
  static of(error: unknown): RecipientError {
    const { name, message } = error instanceof Error ? error : new Error(String(error));
    const [, code, said] = (name === "ConnectError" && CALL.exec(message)) || [];
    if (code === undefined || said === undefined) return new RecipientError(message, KINDS.get(name) ?? "other");
    if (UNREACHED.includes(code)) return new RecipientError(said, "unreached");
    return new RecipientError(said, "refused", code);
  }
}

/** A call's value; its error is the signal's reason if that stopped it, else a `RecipientError`. @internal */
export async function stoppable<T>(call: () => Promise<T>, signal: AbortSignal | undefined): Promise<T> {
  try {
    return await call();
  } catch (error) {
    signal?.throwIfAborted();
    throw RecipientError.of(error);
  }
}
