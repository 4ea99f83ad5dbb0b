// The contract between an engine and its members. A page whose engine runs in a worker
// loads this module without the engine.
import type { Frame } from "./wire/codec.js";

/** The number of IDs that each member has. The high bits of an ID identify the member. */
export const idsPerMember = 0x10000;

/** The maximum size of the commands that are batched into one step, in bytes. */
export const batchBytes = 1 << 20;

/** A page acknowledges the messages of its worker in groups of this many messages. */
export const messagesPerAck = 8;

/** The callbacks of a member, which is a program that shares the engine. */
export interface MemberEvents {
  /** Receives complete frames. The member owns the bytes. */
  frames(frames: Uint8Array<ArrayBuffer>): void;
  /**
   * If present, receives each frame instead of `frames`, without a copy. This requires a member in
   * the same isolate. The frame aliases the engine's output.
   */
  frame?(frame: Frame): void;
  /**
   * Called when the engine has failed and a new, empty one replaces it. The member must
   * open its resources and send its requests again. Commands sent before this call are
   * lost.
   */
  restarted(message: string): void;
  /**
   * Called when the member has been removed, because it sent an invalid frame or its engine cannot
   * run.
   */
  failed(message: string): void;
  /**
   * Called when the worker of the engine does not respond and is being replaced. The
   * received state may be outdated.
   */
  silent?(message: string): void;
  /** Returns the token for the next connection. */
  token(): Promise<string>;
}

/** A member's access to the engine. */
export interface Membership {
  /**
   * The number of the member. The IDs of the member start at {@link idsPerMember} times this
   * number.
   */
  readonly member: number;
  /** Sends complete frames. The engine then owns the bytes. */
  send(frames: Uint8Array<ArrayBuffer>): void;
  /**
   * Sets whether the member's page is hidden. If all pages are hidden for some time,
   * the engine closes its connections.
   */
  hide(hidden: boolean): void;
  /** Closes everything that the member has open. Idempotent. */
  leave(): void;
}
