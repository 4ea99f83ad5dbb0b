import { messageOf } from "./errors.js";
import type { Stream } from "./transport.js";

/**
 * The callbacks of a response. No callback runs before the call that sends the request returns.
 * `closed` is called at most once, and last.
 */
export interface AnswerEvents {
  /** Called with the status code and the seconds of the Retry-After header, or 0 without one. */
  head(code: number, retryAfterSeconds: number): void;
  data(piece: Uint8Array): void;
  /** Called when the response ends, with an error message, or "" if it succeeded. */
  closed(message: string): void;
}

/**
 * A function that requests a path of a Kubernetes API. Callers only close the returned stream, and
 * never write to it.
 */
export type OpenRequest = (url: string, path: string, token: string, events: AnswerEvents) => Stream;

/** The largest piece of a body that the engine accepts at a time, in bytes. */
const maxPiece = 1 << 20;

/** Sends requests with a `fetch` function, and reads each body as it arrives. */
export function fetchRequests(fetch: typeof globalThis.fetch): OpenRequest {
  return (url, path, token, events) => {
    const abort = new AbortController();
    const headers: Record<string, string> = { accept: "application/json" };
    if (token) headers["authorization"] = `Bearer ${token}`;
    const read = async (): Promise<string> => {
      // A watch that is served from the HTTP cache would receive no new events.
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

/** Returns the message of an error and of its cause, in which Node reports the details. */
function reason(error: unknown): string {
  const cause = error instanceof Error ? error.cause : undefined;
  return cause === undefined ? messageOf(error) : `${messageOf(error)}: ${messageOf(cause)}`;
}

/** Returns the seconds of a Retry-After header, or 0. Kubernetes never sends a date. */
function retryAfter(header: string | null): number {
  return header !== null && /^\d{1,6}$/.test(header) ? Number(header) : 0;
}
