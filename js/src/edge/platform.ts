// What is used of Cloudflare's runtime, which TypeScript's own libraries do not
// describe.

/** The server's end of a WebSocket, which outlives the object in memory. */
export interface HibernatableSocket {
  readonly readyState: number;
  /** Takes it in here, which keeps this isolate alive; {@link ObjectState.acceptWebSocket} does not. */
  accept(): void;
  send(message: string | Uint8Array): void;
  close(code?: number, reason?: string): void;
  /** Keeps a value with the socket while the object is not in memory. */
  serializeAttachment(value: unknown): void;
  deserializeAttachment(): unknown;
}

export interface SqlCursor<Row> extends IterableIterator<Row> {
  toArray(): Row[];
}

export interface SqlStorage {
  exec<Row = Record<string, unknown>>(query: string, ...bindings: unknown[]): SqlCursor<Row>;
  /** Bytes that the database takes. */
  readonly databaseSize: number;
}

export interface ObjectStorage {
  readonly sql: SqlStorage;
  /** All of what the function writes is stored, or none. */
  transactionSync<T>(act: () => T): T;
  setAlarm(millis: number): Promise<void>;
  /** Of everything, the alarm included, so that nothing is left of the object. */
  deleteAll(): Promise<void>;
}

export interface ObjectState {
  /** Of an object that was found by its name. */
  readonly id: { readonly name?: string };
  readonly storage: ObjectStorage;
  blockConcurrencyWhile<T>(act: () => Promise<T>): Promise<T>;
  acceptWebSocket(socket: HibernatableSocket, tags?: string[]): void;
  getWebSockets(tag?: string): HibernatableSocket[];
  /** Takes the object out of memory at once; whoever comes next finds it new. */
  abort(reason: string): void;
}

/** Something that answers requests: another object's stub, or a service. */
export interface Fetcher {
  fetch(request: Request | string, init?: RequestInit): Promise<Response>;
}

declare const WebSocketPair: new () => { 0: HibernatableSocket; 1: HibernatableSocket };

/** The client's and the server's end of a new WebSocket. */
export function socketPair(): [client: HibernatableSocket, server: HibernatableSocket] {
  const { 0: client, 1: server } = new WebSocketPair();
  return [client, server];
}
