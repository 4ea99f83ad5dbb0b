/**
 * The work for the next animation frame. Events only schedule work. The same work runs
 * once per frame, regardless of how often it was scheduled.
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
