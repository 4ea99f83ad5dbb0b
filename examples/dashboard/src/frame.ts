/**
 * The functions to call in the next animation frame. A function is called once per frame,
 * regardless of how often it was scheduled.
 */
const pending = new Set<() => void>();

export function schedule(work: () => void): void {
  if (pending.size === 0) requestAnimationFrame(flush);
  pending.add(work);
}

function flush(): void {
  const works = [...pending];
  pending.clear();
  for (const work of works) work();
}
