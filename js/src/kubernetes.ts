import { messageOf } from "./errors.js";
import type { Stream } from "./transport.js";

/** What is heard of an answer; never from within the call that asked. `closed` comes at most once, and last. */
export interface AnswerEvents {
  /** The head, with the seconds of a Retry-After header or 0. */
  head(code: number, retryAfterSeconds: number): void;
  data(piece: Uint8Array): void;
  /** The end, with a message if it was not in order. */
  closed(message: string): void;
}

/** Asks for a path of a Kubernetes API. What it returns is not sent to, only closed. */
export type Ask = (url: string, path: string, token: string, events: AnswerEvents) => Stream;

/** As much as the engine takes at a time of a body that came in one piece. */
const maxPiece = 1 << 20;

/** Asks with a `fetch` function, whose body is read as it comes. */
export function fetchAsk(fetch: typeof globalThis.fetch): Ask {
  return (url, path, token, events) => {
    const abort = new AbortController();
    const headers: Record<string, string> = { accept: "application/json" };
    if (token) headers["authorization"] = `Bearer ${token}`;
    const read = async (): Promise<string> => {
      // A watch that comes out of a cache would never end being old.
      const response = await fetch(url + path, { headers, signal: abort.signal, cache: "no-store" });
      const body = response.body?.getReader();
      events.head(response.status, retryAfter(response.headers.get("retry-after")));
      for (;;) {
        const piece = await body?.read();
        if (!piece || piece.done) return "";
        for (let at = 0; at < piece.value.length; at += maxPiece) {
          if (abort.signal.aborted) return "";
          events.data(piece.value.subarray(at, at + maxPiece));
        }
      }
    };
    read()
      .catch((error: unknown) => `cannot read from ${url}: ${reason(error)}`)
      .then((message) => {
        if (!abort.signal.aborted) events.closed(message);
      });
    return { send() {}, close: () => abort.abort() };
  };
}

/** Node says what went wrong in the cause. */
function reason(error: unknown): string {
  const cause = error instanceof Error ? error.cause : undefined;
  return cause === undefined ? messageOf(error) : `${messageOf(error)}: ${messageOf(cause)}`;
}

/** Kubernetes gives seconds; a date it never sends. */
function retryAfter(header: string | null): number {
  return header !== null && /^\d{1,6}$/.test(header) ? Number(header) : 0;
}
