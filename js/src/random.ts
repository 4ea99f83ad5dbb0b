/**
 * Returns a random name of 128 bits. Unlike `crypto.randomUUID`, this function works on pages that
 * are not secure contexts.
 */
export function randomName(): string {
  return crypto.getRandomValues(new Uint32Array(4)).join("-");
}
