// The types of Cloudflare's runtime that this package uses. TypeScript's own libraries do not
// contain them.

/** The server's end of a WebSocket, which stays open while the object hibernates. */
export interface HibernatableSocket {
  readonly readyState: number;
  /**
   * Accepts the socket in this isolate, which keeps the isolate alive.
   * {@link ObjectState.acceptWebSocket} does not keep the isolate alive.
   */
  accept(): void;
  send(message: string | Uint8Array): void;
  close(code?: number, reason?: string): void;
  /** Attaches a value to the socket. The value survives hibernation. */
  serializeAttachment(value: unknown): void;
  deserializeAttachment(): unknown;
}

export interface SqlCursor<Row> extends IterableIterator<Row> {
  toArray(): Row[];
}

export interface SqlStorage {
  exec<Row = Record<string, unknown>>(query: string, ...bindings: unknown[]): SqlCursor<Row>;
  /** The size of the database in bytes. */
  readonly databaseSize: number;
}

export interface ObjectStorage {
  readonly sql: SqlStorage;
  /** Stores all writes of the function, or none. */
  transactionSync<T>(act: () => T): T;
  setAlarm(millis: number): Promise<void>;
  /** Deletes everything including the alarm, so that the object ceases to exist. */
  deleteAll(): Promise<void>;
}

export interface ObjectState {
  /** The name is set if the object was looked up by name. */
  readonly id: { readonly name?: string };
  readonly storage: ObjectStorage;
  blockConcurrencyWhile<T>(act: () => Promise<T>): Promise<T>;
  acceptWebSocket(socket: HibernatableSocket, tags?: string[]): void;
  getWebSockets(tag?: string): HibernatableSocket[];
  /** Removes the object from memory. The next request starts a new instance. */
  abort(reason: string): void;
}

/** A stub of another object, or a service. */
export interface Fetcher {
  fetch(request: Request | string, init?: RequestInit): Promise<Response>;
}

declare const WebSocketPair: new () => { 0: HibernatableSocket; 1: HibernatableSocket };

/** Returns the client's and the server's end of a new WebSocket. */
export function socketPair(): [client: HibernatableSocket, server: HibernatableSocket] {
  const { 0: client, 1: server } = new WebSocketPair();
  return [client, server];
}
