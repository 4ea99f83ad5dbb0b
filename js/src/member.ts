// The contract between an engine and its members. A page whose engine runs in a worker
// loads this module without the engine.
import type { Frame } from "./wire/codec.js";

/** The number of IDs of a member. The high bits of an ID identify the member. */
export const idsPerMember = 0x10000;

/** The maximum size of the commands that are batched into one step. */
export const batchBytes = 1 << 20;

/** The callbacks of a program that shares the engine. */
export interface MemberEvents {
  /** Receives complete frames. The member owns the callbacks. */
  frames(frames: Uint8Array<ArrayBuffer>): void;
  /**
   * Receives one frame instead, in the same isolate and without a copy. It aliases the
   * engine's output.
   */
  frame?(frame: Frame): void;
  /**
   * The engine failed, and a new, empty one replaces it. The member must open its
   * resources and send its requests again. Commands sent before this call are lost.
   */
  restarted(message: string): void;
  /** The member sent an invalid frame, and was removed. */
  failed(message: string): void;
  /**
   * The worker of the engine does not respond and is being replaced. The known state may
   * be outdated.
   */
  silent?(message: string): void;
  /** Returns the token for the next connection. */
  token(): Promise<string>;
}

/** A member's access to the engine. */
export interface Membership {
  /** The member chooses IDs that start at {@link idsPerMember} times this number. */
  readonly member: number;
  /** Sends complete frames. The engine owns them. */
  send(frames: Uint8Array<ArrayBuffer>): void;
  /**
   * Reports whether the member's page is hidden. While all pages are hidden, the
   * engine closes its connections after some time.
   */
  hide(hidden: boolean): void;
  /** Closes everything that the member has open. Idempotent. */
  leave(): void;
}
