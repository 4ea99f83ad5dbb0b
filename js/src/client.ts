import { CollectionHandle, type OpenOptions } from "./collection.js";
import { EngineClient, type Attach } from "./engine-client.js";
import { closedError } from "./errors.js";
import { idsPerMember } from "./member.js";
import { openObject } from "./object-handle.js";
import type { CallOptions, ClientStatus, Collection, KubeObject, ObjectHandle, ObjectOptions, Opened, Watchglass } from "./types.js";

/** The public client of an engine that the program has joined. */
export class Client implements Watchglass {
  readonly #engine: EngineClient;

  private constructor(engine: EngineClient) {
    this.#engine = engine;
  }

  /** Joins an engine and returns the client. Rejects if no engine can be joined. */
  static async attach(attach: Attach, token: () => Promise<string>): Promise<Client> {
    return new Client(await EngineClient.attach(attach, token));
  }

  collection<T extends object = KubeObject>(resource: string, options: OpenOptions = {}): Collection<T> {
    this.#engine.check();
    return new CollectionHandle<T>(this.#engine, resource, options);
  }

  object<T extends object = KubeObject>(resource: string, key: string, options?: ObjectOptions): ObjectHandle<T> {
    this.#engine.check();
    return openObject<T>(this.#engine, resource, key, options);
  }

  get status(): ClientStatus {
    return this.#engine.status;
  }

  readonly subscribe = (listener: () => void): (() => void) => this.#engine.subscribe(listener);

  async inspect({ signal }: CallOptions = {}): Promise<Record<string, number>> {
    const reply = await this.#engine.request("InspectReply", (request) => ({ type: "Inspect", request }), signal);
    return Object.fromEntries(reply.entries.map(([name, value]) => [this.#ownName(name), value]));
  }

  opened(): Opened[] {
    return this.#engine.opened();
  }

  reconnect(): void {
    this.#engine.send({ type: "Reconnect" });
  }

  close(): void {
    this.#engine.end(closedError("the connection"));
  }

  [Symbol.dispose](): void {
    this.close();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.close();
  }

  hide(hidden: boolean): void {
    this.#engine.hide(hidden);
  }

  /** Registers a function that is called when the client ends. */
  onClose(act: () => void): void {
    this.#engine.onClose(act);
  }

  /**
   * Returns the name of a statistic of the engine. For a collection of this client, the engine-wide
   * ID in the name is replaced by the ID that {@link Watchglass.opened} reports.
   */
  #ownName(name: string): string {
    return name.replace(/^collection\.(\d+)\./, (whole, digits) => {
      const serial = Number(digits) - this.#engine.baseId;
      return serial > 0 && serial < idsPerMember ? `collection.${serial}.` : whole;
    });
  }
}
