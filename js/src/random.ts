/** Returns a random name. Unlike `crypto.randomUUID`, it works on pages that are not secure contexts. */
export function randomName(): string {
  return crypto.getRandomValues(new Uint32Array(4)).join("-");
}
