// Keeps the collections of an engine open that the guest gives up although they may work
// later, and delays requests whose outcome is being decided.

import type { Status } from "./types.js";
import { concat, Reader, split, Writer, type Frame } from "./wire/codec.js";
import { memberCommands as commands } from "./wire/commands.js";
import { readDelivery, rejectables, states, watchEnds, type Delivery } from "./wire/outputs.js";
import { writeStatus } from "./wire/status.js";

/** The delays between the attempts to open a collection of an absent resource, in milliseconds. */
const minDelay = 5_000;
const maxDelay = 30_000;
/** The delays are up to this share longer, so that readers do not return all at once. */
const jitter = 0.2;
/** Attempts that are due within this time are made together, in milliseconds. */
const togetherMillis = 1_000;

const [openCollection] = commands.OpenCollection;
const [closeCollection] = commands.CloseCollection;
const [reconnect] = commands.Reconnect;
/** Commands whose payload starts with their own ID and that of a collection. */
const ofCollection = new Set<number>([commands.OpenView[0], commands.OpenWatch[0], commands.Get[0], commands.List[0], commands.TakeSnapshot[0]]);
const opening = new Map<number, "view" | "watch">([[commands.OpenView[0], "view"], [commands.OpenWatch[0], "watch"]]);
const closing = new Set<number>([commands.CloseView[0], commands.CloseWatch[0]]);

const outputs = { CollectionState: 0x64, WatchClosed: 0x68, Rejected: 0x6a } as const;

type CollectionState = Delivery & { type: "CollectionState" };

/** A collection of a member. */
interface Opened {
  readonly id: number;
  /** The command that opens it, without a state to restore. */
  readonly command: Uint8Array;
  /** Its open views and watches. */
  readonly children: Map<number, "view" | "watch">;
  /** The access is refused: at present, or until an attempt that is under way is decided. */
  access: "open" | "refused" | "checking";
  /** The commands that wait for the outcome of that attempt, in their order. */
  held: { id: number; bytes: Uint8Array }[];
  /** When to open the collection again; 0 unless its resource is absent. */
  attemptAt: number;
  /** The attempt is under way. */
  attempting: boolean;
  attempts: number;
  openedAt: number;
}

/** The engine of a gate. */
export interface GateHost {
  /** Passes commands of members to the guest. They do not return to the gate. */
  send(frames: Uint8Array): void;
}

/**
 * Stands between the members of an engine and its guest. It does two things that a guest
 * does not do:
 *
 * - The guest closes a collection whose resource does not exist. The gate reports the
 *   collection as `connecting`, with the 404 and the time of the next attempt, and opens it
 *   again until the resource exists. Views and watches of it end with the 404.
 * - After a 401 or 403, the guest answers requests with that error until an attempt has
 *   succeeded. The gate holds requests that arrive during the attempt, so that they get its
 *   outcome.
 */
export class Gate {
  readonly #opened = new Map<number, Opened>();
  /** The collections of children and of held requests, by their IDs. */
  readonly #parents = new Map<number, Opened>();
  #host: GateHost | undefined;
  #timer: ReturnType<typeof setTimeout> | undefined;
  #paused = false;

  start(host: GateHost): void {
    this.#host = host;
  }

  /** Takes the commands of a member, and returns those for the guest. */
  pass(frames: Uint8Array): Uint8Array {
    const passed: Uint8Array[] = [];
    let same = true;
    for (const frame of split(frames)) {
      if (frame.type === closeCollection) {
        // The replies to held requests precede the end of their collection.
        const held = this.close(new Reader(frame.payload, "CloseCollection").uint32());
        same &&= held.length === 0;
        passed.push(...held);
      }
      if (this.#holds(frame)) same = false;
      else passed.push(frame.bytes);
    }
    return same ? frames : concat(passed);
  }

  /** Takes an output for a member, and returns the bytes to deliver instead, which may be empty. */
  deliver(frame: Frame): Uint8Array {
    if (frame.type === outputs.CollectionState) {
      const state = readDelivery(frame) as CollectionState;
      const opened = this.#opened.get(state.id);
      return opened ? this.#report(opened, state, frame.bytes) : frame.bytes;
    }
    if (frame.type === outputs.WatchClosed || frame.type === outputs.Rejected) {
      const r = new Reader(frame.payload, "output");
      if (frame.type === outputs.Rejected) r.byte();
      this.#forget(r.uint32());
    }
    return frame.bytes;
  }

  /** All refused collections are attempted again, by the guest or by the gate. */
  reconnected(): void {
    for (const opened of this.#opened.values()) {
      if (opened.access === "refused") opened.access = "checking";
      if (opened.attemptAt) opened.attemptAt = Date.now();
    }
    this.#schedule();
  }

  /** Makes no attempts until the end of the pause. */
  pause(paused: boolean): void {
    this.#paused = paused;
    this.#schedule();
  }

  /** A collection is closed. Returns the commands that it held. */
  close(collection: number): Uint8Array[] {
    const opened = this.#opened.get(collection);
    if (!opened) return [];
    this.#opened.delete(collection);
    for (const [id, parent] of this.#parents) if (parent === opened) this.#parents.delete(id);
    this.#schedule();
    return opened.held.map(({ bytes }) => bytes);
  }

  /** The guest is replaced, or the engine ends. Members open everything again. */
  clear(): void {
    this.#opened.clear();
    this.#parents.clear();
    clearTimeout(this.#timer);
  }

  /** Notes a command. Reports whether the gate holds it. */
  #holds({ type, payload, bytes }: Frame): boolean {
    if (type === reconnect) this.reconnected();
    if (payload.length === 0) return false;
    const r = new Reader(payload, "command");
    const id = r.uint32();
    if (type === openCollection) this.#note(id, payload, bytes);
    const opened = ofCollection.has(type) ? this.#opened.get(r.uint32()) : this.#parents.get(id);
    if (!opened) return false;
    const kind = opening.get(type);
    if (kind) opened.children.set(id, kind);
    const holds = opened.held.length > 0 || (opened.access === "checking" && ofCollection.has(type));
    if (holds) opened.held.push({ id, bytes: bytes.slice() });
    if (kind || holds) this.#parents.set(id, opened);
    if (closing.has(type)) this.#forget(id);
    return holds;
  }

  #note(id: number, payload: Uint8Array, bytes: Uint8Array): void {
    const r = new Reader(payload, "OpenCollection");
    r.uint32();
    for (let i = 0; i < 4; i++) r.skip();
    r.bool();
    r.bool();
    const command = bytes.slice();
    command[bytes.length - payload.length + r.at] = 0; // restore
    this.#opened.set(id, { id, command, children: new Map(), access: "open", held: [], attemptAt: 0, attempting: false, attempts: 0, openedAt: Date.now() });
  }

  #forget(child: number): void {
    this.#parents.get(child)?.children.delete(child);
    this.#parents.delete(child);
  }

  #report(opened: Opened, state: CollectionState, bytes: Uint8Array): Uint8Array {
    const refused = state.state === "forbidden";
    opened.access = !refused ? "open" : state.nextAttemptMillis ? "refused" : "checking";
    if (opened.held.length > 0 && opened.access !== "checking") this.#schedule();
    if (state.state === "closed" && state.status?.code === 404) return this.#absent(opened, state, state.status);
    // The outcome of the attempt is still open.
    if (opened.attempting && state.state === "connecting" && !state.status && !state.nextAttemptMillis) return new Uint8Array();
    opened.attemptAt = 0;
    opened.attempting = false;
    if (state.state === "live") opened.attempts = 0;
    return bytes;
  }

  /** Returns the report of a collection whose resource is absent, and schedules an attempt. */
  #absent(opened: Opened, state: CollectionState, status: Status): Uint8Array {
    const w = new Writer();
    // The guest serves the objects that it had until the collection is opened again.
    const had = state.resourceVersion !== "0";
    if (had) opened.access = "checking";
    if (!opened.attemptAt || opened.attempting) {
      const now = Date.now();
      if (had) this.#refuseChildren(w, opened, status);
      const soonest = had ? opened.openedAt + minDelay - now : Math.min(minDelay * 2 ** opened.attempts++, maxDelay) * (1 + jitter * Math.random());
      opened.attemptAt = Math.ceil(now + Math.max(0, soonest));
      opened.attempting = false;
      this.#schedule();
    }
    w.frame(outputs.CollectionState, () => {
      w.uvarint(opened.id);
      w.byte(states.indexOf("connecting"));
      for (const n of [0, 2 * state.lastProgressMillis, 2 * opened.attemptAt, 0, 0, 0, 0]) w.uvarint(n);
      writeStatus(w, status);
    });
    return w.take();
  }

  /** Ends the views and watches of a collection whose resource is gone. The guest does not. */
  #refuseChildren(w: Writer, opened: Opened, status: Status): void {
    for (const [id, kind] of [...opened.children]) {
      this.#forget(id);
      if (kind === "view") {
        w.frame(outputs.Rejected, () => {
          w.byte(rejectables.indexOf("view"));
          w.uvarint(id);
          writeStatus(w, status);
        });
      } else {
        w.frame(outputs.WatchClosed, () => {
          w.uvarint(id);
          w.byte(watchEnds.indexOf("HistoryLost"));
          writeStatus(w, { ...status, cause: "HistoryLost" });
        });
      }
    }
  }

  /** Sets the timer for the next attempt, or for held commands that may continue. */
  #schedule(): void {
    clearTimeout(this.#timer);
    let at = Infinity;
    for (const opened of this.#opened.values()) {
      if (continues(opened)) at = 0;
      else if (opened.attemptAt && !opened.attempting && !this.#paused) at = Math.min(at, opened.attemptAt);
    }
    if (at < Infinity) this.#timer = setTimeout(() => this.#act(), Math.max(0, at - Date.now()));
  }

  #act(): void {
    const soon = Date.now() + togetherMillis;
    const frames: Uint8Array[] = [];
    for (const opened of this.#opened.values()) {
      if (continues(opened)) {
        for (const { id, bytes } of opened.held.splice(0)) {
          frames.push(bytes);
          if (!opened.children.has(id)) this.#parents.delete(id);
        }
      }
      if (!opened.attemptAt || opened.attempting || this.#paused || opened.attemptAt > soon) continue;
      opened.attempting = true;
      opened.openedAt = Date.now();
      frames.push(closed(opened.id), opened.command);
    }
    this.#schedule();
    if (frames.length > 0) this.#host?.send(concat(frames));
  }
}

/** Reports whether held commands of a collection may continue. */
const continues = ({ held, access }: Opened): boolean => held.length > 0 && access !== "checking";

function closed(collection: number): Uint8Array {
  const w = new Writer();
  w.frame(closeCollection, () => w.uvarint(collection));
  return w.take();
}
