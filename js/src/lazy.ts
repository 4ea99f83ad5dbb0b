import { abortable } from "./abort.js";
import type { CallOptions, Watchglass } from "./types.js";

/** A client that connects when it is first used. All components of a page share one client. */
export interface WatchglassClient {
  /**
   * Connects, or returns the existing connection. After a failure, and after {@link close}, the
   * next call connects again. Rejects as `connect` does. Aborting the signal ends only this call,
   * because other callers may wait for the same connection.
   */
  connect(options?: CallOptions): Promise<Watchglass>;
  /** Closes the connection and everything opened on it. */
  close(): void;
  /** Closes the connection. Resolves when a pending attempt to connect has ended. */
  [Symbol.asyncDispose](): Promise<void>;
}

/** Returns a client that connects with the given function. */
export function lazy(open: () => Promise<Watchglass>): WatchglassClient {
  let connection: Promise<Watchglass> | undefined;
  const connect = (): Promise<Watchglass> => {
    if (connection) return connection;
    const opened = open();
    connection = opened;
    opened.catch(() => {
      if (connection === opened) connection = undefined;
    });
    return opened;
  };
  const close = (): Promise<void> | undefined => {
    const opened = connection;
    connection = undefined;
    return opened?.then((wg) => wg.close(), () => {}); // the caller of connect receives the error
  };
  return {
    connect: ({ signal } = {}) => abortable(connect, signal),
    close: () => void close(),
    [Symbol.asyncDispose]: async () => close(),
  };
}
