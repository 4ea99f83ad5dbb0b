import type { WatchglassError } from "../errors.js";

// Answers that are longer than a frame. What their readers have not taken yet
// takes memory, and so each knows how much that is.

/** The answer to a watch: the engine is granted as many events as its reader has taken. */
export class WatchStream {
  readonly readable: ReadableStream<Uint8Array>;
  failure: WatchglassError | undefined;
  #controller!: ReadableStreamDefaultController<Uint8Array>;
  #delivered = 0;

  constructor({ grant, cancel }: { grant(events: number): void; cancel(): void }) {
    const source: UnderlyingDefaultSource<Uint8Array> = {
      start: (controller) => {
        this.#controller = controller;
      },
      pull: async () => {
        await undefined; // the engine is just now handing out what there is
        const events = this.#delivered;
        this.#delivered = 0;
        if (events > 0) grant(events);
      },
      cancel,
    };
    this.readable = new ReadableStream(source, new ByteLengthQueuingStrategy({ highWaterMark: 1 }));
  }

  /** That wait to be taken. */
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
  }

  fail(error: WatchglassError): void {
    this.failure = error;
    this.#controller.error(error);
  }
}

/** A page of a list. */
export interface Page {
  bytes: Uint8Array<ArrayBuffer>;
  /** What asks for the next one; empty for the last. */
  next: string;
}

/** The answer to a list: the next page is asked for when its reader takes it. */
export class PageStream {
  readonly readable: ReadableStream<Uint8Array>;
  #page: Page | undefined;

  /** Follow resolves with the page after another. Done is called when there is nothing more to take. */
  constructor(first: Page, { follow, done }: { follow(next: string): Promise<Page>; done(): void }) {
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
          done();
          throw error;
        }
        if (next !== "") return;
        controller.close();
        done();
      },
      cancel: done,
    };
    this.readable = new ReadableStream(source, { highWaterMark: 0 });
  }

  get bytes(): number {
    return this.#page?.bytes.length ?? 0;
  }
}
