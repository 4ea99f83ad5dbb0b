import type { Watchglass } from "./types.js";

/** A client that connects when it is first used. All components of a page share one. */
export interface WatchglassClient {
  /**
   * Connects, or returns the existing connection. After a failure, and after
   * {@link close}, the next call connects again. Rejects as `connect` does.
   */
  connect(): Promise<Watchglass>;
  /** Closes the connection and everything opened on it. */
  close(): void;
}

/** Returns a client that connects with the given function. */
export function lazy(open: () => Promise<Watchglass>): WatchglassClient {
  let connection: Promise<Watchglass> | undefined;
  return {
    connect() {
      if (connection) return connection;
      const opened = open();
      connection = opened;
      opened.catch(() => {
        if (connection === opened) connection = undefined;
      });
      return opened;
    },
    close() {
      const opened = connection;
      connection = undefined;
      opened?.then((wg) => wg.close(), () => {}); // the caller of connect receives the error
    },
  };
}
