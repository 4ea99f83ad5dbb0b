/**
 * Prints each new error of a collection once, instead of after every attempt to connect. Returns a
 * function that stops the output.
 */
export function printErrors(collection) {
  let reported = "";
  return collection.subscribe(() => {
    const { state, error } = collection.status;
    const problem = error ? `${state}: ${error.message}` : "";
    if (problem && problem !== reported) console.error(problem);
    if (problem || state === "live") reported = problem;
  });
}
