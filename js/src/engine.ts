import { Clock } from "./clock.js";
import { internalError, messageOf } from "./errors.js";
import { GuestError, type Guest } from "./guest.js";
import type { AnswerEvents, Ask } from "./kubernetes.js";
import type { Dial, Stream, StreamEvents } from "./transport.js";
import { concat, Reader, split, Writer, type Frame } from "./wire/codec.js";
import { commandTypes, writeCommand, type Command } from "./wire/commands.js";
import { readOutput, recipient, type Output } from "./wire/outputs.js";

/** Ids of one member lie in a block of this many, so that an id tells whose it is. */
export const idsPerMember = 0x10000;

/** Commands are gathered into one step up to this many bytes. */
export const batchBytes = 1 << 20;
/** And messages of a stream up to this many, which is some milliseconds of snapshot. */
const stepBytes = 1 << 17;

/** An engine that broke this often in a row waits this long, at most, before the next. */
const maxRestartDelay = 30_000;
const minRestartDelay = 250;
/** After this long without breaking, the waiting starts over. */
const restartReset = 120_000;

const defaultTokenMillis = 2_000;

/** What the engine tells one of the programs that share it. */
export interface MemberEvents {
  /** Whole frames, which the member owns from then on. */
  frames(frames: Uint8Array<ArrayBuffer>): void;
  /** Takes one frame at a time instead, in the same isolate and uncopied: it aliases what came out of the engine. */
  frame?(frame: Frame): void;
  /**
   * The engine broke and a new, empty one takes its place: whatever was open
   * or asked for has to be said again. Commands sent before this are lost.
   */
  restarted(message: string): void;
  /** The member sent something that cannot be understood. It is no longer one. */
  failed(message: string): void;
  /** The worker with the engine stopped answering, and is replaced: what is known may be old. */
  silent?(message: string): void;
  /** Asks for the token to connect with. */
  token(): Promise<string>;
}

/** A place at the engine. */
export interface Seat {
  /** The member chooses its ids from {@link idsPerMember} times this. */
  readonly member: number;
  /** Whole frames, which are the engine's from then on. */
  send(frames: Uint8Array<ArrayBuffer>): void;
  /** Closes everything the member has open. Idempotent. */
  leave(): void;
}

export interface EngineOptions {
  url: string;
  dial: Dial;
  /** For a guest that reads Kubernetes itself. */
  ask?: Ask;
  /** Makes a guest; called again after one broke. */
  guest: () => Promise<Guest>;
  /** Sees to it that {@link Engine.tick} is called by then, in milliseconds since the epoch; the newest time counts. Default: a timer. */
  wake?: (millis: number) => void;
  /** The program calls {@link Engine.flush} itself when it has handed over what a stream brought. Default: a task of its own does. */
  prompt?: boolean;
  /** How long one member may take to return a token, before the next one is asked. Default 2000. */
  tokenMillis?: number;
}

interface Member {
  readonly events: MemberEvents;
  readonly collections: Set<number>;
  readonly handles: Set<number>;
}

/**
 * Drives one guest for one origin: carries out what it asks for, feeds it what
 * comes back, and hands its deliveries to the members they are for. A guest
 * that breaks is replaced.
 */
export class Engine {
  readonly #options: EngineOptions;
  readonly #members = new Map<number, Member>();
  readonly #streams = new Map<number, Stream | undefined>();
  readonly #inbox = new Writer();
  readonly #schedule = eachTask(() => this.flush());
  #guest: Guest | undefined;
  #commands: [member: number, frames: Uint8Array][] = [];
  #wake: ReturnType<typeof setTimeout> | undefined;
  #restart: ReturnType<typeof setTimeout> | undefined;
  readonly #clock = new Clock();
  #breaks = 0;
  #brokeAt = 0;
  #closed = false;
  #lastToken: string | undefined;

  private constructor(options: EngineOptions, guest: Guest) {
    this.#options = options;
    this.#guest = guest;
  }

  /** Rejects when no guest can be made. */
  static async start(options: EngineOptions): Promise<Engine> {
    return new Engine(options, await options.guest());
  }

  /** Bytes of memory that the guest has taken. */
  get memoryBytes(): number {
    return this.#guest?.memoryBytes ?? 0;
  }

  get members(): number {
    return this.#members.size;
  }

  /**
   * Gives a program its place; under the number that it had at an engine
   * before, if it asks for that.
   */
  attach(events: MemberEvents, wanted?: number): Seat {
    const member = wanted ?? this.#newMember();
    if (this.#members.has(member)) throw internalError("the place at the engine is taken; reload the page");
    this.#members.set(member, { events, collections: new Set(), handles: new Set() });
    return {
      member,
      send: (frames) => this.#command(member, frames),
      leave: () => this.#leave(member),
    };
  }

  /** A number at random, so that those who come again after a worker died find theirs free. */
  #newMember(): number {
    if (this.#members.size > 1000) throw internalError("more than a thousand programs share this engine");
    for (;;) {
      const member = crypto.getRandomValues(new Uint16Array(1))[0]!;
      if (member > 0 && !this.#members.has(member)) return member;
    }
  }

  /** Ends the guest and its streams. Members hear nothing more. Idempotent. */
  close(): void {
    if (this.#closed) return;
    this.#closed = true;
    this.#discard("the program closed the connection");
    clearTimeout(this.#restart);
    this.#members.clear();
    this.#schedule.close();
  }

  #leave(member: number): void {
    const left = this.#members.get(member);
    if (!left) return;
    this.#members.delete(member);
    const w = new Writer();
    for (const collection of left.collections) writeCommand(w, { type: "CloseCollection", collection });
    for (const handle of left.handles) writeCommand(w, { type: "ReleaseObject", handle });
    if (w.length > 0) this.#run((guest) => guest.step(w.take()));
  }

  #command(member: number, frames: Uint8Array): void {
    const sender = this.#members.get(member);
    if (!sender) return;
    if (!this.#guest) {
      this.#commands.push([member, frames]);
      return;
    }
    this.#run((guest) => {
      try {
        for (const frame of split(frames)) noteOpen(sender, frame.type, frame.payload);
        guest.step(frames);
      } catch (error) {
        if (error instanceof GuestError && error.poisoned) throw error;
        this.#leave(member);
        sender.events.failed(messageOf(error));
      }
    });
  }

  /** Lets the guest act and carries out what comes of it. */
  #run(act: (guest: Guest) => void): void {
    if (!this.#guest) return;
    try {
      this.#guest.tick(this.#clock.now());
      act(this.#guest);
      this.#deliver();
    } catch (error) {
      this.#break(messageOf(error));
    }
  }

  #deliver(): void {
    // An intent may break the guest or end the engine, so ask each time.
    for (let out; (out = this.#guest?.take()); ) {
      const parcels = new Map<number, Uint8Array[]>();
      for (const frame of split(out)) {
        const id = recipient(frame);
        if (id === undefined) {
          const intent = readOutput(frame);
          if (intent) this.#carryOut(intent);
          continue;
        }
        const member = Math.floor(id / idsPerMember);
        const { events } = this.#members.get(member) ?? {};
        if (events?.frame) {
          events.frame(frame);
          continue;
        }
        const parcel = parcels.get(member);
        if (parcel) parcel.push(frame.bytes);
        else parcels.set(member, [frame.bytes]);
      }
      for (const [member, parcel] of parcels) this.#members.get(member)?.events.frames(concat(parcel));
    }
  }

  #carryOut(intent: Output): void {
    switch (intent.type) {
      case "OpenStream":
        this.#streams.set(intent.stream, undefined);
        void this.#open(intent.stream);
        return;
      case "Fetch":
        this.#streams.set(intent.stream, undefined);
        void this.#fetch(intent.stream, intent.path);
        return;
      case "SendStream":
        this.#streams.get(intent.stream)?.send(intent.data);
        return;
      case "CloseStream":
        this.#streams.get(intent.stream)?.close(intent.message);
        this.#streams.delete(intent.stream);
        return;
      case "WakeAt":
        if (this.#options.wake) return this.#options.wake(intent.millis);
        clearTimeout(this.#wake);
        this.#wake = setTimeout(() => this.tick(), Math.min(Math.max(0, intent.millis - this.#clock.now()), 0x7fff_ffff));
        return;
    }
  }

  async #open(stream: number): Promise<void> {
    await this.#begin(stream, (token, current) => {
      const events: StreamEvents = {
        opened: () => current() && this.#hear({ type: "StreamOpened", stream, token }),
        data: (data) => current() && this.#hear({ type: "StreamData", stream, data }),
        closed: (message) => current() && this.#ended(stream, message),
      };
      return this.#options.dial(this.#options.url, events, token);
    });
  }

  async #fetch(stream: number, path: string): Promise<void> {
    await this.#begin(stream, (token, current) => {
      const events: AnswerEvents = {
        head: (code, retryAfterSeconds) => current() && this.#hear({ type: "Fetched", stream, code, retryAfterSeconds }),
        data: (piece) => current() && this.#pass(stream, piece),
        closed: (message) => current() && this.#ended(stream, message),
      };
      return this.#options.ask?.(this.#options.url, path, token, events);
    });
  }

  /** Begins a stream with a token, unless it is not wanted any more by then. */
  async #begin(stream: number, begin: (token: string, current: () => boolean) => Stream | undefined): Promise<void> {
    const guest = this.#guest;
    const current = (): boolean => this.#guest === guest && this.#streams.has(stream);
    let token: string;
    try {
      token = await this.#token();
    } catch (error) {
      if (current()) this.#ended(stream, `no token to connect with: ${messageOf(error)}`);
      return;
    }
    if (current()) this.#streams.set(stream, begin(token, current));
  }

  #ended(stream: number, message: string): void {
    this.#hear({ type: "StreamClosed", stream, message });
    this.#streams.delete(stream);
  }

  /**
   * Asks the members for a token, the newest one first, which has the freshest.
   * A member that does not answer in time, such as a page that shows a dialog, is
   * passed over. When none answers, the last token that came serves again.
   */
  async #token(): Promise<string> {
    let failure: unknown = new Error("no page is connected");
    for (const member of [...this.#members.values()].reverse()) {
      const answer = Promise.resolve(member.events.token());
      answer.then((token) => (this.#lastToken = token)).catch(() => {}); // a late one serves the next connection
      try {
        return await within(answer, this.#options.tokenMillis ?? defaultTokenMillis);
      } catch (error) {
        failure = error;
      }
    }
    if (this.#lastToken !== undefined) return this.#lastToken;
    throw failure;
  }

  /** Takes down what was heard of a stream, for one step together with what else comes now. */
  #hear(command: Command): void {
    // A step has room for one message of any size, not for more than that.
    if (this.#inbox.length + (command.type === "StreamData" ? command.data.length : 0) > stepBytes) this.flush();
    writeCommand(this.#inbox, command);
    if (!this.#options.prompt) this.#schedule.run();
  }

  /** Hands a piece of a body to the guest as it is, behind what was heard before. */
  #pass(stream: number, piece: Uint8Array): void {
    this.flush();
    this.#run((guest) => guest.stepData(stream, piece));
  }

  /** Tells the engine the time, and what was heard of streams. */
  tick(): void {
    this.flush();
    this.#run(() => {});
  }

  /** Tells the engine now what was heard of streams, instead of in a task of its own. */
  flush(): void {
    if (this.#inbox.length === 0) return;
    const frames = this.#inbox.take();
    this.#run((guest) => {
      try {
        guest.step(frames);
      } catch (error) {
        if (!(error instanceof GuestError) || error.poisoned) throw error;
        // What a stream brought cannot be understood, so it ends.
        const w = new Writer();
        for (const [stream, open] of this.#streams) {
          open?.close(error.message);
          writeCommand(w, { type: "StreamClosed", stream, message: error.message });
        }
        this.#streams.clear();
        guest.step(w.take());
      }
    });
  }

  /** The guest is broken: everything it had open is void. */
  #break(message: string): void {
    if (this.#closed || !this.#guest) return;
    console.error(`watchglass: the engine is restarted: ${message}`);
    this.#discard("the reader restarts");
    this.#replaceSoon();
    for (const { events, collections, handles } of [...this.#members.values()]) {
      collections.clear();
      handles.clear();
      events.restarted(message);
    }
  }

  #replaceSoon(): void {
    const now = Date.now();
    this.#breaks = now - this.#brokeAt < restartReset ? this.#breaks + 1 : 0;
    this.#brokeAt = now;
    const delay = this.#breaks === 0 ? 0 : Math.min(minRestartDelay * 2 ** (this.#breaks - 1), maxRestartDelay);
    this.#restart = setTimeout(() => void this.#replace(), delay);
  }

  async #replace(): Promise<void> {
    try {
      const guest = await this.#options.guest();
      if (this.#closed) return guest.close();
      this.#guest = guest;
    } catch (error) {
      console.error(`watchglass: the engine cannot be restarted yet: ${messageOf(error)}`);
      return this.#replaceSoon();
    }
    const commands = this.#commands;
    this.#commands = [];
    for (const [member, frames] of commands) this.#command(member, frames);
  }

  #discard(message: string): void {
    const guest = this.#guest;
    this.#guest = undefined;
    this.#commands = [];
    this.#inbox.take();
    clearTimeout(this.#wake);
    for (const stream of this.#streams.values()) stream?.close(message);
    this.#streams.clear();
    try {
      guest?.close();
    } catch {
      // It is thrown away in any case.
    }
  }
}

/** Keeps the sets of what a member has open, as far as it takes to clean up after it. */
function noteOpen({ collections, handles }: Member, type: number, payload: Uint8Array): void {
  if (type === commandTypes.OpenCollection) collections.add(new Reader(payload, "OpenCollection").uint32());
  if (type === commandTypes.CloseCollection) collections.delete(new Reader(payload, "CloseCollection").uint32());
  if (type === commandTypes.AcquireObject) handles.add(new Reader(payload, "AcquireObject").uint32());
  if (type === commandTypes.ReleaseObject) handles.delete(new Reader(payload, "ReleaseObject").uint32());
}

/** Resolves as a promise does, unless that takes too long. */
function within(answer: Promise<string>, millis: number): Promise<string> {
  return new Promise((resolve, reject) => {
    const late = setTimeout(() => reject(new Error(`a page did not return a token within ${millis / 1000} s`)), millis);
    answer.then(resolve, reject).finally(() => clearTimeout(late));
  });
}

/** Runs a function in a task of its own, however often it is asked for before that. */
function eachTask(act: () => void): { run(): void; close(): void } {
  let due = false;
  const fire = (): void => {
    due = false;
    act();
  };
  if (typeof setImmediate === "function") {
    return { run: () => void (due ||= (setImmediate(fire), true)), close() {} };
  }
  // A message comes round sooner than a timer, which browsers hold back.
  const { port1, port2 } = new MessageChannel();
  port1.onmessage = fire;
  return { run: () => void (due ||= (port2.postMessage(0), true)), close: () => port1.close() };
}
