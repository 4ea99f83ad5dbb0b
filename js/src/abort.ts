/**
 * Starts an operation and settles with its result, or rejects with the signal's reason when the
 * signal is aborted. A result that arrives after the abort is passed to `late`, for example to
 * close it.
 */
export function abortable<T>(start: () => Promise<T>, signal: AbortSignal | undefined, late?: (result: T) => void): Promise<T> {
  return signal ? race(start, signal, late) : start();
}

async function race<T>(start: () => Promise<T>, signal: AbortSignal, late?: (result: T) => void): Promise<T> {
  signal.throwIfAborted();
  const started = start();
  let abort!: () => void;
  const aborted = new Promise<never>((_, reject) => (abort = () => reject(signal.reason)));
  signal.addEventListener("abort", abort);
  if (late) started.then((result) => signal.aborted && late(result), () => {});
  try {
    return await Promise.race([started, aborted]);
  } finally {
    signal.removeEventListener("abort", abort);
  }
}
