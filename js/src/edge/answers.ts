import { WatchglassError } from "../errors.js";

// The responses in this module can be longer than a frame. Each reports its unread bytes.

/**
 * The response to a watch. When the client has read the queued events, the stream grants the engine
 * credit for as many new events.
 */
export class WatchStream {
  readonly readable: ReadableStream<Uint8Array>;
  failure: WatchglassError | undefined;
  #controller!: ReadableStreamDefaultController<Uint8Array>;
  #delivered = 0;
  readonly #ended: (code: number) => void;

  /** Creates a stream that calls `ended` with an HTTP code when the response ends. */
  constructor({ grant, ended, cancel }: { grant(events: number): void; ended(code: number): void; cancel(): void }) {
    this.#ended = ended;
    const source: UnderlyingDefaultSource<Uint8Array> = {
      start: (controller) => {
        this.#controller = controller;
      },
      pull: async () => {
        await undefined; // grant only after the engine's output has been handled
        const events = this.#delivered;
        this.#delivered = 0;
        if (events > 0) grant(events);
      },
      cancel: () => {
        ended(200);
        cancel();
      },
    };
    this.readable = new ReadableStream(source, new ByteLengthQueuingStrategy({ highWaterMark: 1 }));
  }

  /** The size of the queued events in bytes. */
  get bytes(): number {
    return 1 - (this.#controller.desiredSize ?? 1);
  }

  add(frame: Uint8Array, events: number): void {
    this.#delivered += events;
    this.#controller.enqueue(frame);
  }

  close(last: Uint8Array): void {
    this.#controller.enqueue(last);
    this.#controller.close();
    this.#ended(200);
  }

  fail(error: WatchglassError): void {
    this.failure = error;
    this.#controller.error(error);
    this.#ended(error.code);
  }
}

/** The HTTP code for requests whose client disconnected before the response was complete. */
const codeClientGone = 499;

/** Returns the HTTP code of an error. */
export const codeOf = (error: unknown): number => (error instanceof WatchglassError ? error.code : 500);

/** A page of a list. */
export interface Page {
  bytes: Uint8Array<ArrayBuffer>;
  /** The token for the next page; empty for the last. */
  next: string;
}

/**
 * The response to a list. The stream requests each page only when the client is ready to read it.
 */
export class PageStream {
  readonly readable: ReadableStream<Uint8Array>;
  #page: Page | undefined;

  /**
   * Creates a stream that requests the next page with `follow`, and calls `done` with an HTTP code
   * when the response ends.
   */
  constructor(first: Page, { follow, done }: { follow(next: string): Promise<Page>; done(code: number): void }) {
    this.#page = first;
    let next = first.next;
    const source: UnderlyingDefaultSource<Uint8Array> = {
      pull: async (controller) => {
        try {
          const page = this.#page ?? (await follow(next));
          this.#page = undefined;
          controller.enqueue(page.bytes);
          next = page.next;
        } catch (error) {
          done(codeOf(error));
          throw error;
        }
        if (next !== "") return;
        controller.close();
        done(200);
      },
      cancel: () => done(codeClientGone),
    };
    this.readable = new ReadableStream(source, { highWaterMark: 0 });
  }

  get bytes(): number {
    return this.#page?.bytes.length ?? 0;
  }
}
