import { Clock } from "./clock.js";
import { next, nextVisibility, started, type EngineEvent, type EngineState, type Visibility } from "./engine-state.js";
import { messageOf } from "./errors.js";
import { GuestError, type Guest } from "./guest.js";
import type { AnswerEvents, OpenRequest } from "./kubernetes.js";
import { idsPerMember, type MemberEvents, type Membership } from "./member.js";
import { Members, noteOpen } from "./members.js";
import type { Persistence } from "./persistence/persistence.js";
import type { Dial, Stream, StreamEvents } from "./transport.js";
import { concat, split, Writer } from "./wire/codec.js";
import { writeCommand, type Command } from "./wire/driver-commands.js";
import { readOutput, recipient, type Output } from "./wire/driver-outputs.js";

/**
 * The maximum total size of the stream messages in one step, in bytes. A step of this size takes a
 * few milliseconds.
 */
const stepBytes = 1 << 17;

const defaultTokenMillis = 2_000;

/**
 * The maximum delay of a timer while a stream is open, in milliseconds. It bounds how late the
 * engine detects that the machine slept.
 */
const beatMillis = 5_000;
const sleptMessage = "the machine slept, so the connection is renewed";

const defaultPauseMillis = 60_000;
const pausedMessage = "paused while all pages are hidden";

/** The type of the InspectReply frame, to which {@link Persistence} adds its own statistics. */
const inspectReply = 0x6d;

/**
 * The maximum delay of a timer, in milliseconds. With a longer delay, setTimeout fires immediately.
 */
const maxTimer = 0x7fff_ffff;

export interface EngineOptions {
  url: string;
  dial: Dial;
  /** Sends requests for a guest that reads Kubernetes itself. */
  request?: OpenRequest;
  /** Creates a guest. Called again after a guest has failed. */
  guest: () => Promise<Guest>;
  /**
   * Schedules a call of {@link Engine.tick} at the given time, in milliseconds since the epoch. The
   * new time replaces the previous one, and 0 cancels the scheduled call. Default: a timer.
   */
  wake?: (millis: number) => void;
  /**
   * Whether the program itself calls {@link Engine.flush} after it has reported the events of a
   * stream. By default, the engine flushes in a separate task.
   */
  flushes?: boolean;
  /**
   * How long the engine waits for a token from one member before it asks the next member, in
   * milliseconds. Default 2000.
   */
  tokenMillis?: number;
  /**
   * How long all members must be hidden before the engine closes its connections, in milliseconds.
   * Default 60,000; Infinity keeps them open.
   */
  pauseMillis?: number;
  /** Stores and restores the collections. Closing the engine also closes this object. */
  persistence?: Persistence | undefined;
}

/**
 * The driver of one guest for one connector or Kubernetes API. The engine executes the guest's
 * intents, passes the results back, and routes deliveries to the members. It replaces a guest that
 * fails.
 */
export class Engine {
  readonly #options: EngineOptions;
  readonly #members = new Members();
  readonly #streams = new Map<number, Stream | undefined>();
  readonly #inbox = new Writer();
  readonly #schedule = eachTask(() => this.flush());
  /** Schedules a tick, in which the guest continues work that it has split into several calls. */
  readonly #continue = eachTask(() => this.tick());
  #state: EngineState;
  #visibility: Visibility = "visible";
  #wake: ReturnType<typeof setTimeout> | undefined;
  #restart: ReturnType<typeof setTimeout> | undefined;
  readonly #clock = new Clock();
  /** The `sleeps` count of the clock when the streams were last renewed. */
  #sleeps = 0;
  #pause: ReturnType<typeof setTimeout> | undefined;

  private constructor(options: EngineOptions, guest: Guest) {
    this.#options = options;
    this.#state = started(guest);
    options.persistence?.start({ send: (frames) => this.#run((guest) => guest.step(frames)) });
  }

  /** Starts an engine with a new guest. Rejects if no guest can be created. */
  static async start(options: EngineOptions): Promise<Engine> {
    return new Engine(options, await options.guest());
  }

  get #guest(): Guest | undefined {
    return this.#state.name === "running" ? this.#state.guest : undefined;
  }

  /** Changes the state, and returns the previous one. */
  #enter(event: EngineEvent): EngineState {
    const previous = this.#state;
    this.#state = next(previous, event);
    return previous;
  }

  /** The memory of the guest in bytes; 0 while no guest is running. */
  get memoryBytes(): number {
    return this.#guest?.memoryBytes ?? 0;
  }

  get members(): number {
    return this.#members.size;
  }

  /**
   * Adds a member, and returns its membership. `wanted` is the number that the member had in a
   * previous engine, if any. Throws if that number is in use.
   */
  attach(events: MemberEvents, wanted?: number): Membership {
    const member = this.#members.add(events, wanted);
    this.#checkHidden();
    return {
      member,
      send: (frames) => this.#command(member, frames),
      hide: (hidden) => this.#hide(member, hidden),
      leave: () => this.#leave(member),
    };
  }

  /** Closes the guest and its streams. Members receive no further output. Idempotent. */
  close(): void {
    const previous = this.#enter({ type: "closed" });
    if (previous.name === "closed") return;
    this.#discard(previous, "the program closed the connection");
    clearTimeout(this.#restart);
    clearTimeout(this.#pause);
    this.#members.clear();
    this.#schedule.close();
    this.#continue.close();
    this.#options.persistence?.close();
  }

  #leave(member: number): void {
    const left = this.#members.get(member);
    if (!left) return;
    this.#members.remove(member);
    this.#checkHidden();
    const w = new Writer();
    for (const collection of left.collections) writeCommand(w, { type: "CloseCollection", collection });
    for (const handle of left.handles) writeCommand(w, { type: "ReleaseObject", handle });
    if (w.length > 0) this.#run((guest) => guest.step(w.take()));
    for (const collection of left.collections) this.#options.persistence?.leave(collection);
  }

  #hide(member: number, hidden: boolean): void {
    const found = this.#members.get(member);
    if (!found) return;
    found.hidden = hidden;
    if (hidden) this.#options.persistence?.flush();
    this.#checkHidden();
  }

  /**
   * Starts the timer for the pause when the last visible member is hidden, and ends the
   * pause when one becomes visible.
   */
  #checkHidden(): void {
    if (this.#members.size === 0) return;
    const { pauseMillis = defaultPauseMillis } = this.#options;
    const previous = this.#visibility;
    this.#visibility = nextVisibility(previous, this.#members.hidden ? "hidden" : "shown");
    if (this.#visibility === previous) return;
    clearTimeout(this.#pause);
    if (this.#visibility === "hidden" && pauseMillis <= maxTimer) this.#pause = setTimeout(() => this.#startPause(), pauseMillis);
    if (previous === "paused") this.#reconnect();
  }

  /** Closes all streams. Attempts to open a stream fail until the pause ends. */
  #startPause(): void {
    this.#visibility = nextVisibility(this.#visibility, "elapsed");
    this.#closeStreams(pausedMessage);
  }

  #closeStreams(why: string): void {
    for (const [stream, open] of [...this.#streams]) {
      open?.close(why);
      this.#ended(stream, why);
    }
  }

  #reconnect(): void {
    const w = new Writer();
    writeCommand(w, { type: "Reconnect" });
    this.flush();
    this.#run((guest) => guest.step(w.take()));
  }

  #command(member: number, frames: Uint8Array): void {
    const sender = this.#members.get(member);
    if (!sender) return;
    if (this.#state.name === "restarting") {
      this.#enter({ type: "command", member, frames });
      return;
    }
    this.#run((guest) => {
      try {
        for (const { type, payload } of split(frames)) noteOpen(sender, type, payload);
        this.#step(guest, frames);
      } catch (error) {
        if (error instanceof GuestError && error.poisoned) throw error;
        this.#leave(member);
        sender.events.failed(messageOf(error));
      }
    });
  }

  /** Passes commands of members first to {@link Persistence} and then to the guest. */
  #step(guest: Guest, frames: Uint8Array): void {
    const { persistence } = this.#options;
    if (persistence) for (const frame of split(frames)) persistence.note(frame, (own) => guest.step(own));
    guest.step(frames);
  }

  /**
   * Advances the clock of the guest, runs a function on the guest, and processes the guest's
   * output. If any of these steps throws, the guest is replaced.
   */
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
    // An intent may break the guest or end the engine, so each iteration reads #guest again.
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
        const { persistence } = this.#options;
        if (member === 0) {
          persistence?.receive(frame);
          continue;
        }
        const { events } = this.#members.get(member) ?? {};
        if (events?.frame) {
          events.frame(frame);
          continue;
        }
        const bytes = persistence && frame.type === inspectReply ? persistence.inspect(frame) : frame.bytes;
        const parcel = parcels.get(member);
        if (parcel) parcel.push(bytes);
        else parcels.set(member, [bytes]);
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
        return this.#wakeAt(intent.millis);
    }
  }

  /**
   * Schedules a tick at the given clock time; zero cancels the scheduled tick. Timers of Node and
   * browsers may fire a millisecond early. The guest does not repeat its request, so the timer is
   * then set again.
   */
  #wakeAt(millis: number): void {
    clearTimeout(this.#wake);
    if (millis === 0) return;
    const now = this.#clock.now();
    if (millis <= now) return this.#continue.run(); // browsers delay timers that are set repeatedly
    const wait = Math.min(Math.max(0, millis - now), this.#streams.size > 0 ? beatMillis : maxTimer);
    this.#wake = setTimeout(() => {
      this.#clock.fired(now + wait);
      if (this.#clock.now() < millis) this.#wakeAt(millis);
      else this.tick();
      this.#checkSleep();
    }, wait);
  }

  /**
   * Renews the streams after the machine slept. The old streams are usually dead by then, and the
   * guest would notice this only after a period of silence. Collections resume without a new list.
   */
  #checkSleep(): void {
    if (this.#sleeps === this.#clock.sleeps) return;
    this.#sleeps = this.#clock.sleeps;
    if (this.#visibility === "paused") return;
    this.#closeStreams(sleptMessage);
    this.#reconnect();
  }

  async #open(stream: number): Promise<void> {
    await this.#begin(stream, (token, current) => {
      const events: StreamEvents = {
        opened: () => current() && this.#queue({ type: "StreamOpened", stream, token }),
        data: (data) => current() && this.#queue({ type: "StreamData", stream, data }),
        closed: (message) => current() && this.#ended(stream, message),
      };
      return this.#options.dial(this.#options.url, events, token);
    });
  }

  async #fetch(stream: number, path: string): Promise<void> {
    await this.#begin(stream, (token, current) => {
      const events: AnswerEvents = {
        head: (code, retryAfterSeconds) => current() && this.#queue({ type: "Fetched", stream, code, retryAfterSeconds }),
        data: (piece) => current() && this.#passBody(stream, piece),
        closed: (message) => current() && this.#ended(stream, message),
      };
      return this.#options.request?.(this.#options.url, path, token, events);
    });
  }

  /**
   * Fetches a token and begins a stream, unless the stream is closed or the guest is replaced in
   * the meantime.
   */
  async #begin(stream: number, begin: (token: string, current: () => boolean) => Stream | undefined): Promise<void> {
    const guest = this.#guest;
    const current = (): boolean => this.#guest === guest && this.#streams.has(stream);
    if (this.#visibility === "paused") return this.#ended(stream, pausedMessage);
    let token: string;
    try {
      token = await this.#members.token(this.#options.tokenMillis ?? defaultTokenMillis);
    } catch (error) {
      if (current()) this.#ended(stream, `no token to connect with: ${messageOf(error)}`);
      return;
    }
    if (current()) this.#streams.set(stream, begin(token, current));
  }

  #ended(stream: number, message: string): void {
    this.#queue({ type: "StreamClosed", stream, message });
    this.#streams.delete(stream);
  }

  /** Queues a stream event. The events of one JavaScript task reach the guest in one step. */
  #queue(command: Command): void {
    // A message that does not fit into the current step starts a new one, even if the message alone
    // exceeds stepBytes.
    if (this.#inbox.length + (command.type === "StreamData" ? command.data.length : 0) > stepBytes) this.flush();
    writeCommand(this.#inbox, command);
    if (!this.#options.flushes) this.#schedule.run();
  }

  /**
   * Passes a piece of a body to the guest after the queued events. The piece is copied
   * only once, into the guest.
   */
  #passBody(stream: number, piece: Uint8Array): void {
    this.flush();
    this.#run((guest) => guest.stepData(stream, piece));
  }

  /** Passes the queued events of streams to the guest, and then advances the guest's clock. */
  tick(): void {
    this.flush();
    this.#run(() => {});
  }

  /** Passes the queued events of streams to the guest immediately. */
  flush(): void {
    if (this.#inbox.length === 0) return;
    const frames = this.#inbox.take();
    this.#run((guest) => {
      try {
        guest.step(frames);
      } catch (error) {
        if (!(error instanceof GuestError) || error.poisoned) throw error;
        // A stream sent malformed data, so all streams are closed.
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

  /**
   * Replaces a broken guest. All resources that were open in the old guest are lost, and the
   * members open them again.
   */
  #break(message: string): void {
    if (this.#state.name !== "running") return;
    console.error(`watchglass: the engine is restarted: ${message}`);
    this.#discard(this.#enter({ type: "failed", now: Date.now() }), "the reader restarts");
    this.#replaceSoon();
    this.#options.persistence?.restarted();
    for (const { events, collections, handles } of this.#members.list()) {
      collections.clear();
      handles.clear();
      events.restarted(message);
    }
  }

  #replaceSoon(): void {
    if (this.#state.name === "restarting") this.#restart = setTimeout(() => void this.#replace(), this.#state.delay);
  }

  async #replace(): Promise<void> {
    let guest: Guest;
    try {
      guest = await this.#options.guest();
    } catch (error) {
      console.error(`watchglass: the engine cannot be restarted yet: ${messageOf(error)}`);
      this.#enter({ type: "failed", now: Date.now() });
      return this.#replaceSoon();
    }
    const previous = this.#enter({ type: "created", guest });
    if (previous.name !== "restarting") return guest.close();
    for (const [member, frames] of previous.waiting) this.#command(member, frames);
  }

  /** Closes the guest of a previous state and all streams. */
  #discard(previous: EngineState, message: string): void {
    this.#inbox.take();
    clearTimeout(this.#wake);
    for (const stream of this.#streams.values()) stream?.close(message);
    this.#streams.clear();
    try {
      if (previous.name === "running") previous.guest.close();
    } catch {
      // Ignore the error, because the guest is discarded anyway.
    }
  }
}

/**
 * Returns a scheduler that runs a function in a separate task. All calls of `run` before that task
 * result in one call of the function.
 */
function eachTask(act: () => void): { run(): void; close(): void } {
  let due = false;
  const fire = (): void => {
    due = false;
    act();
  };
  // setImmediate is read as a property, because bundlers that add polyfills replace the global
  // name.
  const { setImmediate: immediately } = globalThis as { setImmediate?: (act: () => void) => void };
  if (immediately) return { run: () => void (due ||= (immediately(fire), true)), close() {} };
  // A message arrives sooner than a timer fires, because browsers throttle timers.
  const { port1, port2 } = new MessageChannel();
  port1.onmessage = fire;
  return { run: () => void (due ||= (port2.postMessage(0), true)), close: () => port1.close() };
}
