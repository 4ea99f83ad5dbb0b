// Chooses how to reduce the memory of an object. A module's memory never shrinks, so
// only a new instance releases unused memory.

/** The memory of a module without objects. */
const emptyBytes = 4 << 20;
/**
 * The module's memory per byte of objects. Go's collector lets garbage grow with the
 * live heap.
 */
const perByte = 2.5;
/** The minimum time between two replacements of a module that do not drop data. */
export const restartMillis = 60_000;

export interface Taken {
  /** The memory of the module and of buffers in JavaScript. */
  moduleBytes: number;
  bufferBytes: number;
  /** The objects and their history within the module. */
  usedBytes: number;
  limit: number;
  /** Whether the module was replaced recently, without success. */
  restarted: boolean;
}

/**
 * "restart": a new instance suffices. "shed": a new instance would not suffice, so some
 * data must be dropped first.
 */
export function relief({ moduleBytes, bufferBytes, usedBytes, limit, restarted }: Taken): "none" | "restart" | "shed" {
  const needed = emptyBytes + perByte * usedBytes;
  if (moduleBytes + bufferBytes > limit) return restarted || needed > 0.75 * limit ? "shed" : "restart";
  const idle = moduleBytes > limit / 2 && moduleBytes > 2 * needed;
  return idle && !restarted ? "restart" : "none";
}
