// This module decides how to reduce the memory of an object. A WebAssembly module's memory never
// shrinks, so only a new instance releases unused memory.

/** The memory of a module without objects, in bytes. */
const emptyBytes = 4 << 20;
/**
 * The estimated memory of the module per byte of objects. Go's garbage collector lets garbage grow
 * in proportion to the live heap.
 */
const perByte = 2.5;
/** The minimum time from a module replacement to the next that drops no data, in milliseconds. */
export const restartMillis = 60_000;

export interface Taken {
  /**
   * The memory of the module, in bytes. {@link bufferBytes} is the memory of buffers in JavaScript.
   */
  moduleBytes: number;
  bufferBytes: number;
  /** The part of the module's memory that objects and their history take, in bytes. */
  usedBytes: number;
  limit: number;
  /**
   * Whether the module was replaced within the last {@link restartMillis}, so that another
   * replacement would not help.
   */
  restarted: boolean;
}

/**
 * Returns how to reduce the memory. "restart" means that a new instance of the module suffices.
 * "shed" means that a new instance would not suffice, so some data must be dropped first.
 */
export function relief({ moduleBytes, bufferBytes, usedBytes, limit, restarted }: Taken): "none" | "restart" | "shed" {
  const needed = emptyBytes + perByte * usedBytes;
  if (moduleBytes + bufferBytes > limit) return restarted || needed > 0.75 * limit ? "shed" : "restart";
  const idle = moduleBytes > limit / 2 && moduleBytes > 2 * needed;
  return idle && !restarted ? "restart" : "none";
}
