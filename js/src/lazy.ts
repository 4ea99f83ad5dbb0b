import type { Watchglass } from "./types.js";

/** A connection that is made when it is first used. Frameworks share one among all components of a page. */
export interface WatchglassClient {
  /**
   * Connects, or returns the connection there is. After a failure, and after
   * {@link close}, the next call connects again. Rejects as `connect` does.
   */
  connect(): Promise<Watchglass>;
  /** Closes the connection and everything opened on it. */
  close(): void;
}

/** Returns a client that makes its connection by a function. */
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
      opened?.then((wg) => wg.close(), () => {}); // whoever called connect gets the error
    },
  };
}
