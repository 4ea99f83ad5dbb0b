/** Says what is wrong with a collection, but not again with each attempt. Returns how to stop. */
export function tellTrouble(collection) {
  let reported = "";
  return collection.subscribe(() => {
    const { state, error } = collection.status;
    const trouble = error ? `${state}: ${error.message}` : "";
    if (trouble && trouble !== reported) console.error(trouble);
    if (trouble || state === "live") reported = trouble;
  });
}
