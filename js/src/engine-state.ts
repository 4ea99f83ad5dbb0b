// The states of an engine and their transitions. Engine executes the effects.
//
//   running     --failed-->  restarting  --created-->  running
//   restarting  --failed-->  restarting, after a longer delay
//   any         --closed-->  closed
//
//   visible     --hidden-->  hidden      --elapsed-->  paused
//   hidden, paused           --shown-->  visible

import type { Guest } from "./guest.js";

/**
 * The maximum delay before an engine that failed repeatedly is restarted, in
 * milliseconds.
 */
const maxRestartDelay = 30_000;
const minRestartDelay = 250;
/** The time without a failure after which the delay is reset, in milliseconds. */
const restartReset = 120_000;

/** The state while the guest is running. */
export interface Running {
  readonly name: "running";
  readonly guest: Guest;
  readonly failures: Failures;
}

/**
 * The state after a failure of the guest. The next guest is created after `delay`, which is in
 * milliseconds.
 */
export interface Restarting {
  readonly name: "restarting";
  readonly delay: number;
  readonly failures: Failures;
  /** The frames that members have sent in this state. The next guest receives them. */
  readonly waiting: readonly (readonly [member: number, frames: Uint8Array])[];
}

/** The state after the engine is closed. */
export interface Closed {
  readonly name: "closed";
}

export type EngineState = Running | Restarting | Closed;

/**
 * The number of consecutive failures that each followed another within {@link restartReset}, and
 * the time of the last failure.
 */
interface Failures {
  readonly repeated: number;
  readonly at: number;
}

export type EngineEvent =
  /** The guest failed or could not be created. `now` is in milliseconds since the epoch. */
  | { type: "failed"; now: number }
  | { type: "created"; guest: Guest }
  | { type: "command"; member: number; frames: Uint8Array }
  | { type: "closed" };

const never: Failures = { repeated: 0, at: 0 };

/** Returns the state of an engine with its first guest. */
export function started(guest: Guest): EngineState {
  return { name: "running", guest, failures: never };
}

/** Returns the state after an event. An event that does not apply leaves the state unchanged. */
export function next(state: EngineState, event: EngineEvent): EngineState {
  if (state.name === "closed") return state;
  switch (event.type) {
    case "closed":
      return { name: "closed" };
    case "failed": {
      const failures = afterFailure(state.failures, event.now);
      return { name: "restarting", failures, delay: restartDelay(failures), waiting: state.name === "restarting" ? state.waiting : [] };
    }
    case "created":
      return state.name === "restarting" ? { name: "running", guest: event.guest, failures: state.failures } : state;
    case "command":
      return state.name === "restarting" ? { ...state, waiting: [...state.waiting, [event.member, event.frames]] } : state;
  }
}

function afterFailure({ repeated, at }: Failures, now: number): Failures {
  return { repeated: now - at < restartReset ? repeated + 1 : 0, at: now };
}

function restartDelay({ repeated }: Failures): number {
  return repeated === 0 ? 0 : Math.min(minRestartDelay * 2 ** (repeated - 1), maxRestartDelay);
}

/**
 * Whether any page of the engine is visible. After all pages have been hidden for some time, the
 * engine pauses: it closes its streams and opens no others.
 */
export type Visibility = "visible" | "hidden" | "paused";

/** The last visible page was hidden, a page was shown, or the time until the pause elapsed. */
export type VisibilityEvent = "hidden" | "shown" | "elapsed";

/**
 * Returns the visibility after an event. An event that does not apply leaves the visibility
 * unchanged.
 */
export function nextVisibility(visibility: Visibility, event: VisibilityEvent): Visibility {
  switch (event) {
    case "shown":
      return "visible";
    case "hidden":
      return visibility === "visible" ? "hidden" : visibility;
    case "elapsed":
      return visibility === "hidden" ? "paused" : visibility;
  }
}
