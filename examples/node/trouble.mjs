/** Prints each new error of a collection once, not at every attempt. Returns a function that stops the output. */
export function tellTrouble(collection) {
  let reported = "";
  return collection.subscribe(() => {
    const { state, error } = collection.status;
    const trouble = error ? `${state}: ${error.message}` : "";
    if (trouble && trouble !== reported) console.error(trouble);
    if (trouble || state === "live") reported = trouble;
  });
}
