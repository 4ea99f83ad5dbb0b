// What is to be done about the memory of an object. A module's memory never
// shrinks, so what is not needed any more comes back with a new instance alone.

/** What a module takes without any objects. */
const emptyBytes = 4 << 20;
/** And for each byte of them: Go's collector lets garbage grow to the size of what is in use. */
const perByte = 2.5;
/** A module that was replaced is not replaced again for what it does not need, until then. */
export const restartMillis = 60_000;

export interface Taken {
  /** By the module, and by what is in JavaScript. */
  moduleBytes: number;
  bufferBytes: number;
  /** Of objects, with their history, within the module. */
  usedBytes: number;
  limit: number;
  /** The module was replaced lately, and that did not help. */
  restarted: boolean;
}

/** "restart": a new instance has room for all. "shed": it would not, so something has to go before. */
export function relief({ moduleBytes, bufferBytes, usedBytes, limit, restarted }: Taken): "none" | "restart" | "shed" {
  const needed = emptyBytes + perByte * usedBytes;
  if (moduleBytes + bufferBytes > limit) return restarted || needed > 0.75 * limit ? "shed" : "restart";
  const idle = moduleBytes > limit / 2 && moduleBytes > 2 * needed;
  return idle && !restarted ? "restart" : "none";
}
