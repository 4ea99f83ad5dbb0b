/**
 * Returns the location of worker.js when the dependency optimizer of Vite's
 * development server has moved the module at the given URL away from it, else
 * undefined. Vite 5 to 7 bundle dependencies into node_modules/.vite/deps and
 * leave the files that they refer to in the package.
 */
export function movedByVite(module: string): URL | undefined {
  const [, base] = /^(https?:.*\/node_modules)\/\.vite\/[^?]*\.js(?:\?|$)/.exec(module) ?? [];
  return base === undefined ? undefined : new URL(`${base}/watchglass/dist/worker.js`);
}
