/** The version of package.json. The build replaces this constant with a literal. */
declare const packageVersion: string;
