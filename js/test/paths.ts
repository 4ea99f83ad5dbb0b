import { join } from "node:path";

/** The repository's root: tests run in the package's folder. */
const root = join(process.cwd(), "..");

export const testdata = (...path: string[]): string => join(root, "testdata", ...path);
export const built = (...path: string[]): string => join(root, "build", ...path);
