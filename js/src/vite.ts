/**
 * Returns the URL of a file of the package if Vite's dependency optimizer has moved
 * the module with the given URL. Returns undefined otherwise. Vite 5 to 7 bundle dependencies
 * into node_modules/.vite/deps, and leave referenced files in the package.
 */
export function movedByVite(module: string, file: "worker.js" | "watchglass.wasm"): URL | undefined {
  const [, base] = /^(https?:.*\/node_modules)\/\.vite\/[^?]*\.js(?:\?|$)/.exec(module) ?? [];
  return base === undefined ? undefined : new URL(`${base}/watchglass/dist/${file}`);
}
