import { Client } from "../src/client.js";
import { Engine, type EngineOptions } from "../src/engine.js";
import { GuestError, type Guest } from "../src/guest.js";
import type { Dial, StreamEvents } from "../src/transport.js";
import type { Cell, WatchEnd } from "../src/types.js";
import { Reader, split, Writer } from "../src/wire/codec.js";
import { commandTypes, writeCommand, type Command } from "../src/wire/driver-commands.js";
import { watchEnds } from "../src/wire/outputs.js";

/** A command that the fake guest has received. `id` is the first ID in its payload, or 0. */
export interface ReceivedCommand {
  name: Command["type"];
  id: number;
  payload: Uint8Array;
}

const commandNames = new Map(Object.entries(commandTypes).map(([name, type]) => [type, name as Command["type"]]));

/** A guest that records the received commands, and returns the output frames that the test sets. */
export class FakeGuest implements Guest {
  readonly memoryBytes = 0;
  readonly commands: ReceivedCommand[] = [];
  readonly steps: number[] = [];
  out = new Writer();
  closed = false;
  /** The time of the last tick. */
  now = 0;
  /** The error that the next step throws. */
  fault: GuestError | undefined;
  /** Called for each command, after it was recorded. */
  answer: (command: ReceivedCommand) => void = () => {};

  step(frames: Uint8Array): void {
    if (this.fault) {
      const fault = this.fault;
      this.fault = undefined;
      throw fault;
    }
    let n = 0;
    for (const frame of split(frames)) {
      const command = {
        name: commandNames.get(frame.type)!,
        id: frame.payload.length > 0 ? new Reader(frame.payload, "test").uvarint() : 0,
        payload: frame.payload,
      };
      this.commands.push(command);
      this.answer(command);
      n++;
    }
    this.steps.push(n);
  }

  stepData(stream: number, data: Uint8Array): void {
    const w = new Writer();
    writeCommand(w, { type: "StreamData", stream, data });
    this.step(w.take());
  }

  tick(millis: number): void {
    this.now = millis;
  }

  take(): Uint8Array<ArrayBuffer> | undefined {
    return this.out.length > 0 ? this.out.take() : undefined;
  }

  close(): void {
    this.closed = true;
  }

  last(name: Command["type"]): ReceivedCommand {
    const command = this.commands.findLast((h) => h.name === name);
    if (!command) throw new Error(`no ${name} was received`);
    return command;
  }

  count(name: Command["type"]): number {
    return this.commands.filter((h) => h.name === name).length;
  }
}

export interface Status {
  code: number;
  reason: string;
  message: string;
}

export interface FakeItem {
  key: string;
  rv?: number;
  flags?: number;
  uid?: string;
  labels?: [string, string][];
  fields?: string[];
  cells?: Cell[];
  body?: unknown;
}

/** Functions that write output frames of the engine. */
export const say = {
  state(w: Writer, collection: number, state: number, { rv = 1, next = 0, objects = 0, status }: { rv?: number; next?: number; objects?: number; status?: Status } = {}): void {
    w.frame(0x64, () => {
      w.uvarint(collection);
      w.byte(state);
      w.uvarint(rv);
      w.uvarint(2_000_000);
      w.uvarint(2 * next);
      w.uvarint(objects);
      w.uvarint(0);
      w.uvarint(0);
      w.uvarint(objects);
      writeStatus(w, status);
    });
  },
  schema(w: Writer, collection: number, columns?: string[]): void {
    w.frame(0x65, () => {
      w.uvarint(collection);
      writeSchema(w, columns);
    });
  },
  objectError(w: Writer, collection: number, key: string, status: Status): void {
    w.frame(0x66, () => {
      w.uvarint(collection);
      w.text(key);
      w.uvarint(1);
      writeStatus(w, status);
    });
  },
  changes(w: Writer, watch: number, type: 1 | 2 | 3, items: FakeItem[]): void {
    w.frame(0x67, () => {
      w.uvarint(watch);
      w.uvarint(items.length);
      for (const item of items) {
        w.byte(type);
        writeItem(w, item);
      }
    });
  },
  update(w: Writer, watch: number, item: FakeItem, previous: FakeItem): void {
    w.frame(0x67, () => {
      w.uvarint(watch);
      w.uvarint(1);
      w.byte(0x82);
      writeItem(w, previous);
      writeItem(w, item);
    });
  },
  bookmark(w: Writer, watch: number, rv: number, flags = 0): void {
    w.frame(0x67, () => {
      w.uvarint(watch);
      w.uvarint(1);
      w.byte(4);
      w.uvarint(rv);
      w.byte(flags);
    });
  },
  /** Writes the end of a watch, by default a timeout. */
  watchClosed(w: Writer, watch: number, end: WatchEnd = "Timeout", status?: Status): void {
    w.frame(0x68, () => {
      w.uvarint(watch);
      w.byte(watchEnds.indexOf(end));
      writeStatus(w, status);
    });
  },
  /** Writes a patch that resets the window to these rows. */
  rows(w: Writer, view: number, rows: FakeItem[], options: { rv?: number; offset?: number } = {}): void {
    say.patch(w, view, [[0, 0, rows]], { ...options, reset: true, total: rows.length });
  },
  patch(w: Writer, view: number, edits: [keep: number, remove: number, insert: FakeItem[]][], { rv = 1, offset = 0, reset = false, total = 1 } = {}): void {
    w.frame(0x69, () => {
      w.uvarint(view);
      w.uvarint(rv);
      w.uvarint(total);
      w.uvarint(offset);
      w.uvarint(0);
      w.bool(reset);
      w.uvarint(edits.length);
      for (const [keep, remove, insert] of edits) {
        w.uvarint(keep);
        w.uvarint(remove);
        w.uvarint(insert.length);
        for (const item of insert) writeItem(w, item);
      }
    });
  },
  rejected(w: Writer, object: 0 | 1 | 2 | 3, id: number, status: Status): void {
    w.frame(0x6a, () => {
      w.byte(object);
      w.uvarint(id);
      writeStatus(w, status);
    });
  },
  object(w: Writer, request: number, item: FakeItem): void {
    w.frame(0x6b, () => {
      w.uvarint(request);
      writeItem(w, item);
    });
  },
  list(w: Writer, request: number, items: FakeItem[], { rv = 1, continue: rest = "" } = {}): void {
    w.frame(0x6c, () => {
      w.uvarint(request);
      w.uvarint(rv);
      w.text(rest);
      w.uvarint(0);
      w.uvarint(items.length);
      for (const item of items) writeItem(w, item);
    });
  },
  inspect(w: Writer, request: number, name: string, value: number): void {
    w.frame(0x6d, () => {
      w.uvarint(request);
      w.uvarint(1);
      w.text(name);
      w.uvarint(2 * value);
    });
  },
  error(w: Writer, request: number, status: Status): void {
    w.frame(0x6e, () => {
      w.uvarint(request);
      writeStatus(w, status);
    });
  },
  changed(w: Writer, handle: number, item: FakeItem | undefined, rv = 1): void {
    w.frame(0x6f, () => {
      w.uvarint(handle);
      w.uvarint(rv);
      w.bool(item !== undefined);
      if (item) writeItem(w, item);
    });
  },
  objectState(w: Writer, handle: number, state: number, status?: Status): void {
    w.frame(0x70, () => {
      w.uvarint(handle);
      w.byte(state);
      writeStatus(w, status);
    });
  },
  wakeAt(w: Writer, millis: number): void {
    w.frame(0x63, () => w.uvarint(2 * millis));
  },
  openStream(w: Writer, stream: number): void {
    w.frame(0x60, () => w.uvarint(stream));
  },
  sendStream(w: Writer, stream: number, data: Uint8Array): void {
    w.frame(0x61, () => {
      w.uvarint(stream);
      w.bytes(data);
    });
  },
};

export function writeSchema(w: Writer, columns = ["Phase"]): void {
  for (const text of ["", "v1", "pods", "Pod"]) w.text(text);
  w.bool(true);
  w.uvarint(2);
  w.text("metadata.name");
  w.text("metadata.namespace");
  w.uvarint(columns.length);
  for (const name of columns) {
    w.text(name);
    w.byte(5);
    w.text(`.status.${name.toLowerCase()}`);
    w.byte(0);
    w.text("");
    w.text("");
  }
}

export function writeEnvelope(w: Writer, { key, uid = `uid-${key}`, fields = [], cells = [], body }: FakeItem): void {
  const inner = new Writer();
  inner.uvarint(fields.length);
  for (const field of fields) longText(inner, field, 2);
  inner.uvarint(cells.length);
  for (const cell of cells) {
    if (typeof cell !== "string") throw new Error("a fake has cells of text");
    inner.byte(5);
    inner.text(cell);
  }
  const envelope = new Writer();
  envelope.text(key);
  longText(envelope, uid, 1);
  envelope.bytes(inner.take());
  envelope.byte(body === undefined ? 0 : 1);
  const head = envelope.take();
  const tail = body === undefined ? new Uint8Array() : new TextEncoder().encode(JSON.stringify(body));
  const whole = new Uint8Array(head.length + tail.length);
  whole.set(head);
  whole.set(tail, head.length);
  w.bytes(whole);
}

/**
 * Writes the length of a string, increased by `taken`, and then the string. Lengths below `taken`
 * have another meaning in the encoding.
 */
function longText(w: Writer, text: string, taken: number): void {
  const bytes = new TextEncoder().encode(text);
  w.uvarint(bytes.length + taken);
  for (const byte of bytes) w.byte(byte);
}

function writeItem(w: Writer, item: FakeItem): void {
  w.uvarint(item.rv ?? 1);
  w.byte(item.flags ?? 0);
  const labels = item.labels ?? [];
  w.uvarint(labels.length);
  for (const [key, value] of labels) {
    w.text(key);
    w.text(value);
  }
  writeEnvelope(w, item);
}

function writeStatus(w: Writer, s?: Status): void {
  w.uvarint(s?.code ?? 0);
  w.text(s?.reason ?? "");
  w.text(s?.message ?? "");
  w.text("");
  w.uvarint(0);
  w.text("");
}

/** A connector that records connections and never responds. */
export class FakeNetwork {
  readonly dials: { url: string; events: StreamEvents; sent: Uint8Array[]; closed: string | undefined }[] = [];
  readonly dial: Dial = (url, events) => {
    const stream = { url, events, sent: [] as Uint8Array[], closed: undefined as string | undefined };
    this.dials.push(stream);
    return { send: (m) => void stream.sent.push(m), close: (m) => void (stream.closed = m) };
  };
}

/** Starts an engine with fake guests. `guest` returns the newest guest. */
export async function fakeEngine(options: Partial<EngineOptions> = {}): Promise<{ engine: Engine; guests: FakeGuest[]; network: FakeNetwork; guest(): FakeGuest }> {
  const guests: FakeGuest[] = [];
  const network = new FakeNetwork();
  const engine = await Engine.start({
    ...options,
    url: "wss://test/watch",
    dial: network.dial,
    guest: async () => {
      guests.push(new FakeGuest());
      return guests.at(-1)!;
    },
  });
  return { engine, guests, network, guest: () => guests.at(-1)! };
}

export function clientAt(engine: Engine, token = "t0ken"): Promise<Client> {
  return Client.attach((events) => engine.attach(events), async () => token);
}

/**
 * Writes output of the guest and makes the engine read it. To do so, the function sends a Reconnect
 * command, because the engine reads the guest's output after each command.
 */
export async function speak(client: Client, guest: FakeGuest, write: (w: Writer) => void): Promise<void> {
  write(guest.out);
  client.reconnect();
  await turn();
}

/** Waits until all due tasks have run. */
export async function turn(): Promise<void> {
  for (let i = 0; i < 3; i++) await new Promise((resolve) => setImmediate(resolve));
}

/**
 * Opens the collection of pods with a fake engine. `last` returns the ID of the last command with a
 * given name, and `respond` writes output of the guest.
 */
export async function fakePods() {
  const fake = await fakeEngine();
  const client = await clientAt(fake.engine);
  const pods = client.collection("v1/pods");
  await turn();
  const last = (name: Command["type"]): number => fake.guest().last(name).id;
  const respond = (write: Parameters<typeof speak>[2]): Promise<void> => speak(client, fake.guest(), write);
  return { ...fake, client, pods, id: last("OpenCollection"), last, respond };
}

export { GuestError };
