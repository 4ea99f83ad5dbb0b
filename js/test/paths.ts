import { join } from "node:path";
import { fileURLToPath } from "node:url";

/**
 * The directory of the package, independent of the working directory. The built tests are in the
 * subdirectory build/test/ of the package.
 */
const home = fileURLToPath(new URL("../..", import.meta.url));

export const packaged = (...path: string[]): string => join(home, ...path);
export const testdata = (...path: string[]): string => join(home, "..", "testdata", ...path);
export const built = (...path: string[]): string => join(home, "..", "build", ...path);
